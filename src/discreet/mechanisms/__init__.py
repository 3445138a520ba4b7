"""Private mechanisms: each one file, a frozen dataclass of public settings, a proof page.

A mechanism is imported when it is first asked for: a file can be read and a plain model fitted
without the samplers and compiled code of private ones.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.mechanisms.newton.mechanism import PrivateNewton
    from discreet.mechanisms.objective import ObjectivePerturbation
    from discreet.mechanisms.output import OutputPerturbation
    from discreet.mechanisms.selected import SelectedRidge

__all__ = ["ObjectivePerturbation", "OutputPerturbation", "PrivateNewton", "SelectedRidge"]

_HOMES = {
    "ObjectivePerturbation": "objective",
    "OutputPerturbation": "output",
    "PrivateNewton": "newton.mechanism",
    "SelectedRidge": "selected",
}


def __getattr__(name: str) -> Any:
    """Import a mechanism from its home, once (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return value
