"""Scores of competing risks: all causes in one ball for every record, unbiased, the same in blocks."""

from dataclasses import replace

import numpy as np
import pytest

from discreet.core.information import Informations
from discreet.core.people import Levels
from discreet.core.scores import (
    LARGEST,
    JointScores,
    Whitened,
    block_information,
    block_scores,
    information_tables,
    score_tables,
)
from discreet.design.link import LINKS
from discreet.engine.local import LocalEngine
from discreet.likelihood.problem import block_information as plain_information
from discreet.likelihood.problem import block_loss
from tests.mechanisms.cases import (
    CasePerson,
    episodes_of,
    extreme_people,
    hostile_points,
    make_constants,
    random_person,
)

each_link = pytest.mark.parametrize("link", sorted(LINKS))


def with_causes(block, random, causes=2):
    """The same people; every event has a cause."""
    drawn = random.integers(1, causes + 1, block.rows).astype(np.int8)
    return replace(block, cause=np.where(block.event, drawn, 0).astype(np.int8))


def cohort_of(random, count, link="logit", causes=2):
    """Random people with rows that change, and the facts they are of."""
    constants = make_constants(intervals=15, link=link, time_varying=True)
    people = [random_person(random, constants, time_varying=True) for _ in range(count)]
    return constants, with_causes(episodes_of(people, 2), random, causes)


def together(constants, points, frames, bounds, *, clipped=False):
    """All causes' scores."""
    design, link = constants.design, constants.link
    triples = zip(points, frames, bounds, strict=True)
    return JointScores(tuple(Whitened(design, link, *triple, clipped) for triple in triples))


def walked(constants, block, made, who):
    """One person's V as plainly as the page has it, and the vectors of every outcome on the way."""
    link, basis, causes = constants.link, constants.design.basis, len(made.parts)
    total = [np.zeros(len(part.point)) for part in made.parts]
    first, last = block.offsets[who], block.offsets[who + 1]
    for row in range(first, last):
        for s in range(block.entry[row], block.exit[row]):
            z = np.concatenate([basis[s], block.covariates[row]])
            images = [part.mapping.T @ z / part.bound for part in made.parts]
            eta = np.array([z @ part.point for part in made.parts])
            rise, fall = link.survival_loss_derivative(eta), -link.event_loss_derivative(eta)
            steps = [[rise[r] * images[r] for r in range(causes)]]
            steps += [
                [-fall[k] * images[k] * (r == k) for r in range(causes)] for k in range(causes)
            ]
            w = min(_largest(np.concatenate(total), np.concatenate(step)) for step in steps)
            outcome = block.cause[row] if s == block.exit[row] - 1 else 0
            total = [part + w * step for part, step in zip(total, steps[outcome], strict=True)]
    return np.concatenate(total)


def _largest(start, step):
    """The largest w in [0, 1] with |start + w step| <= 1, by bisection."""
    if np.linalg.norm(start + step) <= 1:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if np.linalg.norm(start + middle * step) <= 1 else (low, middle)
    return low


@each_link
@pytest.mark.parametrize("causes", [2, 3])
def test_the_walk_follows_the_page(link, causes):
    random = np.random.default_rng(1)
    constants, block = cohort_of(random, 40, link, causes)
    points = random.normal(size=(causes, 5)) * 0.5 - [2, 0, 0, 0, 0]
    frames = random.normal(size=(causes, 5, 5))
    made = together(constants, points, frames, random.uniform(1, 4, causes))
    for who in range(40):
        alone = block.slice(who, who + 1)
        expected = np.trunc(walked(constants, block, made, who) * LARGEST)
        found = block_scores(alone, made, Levels())[0]
        assert np.max(np.abs(found - expected)) <= 1e-6 * LARGEST


@each_link
@pytest.mark.parametrize("clipped", [False, True])
def test_no_record_leaves_the_ball_whatever_the_points(link, clipped):
    random = np.random.default_rng(3)
    constants = make_constants(intervals=12, link=link, time_varying=True)
    people = extreme_people(random, constants, 10)
    block = with_causes(episodes_of(people, 2), random)
    hostile = hostile_points(random, constants, 10)
    largest = 0
    for one, other in zip(hostile, reversed(hostile), strict=True):
        frames = random.normal(size=(2, 5, 5)) * 10.0 ** random.uniform(-4, 4, (2, 1, 1))
        bounds = 10.0 ** random.uniform(-4, 4, 2)
        made = together(constants, (one, other), frames, bounds, clipped=clipped)
        (tables,) = score_tables(made, 10**9)
        for who in range(len(people)):
            for table in (Levels(), tables):
                values = block_scores(block.slice(who, who + 1), made, table)[0].tolist()
                largest = max(largest, sum(v * v for v in values))
    assert largest <= LARGEST**2
    assert largest > 0.99 * LARGEST**2


@each_link
def test_sums_do_not_depend_on_blocks_and_hardly_on_tables(link):
    random = np.random.default_rng(4)
    constants, block = cohort_of(random, 300, link)
    points = np.array([[-2.5, 0.3, 0.2, 1.0, -0.7], [-3.0, -0.2, 0.1, 0.4, 0.9]])
    for bound in (1.0, 6.0, 1000.0):
        made = together(constants, points, np.stack([np.eye(5)] * 2), (bound, 2 * bound))
        (tables,) = score_tables(made, 10**6)
        assert tables.sums.size
        sums = [
            LocalEngine(block, threads=threads).reduce(block_scores, made, tables)[0]
            for threads in (1, 3)
        ]
        assert np.array_equal(sums[0], sums[1])
        slow = block_scores(block, made, Levels())[0]
        assert np.max(np.abs(sums[0] - slow)) <= 300 * (1 + 1e-6 * LARGEST / bound)


@each_link
def test_without_a_bound_each_block_is_the_gradient_of_its_cause(link):
    random = np.random.default_rng(5)
    constants, block = cohort_of(random, 60, link)
    points = np.array([[-1.0, 0.2, 0.1, 0.5, -0.4], [-1.5, 0.1, 0.3, -0.5, 0.2]])
    made = together(constants, points, np.stack([np.eye(5)] * 2), (1e3, 1e3))
    sums = block_scores(block, made, Levels())[0].reshape(2, 5) * (1e3 / LARGEST)
    for number, point in enumerate(points):
        own = block.of_cause(number + 1)
        _, gradient, _ = block_loss(own, constants.design, constants.link, point)
        assert np.allclose(sums[number], gradient, atol=1e-2)


@each_link
def test_the_information_of_each_cause_is_that_of_its_table(link):
    random = np.random.default_rng(7)
    constants, block = cohort_of(random, 200, link)
    points = np.array([[-1.0, 0.2, 0.1, 0.5, -0.4], [-1.5, 0.1, 0.3, -0.5, 0.2]])
    made = together(constants, points, np.stack([np.eye(5) / 30] * 2), (1.0, 1.0))
    rows, columns = np.tril_indices(5)
    for tables in (Informations(), *information_tables(made, 10**9)):
        (halves,) = block_information(block, made, 1.0, tables)
        for number, half in enumerate(halves.reshape(2, -1)):
            matrix = np.zeros((5, 5))
            matrix[rows, columns] = matrix[columns, rows] = half * 900.0 / 2**26
            own = block.of_cause(number + 1)
            (exact,) = plain_information(own, constants.design, constants.link, points[number])
            assert np.allclose(matrix, exact, atol=2e-2 * np.abs(exact).max())


def simulated_block(constants, points, count, random):
    """People of the model itself, nobody censored before the end."""
    basis, link = constants.design.basis, constants.link
    x = random.uniform(-0.7, 0.7, (count, 2))
    leave, cause = np.full(count, len(basis)), np.zeros(count, dtype=np.int8)
    alive = np.ones(count, dtype=bool)
    for s, row in enumerate(basis):
        eta = [x @ f[-2:] + row @ f[:-2] for f in points]
        odds = np.array([link.hazard(e) / (1 - link.hazard(e)) for e in eta])
        chance = odds / (1 + odds.sum(axis=0))
        draw, edges = random.random(count), np.cumsum(chance, axis=0)
        outcome = np.where(draw < edges[0], 1, np.where(draw < edges[1], 2, 0))
        ended = alive & (outcome > 0)
        leave[ended], cause[ended] = s + 1, outcome[ended]
        alive &= outcome == 0
    return x, leave, cause


@each_link
def test_scores_add_up_to_nothing_at_the_truth(link):
    """Each block is a martingale: the mean over many people is zero but for chance."""
    random = np.random.default_rng(8)
    constants = make_constants(intervals=12, link=link)
    points = np.array([[-1.8, 0.3, 0.1, 1.0, -0.5], [-2.2, -0.2, 0.1, 0.3, 0.8]])
    x, leave, cause = simulated_block(constants, points, 8_000, random)
    order = np.argsort(leave, kind="stable")
    people = [_person(x[i], leave[i], cause[i] > 0) for i in order]
    block = replace(episodes_of(people, 2), cause=cause[order])
    made = together(constants, points, np.stack([np.eye(5)] * 2), (1.5, 1.5))
    scores = np.array(
        [block_scores(block.slice(i, i + 1), made, Levels())[0] / LARGEST for i in range(2000)]
    )
    tight = np.mean(np.linalg.norm(scores, axis=1) > 0.98)
    assert tight > 0.05  # the ball is touched
    sums = block_scores(block, made, Levels())[0] / LARGEST
    deviation = np.sqrt(8_000 * np.mean(scores**2, axis=0))
    assert np.all(np.abs(sums) < 5 * deviation)


def _person(x, leave, event):
    return CasePerson(x[None], np.array([0]), np.array([leave]), bool(event))
