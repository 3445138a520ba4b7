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

from discreet.likelihood.jit import compiled
from discreet.likelihood.score_walk import (
    SAFE_EXPONENT,
    Grid,
    Point,
    Scratch,
    ball_weight,
    interval_grid,
    interval_slopes,
    locate,
    set_out,
)
from discreet.types import Array, Integers

NOBODY = 1e-4
"""Somebody of the cohort is followed until fewer than this share are left."""


class Members(NamedTuple):
    """A synthetic cohort: who each of it is in each stretch of time, and how many that stands for.

    `covariates` (members, stretches, p), `counts` (members, stretches); stretch k holds the
    intervals edges[k] < s <= edges[k + 1]; `present` is the chance of being observed, by interval;
    `remaining` that of no event of another cause, by member and interval.
    """

    covariates: Array
    counts: Array
    edges: Integers
    present: Array
    remaining: Array


class Stretch(NamedTuple):
    """One of the cohort in the intervals first ... last - 1; beta'x here and at the truth.

    `alive` is the chance of being without an event at its start, `member` whose number it is.
    """

    first: int
    last: int
    weight: float
    alive: float
    position: float
    true_position: float
    member: int


class Grids(NamedTuple):
    """By interval: what a walk needs here and at the truth, (B, 1) and its products, presence; by member: remaining."""

    here: Grid
    truth: Grid
    loads: Array
    products: Array
    present: Array
    remaining: Array
    bound: float


class Gathered(NamedTuple):
    """Sums over intervals of (B, 1), weighted by the score, and of its products, by the matrices."""

    drift: Array
    masses: Array


@compiled
def expected_sums(
    members: Members, point: Point, truth: Point
) -> tuple[Array, Array, Array, Array]:
    """Expected (score, slope, Meat, full information) at one point when another one is true."""
    mapping = point.mapping
    rows, size, parts = mapping.shape[0], mapping.shape[1], point.basis.shape[1]
    loads, products = interval_products(point.basis)
    grids = Grids(
        interval_grid(point),
        interval_grid(truth),
        loads,
        products,
        members.present,
        members.remaining,
        point.bound,
    )
    score, sums = np.zeros(rows), np.zeros((3, rows, rows))
    gathered = Gathered(np.zeros(parts + 1), np.zeros((3, products.shape[1])))
    scratch = Scratch(np.zeros(size), np.zeros(size), np.zeros((3, parts)))
    for member in range(members.covariates.shape[0]):
        scratch.total[:] = 0.0
        alive = 1.0
        for k in range(members.covariates.shape[1]):
            gathered.drift[:] = 0.0
            gathered.masses[:] = 0.0
            person = members.covariates[member, k]
            stretch = Stretch(
                members.edges[k],
                members.edges[k + 1],
                members.counts[member, k],
                alive,
                locate(members.covariates[member], k, point.beta, mapping, scratch.tilt),
                product(person, truth.beta),
                member,
            )
            alive = follow(stretch, grids, mapping, scratch, gathered)
            add_person(person, gathered, score, sums)
    return to_whitened(score, sums, mapping)


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
def product(one: Array, other: Array) -> float:
    """The inner product."""
    result = 0.0
    for j in range(len(one)):
        result += one[j] * other[j]
    return result


@compiled
def follow(  # noqa: C901 - one loop: a call per interval would count references
    stretch: Stretch, grids: Grids, mapping: Array, scratch: Scratch, gathered: Gathered
) -> float:
    """One of the cohort through a stretch of intervals: sums of (B_s, 1) and of its outer products.

    Returns the chance of being without an event at the stretch's end. Coordinates as in `walk_row`;
    `scratch.total` is V, without events, and is moved on.
    """
    (grid, truth, loads, products, present, remaining, bound), (drift, masses) = grids, gathered
    kind, predictor, odds, basis, images, squares = grid
    total, tilt, parts = scratch.total, scratch.tilt, basis.shape[1]
    cross, begin, moved = scratch.walk[0], scratch.walk[1], scratch.walk[2]
    spread, begun, square = set_out(tilt, mapping, total, scratch.walk)
    factors = (math.exp(stretch.position), math.exp(stretch.true_position))
    along, crossing, alive = 0.0, 0.0, stretch.alive
    for s in range(stretch.first, stretch.last):
        if alive < NOBODY:
            break
        survive, happen = interval_slopes(kind, predictor[s], stretch.position, odds[s], factors[0])
        rise, fall = interval_slopes(
            kind, truth.predictor[s], stretch.true_position, truth.odds[s], factors[1]
        )
        hazard = rise / (rise + fall)
        meeting, inner = 0.0, begun + crossing
        for j in range(parts):
            meeting += cross[j] * basis[s, j]
            inner += begin[j] * basis[s, j] + moved[j] * images[s, j]
        inner += along * (meeting + spread)
        norm = max(squares[s] + 2.0 * meeting + spread, 0.0)
        w, steep = 1.0, max(survive, happen)
        if not 2.0 * (square + steep * steep * norm) <= bound * bound:
            w = ball_weight(inner, square, norm, survive, happen, bound)
        both, step = w * (survive + happen), w * survive
        mass = stretch.weight * alive * present[s] * remaining[stretch.member, s]
        push = mass * (step - both * hazard)
        slope = mass * both * rise * (1.0 - hazard)
        meat = mass * both * both * hazard * (1.0 - hazard)
        full = mass * rise * fall
        for j in range(parts + 1):
            drift[j] += push * loads[s, j]
        for pair in range(products.shape[1]):
            masses[0, pair] += slope * products[s, pair]
            masses[1, pair] += meat * products[s, pair]
            masses[2, pair] += full * products[s, pair]
        square += step * (2.0 * inner + step * norm)
        along += step
        crossing += step * meeting
        for j in range(parts):
            moved[j] += step * basis[s, j]
        alive *= 1.0 - hazard
    for k in range(len(total)):
        total[k] += along * tilt[k]
        for j in range(parts):
            total[k] += moved[j] * mapping[j, k]
    return alive


@compiled
def interval_products(basis: Array) -> tuple[Array, Array]:
    """(B, 1) of every interval, and the lower triangle of its outer product, row after row."""
    intervals, parts = basis.shape
    loads = np.ones((intervals, parts + 1))
    loads[:, :parts] = basis
    products = np.zeros((intervals, (parts + 1) * (parts + 2) // 2))
    for s in range(intervals):
        pair = 0
        for j in range(parts + 1):
            for i in range(j + 1):
                products[s, pair] = loads[s, j] * loads[s, i]
                pair += 1
    return loads, products


@compiled
def add_person(person: Array, gathered: Gathered, score: Array, sums: Array) -> None:
    """From sums of (B, 1) to sums of z = (B, x)."""
    drift, masses = gathered
    parts = len(drift) - 1
    size = parts + len(person)
    for j in range(size):
        first, one = min(j, parts), person[j - parts] if j >= parts else 1.0
        score[j] += drift[first] * one
        for i in range(j + 1):
            second, other = min(i, parts), person[i - parts] if i >= parts else 1.0
            pair = first * (first + 1) // 2 + second
            for kind in range(masses.shape[0]):
                sums[kind, j, i] += masses[kind, pair] * one * other


class Rates(NamedTuple):
    """By interval, over those of a cohort without an event so far.

    The mean hazard, its slope by the predictor, and by f = (alpha, beta), (q, e + p).
    """

    hazard: Array
    steepness: Array
    slope: Array


@compiled
def expected_rates(members: Members, point: Point, places: int) -> Rates:
    """The cohort's mean hazards at the point; their slopes by the first `places` of f, all or none.

    A stretch's counts are of those who come into it: those at high risk who left before are not
    among them, so everybody begins it alive.
    """
    intervals, parts = len(point.basis), min(point.basis.shape[1], places)
    width = places - parts
    masses = np.zeros(intervals)
    found = Rates(np.zeros(intervals), np.zeros(intervals), np.zeros((intervals, parts + width)))
    odds = np.exp(np.minimum(np.maximum(point.predictor, -SAFE_EXPONENT), SAFE_EXPONENT))
    for member in range(members.covariates.shape[0]):
        for k in range(members.covariates.shape[1]):
            alive = 1.0
            person = members.covariates[member, k]
            position = product(person, point.beta)
            factor = math.exp(position)
            for s in range(members.edges[k], members.edges[k + 1]):
                rise, fall = interval_slopes(
                    point.link, point.predictor[s], position, odds[s], factor
                )
                hazard = rise / (rise + fall)
                mass = members.counts[member, k] * alive * members.remaining[member, s]
                steep = mass * rise * (1.0 - hazard)
                masses[s] += mass
                found.hazard[s] += mass * hazard
                found.steepness[s] += steep
                for j in range(width):
                    found.slope[s, parts + j] += steep * person[j]
                alive *= 1.0 - hazard
    for s in range(intervals):
        share = 1.0 / max(masses[s], 1e-300)
        for j in range(parts):
            found.slope[s, j] = found.steepness[s] * point.basis[s, j]
        found.hazard[s] *= share
        found.steepness[s] *= share
        for j in range(parts + width):
            found.slope[s, j] *= share
    return found
