"""How good is a chain? For the custodian: none of this is ever published.

Split R-hat, effective sample sizes and Monte-Carlo errors come from arviz (Vehtari and others
2021), the optional extra ``sampler``. `compare` asks whether two samples can have one target.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType

import numpy as np
from scipy import stats

from discreet.errors import SettingsError
from discreet.types import Array

QUANTILES = (0.05, 0.25, 0.75, 0.95)


@dataclass(frozen=True)
class Diagnosis:
    """One number a coordinate: split R-hat, effective sample sizes of the bulk and the tails."""

    r_hat: Array
    bulk: Array
    tail: Array


@dataclass(frozen=True)
class Comparison:
    """z-scores of mean, variance and quantiles, a row a coordinate."""

    scores: Array
    false_alarm: float

    @property
    def limit(self) -> float:
        """Every |z| stays below this with probability 1 - false_alarm if the targets agree."""
        return float(stats.norm.isf(0.5 * self.false_alarm / self.scores.size))

    @property
    def accepted(self) -> bool:
        """Whether all moments and quantiles agree within Monte-Carlo error."""
        return bool(np.all(np.abs(self.scores) < self.limit))


def diagnose(chains: Array) -> Diagnosis:
    """Several chains, of shape (chains, draws, dimension)."""
    arviz = _arviz()
    columns = np.moveaxis(chains, 2, 0)
    return Diagnosis(
        r_hat=np.array([float(arviz.rhat(column)) for column in columns]),
        bulk=np.array([float(arviz.ess(column, method="bulk")) for column in columns]),
        tail=np.array([float(arviz.ess(column, method="tail")) for column in columns]),
    )


def compare(chains: Array, reference: Array, false_alarm: float = 1e-6) -> Comparison:
    """Differences of means, variances and distribution functions in units of their joint errors.

    Each is a mean of a function of one coordinate: x, (x - centre)^2, and x <= quantile, where
    centre and quantiles are the reference's.
    """
    return _compared(chains, reference, false_alarm, lambda here, _: _error(here))


def compare_draws(draws: Array, reference: Array, false_alarm: float = 1e-6) -> Comparison:
    """The same for independent draws (count, dimension) against chains of the reference.

    The error of a draw's mean is what it would be under the reference's law, so that a score of a
    few hundred draws is near normal: with their own spread too few outliers would look like evidence.
    """
    return _compared(
        draws, reference, false_alarm, lambda here, there: there.std() / np.sqrt(len(here))
    )


def _compared(
    states: Array, reference: Array, false_alarm: float, own_error: Callable[[Array, Array], float]
) -> Comparison:
    """Both have a coordinate in the last axis; `own_error` is that of the mean over the states."""
    columns = zip(np.moveaxis(states, -1, 0), np.moveaxis(reference, -1, 0), strict=True)
    rows = [
        [_score(function(here), function(there), own_error) for function in _functions(there)]
        for here, there in columns
    ]
    return Comparison(np.array(rows), false_alarm)


def _functions(column: Array) -> list[Callable[[Array], Array]]:
    centre = float(column.mean())
    levels = np.quantile(column, QUANTILES)
    below = [lambda x, level=level: (x <= level).astype(np.float64) for level in levels]
    return [lambda x: x, lambda x: (x - centre) ** 2, *below]


def _score(here: Array, there: Array, own_error: Callable[[Array, Array], float]) -> float:
    error = np.hypot(own_error(here, there), _error(there))
    return float((here.mean() - there.mean()) / error)


def _error(values: Array) -> float:
    """Monte-Carlo standard error of the mean of several chains."""
    return float(values.std() / np.sqrt(float(_arviz().ess(values, method="mean"))))


def _arviz() -> ModuleType:
    try:
        with warnings.catch_warnings():
            # it announces its next major version, which the metadata excludes
            warnings.simplefilter("ignore", FutureWarning)
            return import_module("arviz")
    except ImportError:
        raise SettingsError("diagnostics need the extra discreet[sampler]") from None
