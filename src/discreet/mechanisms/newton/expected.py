"""What bounded scores come to in expectation, over a synthetic cohort: no record is seen here.

An interval at risk, with slopes a, b and weight w at the scores' point and hazard h at what is taken
for the truth, adds to the expected score, to its slope toward the truth (at a fixed risk set), to its
variance and to the full information at the truth

    w (a - (a + b) h) z~,   w (a + b) h' z~ z~',   w^2 (a + b)^2 h (1 - h) z~ z~',   (h'^2/(h (1 - h))) z~ z~'

times the probability of being at risk. At the truth itself the score is 0 and the slope is J.
Proof page: docs/proofs/private-newton.md, section 5.
"""

import math
from typing import NamedTuple

import numpy as np

from discreet.core.walk import (
    LANES,
    Grid,
    Lanes,
    Point,
    Span,
    interval_grid,
    lanes_room,
    locate,
    walk,
    write_slopes,
)
from discreet.likelihood.jit import compiled, compiled_reassociative
from discreet.types import Array, Integers

FARTHEST_BEND = 2.0
"""A change of effects moves nobody's predictor by more: whoever has values far out would otherwise be
moved without end, by an effect that was fitted to everybody else."""
NOBODY = 1e-4
"""Somebody of the cohort is followed until fewer than this share are left."""


class Members(NamedTuple):
    """A synthetic cohort: who each of it is in each stretch of time, and how many that stands for.

    `covariates` (members, stretches, p), `counts` (members, stretches); stretch k holds the
    intervals edges[k] < s <= edges[k + 1]; `present` is the chance of being observed, by interval;
    `remaining` that of no event of another cause and, in parts of everybody's, of not being censored,
    by member and interval; no rows: it is 1.
    """

    covariates: Array
    counts: Array
    edges: Integers
    present: Array
    remaining: Array


class Bend(NamedTuple):
    """Effects that change with time: theta'(x - mean) lean, by piece, is added to the true predictor.

    `mean` is the people's: columns are centred at public numbers, which may be far from everybody.
    Piece k holds the intervals cuts[k] < s <= cuts[k + 1]; no piece: effects are constant.
    """

    theta: Array
    lean: Array
    cuts: Integers
    mean: Array


STEADY = Bend(np.zeros(0), np.zeros(0), np.zeros(1, dtype=np.int64), np.zeros(0))
"""Effects that do not change."""


class Gathered(NamedTuple):
    """Sums over intervals, a lane for each member.

    Of (B, 1), weighted by the score, and of the lower triangle of its outer product, weighted by
    slope, variance and full information.
    """

    drift: Array
    slope: Array
    meat: Array
    full: Array


class Truth(NamedTuple):
    """What is taken for the truth: its grid, slopes by interval and lane, and who is without an event."""

    grid: Grid
    rise: Array
    fall: Array
    alive: Array


class Loads(NamedTuple):
    """By interval: (B, 1), the lower triangle of its outer product, and the chance of being observed."""

    single: Array
    pairs: Array
    present: Array


@compiled
def expected_sums(
    members: Members, point: Point, truth: Point, bend: Bend, given: Array
) -> tuple[Array, Array, Array, Array]:
    """Expected (score, slope, Meat, full information) at one point when another one is true.

    Weights are those of the ball, or `given` by interval and member where that has rows.
    """
    mapping, edges = point.mapping, members.edges
    intervals, parts = point.basis.shape
    people, stretches, width = members.covariates.shape
    here, loads = interval_grid(point), interval_loads(point.basis, members.present)
    lanes, gathered = lanes_room(1, mapping.shape[2], intervals), gathered_room(parts)
    there = true_room(truth, intervals)
    score, sums = np.zeros(parts + width), np.zeros((3, parts + width, parts + width))
    values, counts = np.zeros((width, LANES)), np.zeros(LANES)
    for start in range(0, people, LANES):
        lanes.total[:] = 0.0
        there.alive[:] = 1.0
        for k in range(stretches):
            span = (edges[k], edges[k + 1])
            set_members(members, start, k, values, counts)
            locate(values, point.beta, mapping, point.periods[0, 2:], lanes)
            write_slopes(here, span[0], span[1], lanes.position, lanes.survive, lanes.happen)
            slopes_of_truth(values, truth.beta[0], bend, span, there)
            if given.shape[0] > 0:
                lanes.weight[:, : given.shape[1] - start] = given[:, start : start + LANES]
            elif point.bound < math.inf:
                walk(all_of(span), mapping, here, point.bound, lanes)
            gather(span, loads, there, lanes, counts, members.remaining[start:], gathered)
            add_members(values, gathered, score, sums)
    return to_whitened(score, sums, mapping[0])


@compiled
def gathered_room(parts: int) -> Gathered:
    """Room for a baseline of so many functions."""
    pairs = (parts + 1) * (parts + 2) // 2
    return Gathered(
        np.zeros((parts + 1, LANES)),
        np.zeros((pairs, LANES)),
        np.zeros((pairs, LANES)),
        np.zeros((pairs, LANES)),
    )


@compiled
def true_room(truth: Point, intervals: int) -> Truth:
    """Room for the truth's slopes."""
    rise, fall = np.zeros((1, intervals, LANES)), np.zeros((1, intervals, LANES))
    return Truth(interval_grid(truth), rise, fall, np.ones(LANES))


@compiled
def place_lanes(values: Array, beta: Array, position: Array) -> None:
    """Write beta'x of every lane; `values` are covariates, (p, lanes)."""
    position[:] = 0.0
    for j in range(values.shape[0]):
        for lane in range(len(position)):
            position[lane] += values[j, lane] * beta[j]


@compiled
def slopes_of_truth(
    values: Array, beta: Array, bend: Bend, span: tuple[int, int], there: Truth
) -> None:
    """The truth's slopes in every interval of a span, piece by piece where effects change."""
    where = np.zeros((1, LANES))
    place_lanes(values, beta, where[0])
    if len(bend.lean) == 0:
        write_slopes(there.grid, span[0], span[1], where, there.rise, there.fall)
        return
    change = changes_of_lanes(values, bend.theta, bend.mean)
    for piece in range(len(bend.lean)):
        first, last = max(span[0], bend.cuts[piece]), min(span[1], bend.cuts[piece + 1])
        if first < last:
            bent = where + bend.lean[piece] * change
            write_slopes(there.grid, first, last, bent, there.rise, there.fall)


@compiled
def changes_of_lanes(values: Array, theta: Array, mean: Array) -> Array:
    """theta'(x - mean) of every lane, within what a change may move a predictor by."""
    change, centre = np.zeros(LANES), 0.0
    place_lanes(values, theta, change)
    for j in range(len(theta)):
        centre += theta[j] * mean[j]
    for lane in range(LANES):
        change[lane] = min(max(change[lane] - centre, -FARTHEST_BEND), FARTHEST_BEND)
    return change


@compiled
def all_of(span: tuple[int, int]) -> Span:
    """Every lane through the same intervals, without an event."""
    first, last = np.full(LANES, span[0]), np.full(LANES, span[1])
    return Span(first, last, np.zeros(LANES, dtype=np.int64))


@compiled
def set_members(members: Members, start: int, k: int, values: Array, counts: Array) -> None:
    """The members from `start` on in stretch k: covariates, and for how many each stands.

    Lanes without a member stand for nobody.
    """
    covariates, masses = members.covariates, members.counts
    for lane in range(LANES):
        there = start + lane < covariates.shape[0]
        counts[lane] = masses[start + lane, k] if there else 0.0
        for j in range(values.shape[0]):
            values[j, lane] = covariates[start + lane, k, j] if there else 0.0


@compiled
def to_whitened(score: Array, sums: Array, mapping: Array) -> tuple[Array, Array, Array, Array]:
    """The score and the three sums in whitened coordinates."""
    return (
        mapping.T @ score,
        turned(sums[0], mapping),
        turned(sums[1], mapping),
        turned(sums[2], mapping),
    )


@compiled
def turned(lower: Array, mapping: Array) -> Array:
    """W'S W of the symmetric S with this lower triangle."""
    for j in range(lower.shape[0]):
        for i in range(j):
            lower[i, j] = lower[j, i]
    return mapping.T @ lower @ mapping


@compiled
def gather(
    span: tuple[int, int],
    loads: Loads,
    truth: Truth,
    lanes: Lanes,
    counts: Array,
    remaining: Array,
    gathered: Gathered,
) -> None:
    """Every lane through a stretch of intervals: sums of (B_s, 1) and of its outer products.

    The chance of being without an event at the stretch's end is left in `truth.alive`.
    """
    (single, pairs, present), (_, rise, fall, alive) = loads, truth
    survive, happen, weight, count = lanes.survive[0], lanes.happen[0], lanes.weight, len(counts)
    drift, slope, meat, full = gathered
    push, bend, vary, know = np.zeros(count), np.zeros(count), np.zeros(count), np.zeros(count)
    for sums in (drift, slope, meat, full):
        sums[:] = 0.0
    for s in range(span[0], span[1]):
        for lane in range(count):
            know[lane] = counts[lane] * present[s] * (alive[lane] if alive[lane] >= NOBODY else 0.0)
        for lane in range(min(count, remaining.shape[0])):
            know[lane] *= remaining[lane, s]
        for lane in range(count):
            hazard = rise[0, s, lane] / (rise[0, s, lane] + fall[0, s, lane])
            both = weight[s, lane] * (survive[s, lane] + happen[s, lane])
            mass = know[lane]
            push[lane] = mass * (weight[s, lane] * survive[s, lane] - both * hazard)
            bend[lane] = mass * both * rise[0, s, lane] * (1.0 - hazard)
            vary[lane] = mass * both * both * hazard * (1.0 - hazard)
            know[lane] = mass * rise[0, s, lane] * fall[0, s, lane]
            alive[lane] *= 1.0 - hazard
        for j in range(drift.shape[0]):
            for lane in range(count):
                drift[j, lane] += push[lane] * single[s, j]
        for pair in range(slope.shape[0]):
            for lane in range(count):
                slope[pair, lane] += bend[lane] * pairs[s, pair]
                meat[pair, lane] += vary[lane] * pairs[s, pair]
                full[pair, lane] += know[lane] * pairs[s, pair]


@compiled
def interval_loads(basis: Array, present: Array) -> Loads:
    """(B, 1) of every interval, and the lower triangle of its outer product, row after row."""
    intervals, parts = basis.shape
    single = np.ones((intervals, parts + 1))
    single[:, :parts] = basis
    pairs = np.zeros((intervals, (parts + 1) * (parts + 2) // 2))
    for s in range(intervals):
        pair = 0
        for j in range(parts + 1):
            for i in range(j + 1):
                pairs[s, pair] = single[s, j] * single[s, i]
                pair += 1
    return Loads(single, pairs, present)


@compiled
def add_members(values: Array, gathered: Gathered, score: Array, sums: Array) -> None:
    """From sums of (B, 1) to sums of z = (B, x), over all lanes."""
    drift, slope, meat, full = gathered
    parts, ones = drift.shape[0] - 1, np.ones(values.shape[1])
    for j in range(parts + values.shape[0]):
        first, one = min(j, parts), values[j - parts] if j >= parts else ones
        score[j] += dot(drift[first], one, ones)
        for i in range(j + 1):
            second, other = min(i, parts), values[i - parts] if i >= parts else ones
            pair = first * (first + 1) // 2 + second
            sums[0, j, i] += dot(slope[pair], one, other)
            sums[1, j, i] += dot(meat[pair], one, other)
            sums[2, j, i] += dot(full[pair], one, other)


@compiled_reassociative
def dot(masses: Array, one: Array, other: Array) -> float:
    """The sum of products over lanes."""
    total = 0.0
    for lane in range(len(masses)):
        total += masses[lane] * one[lane] * other[lane]
    return total


class Rates(NamedTuple):
    """By interval, over those of a cohort without an event so far.

    The mean hazard, its slope by the predictor, and by f = (alpha, beta), (q, e + p).
    """

    hazard: Array
    steepness: Array
    slope: Array


@compiled
def expected_rates(members: Members, point: Point, bend: Bend, places: int) -> Rates:
    """The cohort's mean hazards at the point; their slopes by the first `places` of f, all or none.

    A stretch's counts are of those who come into it: those at high risk who left before are not
    among them, so everybody begins it alive.
    """
    intervals, parts = len(point.basis), min(point.basis.shape[1], places)
    people, stretches, width = members.covariates.shape
    masses, there = np.zeros(intervals), true_room(point, intervals)
    found = Rates(np.zeros(intervals), np.zeros(intervals), np.zeros((intervals, places)))
    values, counts = np.zeros((width, LANES)), np.zeros(LANES)
    for start in range(0, people, LANES):
        for k in range(stretches):
            there.alive[:] = 1.0
            span = (members.edges[k], members.edges[k + 1])
            set_members(members, start, k, values, counts)
            slopes_of_truth(values, point.beta[0], bend, span, there)
            traits = values[: places - parts]
            add_rates(span, there, traits, counts, members.remaining[start:], masses, found)
    for s in range(intervals):
        share = 1.0 / max(masses[s], 1e-300)
        for j in range(parts):
            found.slope[s, j] = found.steepness[s] * point.basis[s, j]
        found.hazard[s] *= share
        found.steepness[s] *= share
        for j in range(places):
            found.slope[s, j] *= share
    return found


@compiled_reassociative
def add_rates(
    span: tuple[int, int],
    here: Truth,
    traits: Array,
    counts: Array,
    remaining: Array,
    masses: Array,
    found: Rates,
) -> None:
    """Add every lane's mass, hazard and its slopes, by interval; sums over lanes in any order."""
    (_, rise, fall, alive), (hazards, steepness, slope) = here, found
    count, parts = len(counts), slope.shape[1] - traits.shape[0]
    mass, steep = np.zeros(count), np.zeros(count)
    for s in range(span[0], span[1]):
        for lane in range(count):
            mass[lane] = counts[lane] * alive[lane]
        for lane in range(min(count, remaining.shape[0])):
            mass[lane] *= remaining[lane, s]
        total, risk, rising = 0.0, 0.0, 0.0
        for lane in range(count):
            hazard = rise[0, s, lane] / (rise[0, s, lane] + fall[0, s, lane])
            steep[lane] = mass[lane] * rise[0, s, lane] * (1.0 - hazard)
            total += mass[lane]
            risk += mass[lane] * hazard
            rising += steep[lane]
            alive[lane] *= 1.0 - hazard
        masses[s] += total
        hazards[s] += risk
        steepness[s] += rising
        for j in range(traits.shape[0]):
            along = 0.0
            for lane in range(count):
                along += steep[lane] * traits[j, lane]
            slope[s, parts + j] += along
