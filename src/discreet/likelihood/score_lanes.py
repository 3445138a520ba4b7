"""Walks side by side: a person or a member of a cohort in every lane, intervals one after the other.

Each lane's numbers are those of a walk alone, to the last bit: nothing is added across lanes, and no
operation is reordered. So a lane's result is a function of that lane's rows, of released numbers and
of nothing else, and who walks beside whom cannot change it. Proof: docs/proofs/private-newton.md,
section 2.
"""

import math
from typing import NamedTuple

import numpy as np

from discreet.likelihood.jit import compiled
from discreet.likelihood.score_walk import (
    LARGEST_PREDICTOR,
    LOGIT,
    Grid,
    ball_weight,
    interval_slopes,
)
from discreet.types import Array, Integers

LANES = 32
"""Walkers at a time: a few vectors of the processor, and all of it stays in its nearest cache."""


class Lanes(NamedTuple):
    """What is known of the walkers, the last axis one for each.

    At a row's start: V, x~, beta'x, and M x~, M V with M the baseline's rows of the mapping; in it,
    V = V_0 + M'm + u x~ with (m, u) = (`moved`, `along`). By interval: slopes a, b and weights w.
    """

    total: Array
    tilt: Array
    position: Array
    cross: Array
    begin: Array
    moved: Array
    along: Array
    survive: Array
    happen: Array
    weight: Array


class Span(NamedTuple):
    """Of each lane the intervals first ... last - 1, and the number of the event in the last one, or 0."""

    first: Integers
    last: Integers
    event: Integers


@compiled
def lanes_room(size: int, parts: int, intervals: int) -> Lanes:
    """Room for so many coordinates, baseline functions and intervals."""
    return Lanes(
        np.zeros((size, LANES)),
        np.zeros((size, LANES)),
        np.zeros(LANES),
        np.zeros((parts, LANES)),
        np.zeros((parts, LANES)),
        np.zeros((parts, LANES)),
        np.zeros(LANES),
        np.zeros((intervals, LANES)),
        np.zeros((intervals, LANES)),
        np.ones((intervals, LANES)),
    )


@compiled
def place_lanes(values: Array, beta: Array, position: Array) -> None:
    """Write beta'x of every lane; `values` are covariates, (p, lanes)."""
    position[:] = 0.0
    for j in range(values.shape[0]):
        for lane in range(len(position)):
            position[lane] += values[j, lane] * beta[j]


@compiled
def locate_lanes(values: Array, beta: Array, mapping: Array, lanes: Lanes) -> None:
    """Write beta'x and x~ of every lane, as `locate` does for one row."""
    tilt, time = lanes.tilt, mapping.shape[0] - values.shape[0]
    place_lanes(values, beta, lanes.position)
    tilt[:] = 0.0
    for j in range(values.shape[0]):
        for k in range(tilt.shape[0]):
            entry = mapping[time + j, k]
            for lane in range(tilt.shape[1]):
                tilt[k, lane] += values[j, lane] * entry


@compiled
def slopes_of_lanes(
    grid: Grid, span: tuple[int, int], position: Array, survive: Array, happen: Array
) -> None:
    """Write the slopes a, b of every lane in the intervals span[0] ... span[1] - 1.

    Where no lane is far out, the logit's are products of odds, which is a loop without a branch.
    """
    kind, predictor, odds = grid.link, grid.predictor, grid.odds
    count, farthest, near = len(position), 0.0, kind == LOGIT
    factor = np.empty(count)
    for lane in range(count):
        factor[lane], farthest = math.exp(position[lane]), max(farthest, abs(position[lane]))
        # a comparison with NaN is false: such a lane leads to the branches
        near = near and abs(position[lane]) < LARGEST_PREDICTOR
    for s in range(span[0], span[1]):
        if near and abs(predictor[s]) + farthest < LARGEST_PREDICTOR:
            for lane in range(count):
                share = 1.0 / (1.0 + odds[s] * factor[lane])
                survive[s, lane] = odds[s] * factor[lane] * share
                happen[s, lane] = share
        else:
            for lane in range(count):
                survive[s, lane], happen[s, lane] = interval_slopes(
                    kind, predictor[s], position[lane], odds[s], factor[lane]
                )


@compiled
def walk_lanes(span: Span, mapping: Array, grid: Grid, bound: float, lanes: Lanes) -> None:
    """Every lane through its span: add the weighted score to V, and write the weights.

    With c = M x~ and images g_s = M M'B_s inner products need the e + 1 numbers (m, u), not the d of
    V:

        V'z~_s = (M V_0 + c u)'B_s + m'(g_s + c) + V_0'x~ + u |x~|^2.
    """
    _, _, _, cross, begin, moved, along, survive, happen, weight = lanes
    (first, last, event), (spread, begun, square) = span, set_out(mapping, lanes)
    basis, images, squares, count = grid.basis, grid.images, grid.squares, len(along)
    crossing, meeting, inner = np.zeros(count), np.zeros(count), np.zeros(count)
    norm, tight, step = np.zeros(count), np.zeros(count), np.zeros(count)
    for s in range(first.min(), last.max()):
        for lane in range(count):
            meeting[lane] = 0.0
            inner[lane] = begun[lane] + crossing[lane]
        for j in range(basis.shape[1]):
            for lane in range(count):
                meeting[lane] += cross[j, lane] * basis[s, j]
                inner[lane] += begin[j, lane] * basis[s, j] + moved[j, lane] * images[s, j]
        for lane in range(count):
            inner[lane] += along[lane] * (meeting[lane] + spread[lane])
            norm[lane] = max(squares[s] + 2.0 * meeting[lane] + spread[lane], 0.0)
            steep = max(survive[s, lane], happen[s, lane])
            free = 2.0 * (square[lane] + steep * steep * norm[lane]) <= bound * bound
            tight[lane] = 0.0 if free else 1.0
            weight[s, lane] = 1.0
        if tight.any():  # rare early in a walk, and roots and quotients are most of its time
            for lane in range(count):
                w = ball_weight(
                    inner[lane], square[lane], norm[lane], survive[s, lane], happen[s, lane], bound
                )
                weight[s, lane] = w if tight[lane] > 0.0 else 1.0
        for lane in range(count):
            here = first[lane] <= s < last[lane]
            slope = (
                -happen[s, lane] if event[lane] > 0 and s == last[lane] - 1 else survive[s, lane]
            )
            step[lane] = weight[s, lane] * slope if here else 0.0
            gain = step[lane] * (2.0 * inner[lane] + step[lane] * norm[lane])
            square[lane] += gain if here else 0.0
            along[lane] += step[lane]
            crossing[lane] += step[lane] * meeting[lane] if here else 0.0
        for j in range(basis.shape[1]):
            for lane in range(count):
                moved[j, lane] += step[lane] * basis[s, j]
    settle(mapping, lanes)


@compiled
def set_out(mapping: Array, lanes: Lanes) -> tuple[Array, Array, Array]:
    """Write M x~ and M V_0 of every lane, and m = u = 0; its |x~|^2, V_0'x~ and |V_0|^2."""
    total, tilt, _, cross, begin, moved, along, _, _, _ = lanes
    count = len(along)
    spread, begun, square = np.zeros(count), np.zeros(count), np.zeros(count)
    for zero in (cross, begin, moved):
        zero[:] = 0.0
    along[:] = 0.0
    for k in range(total.shape[0]):
        for lane in range(count):
            spread[lane] += tilt[k, lane] * tilt[k, lane]
            begun[lane] += total[k, lane] * tilt[k, lane]
            square[lane] += total[k, lane] * total[k, lane]
        for j in range(cross.shape[0]):
            for lane in range(count):
                cross[j, lane] += mapping[j, k] * tilt[k, lane]
                begin[j, lane] += mapping[j, k] * total[k, lane]
    return spread, begun, square


@compiled
def settle(mapping: Array, lanes: Lanes) -> None:
    """V = V_0 + u x~ + M'm of every lane."""
    total, tilt, moved, along = lanes.total, lanes.tilt, lanes.moved, lanes.along
    for k in range(total.shape[0]):
        for lane in range(len(along)):
            total[k, lane] += along[lane] * tilt[k, lane]
        for j in range(moved.shape[0]):
            for lane in range(len(along)):
                total[k, lane] += moved[j, lane] * mapping[j, k]
