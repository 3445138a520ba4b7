"""Output perturbation: constants, tight witnesses, neighbours, limits."""

import math

import numpy as np
import pytest

from discreet.errors import SettingsError
from discreet.mechanisms import OutputPerturbation
from discreet.mechanisms.outlook import public_guess
from discreet.mechanisms.output import confinement_radius, slopes_within
from discreet.mechanisms.perturbation import basis_of, coordinates_from
from discreet.mechanisms.solve import CentredObjective
from discreet.privacy.testing import SeededNoise
from discreet.solve import minimise
from tests.mechanisms.cases import linear_loss, loss_of, make_constants, random_person


def cohort(constants, count, seed=0):
    random = np.random.default_rng(seed)
    return loss_of([random_person(random, constants) for _ in range(count)], constants)


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_confinement_and_slopes_are_the_formulas_of_lemma_2(link):
    constants = make_constants(persons=70, intervals=9, link=link)
    guess, basis, ridge = public_guess(constants, 0.5), basis_of(constants), 3.0
    functions = constants.link
    eta = constants.design.basis @ guess.centre[:3]
    norms = [math.sqrt(row @ row + 1) for row in constants.design.basis]
    loss = functions.survival_loss(eta).sum() + functions.event_loss(eta).max()
    up, down = functions.survival_loss_derivative(eta), -functions.event_loss_derivative(eta)
    gradient = (up * norms).sum() + (np.maximum(down, up) * norms).max()
    expected = min(math.sqrt(70 * loss / ridge), 70 * gradient / ridge)
    radius = confinement_radius(constants, guess, basis, ridge)
    assert radius == pytest.approx(expected, rel=1e-11)
    slopes = slopes_within(functions, guess, basis, radius)
    random = np.random.default_rng(1)
    for direction in random.normal(size=(50, 5)):
        w = direction * (radius / np.linalg.norm(direction))
        for s, row in enumerate(constants.design.basis):
            x = w[3:] / np.linalg.norm(w[3:])
            point = np.array([eta[s] + w @ np.concatenate([row, x])])
            assert functions.survival_loss_derivative(point)[0] <= slopes.survival[s]
            assert -functions.event_loss_derivative(point)[0] <= slopes.event[s]


def test_a_large_ridge_bounds_the_slopes_far_below_one():
    constants = make_constants(persons=1000, intervals=100)
    guess, basis = public_guess(constants, 0.5), basis_of(constants)
    radius = confinement_radius(constants, guess, basis, 50.0 * 1000)
    assert slopes_within(constants.link, guess, basis, radius).survival.max() < 0.1


def test_a_huge_epsilon_recovers_the_ridge_fit():
    constants = make_constants(persons=200)
    loss = cohort(constants, 200)
    mechanism = OutputPerturbation(epsilon=1e9, ridge=1e-3)
    plan = mechanism.plan(constants)
    draw = mechanism.draw(plan, loss, SeededNoise(1))
    coordinates = coordinates_from(plan.details)
    objective = CentredObjective(loss, coordinates, 0.2, np.zeros(5))
    exact = minimise(objective, np.zeros(5), tolerance=1e-9).point
    assert draw.point == pytest.approx(coordinates.centre + coordinates.scale * exact, abs=1e-4)


def test_noise_has_the_planned_scale():
    constants = make_constants(persons=30, covariates=1, knots=1)
    mechanism = OutputPerturbation(epsilon=1.0)
    plan, loss, noise = mechanism.plan(constants), linear_loss(np.zeros(2)), SeededNoise(5)
    points = np.array([mechanism.draw(plan, loss, noise).point for _ in range(400)])
    coordinates = coordinates_from(plan.details)
    radii = np.linalg.norm((points - coordinates.centre) / coordinates.scale, axis=1)
    # a Gamma(2, scale) radius: mean 2, standard deviation sqrt 2, both times the scale
    expected, error = 2 * plan.noise_scale, math.sqrt(2 / 400) * plan.noise_scale
    assert abs(radii.mean() - expected) < 4.9 * error


def test_cloglog_is_refused_with_the_reason():
    with pytest.raises(SettingsError, match=r"cloglog.*exponentially"):
        OutputPerturbation(epsilon=1.0).plan(make_constants(link="cloglog"))


def test_a_ridge_lost_in_rounding_is_refused():
    with pytest.raises(SettingsError, match="ridge is too small"):
        OutputPerturbation(epsilon=1.0, ridge=1e-12).plan(make_constants())
