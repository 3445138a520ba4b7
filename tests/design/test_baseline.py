"""Baseline bases against their formulas."""

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.design.baseline import LogTime, NaturalSpline, PiecewiseConstant, parse_baseline
from discreet.errors import SettingsError


def test_three_knots_as_printed_in_the_paper():
    times = np.linspace(0, 1, 11)
    # b_3 = d_1 - d_2, d_1 = t^3, d_2 = max(t - 1/2, 0)^3 / (1/2) inside [0, 1]
    curved = times**3 - np.maximum(times - 0.5, 0) ** 3 / 0.5
    expected = np.column_stack([np.ones(11), times, curved])
    np.testing.assert_allclose(NaturalSpline(3).evaluate(times), expected, atol=1e-15)


@pytest.mark.parametrize("knots", [1, 2, 3, 5, 8])
def test_natural_spline_is_linear_beyond_its_outer_pieces(knots):
    basis = NaturalSpline(knots)
    assert basis.basis(50).shape == (50, knots)
    assert np.linalg.matrix_rank(basis.basis(50)) == knots
    # the second derivative vanishes at both ends: that is what "natural" means
    step = 1e-3
    for end in (0.0, 1.0):
        inner = 1 if end == 0.0 else -1
        values = basis.evaluate(np.array([end, end + inner * step, end + 2 * inner * step]))
        second = (values[0] - 2 * values[1] + values[2]) / step**2
        assert np.all(np.abs(second) < 20 * knots * step)


@pytest.mark.parametrize(
    "baseline",
    [NaturalSpline(1), NaturalSpline(4), PiecewiseConstant(7), LogTime(3)],
)
def test_constants_are_in_the_span(baseline):
    np.testing.assert_allclose(baseline.basis(100) @ baseline.constant, 1.0)


@pytest.mark.parametrize(("pieces", "intervals"), [(3, 7), (7, 7), (5, 1000), (1, 4)])
def test_piecewise_constant_grid_and_time_agree(pieces, intervals):
    basis = PiecewiseConstant(pieces).basis(intervals)
    steps = np.arange(1, intervals + 1)
    exact = [-(-pieces * int(s) // intervals) - 1 for s in steps]
    assert list(basis.argmax(axis=1)) == exact
    assert np.all(basis.sum(axis=1) == 1)


@pytest.mark.parametrize("powers", [1, 2, 3, 4])
def test_log_time_holds_powers_of_the_logarithm(powers):
    times = np.arange(1, 51) / 50
    expected = np.column_stack([np.log(times) ** k for k in range(powers)])
    np.testing.assert_allclose(LogTime(powers).basis(50), expected, rtol=1e-14, atol=1e-300)
    assert np.linalg.matrix_rank(expected) == powers
    assert np.all(np.isfinite(LogTime(powers).evaluate(np.array([0.0, 1.0]))))


def power_of_time(people, power, seed=3):
    """A model, and people whose hazard is 1 - exp(-0.02 t^power), by intervals."""
    hazard = -np.expm1(-0.02 * (np.arange(1, 41) / 40) ** power)
    dead = np.random.default_rng(seed).random((40, people)) < hazard[:, None]
    first = np.where(dead.any(axis=0), dead.argmax(axis=0), 39)
    time = {"duration": "t", "event": "e", "horizon": 40.0, "intervals": 40}
    model = ds.SurvivalRegression({"time": time}, link="cloglog", baseline="log-time:2")
    return model, pa.table({"t": first + 0.5, "e": dead.any(axis=0)})


def test_a_power_of_time_is_found_again():
    model, people = power_of_time(100_000, 0.7)
    found = model.fit(people).model_.coefficients.baselines[0]
    np.testing.assert_allclose(found, [np.log(0.02), 0.7], atol=0.05)


def test_a_private_fit_finds_it_too():
    """Two parameters and a steep beginning: within five of the standard errors that it states."""
    model, people = power_of_time(8000, -0.6)
    exact = model.fit(people).model_.coefficients.baselines[0]
    private = ds.simulate(
        model, people, mechanism=ds.PrivateNewton(epsilon=1, delta=1e-6), seed=2
    ).model_
    errors = np.sqrt(
        np.diag(private.design.to_user @ private.covariance @ private.design.to_user.T)
    )
    gaps = np.abs(np.subtract(private.coefficients.baselines[0], exact)) / errors
    assert gaps.max() < 5


def test_spellings_round_trip_and_bad_ones_say_what_to_write():
    for baseline in (NaturalSpline(5), PiecewiseConstant(12), LogTime(2)):
        assert parse_baseline(baseline.spelling) == baseline
    for wrong in ("spline:3", "natural-spline", "natural-spline:x", "piecewise-constant:-1"):
        with pytest.raises(SettingsError, match="natural-spline:KNOTS"):
            parse_baseline(wrong)
    for wrong in (0, -1, 10**6, True, 2.0):
        with pytest.raises(SettingsError, match="knots must be a whole number"):
            NaturalSpline(wrong)
        with pytest.raises(SettingsError, match="powers must be a whole number from 1 to 4"):
            LogTime(wrong)
