"""Private selection of the ridge: its cost, its score, its choice."""

import numpy as np
import pytest

from discreet.core.optimum import SCORE_EXPONENT, clipped_score
from discreet.errors import SettingsError
from discreet.mechanisms import ObjectivePerturbation, OutputPerturbation, SelectedRidge
from discreet.mechanisms.selected import score_bound
from discreet.people.episodes import Episodes
from discreet.privacy.selection import RandomStopping
from discreet.privacy.testing import SeededNoise
from tests.mechanisms.cases import (
    FrozenNoise,
    corner_people,
    hostile_points,
    loss_of,
    make_constants,
    random_person,
)


def test_a_trial_and_its_score_cost_half_of_epsilon():
    plan = SelectedRidge(epsilon=1.0).plan(make_constants(persons=100))
    spent = plan.number("trial_epsilon") + plan.number("score_epsilon")
    assert 2 * spent <= 1.0
    assert spent == pytest.approx(0.5, abs=1e-8)
    assert plan.guarantee.epsilon == 1.0
    for candidate in plan.candidates:
        assert candidate.guarantee.epsilon == plan.number("trial_epsilon")


@pytest.mark.parametrize(
    ("base", "kind"), [("objective", ObjectivePerturbation), ("output", OutputPerturbation)]
)
def test_candidates_are_the_base_mechanism_with_each_ridge(base, kind):
    constants = make_constants(persons=100)
    mechanism = SelectedRidge(epsilon=2.0, ridges=(0.5, 5.0), base=base)
    plan = mechanism.plan(constants)
    epsilon = RandomStopping(2.0, 10.0).trial_epsilon
    for candidate, ridge in zip(plan.candidates, (0.5, 5.0), strict=True):
        assert candidate.public() == kind(epsilon=epsilon, ridge=ridge).plan(constants).public()


@pytest.mark.parametrize("time_varying", [False, True])
def test_one_person_changes_the_score_by_at_most_the_bound(time_varying):
    random = np.random.default_rng(9)
    constants = make_constants(persons=5, intervals=9, time_varying=time_varying)
    bound = score_bound(constants, 0.5)
    allowed = bound * 2.0**-SCORE_EXPONENT
    corners = corner_people(constants)
    largest = 0.0
    for point in hostile_points(random, constants, 10):
        others = [random_person(random, constants, time_varying=time_varying) for _ in range(4)]
        scores = [
            clipped_score(loss_of([first, *others], constants), point, bound) for first in corners
        ]
        largest = max(largest, max(scores) - min(scores))
        assert max(scores) <= 0
    assert 0.99 * allowed < largest <= allowed


def test_a_loss_that_is_no_number_counts_as_the_bound():
    constants = make_constants(persons=3)
    loss = loss_of(corner_people(constants)[1:4], constants)
    assert clipped_score(loss, np.full(5, np.nan), 2.0) == -3 * 2.0 * 2.0**-SCORE_EXPONENT


def test_the_score_is_minus_the_loss_where_nothing_is_clipped():
    random = np.random.default_rng(2)
    constants = make_constants(persons=40, intervals=9, time_varying=True)
    people = [random_person(random, constants, time_varying=True) for _ in range(40)]
    loss, point = loss_of(people, constants), random.normal(size=5) * 0.1
    score = clipped_score(loss, point, 1e6) * 2.0**SCORE_EXPONENT
    assert score == pytest.approx(-loss(point).value, abs=40 * 2.0**SCORE_EXPONENT)


def test_rows_without_a_person_column_are_scored_alike():
    random = np.random.default_rng(3)
    constants = make_constants(persons=30)
    people = sorted(
        (random_person(random, constants) for _ in range(30)), key=lambda who: int(who.exit[0])
    )
    loss = loss_of(people, constants)
    grouped = loss.engine.episodes
    plain = Episodes(grouped.covariates, grouped.entry, grouped.exit, grouped.event, None, 30)
    point = random.normal(size=5)
    ungrouped = type(loss)(type(loss.engine)(plain, threads=1), loss.design, loss.link)
    assert clipped_score(ungrouped, point, 3.0) == clipped_score(loss, point, 3.0)


def test_the_better_ridge_is_chosen_when_epsilon_allows():
    random = np.random.default_rng(4)
    constants = make_constants(persons=400)
    loss = loss_of([random_person(random, constants) for _ in range(400)], constants)
    mechanism = SelectedRidge(epsilon=1e6, ridges=(1e-4, 1e4), mean_trials=20.0)
    plan = mechanism.plan(constants)
    bound = plan.number("score_bound")
    noise = SeededNoise(6)
    scores = [clipped_score(loss, mechanism.draw(plan, loss, noise).point, bound) for _ in range(5)]
    good = ObjectivePerturbation(epsilon=1e6, ridge=1e-4)
    fit = good.draw(good.plan(constants), loss, FrozenNoise())
    assert np.median(scores) == pytest.approx(clipped_score(loss, fit.point, bound), rel=1e-3)


@pytest.mark.parametrize(
    "settings",
    [
        {"ridges": ()},
        {"ridges": (0.0,)},
        {"ridges": [0.1]},
        {"base": "newton"},
        {"mean_trials": 0.5},
        {"score_share": 1.0},
        {"survival": 1.0},
    ],
)
def test_settings_under_which_nothing_is_selected_are_refused(settings):
    with pytest.raises(SettingsError):
        SelectedRidge(epsilon=1.0, **settings)


def test_a_plan_of_another_mechanism_is_refused():
    constants = make_constants()
    plan = OutputPerturbation(epsilon=1.0).plan(constants)
    with pytest.raises(SettingsError, match="another mechanism"):
        SelectedRidge(epsilon=1.0).draw(plan, None, FrozenNoise())
