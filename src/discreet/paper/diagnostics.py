"""Diagnostics of a chain, for the reproduction alone: none of this is ever published.

Split R-hat, effective sample sizes and Monte-Carlo errors come from arviz (Vehtari and others
2021), the optional extra ``sampler``. `compare` asks whether two samples can have one target.
"""

import warnings
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType

import numpy as np
from scipy import stats

from discreet.errors import SettingsError
from discreet.types import Array

QUANTILES = (0.05, 0.25, 0.75, 0.95)


@dataclass(frozen=True)
class ChainComparison:
    """z-scores of mean, variance and quantiles, a row a coordinate."""

    scores: Array
    false_alarm: float

    @property
    def limit(self) -> float:
        """Limit of |z|: all stay below it with probability 1 - false_alarm if the targets agree."""
        return float(stats.norm.isf(0.5 * self.false_alarm / self.scores.size))

    @property
    def accepted(self) -> bool:
        """True if all moments and quantiles agree within Monte-Carlo error."""
        return bool(np.all(np.abs(self.scores) < self.limit))


def diagnose(chains: Array) -> tuple[Array, Array]:
    """Return split R-hat and effective size by coordinate; chains: (chains, draws, dimension)."""
    arviz, columns = _arviz(), np.moveaxis(chains, 2, 0)
    r_hat = np.array([float(arviz.rhat(column)) for column in columns])
    return r_hat, np.array([float(arviz.ess(column, method="bulk")) for column in columns])


def compare(states: Array, reference: Array, false_alarm: float = 1e-6) -> ChainComparison:
    """Compare means, variances and distribution functions, in units of their joint errors.

    Each is a mean of a function of one coordinate: x, (x - centre)^2, and x <= quantile, where
    centre and quantiles are the reference's.

    states: chains, of shape (chains, draws, d), or independent draws, of shape (draws, d). The
    error of the mean of independent draws is what it would be under the reference's law, so that
    a score of a few hundred draws is near normal: with their own spread too few outliers would
    look like evidence. reference: chains.
    """
    rows = []
    for here, there in zip(np.moveaxis(states, -1, 0), np.moveaxis(reference, -1, 0), strict=True):
        centre, levels = float(there.mean()), np.quantile(there, QUANTILES)
        pairs = [(here, there), ((here - centre) ** 2, (there - centre) ** 2)]
        pairs += [((here <= q).astype(float), (there <= q).astype(float)) for q in levels]
        rows.append([_score(*pair) for pair in pairs])
    return ChainComparison(np.array(rows), false_alarm)


def _score(here: Array, there: Array) -> float:
    own = _error(here) if here.ndim > 1 else there.std() / np.sqrt(len(here))
    return float((here.mean() - there.mean()) / np.hypot(own, _error(there)))


def _error(values: Array) -> float:
    """Return the Monte-Carlo standard error of the mean of several chains."""
    return float(values.std() / np.sqrt(float(_arviz().ess(values, method="mean"))))


def _arviz() -> ModuleType:
    try:
        with warnings.catch_warnings():
            # it announces its next major version, which the metadata excludes
            warnings.simplefilter("ignore", FutureWarning)
            return import_module("arviz")
    except ImportError:
        raise SettingsError("diagnostics need the extra discreet[sampler]") from None
