"""Sums, scores and information of effects that change, against the definition interval by interval."""

import numpy as np
import pytest

from discreet.core.information import LARGEST_FACTOR, Informations
from discreet.core.optimum import SCORE_EXPONENT, block_score
from discreet.core.people import Levels
from discreet.core.scores import (
    LARGEST,
    JointScores,
    Whitened,
    alone,
    block_information,
    block_scores,
    information_tables,
    score_tables,
)
from discreet.core.slopes import link_number, slopes
from discreet.core.walk import ball_weight
from discreet.design.link import LINKS
from discreet.engine.local import LocalEngine
from discreet.likelihood import sums
from discreet.likelihood.problem import Problem
from tests.changes import changing_design, intervals_of, random_people
from tests.likelihood.test_score_causes import _largest

each_link = pytest.mark.parametrize("link", sorted(LINKS))


@each_link
@pytest.mark.parametrize(
    ("baseline", "strata", "compiled_from"),
    [
        ("natural-spline:3", True, 0),
        ("natural-spline:3", False, np.inf),
        ("piecewise-constant:4", True, np.inf),
        ("piecewise-constant:4", False, 0),
        ("log-time:2", True, np.inf),
    ],
)
def test_the_loss_is_the_sum_over_intervals(monkeypatch, link, baseline, strata, compiled_from):
    monkeypatch.setattr(sums, "COMPILED_FROM", compiled_from)
    random = np.random.default_rng(1)
    design = changing_design(baseline, strata=strata, terms=True)
    block, one = random_people(random, design, 60), LINKS[link]
    f = random.normal(size=design.dimension) * 0.5
    found = Problem(LocalEngine(block, threads=2), design, one)(f)
    value, gradient = 0.0, np.zeros(design.dimension)
    hessian, information = np.zeros((2, design.dimension, design.dimension))
    for who in range(block.persons):
        for z, event, _ in intervals_of(design, block, who):
            eta = np.array([z @ f])
            kind = "event" if event else "survival"
            value += getattr(one, f"{kind}_loss")(eta)[0]
            gradient += getattr(one, f"{kind}_loss_derivative")(eta)[0] * z
            hessian += getattr(one, f"{kind}_loss_curvature")(eta)[0] * np.outer(z, z)
            information += one.information(eta)[0] * np.outer(z, z)
    np.testing.assert_allclose(found.value, value, rtol=1e-11)
    np.testing.assert_allclose(found.gradient, gradient, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.hessian, hessian, rtol=1e-8, atol=1e-8)
    known = Problem(LocalEngine(block, threads=1), design, one).information(f)
    np.testing.assert_allclose(known, information, rtol=1e-8, atol=1e-8)


def walked(scores, design, block, who):
    """One person's V as plainly as the page has it."""
    total = np.zeros(design.dimension)
    for z, event, _ in intervals_of(design, block, who):
        image = scores.mapping.T @ z
        a, b = slopes(link_number(scores.link.name), z @ scores.point)
        w = ball_weight(total @ image, total @ total, image @ image, a, b, scores.bound)
        total += w * (-b if event else a) * image
    return total


def at(random, design, link, bound=1.0, *, clipped=False):
    size = design.dimension
    frame = np.eye(size) + 0.2 * random.normal(size=(size, size))
    point = 0.4 * random.normal(size=size)
    return Whitened(design, LINKS[link], point, frame, bound, clipped)


@each_link
@pytest.mark.parametrize("strata", [False, True])
def test_the_walk_crosses_the_ends_of_periods(link, strata):
    random = np.random.default_rng(2)
    design = changing_design(strata=strata, terms=True)
    block = random_people(random, design, 50)
    for bound in (0.5, 2.0, 1e3):
        scores = at(random, design, link, bound)
        for who in range(block.persons):
            one = block.slice(who, who + 1)
            for tables in ((Levels(),) * design.strata, score_tables(alone(scores), 10**9)):
                found = block_scores(one, alone(scores), *tables)[0] * (bound / LARGEST)
                assert np.allclose(found, walked(scores, design, block, who), atol=3e-6 * bound)


@each_link
def test_the_walk_of_causes_crosses_the_ends_of_periods(link):
    random = np.random.default_rng(3)
    design = changing_design()
    block = random_people(random, design, 40, causes=2)
    parts = [at(random, design, link, bound) for bound in (1.0, 2.5)]
    made = JointScores(tuple(parts))
    for who in range(block.persons):
        total = np.zeros((2, design.dimension))
        for z, event, row in intervals_of(design, block, who):
            eta = np.array([z @ part.point for part in parts])
            images = [part.mapping.T @ z / part.bound for part in parts]
            rise = LINKS[link].survival_loss_derivative(eta)
            fall = -LINKS[link].event_loss_derivative(eta)
            steps = [np.array([rise[r] * images[r] for r in range(2)])]
            steps += [np.outer(np.eye(2)[k], -fall[k] * images[k]) for k in range(2)]
            w = min(_largest(total.ravel(), step.ravel()) for step in steps)
            total += w * steps[block.cause[row] if event else 0]
        one = block.slice(who, who + 1)
        for tables in (Levels(), *score_tables(made, 10**9)):
            found = block_scores(one, made, tables)[0] / LARGEST
            assert np.allclose(found, total.ravel(), atol=1e-5)


@each_link
@pytest.mark.parametrize("limit", [0.1, 1e3])
@pytest.mark.parametrize("rows", [1, 3])
def test_information_is_that_of_all_periods_together(link, limit, rows):
    random = np.random.default_rng(4)
    design = changing_design(terms=True)
    block, scores = random_people(random, design, 30, most_rows=rows), at(random, design, link)
    lower = np.tril_indices(design.dimension)
    for who in range(block.persons):
        exact = np.zeros((design.dimension,) * 2)
        for z, _, _ in intervals_of(design, block, who):
            image = scores.mapping.T @ z
            exact += scores.link.information(np.array([z @ scores.point]))[0] * np.outer(
                image, image
            )
        exact *= min(1.0, limit / np.trace(exact))
        close = 12.0 * rows * np.sqrt(limit * np.trace(exact)) / LARGEST_FACTOR
        for tables in (Informations(), *information_tables(alone(scores), 10**9)):
            one = block.slice(who, who + 1)
            (half,) = block_information(one, alone(scores), limit, tables)
            found = half * (limit / LARGEST_FACTOR**2)
            assert np.allclose(found, exact[lower], atol=close, rtol=2e-3)


def test_information_of_causes_leaves_the_interval_of_another_cause_out():
    """Also where that interval is all that a row has in its period."""
    random = np.random.default_rng(5)
    design = changing_design()
    block = random_people(random, design, 60, causes=2, most_rows=1)
    block.exit[:20], block.entry[:20], block.event[:20] = 3, 0, True
    block.cause[:20] = 1 + np.arange(20) % 2
    parts = [at(random, design, "logit") for _ in range(2)]
    lower, expected = np.tril_indices(design.dimension), []
    for number, part in enumerate(parts, start=1):
        total = np.zeros((design.dimension,) * 2)
        for who in range(block.persons):
            for z, event, row in intervals_of(design, block, who):
                if event and block.cause[row] != number:
                    continue
                image = part.mapping.T @ z
                weight = part.link.information(np.array([z @ part.point]))[0]
                total += weight * np.outer(image, image)
        expected.append(total[lower])
    limit = 1e3
    for tables in (Informations(), *information_tables(JointScores(tuple(parts)), 10**9)):
        (half,) = block_information(block, JointScores(tuple(parts)), limit, tables)
        found = half * (limit / LARGEST_FACTOR**2)
        assert np.allclose(found, np.concatenate(expected), atol=2.0, rtol=5e-3)


@each_link
def test_the_score_of_a_candidate_has_the_effects_in_force(link):
    random = np.random.default_rng(6)
    design = changing_design()
    block = random_people(random, design, 30)
    f = random.normal(size=design.dimension) * 0.3
    losses = np.zeros(block.persons)
    for who in range(block.persons):
        for z, event, _ in intervals_of(design, block, who):
            eta = np.array([z @ f])
            loss = LINKS[link].event_loss if event else LINKS[link].survival_loss
            losses[who] += loss(eta)[0]
    (found,) = block_score(block, design, LINKS[link], f, 5.0)
    expected = -np.sum(np.minimum(losses, 5.0))
    assert abs(float(found) * 2.0**SCORE_EXPONENT - expected) <= 30 * 2.0**SCORE_EXPONENT
