"""What the steps together show of the slope: post-processing that keeps Newton from overshooting.

Where a few people carry the information on a direction, counts do not show them, and the cohort's
Jacobian is too small there; by a factor of two and more, Newton's steps would run away. But two
released scores at different points show the true slope between them. With e_t = y_t - S_t(f) in the
coordinates of f and C the curvature that the cohort lacks,

    e_t = C (f* - f_t) + ...,   so   e_t - e_T = C (f_T - f_t) + noise.

C is built from such pairs: along every difference f_T - f_t, as far as it stands out of the noise.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from discreet.mechanisms.newton.steps import (
    Prior,
    Priors,
    Step,
    errors_of,
    held_back,
    pulled,
    shares_of,
    within_trust,
)
from discreet.types import Array

ROUNDS = 5
SETTLED = 1e-2
"""Rounds end when the estimate moves by less than this many standard errors."""

HALVES = 5
"""A round goes the whole way, or half of it, a quarter ..., or not at all."""

SHORT = 1.0
"""A move of fewer standard errors is made without asking for a smaller misfit."""

Linear = Callable[[Array], Step]
"""A released score as a linear equation around an estimate."""

MATERIAL = 0.25
"""A slope that is off by less, in parts of the expected one, is left alone: Newton converges."""


def combine(released: Sequence[Linear], start: Array, prior: Priors, events: float) -> Array:
    """The estimate from all steps so far, from `start` within the trust region of the last one."""
    estimate, steps = start, _all(released, start)
    for _ in range(ROUNDS):
        problem = Round.at(steps, estimate, prior.around(estimate))
        aim = within_trust(problem.solved(), steps[-1], events)
        before, reached = estimate, _descend(released, problem, (estimate, steps), aim)
        if reached is None:
            break
        estimate, steps = reached
        if np.linalg.norm(steps[-1].unwhitening @ (estimate - before)) < SETTLED:
            break
    return estimate


@dataclass(frozen=True)
class Round:
    """The least squares of one round: the steps' errors and the lacking curvature are held."""

    prior: Prior
    errors: list[Array]
    lacking: Array
    bent: list[Step]

    @classmethod
    def at(cls, steps: Sequence[Step], estimate: Array, prior: Prior) -> "Round":
        """As the estimate shows them."""
        lacking = lacking_curvature(steps, estimate)
        bent = [_with_curvature(step, estimate, lacking) for step in steps]
        return cls(prior, errors_of(bent, estimate), lacking, bent)

    def solved(self) -> Array:
        """The solution of the linear equations around the estimate."""
        precision, pulls = pulled(self.bent, self.errors)
        load = self.prior.precision @ self.prior.centre
        for pull, step in zip(pulls, self.bent, strict=True):
            load = load + pull @ (step.slope @ step.target)
        return np.asarray(np.linalg.solve(self.prior.precision + precision, load), dtype=np.float64)

    def misfit(self, steps: Sequence[Step], estimate: Array) -> float:
        """The weighted sum of squares at the estimate, around which the steps are."""
        gap, shares = estimate - self.prior.centre, shares_of(self.errors)
        total, common = float(gap @ self.prior.precision @ gap), np.zeros(len(estimate))
        for share, step in zip(shares, steps, strict=True):
            bend = self.lacking @ (estimate - step.point)
            left = step.whitening.T @ (_surprise(step, estimate) - bend)
            total, common = total + float(left @ share @ left), common + share @ left
        return total - float(common @ held_back(steps, shares) @ common)


def _descend(
    released: Sequence[Linear], problem: Round, here: tuple[Array, list[Step]], aim: Array
) -> tuple[Array, list[Step]] | None:
    """The aim, or the farthest of a few halves of the way, with a smaller misfit; or nothing.

    Far from the estimate the linear equations may be no guide at all, and rounds that overshoot
    would take turns, each farther out than the one before.
    """
    estimate, steps = here
    short = bool(np.linalg.norm(steps[-1].unwhitening @ (aim - estimate)) < SHORT)
    limit = problem.misfit(steps, estimate)
    for half in range(HALVES):
        trial = estimate + (aim - estimate) * 0.5**half
        around_trial = _all(released, trial)
        if short or problem.misfit(around_trial, trial) < limit:
            return trial, around_trial
    return None


def _all(released: Sequence[Linear], estimate: Array) -> list[Step]:
    """Every step around the estimate: each takes less time than a thread takes to start."""
    return [linear(estimate) for linear in released]


def around(released: Sequence[Linear], estimate: Array) -> list[Step]:
    """The linear equations around the estimate, with the curvature that the cohort lacks."""
    return corrected(_all(released, estimate), estimate)


def corrected(steps: Sequence[Step], estimate: Array) -> list[Step]:
    """The same equations with the curvature that the cohort lacks."""
    lacking = lacking_curvature(steps, estimate)
    return [_with_curvature(step, estimate, lacking) for step in steps]


def lacking_curvature(steps: Sequence[Step], estimate: Array) -> Array:
    """C, positive semidefinite; 0 where the cohort's slopes explain the differences."""
    last = steps[-1]
    final, unwhitening = _surprise(last, estimate), last.unwhitening
    lacking = np.zeros((len(estimate), len(estimate)))
    for step in reversed(steps[:-1]):
        apart = last.point - step.point
        whitened = unwhitening @ apart
        length = float(np.linalg.norm(whitened))
        if length == 0.0:
            continue
        shown = _surprise(step, estimate) - final - lacking @ apart
        noise = float(np.hypot(step.deviation, last.deviation)) / length
        rise = float(apart @ shown) / length**2 - 2.0 * noise
        if rise > MATERIAL:
            along = unwhitening.T @ (whitened / length)
            lacking = lacking + rise * np.outer(along, along)
    return lacking


def _surprise(step: Step, estimate: Array) -> Array:
    """e = W^-T (y - S(f)): what is left of the released score in the coordinates of f."""
    return np.asarray(step.unwhitening.T @ step.left(estimate))


def _with_curvature(step: Step, estimate: Array, lacking: Array) -> Step:
    """y - S(f) - C (f - f_t) = (J + W'C W) g."""
    frame = step.whitening
    jacobian = step.jacobian + frame.T @ lacking @ frame
    left = frame.T @ (_surprise(step, estimate) - lacking @ (estimate - step.point))
    target = estimate + frame @ np.linalg.solve(jacobian, left)
    return replace(step, jacobian=jacobian, target=target)
