"""What bounded scores come to in expectation, over a synthetic cohort: no record is seen here.

An interval at risk, with slopes a, b and weight w at the scores' point and hazard h at what is taken
for the truth, adds to the expected score, to its slope toward the truth (at a fixed risk set), to its
variance and to the full information at the truth

    w (a - (a + b) h) z~,   w (a + b) h' z~ z~',   w^2 (a + b)^2 h (1 - h) z~ z~',   (h'^2/(h (1 - h))) z~ z~'

times the probability of being at risk. At the truth itself the score is 0 and the slope is J.
Proof page: docs/proofs/private-newton.md, section 5.
"""

import math

import numpy as np

from discreet.likelihood.jit import compiled
from discreet.likelihood.score_walk import (
    ball_weight,
    interval_grid,
    interval_slopes,
    locate,
    set_out,
)
from discreet.types import Array, Integers

NOBODY = 1e-4
"""Somebody of the cohort is followed until fewer than this share are left."""


@compiled
def expected_sums(  # noqa: PLR0913, PLR0917, compiled code takes arrays, not objects
    covariates: Array,
    counts: Array,
    edges: Integers,
    kind: int,
    beta: Array,
    mapping: Array,
    predictor: Array,
    basis: Array,
    baseline: Array,
    present: Array,
    bound: float,
    true_beta: Array,
    true_predictor: Array,
) -> tuple[Array, Array, Array, Array]:
    """Expected (score, slope, Meat, full information) at one point when another one is true.

    `covariates` (members, stretches, p) and `counts` (members, stretches): who each of the cohort
    is in each stretch of time, and how many people that stands for. Stretch k holds the intervals
    edges[k] < s <= edges[k + 1].
    """
    size, parts, stretches = mapping.shape[1], basis.shape[1], covariates.shape[1]
    grid = interval_grid(mapping, predictor, basis, baseline)
    truth = interval_grid(mapping, true_predictor, basis, baseline)
    score, sums = np.zeros(mapping.shape[0]), np.zeros((3, mapping.shape[0], mapping.shape[0]))
    loads, products = interval_products(basis)
    drift, masses = np.zeros(parts + 1), np.zeros((3, products.shape[1]))
    total, tilt, scratch = np.zeros(size), np.zeros(size), np.zeros((3, parts))
    for row in range(covariates.shape[0]):
        total[:] = 0.0
        alive = 1.0
        for stretch in range(stretches):
            drift[:] = 0.0
            masses[:] = 0.0
            person = covariates[row, stretch]
            level = locate(covariates[row], stretch, beta, mapping, tilt)
            levels = (level, product(person, true_beta))
            alive = follow(
                kind, levels, counts[row, stretch], alive, (edges[stretch], edges[stretch + 1]),
                tilt, mapping, grid, truth, loads, products, present, bound,
                total, scratch, drift, masses,
            )  # fmt: skip
            add_person(person, parts, drift, masses, score, sums)
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
def follow(  # noqa: C901, PLR0913, PLR0917, compiled code takes arrays, not objects
    kind: int,
    levels: tuple[float, float],
    weight: float,
    alive: float,
    stretch: tuple[int, int],
    tilt: Array,
    mapping: Array,
    grid: tuple[Array, Array, Array, Array, Array],
    truth: tuple[Array, Array, Array, Array, Array],
    loads: Array,
    products: Array,
    present: Array,
    bound: float,
    total: Array,
    scratch: Array,
    drift: Array,
    masses: Array,
) -> float:
    """One of the cohort through a stretch of intervals: sums of (B_s, 1) and of its outer products.

    `alive` is the chance of being without an event at the stretch's start; that at its end is
    returned. Coordinates as in `walk_row`; `total` is V, without events, and is moved on.
    """
    predictor, odds, basis, images, squares = grid
    parts = basis.shape[1]
    cross, begin, moved = scratch[0], scratch[1], scratch[2]
    spread, begun, square = set_out(tilt, mapping, total, scratch)
    factors = (math.exp(levels[0]), math.exp(levels[1]))
    along, crossing = 0.0, 0.0
    for s in range(stretch[0], stretch[1]):
        if alive < NOBODY:
            break
        survive, happen = interval_slopes(kind, predictor[s], levels[0], odds[s], factors[0])
        rise, fall = interval_slopes(kind, truth[0][s], levels[1], truth[1][s], factors[1])
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
        both, mass, step = w * (survive + happen), weight * alive * present[s], w * survive
        push = mass * (step - both * hazard)
        first = mass * both * rise * (1.0 - hazard)
        second = mass * both * both * hazard * (1.0 - hazard)
        third = mass * rise * fall
        for j in range(parts + 1):
            drift[j] += push * loads[s, j]
        for pair in range(products.shape[1]):
            masses[0, pair] += first * products[s, pair]
            masses[1, pair] += second * products[s, pair]
            masses[2, pair] += third * products[s, pair]
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
def add_person(
    person: Array, parts: int, drift: Array, masses: Array, score: Array, sums: Array
) -> None:
    """From sums of (B, 1) to sums of z = (B, x)."""
    size = parts + len(person)
    for j in range(size):
        first, one = min(j, parts), person[j - parts] if j >= parts else 1.0
        score[j] += drift[first] * one
        for i in range(j + 1):
            second, other = min(i, parts), person[i - parts] if i >= parts else 1.0
            pair = first * (first + 1) // 2 + second
            for kind in range(masses.shape[0]):
                sums[kind, j, i] += masses[kind, pair] * one * other
