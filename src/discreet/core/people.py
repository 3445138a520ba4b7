"""The sum over people of their bounded scores, each an integer vector whose norm is checked.

Most people stay inside the ball whatever happens: their score is plain and read from tables. The
others walk through their intervals. Which of the two is a function of the person's own rows: with
t_r >= sum a_r |z_rs| over the intervals so far, |V| <= sqrt(sum over r of t_r^2), and a step with an
event is at most max b_r |z_rs| long.

Conventions are those of `walk`. Proofs:
docs/proofs/private-newton.md, sections 2 and 3; docs/proofs/competing-risks.md, section 2.
"""

import math
from typing import NamedTuple

import numpy as np

from discreet.core.slopes import slopes
from discreet.core.walk import (
    LANES,
    ZERO,
    Grid,
    Lanes,
    Point,
    Reached,
    Records,
    Span,
    Steps,
    add_quantised,
    ends_of,
    interval_grid,
    lanes_room,
    locate,
    span_room,
    walk,
    walk_room,
    write_slopes,
)
from discreet.likelihood.jit import compiled
from discreet.types import Array, Flags, Integers

SPACING = 2.0**-4
"""Distance of the lattice of levels; cubic interpolation errs by about 1e-8 of a slope."""


class Levels(NamedTuple):
    """Prefix sums over intervals on a lattice of levels c = beta_r'x; without nodes everybody walks.

    Node n is at origin + n SPACING. `sums` (R, q + 1, nodes, 2 (e + 2)): over s < t of (a, a |B~_s|, a B_s),
    then of their slopes in one step of the lattice; `steepest` (R, q + 1, nodes), the largest b.
    """

    origin: float = 0.0
    sums: Array = np.zeros((0, 0, 0, 0))
    steepest: Array = np.zeros((0, 0, 0))


class PathLength(NamedTuple):
    """How far people may have come, in the units of B.

    `farthest` the largest |B~_rs| of a cause (R); `travelled` t_r, `leap` the longest step with an event
    (R, N); `within` the ball whatever happens (N).
    """

    farthest: Array
    travelled: Array
    leap: Array
    within: Flags


class Room(NamedTuple):
    """What is written for N people side by side.

    `total` V, of all causes (R d, N), and `whole` as integers; `values` x and `sums` of a row; `result` the
    sum over people, `left` those who are not in it.
    """

    grid: Grid
    lanes: Lanes
    span: Span
    steps: Steps
    reached: Reached
    path: PathLength
    total: Array
    whole: Integers
    values: Array
    sums: Array
    result: Integers
    left: Integers


def score_sums(records: Records, point: Point, levels: Levels, largest: int) -> Integers:
    """The sum over persons of their quantised bounded scores, each of norm at most `largest`.

    (R d): the coordinates of one cause after those of another.
    """
    result = np.zeros(point.mapping.shape[0] * point.mapping.shape[2], dtype=np.int64)
    people = np.arange(len(records.starts) - 1)
    if len(levels.sums) > 0:
        people = add_scores(records, point, levels, people, largest, result)
    add_scores(records, point, Levels(), people, largest, result)
    return result


def add_scores(
    records: Records, point: Point, levels: Levels, people: Integers, largest: int, result: Integers
) -> Integers:
    """Add these people's scores; with levels those that stay within the ball, and return the others.

    All room is made here: allocation in compiled code would take seconds of compiling.
    """
    causes, intervals, size = point.baseline.shape
    parts = point.basis.shape[1]
    lanes = lanes_room(causes, size, intervals)
    room = Room(
        interval_grid(point),
        lanes,
        span_room(),
        *walk_room(point.link, parts),
        path_room(point.baseline),
        lanes.total.reshape(causes * size, LANES),
        np.zeros((causes * size, LANES), dtype=np.int64),
        np.zeros((records.covariates.shape[1], LANES)),
        np.zeros((parts + 2, LANES)),
        result,
        np.empty(len(people) if len(levels.sums) > 0 else 0, dtype=np.int64),
    )
    return room.left[: walk_people(records, point, levels, people, largest, room)]


@compiled
def walk_people(
    records: Records, point: Point, levels: Levels, people: Integers, largest: int, room: Room
) -> int:
    """Add the scores of people side by side, from tables where there are levels; else they walk.

    Those who may leave the ball are not read from tables: they are written to `left`, and counted.
    """
    grid, lanes, span, steps, reached, path, total, whole, values, sums, result, left = room
    tabled, causes, intervals, count = len(left) > 0, len(point.link), len(grid.basis), 0
    bound, cut = (math.inf, point.bound) if point.clipped else (point.bound, math.inf)
    for start in range(0, len(people), LANES):
        some = people[start : start + LANES]
        for lane in range(LANES):
            path.within[lane] = True
            for r in range(causes):
                path.travelled[r, lane] = 0.0
            for k in range(len(total)):
                total[k, lane] = 0.0
        for period in point.periods:
            limits, number = (period[0], period[1], intervals), ZERO
            while load_rows(records, some, number, limits, span, values):
                locate(values, point.beta, point.mapping, period[2:], lanes)
                if tabled:
                    for r in range(causes):
                        add_tabled_rows(levels, point, r, span, lanes, sums, path)
                    mark_within_ball(span, bound, path)
                else:
                    first, last = ends_of(span)
                    write_slopes(grid, first, last, lanes)
                    walk(span, point.mapping, grid, bound, lanes, steps, reached)
                number += 1
        for lane in range(len(some)):
            if not path.within[lane]:
                left[count] = some[lane]
                count += 1
                for k in range(len(total)):
                    total[k, lane] = 0.0  # a person who walks adds nothing here
        add_quantised(total, cut, point.bound, largest, whole, result)
    return count


@compiled
def load_rows(
    records: Records,
    people: Integers,
    number: int,
    limits: tuple[int, int, int],
    span: Span,
    values: Array,
) -> bool:
    """Load the row of this number of each of the people into a lane; whether there is any.

    `limits` are a period's first interval and the one after its last, and q: what a row has in other
    periods is left out. A lane without intervals is never at risk.
    """
    starts, covariates, entry, leave, cause = records
    begin, end, intervals = limits
    found = False
    for lane in range(values.shape[1]):
        span.first[lane], span.last[lane], span.cause[lane] = intervals, 0, 0
        row = -1
        if lane < len(people) and starts[people[lane]] + number < starts[people[lane] + 1]:
            row, found = starts[people[lane]] + number, True
            if max(entry[row], begin) < min(leave[row], end):
                span.first[lane], span.last[lane] = max(entry[row], begin), min(leave[row], end)
                span.cause[lane] = cause[row] if leave[row] <= end else 0
            else:
                row = -1
        for j in range(values.shape[0]):
            values[j, lane] = covariates[row, j] if row >= 0 else 0.0
    return found


def path_room(baseline: Array) -> PathLength:
    """Make room for all lanes, and find the longest image of every cause."""
    causes, _, size = baseline.shape
    squares = np.zeros(baseline.shape[:2])
    for k in range(size):
        squares += baseline[:, :, k] * baseline[:, :, k]
    within = np.ones(LANES, dtype=np.bool_)
    travelled, leap = np.zeros((causes, LANES)), np.zeros((causes, LANES))
    return PathLength(np.sqrt(squares.max(axis=1)), travelled, leap, within)


@compiled
def interpolated(table: Array, r: int, until: int, node: int, k: int, place: float) -> float:
    """Sum k over s < until between two nodes: the cubic with their values and (scaled) slopes."""
    half, rest = table.shape[3] // 2, 1.0 - place
    lower, upper = table[r, until, node, k], table[r, until, node + 1, k]
    left, right = table[r, until, node, half + k], table[r, until, node + 1, half + k]
    value: float = rest * rest * ((1.0 + 2.0 * place) * lower + place * left) + place * place * (
        (1.0 + 2.0 * rest) * upper - rest * right
    )
    return value


@compiled
def add_tabled_rows(
    levels: Levels, point: Point, r: int, span: Span, lanes: Lanes, sums: Array, path: PathLength
) -> None:
    """Add the plain scores of every lane's row for cause r, and the length of its path.

    V_r += M_r'(sum a B) + (sum a) x~_r over all intervals but the last, then the last one's score.
    `sums` (e + 2, N) is room for sums over these intervals.
    """
    (first, last, cause), table, tilt = span, levels.sums, lanes.tilt
    total, mapping, baseline = lanes.total, point.mapping, point.baseline
    columns, count = sums.shape
    length, step, value = np.empty(count), np.empty(count), np.empty(count)
    for lane in range(count):
        length[lane], step[lane] = 0.0, 0.0
    for k in range(tilt.shape[1]):
        for lane in range(count):
            length[lane] += tilt[r, k, lane] * tilt[r, k, lane]
    for lane in range(count):
        at = (lanes.position[r, lane] - levels.origin) / SPACING
        node = int(min(max(0.0, at), table.shape[2] - 2.0))  # of NaN 0: no index is undefined
        late = max(last[lane] - 1, 0)
        early = min(first[lane], late)
        for k in range(columns):
            before = interpolated(table, r, early, node, k, at - node) if early > 0 else 0.0
            sums[k, lane] = interpolated(table, r, late, node, k, at - node) - before
        eta = point.predictor[r, late] + lanes.position[r, lane]
        survive, happen = slopes(point.link[0], eta)
        own = -happen if cause[lane] == r + 1 else 0.0
        if last[lane] > 0:
            step[lane] = own if cause[lane] > 0 else survive
            longest = path.farthest[r] + math.sqrt(length[lane])
            ahead = sums[1, lane] + sums[0, lane] * math.sqrt(length[lane]) + survive * longest
            path.travelled[r, lane] += ahead
            path.leap[r, lane] = levels.steepest[r, last[lane], node] * longest
    for k in range(tilt.shape[1]):
        for lane in range(count):
            value[lane] = sums[0, lane] * tilt[r, k, lane]
        for j in range(columns - 2):
            for lane in range(count):
                value[lane] += sums[2 + j, lane] * mapping[r, j, k]
        for lane in range(count):
            total[r, k, lane] += value[lane]
            late = max(last[lane] - 1, 0)
            total[r, k, lane] += step[lane] * (baseline[r, late, k] + tilt[r, k, lane])


@compiled
def mark_within_ball(span: Span, reach: float, path: PathLength) -> None:
    """Unmark the lanes that may leave the ball of radius `reach` in their row."""
    for lane in range(len(path.within)):
        if span.last[lane] > 0:
            square = 0.0
            for r in range(len(path.farthest)):
                square += path.travelled[r, lane] * path.travelled[r, lane]
            for r in range(len(path.farthest)):
                # a comparison with NaN is false: such a person walks
                near = math.sqrt(square) + path.leap[r, lane] <= reach
                path.within[lane] = path.within[lane] and near
