"""Scores as a synthetic cohort has them: what is foreseen of people, of whom no record is seen here.

A cohort's members are in stretches of time; their expected scores are made by `expected`, at weights of
the walk that bounds people's scores (`discreet.core.walk`). With several causes the weights are those of
all causes together, in the conventions of that module. Proofs: docs/proofs/private-newton.md and
competing-risks.md, section 5 of each.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol, Self

import numpy as np

from discreet.core.scores import JointScores, Whitened
from discreet.core.slopes import LARGEST_PREDICTOR, slopes
from discreet.core.walk import Point, ball_weight
from discreet.likelihood.jit import compiled
from discreet.mechanisms.newton.expected import (
    STEADY,
    Bend,
    Members,
    Rates,
    expected_rates,
    expected_sums,
)
from discreet.types import Array, Integers

NO_WEIGHTS = np.zeros((0, 0))
"""Where weights are those of the ball."""


@dataclass(frozen=True)
class CohortScores(Whitened):
    """One cause's scores, asked of a cohort; `others` has all causes that share its ball."""

    others: "tuple[CohortScores, ...]" = ()
    cause: int = 0

    @property
    def plain(self) -> Whitened:
        """The scores alone, as people are asked for them."""
        return Whitened(self.design, self.link, self.point, self.mapping, self.bound, self.clipped)

    @cached_property
    def kernel_point(self) -> Point:
        """As compiled code takes it."""
        return JointScores((self,)).point

    def expected(self, people: "Expected") -> tuple[Array, Array, Array]:
        """(J, Meat, full information) of the weighted scores, were these the people."""
        _, matrix, meat, full = self.foreseen(people, self.point)
        return matrix, meat, full

    def foreseen(
        self, people: "Expected", truth: Array, shift: Array | None = None, bend: Bend = STEADY
    ) -> tuple[Array, Array, Array, Array]:
        """Expected (score, slope, Meat, full information) here when `truth` is the truth.

        `shift`, by interval (and stratum), is added to the true predictor, and `bend` makes effects
        change: a baseline and effects that the model cannot have.
        """
        if self.design.strata == 1:
            return self.foreseen_here(people, truth, shift, bend)
        found = [
            own.foreseen_here(
                people.of_stratum(number),
                truth[self.design.columns(number)],
                None if shift is None else shift[number],
                bend,
            )
            for number, own in enumerate(self.strata)
        ]
        score, slope, meat, full = (sum(parts[1:], parts[0]) for parts in zip(*found, strict=True))
        return score, slope, meat, full

    def foreseen_here(
        self, people: "Expected", truth: Array, shift: Array | None, bend: Bend
    ) -> tuple[Array, Array, Array, Array]:
        """The same of the people of one stratum, at its own rows."""
        there = self.kernel_truth(truth, shift)
        weights = NO_WEIGHTS
        if self.others and math.isfinite(self.bound):
            weights = joint_weights(self.others, people, self.cause, self.mapping)
        return expected_sums(people.members, self.kernel_point, there, bend, weights)

    def predictors(self, cohort: Array, edges: Integers) -> Array:
        """The linear predictor by member and interval, of a cohort in one stratum."""
        eta = (cohort @ self.beta)[:, stretches_of(edges)] + self.predictor
        return np.asarray(np.clip(eta, -LARGEST_PREDICTOR, LARGEST_PREDICTOR))

    def weighted(self, people: "Expected", weights: Array) -> Array:
        """The information of one stratum's people, were each interval of a member weighted so.

        `weights` are by interval and member.
        """
        there = self.kernel_truth(self.point, None)
        return expected_sums(people.members, self.kernel_point, there, STEADY, weights)[1]

    def kernel_truth(self, truth: Array, shift: Array | None) -> Point:
        """The truth as compiled code takes it, its predictor moved by `shift`."""
        basis = self.design.basis
        time = basis.shape[1]
        predictor = basis @ truth[:time]
        return self.kernel_point._replace(
            beta=np.ascontiguousarray(truth[time:])[None],
            predictor=np.ascontiguousarray(predictor if shift is None else predictor + shift)[None],
        )

    def rates(
        self,
        people: "Expected",
        shift: Array | None = None,
        bend: Bend = STEADY,
        *,
        sloped: bool = True,
    ) -> Rates:
        """The mean hazards of the cohort of one stratum, at its own rows of the point."""
        here = self.kernel_point
        if shift is not None:
            here = here._replace(predictor=here.predictor + shift)
        return expected_rates(people.members, here, bend, len(self.point) if sloped else 0)


def stretches_of(edges: Integers) -> Integers:
    """The number of every interval's stretch of time; stretch k is edges[k] < s <= edges[k + 1]."""
    return np.repeat(np.arange(len(edges) - 1), np.diff(edges))


class Expected(Protocol):
    """A synthetic cohort: who its members are in each stretch of time, and for how many they stand.

    `cohort` is (members, stretches, p), `counts` (members, stretches); stretch k holds the
    intervals edges[k] < s <= edges[k + 1]; `present` is the chance of being observed, by interval.
    """

    def of_stratum(self, number: int) -> Self:
        """The members of one stratum."""

    @property
    def cohort(self) -> Array:
        """Covariates in internal coordinates."""

    @property
    def counts(self) -> Array:
        """How many people each member stands for."""

    @property
    def edges(self) -> Integers:
        """Where stretches end."""

    @property
    def present(self) -> Array:
        """The chance of not being censored, and of having entered, by interval."""

    @property
    def remaining(self) -> Array | None:
        """The chance of no event of another cause, by member and interval; None: there is none."""

    @property
    def members(self) -> Members:
        """All of this as compiled code takes it: `members_of`, once."""


def members_of(people: Expected) -> Members:
    """As compiled code takes them."""
    return Members(
        np.ascontiguousarray(people.cohort, dtype=np.float64),
        np.ascontiguousarray(people.counts, dtype=np.float64),
        np.ascontiguousarray(people.edges, dtype=np.int64),
        np.ascontiguousarray(people.present),
        _remaining(people),
    )


def _remaining(people: Expected) -> Array:
    """By member and interval; no rows where there is one cause, and nobody is lost to another."""
    if people.remaining is None:
        return np.zeros((0, 0))
    return np.ascontiguousarray(people.remaining)


def joint_weights(parts: Sequence[Whitened], people: Expected, cause: int, mapping: Array) -> Array:
    """w of all causes by interval and member, without events; `cause` is seen through `mapping`."""
    points, members = JointScores(tuple(parts)).point, people.members
    if not math.isfinite(parts[cause].bound):
        return np.ones((len(points.basis), members.covariates.shape[0]))
    mappings = points.mapping.copy()
    mappings[cause] = mapping / parts[cause].bound
    baselines = points.baseline.copy()
    baselines[cause] = points.basis @ mappings[cause, : points.basis.shape[1]]
    return cause_weights(members, points._replace(mapping=mappings, baseline=baselines))


def chance_of_no_other(
    parts: Sequence[CohortScores], cohort: Array, edges: Integers, cause: int
) -> Array:
    """The chance of no event of another cause by member and interval, (members, q).

    With o_k the odds of cause k it is the product over u <= s of (1 + o_r) / (1 + sum o_k).
    """
    link, intervals = parts[0].link, len(parts[0].predictor)
    odds = np.empty((len(parts), len(cohort), intervals))
    for part, found in zip(parts, odds, strict=True):
        hazard = link.hazard(part.predictors(cohort, edges))
        found[:] = hazard / np.maximum(1.0 - hazard, 1e-12)
    return np.cumprod((1.0 + odds[cause]) / (1.0 + odds.sum(axis=0)), axis=1)


class CauseScratch(NamedTuple):
    """V as one column and by cause, z of the row and of the interval, and numbers of each cause."""

    whole: Array
    total: Array
    tilt: Array
    image: Array
    position: Array
    survive: Array
    happen: Array
    inner: Array
    norm: Array


@compiled
def locate_member(covariates: Array, row: int, beta: Array, mapping: Array, tilt: Array) -> float:
    """Write the covariates' part of z~ into `tilt`; c = beta'x."""
    width = covariates.shape[1]
    time = mapping.shape[0] - width
    position = 0.0
    tilt[:] = 0.0
    for j in range(width):
        position += covariates[row, j] * beta[j]
        for k in range(len(tilt)):
            tilt[k] += covariates[row, j] * mapping[time + j, k]
    return position


@compiled
def scratch_for(causes: int, size: int) -> CauseScratch:
    """Room for one person."""
    whole = np.zeros((causes * size, 1))
    return CauseScratch(
        whole,
        whole.reshape(causes, size),
        np.zeros((causes, size)),
        np.zeros((causes, size)),
        np.zeros(causes),
        np.zeros(causes),
        np.zeros(causes),
        np.zeros(causes),
        np.zeros(causes),
    )


@compiled
def outcome_weight(scratch: CauseScratch, bound: float) -> float:
    """The largest w in [0, 1] that keeps all R + 1 outcomes of an interval in the ball."""
    square, along, length, weight = 0.0, 0.0, 0.0, 1.0
    for k in range(len(scratch.whole)):
        square += scratch.whole[k, 0] * scratch.whole[k, 0]
    for r in range(len(scratch.survive)):
        rise, happen = scratch.survive[r], scratch.happen[r]
        inner, norm = scratch.inner[r], scratch.norm[r]
        along += rise * inner
        length += rise * rise * norm
        weight = min(weight, ball_weight(inner, square, norm, 0.0, happen, bound))
    return min(weight, ball_weight(along, square, length, 1.0, 0.0, bound))


@compiled
def set_interval(points: Point, interval: int, scratch: CauseScratch) -> None:
    """Slopes a, b, image z, V'z and |z|^2 of every cause in an interval."""
    size = scratch.total.shape[1]
    for r in range(len(scratch.position)):
        eta = points.predictor[r, interval] + scratch.position[r]
        scratch.survive[r], scratch.happen[r] = slopes(points.link[0], eta)
        inner, norm = 0.0, 0.0
        for k in range(size):
            value = points.baseline[r, interval, k] + scratch.tilt[r, k]
            scratch.image[r, k] = value
            inner += scratch.total[r, k] * value
            norm += value * value
        scratch.inner[r], scratch.norm[r] = inner, norm


@compiled
def step_on(outcome: int, weight: float, scratch: CauseScratch) -> None:
    """Add the interval's weighted score: outcome 0 is no event, k is cause k."""
    for r in range(len(scratch.position)):
        step = scratch.survive[r] if outcome == 0 else 0.0
        if r + 1 == outcome:
            step = -scratch.happen[r]
        for k in range(scratch.total.shape[1]):
            scratch.total[r, k] += weight * step * scratch.image[r, k]


@compiled
def cause_weights(members: Members, points: Point) -> Array:
    """The weights by interval of a cohort's members, were there no event."""
    causes, size = points.mapping.shape[0], points.mapping.shape[2]
    people = members.covariates.shape[0]
    weights, scratch = np.ones((len(points.basis), people)), scratch_for(causes, size)
    bound = math.inf if points.clipped else points.bound
    for member in range(people):
        scratch.whole[:] = 0.0
        for k in range(members.covariates.shape[1]):
            for r in range(causes):
                scratch.position[r] = locate_member(
                    members.covariates[member],
                    k,
                    points.beta[r],
                    points.mapping[r],
                    scratch.tilt[r],
                )
            for s in range(members.edges[k], members.edges[k + 1]):
                set_interval(points, s, scratch)
                weights[s, member] = outcome_weight(scratch, bound)
                step_on(0, weights[s, member], scratch)
    return weights
