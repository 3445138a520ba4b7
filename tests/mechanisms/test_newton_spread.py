"""The covariance of private Newton: by what slope an estimate moves, and what is stated of it."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from discreet import Schema, SurvivalRegression, simulate
from discreet.design.link import LINKS
from discreet.mechanisms import PrivateNewton
from discreet.mechanisms.newton import bound, run, spread
from discreet.mechanisms.newton.bound import (
    CALM,
    CHANGED,
    HEAVY,
    LAMBDA,
    LIGHT,
    MUCH,
    _steepness,
    squared_noise,
)
from discreet.mechanisms.newton.shape import Residual
from discreet.mechanisms.newton.steps import Prior, Step, lifted

SCHEMA = {
    "time": {"duration": "t", "event": "e", "horizon": 40.0, "intervals": 40},
    "covariate": [
        {"name": "x", "low": -3.0, "high": 3.0},
        {"name": "g", "levels": ["a", "b"]},
    ],
}


def jagged(people, seed):
    """Most events in a short time: no spline of three knots follows such a hazard."""
    random = np.random.default_rng(seed)
    x, g = random.normal(size=people), random.choice(["a", "b"], people)
    effect = np.exp(0.6 * x + 0.5 * (g == "b"))
    hazard = np.full(40, 0.01)
    hazard[8:12] = 0.12
    alive, time = np.ones(people, bool), np.full(people, 40.0)
    for s in range(40):
        leaves = alive & (random.random(people) < 1.0 - (1.0 - hazard[s]) ** effect)
        time[leaves], alive = s + 0.5, alive & ~leaves
    return pd.DataFrame({"t": time, "e": (~alive).astype(int), "x": x, "g": g})


@pytest.fixture(scope="module")
def ended():
    """What is known at the end of a run on people whom the model does not fit."""
    kept = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            run, "spread_of", lambda *given: kept.append(given) or spread.spread_of(*given)
        )
        model = SurvivalRegression(
            Schema.from_mapping(SCHEMA), baseline="natural-spline:3", link="logit"
        )
        mechanism = PrivateNewton(epsilon=8.0, delta=1e-6)
        simulate(model, jagged(6000, 3), mechanism=mechanism, seed=4)
    return kept[0]


def slope_by_differences(answer, picture, estimate):
    """How the score that an estimate should meet changes with it; a score here is minus S(f)."""
    moves = 1e-3 * np.eye(len(estimate))
    columns = [
        answer.around(picture, estimate - move).score
        - answer.around(picture, estimate + move).score
        for move in moves
    ]
    return np.array(columns).T / 2e-3


def test_estimates_move_by_the_slope_of_the_equation_that_they_solve(ended):
    """The truth's slope is off by tens of percent where the model is wrong; the response is not."""
    answers, picture, estimate, _ = ended
    turn = picture.shape.turn(estimate)
    for answer in answers[1:]:
        step = answer.around(picture, estimate)
        frame, right = step.whitening, slope_by_differences(answer, picture, estimate)
        wrong = np.linalg.norm((step.slope - right) @ frame)
        left = np.linalg.norm((step.slope @ turn - right) @ frame)
        assert wrong > 0.2
        assert left < 0.15 * wrong


def test_the_response_changes_neither_what_is_left_nor_the_errors(ended):
    answers, picture, estimate, _ = ended
    plain = spread.corrected([one.around(picture, estimate) for one in answers], estimate)
    meats = [one.modelled(picture, estimate)[1] for one in answers]
    turn = picture.shape.turn(estimate)
    steps = spread._responding(plain, meats, turn)
    for one, other in zip(plain, steps, strict=True):
        assert np.allclose(one.left(estimate), other.left(estimate))
        assert np.array_equal(one.error(estimate), other.error(estimate))
    assert spread.surplus(plain, estimate) == spread.surplus(steps, estimate)


def test_an_estimate_that_responds_more_moves_less():
    step = Step(np.zeros(2), np.eye(2), np.eye(2), np.eye(2), 1.0, np.zeros(2))
    steeper = Step(
        np.zeros(2), np.eye(2), np.eye(2), np.eye(2), 1.0, np.zeros(2), response=2.0 * np.eye(2)
    )
    prior = Prior(np.zeros(2), np.zeros((2, 2)))
    (lift,), (less,) = (lifted([one], [np.eye(2)], prior)[1] for one in (step, steeper))
    assert np.allclose(less, lift / 2.0)


def test_a_number_with_a_heavy_tail_is_named():
    """One in two hundred holds most of the variance; without them nothing is said."""
    random, people = np.random.default_rng(2), 20_000
    x, told = random.normal(size=people), []
    schema = {**SCHEMA, "covariate": [{"name": "x", "low": -5.0, "high": 95.0}]}
    for far in (0, 100):
        tail = np.where(np.arange(people) < far, 60.0 + 10.0 * x, x)
        hits = random.random(people) < 0.3
        frame = pd.DataFrame({"x": tail, "t": random.random(people) * 39.0, "e": hits})
        model = SurvivalRegression(
            Schema.from_mapping(schema), baseline="natural-spline:2", link="logit"
        )
        release = simulate(model, frame, mechanism=PrivateNewton(8.0), seed=1).model
        told.append([item.coefficients for item in release.warnings if item.code == "tail"])
    assert told == [[], [("x",)]]


def test_a_sampling_variance_that_is_off_counts_as_far_as_noise_does_not_hide_it():
    own, part = np.diag([4.0, 0.01, 1.0]), spread.LIKENESS
    found = [spread.likeness(own, ratio * own) for ratio in (0.0, 0.5, 50.0)]
    assert found == pytest.approx([1.0 + part, 0.5 + math.hypot(0.5, part), 1.0], abs=1e-3)
    assert spread.likeness(np.zeros((3, 3)), own) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("wrong", "changed", "tail", "lost", "times"),
    [
        (0.0, 0.0, 0.0, 1.0, CALM / LAMBDA),
        (0.5, 0.0, 0.0, 1.0, (1.0 + CALM / LAMBDA) / 2.0),
        (1.0, 0.0, 0.0, MUCH / 2.0, (1.0 + CALM / LAMBDA) / 2.0),
        (1.0, 0.0, 0.0, 0.0, CALM / LAMBDA),
        (0.0, 0.0, LIGHT / 2.0, 0.0, (1.0 + CALM / LAMBDA) / 2.0),
        (1.0, 0.0, 0.0, MUCH, 1.0),
        (0.0, 0.0, HEAVY, 0.0, 1.0),
        (0.0, 1.0, 0.0, 1.0, (1.0 + CHANGED) * CALM / LAMBDA),
        (0.0, 1.0, HEAVY, 0.0, 1.0 + CHANGED),
        (0.0, 0.0, (1.0 + HEAVY) / 2.0, 0.0, 4.0),
    ],
)
def test_bounds_are_doubted_more_where_something_speaks_against_the_model(
    wrong, changed, tail, lost, times
):
    nothing = np.zeros(1)
    residual = Residual(nothing, nothing, np.eye(1), wrong, changed=changed, tail=tail)
    assert _steepness(residual, lost) == pytest.approx(times * LAMBDA)


@pytest.mark.parametrize("link", sorted(LINKS))
def test_a_bound_takes_a_part_of_the_slope_and_a_wide_one_none(link, monkeypatch):
    """With cloglog and probit the slope without a bound is not the information."""
    seen = []

    def steep(residual, lost):
        seen.append(lost)
        return _steepness(residual, lost)

    monkeypatch.setattr(bound, "_steepness", steep)
    model = SurvivalRegression(Schema.from_mapping(SCHEMA), link=link, baseline="natural-spline:3")
    mechanism = PrivateNewton(epsilon=1000.0, delta=1e-6)
    simulate(model, jagged(3000, 3), mechanism=mechanism, seed=4)
    assert min(seen) >= 0.0
    assert max(seen) > 0.05
    assert seen[-1] <= 0.01


def test_noise_moves_an_estimate_no_further_than_the_prior_lets_it():
    """One direction has next to no slope: its noise is the prior's variance, not 1 / slope^2."""
    slope, weak = np.diag([1.0, 0.5, 0.02]), np.diag([0.0, 0.0, 0.25])
    assert squared_noise(slope[:2, :2], 2.0, weak[:2, :2]) == pytest.approx((4.0 + 16.0) / 2.0)
    known = 4.0 + 16.0 + 1.0 / (0.02**2 / 4.0 + 0.25)
    assert squared_noise(slope, 2.0, weak) == pytest.approx(known / 3.0)
    assert known < 24.0 < 3.0 * squared_noise(slope, 2.0, 0.0 * weak)


def test_a_tail_that_bounds_take_away_is_stated_of_all_steps_together():
    """(I - J) d through every lift, added before it is squared: the same tail at every step."""
    step = Step(np.zeros(2), np.eye(2), np.diag([1.0, 0.6]), np.eye(2), 1.0, np.zeros(2))
    tailed = [replace(step, taken=np.array([[0.0], [part]])) for part in (1.2, 0.4)]
    lifts = [np.diag([0.5, 0.5]), np.diag([0.5, 1.0])]
    assert not spread._tails([step, step], lifts).any()
    expected = spread.BIAS_STATED * (0.5 * 1.2 + 0.4) ** 2
    assert spread._tails(tailed, lifts) == pytest.approx(np.diag([0.0, expected]))


def test_a_release_states_what_bounds_may_take_of_a_tail():
    """Wider along a number with a tail that the bound cuts, more than along one without."""
    random, people = np.random.default_rng(3), 8_000
    x, y = random.normal(size=people), random.normal(size=people)
    x = np.exp(1.1 * x)
    hits = random.random(people) < 0.3
    frame = pd.DataFrame({"x": x, "y": y, "t": random.random(people) * 39.0, "e": hits})
    bounds = [{"name": "x", "low": 0.0, "high": 60.0}, {"name": "y", "low": -5.0, "high": 5.0}]
    schema = Schema.from_mapping({**SCHEMA, "covariate": bounds})
    model = SurvivalRegression(schema, baseline="natural-spline:2", link="logit")
    found = []
    for tails in (spread._tails, lambda _, lifts: np.zeros((len(lifts[0]),) * 2)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(spread, "_tails", tails)
            release = simulate(model, frame, mechanism=PrivateNewton(1.0), seed=3).model
        found.append(np.sqrt(np.diag(release.covariance))[-2:])
    wide, without = found
    assert wide[0] > 1.02 * without[0]
    assert wide[0] / without[0] > wide[1] / without[1] >= 1.0
