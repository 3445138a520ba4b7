"""The expected information of each person in whitened coordinates, as sums of integer squares.

A person's information is H = sum over intervals at risk of a b z~ z~' (a b = h (1 - h) k^2), cut to
the trace R by one factor. It enters a sum as C C' with an integer factor C, |C|_F <= Q checked in
integers, so that it is positive semidefinite exactly. Proof: docs/proofs/private-newton.md.
"""

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from discreet.likelihood.jit import compiled
from discreet.likelihood.rows import strata_blocks
from discreet.likelihood.score import SPACING, Whitened, lattice_nodes, records_of
from discreet.likelihood.score_walk import LARGEST_PREDICTOR, Point, Records, locate, slopes
from discreet.people.episodes import Episodes
from discreet.types import Array, Integers

LARGEST_FACTOR = 2**13
"""Q: the entries of a person's factor have a sum of squares of at most Q^2; one step is sqrt(R)/Q."""
SHRINK = 1.0 - 2.0**-20
LARGEST_TABLE = 1 << 24


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


class Factor(NamedTuple):
    """A row's lower triangle of sums, its triangular root, and its factor in whitened coordinates."""

    masses: Array
    root: Array
    columns: Array
    tilt: Array


@compiled
def row_masses(
    entry: int, leave: int, position: float, point: Point, table: Prefixes, masses: Array
) -> None:
    """The row's sum over intervals of a b (B, 1)(B, 1)', lower triangle.

    Interpolation between two positions has non-negative shares, so the sum stays semidefinite.
    """
    if table.sums.shape[0] > 0:
        place = (position - table.origin) / table.spacing
        node = min(max(int(place), 0), table.sums.shape[1] - 2)
        share = min(max(place - node, 0.0), 1.0)
        for pair in range(len(masses)):
            low = table.sums[leave, node, pair] - table.sums[entry, node, pair]
            high = table.sums[leave, node + 1, pair] - table.sums[entry, node + 1, pair]
            masses[pair] = (1.0 - share) * low + share * high
        return
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
def factor_of(records: Records, row: int, point: Point, table: Prefixes, factor: Factor) -> float:
    """Write the row's factor W'(B, x) L, (d, e + 1), into `factor.columns`; its sum of squares."""
    mapping, root, tilt = point.mapping, factor.root, factor.tilt
    position = locate(records.covariates, row, point.beta, mapping, tilt)
    row_masses(records.entry[row], records.exit[row], position, point, table, factor.masses)
    triangle(factor.masses, root)
    parts, total = root.shape[0] - 1, 0.0
    for k in range(len(tilt)):
        for j in range(parts + 1):
            value = root[parts, j] * tilt[k]
            for i in range(j, parts):
                value += mapping[i, k] * root[i, j]
            factor.columns[k, j] = value
            total += value * value
    return total


@compiled
def add_square(columns: Array, scale: float, largest: int, whole: Array, person: Array) -> int:
    """Add C C' of the rounded columns to `person`; the sum of squares of C, cut at 2 Q^2.

    Integers are held as doubles, which multiply faster: |C| <= Q, so all sums stay below 2^53.
    """
    size, parts = columns.shape
    square = 0
    for k in range(size):
        for j in range(parts):
            value = columns[k, j] * scale
            # a comparison with NaN is false: anything that is not a number in range becomes 0
            rounded = int(value) if abs(value) <= largest else 0
            whole[j, k] = rounded
            square = min(square + rounded * rounded, 2 * largest * largest)
    for j in range(parts):
        for k in range(size):
            start, one = k * (k + 1) // 2, whole[j, k]
            for i in range(k + 1):
                person[start + i] += one * whole[j, i]
    return square


@compiled
def information_sums(
    records: Records, point: Point, table: Prefixes, limit: float, largest: int
) -> Integers:
    """The sum over persons of the quantised information, each cut to the trace `limit`."""
    size, parts = point.mapping.shape[1], point.basis.shape[1] + 1
    half = size * (size + 1) // 2
    result, person, whole = np.zeros(half, dtype=np.int64), np.zeros(half), np.zeros((parts, size))
    factor = Factor(
        np.zeros(parts * (parts + 1) // 2),
        np.zeros((parts, parts)),
        np.zeros((size, parts)),
        np.zeros(size),
    )
    for who in range(len(records.starts) - 1):
        first, last = records.starts[who], records.starts[who + 1]
        trace, square = 0.0, 0
        for row in range(first, last):
            trace += factor_of(records, row, point, table, factor)
        if not trace > 0.0:
            continue
        scale = largest * SHRINK / math.sqrt(max(trace, limit))
        person[:] = 0
        for row in range(first, last):
            if last - first > 1:
                factor_of(records, row, point, table, factor)
            added = add_square(factor.columns, scale, largest, whole, person)
            square = min(square + added, 2 * largest * largest)
        if square <= largest * largest:
            for pair in range(half):
                result[pair] += int(person[pair])
    return result
