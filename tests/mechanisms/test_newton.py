"""Private Newton: every released sum moves at most as claimed, and the parts compose to the whole."""

import math
from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
from scipy.stats import chi2

from discreet.core.bins import UNIT, Columns, Stretches, marginals_of, time_edges
from discreet.core.cells import block_exits, block_marginals, block_moments, row_weights
from discreet.core.information import Informations
from discreet.core.people import Levels
from discreet.core.question import moments
from discreet.core.scores import (
    LARGEST,
    Whitened,
    alone,
    block_information,
    block_scores,
    information_tables,
)
from discreet.core.walk import quantise
from discreet.design.baseline import NaturalSpline
from discreet.design.design import Design
from discreet.design.link import LINKS, Logit
from discreet.design.schema import Schema
from discreet.engine.local import LocalEngine
from discreet.errors import SettingsError
from discreet.estimator import population
from discreet.likelihood.problem import Problem
from discreet.mechanisms.contract import Facts
from discreet.mechanisms.newton.layout import Layout
from discreet.mechanisms.newton.mechanism import PrivateNewton
from discreet.people.episodes import Episodes
from discreet.privacy.accountant import epsilon_of
from discreet.privacy.testing import SeededNoise
from discreet.solve import minimise
from tests.conftest import FALSE_ALARM
from tests.mechanisms import newton_checks
from tests.mechanisms.cases import (
    CasePerson,
    FrozenNoise,
    episodes_of,
    hostile_points,
    loss_of,
    make_constants,
    mixed_schema,
    random_person,
)

HOSTILE = [math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, -0.0, 1.0, -1.0, 0.5]


everybody, movement = newton_checks.changing_people, newton_checks.movement


@pytest.mark.parametrize(("kinds", "cells"), [(2, 1), (3, 2)])
def test_exit_counts_move_by_their_sensitivity(kinds, cells):
    constants = make_constants(time_varying=True)
    squared, absolute = movement(
        block_exits, everybody(constants, 1), 2, time_edges(20, 6), 1, kinds, 1
    )
    assert squared == 2 * cells
    assert absolute == 2 * cells


def test_marginal_counts_move_by_their_sensitivity():
    constants = make_constants(covariates=3)
    marginals = marginals_of(constants.design, 8)
    once = Stretches((0, 20))
    squared, absolute = movement(block_marginals, everybody(constants, 2), 3, marginals, once)
    assert squared == absolute == 2 * 3


def test_the_weights_of_rows_are_by_time_at_risk():
    """Rows of 2, 6 and 4 of twelve intervals, then nothing; another person stays throughout."""
    entry, leave = np.array([0, 2, 8, 0], np.int32), np.array([2, 8, 12, 20], np.int32)
    offsets = np.array([0, 3, 3, 4])
    block = Episodes(np.zeros((4, 1)), entry, leave, np.zeros(4, bool), offsets, 3)
    assert row_weights(block, Stretches((0, 20), 120)).tolist() == [[20, 60, 40, 120]]
    early, late = row_weights(block, Stretches((0, 10, 20), 120))
    assert early.tolist() == [24, 72, 24, 120]
    assert late.tolist() == [0, 0, 120, 120]


def test_values_that_are_no_numbers_stay_in_the_bins():
    design = Design(mixed_schema(), NaturalSpline(3))
    marginals = marginals_of(design, 8)
    random = np.random.default_rng(3)
    x = random.choice(HOSTILE, (200, 5))
    stay = np.full(200, 3, np.int32)
    block = Episodes(x, stay * 0, stay, np.zeros(200, bool), None, 200)
    (counts,) = block_marginals(block, marginals, Stretches((0, 20)))
    assert counts.sum() == 3 * 200
    assert counts.min() >= 0


def test_nobody_is_shortened_by_the_company():
    """Were squares summed in another order where a row is alone, the factor would differ."""
    limit, unit = 12 * 2**20, 2.0**29
    # the large entries are at the limit, and only some orders of summation notice the small ones
    row = np.array([*(2.0**16 * w for w in (3072, 1024, 1024, 1024)), 2.0, 2.0, 2.0, 2.0]) / unit
    place = np.zeros(8), np.full(8, UNIT / unit), limit, Stretches((0, 20))

    def halves(rows):
        stay = np.ones(len(rows), np.int32)
        block = Episodes(rows, stay * 0, stay, np.zeros(len(rows), bool), None, len(rows))
        return block_moments(block, *place)[0]

    one, other = row[None, :], np.full((1, 8), 0.25)
    for layout in (np.asfortranarray, np.ascontiguousarray):
        together = halves(layout(np.vstack([one, other])))
        assert np.array_equal(halves(layout(one)) + halves(layout(other)), together)


@pytest.mark.parametrize("width", [1, 2, 5])
def test_second_moments_move_at_most_as_claimed(width):
    random = np.random.default_rng(4)
    claimed = 2 * (128 * (7 * width * 2**20 // 10)) ** 2
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
            place = np.full(width, 0.1), np.full(width, spread)
            asked = moments(*place, Stretches((0, 20)), Columns())
            (half,) = asked.block(block, *asked.arguments)
            rows.append(half.astype(object) * asked.weights)
        distances = [int(((a - b) ** 2).sum()) for a in rows for b in rows]
        largest = max(largest, *distances)
    assert largest <= claimed
    assert largest > (0.95 if width > 1 else 0.3) * claimed


def test_second_moments_of_values_that_change_move_at_most_as_claimed():
    constants = make_constants(covariates=3, time_varying=True)
    asked = moments(np.full(3, 0.1), np.full(3, 0.2), Stretches((0, 20), 64), Columns())
    squared = newton_checks.question_movement(asked, everybody(constants, 2), 3)
    claimed = 2 * (128 * 64 * (7 * 3 * 2**20 // 10)) ** 2
    assert 0.5 * claimed < squared <= claimed


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
        largest = max(largest, movement(block_scores, people, 2, alone(scores), Levels())[0])
    assert largest <= (2 * LARGEST) ** 2
    assert largest > 0.98 * (2 * LARGEST) ** 2


@pytest.mark.parametrize("dimension", [1, 5, 2**11, 2**12])
def test_no_vector_is_too_long_for_the_integer_check(dimension):
    """The squares of 2^12 entries of size L add up to 2^64, which wraps around to 0."""
    factors = np.array([1.0, 0.9, 1.0 / math.sqrt(dimension), math.nan])
    result = np.ones((dimension, len(factors)), dtype=np.int64)
    quantise(np.tile(3.0 * factors, (dimension, 1)), 3.0, LARGEST, result)
    for person in result.T:
        assert sum(int(value) ** 2 for value in person) <= LARGEST**2


@pytest.mark.parametrize("link", sorted(LINKS))
def test_the_information_is_that_of_the_people(link):
    """Uncut, the integers add up to the expected information; tables and intervals agree."""
    loss, truth = simulated(3000, 12, link)
    exact = loss.information(truth)
    frame = np.linalg.inv(np.linalg.cholesky(exact)).T
    scores = Whitened(loss.design, loss.link, truth, frame, 1.0)
    rows, columns = np.tril_indices(len(truth))
    found = []
    for tables in (Informations(), *information_tables(alone(scores), 10**9)):
        limit = 1.0
        (half,) = loss.engine.reduce(block_information, alone(scores), limit, tables)
        matrix = np.zeros_like(exact)
        matrix[rows, columns] = matrix[columns, rows] = half * (limit / 2**26)
        found.append(matrix)
        assert np.allclose(matrix, np.eye(len(truth)), atol=0.03)
    assert np.allclose(*found, atol=2e-3)
    (cut,) = loss.engine.reduce(block_information, alone(scores), 1e-4, Informations())
    assert np.trace(found[0]) > np.sum(cut[rows == columns]) * (1e-4 / 2**26)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0, 1000.0])
@pytest.mark.parametrize("persons", [50, 20_000, 1_000_000])
def test_gaussian_parts_compose_to_the_guarantee(epsilon, persons):
    plan = PrivateNewton(epsilon, 1e-6).plan(make_constants(persons=persons))
    layout = Layout.read(plan)
    assert layout.budget.spent == 1
    noise = FrozenNoise()
    constants = make_constants(persons=persons)
    _released(plan, constants, noise)
    sizes = newton_checks.page_sensitivities(layout, 2)
    rho = sum(newton_checks.part_of(*pair) for pair in zip(noise.calls, sizes, strict=True))
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
    sizes = newton_checks.page_sensitivities(layout, 2)
    spent = sum(newton_checks.part_of(*pair) for pair in zip(noise.calls, sizes, strict=True))
    assert 0.999 < spent <= 1
    assert plan.guarantee.delta == 0
    assert plan.guarantee.rho is None


def _released(plan, constants, noise):
    """Run the draw on three people: the noise records what was asked of it."""
    random = np.random.default_rng(7)
    people = [random_person(random, constants) for _ in range(3)]
    with mock.patch.object(population, "MEMBERS", 64):  # the estimate may be a coarse one
        PrivateNewton(1.0, plan.guarantee.delta).draw(plan, loss_of(people, constants), noise)


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


@pytest.mark.parametrize("delta", [1e-6, 0])
@pytest.mark.parametrize("asked", [{}, {"strata": 2}, {"causes": 2}], ids=str)
def test_a_model_without_covariates_is_that_of_the_people(asked, delta):
    facts, random = make_constants(400, 8, 0, 1, **asked), np.random.default_rng(3)
    hits = random.random((400, 8)) < 0.2
    people = [
        CasePerson(
            np.zeros((1, 0)),
            np.array([0]),
            np.array([own.argmax() + 1 if own.any() else 8]),
            event=bool(own.any()),
        )
        for own in hits
    ]
    block = episodes_of(people, 0)
    if "strata" in asked:
        block = replace(block, stratum=(np.arange(400) % 2).astype(np.int16))
    if "causes" in asked:
        cause = np.where(block.event, np.arange(400) % 2 + 1, 0).astype(np.int8)
        block = replace(block, cause=cause)
    loss = Problem(LocalEngine(block, threads=1), facts.design, facts.link)
    mechanism = PrivateNewton(1e5, delta)
    draw = mechanism.draw(mechanism.plan(facts), loss, SeededNoise(1))
    assert np.all(np.isfinite(draw.point))
    if "strata" in asked or "causes" in asked:
        return
    fit = minimise(loss, np.zeros(facts.dimension))
    gap = draw.point - fit.point
    assert math.sqrt(gap @ fit.evaluation.hessian @ gap / len(gap)) < 0.05


def test_the_covariance_covers_the_estimates():
    """At the truth, (f - f*)' C^-1 (f - f*) is chi-square: summed over draws it is not larger."""
    distances = []
    for seed in range(16):
        loss, truth = simulated(4000, 100 + seed)
        mechanism = PrivateNewton(2.0, 1e-6)
        plan = mechanism.plan(Facts(loss.persons, loss.design, Logit()))
        draw = mechanism.draw(plan, loss, SeededNoise(seed))
        gap = draw.point - truth
        distances.append(gap @ np.linalg.solve(draw.extras["covariance"], gap))
    # the covariance is a model of the error, not the error: a factor of 1.5 is allowed for
    assert sum(distances) / 1.5 < chi2.isf(FALSE_ALARM, 16 * 8)
    assert sum(distances) * 4 > chi2.ppf(FALSE_ALARM, 16 * 8)


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


def treated_after_entry(people, seed, bounds=1.0):
    """Age and a treatment that nobody has at entry and that begins later, with an effect of 0.8."""
    random = np.random.default_rng(seed)
    schema = Schema.from_mapping(
        {
            "person": "id",
            "time": {"duration": "t", "event": "e", "horizon": 20.0, "intervals": 20},
            "covariate": [
                {"name": "age", "low": -3.0 * bounds, "high": 3.0 * bounds},
                {"name": "treated", "levels": ["no", "yes"]},
            ],
        }
    )
    design = Design(schema, NaturalSpline(3))
    age, begins = random.normal(size=people).clip(-3, 3), random.integers(1, 25, people)
    treated = np.arange(20) >= begins[:, None]
    hazard = LINKS["logit"].hazard(-3.5 + 0.5 * age[:, None] + 0.8 * treated)
    hits = random.random((people, 20)) < hazard
    leave = np.where(hits.any(1), hits.argmax(1) + 1, 20)
    rows, offsets = [], [0]
    for who in range(people):
        cut = min(begins[who], leave[who])
        rows.append((age[who], 0, 0, cut, hits[who].any() and cut == leave[who]))
        if cut < leave[who]:
            rows.append((age[who], 1, cut, leave[who], hits[who].any()))
        offsets.append(len(rows))
    table = np.array(rows, dtype=np.float64)
    x = (table[:, :2] - design.covariates.centre) * design.covariates.scale
    entry, stop = table[:, 2].astype(np.int32), table[:, 3].astype(np.int32)
    episodes = Episodes(x, entry, stop, table[:, 4] > 0, np.array(offsets), people)
    return Problem(LocalEngine(episodes), design, LINKS["logit"])


@pytest.mark.parametrize("bounds", [1.0, 30.0])
def test_a_treatment_that_begins_after_entry_is_found(bounds):
    """Were everybody taken to be as in the first row, nobody would be treated: 100 errors off."""
    loss = treated_after_entry(4000, 11, bounds)
    start = np.zeros(loss.dimension)
    start[0] = -3.5
    fit = minimise(loss, start)
    mechanism = PrivateNewton(4.0, 1e-6)
    plan = mechanism.plan(Facts(loss.persons, loss.design, loss.link))
    for seed in range(3):
        gap = mechanism.draw(plan, loss, SeededNoise(seed)).point - fit.point
        assert math.sqrt(gap @ fit.evaluation.hessian @ gap / len(gap)) < 1.5
