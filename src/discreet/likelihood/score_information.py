"""The expected information of each person in whitened coordinates, as sums of integer squares.

A person's information is H = sum over intervals at risk of a b z~ z~' (a b = h (1 - h) k^2), cut to
the trace R by one factor. It enters a sum as C C' with an integer factor C, |C|_F <= Q checked in
integers, so that it is positive semidefinite exactly. Proof: docs/proofs/private-newton.md.
"""

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from discreet.likelihood.jit import compiled, reordered
from discreet.likelihood.rows import strata_blocks
from discreet.likelihood.score import SPACING, Whitened, lattice_nodes, records_of
from discreet.likelihood.score_walk import LARGEST_PREDICTOR, Point, Records, locate, slopes
from discreet.people.episodes import Episodes
from discreet.types import Array, Integers

LARGEST_FACTOR = 2**13
"""Q: the entries of a person's factor have a sum of squares of at most Q^2; one step is sqrt(R)/Q."""
SHRINK = 1.0 - 2.0**-20
LARGEST_TABLE = 1 << 24
WIDTH = 8
"""Doubles in a vector of the processor, or a multiple of that."""
TOGETHER = 1 << 16
"""People whose squares are added in doubles before they become integers: exact below 2^27."""


@dataclass(frozen=True)
class Informations:
    """Prefix sums over intervals of a b (B, 1)(B, 1)' on a lattice of levels; none: all intervals."""

    origin: float = 0.0
    table: Array = field(default_factory=lambda: np.zeros((0, 0, 0)))

    @classmethod
    def each(cls, scores: Whitened, persons: int) -> "tuple[Informations, ...]":
        """For every stratum its own."""
        return tuple(cls.make(own, persons // len(scores.strata)) for own in scores.strata)

    @classmethod
    def make(cls, scores: Whitened, persons: int, reach: float | None = None) -> "Informations":
        """By public facts and the released point only; |c| <= |beta|, or `reach`."""
        nodes = lattice_nodes(scores, reach)
        intervals, time = scores.design.basis.shape
        pairs = (time + 1) * (time + 2) // 2
        if nodes * (intervals + 1) * pairs > LARGEST_TABLE or 4 * nodes > persons:
            return cls()
        origin = -SPACING * (nodes // 2)
        levels = origin + SPACING * np.arange(nodes)
        eta = np.clip(scores.predictor[:, None] + levels, -LARGEST_PREDICTOR, LARGEST_PREDICTOR)
        loads = np.column_stack([scores.design.basis, np.ones(intervals)])
        rows, columns = np.tril_indices(time + 1)
        products = loads[:, rows] * loads[:, columns]
        summed = np.cumsum(scores.link.information(eta)[:, :, None] * products[:, None, :], axis=0)
        return cls(
            origin, np.ascontiguousarray(np.concatenate([np.zeros_like(summed[:1]), summed]))
        )


def block_information(
    block: Episodes, scores: Whitened, limit: float, *tables: Informations
) -> tuple[Integers]:
    """The sum over people of C C': lower triangle, row after row; a table for each stratum."""
    size = scores.mapping.shape[1]
    result = np.zeros(size * (size + 1) // 2, dtype=np.int64)
    strata = zip(scores.strata, tables, strict=True)
    for part, (own, table) in zip(strata_blocks(block), strata, strict=False):
        prefixes = Prefixes(table.origin, SPACING, table.table)
        records, point = records_of(part), own.kernel_point
        result += information_sums(records, point, prefixes, limit, LARGEST_FACTOR)
    return (result,)


class Prefixes(NamedTuple):
    """Prefix sums at positions origin + k spacing of c = beta'x; no rows: all intervals."""

    origin: float
    spacing: float
    sums: Array


class Rounding(NamedTuple):
    """A person's information is cut to the trace `limit`; its factor is then at most `largest` long."""

    limit: float
    largest: int


class Factor(NamedTuple):
    """Room for one row: its lower triangle of sums, the triangular root of that, and x~.

    `columns` are the row's factors in whitened coordinates, by cause and column of the root, and
    `own` is a person's C C' by cause. The last axis of both ends with zeros, so that compiled loops
    have whole vectors. How many rows a person has plays no part: nobody's rows ask for more memory.
    """

    masses: Array
    root: Array
    tilt: Array
    columns: Array
    own: Array


@compiled
def padded(size: int) -> int:
    """The next multiple of a vector's width."""
    return (size + WIDTH - 1) // WIDTH * WIDTH


@compiled
def factor_room(size: int, parts: int, causes: int) -> Factor:
    """Room for a row of any person."""
    return Factor(
        np.zeros(parts * (parts + 1) // 2),
        np.zeros((parts, parts)),
        np.zeros(size),
        np.zeros((causes, parts, padded(size))),
        np.zeros((causes, size, padded(size))),
    )


@compiled
def tabled_masses(sums: Array, entry: int, leave: int, place: float, masses: Array) -> None:
    """A row's sum over intervals of a b (B, 1)(B, 1)', lower triangle, from prefix sums.

    Interpolation between two positions has non-negative shares, so the sum stays semidefinite.
    """
    node = min(max(int(place), 0), sums.shape[1] - 2)
    share = min(max(place - node, 0.0), 1.0)
    for pair in range(len(masses)):
        low = sums[leave, node, pair] - sums[entry, node, pair]
        high = sums[leave, node + 1, pair] - sums[entry, node + 1, pair]
        masses[pair] = (1.0 - share) * low + share * high


@compiled
def walked_masses(point: Point, entry: int, leave: int, position: float, masses: Array) -> None:
    """The same interval by interval."""
    masses[:] = 0.0
    parts = point.basis.shape[1]
    for s in range(entry, leave):
        survive, happen = slopes(point.link, point.predictor[s] + position)
        pair = 0
        for j in range(parts + 1):
            one = point.basis[s, j] if j < parts else 1.0
            for i in range(j + 1):
                other = point.basis[s, i] if i < parts else 1.0
                masses[pair] += survive * happen * one * other
                pair += 1


@compiled
def triangle(masses: Array, root: Array) -> None:
    """The lower triangular L with L L' = S; a pivot that is not positive leaves its column zero."""
    size = root.shape[0]
    root[:] = 0.0
    for j in range(size):
        for i in range(j, size):
            value = masses[i * (i + 1) // 2 + j]
            for k in range(j):
                value -= root[i, k] * root[j, k]
            if i == j:
                root[j, j] = (
                    math.sqrt(value) if value > 1e-14 * masses[j * (j + 1) // 2 + j] else 0.0
                )
            elif root[j, j] > 0.0:
                root[i, j] = value / root[j, j]


@compiled
def factor_of(
    masses: Array, mapping: Array, root: Array, tilt: Array, columns: Array, cause: int
) -> float:
    """Write the columns of a row's factor W'(B, x) L to its cause's place; the sum of their squares.

    Places are indices: a view of an array would be counted for every person.
    """
    triangle(masses, root)
    parts, size, total = root.shape[0] - 1, len(tilt), 0.0
    for j in range(parts + 1):
        for k in range(size):
            columns[cause, j, k] = root[parts, j] * tilt[k]
        for i in range(j, parts):
            for k in range(size):
                columns[cause, j, k] += mapping[i, k] * root[i, j]
    for k in range(size):
        for j in range(parts + 1):
            total += columns[cause, j, k] * columns[cause, j, k]
    return total


@compiled
def scale_of(trace: float, rounding: Rounding) -> float:
    """What a factor is multiplied by: sqrt(min(1, R / trace)), in units of sqrt(R) / Q; 0 without a trace."""
    if not trace > 0.0:
        return 0.0
    return rounding.largest * SHRINK / math.sqrt(max(trace, rounding.limit))


@reordered
def round_factor(columns: Array, cause: int, scale: float, largest: int) -> float:
    """Round the columns toward zero to integers of size at most Q; the sum of their squares.

    Integers are held as doubles, which are faster: below 2^53 they are exact, in any order.
    """
    square = 0.0
    for j in range(columns.shape[1]):
        for k in range(columns.shape[2]):
            value = columns[cause, j, k] * scale
            # a comparison with NaN is false: anything that is not a number in range becomes 0
            whole = np.trunc(value) if abs(value) <= largest else 0.0
            columns[cause, j, k] = whole
            square += whole * whole
    return square


@reordered
def add_square(columns: Array, cause: int, sums: Array) -> None:
    """Add C C' of integer columns: entries of at most Q^2 = 2^26, exact for 2^27 people."""
    for k in range(sums.shape[1]):
        for j in range(columns.shape[1]):
            one = columns[cause, j, k]
            for i in range(columns.shape[2]):
                sums[cause, k, i] += one * columns[cause, j, i]


@compiled
def cut_sum(square: float, added: float, largest: int) -> float:
    """A sum of squares with one more, cut at 2 Q^2: longer than Q is long enough."""
    return min(square + added, 2.0 * largest * largest)


@compiled
def add_lower(sums: Array, result: Integers) -> None:
    """Add the lower triangle, row after row."""
    pair = 0
    for k in range(sums.shape[0]):
        for i in range(k + 1):
            result[pair] += int(sums[k, i])
            pair += 1


@compiled
def information_sums(
    records: Records, point: Point, table: Prefixes, limit: float, largest: int
) -> Integers:
    """The sum over persons of the quantised information, each cut to the trace `limit`."""
    size, persons = point.mapping.shape[1], len(records.starts) - 1
    result = np.zeros(size * (size + 1) // 2, dtype=np.int64)
    room = factor_room(size, point.basis.shape[1] + 1, 1)
    for start in range(0, persons, TOGETHER):
        sums = np.zeros((1, size, padded(size)))
        people = range(start, min(start + TOGETHER, persons))
        add_information(records, people, point, table, room, Rounding(limit, largest), sums)
        add_lower(sums[0], result)
    return result


@compiled
def add_information(
    records: Records,
    people: range,
    point: Point,
    table: Prefixes,
    room: Factor,
    rounding: Rounding,
    sums: Array,
) -> None:
    """Add these people's C C', of each whose C is not longer than Q.

    The trace of all rows comes first, so several rows are gone through twice.
    """
    starts, own, largest = records.starts, room.own, rounding.largest
    columns = room.columns
    for who in people:
        first, last, trace = starts[who], starts[who + 1], 0.0
        for row in range(first, last):
            trace += row_factor(records, row, point, table, room)
        scale = scale_of(trace, rounding)
        if last - first == 1:
            if round_factor(columns, 0, scale, largest) <= largest * largest:
                add_square(columns, 0, sums)
            continue
        own[:], square = 0.0, 0.0
        for row in range(first, last):
            row_factor(records, row, point, table, room)
            square = cut_sum(square, round_factor(columns, 0, scale, largest), largest)
            add_square(columns, 0, own)
        if square <= largest * largest:
            sums += own


@compiled
def row_factor(records: Records, row: int, point: Point, table: Prefixes, room: Factor) -> float:
    """Write a row's factor; the sum of its squares."""
    masses, root, tilt, columns, _ = room
    entry, leave = records.entry[row], records.exit[row]
    position = locate(records.covariates, row, point.beta, point.mapping, tilt)
    if table.sums.shape[0] > 0:
        place = (position - table.origin) / table.spacing
        tabled_masses(table.sums, entry, leave, place, masses)
    else:
        walked_masses(point, entry, leave, position, masses)
    return factor_of(masses, point.mapping, root, tilt, columns, 0)
