"""Points at which scores are taken, and the sums over blocks of people that an engine adds.

Scores are bounded in whitened coordinates z~ = W'z: the compiled walk (`walk`) keeps a person's
score in a ball of radius B whatever happens in the next interval, by weights that depend on the past
alone, so the weighted score has expectation zero at the truth. Here are the public or released numbers
that it takes, for one cause and for several, and tables of prefix sums on a lattice of levels
c = beta'x, which are functions of these numbers alone.

Conventions. Axes are R causes, q intervals, e baseline functions, p effects of covariates, d whitened
coordinates; f = (alpha, beta) has e + p places, or those of all baselines with strata. Where effects change
with time p counts those of all periods. Proofs:
docs/proofs/private-newton.md, sections 2 and 3; docs/proofs/competing-risks.md, sections 2 and 3;
docs/proofs/persons.md, section 3.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from discreet.core.information import (
    LARGEST_FACTOR,
    Informations,
    information_sums,
)
from discreet.core.people import SPACING, Levels, score_sums
from discreet.core.slopes import LARGEST_PREDICTOR, link_number
from discreet.core.walk import Point, Records
from discreet.design.design import Design
from discreet.design.link import Link
from discreet.likelihood.rows import strata_blocks
from discreet.people.episodes import Episodes
from discreet.types import Array, Integers

LARGEST = 2**26
"""L: a person's integer vector has norm at most L; one step is B / L."""

LARGEST_TABLE = 1 << 24
"""Numbers in a cause's table of prefix sums."""


@dataclass(frozen=True)
class Whitened:
    """A point f, whitened coordinates z~ = W'z and the bound B of one cause: all public or released.

    `point` f (G e + p), `mapping` W (G e + p, d), G the number of strata; the rows of f and W that one
    stratum has are in `strata`.
    """

    design: Design
    link: Link
    point: Array
    mapping: Array
    bound: float
    clipped: bool = False

    @cached_property
    def strata(self) -> tuple[Self, ...]:
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
        """The image of (B_s, 0) in whitened coordinates, (q, d)."""
        basis = self.design.basis
        return np.ascontiguousarray(basis @ self.mapping[: basis.shape[1]])


@dataclass(frozen=True)
class JointScores:
    """The scores of all causes of a person, which share one ball; of one cause they are its own.

    `parts` has for every cause its point f_r, whitening W_r and bound B_r. Several causes are measured
    in units of their bounds, in a ball of radius 1.
    """

    parts: tuple[Whitened, ...]

    @cached_property
    def strata(self) -> "tuple[JointScores, ...]":
        """For each stratum the rows of f and W that are its own or shared."""
        return tuple(map(JointScores, zip(*(part.strata for part in self.parts), strict=True)))

    @property
    def size(self) -> int:
        """d, of each cause."""
        return int(self.parts[0].mapping.shape[1])

    @property
    def units(self) -> tuple[float, ...]:
        """By what every cause's scores are divided before they share a ball."""
        if len(self.parts) == 1:
            return (1.0,)
        return tuple(part.bound for part in self.parts)

    @cached_property
    def point(self) -> Point:
        """The points as the walk takes them, in the units of the ball."""
        bound = float(self.parts[0].bound) if len(self.parts) == 1 else 1.0
        return self._point(self.units, bound)

    @cached_property
    def whitened_point(self) -> Point:
        """The points without a ball, as information takes them."""
        return self._point((1.0,) * len(self.parts), math.inf)

    def _point(self, units: tuple[float, ...], bound: float) -> Point:
        first, unit = self.parts[0], np.array(units)[:, None, None]
        periods = first.design.periods
        return Point(
            (link_number(first.link.name),) * len(self.parts),
            np.stack([part.beta for part in self.parts]),
            np.stack([part.mapping for part in self.parts]) / unit,
            np.stack([part.predictor for part in self.parts]),
            np.ascontiguousarray(first.design.basis),
            np.stack([part.baseline for part in self.parts]) / unit,
            bound,
            bool(first.clipped),
            np.column_stack([periods.ends[:-1], periods.ends[1:], periods.places]),
        )


def alone(scores: Whitened) -> JointScores:
    """One cause in its own ball."""
    return JointScores((scores,))


# Tables on a lattice of levels


def score_tables(scores: JointScores, persons: int) -> tuple[Levels, ...]:
    """Tables of plain scores where they pay, one for each stratum: functions of public facts and f."""
    strata = scores.strata
    return tuple(_score_table(own, persons // len(strata)) for own in strata)


def information_tables(scores: JointScores, persons: int) -> tuple[Informations, ...]:
    """Tables of information where they pay, one for each stratum: functions of public facts and f."""
    strata = scores.strata
    return tuple(_information_table(own, persons // len(strata)) for own in strata)


def _score_table(scores: JointScores, persons: int) -> Levels:
    basis, link = scores.parts[0].design.basis, scores.parts[0].link
    intervals, time = basis.shape
    width = 2 * (time + 2)
    lattice = _lattice(scores, persons, width)
    if lattice is None:
        return Levels()
    origin, predictors = lattice
    causes, _, nodes = predictors.shape
    sums = np.zeros((causes, intervals + 1, nodes, width))
    steepest = np.empty((causes, intervals + 1, nodes))
    for r, eta in enumerate(predictors):
        lengths = np.linalg.norm(basis @ scores.point.mapping[r, :time], axis=1)
        loads = np.column_stack([np.ones(intervals), lengths, basis])
        slope = link.survival_loss_derivative(eta)
        curvature = link.survival_loss_curvature(eta) * SPACING
        terms = [part[:, :, None] * loads[:, None, :] for part in (slope, curvature)]
        np.cumsum(np.concatenate(terms, axis=2), axis=0, out=sums[r, 1:])
        happen = -link.event_loss_derivative(eta)
        steepest[r, 0] = happen[0]
        np.maximum.accumulate(happen, axis=0, out=steepest[r, 1:])
    return Levels(origin, sums, steepest)


def _information_table(scores: JointScores, persons: int) -> Informations:
    basis, link = scores.parts[0].design.basis, scores.parts[0].link
    intervals, time = basis.shape
    rows, columns = np.tril_indices(time + 1)
    lattice = _lattice(scores, persons, len(rows))
    if lattice is None:
        return Informations()
    origin, predictors = lattice
    causes, _, nodes = predictors.shape
    loads = np.column_stack([basis, np.ones(intervals)])
    products = loads[:, rows] * loads[:, columns]
    sums = np.zeros((causes, intervals + 1, nodes, len(rows)))
    for r, eta in enumerate(predictors):
        terms = link.information(eta)[:, :, None] * products[:, None, :]
        np.cumsum(terms, axis=0, out=sums[r, 1:])
    return Informations(origin, sums)


def _lattice(scores: JointScores, persons: int, width: int) -> tuple[float, Array] | None:
    """The lowest level and eta by cause, interval and level (R, q, nodes); None where it does not pay.

    |x| <= 1, so the levels cover all |c| <= max |beta_r|, and one more at each end. A table has `width`
    numbers for each interval and level.
    """
    farthest = max(
        float(np.linalg.norm(part.beta[places]))
        for part in scores.parts
        for places in part.design.periods.places
    )
    nodes = 2 * math.ceil(farthest / SPACING) + 3
    intervals = len(scores.parts[0].design.basis)
    if nodes * (intervals + 1) * width > LARGEST_TABLE or 4 * nodes > persons:
        return None
    origin = -SPACING * (nodes // 2)
    levels = origin + SPACING * np.arange(nodes)
    predictor = np.stack([part.predictor for part in scores.parts])
    eta = np.clip(predictor[:, :, None] + levels, -LARGEST_PREDICTOR, LARGEST_PREDICTOR)
    return origin, eta


# What an engine adds over blocks of people


def block_scores(block: Episodes, scores: JointScores, *tables: Levels) -> tuple[Integers]:
    """The block's sum of quantised bounded scores, (R d): a person's integer vector has norm <= L."""
    result = np.zeros(len(scores.parts) * scores.size, dtype=np.int64)
    strata = zip(scores.strata, tables, strict=True)
    for part, (own, table) in zip(strata_blocks(block), strata, strict=False):
        result += score_sums(_records(part, own), own.point, table, LARGEST)
    return (result,)


def block_information(
    block: Episodes, scores: JointScores, limit: float, *tables: Informations
) -> tuple[Integers]:
    """The block's sum of C_r C_r': the lower triangle of each cause, row after row."""
    size = scores.size
    result = np.zeros(len(scores.parts) * (size * (size + 1) // 2), dtype=np.int64)
    strata = zip(scores.strata, tables, strict=True)
    for part, (own, table) in zip(strata_blocks(block), strata, strict=False):
        records = _records(part, own)
        result += information_sums(records, own.whitened_point, table, limit, LARGEST_FACTOR)
    return (result,)


def _records(block: Episodes, scores: JointScores) -> Records:
    """The people as compiled code takes them; where one cause is scored, every event is of that."""
    starts = block.offsets
    if starts is None:
        starts = np.arange(block.rows + 1, dtype=np.int64)
    cause = np.ascontiguousarray(block.event, dtype=np.bool_).view(np.int8)
    if len(scores.parts) > 1 and block.cause is not None:
        cause = np.where(block.event, block.cause, 0).astype(np.int8)
    return Records(
        np.ascontiguousarray(starts, dtype=np.int64),
        np.ascontiguousarray(block.covariates, dtype=np.float64),
        np.ascontiguousarray(block.entry, dtype=np.int32),
        np.ascontiguousarray(block.exit, dtype=np.int32),
        cause,
    )
