"""What a step is before the data are asked: coordinates, bound, expected Jacobian and noise.

Nothing here sees a record: the draw makes its steps from it, and the planner predicts them.

How far a run will end from the maximum likelihood estimate: the steps without the data.

Step t is made at a point as far from the end as the steps before it leave the estimate; its noise
and weight follow, as in `steps.py`. To the combined noise comes what the bound itself changes: a
weighted score J, Meat is a less efficient estimator, and the variance of its distance from the
efficient one is the difference of their variances, J^-1 Meat J^-1 - (full information)^-1.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial

import numpy as np

from discreet.core.question import SCORES
from discreet.core.split import Split
from discreet.design.design import Design
from discreet.design.link import Link
from discreet.mechanisms.newton.bound import Cohort, choose_bound, correction, sloped
from discreet.mechanisms.newton.cohort import (
    Profile,
    baseline_start,
    numeric_columns,
    numeric_ranges,
)
from discreet.mechanisms.newton.combine import Linear
from discreet.mechanisms.newton.foreseen import CohortScores
from discreet.mechanisms.newton.shape import Shape
from discreet.mechanisms.newton.split import informed_step
from discreet.mechanisms.newton.steps import Prior, Step, variances, whitening
from discreet.types import Array

RANGE_EFFECT = 4.0
"""Prior standard deviation of a covariate's effect over its whole public range, on the link's
scale: e^4 = 55 times the odds is one standard deviation."""
LEVEL_DEVIATION, SHAPE_DEVIATION = 3.0, 2.0
"""Prior standard deviations of the baseline: its level and its other directions."""
SPREADS = 6.0
"""Standard deviations of a number from the people's mean beyond which nothing is known of a level."""
MANY_STEPS = 4
"""With as many later steps the first one's noise is below its curvature: a bound tighter than
theirs would gain nothing, and everybody would have to walk."""


def expected_information(design: Design, link: Link, point: Array, people: Cohort) -> Array:
    """The cohort's information at the point, in internal coordinates."""
    plain = CohortScores(design, link, point, np.eye(len(point)), math.inf)
    return people.seen(plain).expected(people)[2]


@dataclass(frozen=True)
class Equation:
    """J g = released score + noise, at the scores' point and in their coordinates.

    `informed` says whether the people's information was known when it was made.
    """

    scores: CohortScores
    jacobian: Array
    meat: Array
    deviation: float
    doubt: float
    informed: bool = False

    def around(self, released: Array, shape: Shape, estimate: Array) -> Step:
        """The released score as a linear equation around an estimate, as a picture shows it."""
        scores, people = self.scores, shape.people
        frame, residual = scores.mapping, shape.at(estimate)
        truth = people.through(scores.point, estimate + residual.offset)
        away = residual.shift, residual.bend
        bent, slope, meat, whole = people.seen(scores).foreseen(people, truth, *away)
        full = frame.T @ residual.information @ frame
        score = correction(bent, slope, frame.T @ residual.score, full)
        jacobian = sloped(slope)
        target = estimate + frame @ np.linalg.solve(jacobian, released + score)
        older = people.lens is not None and not self.informed
        own = scores.point, frame, jacobian, meat, self.deviation, target, self.doubt, score
        time = shape.design.time_dimension
        told = older, residual.wrong, time, self.unwhitening
        taken = (whole - slope) @ self.unwhitening[:, time:] * (RANGE_EFFECT * shape.tail_slopes)
        return Step(*own, *told, informed=self.informed, taken=taken)

    @cached_property
    def unwhitening(self) -> Array:
        """W^-1, the same around every estimate."""
        return np.asarray(np.linalg.inv(self.scores.mapping), dtype=np.float64)

    def modelled(self, shape: Shape, estimate: Array) -> tuple[Array, Array]:
        """The score expected here were the model at the estimate right, and its variance."""
        people = shape.people
        truth = people.through(self.scores.point, estimate)
        score, _, meat, _ = people.seen(self.scores).foreseen(people, truth)
        return score, meat

    def answered(self, released: Array, shape: Shape) -> Linear:
        """The same as a function of the estimate."""
        return partial(self.around, released, shape)


@dataclass(frozen=True)
class Setting:
    """The public half of a run: design, link, shares of the budget, ball or clipping."""

    design: Design
    link: Link
    budget: Split
    clipped: bool = False
    causes: int = 1

    def prior(
        self,
        profile: Profile,
        spreads: Array | None = None,
        each: Sequence[Profile] = (),
        mean: Array | None = None,
    ) -> Prior:
        """Level and shape of the baseline, and no effect of any covariate.

        A number's range is the public one, or six of its released spreads where that is less, and
        the level is that of the middle of the public range, or as near to the people's released
        mean: generous bounds say nothing of an effect, nor does a baseline far from everybody.
        `each` has the life tables of strata: a baseline is everybody's as far as its own table is
        noise.
        """
        size, time = self.design.dimension, self.design.time_dimension
        level = self.design.constant
        along = np.outer(level, level) / float(level @ level)
        shape = (np.eye(len(level)) - along) / SHAPE_DEVIATION**2 + along / LEVEL_DEVIATION**2
        precision = np.zeros((size, size))
        precision[:time, :time] = np.kron(np.eye(self.design.strata), shape)
        ranges = numeric_ranges(self.design)
        if spreads is not None:
            ranges = np.where(numeric_columns(self.design), np.minimum(ranges, 3 * spreads), ranges)
        effect = RANGE_EFFECT / (2.0 * ranges)
        effects = np.append(np.zeros(time), effect**-2.0)
        precision[time:, time:] = np.diag(effects[time:])
        if mean is not None and spreads is not None:
            levels = self._levels_at(self._place(mean, spreads))
            precision = levels.T @ precision @ levels
        centre = np.zeros(size)
        centre[:time] = self._start(profile, each, shape)
        return Prior(centre, precision, effects=effects)

    def _place(self, mean: Array, spreads: Array) -> Array:
        """The middle of the public ranges, numbers within a few spreads of their mean; all columns."""
        covariates = self.design.covariates
        leads = covariates.leads
        reach, own = SPREADS * spreads[leads], mean[leads]
        near = np.where(covariates.numbers[leads], np.clip(0.0, own - reach, own + reach), 0.0)
        here, middle = self.design.complete(np.stack([near, np.zeros(len(leads))]))
        return np.asarray(here - middle)

    def _levels_at(self, place: Array) -> Array:
        """f with every baseline moved to where the columns are."""
        matrix, level = np.eye(self.design.dimension), self.design.constant
        for stratum in range(self.design.strata):
            own = self.design.columns(stratum)[: len(level)]
            matrix[own, self.design.time_dimension :] = np.outer(level, place)
        return matrix

    def _start(self, profile: Profile, each: Sequence[Profile], precision: Array) -> Array:
        """The baselines that fit the released life tables."""
        design, link = self.design, self.link
        everybody = baseline_start(design, link, profile, precision)
        if self.design.strata == 1:
            return everybody
        own = [baseline_start(design, link, one, precision, everybody) for one in each]
        return np.concatenate(own)

    def equation(self, point: Array, shape: Shape, prior: Prior, share: Fraction) -> Equation:
        """Whiten at the point, choose the bound, expect the Jacobian."""
        people, residual = shape.people, shape.at(point)
        information = expected_information(self.design, self.link, point, people)
        frame = whitening(information + prior.precision)
        scores = CohortScores(self.design, self.link, point, frame, math.inf, self.clipped)
        held = frame.T @ prior.precision @ frame
        bound, doubt = choose_bound(scores, people, self._unit_noise(share), residual, held)
        scores = CohortScores(self.design, self.link, point, frame, bound, self.clipped)
        jacobian, meat, _ = people.seen(scores).expected(people)
        jacobian = sloped(jacobian)
        informed = people.lens is not None
        return Equation(scores, jacobian, meat, self._deviation(share) * bound, doubt, informed)

    def _deviation(self, share: Fraction) -> float:
        """Noise of a coordinate of the sum, in units of the bound."""
        size = self.causes * self.design.dimension
        return self.budget.deviation(share, SCORES, size)

    def _unit_noise(self, share: Fraction) -> float:
        """What the bound is chosen for: the first of few steps for itself, the others together."""
        first, *later = self.budget.steps
        alone = share == first and len(later) < MANY_STEPS
        return self._together([share]) if alone else self._later

    @cached_property
    def _later(self) -> float:
        """The noise of all steps but the first together."""
        return self._together(self.budget.steps[1:])

    def _together(self, shares: Sequence[Fraction]) -> float:
        noises = [self._deviation(one) for one in shares]
        return float(np.sum(np.array(noises) ** -2.0) ** -0.5)


def predicted_variance(
    setting: Setting, point: Array, shape: Shape, prior: Prior, far: float
) -> Array:
    """E (f - f*)(f - f*)', where the start is sqrt(`far`) standard errors from the end."""
    people, budget = shape.people, setting.budget
    steps: list[Step] = []
    squared, noise = far, np.zeros((len(point), len(point)))
    known_after = informed_step(budget)
    for number, share in enumerate(budget.steps):
        equation = setting.equation(point, shape, prior, share)
        known = known_after is not None and number > known_after
        steps.append(_displaced(equation, min(squared, people.events), informed=known))
        noise = variances(steps, point, prior)[1]
        unwhitening = steps[-1].unwhitening
        squared = float(np.trace(unwhitening @ noise @ unwhitening.T))
    return noise + _inefficiency(equation, people)


def _displaced(equation: Equation, squared: float, *, informed: bool) -> Step:
    """The step from a point at this squared distance (in standard errors) from the target."""
    frame, target = equation.scores.mapping, equation.scores.point
    away = frame @ np.full(len(target), np.sqrt(squared / len(target)))
    own = frame, equation.jacobian, equation.meat, equation.deviation, target
    return Step(target + away, *own, informed=informed)


def _inefficiency(equation: Equation, people: Cohort) -> Array:
    """W (J^-1 Meat J^-1 - I) W', never negative."""
    frame, inverse = equation.scores.mapping, np.linalg.inv(equation.jacobian)
    full = people.seen(equation.scores).expected(people)[2]
    values, vectors = np.linalg.eigh(inverse @ equation.meat @ inverse - np.linalg.inv(full))
    return np.asarray(frame @ (vectors * np.maximum(values, 0.0)) @ vectors.T @ frame.T)
