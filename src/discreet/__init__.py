"""Discrete-time survival regression whose fitted models can be published.

The public names are imported on first use, so that ``import discreet`` stays cheap.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from discreet.version import __version__ as __version__

if TYPE_CHECKING:
    from discreet import metrics as metrics
    from discreet import plots as plots
    from discreet import warnings as warnings
    from discreet.base import simulate as simulate
    from discreet.checkup import check as check
    from discreet.curves import GroupCurves as GroupCurves
    from discreet.design.baseline import LogTime as LogTime
    from discreet.design.baseline import NaturalSpline as NaturalSpline
    from discreet.design.baseline import PiecewiseConstant as PiecewiseConstant
    from discreet.design.schema import Categorical as Categorical
    from discreet.design.schema import Numeric as Numeric
    from discreet.design.schema import Schema as Schema
    from discreet.design.schema import TimeAxis as TimeAxis
    from discreet.forecast import plan as plan
    from discreet.joint import Federation as Federation
    from discreet.loading import load as load
    from discreet.mechanisms import PrivateNewton as PrivateNewton
    from discreet.mechanisms.group_counts import GroupCounts as GroupCounts
    from discreet.regression import SurvivalRegression as SurvivalRegression
    from discreet.release import NO_LEDGER as NO_LEDGER
    from discreet.release import Ledger as Ledger

# Public name -> the module that defines it; a module that is public itself is its own home.
# A new name is one line here and one above for type checkers (tests/test_house.py compares them).
_HOMES = {
    "Categorical": "design.schema",
    "Federation": "joint",
    "GroupCounts": "mechanisms.group_counts",
    "GroupCurves": "curves",
    "Ledger": "release",
    "LogTime": "design.baseline",
    "NO_LEDGER": "release",
    "NaturalSpline": "design.baseline",
    "Numeric": "design.schema",
    "PiecewiseConstant": "design.baseline",
    "PrivateNewton": "mechanisms",
    "Schema": "design.schema",
    "SurvivalRegression": "regression",
    "TimeAxis": "design.schema",
    "check": "checkup",
    "load": "loading",
    "metrics": "metrics",
    "plan": "forecast",
    "plots": "plots",
    "simulate": "base",
    "warnings": "warnings",
}

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
