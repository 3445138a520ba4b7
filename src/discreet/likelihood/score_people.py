"""The sum over people of their bounded scores, each an integer vector whose norm is checked.

Most people stay inside the ball whatever happens: their score is plain and read from tables. The
others walk through their intervals. Which of the two is a function of the person's own rows. Proof:
docs/proofs/private-newton.md, section 2.
"""

import math
from typing import NamedTuple

import numpy as np

from discreet.likelihood.jit import compiled
from discreet.likelihood.score_lanes import (
    LANES,
    Lanes,
    Span,
    lanes_room,
    locate_lanes,
    slopes_of_lanes,
    walk_lanes,
)
from discreet.likelihood.score_walk import (
    Point,
    Records,
    Table,
    add_quantised,
    interval_grid,
    longest,
    prefix_sums,
    slopes,
)
from discreet.types import Array, Flags, Integers


@compiled
def score_sums(records: Records, point: Point, table: Table, largest: int) -> Integers:
    """The sum over persons of their quantised bounded scores, each of norm at most `largest`."""
    result = np.zeros(point.mapping.shape[1], dtype=np.int64)
    walkers = np.arange(len(records.starts) - 1)
    if table.sums.shape[0] > 0:
        walkers = add_plain_scores(records, point, table, largest, result)
    add_walked_scores(records, point, walkers, largest, result)
    return result


@compiled
def add_walked_scores(
    records: Records, point: Point, walkers: Integers, largest: int, result: Integers
) -> None:
    """Add the scores of these people, who walk side by side."""
    beta, mapping, grid = point.beta, point.mapping, interval_grid(point)
    lanes = lanes_room(mapping.shape[1], point.basis.shape[1], len(point.predictor))
    rows, span, values = np.zeros(LANES, dtype=np.int64), span_room(), values_room(records)
    bound, cut = (math.inf, point.bound) if point.clipped else (point.bound, math.inf)
    whole = np.zeros((mapping.shape[1], LANES), dtype=np.int64)
    for start in range(0, len(walkers), LANES):
        people = walkers[start : start + LANES]
        lanes.total[:] = 0.0
        number = 0
        while next_rows(records, people, number, rows):
            set_rows(records, rows, len(grid.predictor), span, values)
            locate_lanes(values, beta, mapping, lanes)
            ends = (span.first.min(), span.last.max())
            slopes_of_lanes(grid, ends, lanes.position, lanes.survive, lanes.happen)
            walk_lanes(span, mapping, grid, bound, lanes)
            number += 1
        add_quantised(lanes.total, cut, point.bound, largest, whole, result)


@compiled
def next_rows(records: Records, people: Integers, number: int, rows: Integers) -> bool:
    """The row of this number of each of the people, -1 where there is none; whether there is any."""
    starts, found = records.starts, False
    for lane in range(len(rows)):
        rows[lane] = -1
        if lane < len(people) and starts[people[lane]] + number < starts[people[lane] + 1]:
            rows[lane], found = starts[people[lane]] + number, True
    return found


@compiled
def set_rows(records: Records, rows: Integers, intervals: int, span: Span, values: Array) -> None:
    """Every lane's row: when it is at risk, and its covariates. Without a row it is never at risk."""
    _, covariates, entry, exits, event = records
    first, last, ends = span
    for lane in range(len(rows)):
        row = rows[lane]
        first[lane], last[lane], ends[lane] = intervals, 0, 0
        if row >= 0:
            first[lane], last[lane], ends[lane] = entry[row], exits[row], event[row]
        for j in range(values.shape[0]):
            values[j, lane] = covariates[row, j] if row >= 0 else 0.0


@compiled
def add_plain_scores(
    records: Records, point: Point, table: Table, largest: int, result: Integers
) -> Integers:
    """Add the scores of the people for whom sum a |z~| + max b max |z~| <= B; the others' numbers."""
    mapping, everybody = point.mapping, np.arange(len(records.starts) - 1)
    lanes, rows = lanes_room(mapping.shape[1], point.basis.shape[1], 0), rows_room(table)
    numbers, span, values = np.zeros(LANES, dtype=np.int64), span_room(), values_room(records)
    reach, cut = (math.inf, point.bound) if point.clipped else (point.bound, math.inf)
    whole = np.zeros((mapping.shape[1], LANES), dtype=np.int64)
    travelled, inside = np.zeros(LANES), np.ones(LANES, dtype=np.bool_)
    farthest, left, count = longest(point.baseline), np.empty_like(everybody), 0
    for start in range(0, len(everybody), LANES):
        people = everybody[start : start + LANES]
        lanes.total[:] = 0.0
        travelled[:] = 0.0
        inside[:] = True
        number = 0
        while next_rows(records, people, number, numbers):
            set_rows(records, numbers, len(point.predictor), span, values)
            locate_lanes(values, point.beta, mapping, lanes)
            read_rows(table, point, span, lanes, rows)
            add_rows(point, span, rows, lanes)
            keep_inside(span, rows, (farthest, reach), travelled, inside)
            number += 1
        for lane in range(len(people)):
            if not inside[lane]:
                lanes.total[:, lane] = 0.0  # who walks adds nothing here
                left[count] = people[lane]
                count += 1
        add_quantised(lanes.total, cut, point.bound, largest, whole, result)
    return left[:count]


class Rows(NamedTuple):
    """Rows read from tables, the last axis one for each.

    Sums (a, a |B~|, a B) over all intervals but the last; slopes a, b in that, and the largest b;
    |x~|.
    """

    sums: Array
    survive: Array
    happen: Array
    steepest: Array
    length: Array


@compiled
def rows_room(table: Table) -> Rows:
    """Room for the rows of all lanes."""
    sums, lane = np.zeros((table.sums.shape[2] // 2, LANES)), np.zeros(LANES)
    return Rows(sums, lane, lane.copy(), lane.copy(), lane.copy())


@compiled
def read_rows(table: Table, point: Point, span: Span, lanes: Lanes, rows: Rows) -> None:
    """Look up every lane's row; one that is never at risk has sums of nothing."""
    (sums, survive, happen, steepest, length), (first, last, _) = rows, span
    prefixes, largest, origin, spacing = table.sums, table.steepest, table.origin, table.spacing
    tilt, position, predictor, kind = lanes.tilt, lanes.position, point.predictor, point.link
    for lane in range(len(length)):
        at, final = (position[lane] - origin) / spacing, max(last[lane] - 1, 0)
        node, entry = min(max(int(at), 0), prefixes.shape[1] - 2), min(first[lane], final)
        prefix_sums(prefixes, entry, final, node, at - node, sums, lane)
        survive[lane], happen[lane] = slopes(kind, predictor[final] + position[lane])
        steepest[lane], length[lane] = largest[last[lane], node], 0.0
    for k in range(tilt.shape[0]):
        for lane in range(len(length)):
            length[lane] += tilt[k, lane] * tilt[k, lane]
    for lane in range(len(length)):
        length[lane] = math.sqrt(length[lane])


@compiled
def add_rows(point: Point, span: Span, rows: Rows, lanes: Lanes) -> None:
    """V += sum of a z~ over all intervals but the last, = M'(sum a B) + (sum a) x~, then the last's."""
    total, tilt, sums, count = lanes.total, lanes.tilt, rows.sums, len(rows.length)
    mapping, baseline = point.mapping, point.baseline
    signed, value, final = np.zeros(count), np.zeros(count), np.zeros(count, dtype=np.int64)
    for lane in range(count):
        signed[lane] = -rows.happen[lane] if span.event[lane] else rows.survive[lane]
        final[lane] = max(span.last[lane] - 1, 0)
        signed[lane] = signed[lane] if span.last[lane] > 0 else 0.0
    for k in range(total.shape[0]):
        for lane in range(count):
            value[lane] = sums[0, lane] * tilt[k, lane]
        for j in range(sums.shape[0] - 2):
            for lane in range(count):
                value[lane] += sums[2 + j, lane] * mapping[j, k]
        for lane in range(count):
            total[k, lane] += value[lane]
            total[k, lane] += signed[lane] * (baseline[final[lane], k] + tilt[k, lane])


@compiled
def keep_inside(
    span: Span, rows: Rows, limits: tuple[float, float], travelled: Array, inside: Flags
) -> None:
    """How far from the centre each may have come, and whether nobody can leave the ball from there."""
    (farthest, reach), last = limits, span.last
    sums, survive, _, steepest, length = rows
    for lane in range(len(travelled)):
        if last[lane] > 0:
            step = survive[lane] * (farthest + length[lane])
            travelled[lane] += sums[1, lane] + sums[0, lane] * length[lane] + step
            # a comparison with NaN is false: such a person walks
            near = travelled[lane] + steepest[lane] * (farthest + length[lane]) <= reach
            inside[lane] = inside[lane] and near


@compiled
def span_room() -> Span:
    """Room for the rows of all lanes."""
    whole = np.zeros(LANES, dtype=np.int64)
    return Span(whole, whole.copy(), whole.copy())


@compiled
def values_room(records: Records) -> Array:
    """Room for the covariates of all lanes."""
    return np.zeros((records.covariates.shape[1], LANES))
