"""The verdict on a step: accepted where the law is right, rejected where its variance is half."""

import numpy as np
import pytest

from discreet.paper.agreement import judge
from discreet.paper.chains import worst_mixing

CENTRE, SPREAD = np.array([1.0, -2.0, 0.0]), np.array([1.0, 0.2, 5.0])


@pytest.fixture
def reference():
    return np.random.default_rng(3).normal(CENTRE, SPREAD, (4000, 3))


@pytest.mark.parametrize(("shrunk", "verdict"), [((), "yes"), ((1,), "no"), ((0, 1, 2), "no")])
def test_half_the_variance_of_any_coordinate_is_rejected(reference, shrunk, verdict):
    spread = SPREAD.copy()
    spread[list(shrunk)] *= np.sqrt(0.5)
    states = np.random.default_rng(4).normal(CENTRE, spread, (200, 3))
    found = judge(states, reference)
    assert found["accepted"] == verdict
    assert found["least_ratio"] == pytest.approx(0.5 if shrunk else 1.0, rel=0.25)


def test_the_right_law_is_rejected_as_seldom_as_said(reference):
    random = np.random.default_rng(6)
    samples = random.normal(CENTRE, SPREAD, (150, 200, 3))
    verdicts = [judge(states, reference)["accepted"] for states in samples]
    # 0.15 are expected; more than three have a probability below 1e-4
    assert verdicts.count("no") <= 3


def test_another_centre_is_rejected(reference):
    states = np.random.default_rng(4).normal(CENTRE + 0.5 * SPREAD, SPREAD, (200, 3))
    found = judge(states, reference)
    assert found["accepted"] == "no"
    assert found["worst_mean"] > found["limit"]


def test_a_chain_that_stands_has_not_mixed():
    random = np.random.default_rng(5)
    mixed = worst_mixing(random.normal(size=(2000, 3)))
    assert mixed["effective"] > 500
    assert mixed["r_hat"] < 1.02
    walk = random.normal(size=(2000, 3))
    walk[:, 2] = np.cumsum(walk[:, 2])
    assert worst_mixing(walk)["effective"] < 50
    assert worst_mixing(walk[:10])["effective"] == ""
