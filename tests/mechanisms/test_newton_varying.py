"""Effects that change with time: the column of second moments, and what is made of it."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import discreet as ds
from discreet.core.ask import Ask
from discreet.core.bins import Varyings
from discreet.core.cells import varyings
from discreet.design.baseline import NaturalSpline
from discreet.design.design import Design
from discreet.design.link import get_link
from discreet.design.schema import Schema
from discreet.engine.local import LocalEngine
from discreet.mechanisms import PrivateNewton
from discreet.mechanisms.contract import Facts
from discreet.mechanisms.newton.layout import Layout
from discreet.mechanisms.newton.run import Run
from discreet.mechanisms.newton.shape import Shape
from discreet.mechanisms.newton.varying import (
    LEAST,
    LEAST_NOISE,
    SEEN,
    Change,
    Pieces,
    Round,
    Varied,
    Varying,
)
from discreet.people.encode import to_episodes
from tests.mechanisms import varying_checks
from tests.mechanisms.cases import FrozenNoise, make_constants
from tests.mechanisms.test_newton_leaving import episodes

LEAN = np.array([-0.5, -0.5, 0.0, 0.5, 0.5])
HAZARDS = Varyings(LEAN, np.array([[0.1, 0.1, 0.2, 0.2, 0.4], [0.0, 0.0, 0.0, 0.5, 0.5]]))


def test_lateness_is_by_hand():
    """Early event, late event, censored, entered late, never early in another stratum."""
    rows = [(0, 2, 1), (0, 5, 1), (0, 5, 0), (3, 4, 1), (0, 4, 0)]
    found = varyings(episodes(rows, stratum=[0, 0, 0, 0, 1]), HAZARDS)
    assert found == pytest.approx([-0.5 + 0.1, 0.5 - 0.2, -0.2, 0.5 - 0.1, -0.25])


def test_splitting_rows_does_not_change_lateness():
    whole = varyings(episodes([(1, 4, 0), (0, 5, 1)]), HAZARDS)
    parts = episodes([(1, 3, 0), (3, 4, 0), (0, 2, 0), (2, 3, 0), (3, 5, 1)], [0, 2, 2, 5])
    assert varyings(parts, HAZARDS) == pytest.approx(np.repeat(whole, [2, 3]))


def test_moments_with_both_columns_move_at_most_as_claimed():
    varying_checks.check_moments_with_both_columns_move_as_claimed()


def test_lateness_is_a_persons_own():
    varying_checks.check_lateness_is_a_persons_own()


@pytest.mark.parametrize("delta", [1e-6, 0])
def test_lateness_is_paid_for(delta):
    varying_checks.check_lateness_is_paid_for(delta)


def test_pieces_have_as_many_events():
    found = Pieces.of(np.array([10.0, 10.0, 5.0, 5.0, 5.0, 5.0, 0.0, 0.0]))
    assert found.cuts.tolist() == [0, 1, 2, 4, 8]
    assert found.lean == pytest.approx([-0.75, -0.25, 0.25, 0.75])
    assert found.by_interval == pytest.approx([-0.75, -0.25, 0.25, 0.25, 0.75, 0.75, 0.75, 0.75])


@pytest.mark.parametrize("events", [np.zeros(6), np.array([9.0, 0, 0, 0, 0, 0]), np.ones(1)])
def test_few_times_of_events_leave_fewer_pieces(events):
    """Whatever was released: pieces hold every interval once."""
    found = Varied.of(events[None, :], np.full((1, len(events)), 10.0))
    pieces = found.pieces
    assert pieces.cuts[0] == 0
    assert pieces.cuts[-1] == len(events)
    assert len(pieces.by_interval) == len(events)
    assert np.all(np.abs(pieces.lean) <= 1.0)
    assert found.unit >= LEAST


@pytest.mark.parametrize(
    ("facts", "asked"),
    [
        ({"persons": 20_000}, True),
        ({"persons": 100}, False),
        ({"persons": 20_000, "time_varying": True}, False),
    ],
)
def test_lateness_is_asked_where_it_tells_something(facts, asked):
    plan = PrivateNewton(4.0, 1e-6).plan(make_constants(**facts))
    assert plan.details["varying"] is asked
    assert Layout.read(plan).varying is asked


def test_a_plan_from_before_has_no_such_column():
    plan = PrivateNewton(4.0, 1e-6).plan(make_constants(persons=20_000))
    details = {name: value for name, value in plan.details.items() if name != "varying"}
    assert not Layout.read(replace(plan, details=details)).varying


INTERVALS, PEOPLE = 40, 20_000
SCHEMA = Schema.from_mapping(
    {
        "time": {"duration": "t", "event": "e", "horizon": 40.0, "intervals": INTERVALS},
        "covariate": [
            {"name": "a", "low": -4.0, "high": 4.0},
            {"name": "b", "levels": ["no", "yes"]},
        ],
    }
)


class Seen(Run):
    """A draw that keeps what it saw last."""

    def _ending(self, picture, *rest):
        self.picture = picture
        return super()._ending(picture, *rest)


def people(theta, effects=(0.5, 0.6), seed=3):
    """Events at an even pace, a third of all: lean is about a line in time."""
    random = np.random.default_rng(seed)
    a, b = random.normal(size=PEOPLE).clip(-4, 4), random.random(PEOPLE) < 0.4
    lean = 2.0 * (np.arange(INTERVALS) + 0.5) / INTERVALS - 1.0
    x = np.column_stack([a, b])
    predictor = -4.6 + x @ effects + 0.35 * lean[:, None] + np.outer(lean, x @ theta)
    hits = random.random((PEOPLE, INTERVALS)) < 1.0 / (1.0 + np.exp(-predictor.T))
    last = np.where(hits.any(axis=1), hits.argmax(axis=1) + 0.5, INTERVALS)
    return pd.DataFrame({"a": a, "b": np.where(b, "yes", "no"), "t": last, "e": hits.any(axis=1)})


def change_of(frame):
    """The change of effects that a draw without any noise sees at its end, and the columns' spreads."""
    design, link = Design(SCHEMA, NaturalSpline(3)), get_link("logit")
    engine = LocalEngine(to_episodes(frame, SCHEMA))
    layout = Layout.read(PrivateNewton(8.0, 1e-6).plan(Facts.of(PEOPLE, design, link)))
    ask = Ask(engine, FrozenNoise(), layout.budget)
    run = Seen(ask, design, link, layout, clipped=False)
    run.draw()
    return run.picture.change, run.picture.spreads


@pytest.mark.parametrize("theta", [(0.5, 0.0), (-0.4, 0.0), (0.0, -0.8)])
def test_theta_is_found(theta):
    """Within 0.1 for a standard deviation of a covariate, and drawn toward 0 by the prior."""
    change, spreads = change_of(people(theta))
    expected = np.array(theta) * [1.0, np.sqrt(0.24)]
    assert change.theta * spreads == pytest.approx(expected, abs=0.1)
    assert np.linalg.norm(change.theta * spreads) < np.linalg.norm(expected)
    assert change.certain > 0.8


def test_constant_effects_are_found_constant():
    change, spreads = change_of(people((0.0, 0.0)))
    assert change.theta * spreads == pytest.approx(0.0, abs=1e-6)
    assert change.certain == 0.0


def test_a_column_that_is_not_seen_to_change_is_held():
    """Whatever its moment, and though it goes with one that changes; the other is free."""
    slope, gap = np.array([[0.2, 0.1], [0.1, 0.2]]), np.array([0.1, 0.01])
    one = Round.of(np.zeros(2), gap, slope, np.full(2, 1e4), np.array([0.5, 0.0]))
    assert one.after(np.zeros(2)) == pytest.approx([0.4, 0.0], abs=0.05)
    assert abs(one.move[1]) < 1e-5
    assert one.spread[1, 1] < 1e-8


@pytest.mark.parametrize(("times", "held"), [(0.9, True), (1.1, False)])
def test_a_moment_that_stands_out_is_seen(monkeypatch, times, held):
    """Next to SEEN standard deviations from what constant effects would show."""
    monkeypatch.setattr(Shape, "deltas", lambda *_: None)
    monkeypatch.setattr(Varying, "_moments", lambda *_: (np.zeros(1), np.full((1, 1), 0.2)))
    monkeypatch.setattr(Varying, "_internal", lambda _, values: values)
    cohort = Varying(Shape(None, None, None, ()), None, np.array([0]), np.ones(1), np.zeros(1), 3)
    found = cohort.change(None, np.array([times * SEEN * np.hypot(0.01, LEAST_NOISE)]), 0.01)
    assert bool(found.theta[0] < 1e-3) is held


def test_other_moments_show_another_change():
    """To first order what the fit itself would have found."""
    numbers = np.array([0.5, 0.0]), np.ones(2), np.ones(2), np.array([0.1, 0.0])
    change = Change(*numbers, 4.0 * np.eye(2))
    assert change.had(np.array([0.2, -0.1])).theta == pytest.approx([0.9, -0.4])
    assert change.had(change.released).theta == pytest.approx(change.theta)


def told(frame, seed, epsilon=4.0):
    """What a release of these people says of effects that change."""
    newton = ds.PrivateNewton(epsilon, delta=1e-6)
    release = ds.simulate(
        ds.SurvivalRegression(SCHEMA, link="logit"), frame, mechanism=newton, seed=seed
    ).model
    return [item for item in release.warnings if item.code == "varying"]


def test_an_effect_that_fades_is_told():
    """It is named with its way, and the other is not; the sentence is among the release's warnings."""
    frame = people((-0.4, 0.0))
    for seed in range(3):
        (caution,) = told(frame, seed)
        assert caution.coefficients == ("a",)
        assert "a (fades)" in caution.message


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_constant_effects_are_not_told_to_change(epsilon):
    assert [told(people((0.0, 0.0), seed=seed), seed, epsilon) for seed in range(6)] == [[]] * 6


def test_events_a_little_below_none_leave_a_unit():
    events, at_risk = np.array([[0.8, -9e-17, 1e-32, -1e-48]]), np.full((1, 4), 1.0)
    found = Varied.of(events, at_risk)
    assert np.isfinite(found.unit)
    assert np.all((found.chances >= 0.0) & (found.chances <= 1.0))


@pytest.mark.parametrize("high", [4.0, 100.0])
def test_a_fading_effect_is_found_however_wide_the_bounds_are(high):
    frame = fading_people(20_000, 3)
    schema = {
        "time": {"duration": "t", "event": "e", "horizon": 40.0, "intervals": 40},
        "covariate": [{"name": "a", "low": -4.0, "high": high}],
    }
    exact = ds.SurvivalRegression(schema, link="logit").fit(frame)
    mechanism = PrivateNewton(4.0, delta=1e-6)
    release = ds.simulate(
        ds.SurvivalRegression(schema, link="logit"), frame, mechanism=mechanism, seed=1
    )
    own, private = exact.standard_errors_.covariates["a"], release.standard_errors_.covariates["a"]
    gap = release.coefficients_.covariates["a"] - exact.coefficients_.covariates["a"]
    assert abs(gap) < 2.0 * own
    assert private < 2.0 * own
    assert any(caution.code == "varying" for caution in release.model.warnings)


def fading_people(count, seed):
    """One covariate of unit spread, whose effect of 0.5 falls by 0.8 from first to last."""
    random, lean = np.random.default_rng(seed), np.linspace(-1.0, 1.0, 40)
    a = random.normal(size=count).clip(-4.0, 4.0)
    predictor = -4.6 + 0.5 * a[:, None] + 0.35 * lean - 0.4 * np.outer(a, lean)
    hits = random.random((count, 40)) < 1.0 / (1.0 + np.exp(-predictor))
    time = np.where(hits.any(axis=1), hits.argmax(axis=1) + 0.5, 40.0)
    return pd.DataFrame({"a": a, "t": time, "e": hits.any(axis=1)})
