"""Bounded scores: inside the ball for every record, unbiased at the truth, the same in any blocks."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from discreet.core.people import Levels
from discreet.core.scores import LARGEST, Whitened, alone, block_scores, score_tables
from discreet.core.slopes import link_number, slopes
from discreet.core.walk import ball_weight, quantise
from discreet.design.baseline import NaturalSpline, PiecewiseConstant
from discreet.design.link import LINKS
from discreet.engine.local import LocalEngine
from discreet.people.episodes import Episodes
from tests.conftest import FALSE_ALARM
from tests.mechanisms.cases import (
    episodes_of,
    extreme_people,
    hostile_points,
    make_constants,
    random_person,
)
from tests.support import make_design, make_episodes


def sums_of(block, scores, *tables):
    """The integers of one cause."""
    return block_scores(block, alone(scores), *tables)[0]


each_link = pytest.mark.parametrize("link", sorted(LINKS))


@each_link
def test_slopes_are_those_of_the_link(link):
    eta = np.linspace(-30, 3.4, 400)
    kind = link_number(link)
    computed = np.array([slopes(kind, value) for value in eta])
    assert np.allclose(computed[:, 0], LINKS[link].survival_loss_derivative(eta), rtol=1e-11)
    assert np.allclose(computed[:, 1], -LINKS[link].event_loss_derivative(eta), rtol=1e-11)


def test_the_weight_is_the_largest_feasible_one():
    random = np.random.default_rng(1)
    touched = 0
    for _ in range(3000):
        z, start = random.normal(size=(2, 4)) * 10.0 ** random.uniform(-2, 2, (2, 1))
        bound = np.linalg.norm(start) * (1 + 10.0 ** random.uniform(-6, 1))
        survive, event = 10.0 ** random.uniform(-6, 3, 2)
        w = ball_weight(start @ z, start @ start, z @ z, survive, event, bound)
        ends = [np.linalg.norm(start + survive * w * z), np.linalg.norm(start - event * w * z)]
        assert 0 <= w <= 1
        assert max(ends) <= bound * (1 + 1e-9)
        if w < 1:
            touched += 1
            assert math.isclose(max(ends), bound, rel_tol=1e-7)
    assert touched > 500


@each_link
@pytest.mark.parametrize("clipped", [False, True])
def test_no_record_leaves_the_ball_whatever_the_point(link, clipped):
    random = np.random.default_rng(2)
    constants = make_constants(intervals=12, link=link, time_varying=True)
    people = extreme_people(random, constants, 40)
    blocks = [episodes_of([person], 2) for person in people]
    largest = 0
    for point in hostile_points(random, constants, 25):
        mapping = random.normal(size=(constants.dimension,) * 2) * 10.0 ** random.uniform(-4, 4)
        bound = 10.0 ** random.uniform(-4, 4)
        scores = Whitened(constants.design, LINKS[link], point, mapping, bound, clipped)
        (levels,) = score_tables(alone(scores), 10**9)
        for person in blocks:
            for table in (Levels(), levels):
                values = [int(v) for v in sums_of(person, scores, table)]
                largest = max(largest, sum(v * v for v in values))
    assert largest <= LARGEST**2
    assert largest > 0.99 * LARGEST**2  # the bound is attained, so the check has teeth


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e308, 1.0 + 1e-12, 2.0])
def test_quantising_never_believes_a_norm(value):
    """Whatever is in one column, and whoever is in the next."""
    people = np.array([[value, value, 0.1], [1.0, 0.0, 0.2], [-1.0, 0.0, -0.3]])
    result = np.full((3, 3), 7, dtype=np.int64)
    quantise(people, 1.0, LARGEST, result)
    for person in result.T:
        assert sum(int(v) ** 2 for v in person) <= LARGEST**2
    assert result[:, 2].tolist() == [int(v * LARGEST) for v in people[:, 2]]


def test_quantising_truncates_toward_zero():
    result = np.zeros((2, 1), dtype=np.int64)
    quantise(np.array([[0.3], [-0.3]]), 1.0, LARGEST, result)
    assert result.ravel().tolist() == [int(0.3 * LARGEST), -int(0.3 * LARGEST)]


@each_link
@pytest.mark.parametrize("late", [0.0, 0.5])
def test_sums_do_not_depend_on_blocks_and_hardly_on_tables(link, late):
    random = np.random.default_rng(4)
    episodes = make_episodes(random, 900, 30, 3, late=late)
    design = make_design(30, 3, NaturalSpline(3))
    point = np.array([-2.5, 0.3, 0.2, 1.0, -0.7, 0.3])
    for bound in (0.5, 4.0, 1000.0):
        scores = Whitened(design, LINKS[link], point, np.eye(6), bound)
        (levels,) = score_tables(alone(scores), 10**6)
        assert levels.sums.size
        sums = [
            LocalEngine(episodes, threads=threads).reduce(block_scores, alone(scores), levels)[0]
            for threads in (1, 2, 7)
        ]
        assert np.array_equal(sums[0], sums[1])
        assert np.array_equal(sums[0], sums[2])
        walked = sums_of(episodes, scores, Levels())
        assert np.max(np.abs(sums[0] - walked)) <= 900 * (1 + 1e-6 * LARGEST / bound)


@each_link
@pytest.mark.parametrize("clipped", [False, True])
def test_who_walks_beside_whom_changes_nothing(link, clipped):
    """All people at once, in another order, and each alone: the same integers, far out as well."""
    random = np.random.default_rng(6)
    constants = make_constants(intervals=12, link=link, time_varying=True)
    people = extreme_people(random, constants, 40)
    shuffled = [people[place] for place in random.permutation(len(people))]
    for point in hostile_points(random, constants, 15):
        mapping = random.normal(size=(constants.dimension,) * 2)
        bound = 10.0 ** random.uniform(-1, 2)
        scores = Whitened(constants.design, LINKS[link], point, mapping, bound, clipped)
        for table in (Levels(), *score_tables(alone(scores), 10**9)):
            each = sum(sums_of(episodes_of([person], 2), scores, table) for person in people)
            for order in (people, shuffled):
                assert np.array_equal(sums_of(episodes_of(order, 2), scores, table), each)


@each_link
def test_without_a_bound_the_score_is_the_gradient(link):
    random = np.random.default_rng(5)
    constants = make_constants(intervals=15, link=link, time_varying=True)
    people = [random_person(random, constants, time_varying=True) for _ in range(30)]
    point = np.array([-1.0, 0.2, 0.1, 0.5, -0.4])
    scores = Whitened(constants.design, LINKS[link], point, np.eye(5), 1e3)
    for table in (Levels(), *score_tables(alone(scores), 10**9)):
        total = sums_of(episodes_of(people, 2), scores, table) * (1e3 / LARGEST)
        gradient = sum(person.derivatives(constants, point)[0] for person in people)
        assert np.allclose(total, gradient, atol=30 * 2e3 / LARGEST, rtol=1e-6)


@each_link
def test_the_ball_score_has_expectation_zero_at_the_truth(link):
    random = np.random.default_rng(6)
    design = make_design(10, 1, PiecewiseConstant(2))
    people = 100_000
    x = random.integers(-10, 11, (people, 1)) / 10.0  # so that few different people stand for all
    point = np.array([-1.6, 0.4, 1.2])
    hazard = LINKS[link].hazard(design.basis @ point[:2] + x * point[2])
    hits = random.random((people, 10)) < hazard
    first = np.where(hits.any(1), hits.argmax(1) + 1, 11)
    censored = random.integers(1, 11, people)
    rows = np.column_stack([x[:, 0], np.minimum(first, censored), first <= censored])
    different, count = np.unique(rows, axis=0, return_counts=True)
    ball, share = each_score(Whitened(design, LINKS[link], point, np.eye(3), 1.1), different, count)
    limit = norm.isf(FALSE_ALARM / 6)
    assert np.all(np.abs(ball) < limit)
    assert share > 0.02  # the ball was at work
    clipping = Whitened(design, LINKS[link], point, np.eye(3), 1.1, clipped=True)
    biased, _ = each_score(clipping, different, count)
    assert np.max(np.abs(biased)) > limit  # clipping is biased here, so the test can see a bias


def one_by_one(scores, different):
    """The integers of each person: a covariate, the last interval, whether with an event."""
    rows = len(different)
    episodes = Episodes(
        np.ascontiguousarray(different[:, :1]),
        np.zeros(rows, np.int32),
        different[:, 1].astype(np.int32),
        different[:, 2] > 0,
        np.arange(rows + 1),
        rows,
    )
    return np.array([sums_of(episodes.slice(i, i + 1), scores, Levels()) for i in range(rows)])


def each_score(scores, different, count):
    """The mean score over its standard error, and the share of people at the ball's surface."""
    values = one_by_one(scores, different) / LARGEST
    mean = np.average(values, axis=0, weights=count)
    variance = np.average((values - mean) ** 2, axis=0, weights=count)
    surface = np.average(np.linalg.norm(values, axis=1) > 0.999, weights=count)
    return mean / np.sqrt(variance / count.sum()), surface


def walked(scores, person, constants):
    """The definition: V in all d coordinates, one interval after the other."""
    basis, total = constants.design.basis, np.zeros(constants.dimension)
    time = basis.shape[1]
    for x, entry, leave, event in person:
        for interval in range(entry, leave):
            z = np.concatenate([basis[interval], x])
            eta = basis[interval] @ scores.point[:time] + x @ scores.point[time:]
            a, b = slopes(link_number(scores.link.name), eta)
            image = scores.mapping.T @ z
            w = ball_weight(total @ image, total @ total, image @ image, a, b, scores.bound)
            total += w * (-b if event and interval == leave - 1 else a) * image
    return total


@each_link
def test_the_walk_in_few_coordinates_is_the_walk(link):
    random = np.random.default_rng(8)
    constants = make_constants(intervals=12, link=link, time_varying=True)
    point = np.array([-1.2, 0.4, -0.3, 0.9, -0.6])
    for bound in (0.3, 1.0, 3.0):
        mapping = random.normal(size=(5, 5))
        scores = Whitened(constants.design, LINKS[link], point, mapping, bound)
        for _ in range(20):
            person = random_person(random, constants, time_varying=True)
            block = episodes_of([person], 2)
            rows = list(zip(block.covariates, block.entry, block.exit, block.event, strict=True))
            found = sums_of(block, scores, Levels()) * (bound / LARGEST)
            # at the surface the norm is checked in integers, and may be cut by one part in a million
            assert np.allclose(found, walked(scores, rows, constants), atol=3e-6 * bound)
