"""Minimisers of convex functions: damped Newton and BFGS. They see a callable, never data."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import linalg

from discreet.errors import SettingsError
from discreet.types import Array

Status = Literal["converged", "iteration limit", "no further progress"]


@dataclass(frozen=True)
class Evaluation:
    """An objective at a point: value, gradient and Hessian."""

    value: float
    gradient: Array
    hessian: Array


@dataclass(frozen=True)
class Solution:
    """Where a minimiser stopped, and the certificate: the norm of the gradient there."""

    point: Array
    evaluation: Evaluation
    gradient_norm: float
    status: Status

    @property
    def converged(self) -> bool:
        """The gradient norm is at most the tolerance."""
        return self.status == "converged"


def minimise(
    objective: Callable[[Array], Evaluation],
    start: Array,
    *,
    method: str = "newton",
    tolerance: float = 1e-10,
    limit: int = 100,
) -> Solution:
    """Minimise until |gradient| <= tolerance (of the objective as given, not of its mean)."""
    methods = {"newton": _newton, "bfgs": _bfgs}
    if method not in methods:
        raise SettingsError(f"unknown solver {method!r}: choose one of {', '.join(methods)}")
    return methods[method](objective, np.asarray(start, dtype=np.float64), tolerance, limit)


def _newton(
    objective: Callable[[Array], Evaluation], start: Array, tolerance: float, limit: int
) -> Solution:
    """f <- f - t H^{-1} g, t halved until the value falls (Boyd and Vandenberghe, 9.5.2)."""
    point, here = start, objective(start)
    for _ in range(limit + 1):
        norm = float(np.linalg.norm(here.gradient))
        if norm <= tolerance:
            return Solution(point, here, norm, "converged")
        step = _newton_step(here)
        # where probabilities saturate the curvature is nearly 0 and the step means nothing
        longest = 10.0 * (1.0 + float(np.linalg.norm(point)))
        step *= min(1.0, longest / max(float(np.linalg.norm(step)), np.finfo(float).tiny))
        following = _line_search(objective, point, here, step)
        if following is None:
            return Solution(point, here, norm, "no further progress")
        point, here = following
    return Solution(point, here, norm, "iteration limit")


def _newton_step(here: Evaluation) -> Array:
    """-H^{-1} g; a Hessian that is not positive definite to rounding gets a growing ridge."""
    scale = max(float(np.trace(here.hessian)) / len(here.gradient), np.finfo(float).tiny)
    for ridge in (0.0, 1e-14, 1e-11, 1e-8, 1e-4, 1.0):
        shifted = here.hessian + ridge * scale * np.eye(len(here.gradient))
        try:
            step = linalg.cho_solve(linalg.cho_factor(shifted), -here.gradient)
        except linalg.LinAlgError:
            continue
        return np.asarray(step)
    return -here.gradient / scale


def _line_search(
    objective: Callable[[Array], Evaluation], point: Array, here: Evaluation, step: Array
) -> tuple[Array, Evaluation] | None:
    """Backtrack until Armijo's rule holds, or the gradient falls where values are all rounding."""
    slope = float(here.gradient @ step)
    rounding = 1e-13 * abs(here.value)
    size = 1.0
    for _ in range(60):
        there = objective(point + size * step)
        fell = there.value <= here.value + 1e-4 * size * slope
        if fell and not abs(slope) * size < rounding:
            return point + size * step, there
        flat = abs(there.value - here.value) <= rounding
        if flat and np.linalg.norm(there.gradient) < np.linalg.norm(here.gradient):
            return point + size * step, there
        size *= 0.5
    return None


def _bfgs(
    objective: Callable[[Array], Evaluation], start: Array, tolerance: float, limit: int
) -> Solution:
    """The paper's solver, scipy's implementation, on value and gradient alone."""
    from scipy import optimize  # noqa: PLC0415 - half a second that only BFGS needs

    def pair(point: Array) -> tuple[float, Array]:
        here = objective(point)
        return here.value, here.gradient

    options = {"gtol": tolerance, "norm": 2, "maxiter": max(limit, 200 * len(start))}
    found = optimize.minimize(pair, start, jac=True, method="BFGS", options=options)
    here = objective(found.x)
    norm = float(np.linalg.norm(here.gradient))
    status: Status = "converged" if norm <= tolerance else "no further progress"
    return Solution(found.x, here, norm, status)
