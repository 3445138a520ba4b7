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

__all__ = [
    "Constants",
    "Draw",
    "Mechanism",
    "Plan",
    "get_mechanism",
    "mechanism_from_settings",
    "register",
    "registered",
    "settings_of",
]
