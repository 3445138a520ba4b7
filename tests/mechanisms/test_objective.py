"""Objective perturbation: constants, tight witnesses, densities of neighbours, limits."""

import math

import numpy as np
import pytest

from discreet.errors import SettingsError
from discreet.mechanisms import ObjectivePerturbation
from discreet.mechanisms.perturbation import coordinates_from, tolerance_from
from discreet.mechanisms.solve import RADIUS, CentredObjective
from discreet.privacy.testing import SeededNoise
from discreet.solve import minimise
from tests.mechanisms.cases import (
    FrozenNoise,
    corner_people,
    hostile_points,
    loss_of,
    make_constants,
    random_person,
)
from tests.mechanisms.test_output import cohort


@pytest.mark.parametrize("time_varying", [False, True])
def test_densities_of_neighbours_never_differ_by_more_than_epsilon(time_varying):
    """log p_D(w) - log p_D'(w) of the exact minimiser, at hostile points, from the closed form."""
    random = np.random.default_rng(21)
    constants = make_constants(persons=4, intervals=10, time_varying=time_varying)
    plan = ObjectivePerturbation(epsilon=1.0).plan(constants)
    coordinates, ridge = coordinates_from(plan.details), plan.number("total_ridge")
    allowed = plan.number("epsilon_tilt") + plan.number("epsilon_jacobian")
    corners = corner_people(constants)
    largest = 0.0
    for w in hostile_points(random, constants, 8):
        people = [corners[i] for i in random.integers(0, len(corners), 3)]
        people.append(random_person(random, constants, time_varying=time_varying, extreme=True))
        logs = []
        for first in (people[0], *(corners[i] for i in random.integers(0, len(corners), 4))):
            loss = loss_of([first, *people[1:]], constants)
            here = CentredObjective(loss, coordinates, ridge, np.zeros(5))(w)
            tilt = np.linalg.norm(here.gradient)
            logs.append(-tilt / plan.noise_scale + np.linalg.slogdet(here.hessian)[1])
        largest = max(largest, max(logs) - min(logs))
    assert 0.3 * allowed < largest <= allowed


def test_a_huge_epsilon_recovers_the_ridge_fit():
    constants = make_constants(persons=200)
    loss = cohort(constants, 200)
    mechanism = ObjectivePerturbation(epsilon=1e9, ridge=1e-3)
    plan = mechanism.plan(constants)
    assert plan.number("ridge") == pytest.approx(1e-3)
    draw = mechanism.draw(plan, loss, SeededNoise(1))
    coordinates = coordinates_from(plan.details)
    objective = CentredObjective(loss, coordinates, 0.2, np.zeros(5))
    exact = minimise(objective, np.zeros(5), tolerance=1e-9).point
    assert draw.point == pytest.approx(coordinates.centre + coordinates.scale * exact, abs=1e-5)


def test_a_given_ridge_is_a_least_value():
    constants = make_constants(persons=50)
    plan = ObjectivePerturbation(epsilon=0.5, ridge=1e-6).plan(constants)
    assert plan.number("ridge") >= 1e-6
    high = ObjectivePerturbation(epsilon=0.5, ridge=1e3).plan(constants)
    assert high.number("ridge") >= 1e3


def test_the_tilt_moves_the_minimiser_as_it_should():
    constants = make_constants(persons=100)
    loss = cohort(constants, 100)
    mechanism = ObjectivePerturbation(epsilon=2.0)
    plan = mechanism.plan(constants)
    noise = FrozenNoise(tilt=1.5)
    draw = mechanism.draw(plan, loss, noise)
    coordinates, tolerance = coordinates_from(plan.details), tolerance_from(plan)
    tilt = np.full(5, 1.5 * plan.noise_scale / math.sqrt(5))
    objective = CentredObjective(loss, coordinates, tolerance.ridge, tilt)
    exact = minimise(objective, np.zeros(5), tolerance=1e-9).point
    assert draw.point == pytest.approx(coordinates.centre + coordinates.scale * exact, abs=1e-5)
    assert [call[0] for call in noise.calls] == ["continuous", "lattice"]


@pytest.mark.parametrize("size", [1e2, 1e5, 1e9])
def test_an_enormous_tilt_is_certified_and_projected(size):
    constants = make_constants(persons=20)
    mechanism = ObjectivePerturbation(epsilon=1.0, ridge=1e-2)
    plan = mechanism.plan(constants)
    draw = mechanism.draw(plan, cohort(constants, 20), FrozenNoise(tilt=size))
    coordinates = coordinates_from(plan.details)
    w = (draw.point - coordinates.centre) / coordinates.scale
    if size > 1e3:
        assert np.linalg.norm(w) == pytest.approx(RADIUS, rel=1e-6)
        assert w == pytest.approx(np.full(5, -RADIUS / math.sqrt(5)), rel=1e-2)
    assert np.linalg.norm(w) <= RADIUS * (1 + 1e-6)


@pytest.mark.parametrize("link", ["probit", "cloglog"])
def test_links_with_unbounded_slopes_are_refused_with_the_reason(link):
    with pytest.raises(SettingsError, match=f"{link}.*not bounded"):
        ObjectivePerturbation(epsilon=1.0).plan(make_constants(link=link))


def test_probit_densities_of_neighbours_differ_without_bound():
    """Why probit is refused: the log ratio grows linearly along a ray, curvature bound or not."""
    constants = make_constants(persons=1, intervals=5, link="probit", covariates=1, knots=1)
    long, absent = corner_people(constants)[1], corner_people(constants)[0]
    gaps = []
    for size in (10.0, 100.0, 1000.0):
        w = np.array([size, size])
        difference = (
            loss_of([long], constants)(w).gradient - loss_of([absent], constants)(w).gradient
        )
        gaps.append(np.linalg.norm(difference))
    assert gaps[1] > 8 * gaps[0]
    assert gaps[2] > 8 * gaps[1]


def test_an_epsilon_that_no_ridge_can_serve_is_refused():
    with pytest.raises(SettingsError, match="too small"):
        ObjectivePerturbation(epsilon=1e-9).plan(make_constants(persons=1, intervals=200))
