"""The model against the life table: expected events follow the cohort as it thins out."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest

from discreet.design.baseline import NaturalSpline
from discreet.design.design import Design
from discreet.design.link import Logit
from discreet.design.schema import Schema
from discreet.mechanisms.newton import diagnosis
from discreet.mechanisms.newton.diagnosis import Ending, expected_events, mean_hazard
from discreet.mechanisms.newton.foreseen import CohortScores, members_of
from discreet.mechanisms.newton.warnings import Counts

INTERVALS = 40


@pytest.fixture
def design():
    covariate = {"name": "x", "low": -1.0, "high": 1.0}
    time = {"duration": "t", "event": "e", "horizon": 8.0, "intervals": INTERVALS}
    return Design(Schema.from_mapping({"time": time, "covariate": [covariate]}), NaturalSpline(3))


POINT = np.array([-3.0, 0.3, 0.1, 1.5])


def members(design):
    """Two stretches; the second's counts are of those whom the first has left, as counted ones are."""
    cohort = np.random.default_rng(1).uniform(-1, 1, (50, 2, 1))
    edges = np.array([0, INTERVALS // 2, INTERVALS])
    eta = design.basis[: edges[1]] @ POINT[:3] + cohort[:, 0] * POINT[3]
    counts = 20.0 * np.column_stack([np.ones(50), np.prod(1 - 1 / (1 + np.exp(-eta)), axis=1)])
    return SimpleNamespace(cohort=cohort, counts=counts, edges=edges, remaining=None)


def followed(design, point, people):
    """The same, one member and interval at a time."""
    alive, events, at_risk = people.counts[:, 0].copy(), [], []
    for step in range(INTERVALS):
        stretch = np.searchsorted(people.edges, step, side="right") - 1
        eta = design.basis[step] @ point[:3] + people.cohort[:, stretch, 0] * point[3]
        hazard = 1 / (1 + np.exp(-eta))
        at_risk.append(alive.sum())
        events.append((alive * hazard).sum())
        alive = alive * (1 - hazard)
    return np.array(events), np.array(at_risk)


@pytest.mark.parametrize("chunk", [7, 4096])
def test_expected_events_are_those_of_the_cohort_followed_one_by_one(design, monkeypatch, chunk):
    monkeypatch.setattr(diagnosis, "CHUNK", chunk)
    people, point = members(design), POINT
    events, at_risk = followed(design, point, people)
    hazard = mean_hazard(design, Logit(), point, people)
    rows = np.array([[1.0, 3.0, 0, 0], [4.0, 20.0, 0, 0], [21.0, 40.0, 0, 0]])
    expected = expected_events(hazard, at_risk, rows)
    wanted = [events[:3].sum(), events[3:20].sum(), events[20:].sum()]
    assert expected == pytest.approx(wanted)


def test_the_correction_by_the_life_table_sees_the_same_hazards(design):
    people = members(design)
    people.present, people.stratum = np.ones(INTERVALS), None
    people.of_stratum = lambda _: people
    people.members = members_of(people)
    plain = CohortScores(design, Logit(), POINT, np.eye(4), np.inf)
    hazard = mean_hazard(design, Logit(), POINT, people)
    assert plain.rates(people, None).hazard == pytest.approx(hazard)


def ending(design, observed_factor):
    people, point = members(design), POINT
    events, at_risk = followed(design, point, people)
    early, late = events[:20].sum(), events[20:].sum()
    left = at_risk[-1] - events[-1]
    rows = np.array([[1, 20, 0.0, early * observed_factor], [21, 40, left, late]])
    size = np.eye(4)
    return Ending(
        design, Logit(), point, people, at_risk, Counts(rows, 3.0, 1000), 0.01 * size,
        0.008 * size, 4.0 * size, 0.0 * size,
    )  # fmt: skip


def test_a_run_whose_model_follows_the_life_table_has_nothing_to_say(design):
    found = ending(design, 1.0)
    assert found.cautions() == ()
    assert found.calibration()[:, 2] == pytest.approx(found.calibration()[:, 3])


def test_numbers_that_are_none_stop_no_release(design):
    whole = ending(design, 1.0)
    odd = np.full(4, np.nan)
    for broken in (
        dataclasses.replace(whole, point=odd),
        dataclasses.replace(whole, point=np.array([np.inf, -np.inf, 0.0, 1e300])),
        dataclasses.replace(whole, covariance=np.full((4, 4), np.nan)),
        dataclasses.replace(whole, covariance=np.full((4, 4), np.inf), sampling=np.zeros((4, 4))),
        dataclasses.replace(whole, counts=Counts(-whole.counts.rows * [[-1, -1, 1, 1]], 0.0, 1)),
    ):
        assert np.all(np.isfinite(broken.calibration()))
        assert all(caution.message.isprintable() for caution in broken.cautions())
    assert "unreached" in [
        item.code
        for item in dataclasses.replace(whole, covariance=np.full((4, 4), np.nan)).cautions()
    ]


def test_a_run_whose_model_leaves_the_life_table_says_when(design):
    found = ending(design, 0.5)
    assert [item.code for item in found.cautions()] == ["at-risk", "life-table"]
    assert "from time 0 to 4" in found.cautions()[1].message
