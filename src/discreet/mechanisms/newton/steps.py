"""The steps: each release of a score is a noisy linear equation for the root; all are combined.

At f_t, with whitened coordinates f = f_t + W g, the release is  y_t = J_t g* + noise_t  up to
curvature, J_t the expected Jacobian. The estimate solves the weighted least squares of all steps and
the weak prior. A step from far away is discounted by what curvature may have done to it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

TRUST = 1.0
"""A step may change the predictors of the events by 1 in root mean square."""

ROUNDS = 4


@dataclass(frozen=True)
class Step:
    """One released score, solved: target = f_t + W J^-1 y, with its precision."""

    point: Array
    whitening: Array
    jacobian: Array
    meat: Array
    deviation: float
    target: Array

    @property
    def unwhitening(self) -> Array:
        """W^-1: the length of a difference of f in standard errors."""
        return np.asarray(np.linalg.inv(self.whitening), dtype=np.float64)

    @property
    def precision(self) -> Array:
        """W^-1' J J W^-1 / sigma^2."""
        root = self.jacobian @ self.unwhitening
        return root.T @ root / self.deviation**2

    def weight(self, estimate: Array, events: float) -> float:
        """1 / (1 + curvature^2 / sigma^2), curvature = |g|^2 / (2 sqrt(E d))."""
        length = float(np.sum((self.unwhitening @ (estimate - self.point)) ** 2))
        extra = length**2 / (4.0 * events * len(estimate))
        return 1.0 / (1.0 + extra / self.deviation**2)


@dataclass(frozen=True)
class Prior:
    """A weak normal prior from public facts, centred at the life table's baseline."""

    centre: Array
    precision: Array


def combine(steps: list[Step], prior: Prior, events: float) -> Array:
    """The estimate from all steps so far, within the trust region of the last one."""
    last = steps[-1]
    estimate = last.target
    for attempt in range(ROUNDS):
        used = steps[-1:] if attempt == 0 else steps
        precision, load = prior.precision, prior.precision @ prior.centre
        for step in used:
            part = step.weight(estimate, events) * step.precision
            precision, load = precision + part, load + part @ step.target
        solved = np.asarray(np.linalg.solve(precision, load), dtype=np.float64)
        estimate = within_trust(solved, last, events)
    return estimate


def within_trust(estimate: Array, last: Step, events: float) -> Array:
    """The estimate, pulled back to the trust region around the point of the last step."""
    move = estimate - last.point
    length = float(np.linalg.norm(last.unwhitening @ move)) / np.sqrt(events)
    return np.asarray(last.point + move * min(1.0, TRUST / max(length, 1e-300)))


def covariance(steps: list[Step], estimate: Array, prior: Prior, events: float) -> Array:
    """Sampling and privacy noise, curvature and prior included, of the combined estimate."""
    sampling, noise = variances(steps, estimate, prior, events)
    return sampling + noise


def variances(
    steps: list[Step], estimate: Array, prior: Prior, events: float
) -> tuple[Array, Array]:
    """(sampling, privacy noise with curvature and prior): their sum is the covariance.

    The estimate is sum_t G_t target_t + K^-1 P f_0, G_t = K^-1 c_t P_t, K the total precision.
    Sampling moves all targets together by W J^-1 (score), whose variance is Meat; the noises are
    independent. So the variance is the square of sum_t G_t W J^-1 Meat^(1/2), plus the sum of
    (sigma_t^2 / c_t) G_t W J^-2 W' G_t', where sigma^2 / c = sigma^2 + curvature^2, plus
    K^-1 P K^-1: what the prior's pull is expected to be, squared.
    """
    weights = [step.weight(estimate, events) for step in steps]
    parts = [weight * step.precision for weight, step in zip(weights, steps, strict=True)]
    total = np.linalg.inv(prior.precision + sum(parts))
    sampling, noise = np.zeros_like(total), total @ prior.precision @ total
    for step, part, weight in zip(steps, parts, weights, strict=True):
        lift = total @ part @ step.whitening @ np.linalg.inv(step.jacobian)
        sampling = sampling + lift @ _root(step.meat)
        noise = noise + step.deviation**2 / weight * lift @ lift.T
    return sampling @ sampling.T, noise


def _root(matrix: Array) -> Array:
    """The symmetric square root."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)


def whitening(information: Array) -> Array:
    """W = information^(-1/2), symmetric."""
    values, vectors = np.linalg.eigh(information)
    floor = max(float(values[-1]) * 1e-10, 1e-12)
    return np.asarray((vectors / np.sqrt(np.maximum(values, floor))) @ vectors.T)
