"""Bounded per-person scores in whitened coordinates: the predictable ball and norm clipping.

A person walks through the intervals at risk with V = sum of w a z~ so far (a = h k the slope of
the survival loss, b = (1 - h) k that of the event loss, z~ = W'z). In each interval w is the
largest weight in [0, 1] that keeps both continuations inside the ball of radius B,

    |V + a w z~| <= B  and  |V - b w z~| <= B,

so it depends on the past and never on the interval's outcome: the weighted score has expectation
zero at the truth, and its norm is at most B for every f and every record.
Proof: docs/proofs/private-newton.md.
"""

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol, Self

import numpy as np

from discreet.design.design import Design
from discreet.design.link import Link
from discreet.likelihood.rows import strata_blocks
from discreet.likelihood.score_expected import (
    STEADY,
    Bend,
    Members,
    Rates,
    expected_rates,
    expected_sums,
)
from discreet.likelihood.score_people import score_sums
from discreet.likelihood.score_walk import (
    LARGEST_PREDICTOR,
    Point,
    Records,
    Table,
    link_number,
)
from discreet.people.episodes import Episodes
from discreet.types import Array, Integers

LARGEST = 2**26
"""L: a person's integer vector has norm at most L; one step is B / L."""

SPACING = 2.0**-4
"""Distance of the lattice of levels; cubic interpolation errs by about 1e-8 of a slope."""

LARGEST_TABLE = 1 << 24

NO_WEIGHTS = np.zeros((0, 0))
"""Where weights are those of the ball."""


@dataclass(frozen=True)
class Whitened:
    """A point f, whitened coordinates z~ = W'z and the bound B: all public or released.

    With strata f and W have the places of all baselines; those of one stratum are in `strata`.
    """

    design: Design
    link: Link
    point: Array
    mapping: Array
    bound: float
    clipped: bool = False

    @property
    def kind(self) -> int:
        """The link's number in compiled code."""
        return link_number(self.link.name)

    @cached_property
    def strata(self) -> "tuple[Whitened, ...]":
        """For each stratum the rows of f and W that are its own or shared: z has no others."""
        if self.design.strata == 1:
            return (self,)
        places = [self.design.columns(number) for number in range(self.design.strata)]
        return tuple(
            replace(self, point=self.point[own], mapping=self.mapping[own]) for own in places
        )

    @property
    def beta(self) -> Array:
        """The covariates' part of f."""
        return np.ascontiguousarray(self.point[self.design.basis.shape[1] :])

    @cached_property
    def predictor(self) -> Array:
        """alpha'B_s."""
        basis = self.design.basis
        return np.ascontiguousarray(basis @ self.point[: basis.shape[1]])

    @cached_property
    def baseline(self) -> Array:
        """The image of (B_s, 0) in whitened coordinates."""
        basis = self.design.basis
        return np.ascontiguousarray(basis @ self.mapping[: basis.shape[1]])

    @cached_property
    def kernel_point(self) -> Point:
        """As compiled code takes it."""
        return Point(
            self.kind,
            self.beta,
            np.ascontiguousarray(self.mapping),
            self.predictor,
            np.ascontiguousarray(self.design.basis),
            self.baseline,
            float(self.bound),
            bool(self.clipped),
        )

    def sums(self, block: Episodes, levels: "Levels") -> tuple[Integers]:
        """The block's sum of quantised bounded scores: each an integer vector of norm <= L."""
        table = Table(levels.origin, SPACING, levels.table, levels.steepest)
        return (score_sums(records_of(block), self.kernel_point, table, LARGEST),)

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
        return expected_sums(people.members, self.kernel_point, there, bend, NO_WEIGHTS)

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
            beta=np.ascontiguousarray(truth[time:]),
            predictor=np.ascontiguousarray(predictor if shift is None else predictor + shift),
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


@dataclass(frozen=True)
class Levels:
    """Prefix sums over intervals on a lattice of levels c = beta'x; none: everybody walks."""

    origin: float = 0.0
    table: Array = field(default_factory=lambda: np.zeros((0, 0, 0)))
    steepest: Array = field(default_factory=lambda: np.zeros((0, 0)))

    @classmethod
    def each(cls, scores: Whitened, persons: int) -> "tuple[Levels, ...]":
        """For every stratum its own."""
        return tuple(cls.make(own, persons // len(scores.strata)) for own in scores.strata)

    @classmethod
    def make(cls, scores: Whitened, persons: int, reach: float | None = None) -> "Levels":
        """Tables where they pay, by public facts and the released point only.

        |x| <= 1, so |c| <= |beta|; `reach` takes its place where several tables share a lattice.
        """
        nodes = lattice_nodes(scores, reach)
        intervals, time = scores.design.basis.shape
        if 2 * nodes * (intervals + 1) * (time + 2) > LARGEST_TABLE or 4 * nodes > persons:
            return cls()
        origin = -SPACING * (nodes // 2)
        levels = origin + SPACING * np.arange(nodes)
        eta = np.clip(scores.predictor[:, None] + levels, -LARGEST_PREDICTOR, LARGEST_PREDICTOR)
        happen = -scores.link.event_loss_derivative(eta)
        steepest = np.vstack([happen[:1], np.maximum.accumulate(happen, axis=0)])
        return cls(origin, _prefixes(scores, eta), np.ascontiguousarray(steepest))


def lattice_nodes(scores: Whitened, reach: float | None) -> int:
    """How many levels cover all c = beta'x, and one more at each end."""
    farthest = float(np.linalg.norm(scores.beta)) if reach is None else reach
    return 2 * math.ceil(farthest / SPACING) + 3


def block_scores(block: Episodes, scores: Whitened, *levels: Levels) -> tuple[Integers]:
    """What an engine adds over blocks of people; one entry of `levels` for each stratum."""
    result = np.zeros(scores.mapping.shape[1], dtype=np.int64)
    strata = zip(scores.strata, levels, strict=True)
    for part, (own, table) in zip(strata_blocks(block), strata, strict=False):
        result += own.sums(part, table)[0]
    return (result,)


def _prefixes(scores: Whitened, eta: Array) -> Array:
    """table[t, node] = sums over s <= t of (a, a |B~_s|, a B_s), then their slopes in a step."""
    lengths = np.linalg.norm(scores.baseline, axis=1)
    loads = np.column_stack([np.ones(len(lengths)), lengths, scores.design.basis])
    slope = scores.link.survival_loss_derivative(eta)
    curvature = scores.link.survival_loss_curvature(eta) * SPACING
    parts = [part[:, :, None] * loads[:, None, :] for part in (slope, curvature)]
    summed = np.cumsum(np.concatenate(parts, axis=2), axis=0)
    return np.ascontiguousarray(np.concatenate([np.zeros_like(summed[:1]), summed]))


def records_of(block: Episodes) -> Records:
    """As compiled code takes them."""
    return Records(
        starts_of(block),
        np.ascontiguousarray(block.covariates, dtype=np.float64),
        np.ascontiguousarray(block.entry, dtype=np.int32),
        np.ascontiguousarray(block.exit, dtype=np.int32),
        np.ascontiguousarray(block.event, dtype=np.bool_),
    )


def starts_of(block: Episodes) -> Integers:
    """Where each person's rows begin, and the end."""
    if block.offsets is None:
        return np.arange(block.rows + 1, dtype=np.int64)
    return np.ascontiguousarray(block.offsets, dtype=np.int64)
