"""The steps: each release of a score is a noisy equation for the root; all are combined.

The release at f_t is  y_t = S_t(f) + noise_t,  S_t(f) the score expected at f_t were f the truth. The
estimate solves the weighted least squares of all steps and the weak prior, by Gauss-Newton: at the
estimate so far, with whitened coordinates f + W g, every step is the linear equation
y_t - S_t(f) = J_t g + noise_t. So curvature between a step's point and the end is followed, not
feared; what is left, the cohort not being the people, discounts a step from far away.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from discreet.types import Array

TRUST = 1.0
"""A step may change the predictors of the events by 1 in root mean square."""

MISFIT, SLOPE, KNOWN = 0.2, 0.3, 0.5
"""How far the cohort's scores are taken to be from the people's: in any direction in parts of the
distance, and along each direction in parts of the way along it; half of that where the people's
information was known."""
BASELINE = 4.0
"""The bound's bias along the baseline, in parts of what is doubted of any direction: where the model
is wrong, it is wrong in time first, and whoever is followed for long is bounded first."""
CAUCHY = 0.5
"""The scale of an effect's Cauchy density, in prior standard deviations."""
EXCESS = 3.0
"""Standard deviations by which the mean square of a score's noise may exceed its expectation."""


@dataclass(frozen=True)
class Step:
    """One released score around an estimate f: target = f + W J^-1 (y - S(f)).

    `doubt` is the squared bias that the bound is expected to have, and `score` is S(f),
    where it was asked for. An `older` one is from before the people's information was known, an
    `informed` one from after.
    `wrong` is how far the model is doubted, from 0 to 1, and the baseline has the first `time` places
    of f. `response` is what a difference of f does to S(f), where that was asked for: the estimate is
    weighted by the slope, and moves by the response. `taken` has as columns what the bound may have
    taken away of the score in the tails of numbers, each a standard deviation.
    """

    point: Array
    whitening: Array
    jacobian: Array
    meat: Array
    deviation: float
    target: Array
    doubt: float = 0.0
    score: Array = field(default_factory=lambda: np.zeros(0))
    older: bool = False
    wrong: float = 0.0
    time: int = 0
    inverse: Array | None = None
    response: Array | None = None
    informed: bool = False
    taken: Array | None = None

    @cached_property
    def unwhitening(self) -> Array:
        """W^-1, computed unless it was given: the length of a difference of f in standard errors."""
        found = np.linalg.inv(self.whitening) if self.inverse is None else self.inverse
        return np.asarray(found, dtype=np.float64)

    @cached_property
    def slope(self) -> Array:
        """J W^-1: what a difference of f does to the score."""
        return np.asarray(self.jacobian @ self.unwhitening)

    @cached_property
    def bias(self) -> Array:
        """The covariance of what the bound may do to the score of a wrong model."""
        along, _ = np.linalg.qr(self.unwhitening[:, : self.time])
        sizes = np.eye(len(self.point)) + (BASELINE**2 - 1.0) * along @ along.T
        return np.asarray(self.wrong**2 * self.doubt * sizes)

    def left(self, estimate: Array) -> Array:
        """y - S(f): what the estimate leaves of the released score."""
        return np.asarray(self.slope @ (self.target - estimate))

    def error(self, estimate: Array, seen: float = 0.0) -> Array:
        """The covariance of the equation's error, (sigma^2 + extra) I + slope^2 diag(J g)^2.

        g is how far the estimate is from the point, in whitened coordinates, and extra is
        (MISFIT |g|)^2 / d + doubt, or as `seen` if that is more. Where the slope is off along one
        direction, the score is off by a part of what the way along it does, and elsewhere by little.
        """
        away = self.unwhitening @ (estimate - self.point)
        extra = max(MISFIT**2 * float(np.mean(away**2)) + self.doubt, seen)
        slope = SLOPE * (KNOWN if self.informed else 1.0)
        return np.diag(self.deviation**2 + extra + (slope * (self.jacobian @ away)) ** 2)

    def seen(self, estimate: Array) -> float:
        """The mean square that is left of the score beyond what its noise may be."""
        left, size = self.left(estimate), len(estimate)
        noise = 1.0 + EXCESS * np.sqrt(2.0 / size)
        return float(max(left @ left / size - noise * self.deviation**2, 0.0))


def errors_of(steps: Sequence[Step], estimate: Array) -> list[Array]:
    """Of every step; older ones that the estimate does not fit count for less.

    A picture that has learned the people's information at the last point may be wrong by more than
    MISFIT about the points before: older steps must not lead away from the last one.
    """
    older = [one.older for one in steps[:-1]] + [False]
    seen = [one.seen(estimate) if old else 0.0 for one, old in zip(steps, older, strict=True)]
    return [one.error(estimate, extra) for one, extra in zip(steps, seen, strict=True)]


@dataclass(frozen=True)
class Pin:
    """Equations for the baseline: their slope by f (e, d) and the precision of their noise."""

    slope: Array
    precision: Array


@dataclass(frozen=True)
class Prior:
    """A weak normal prior from public facts, centred at the life table's baseline.

    `effects` are the precisions of the covariates' effects, by place of f, 0 of others, where Cauchy
    densities of these are part of it. With a `pin` it is the product of that and of the life table's
    equations.
    """

    centre: Array
    precision: Array
    pin: Pin | None = None
    effects: Array | None = None

    def around(self, estimate: Array) -> "Prior":
        """The normal density that pulls at the estimate as it and the Cauchy densities do.

        With the scale CAUCHY p^-1/2 these have the slope -2 p f / (CAUCHY^2 + p f^2): most effects are
        small and are held back, and large ones hardly more than by the normal density. With this CAUCHY
        the product has no second maximum.
        """
        if self.effects is None:
            return self
        times = 2.0 / (CAUCHY**2 + self.effects * estimate**2)
        return replace(self, precision=self.precision + np.diag(self.effects * times))


class Priors(Protocol):
    """A prior, or one that depends on the estimate around which it is asked for."""

    def around(self, estimate: Array) -> Prior:
        """The normal density around the estimate."""


def within_trust(estimate: Array, last: Step, events: float) -> Array:
    """The estimate, pulled back to the trust region around the point of the last step."""
    move = estimate - last.point
    length = float(np.linalg.norm(last.unwhitening @ move)) / np.sqrt(events)
    return np.asarray(last.point + move * min(1.0, TRUST / max(length, 1e-300)))


def variances(
    steps: Sequence[Step], estimate: Array, prior: Prior, errors: Sequence[Array] | None = None
) -> tuple[Array, Array]:
    """(sampling, privacy noise with misfit and prior): their sum is the covariance of the steps.

    The estimate is sum_t L_t M_t target_t + K^-1 P f_0, L_t = K^-1 times the step's pull, K the total
    precision. Sampling moves all scores together, with variance Meat; the noises are independent. So
    the variance is the square of sum_t L_t Meat^(1/2), plus the sum of L_t N_t L_t', where the equation's
    error N_t is taken without the doubt, which is the same at every step and has its own place where the
    model is contradicted, plus K^-1 P K^-1: what the prior's pull is expected to be, squared.
    """
    errors = errors_of(steps, estimate) if errors is None else errors
    total, lifts = lifted(steps, errors, prior)
    sampling, noise = np.zeros_like(total), total @ prior.precision @ total.T
    for step, lift, error in zip(steps, lifts, errors, strict=True):
        sampling = sampling + lift @ power(step.meat, 0.5, 0.0)
        noise = noise + lift @ (error - step.doubt * np.eye(len(error))) @ lift.T
    if prior.pin is not None:  # the same people: the baseline's part of the full score
        rows = len(prior.pin.precision)
        full = steps[-1].unwhitening.T[:rows]
        sampling = sampling + total @ prior.pin.slope.T @ prior.pin.precision @ full
    return sampling @ sampling.T, noise


def lifted(
    steps: Sequence[Step], errors: Sequence[Array], prior: Prior
) -> tuple[Array, list[Array]]:
    """K^-1, and of every step how its released score moves the estimate."""
    precision, pulls = pulled(steps, errors)
    total: Array = np.asarray(np.linalg.inv(prior.precision + precision), dtype=np.float64)
    return total, [total @ pull for pull in pulls]


def pulled(steps: Sequence[Step], errors: Sequence[Array]) -> tuple[Array, list[Array]]:
    """The precision of all steps, and for each the matrix by which its score pulls at f.

    People who are bounded at one step are bounded at the next, so the steps are the equations
    y_t - S_t = M_t g + b + noise_t with one bias b of covariance D. Solved for b, they pull by

        (M_t - H' sum_s A_s M_s)' A_t,   H = D (I + sum_s A_s D)^-1,   A_t = N_t^-1.

    The precision is that of an estimate that responds otherwise where the steps say so.
    """
    shares = shares_of(errors)
    pairs = zip(shares, steps, strict=True)
    common = np.asarray(sum(share @ step.slope for share, step in pairs))
    held = common.T @ held_back(steps, shares)
    pairs = zip(shares, steps, strict=True)
    pulls = [np.asarray((step.slope.T - held) @ share) for share, step in pairs]
    moved = [step.slope if step.response is None else step.response for step in steps]
    precision = sum(pull @ slope for pull, slope in zip(pulls, moved, strict=True))
    return np.asarray(precision), pulls


def shares_of(errors: Sequence[Array]) -> list[Array]:
    """A_t = N_t^-1."""
    return [np.asarray(np.linalg.inv(error), dtype=np.float64) for error in errors]


def held_back(steps: Sequence[Step], shares: Sequence[Array]) -> Array:
    """H = D (I + A D)^-1, symmetric: by how much a common part of the scores is taken for bias."""
    bias = steps[-1].bias
    return np.asarray(bias @ np.linalg.inv(np.eye(len(bias)) + np.asarray(sum(shares)) @ bias))


def surplus(steps: Sequence[Step], estimate: Array) -> float:
    """The weighted residual sum of squares over its degrees of freedom, at least 1.

    Of all steps, those that are contradicted too: what they show of the picture counts.
    """
    total = 0.0
    for step in steps:
        left = step.left(estimate)
        total += float(left @ np.linalg.solve(step.error(estimate), left))
    return max(1.0, total / max(len(estimate) * (len(steps) - 1), 1))


def whitening(information: Array) -> Array:
    """W = information^(-1/2), symmetric."""
    values, vectors = np.linalg.eigh(information)
    floor = max(float(values[-1]) * 1e-10, 1e-12)
    return np.asarray((vectors / np.sqrt(np.maximum(values, floor))) @ vectors.T)


def power(matrix: Array, exponent: float, least: float) -> Array:
    """A power of a symmetric matrix whose eigenvalues are raised to `least` first."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.maximum(values, least) ** exponent) @ vectors.T)
