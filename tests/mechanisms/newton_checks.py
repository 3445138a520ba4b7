"""What must hold of private Newton, as functions: seeded bugs must make them fail."""

import math
from fractions import Fraction

import numba
import numpy as np
from numba.core.registry import CPUDispatcher as Dispatcher

from discreet.core import covariate_sums, walk
from discreet.core.scores import LARGEST, Whitened, alone
from discreet.design.link import LINKS
from discreet.mechanisms.newton.layout import informed_step
from tests.mechanisms.cases import (
    corner_people,
    episodes_of,
    make_constants,
    random_person,
)


def some_people(constants, seed, count=40):
    random = np.random.default_rng(seed)
    return [random_person(random, constants, extreme=bool(i % 2)) for i in range(count)]


def page_sensitivities(layout, covariates):
    """(squared L2, L1) of the proof page's table, in the order of the releases; numbers only."""
    columns = covariates + (layout.strata - 1 if layout.mixed else 0)
    shares, cells = dict(layout.budget.shares), 2 * covariates
    entries, pure = 4 if layout.late_entry else 2, layout.budget.pure
    first, weight = [(entries, entries), (cells, cells), (cells, cells)], 1
    if layout.changing:  # weights of 2^10 altogether, in four stretches of time 2^9 (or 2^8) each
        part, weight = 2**8 if pure else 2**9, 64
        first[1:] = [(cells * 2**20, cells * 2**10), (cells * 4 * part**2, cells * 4 * part)]
    if not pure:  # Gaussian noise is added in 16ths of a person
        first = [(256 * squared, absolute) for squared, absolute in first]
    if shares["moments"]:
        first.append((2 * (128 * weight * (7 * columns * 2**20 // 10)) ** 2, None))
    steps = [(4 * LARGEST**2, None)] * len(layout.budget.steps)
    if informed_step(layout.budget) is not None:
        steps.insert(informed_step(layout.budget) + 1, (2 * (128 * 2**26) ** 2, None))
    return first + steps


def part_of(call, sensitivity):
    """What a noisy sum spends: rho of a Gaussian one, epsilon of the others."""
    (law, _, scale), (squared, absolute) = call, sensitivity
    if law == "gaussian":
        return Fraction(squared) / (2 * (Fraction(scale) ** 2 - 5))
    return Fraction(absolute if law == "l1" else math.isqrt(squared)) / Fraction(scale)


def changing_people(constants, seed=4, count=60):
    """Corner cases that flip in every interval, and random people of a few rows."""
    random = np.random.default_rng(seed)
    people = corner_people(constants)
    return people + [
        random_person(random, constants, time_varying=True, extreme=bool(i % 2))
        for i in range(count)
    ]


def movement(function, people, width, *arguments):
    """The largest (squared L2, L1) distance between two persons' integer contributions."""
    rows = [function(episodes_of([p], width), *arguments)[0].astype(object) for p in people]
    pairs = [(a - b) for a in rows for b in rows]
    return max(int((d * d).sum()) for d in pairs), max(int(np.abs(d).sum()) for d in pairs)


def question_movement(question, people, width):
    """The largest squared L2 distance between two persons' weighted contributions."""
    rows = [
        question.block(episodes_of([p], width), *question.arguments)[0].astype(object)
        * question.weights
        for p in people
    ]
    return max(int(((a - b) ** 2).sum()) for a in rows for b in rows)


def check_slopes_do_not_depend_on_the_company():
    """Beside a person far out other branches are taken; slopes are the same to the bit, of all links."""
    constants = make_constants(intervals=10)
    near = np.linspace(-3.0, 3.0, walk.LANES)
    for link in LINKS.values():
        scores = Whitened(constants.design, link, np.full(5, 0.3), np.eye(5), 1.0)
        grid, found = walk.interval_grid(alone(scores).point), []
        for company in (0.0, 39.5, 100.0, 300.0, -math.inf, math.nan):
            lanes = walk.lanes_room(1, 5, 10)
            lanes.position[0] = np.append(near[:-1], company)
            walk.write_slopes(grid, 0, 10, lanes)
            slopes = lanes.survive, lanes.happen
            found.append(tuple(part[..., :-1].tobytes() for part in slopes))
        assert all(one == found[0] for one in found)


def check_moments_of_what_is_not_a_number():
    """As an integer NaN is -2^63, whose square wraps around and passes a check in integers."""
    values = np.array([[np.nan, 1.0], [3.0, np.inf], [-np.inf, np.nan], [5.0, -6.0]])
    shorten = covariate_sums.shorten
    if not isinstance(shorten, Dispatcher):  # a planted bug, not compiled: Python refuses NaN
        shorten = numba.njit(shorten, error_model="numpy")
    for vector in values:
        found = np.zeros(len(vector), dtype=np.int64)
        shorten(vector, 100, found)
        assert sum(int(part) ** 2 for part in found) <= 100
