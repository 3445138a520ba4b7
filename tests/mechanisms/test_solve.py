"""Certified minimisers: accuracy of the gradients they rest on, certificate, projection, fallback."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from discreet.mechanisms import ObjectivePerturbation, OutputPerturbation, solve
from discreet.mechanisms.bounds import Slopes, gradient_bound
from discreet.mechanisms.perturbation import basis_of, coordinates_from, tolerance_from
from discreet.mechanisms.solve import (
    RADIUS,
    ROUNDING,
    CentredCoordinates,
    CentredObjective,
    Tolerance,
    certified_minimiser,
    project,
)
from discreet.privacy.testing import SeededNoise
from discreet.solve import Evaluation
from tests.mechanisms.cases import (
    FrozenNoise,
    corner_people,
    linear_loss,
    loss_of,
    make_constants,
    random_person,
    stuck_loss,
)

ONES = Tolerance(gradient=1.0, norm=1.0, ridge=1.0)


def precise_gradient(people, constants, f):
    """The gradient in long doubles, interval by interval (logit)."""
    basis = constants.design.basis.astype(np.longdouble)
    total = np.zeros(constants.dimension, dtype=np.longdouble)
    for person in people:
        for row, (first, last) in enumerate(zip(person.entry, person.exit, strict=True)):
            for s in range(first, last):
                z = np.concatenate([basis[s], person.covariates[row].astype(np.longdouble)])
                ends = person.event and row == len(person.exit) - 1 and s == last - 1
                total += (1 / (1 + np.exp(-(z @ f))) - ends) * z
    return total


@pytest.mark.parametrize("size", [0.1, 3.0, 30.0])
def test_gradients_are_a_hundred_times_more_exact_than_the_proof_assumes(size):
    random = np.random.default_rng(int(10 * size))
    constants = make_constants(persons=120, intervals=60, time_varying=True)
    people = [
        random_person(random, constants, time_varying=True, extreme=bool(i % 2)) for i in range(120)
    ]
    loss = loss_of(people, constants)
    bound = 120 * gradient_bound(basis_of(constants), Slopes.constant(60, 1.0))
    for _ in range(4):
        f = random.normal(size=5) * size
        error = loss(f).gradient - precise_gradient(people, constants, f)
        assert np.linalg.norm(error.astype(float)) <= ROUNDING * bound / 100


def test_the_tolerance_is_the_formula_of_the_page():
    tolerance = Tolerance(gradient=7.0, norm=3.0, ridge=2.0, tilt_error=0.5)
    rounding = 2.0**-40 * (7 * (1 + 2.0**-6 * 3 * 512) + 2 * 512 + (512 * 2 + 7))
    assert tolerance.total == pytest.approx(4 * rounding + 0.5, rel=1e-12)
    assert RADIUS == 256.0


def test_the_certificate_counts_gradient_rounding_and_tilt_error():
    limit = ONES.total
    assert ONES.holds(1.0, 0.7 * limit, 0.0, 0.0)
    assert not ONES.holds(1.0, limit, 0.0, 0.0)
    assert not ONES.holds(1.0, 0.0, 0.0, limit)
    assert not ONES.holds(1.0, 0.0, 1e9, 0.0)
    assert not ONES.holds(1.0, math.nan, 0.0, 0.0)
    assert not Tolerance(1.0, 1.0, 1.0, reach=0.5).holds(1.0, 0.0, 0.0, 0.0)


def test_beyond_the_ball_the_certificate_is_relative():
    far = 2e6 * RADIUS
    assert ONES.holds(far, ONES.total * 7e5, far, 0.0)
    assert not ONES.holds(far, ONES.total * 1.1e6, far, 0.0)


@pytest.mark.parametrize("seed", range(20))
def test_lemma_5_the_projection_of_a_certified_point_is_close(seed):
    random = np.random.default_rng(seed)
    ridge = 10.0 ** random.uniform(-2, 2)
    tolerance = Tolerance(gradient=1e8 * ridge, norm=2.0, ridge=ridge)
    exact = random.normal(size=4) * 10.0 ** random.uniform(-1, 6)
    for distance in (np.linalg.norm(exact), RADIUS, 2.1 * RADIUS):
        exact *= distance / np.linalg.norm(exact)
        allowed = tolerance.total * max(1.0, distance / (2 * RADIUS)) / ridge
        direction = random.normal(size=4)
        found = exact + 0.999 * allowed * direction / np.linalg.norm(direction)
        gap = np.linalg.norm(project(found) - project(exact))
        assert gap <= tolerance.total / ridge * 1.001


class BrokenLoss:
    """A loss that is no number anywhere."""

    def __call__(self, f):
        return Evaluation(math.nan, np.full(len(f), math.nan), np.eye(len(f)))


@pytest.mark.parametrize("loss", [stuck_loss, BrokenLoss()])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_without_a_certificate_the_public_centre_is_used(loss):
    for mechanism in (OutputPerturbation(epsilon=1.0), ObjectivePerturbation(epsilon=1.0)):
        plan = mechanism.plan(make_constants())
        draw = mechanism.draw(plan, loss, FrozenNoise())
        assert draw.point.tolist() == coordinates_from(plan.details).centre.tolist()


@pytest.mark.parametrize(("link", "smallest"), [("logit", 1e-8), ("probit", 1e-4)])
def test_hostile_cohorts_are_certified_at_the_first_attempt(link, smallest, monkeypatch):
    """Assumption A4 of the proof where it is hardest: extreme people, tiny and huge ridges."""
    holds, answers = solve.Tolerance.holds, []
    monkeypatch.setattr(
        solve.Tolerance, "holds", lambda *given: answers.append(holds(*given)) or answers[-1]
    )
    constants = make_constants(persons=10, intervals=6, link=link)
    corners = corner_people(constants)
    kinds = [OutputPerturbation] + [ObjectivePerturbation] * (link == "logit")
    draws = 0
    for kind, ridge in product(kinds, (smallest, 1e-2, 1e3)):
        mechanism = kind(epsilon=20.0, ridge=ridge)
        plan = mechanism.plan(constants)
        for person in corners[:: len(corners) // 4]:
            mechanism.draw(plan, loss_of([person] * 10, constants), SeededNoise(draws))
            draws += 1
    assert answers == [True] * draws
    assert draws >= 12


@pytest.mark.parametrize("shift", [-3, 0, 2])
def test_released_integers_are_the_point_exactly(shift):
    coordinates = CentredCoordinates(np.array([-1.5, 0.25, 3.0]), 2, shift)
    steps, exponent = [5, -7, 123456789], -30
    unit = coordinates.grid_exponent(exponent)
    integers = coordinates.to_integers(steps, exponent)
    scale = [Fraction(2) ** shift, Fraction(2) ** shift, Fraction(1)]
    for integer, centre, step, factor in zip(
        integers, (-1.5, 0.25, 3.0), steps, scale, strict=True
    ):
        expected = Fraction(centre) + factor * step * Fraction(2) ** exponent
        assert Fraction(integer) * Fraction(2) ** unit == expected


def test_the_solver_finds_the_minimiser_of_a_linear_loss_in_scaled_coordinates():
    plan = OutputPerturbation(epsilon=1.0).plan(make_constants())
    coordinates, tolerance = coordinates_from(plan.details), tolerance_from(plan)
    slope = np.arange(5.0) / 40 * tolerance.ridge * tolerance.reach / coordinates.scale
    objective = CentredObjective(linear_loss(slope), coordinates, tolerance.ridge, np.zeros(5))
    found = certified_minimiser(objective, tolerance)
    assert found == pytest.approx(-coordinates.scale * slope / tolerance.ridge, rel=1e-9)
