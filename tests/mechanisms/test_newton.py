"""Private Newton: every released sum moves at most as claimed, and the parts compose to the whole."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2

from discreet.design.baseline import NaturalSpline
from discreet.design.design import Design
from discreet.design.link import LINKS, Logit
from discreet.engine.local import LocalEngine
from discreet.errors import SettingsError
from discreet.likelihood.problem import Problem
from discreet.likelihood.score import LARGEST, Levels, Whitened
from discreet.likelihood.score_walk import quantise
from discreet.mechanisms.contract import Facts
from discreet.mechanisms.newton.counts import (
    ENTRIES_TOO,
    EXITS_ONLY,
    block_exits,
    block_marginals,
    block_moments,
    marginals_of,
    time_edges,
)
from discreet.mechanisms.newton.mechanism import (
    Layout,
    PrivateNewton,
    _moment_limit,
    _moment_sensitivity,
)
from discreet.people.episodes import Episodes
from discreet.privacy.accountant import epsilon_of
from discreet.privacy.testing import SeededNoise
from discreet.solve import minimise
from tests.conftest import FALSE_ALARM
from tests.mechanisms import newton_checks
from tests.mechanisms.cases import (
    FrozenNoise,
    corner_people,
    episodes_of,
    hostile_points,
    loss_of,
    make_constants,
    mixed_schema,
    random_person,
)

HOSTILE = [math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, -0.0, 1.0, -1.0, 0.5]


def everybody(constants, seed, count=60):
    """Corner cases and random people, half of them extreme."""
    random = np.random.default_rng(seed)
    people = corner_people(constants)
    people += [
        random_person(random, constants, time_varying=True, extreme=bool(i % 2))
        for i in range(count)
    ]
    return people


def movement(function, people, width, *arguments):
    """The largest (squared L2, L1) distance between two persons' integer contributions."""
    rows = [function(episodes_of([p], width), *arguments)[0].astype(object) for p in people]
    pairs = [(a - b) for a in rows for b in rows]
    return max(int((d * d).sum()) for d in pairs), max(int(np.abs(d).sum()) for d in pairs)


@pytest.mark.parametrize(("kinds", "cells"), [(EXITS_ONLY, 1), (ENTRIES_TOO, 2)])
def test_exit_counts_move_by_their_sensitivity(kinds, cells):
    constants = make_constants(time_varying=True)
    squared, absolute = movement(block_exits, everybody(constants, 1), 2, time_edges(20, 6), kinds)
    assert squared == 2 * cells
    assert absolute == 2 * cells


def test_marginal_counts_move_by_their_sensitivity():
    constants = make_constants(covariates=3, time_varying=True)
    marginals = marginals_of(constants.design, 8)
    scale = np.full(3, 1 / math.sqrt(3))
    squared, absolute = movement(block_marginals, everybody(constants, 2), 3, marginals, scale)
    assert squared == absolute == 2 * 3


def test_values_that_are_no_numbers_stay_in_the_bins():
    design = Design(mixed_schema(), NaturalSpline(3))
    marginals = marginals_of(design, 8)
    random = np.random.default_rng(3)
    x = random.choice(HOSTILE, (200, 5))
    stay = np.full(200, 3, np.int32)
    block = Episodes(x, stay * 0, stay, np.zeros(200, bool), None, 200)
    (counts,) = block_marginals(block, marginals, np.full(5, 0.5))
    assert counts.sum() == 3 * 200
    assert counts.min() >= 0


@pytest.mark.parametrize("width", [1, 2, 5])
def test_second_moments_move_at_most_as_claimed(width):
    random = np.random.default_rng(4)
    limit, claimed = _moment_limit(width), _moment_sensitivity(width)
    people = np.vstack(
        [
            random.choice(HOSTILE, (60, width)),
            random.normal(size=(60, width)) * 10.0 ** random.uniform(-3, 3, (60, 1)),
            np.eye(width),
            -np.eye(width),
        ]
    )
    stay = np.ones(1, np.int32)
    largest = 0
    for spread in (1e-6, 0.01, 1.0):
        rows = []
        for x in people:
            block = Episodes(x[None], stay * 0, stay, np.zeros(1, bool), None, 1)
            (half,) = block_moments(block, np.full(width, 0.1), np.full(width, spread), limit)
            rows.append(half.astype(object))
        distances = [int(((a - b) ** 2).sum()) for a in rows for b in rows]
        largest = max(largest, *distances)
    assert largest <= claimed
    assert largest > (0.95 if width > 1 else 0.3) * claimed


@pytest.mark.parametrize("link", sorted(LINKS))
@pytest.mark.parametrize("clipped", [False, True])
def test_score_sums_move_at_most_by_twice_the_bound(link, clipped):
    constants = make_constants(intervals=10, link=link, time_varying=True)
    random = np.random.default_rng(5)
    people = everybody(constants, 6, 30)
    largest = 0
    for point in hostile_points(random, constants, 12):
        mapping = random.normal(size=(5, 5)) * 10.0 ** random.uniform(-3, 3)
        scores = Whitened(constants.design, LINKS[link], point, mapping, 1.0, clipped)
        largest = max(largest, movement(scores.sums, people, 2, Levels())[0])
    assert largest <= (2 * LARGEST) ** 2
    assert largest > 0.98 * (2 * LARGEST) ** 2


@pytest.mark.parametrize("dimension", [1, 5, 2**11, 2**12])
def test_no_vector_is_too_long_for_the_integer_check(dimension):
    """The squares of 2^12 entries of size L add up to 2^64, which wraps around to 0."""
    result = np.ones(dimension, dtype=np.int64)
    for factor in (1.0, 0.9, 1.0 / math.sqrt(dimension), math.nan):
        quantise(np.full(dimension, 3.0 * factor), 3.0, LARGEST, result)
        assert sum(int(value) ** 2 for value in result) <= LARGEST**2


def test_moments_that_could_leave_the_integers_are_not_released():
    newton_checks.check_moments_stay_within_the_integers()


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0, 1000.0])
@pytest.mark.parametrize("persons", [50, 20_000, 1_000_000])
def test_gaussian_parts_compose_to_the_guarantee(epsilon, persons):
    plan = PrivateNewton(epsilon, 1e-6).plan(make_constants(persons=persons))
    layout = Layout.read(plan)
    assert layout.budget.spent == 1
    noise = FrozenNoise()
    constants = make_constants(persons=persons)
    _released(plan, constants, noise)
    rho = Fraction(0)
    for (_, size, scale), squared in zip(noise.calls, _squares(layout, 2), strict=True):
        assert size > 0
        rho += Fraction(squared) / (2 * Fraction(scale) ** 2)
    assert rho <= layout.budget.total
    assert rho > 0.999 * layout.budget.total
    assert epsilon_of(float(layout.budget.total), 1e-6) <= epsilon
    assert plan.guarantee.rho == float(layout.budget.total)


@pytest.mark.parametrize("persons", [50, 20_000])
def test_pure_parts_compose_to_epsilon(persons):
    plan = PrivateNewton(1.0, 0).plan(make_constants(persons=persons))
    layout = Layout.read(plan)
    noise = FrozenNoise()
    _released(plan, make_constants(persons=persons), noise)
    spent = Fraction(0)
    for (law, _, scale), squared in zip(noise.calls, _squares(layout, 2), strict=True):
        # a person changes 2 m counts by 1: L1 sensitivity and squared L2 sensitivity agree
        distance = squared if law == "l1" else Fraction(math.isqrt(squared))
        spent += Fraction(distance) / Fraction(scale)
    assert 0.999 < spent <= 1
    assert plan.guarantee.delta == 0
    assert plan.guarantee.rho is None


@pytest.mark.parametrize("delta", [1e-6, 0])
def test_late_entries_are_paid_for(delta):
    newton_checks.check_late_entries_are_paid_for(delta)


def test_what_is_released_is_a_function_of_the_noisy_sums():
    newton_checks.check_nothing_but_noisy_sums_is_used()
    newton_checks.check_sums_are_asked_with_released_numbers()


def _released(plan, constants, noise):
    """Run the draw on three people: the noise records what was asked of it."""
    random = np.random.default_rng(7)
    people = [random_person(random, constants) for _ in range(3)]
    PrivateNewton(1.0, plan.guarantee.delta).draw(plan, loss_of(people, constants), noise)


def _squares(layout, covariates):
    """The squared L2 sensitivities of the proof page, in the order of the releases."""
    shares = dict(layout.budget.shares)
    first = [2, 2 * covariates]
    if shares["moments"]:
        first.append(2 * (128 * (3 * covariates * 2**20 // 2)) ** 2)
    return first + [4 * LARGEST**2] * len(layout.budget.steps)


def test_the_default_delta_is_stated_and_shrinks_with_n():
    few = PrivateNewton(1.0).plan(make_constants(persons=1000)).guarantee
    many = PrivateNewton(1.0).plan(make_constants(persons=10**6)).guarantee
    assert few.delta == 1e-6
    assert many.delta == pytest.approx(1e-7)


def test_an_unknown_score_is_refused():
    with pytest.raises(SettingsError, match="score"):
        PrivateNewton(1.0, score="magic")


def simulated(people, seed, link="logit", scale=1.0):
    """People drawn from the model, with the truth."""
    random = np.random.default_rng(seed)
    design = Design(mixed_schema(), NaturalSpline(3))
    arm, sex = random.integers(0, 4, people), random.integers(0, 2, people)
    raw = np.column_stack([random.uniform(0, 100, people), np.eye(4)[arm][:, 1:], sex])
    x = (raw - design.covariates.centre) * design.covariates.scale
    level = {"logit": -3.0, "cloglog": -3.0, "probit": -1.7}[link]
    truth = scale * np.array([level, 0.2, 0.1, 0.8, 0.4, -0.4, 0.2, -0.6])
    hazard = LINKS[link].hazard(design.basis @ truth[:3] + (x @ truth[3:])[:, None])
    hits = random.random((people, 20)) < hazard
    first = np.where(hits.any(1), hits.argmax(1) + 1, 21)
    censored = random.integers(1, 21, people)
    order = np.argsort(np.minimum(first, censored), kind="stable")
    leave = np.minimum(first, censored)[order].astype(np.int32)
    event = (first <= censored)[order]
    episodes = Episodes(np.ascontiguousarray(x[order]), leave * 0, leave, event, None, people)
    return Problem(LocalEngine(episodes), design, LINKS[link]), truth


@pytest.mark.parametrize("link", sorted(LINKS))
@pytest.mark.parametrize("delta", [1e-6, 0])
def test_a_huge_epsilon_recovers_the_fit(link, delta):
    loss, truth = simulated(3000, 8, link)
    fit = minimise(loss, truth)
    mechanism = PrivateNewton(1e6, delta)
    plan = mechanism.plan(Facts(loss.persons, loss.design, loss.link))
    gap = mechanism.draw(plan, loss, SeededNoise(1)).point - fit.point
    assert math.sqrt(gap @ fit.evaluation.hessian @ gap / len(gap)) < 0.05


def test_the_covariance_covers_the_estimates():
    """At the truth, (f - f*)' C^-1 (f - f*) is chi-square: summed over draws it is not larger."""
    distances = []
    for seed in range(30):
        loss, truth = simulated(4000, 100 + seed)
        mechanism = PrivateNewton(2.0, 1e-6)
        plan = mechanism.plan(Facts(loss.persons, loss.design, Logit()))
        draw = mechanism.draw(plan, loss, SeededNoise(seed))
        gap = draw.point - truth
        distances.append(gap @ np.linalg.solve(draw.extras["covariance"], gap))
    # the covariance is a model of the error, not the error: a factor of 1.5 is allowed for
    assert sum(distances) / 1.5 < chi2.isf(FALSE_ALARM, 30 * 8)
    assert sum(distances) * 4 > chi2.ppf(FALSE_ALARM, 30 * 8)


def test_blocks_do_not_change_a_draw():
    loss, _ = simulated(2000, 9)
    mechanism = PrivateNewton(1.0, 0)
    plan = mechanism.plan(Facts(loss.persons, loss.design, loss.link))
    points = [
        mechanism.draw(
            plan, replace(loss, engine=LocalEngine(loss.engine.episodes, threads)), SeededNoise(3)
        ).point
        for threads in (1, 3)
    ]
    assert np.array_equal(points[0], points[1])


def test_the_released_life_table_is_the_noisy_count():
    loss, _ = simulated(2000, 10)
    mechanism = PrivateNewton(1e6, 1e-6)
    plan = mechanism.plan(Facts(loss.persons, loss.design, loss.link))
    table = mechanism.draw(plan, loss, SeededNoise(4)).extras["life_table"]
    assert table[:, 3].sum() == pytest.approx(loss.totals()[0], abs=1)
    assert table[:, 2:].sum() == pytest.approx(2000, abs=1)
