"""The expected information of each person in whitened coordinates, as sums of integer squares.

A person's information of cause r is H_r = sum of a_r b_r z~_rs z~_rs' over the intervals at risk that
count for the cause: all of them, without one that ends in another cause. With H_r = F_r F_r' and
t = sum over r of |F_r|^2 (Frobenius) the person adds C_r C_r' of every cause,

    C_r = trunc(F_r Q SHRINK / sqrt(max(t, limit))),

and adds it only if the integer sum of squares of all C_r is at most Q^2: each sum is positive
semidefinite exactly, and one unit of it is limit / Q^2.

Conventions are those of `walk`; `mapping` is not in units of a bound. A row's triangle of
sums in a period has (e + 1)(e + 2) / 2 numbers, row after row, of (B_s, 1)(B_s, 1)'. Proofs:
docs/proofs/private-newton.md, section 3; docs/proofs/competing-risks.md, section 3.
"""

import math
from typing import NamedTuple

import numpy as np

from discreet.core.people import SPACING
from discreet.core.slopes import slopes
from discreet.core.walk import SHRINK, ZERO, Point, Records
from discreet.likelihood.jit import compiled, compiled_into_callers, compiled_reassociative
from discreet.types import Array, Integers

LARGEST_FACTOR = 2**13
"""Q: the entries of a person's factors have a sum of squares of at most Q^2."""
WIDTH = 8
"""Doubles in a vector of the processor, or a multiple of that."""
PEOPLE_PER_FLOAT_SUM = 1 << 16
"""People whose squares are added in doubles before they become integers: exact below 2^27."""


class Informations(NamedTuple):
    """Prefix sums of a b (B_s, 1)(B_s, 1)' over s < t, at levels origin + n SPACING of c = beta_r'x.

    `sums` (R, q + 1, nodes, (e + 1)(e + 2) / 2); without nodes a row is summed interval by interval.
    """

    origin: float = 0.0
    sums: Array = np.zeros((0, 0, 0, 0))


class Factor(NamedTuple):
    """Room for one row of one person, whatever number of rows the person has.

    `masses` the row's triangle of sums in a period; `root` J with J J' = that (e + 1, e + 1); `tilt` x~ (d);
    `columns` the factors W'(B, x) J of the periods that the row has time in, one after another
    (R, K (e + 1), d); `own` a person's C C' (R, d, d). The last axis of `columns` and `own` ends with
    zeros, so that compiled loops have whole vectors.
    """

    masses: Array
    root: Array
    tilt: Array
    columns: Array
    own: Array


def information_sums(
    records: Records, point: Point, levels: Informations, limit: float, largest: int
) -> Integers:
    """The sum over persons of C_r C_r': lower triangles, one cause after the other."""
    causes, _, size = point.baseline.shape
    parts, padded = point.basis.shape[1] + 1, (size + WIDTH - 1) // WIDTH * WIDTH
    room = Factor(
        np.zeros(parts * (parts + 1) // 2),
        np.zeros((parts, parts)),
        np.zeros(size),
        np.zeros((causes, len(point.periods) * parts, padded)),
        np.zeros((causes, size, padded)),
    )
    rows, columns = np.tril_indices(size)
    result = np.zeros((causes, len(rows)), dtype=np.int64)
    persons = len(records.starts) - 1
    for start in range(0, persons, PEOPLE_PER_FLOAT_SUM):
        people = start, min(start + PEOPLE_PER_FLOAT_SUM, persons)
        sums = np.zeros((causes, size, padded))
        add_people(records, people, point, levels, room, (limit, largest), sums)
        result += sums[:, rows, columns].astype(np.int64)
    return result.ravel()


@compiled
def add_people(
    records: Records,
    people: tuple[int, int],
    point: Point,
    levels: Informations,
    room: Factor,
    rounding: tuple[float, int],
    sums: Array,
) -> None:
    """Add C_r C_r' of every cause of some people; none where all C_r together are longer than Q.

    `rounding` is (limit, Q). The trace of all rows comes first, so several rows are gone through twice.
    """
    limit, largest = rounding
    columns, own, causes = room.columns, room.own, len(point.link)
    for who in range(people[0], people[1]):
        first, last = records.starts[who], records.starts[who + 1]
        trace, square, used, several = 0.0, 0.0, ZERO, last - first > 1
        for r in range(causes):
            for row in range(first, last):
                length, used = write_factor(records, row, r, point, levels, room)
                trace += length
        scale = factor_scale(trace, limit, largest)
        for row in range(first, last):
            for r in range(causes):
                if several:
                    _, used = write_factor(records, row, r, point, levels, room)
                square = cut_sum(square, round_factor(columns, r, used, scale, largest), largest)
            if several:
                add_squares(columns, used, own)
        if several:
            take_over(own, square, largest, sums)
        elif square <= largest * largest:
            add_squares(columns, used, sums)


@compiled
def take_over(own: Array, square: float, largest: int, sums: Array) -> None:
    """Add a person's C C' unless all C together are longer than Q, and leave zeros for the next one."""
    for r in range(own.shape[0]):
        for k in range(own.shape[1]):
            for i in range(own.shape[2]):
                if square <= largest * largest:
                    sums[r, k, i] += own[r, k, i]
                own[r, k, i] = 0.0


@compiled
def write_factor(
    records: Records, row: int, r: int, point: Point, levels: Informations, room: Factor
) -> tuple[float, int]:
    """Write W_r'(B, x) J of a row in each period; the sum of the squares, and how many columns.

    Places are indices: a view of an array would be counted for every person.
    """
    masses, root, tilt, columns, _ = room
    mapping, covariates, periods = point.mapping, records.covariates, point.periods
    size, parts = len(tilt), root.shape[0] - 1
    leave, total, used = records.exit[row], 0.0, ZERO
    if records.cause[row] > 0 and records.cause[row] != r + 1:
        leave -= 1
    for period in range(len(periods)):
        begin, end = max(records.entry[row], periods[period, 0]), min(leave, periods[period, 1])
        if begin >= min(records.exit[row], periods[period, 1]):
            continue
        position = 0.0
        for k in range(size):
            tilt[k] = 0.0
        for j in range(covariates.shape[1]):
            place = periods[period, 2 + j]
            position += covariates[row, j] * point.beta[r, place]
            for k in range(size):
                tilt[k] += covariates[row, j] * mapping[r, parts + place, k]
        if len(levels.sums) > 0:
            tabled_masses(levels, r, begin, end, position, masses)
        else:
            walked_masses(point, r, begin, end, position, masses)
        write_root(masses, root)
        total += write_columns(mapping, r, used, root, tilt, columns)
        used += parts + 1
    return total, used


@compiled_into_callers
def write_columns(
    mapping: Array, r: int, used: int, root: Array, tilt: Array, columns: Array
) -> float:
    """Write W_r'(B, x) J of a row in one period after the columns that are used; the sum of squares."""
    total, size, parts = 0.0, len(tilt), root.shape[0] - 1
    for j in range(used, used + parts + 1):
        for k in range(size):
            columns[r, j, k] = root[parts, j - used] * tilt[k]
        for i in range(j - used, parts):
            for k in range(size):
                columns[r, j, k] += mapping[r, i, k] * root[i, j - used]
    for k in range(size):
        for j in range(used, used + parts + 1):
            total += columns[r, j, k] * columns[r, j, k]
    return total


@compiled
def tabled_masses(
    levels: Informations, r: int, entry: int, leave: int, position: float, masses: Array
) -> None:
    """Write a row's triangle of sums from prefix sums.

    Interpolation between two levels has non-negative shares, so the sum stays semidefinite.
    """
    sums, place = levels.sums, (position - levels.origin) / SPACING
    node = int(min(max(0.0, place), sums.shape[2] - 2.0))  # of NaN 0: no index is undefined
    share = min(max(place - node, 0.0), 1.0)
    for pair in range(len(masses)):
        low = sums[r, leave, node, pair] - sums[r, entry, node, pair]
        high = sums[r, leave, node + 1, pair] - sums[r, entry, node + 1, pair]
        masses[pair] = (1.0 - share) * low + share * high


@compiled
def walked_masses(
    point: Point, r: int, entry: int, leave: int, position: float, masses: Array
) -> None:
    """Write a row's triangle of sums interval by interval."""
    parts = point.basis.shape[1]
    for pair in range(len(masses)):
        masses[pair] = 0.0
    for s in range(entry, leave):
        survive, happen = slopes(point.link[0], point.predictor[r, s] + position)
        pair = 0
        for j in range(parts + 1):
            one = point.basis[s, j] if j < parts else 1.0
            for i in range(j + 1):
                other = point.basis[s, i] if i < parts else 1.0
                masses[pair] += survive * happen * one * other
                pair += 1


@compiled
def write_root(masses: Array, root: Array) -> None:
    """Write the lower triangular J with J J' = S; a pivot that is not positive leaves its column zero."""
    size = root.shape[0]
    for j in range(size):
        for i in range(size):
            root[j, i] = 0.0
    for j in range(size):
        for i in range(j, size):
            value = masses[i * (i + 1) // 2 + j]
            for k in range(j):
                value -= root[i, k] * root[j, k]
            if i == j:
                positive = value > 1e-14 * masses[j * (j + 1) // 2 + j]
                root[j, j] = math.sqrt(value) if positive else 0.0
            elif root[j, j] > 0.0:
                root[i, j] = value / root[j, j]


@compiled
def factor_scale(trace: float, limit: float, largest: int) -> float:
    """Q SHRINK / sqrt(max(t, limit)), which makes a factor C; 0 where t is not positive."""
    if not trace > 0.0:
        return 0.0
    return largest * SHRINK / math.sqrt(max(trace, limit))


@compiled_reassociative
def round_factor(columns: Array, r: int, used: int, scale: float, largest: int) -> float:
    """Round a factor toward zero to integers of size at most Q; the sum of their squares.

    Integers are held as doubles, which are faster: below 2^53 they are exact, in any order.
    """
    square = 0.0
    for j in range(used):
        for k in range(columns.shape[2]):
            value = columns[r, j, k] * scale
            # a comparison with NaN is false: anything that is not a number in range becomes 0
            whole = np.trunc(value) if abs(value) <= largest else 0.0
            columns[r, j, k] = whole
            square += whole * whole
    return square


@compiled_reassociative
def add_squares(columns: Array, used: int, sums: Array) -> None:
    """Add C_r C_r' of integer columns: entries of at most Q^2 = 2^26, exact for 2^27 people."""
    for r in range(sums.shape[0]):
        for k in range(sums.shape[1]):
            for j in range(used):
                one = columns[r, j, k]
                for i in range(columns.shape[2]):
                    sums[r, k, i] += one * columns[r, j, i]


@compiled
def cut_sum(square: float, added: float, largest: int) -> float:
    """A sum of squares with one more, cut at 2 Q^2: longer than Q is long enough."""
    return min(square + added, 2.0 * largest * largest)
