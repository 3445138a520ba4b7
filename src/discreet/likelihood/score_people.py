"""The sum over people of their bounded scores, each an integer vector whose norm is checked.

Most people stay inside the ball whatever happens: their score is plain and read from tables. The
others walk through their intervals. Which of the two is a function of the person's own rows. Proof:
docs/proofs/private-newton.md, section 2.
"""

import math

import numpy as np

from discreet.likelihood.jit import compiled
from discreet.likelihood.score_lanes import (
    LANES,
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
    add_prefix,
    add_quantised,
    interval_grid,
    length_of,
    locate,
    longest,
    prefix_sums,
    slopes,
)
from discreet.types import Array, Integers


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
    whole = np.zeros(LANES, dtype=np.int64)
    rows, span = whole.copy(), Span(whole.copy(), whole.copy(), np.zeros(LANES, dtype=np.bool_))
    values = np.zeros((records.covariates.shape[1], LANES))
    bound, cut = (math.inf, point.bound) if point.clipped else (point.bound, math.inf)
    total, person = np.zeros(mapping.shape[1]), np.zeros(mapping.shape[1], dtype=np.int64)
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
        for lane in range(len(people)):
            total[:] = lanes.total[:, lane]
            add_quantised(total, cut, point.bound, largest, person, result)


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
        first[lane], last[lane], ends[lane] = intervals, 0, False
        if row >= 0:
            first[lane], last[lane], ends[lane] = entry[row], exits[row], event[row]
        for j in range(values.shape[0]):
            values[j, lane] = covariates[row, j] if row >= 0 else 0.0


@compiled
def add_plain_scores(
    records: Records, point: Point, table: Table, largest: int, result: Integers
) -> Integers:
    """Add the scores of the people for whom sum a |z~| + max b max |z~| <= B; the others' numbers.

    Arrays are unpacked once: taken from their tuples for every person they would be counted
    every time.
    """
    starts, covariates, entry, exits, event = records
    kind, beta, mapping, predictor, basis, baseline, bound, clipped = point
    origin, spacing, prefixes, steepest = table
    total, tilt = np.zeros(mapping.shape[1]), np.zeros(mapping.shape[1])
    sums, person = np.zeros(basis.shape[1] + 2), np.zeros(len(total), dtype=np.int64)
    farthest = longest(baseline)
    reach, cut = (math.inf, bound) if clipped else (bound, math.inf)
    left = np.empty(len(starts) - 1, dtype=np.int64)
    count = 0
    for who in range(len(starts) - 1):
        total[:] = 0.0
        travelled, inside = 0.0, True
        for row in range(starts[who], starts[who + 1]):
            position = locate(covariates, row, beta, mapping, tilt)
            place = (position - origin) / spacing
            node = min(max(int(place), 0), prefixes.shape[1] - 2)
            final = exits[row] - 1
            prefix_sums(prefixes, entry[row], final, node, place - node, sums)
            length = length_of(tilt)
            survive, happen = slopes(kind, predictor[final] + position)
            travelled += sums[1] + sums[0] * length + survive * (farthest + length)
            # a comparison with NaN is false: such a person walks
            inside = travelled + steepest[exits[row], node] * (farthest + length) <= reach
            if not inside:
                break
            add_prefix(sums, mapping, tilt, total)
            signed = -happen if event[row] else survive
            for k in range(len(total)):
                total[k] += signed * (baseline[final, k] + tilt[k])
        if inside:
            add_quantised(total, cut, bound, largest, person, result)
        else:
            left[count] = who
            count += 1
    return left[:count]
