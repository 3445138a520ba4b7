"""A public guess of what a fit will look like: where noise and ridge are weighed before the data.

A plan must choose a ridge, a scale of the baseline and a split of epsilon without the data. It
minimises the error predicted for a guessed cohort: a share `survival` reaches the horizon at a
constant hazard, covariates spread uniformly over their ranges, the baseline departs from the
constant by about one unit of the link's scale and half a range of a covariate moves it by half a
unit. A wrong guess costs accuracy, never privacy. See `docs/proofs/output-perturbation.md`.
"""

import math
from dataclasses import dataclass

import numpy as np

from discreet.mechanisms.bounds import Basis
from discreet.mechanisms.contract import Facts
from discreet.types import Array

BASELINE_VARIANCE = 1.0
HALF_RANGE_VARIANCE = 0.25
CENTRE_BITS = 10


@dataclass(frozen=True)
class Guess:
    """Centre f_0 of the ridge, and per direction the information H_j and the variance tau_j^2."""

    centre: Array
    predictor: Array
    information: Array
    variance: Array
    baseline: int

    def scaled(self, factor: float) -> "Guess":
        """In coordinates w with f = f_0 + (factor w_baseline, w_covariates)."""
        scale = np.where(np.arange(len(self.information)) < self.baseline, factor, 1.0)
        return Guess(
            self.centre,
            self.predictor,
            self.information * scale**2,
            self.variance / scale**2,
            self.baseline,
        )

    def error(self, ridge: float, tilt: float, output: float) -> float:
        """Predicted error in standard errors, sqrt(mean_j H_j E(w_j - w*_j)^2).

        E(w_j - w*_j)^2 = (k^2 tau_j^2 + (d + 1) tilt^2) / (H_j + k)^2 + (d + 1) output^2 for a
        tilt b and output noise of L2-Laplace scales `tilt`, `output`: Cov = (d + 1) scale^2 I.
        """
        factor = len(self.information) + 1.0
        shrunk = ridge**2 * self.variance + factor * tilt**2
        square = shrunk / (self.information + ridge) ** 2 + factor * output**2
        return math.sqrt(float(np.mean(self.information * square)))


def public_guess(facts: Facts, survival: float) -> Guess:
    """The guess for a cohort of which the share `survival` reaches the horizon.

    Centre: constant hazard h with (1 - h)^q = survival, no covariate effect, rounded to 2^-10 so
    that it lies on every release grid. Information: n sum_s S_{s-1} i(eta) z_s z_s' with
    E x x' = I / (3 p), the covariance of uniform covariates in the unit ball's box.
    """
    basis = Basis(facts.design.basis, facts.covariates > 0)
    hazard = -math.expm1(math.log(survival) / basis.intervals)
    level = facts.link.predictor(hazard)
    centre = np.zeros(facts.dimension)
    centre[: basis.dimension] = _rounded(level * basis.constant)
    predictor = basis.rows @ centre[: basis.dimension]
    reached = survival ** (np.arange(basis.intervals) / basis.intervals)
    weights = facts.persons * reached * facts.link.information(predictor)
    covariates = facts.covariates
    information = np.concatenate(
        [
            np.linalg.eigvalsh((basis.rows * weights[:, None]).T @ basis.rows),
            np.full(covariates, weights.sum() / (3.0 * max(covariates, 1))),
        ]
    )
    variance = np.concatenate(
        [
            np.full(basis.dimension, BASELINE_VARIANCE),
            np.full(covariates, HALF_RANGE_VARIANCE * covariates),
        ]
    )
    return Guess(centre, predictor, information, variance, basis.dimension)


def _rounded(values: Array) -> Array:
    return np.ldexp(np.rint(np.ldexp(values, CENTRE_BITS)), -CENTRE_BITS)
