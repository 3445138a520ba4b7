"""Private mechanisms: each one file, a frozen dataclass of public settings, a proof page."""

from discreet.mechanisms.contract import (
    Constants,
    Draw,
    Mechanism,
    Plan,
    get_mechanism,
    mechanism_from_settings,
    register,
    registered,
    settings_of,
)
from discreet.mechanisms.objective_perturbation import ObjectivePerturbation
from discreet.mechanisms.output_perturbation import OutputPerturbation
from discreet.mechanisms.private_newton import PrivateNewton
from discreet.mechanisms.sanitized_exponential import SanitizedExponential
from discreet.mechanisms.selected import SelectedRidge

__all__ = [
    "Constants",
    "Draw",
    "Mechanism",
    "ObjectivePerturbation",
    "OutputPerturbation",
    "Plan",
    "PrivateNewton",
    "SanitizedExponential",
    "SelectedRidge",
    "get_mechanism",
    "mechanism_from_settings",
    "register",
    "registered",
    "settings_of",
]
