"""Bounded scores of competing risks: all causes of a person in one ball.

The score of a person is the concatenation V over causes. In each interval at risk one weight w keeps
all R + 1 outcomes inside the ball of radius 1,

    |V + w (a_1 z_1, ..., a_R z_R)| <= 1  (no event),   |V - w (0, ..., b_k z_k, ..., 0)| <= 1  (cause k),

z_r = W_r'z / B_r. An interval that ends in cause k counts for cause k alone (Begg and Gray 1984).
Proof: docs/proofs/competing-risks.md.
"""

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.likelihood.jit import compiled
from discreet.likelihood.score import (
    LARGEST,
    SPACING,
    Expected,
    Levels,
    Whitened,
    starts_of,
)
from discreet.likelihood.score_expected import STEADY, Bend, Members, expected_sums
from discreet.likelihood.score_information import (
    LARGEST_FACTOR,
    TOGETHER,
    Factor,
    Informations,
    Rounding,
    add_lower,
    add_square,
    cut_sum,
    factor_of,
    factor_room,
    padded,
    round_factor,
    scale_of,
    tabled_masses,
    walked_masses,
)
from discreet.likelihood.score_walk import (
    Point,
    add_prefix,
    add_quantised,
    ball_weight,
    length_of,
    locate,
    longest,
    prefix_sums,
    slopes,
)
from discreet.people.episodes import Episodes
from discreet.types import Array, Integers


class CausePoints(NamedTuple):
    """The points of R causes, stacked; images and mappings are in units of each cause's bound."""

    link: int
    betas: Array
    mappings: Array
    predictors: Array
    basis: Array
    baselines: Array
    bound: float
    clipped: bool


class CauseRecords(NamedTuple):
    """Encoded people; `cause` is 0 for a row without an event."""

    starts: Integers
    covariates: Array
    entry: NDArray[np.int32]
    exit: NDArray[np.int32]
    cause: Integers


class CauseTables(NamedTuple):
    """Prefix sums of every cause on one lattice; no rows: everybody walks."""

    origin: float
    spacing: float
    sums: Array
    steepest: Array


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


class Travel(NamedTuple):
    """By cause: the longest image of the baseline, and how far a person may have come; a row's sums."""

    farthest: Array
    travelled: Array
    sums: Array


class InformationRoom(NamedTuple):
    """The last interval of each row that counts for each cause, tables, and room for one row."""

    exits: NDArray[np.int32]
    tables: CauseTables
    factor: Factor


@dataclass(frozen=True)
class Together:
    """The scores of all causes, which share one ball: all public or released.

    `parts` has for every cause its point f_r, whitening W_r and unit B_r (`bound`).
    """

    parts: tuple[Whitened, ...]

    @cached_property
    def kernel_points(self) -> CausePoints:
        """As compiled code takes them."""
        first, points = self.parts[0], [part.kernel_point for part in self.parts]
        units = np.array([part.bound for part in self.parts])[:, None, None]
        return CausePoints(
            first.kind,
            np.stack([point.beta for point in points]),
            np.stack([point.mapping for point in points]) / units,
            np.stack([point.predictor for point in points]),
            points[0].basis,
            np.stack([point.baseline for point in points]) / units,
            1.0,
            bool(first.clipped),
        )

    def sums(self, block: Episodes, levels: "CauseLevels") -> tuple[Integers]:
        """The block's sum of concatenated scores: a person's integer vector has norm <= L."""
        tables = CauseTables(levels.origin, SPACING, levels.table, levels.steepest)
        return (cause_score_sums(cause_records(block), self.kernel_points, tables, LARGEST),)

    def weights(self, people: Expected, cause: int, mapping: Array) -> Array:
        """w by interval and member, without events; cause r seen through `mapping`."""
        points, members = self.kernel_points, people.members
        if not math.isfinite(self.parts[cause].bound):
            return np.ones((len(points.basis), members.covariates.shape[0]))
        mappings = points.mappings.copy()
        mappings[cause] = mapping / self.parts[cause].bound
        baselines = points.baselines.copy()
        baselines[cause] = points.basis @ mappings[cause, : points.basis.shape[1]]
        return cause_weights(members, points._replace(mappings=mappings, baselines=baselines))

    def remaining(self, cohort: Array, edges: Integers, cause: int) -> Array:
        """The chance of no event of another cause by member and interval, (members, q).

        With o_k the odds of cause k it is the product over u <= s of (1 + o_r) / (1 + sum o_k).
        """
        link, intervals = self.parts[0].link, len(self.parts[0].predictor)
        odds = np.empty((len(self.parts), len(cohort), intervals))
        for part, found in zip(self.parts, odds, strict=True):
            hazard = link.hazard(part.predictors(cohort, edges))
            found[:] = hazard / np.maximum(1.0 - hazard, 1e-12)
        return np.cumprod((1.0 + odds[cause]) / (1.0 + odds.sum(axis=0)), axis=1)


@dataclass(frozen=True)
class CauseScores(Whitened):
    """One cause's scores, weighted by the walk of all causes together."""

    together: Together | None = None
    cause: int = 0

    def foreseen(
        self, people: Expected, truth: Array, shift: Array | None = None, bend: Bend = STEADY
    ) -> tuple[Array, Array, Array, Array]:
        """Expected (score, slope, Meat, full information) here when `truth` is the truth."""
        if self.together is None or not math.isfinite(self.bound):
            return super().foreseen(people, truth, shift, bend)
        there = self.kernel_truth(truth, shift)
        weights = self.together.weights(people, self.cause, self.mapping)
        return expected_sums(people.members, self.kernel_point, there, bend, weights)


@dataclass(frozen=True)
class CauseLevels:
    """Prefix sums of every cause on one lattice of levels; none: everybody walks."""

    origin: float = 0.0
    table: Array = field(default_factory=lambda: np.zeros((0, 0, 0, 0)))
    steepest: Array = field(default_factory=lambda: np.zeros((0, 0, 0)))

    @classmethod
    def make(cls, together: Together, persons: int) -> "CauseLevels":
        """Tables where they pay, by public facts and the released points only."""
        longest_beta = max(float(np.linalg.norm(part.beta)) for part in together.parts)
        scaled = [replace(part, mapping=part.mapping / part.bound) for part in together.parts]
        found = [Levels.make(part, persons, longest_beta) for part in scaled]
        if not all(one.table.size for one in found):
            return cls()
        table = np.stack([one.table for one in found])
        return cls(found[0].origin, table, np.stack([one.steepest for one in found]))


def block_cause_scores(block: Episodes, together: Together, levels: CauseLevels) -> tuple[Integers]:
    """What an engine adds over blocks of people."""
    return together.sums(block, levels)


def block_cause_information(
    block: Episodes, together: Together, tables: tuple[Informations, ...], limit: float
) -> tuple[Integers]:
    """The sum over people of C_r C_r': lower triangles, one cause after the other."""
    points, records = together.kernel_points, cause_records(block)
    first = tables[0]
    whole = [one.table for one in tables]
    stacked = np.stack(whole) if first.table.size else np.zeros((len(whole), 0, 0, 0))
    exits = cause_exits(records, len(whole))
    made = (
        records,
        exits,
        points,
        CauseTables(first.origin, SPACING, stacked, np.zeros((0, 0, 0))),
    )
    return (cause_information_sums(*made, limit, LARGEST_FACTOR),)


def information_tables(together: Together, persons: int) -> tuple[Informations, ...]:
    """On one lattice for all causes, or none."""
    longest_beta = max(float(np.linalg.norm(part.beta)) for part in together.parts)
    found = tuple(Informations.make(part, persons, longest_beta) for part in together.parts)
    return found if all(one.table.size for one in found) else tuple(Informations() for _ in found)


def cause_records(block: Episodes) -> CauseRecords:
    """As compiled code takes them."""
    cause = block.event if block.cause is None else block.cause
    return CauseRecords(
        starts_of(block),
        np.ascontiguousarray(block.covariates, dtype=np.float64),
        np.ascontiguousarray(block.entry, dtype=np.int32),
        np.ascontiguousarray(block.exit, dtype=np.int32),
        np.ascontiguousarray(np.where(block.event, cause, 0), dtype=np.int64),
    )


def cause_exits(records: CauseRecords, causes: int) -> NDArray[np.int32]:
    """The last interval of each row that counts for each cause: not one that ends in another."""
    numbers = np.arange(1, causes + 1)[:, None]
    other = (records.cause > 0) & (records.cause != numbers)
    return np.ascontiguousarray(records.exit - other.astype(np.int32))


@compiled
def cause_point(points: CausePoints, cause: int) -> Point:
    """The point of one cause."""
    return Point(
        points.link,
        points.betas[cause],
        points.mappings[cause],
        points.predictors[cause],
        points.basis,
        points.baselines[cause],
        points.bound,
        points.clipped,
    )


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
def set_interval(points: CausePoints, interval: int, scratch: CauseScratch) -> None:
    """Slopes a, b, image z, V'z and |z|^2 of every cause in an interval."""
    size = scratch.total.shape[1]
    for r in range(len(scratch.position)):
        eta = points.predictors[r, interval] + scratch.position[r]
        scratch.survive[r], scratch.happen[r] = slopes(points.link, eta)
        inner, norm = 0.0, 0.0
        for k in range(size):
            value = points.baselines[r, interval, k] + scratch.tilt[r, k]
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
def walk_causes(
    records: CauseRecords, who: int, points: CausePoints, bound: float, scratch: CauseScratch
) -> None:
    """One person through all intervals at risk: V is left in the scratch."""
    scratch.whole[:] = 0.0
    for row in range(records.starts[who], records.starts[who + 1]):
        for r in range(len(scratch.position)):
            scratch.position[r] = locate(
                records.covariates, row, points.betas[r], points.mappings[r], scratch.tilt[r]
            )
        for interval in range(records.entry[row], records.exit[row]):
            set_interval(points, interval, scratch)
            weight = outcome_weight(scratch, bound)
            outcome = records.cause[row] if interval == records.exit[row] - 1 else 0
            step_on(outcome, weight, scratch)


@compiled
def cause_score_sums(
    records: CauseRecords, points: CausePoints, tables: CauseTables, largest: int
) -> Integers:
    """The sum over persons of their quantised concatenated scores, each of norm at most `largest`."""
    causes, size = points.mappings.shape[0], points.mappings.shape[2]
    result = np.zeros(causes * size, dtype=np.int64)
    person = np.zeros((causes * size, 1), dtype=np.int64)
    scratch = scratch_for(causes, size)
    walkers = np.arange(len(records.starts) - 1)
    if tables.sums.shape[0] > 0:
        walkers = add_plain_causes(records, points, tables, largest, result)
    bound, cut = (math.inf, points.bound) if points.clipped else (points.bound, math.inf)
    for who in walkers:
        walk_causes(records, int(who), points, bound, scratch)
        add_quantised(scratch.whole, cut, points.bound, largest, person, result)
    return result


@compiled
def add_plain_causes(
    records: CauseRecords,
    points: CausePoints,
    tables: CauseTables,
    largest: int,
    result: Integers,
) -> Integers:
    """Add the scores of the people who never touch the ball; the others' numbers.

    Of cause r a person travels at most t_r = sum a_r |z_r|, so |V| <= sqrt(sum t_r^2).
    """
    causes, size = points.mappings.shape[0], points.mappings.shape[2]
    scratch = scratch_for(causes, size)
    sums = np.zeros((points.basis.shape[1] + 2, 1))
    travel = Travel(np.zeros(causes), np.zeros(causes), sums)
    for r in range(causes):
        travel.farthest[r] = longest(points.baselines[r])
    reach, cut = (math.inf, points.bound) if points.clipped else (points.bound, math.inf)
    left = np.empty(len(records.starts) - 1, dtype=np.int64)
    person, count = np.zeros((causes * size, 1), dtype=np.int64), 0
    for who in range(len(records.starts) - 1):
        scratch.whole[:] = 0.0
        travel.travelled[:] = 0.0
        inside = True
        for row in range(records.starts[who], records.starts[who + 1]):
            # a comparison with NaN is false: such a person walks
            inside = add_plain_row(records, row, points, tables, travel, scratch) <= reach
            if not inside:
                break
        if inside:
            add_quantised(scratch.whole, cut, points.bound, largest, person, result)
        else:
            left[count] = who
            count += 1
    return left[:count]


@compiled
def add_plain_row(
    records: CauseRecords,
    row: int,
    points: CausePoints,
    tables: CauseTables,
    travel: Travel,
    scratch: CauseScratch,
) -> float:
    """Add a row's plain scores; how far from the centre the person may come, whatever happens."""
    final, outcome = records.exit[row] - 1, records.cause[row]
    reached, steepest = 0.0, 0.0
    farthest, travelled, sums = travel
    for r in range(len(travelled)):
        tilt, mapping = scratch.tilt[r], points.mappings[r]
        position = locate(records.covariates, row, points.betas[r], mapping, tilt)
        place = (position - tables.origin) / tables.spacing
        node = min(max(int(place), 0), tables.sums.shape[2] - 2)
        prefix_sums(tables.sums[r], records.entry[row], final, node, place - node, sums, 0)
        length = length_of(tilt)
        survive, happen = slopes(points.link, points.predictors[r, final] + position)
        travelled[r] += sums[1, 0] + sums[0, 0] * length + survive * (farthest[r] + length)
        reached += travelled[r] * travelled[r]
        event = tables.steepest[r, records.exit[row], node] * (farthest[r] + length)
        steepest = max(steepest, event)
        add_prefix(sums[:, 0], mapping, tilt, scratch.total[r])
        step = survive if outcome == 0 else 0.0
        if r + 1 == outcome:
            step = -happen
        for k in range(len(tilt)):
            scratch.total[r, k] += step * (points.baselines[r, final, k] + tilt[k])
    return math.sqrt(reached) + steepest


@compiled
def cause_information_sums(
    records: CauseRecords,
    exits: NDArray[np.int32],
    points: CausePoints,
    tables: CauseTables,
    limit: float,
    largest: int,
) -> Integers:
    """The sum over persons of the information of all causes, cut together to the trace `limit`."""
    causes, size = points.mappings.shape[0], points.mappings.shape[2]
    half, parts = size * (size + 1) // 2, points.basis.shape[1] + 1
    result, persons = np.zeros(causes * half, dtype=np.int64), len(records.starts) - 1
    rounding = Rounding(limit, largest)
    room = InformationRoom(exits, tables, factor_room(size, parts, causes))
    for start in range(0, persons, TOGETHER):
        sums = np.zeros((causes, size, padded(size)))
        for who in range(start, min(start + TOGETHER, persons)):
            add_cause_information(records, who, points, room, rounding, sums)
        for r in range(causes):
            add_lower(sums[r], result[r * half : (r + 1) * half])
    return result


@compiled
def add_cause_information(
    records: CauseRecords,
    who: int,
    points: CausePoints,
    room: InformationRoom,
    rounding: Rounding,
    sums: Array,
) -> None:
    """Add a person's C_r C_r' of every cause; none where all C_r together are longer than Q."""
    first, last = records.starts[who], records.starts[who + 1]
    columns, own, largest, trace = room.factor.columns, room.factor.own, rounding.largest, 0.0
    for r in range(len(sums)):
        for row in range(first, last):
            trace += cause_factor(records, row, points, room, r)
    scale, square = scale_of(trace, rounding), 0.0
    own[:] = 0.0
    for row in range(first, last):
        for r in range(len(sums)):
            if last - first > 1:  # one row alone is still there
                cause_factor(records, row, points, room, r)
            square = cut_sum(square, round_factor(columns, r, scale, largest), largest)
            add_square(columns, r, own)
    if square <= largest * largest:
        sums += own


@compiled
def cause_factor(
    records: CauseRecords,
    row: int,
    points: CausePoints,
    room: InformationRoom,
    cause: int,
) -> float:
    """Write a row's factor of a cause to its place; its sum of squares."""
    (masses, root, tilt, columns, _), tables = room.factor, room.tables
    entry, leave = records.entry[row], room.exits[cause, row]
    mapping = points.mappings[cause]
    position = locate(records.covariates, row, points.betas[cause], mapping, tilt)
    if tables.sums.shape[1] > 0:
        place = (position - tables.origin) / tables.spacing
        tabled_masses(tables.sums[cause], entry, leave, place, masses)
    else:
        walked_masses(cause_point(points, cause), entry, leave, position, masses)
    return factor_of(masses, mapping, root, tilt, columns, cause)


@compiled
def cause_weights(members: Members, points: CausePoints) -> Array:
    """The weights by interval of a cohort's members, were there no event."""
    causes, size = points.mappings.shape[0], points.mappings.shape[2]
    people = members.covariates.shape[0]
    weights, scratch = np.ones((len(points.basis), people)), scratch_for(causes, size)
    bound = math.inf if points.clipped else points.bound
    for member in range(people):
        scratch.whole[:] = 0.0
        for k in range(members.covariates.shape[1]):
            for r in range(causes):
                scratch.position[r] = locate(
                    members.covariates[member],
                    k,
                    points.betas[r],
                    points.mappings[r],
                    scratch.tilt[r],
                )
            for s in range(members.edges[k], members.edges[k + 1]):
                set_interval(points, s, scratch)
                weights[s, member] = outcome_weight(scratch, bound)
                step_on(0, weights[s, member], scratch)
    return weights
