"""Discrete-time survival regression whose fitted models can be published.

The public names are imported on first use, so that ``import discreet`` stays cheap.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.baseline import NaturalSpline as NaturalSpline
    from discreet.baseline import PiecewiseConstant as PiecewiseConstant
    from discreet.schema import Categorical as Categorical
    from discreet.schema import Numeric as Numeric
    from discreet.schema import Schema as Schema
    from discreet.schema import TimeAxis as TimeAxis

# Public name -> the module that defines it; a module that is public itself is its own home.
# A new name is one line here and one above for type checkers (tests/test_house.py compares them).
_HOMES = {
    "Categorical": "schema",
    "NaturalSpline": "baseline",
    "Numeric": "schema",
    "PiecewiseConstant": "baseline",
    "Schema": "schema",
    "TimeAxis": "schema",
}

__version__ = "0.1.0.dev0"
__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    """Import a public name from its home, once (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = import_module(f"{__name__}.{_HOMES[name]}")
    value = home if name == _HOMES[name] else getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
