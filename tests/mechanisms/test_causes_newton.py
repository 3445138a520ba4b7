"""The private model of competing risks: one release, sensitivities of one event, tight witnesses."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from discreet.core.people import Levels
from discreet.core.scores import LARGEST, JointScores, Whitened, block_scores
from discreet.design.baseline import NaturalSpline
from discreet.design.design import Design
from discreet.design.link import get_link
from discreet.design.schema import Schema
from discreet.engine.federation import FederatedEngine
from discreet.mechanisms import PrivateNewton
from discreet.mechanisms.contract import Facts
from discreet.mechanisms.newton.layout import Layout
from discreet.people.encode import to_episodes
from discreet.privacy.testing import SeededNoise
from tests.mechanisms.causes_checks import cohort, facts_of, schema_of


@pytest.mark.parametrize("cause", ["alive", "C", "H", "O"])
def test_the_bound_is_attained_by_every_outcome(cause):
    """A person in one interval with a large score: the norm is L whatever the interval ends in."""
    schema = schema_of(causes=3)
    design, size = Design(schema, NaturalSpline(3)), 5
    row = {"time": [0.5], "cause": [cause], "x": [1.0], "y": [1.0]}
    block = to_episodes(pa.table(row), schema)
    low = 40.0 if cause == "alive" else -40.0
    level = np.linalg.lstsq(design.basis, np.ones(12), rcond=None)[0]
    point = np.concatenate([low * level, np.zeros(2)])
    parts = [Whitened(design, get_link("logit"), point, 1e3 * np.eye(size), 1.0) for _ in range(3)]
    (sums,) = block_scores(block, JointScores(tuple(parts)), Levels())
    assert 0.999 * LARGEST < np.linalg.norm(sums.astype(float)) <= LARGEST
    if cause != "alive":  # all of it in the block of the cause
        own = ["C", "H", "O"].index(cause)
        assert np.count_nonzero(sums.reshape(3, size).any(axis=1)) == 1
        assert sums.reshape(3, size)[own].any()


def test_every_sum_may_cross_sites():
    """Each is asked with numbers that sites compare by a digest, and is a sum of integers."""
    facts, asked = facts_of(20_000), []
    mechanism = PrivateNewton(4.0)
    plan, problem = mechanism.plan(facts), cohort(facts, 5, 200)
    alone = mechanism.draw(plan, _among(problem, facts.persons, [].append), SeededNoise(1))
    joint = mechanism.draw(plan, _among(problem, facts.persons, asked.append), SeededNoise(1))
    assert np.array_equal(alone.point, joint.point)
    assert len(asked) == 5 + len(plan.details["steps"])  # four first releases and the information


def _among(problem, persons, ask):
    return replace(problem, engine=FederatedEngine(problem.engine, persons, ask))


def test_noise_of_a_cause_is_that_of_one_event():
    """The same scales for two causes, three, and one kind of event: no factor of sqrt(R)."""
    scales = {
        PrivateNewton(1.0).plan(facts_of(2000, causes=number)).noise_scale for number in (2, 3)
    }
    one = schema_of().to_mapping()
    one["time"] = {**one["time"], "causes": None, "event_values": ["C", "H"]}
    design = Design(Schema.from_mapping(one), NaturalSpline(3))
    binary = PrivateNewton(1.0).plan(Facts(2000, design, get_link("logit")))
    assert scales == {binary.noise_scale}


def test_a_plan_says_how_many_causes_and_is_read_again():
    plan = PrivateNewton(1.0).plan(facts_of(500, causes=3))
    assert plan.details["causes"] == 3
    assert plan.dimension == 15
    assert Layout.read(plan).causes == 3


@pytest.mark.parametrize("delta", [1e-6, 0.0])
def test_a_draw_has_a_part_for_every_cause(delta):
    facts = facts_of(300, late=True)
    mechanism = PrivateNewton(2.0, delta)
    plan = mechanism.plan(facts)
    draw = mechanism.draw(plan, cohort(facts, 4), SeededNoise(1))
    bins = len(draw.extras["life_table"])
    assert len(draw.point) == plan.dimension == 10
    assert draw.extras["life_table"].shape == (
        bins,
        6,
    )  # first, last, censored, two causes, entered
    assert draw.extras["calibration"].shape == (2, bins, 5)
    covariance = draw.extras["covariance"]
    assert np.all(np.linalg.eigvalsh(covariance) > 0)
    assert np.array_equal(covariance, covariance.T) or np.allclose(covariance, covariance.T)
