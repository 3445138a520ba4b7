"""Exact settings and noise scales, rounded so that rounding never weakens a guarantee.

Proof: docs/proofs/noise.md, section 5.
"""

import math
from fractions import Fraction

from discreet.errors import SettingsError

Number = int | float | Fraction

ROOT_BITS = 64
"""Relative precision of `upper_square_root`."""


def exact(value: Number) -> Fraction:
    """The number a setting shows: 0.1 is one tenth, not the binary fraction beside it."""
    if isinstance(value, float):
        if not math.isfinite(value):
            raise SettingsError("a privacy setting must be a finite number")
        return Fraction(repr(float(value)))
    return Fraction(value)


def float_above(value: Fraction) -> float:
    """The smallest float not below the rational number."""
    nearest = _nearest_float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def upper_square_root(value: Fraction) -> Fraction:
    """A rational r with r^2 >= value, at most a factor 1 + 2^-64 above the root."""
    if value < 0:
        raise SettingsError("a squared sensitivity cannot be negative")
    if value == 0:
        return Fraction(0)
    size = value.numerator.bit_length() - value.denominator.bit_length()
    shift = max(0, ROOT_BITS + 1 - size // 2)
    scaled = math.ceil(value * 4**shift)
    return Fraction(math.isqrt(scaled - 1) + 1, 2**shift)


def laplace_scale(sensitivity: Number, epsilon: Number) -> Fraction:
    """s = Delta / epsilon, for `lattice_laplace` (Delta in L2) and `l1_laplace` (in L1)."""
    return _positive(sensitivity, "sensitivity") / _positive(epsilon, "epsilon")


def gaussian_scale(sensitivity: Number, rho: Number) -> float:
    """A float not below sigma = Delta / sqrt(2 rho), for `discrete_gaussian`."""
    squared = _positive(sensitivity, "sensitivity") ** 2 / (2 * _positive(rho, "rho"))
    return float_above(upper_square_root(squared))


def _positive(value: Number, name: str) -> Fraction:
    number = exact(value)
    if number <= 0:
        raise SettingsError(f"{name} must be a finite number greater than 0")
    return number


def _nearest_float(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        raise SettingsError("a noise scale is too large to be a float") from None
