"""Private mechanisms: each one file, a frozen dataclass of public settings, a proof page."""

from discreet.mechanisms.contract import (
    Draw,
    Facts,
    Mechanism,
    Plan,
    get_mechanism,
    mechanism_from_settings,
    register,
    registered,
    settings_of,
)
from discreet.mechanisms.newton.mechanism import PrivateNewton
from discreet.mechanisms.objective import ObjectivePerturbation
from discreet.mechanisms.output import OutputPerturbation
from discreet.mechanisms.selected import SelectedRidge

__all__ = [
    "Draw",
    "Facts",
    "Mechanism",
    "ObjectivePerturbation",
    "OutputPerturbation",
    "Plan",
    "PrivateNewton",
    "SelectedRidge",
    "get_mechanism",
    "mechanism_from_settings",
    "register",
    "registered",
    "settings_of",
]
