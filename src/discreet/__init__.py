"""Discrete-time survival regression whose fitted models can be published.

The public names are imported on first use, so that ``import discreet`` stays cheap.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from discreet.version import __version__ as __version__

if TYPE_CHECKING:
    from discreet import metrics as metrics
    from discreet import plots as plots
    from discreet.checkup import check as check
    from discreet.competing import CompetingRisks as CompetingRisks
    from discreet.curves import Curves as Curves
    from discreet.design.baseline import LogTime as LogTime
    from discreet.design.baseline import NaturalSpline as NaturalSpline
    from discreet.design.baseline import PiecewiseConstant as PiecewiseConstant
    from discreet.design.schema import Categorical as Categorical
    from discreet.design.schema import Numeric as Numeric
    from discreet.design.schema import Schema as Schema
    from discreet.design.schema import TimeAxis as TimeAxis
    from discreet.documents.model import Release as Release
    from discreet.estimate import SeparationWarning as SeparationWarning
    from discreet.fitted import FittedModel as FittedModel
    from discreet.forecast import plan as plan
    from discreet.joint import Federation as Federation
    from discreet.likelihood.sums import use_kernel as use_kernel
    from discreet.loading import load as load
    from discreet.mechanisms import ObjectivePerturbation as ObjectivePerturbation
    from discreet.mechanisms import OutputPerturbation as OutputPerturbation
    from discreet.mechanisms import PrivateNewton as PrivateNewton
    from discreet.mechanisms import SelectedRidge as SelectedRidge
    from discreet.regression import RepairWarning as RepairWarning
    from discreet.regression import SurvivalRegression as SurvivalRegression
    from discreet.regression import simulate as simulate
    from discreet.release import NO_LEDGER as NO_LEDGER
    from discreet.release import Ledger as Ledger

# Public name -> the module that defines it; a module that is public itself is its own home.
# A new name is one line here and one above for type checkers (tests/test_house.py compares them).
_HOMES = {
    "Categorical": "design.schema",
    "CompetingRisks": "competing",
    "Curves": "curves",
    "Federation": "joint",
    "FittedModel": "fitted",
    "LogTime": "design.baseline",
    "NaturalSpline": "design.baseline",
    "Numeric": "design.schema",
    "Ledger": "release",
    "NO_LEDGER": "release",
    "ObjectivePerturbation": "mechanisms",
    "OutputPerturbation": "mechanisms",
    "PiecewiseConstant": "design.baseline",
    "PrivateNewton": "mechanisms",
    "Release": "documents.model",
    "RepairWarning": "regression",
    "Schema": "design.schema",
    "SelectedRidge": "mechanisms",
    "SeparationWarning": "estimate",
    "SurvivalRegression": "regression",
    "TimeAxis": "design.schema",
    "check": "checkup",
    "load": "loading",
    "metrics": "metrics",
    "plan": "forecast",
    "plots": "plots",
    "simulate": "regression",
    "use_kernel": "likelihood.sums",
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
