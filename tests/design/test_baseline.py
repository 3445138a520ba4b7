"""Baseline bases against their formulas."""

import numpy as np
import pytest

from discreet.design.baseline import NaturalSpline, PiecewiseConstant, parse_baseline
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


@pytest.mark.parametrize("baseline", [NaturalSpline(1), NaturalSpline(4), PiecewiseConstant(7)])
def test_constants_are_in_the_span(baseline):
    np.testing.assert_allclose(baseline.basis(100) @ baseline.constant, 1.0)


@pytest.mark.parametrize(("pieces", "intervals"), [(3, 7), (7, 7), (5, 1000), (1, 4)])
def test_piecewise_constant_grid_and_time_agree(pieces, intervals):
    basis = PiecewiseConstant(pieces).basis(intervals)
    steps = np.arange(1, intervals + 1)
    exact = [-(-pieces * int(s) // intervals) - 1 for s in steps]
    assert list(basis.argmax(axis=1)) == exact
    assert np.all(basis.sum(axis=1) == 1)


def test_spellings_round_trip_and_bad_ones_say_what_to_write():
    for baseline in (NaturalSpline(5), PiecewiseConstant(12)):
        assert parse_baseline(baseline.spelling) == baseline
    for wrong in ("spline:3", "natural-spline", "natural-spline:x", "piecewise-constant:-1"):
        with pytest.raises(SettingsError, match="natural-spline:KNOTS"):
            parse_baseline(wrong)
    for wrong in (0, -1, 10**6, True, 2.0):
        with pytest.raises(SettingsError, match="knots must be a whole number"):
            NaturalSpline(wrong)
