"""Scales are exact rationals, rounded so that rounding never weakens a guarantee."""

import math
from fractions import Fraction

import pytest
from flint import ctx
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import SettingsError
from discreet.privacy.exact import rational
from discreet.privacy.scales import (
    exact,
    float_above,
    gaussian_scale,
    laplace_scale,
    upper_square_root,
)


@given(st.fractions(Fraction(1, 10**9), Fraction(10**18)))
def test_roots_and_floats_are_rounded_up(value):
    root = upper_square_root(value)
    assert value <= root**2 <= value * (1 + Fraction(1, 2**62))
    above = float_above(value)
    assert Fraction(math.nextafter(above, -math.inf)) < value <= Fraction(above)


@given(st.integers(1, 10**9), st.floats(1e-6, 1e3))
def test_the_gaussian_scale_never_undershoots(sensitivity, rho):
    scale = Fraction(gaussian_scale(sensitivity, rho))
    assert Fraction(sensitivity) ** 2 / (2 * (scale**2 - 5)) <= exact(rho)
    assert math.isclose(scale, math.sqrt(sensitivity**2 / (2 * rho) + 5), rel_tol=1e-12)


def test_a_setting_is_the_decimal_it_shows():
    assert exact(0.1) == Fraction(1, 10)
    assert laplace_scale(3, 0.1) == 30
    assert exact(Fraction(1, 3)) == Fraction(1, 3)
    for value in (math.inf, math.nan):
        with pytest.raises(SettingsError):
            exact(value)
    for sensitivity, epsilon in ((0, 1.0), (1, 0.0), (-1, 1.0)):
        with pytest.raises(SettingsError):
            laplace_scale(sensitivity, epsilon)


def test_a_ball_holds_its_rational():
    with ctx.workprec(40):
        assert 3 * rational(Fraction(1, 3)) - 1 < 2.0**-30
        assert (3 * rational(Fraction(1, 3))).contains(1)
