"""Every constant from the formula on its proof page, and never exceeded by neighbours."""

import math

import numpy as np
import pytest
from scipy import optimize

from discreet.design.baseline import NaturalSpline, PiecewiseConstant
from discreet.mechanisms.bounds import (
    MARGIN,
    Basis,
    Slopes,
    block_bound,
    constant_covariate_bound,
    direction_bound,
    gradient_sensitivity,
    jacobian_bound,
    rank_bound,
    vertex_bound,
)
from discreet.mechanisms.perturbation import basis_of
from discreet.paper.printed import gradient_sensitivity as printed_gradient_sensitivity
from discreet.paper.printed import jacobian_bound as printed_jacobian_bound
from tests.mechanisms.cases import corner_people, hostile_points, make_constants, random_person

SHAPES = [(1, 1), (3, 2), (25, 3), (40, 8), (200, 3)]


def paper_basis(intervals, knots, *, has_covariates=True):
    return Basis(NaturalSpline(knots).basis(intervals), has_covariates)


def orthonormal(intervals, knots, *, has_covariates=True):
    rows = np.linalg.qr(NaturalSpline(knots).basis(intervals))[0] * math.sqrt(intervals)
    return Basis(rows, has_covariates)


def random_slopes(random, intervals):
    survival = random.random(intervals)
    return Slopes(survival, survival + random.random(intervals))


@pytest.mark.parametrize(("intervals", "knots"), SHAPES)
@pytest.mark.parametrize("has_covariates", [True, False])
def test_vertex_bound_is_the_formula_of_lemma_3(intervals, knots, has_covariates):
    basis = paper_basis(intervals, knots, has_covariates=has_covariates)
    slopes = random_slopes(np.random.default_rng(intervals), intervals)
    radius = 1.0 if has_covariates else 0.0
    total, both, one, alone = 0.0, -math.inf, 0.0, 0.0
    for row, u, v in zip(basis.rows, slopes.survival, slopes.event, strict=True):
        norm = math.sqrt(row @ row + radius**2)
        widest = max(norm, 2 * radius)
        total += u * widest
        both = max(both, (v - u) * widest)
        one = max(one, (u + v) * norm - u * widest)
        alone = max(alone, v * norm - u * widest)
    assert vertex_bound(basis, slopes) == pytest.approx(total + max(both, one + alone), rel=1e-11)


@pytest.mark.parametrize(("intervals", "knots"), SHAPES)
@pytest.mark.parametrize("scale", [0.25, 1.0, 4.0])
def test_direction_bound_covers_the_maximum_of_lemma_4(intervals, knots, scale):
    basis = Basis(orthonormal(intervals, knots).rows * scale, has_covariates=True)
    slopes = random_slopes(np.random.default_rng(knots), intervals)
    u, v = slopes.survival.max(), slopes.event.max()
    largest = np.linalg.norm(basis.rows, axis=1).max()
    spread = scale**2

    def component(angle):
        y, c = largest * math.sin(angle), math.cos(angle)
        ordinary = u * intervals * (c + math.sqrt(spread * math.sin(angle) ** 2 + c**2))
        one = v * (y + c) - u * max(c - y, 0)
        alone = max(one - u * (y + c), 0)
        both = (v - u) * (c + max(y, c))
        return ordinary + max(both, one + alone)

    starts = np.linspace(0, math.pi / 2, 60)
    found = max(
        -optimize.minimize_scalar(
            lambda t: -component(t),
            bounds=(max(s - 0.03, 0), min(s + 0.03, math.pi / 2)),
            method="bounded",
        ).fun
        for s in starts
    )
    assert found <= direction_bound(basis, slopes) <= found * 1.002


@pytest.mark.parametrize(("intervals", "knots"), [(25, 3), (200, 3), (200, 8)])
def test_orthonormal_coordinates_cost_about_twice_the_intervals_whatever_the_knots(
    intervals, knots
):
    basis, slopes = orthonormal(intervals, knots), Slopes.constant(intervals, 1.0)
    closed = intervals + math.hypot(intervals, 2 * basis.norms.max())
    assert direction_bound(basis, slopes) <= closed * 1.001
    assert gradient_sensitivity(basis, slopes) < vertex_bound(basis, slopes)


def test_numbers_quoted_in_the_proofs():
    basis, ones = paper_basis(200, 3), Slopes.constant(200, 1.0)
    assert printed_gradient_sensitivity(basis.norms) == pytest.approx(469.785, abs=1e-3)
    assert vertex_bound(basis, ones) == pytest.approx(401.775, abs=1e-3)
    assert direction_bound(basis, ones) == pytest.approx(400.1, abs=0.11)
    assert printed_jacobian_bound(basis.norms, 100.0) == pytest.approx(1.552, abs=1e-3)
    assert rank_bound(basis, 3, 0.25, 100.0) == pytest.approx(1.110, abs=1e-3)
    assert block_bound(basis, 3, 0.25, 100.0) == pytest.approx(1.024, abs=1e-3)
    assert constant_covariate_bound(basis, 0.25, 100.0) == pytest.approx(0.828, abs=1e-3)


def test_one_interval_is_chaudhuri():
    basis, norm = orthonormal(1, 1), math.sqrt(2.0)
    assert gradient_sensitivity(basis, Slopes.constant(1, 1.0)) == pytest.approx(
        2 * norm, rel=1e-11
    )
    for ridge in (0.1, 1.0, 100.0):
        theirs = math.log(1 + 2 * (norm**2 / 4) / ridge + ((norm**2 / 4) / ridge) ** 2)
        ours = jacobian_bound(basis, 1, 0.25, ridge, time_varying=False)
        assert ours == pytest.approx(theirs / 2, rel=1e-10)


@pytest.mark.parametrize("pieces", [1, 4])
def test_jacobian_bounds_are_the_formulas_of_lemmas_6_to_8(pieces):
    rows = PiecewiseConstant(pieces).basis(12) * 1.7
    basis, ridge, curvature, covariates = Basis(rows, has_covariates=True), 3.0, 0.25, 5
    gram = rows.T @ rows
    trace = curvature * sum(row @ row + 1 for row in rows)
    rank = min(pieces + covariates, 12)
    expected_rank = rank * math.log(1 + trace / (rank * ridge))
    expected_block = math.log(np.linalg.det(np.eye(pieces) + curvature * gram / ridge))
    expected_block += covariates * math.log(1 + curvature * 12 / (covariates * ridge))
    v = np.ones(pieces) / 1.7
    inner = np.eye(pieces) + curvature / ridge * gram @ (np.eye(pieces) + np.outer(v, v))
    assert rank_bound(basis, covariates, curvature, ridge) == pytest.approx(
        expected_rank, rel=1e-11
    )
    assert block_bound(basis, covariates, curvature, ridge) == pytest.approx(
        expected_block, rel=1e-11
    )
    expected_constant = math.log(np.linalg.det(inner))
    assert constant_covariate_bound(basis, curvature, ridge) == pytest.approx(
        expected_constant, rel=1e-11
    )
    varying = jacobian_bound(basis, covariates, curvature, ridge, time_varying=True)
    assert varying == pytest.approx(min(expected_rank, expected_block), rel=1e-11)
    fixed = jacobian_bound(basis, covariates, curvature, ridge, time_varying=False)
    assert fixed == pytest.approx(min(varying, expected_constant), rel=1e-11)


def test_without_covariates_the_blocks_are_the_baseline_alone():
    basis = orthonormal(30, 3, has_covariates=False)
    expected = 3 * math.log(1 + 0.25 * 30 / 2.0)
    assert block_bound(basis, 0, 0.25, 2.0) == pytest.approx(expected, rel=1e-11)


def test_margins_round_up():
    assert 1.0 + 2000 * np.finfo(float).eps < MARGIN


@pytest.mark.parametrize("time_varying", [False, True])
def test_hand_made_neighbours_reach_but_never_exceed_the_gradient_sensitivity(time_varying):
    random = np.random.default_rng(5)
    constants = make_constants(intervals=15, covariates=2, time_varying=time_varying)
    claimed = gradient_sensitivity(basis_of(constants), Slopes.constant(15, 1.0))
    people, largest = corner_people(constants), 0.0
    for point in hostile_points(random, constants, 40):
        gradients = np.array([person.derivatives(constants, point)[0] for person in people])
        gaps = np.linalg.norm(gradients[:, None] - gradients[None, :], axis=2)
        largest = max(largest, float(gaps.max()))
    assert 0.97 * claimed < largest <= claimed


@pytest.mark.parametrize("time_varying", [False, True])
@pytest.mark.parametrize("ridge", [0.1, 5.0, 200.0])
def test_neighbours_never_exceed_the_jacobian_bound(time_varying, ridge):
    random = np.random.default_rng(3)
    constants = make_constants(intervals=15, covariates=2, time_varying=time_varying)
    claimed = jacobian_bound(basis_of(constants), 2, 0.25, ridge, time_varying=time_varying)
    largest = 0.0
    points = np.concatenate([hostile_points(random, constants, 40), np.zeros((1, 5))])
    for point in points:
        people = corner_people(constants)[::5] + [
            random_person(random, constants, time_varying=time_varying, extreme=True)
            for _ in range(8)
        ]
        common = ridge * np.eye(5) + people[0].derivatives(constants, point)[1]
        logs = [
            np.linalg.slogdet(common + person.derivatives(constants, point)[1])[1]
            for person in people
        ]
        largest = max(largest, max(logs) - min(logs))
    assert 0.5 * claimed < largest <= claimed


def test_time_varying_covariates_break_the_bound_for_constant_ones():
    constants = make_constants(intervals=40, covariates=3, time_varying=True)
    steps, ridge = np.arange(40), 0.05
    turning = np.array([np.eye(3)[s % 3] for s in steps])
    people = corner_people(constants)
    turning_person = type(people[1])(turning, steps, steps + 1, event=False)
    hessian = turning_person.derivatives(constants, np.zeros(6))[1]
    ratio = np.linalg.slogdet(np.eye(6) + hessian / ridge)[1]
    basis = basis_of(constants)
    assert constant_covariate_bound(basis, 0.25, ridge) < ratio
    assert ratio <= jacobian_bound(basis, 3, 0.25, ridge, time_varying=True)
