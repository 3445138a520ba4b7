"""The minimiser of a release: certified and projected on a public ball, or else the centre.

In coordinates w with f = f_0 + S w, S = diag(omega, ..., omega, 1, ..., 1), omega a power of two,

    J(w) = loss(f_0 + S w) + k/2 |w|^2 + b'w,    |w_hat - w*| <= |grad J(w_hat)| / k,

because J is k-strongly convex. The gradient that is computed differs from the true one by
rounding; `Tolerance` bounds both by public numbers. Proof:
`docs/proofs/objective-perturbation.md`, section 5.
"""

import math
from dataclasses import dataclass

import numpy as np

from discreet.errors import SettingsError
from discreet.mechanisms.contract import Loss
from discreet.solve import Evaluation, minimise
from discreet.types import Array

RADIUS = 256.0
"""F: before output noise the released point lies within this distance of the public centre."""

ROUNDING = 2.0**-40
"""Bound on the relative rounding of a computed gradient, against the sum of its terms' bounds."""

PREDICTOR_ROUNDING = 2.0**-6
"""Rounding of eta = f'z, d 2^-53 |w| r, shifts slopes by less than ROUNDING times this |w| r."""

ATTEMPTS = ("newton", "bfgs", "newton")


@dataclass(frozen=True)
class CentredCoordinates:
    """f = centre + S w with S = 2^shift on the first `baseline` coordinates, 1 on the others."""

    centre: Array
    baseline: int
    shift: int = 0

    @property
    def scale(self) -> Array:
        """The diagonal of S."""
        first = np.arange(len(self.centre)) < self.baseline
        return np.where(first, math.ldexp(1.0, self.shift), 1.0)

    def grid_exponent(self, exponent: int) -> int:
        """Return the exponent of the grid of f if w lies on the grid 2^exponent."""
        return exponent + min(self.shift, 0)

    def to_integers(self, steps: list[int], exponent: int) -> list[int]:
        """Return f in units of 2^grid_exponent(exponent), exactly, from w in units of 2^exponent."""
        unit = self.grid_exponent(exponent)
        extra = [max(self.shift, 0)] * self.baseline
        extra += [max(-self.shift, 0)] * (len(self.centre) - self.baseline)
        centre = [int(math.ldexp(value, -unit)) for value in self.centre]
        return [base + (w << more) for base, w, more in zip(centre, steps, extra, strict=True)]


@dataclass(frozen=True)
class Tolerance:
    """Public bound tau' on the gradient of J at the point that is used.

    `gradient` bounds |grad loss| of all persons together where |w| <= `reach`, `norm` is
    max_s r_s, `ridge` is k; `tilt_error` bounds the distance of the computed b to the real draw.
    """

    gradient: float
    norm: float
    ridge: float
    tilt_error: float = 0.0
    reach: float = math.inf

    def rounding(self, distance: float, tilt: float) -> float:
        """Bound the error of the computed gradient at |w| = distance and |b| = tilt."""
        loss = self.gradient * (1.0 + PREDICTOR_ROUNDING * self.norm * distance)
        return ROUNDING * (loss + self.ridge * distance + tilt)

    @property
    def total(self) -> float:
        """tau' = 4 rounding(2F, 2Fk + |grad loss|) + tilt_error: four times the unavoidable."""
        tilt = 2.0 * RADIUS * self.ridge + self.gradient
        return 4.0 * self.rounding(2.0 * RADIUS, tilt) + self.tilt_error

    def require_precision(self) -> None:
        """Raise `SettingsError` unless tau' <= F k, as the certificate requires."""
        if not self.total <= RADIUS * self.ridge:
            raise SettingsError("the ridge is too small beside rounding errors: give a larger one")

    def holds(self, distance: float, gradient_norm: float, tilt: float, tilt_error: float) -> bool:
        """Return whether a point is certified; beyond 2F the tolerance grows with |w|."""
        certified = gradient_norm + self.rounding(distance, tilt) + tilt_error
        allowed = self.total * max(1.0, distance / (2.0 * RADIUS))
        return distance <= self.reach and certified <= allowed


@dataclass(frozen=True)
class CentredObjective:
    """J(w) for a solver, which sees a callable and never data."""

    loss: Loss
    coordinates: CentredCoordinates
    ridge: float
    tilt: Array

    def __call__(self, w: Array) -> Evaluation:
        """Return value, gradient and Hessian in w."""
        scale = self.coordinates.scale
        inner = self.loss(self.coordinates.centre + scale * w)
        return Evaluation(
            inner.value + 0.5 * self.ridge * float(w @ w) + float(self.tilt @ w),
            scale * inner.gradient + self.ridge * w + self.tilt,
            scale[:, None] * inner.hessian * scale + self.ridge * np.eye(len(w)),
        )


def certified_minimiser(
    objective: CentredObjective, tolerance: Tolerance, tilt_error: float = 0.0
) -> Array:
    """Return a point within tau'/k of the projection of the minimiser on the ball of radius F.

    If no attempt is certified, the public centre is returned: an output of the same shape.
    """
    tilt = float(np.linalg.norm(objective.tilt))
    point = np.zeros_like(objective.tilt)
    for method in ATTEMPTS:
        # the loss of a real file is finite everywhere; but an exception here would disclose
        # something of the data, so an attempt that meets a number that is not finite is skipped
        try:
            solution = minimise(objective, point, method=method, tolerance=tolerance.total / 4)
        except (ArithmeticError, ValueError):
            continue
        distance = float(np.linalg.norm(solution.point))
        gradient_norm = float(np.linalg.norm(solution.evaluation.gradient))
        if tolerance.holds(distance, gradient_norm, tilt, tilt_error):
            return project(solution.point)
        finite = np.all(np.isfinite(solution.point))
        point = solution.point if finite else np.zeros_like(point)
    return np.zeros_like(objective.tilt)


def project(w: Array) -> Array:
    """Return the nearest point of the ball |w| <= F."""
    distance = float(np.linalg.norm(w))
    return w if distance <= RADIUS else w * (RADIUS / distance)
