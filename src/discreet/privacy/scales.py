"""Exact settings, noise scales rounded up, and the public grid 2^k of released numbers.

Proof: docs/proofs/noise.md, sections 1 (the grid) and 5 (scales).
"""

import math
import sys
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import DataFormError, SettingsError

Number = int | float | Fraction

ROOT_BITS = 64
"""Relative precision of `upper_square_root`."""


def is_number(value: object) -> bool:
    """Return whether the value is a finite real number (booleans are not)."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= sys.float_info.max  # also of integers beyond the floats


def is_count(value: object) -> bool:
    """Return whether the value is a whole number of at least 1."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def require_choice(name: str, value: object, choices: tuple[object, ...]) -> None:
    """Raise `SettingsError` unless the setting is one of the choices, of their type."""
    if type(value) is not type(choices[0]) or value not in choices:
        raise SettingsError(f"{name} must be one of {', '.join(map(str, choices))}")


def exact(value: Number) -> Fraction:
    """Return the decimal number of a setting: 0.1 is one tenth, not the nearest binary fraction."""
    if isinstance(value, float):
        if not math.isfinite(value):
            raise SettingsError("a privacy setting must be a finite number")
        return Fraction(repr(float(value)))
    return Fraction(value)


def float_above(value: Fraction) -> float:
    """Return the smallest float not below the rational number."""
    try:
        nearest = float(value)
    except OverflowError:
        raise SettingsError("a noise scale is too large to be a float") from None
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def upper_square_root(value: Fraction) -> Fraction:
    """Return a rational r with r^2 >= value, at most a factor 1 + 2^-64 above the root."""
    if value < 0:
        raise SettingsError("a squared sensitivity cannot be negative")
    if value == 0:
        return Fraction(0)
    size = value.numerator.bit_length() - value.denominator.bit_length()
    shift = max(0, ROOT_BITS + 1 - size // 2)
    scaled = math.ceil(value * 4**shift)
    return Fraction(math.isqrt(scaled - 1) + 1, 2**shift)


def laplace_scale(sensitivity: Number, epsilon: Number) -> Fraction:
    """Return s = Delta / epsilon, for `lattice_laplace` (Delta in L2) and `l1_laplace` (in L1)."""
    return _positive(sensitivity, "sensitivity") / _positive(epsilon, "epsilon")


SMOOTHING = 5
"""s^2: integer noise of variance sigma^2 is continuous noise of variance sigma^2 - s^2, rounded."""


def gaussian_scale(sensitivity: Number, rho: Number) -> float:
    """Return a float not below sigma = sqrt(Delta^2 / (2 rho) + s^2), for `discrete_gaussian`.

    Proof: docs/proofs/accounting.md, section 3.
    """
    squared = _positive(sensitivity, "sensitivity") ** 2 / (2 * _positive(rho, "rho"))
    return float_above(upper_square_root(squared + SMOOTHING))


def _positive(value: Number, name: str) -> Fraction:
    number = exact(value)
    if number <= 0:
        raise SettingsError(f"{name} must be a finite number greater than 0")
    return number


IntegerVector = NDArray[np.object_]
"""Python integers: sums cannot overflow."""

LARGEST_EXPONENT = 1000


@dataclass(frozen=True)
class NoiseGrid:
    """The multiples of 2^exponent."""

    exponent: int

    def __post_init__(self) -> None:
        if type(self.exponent) is not int or abs(self.exponent) > LARGEST_EXPONENT:
            raise SettingsError("the exponent of a grid must be an integer from -1000 to 1000")

    def to_integers(self, values: ArrayLike) -> IntegerVector:
        """Return the integers nearest to values / 2^k, ties to even."""
        with np.errstate(over="ignore"):
            steps = np.rint(np.ldexp(np.asarray(values, dtype=np.float64), -self.exponent))
        if not np.all(np.isfinite(steps)):
            raise DataFormError("a value to be put on the grid must be finite and within its range")
        return integer_vector([int(step) for step in steps.ravel()]).reshape(steps.shape)

    def to_floats(self, integers: ArrayLike) -> NDArray[np.float64]:
        """Return integers times 2^k: exact below 2^53, else the leading 53 bits; never infinite."""
        values, floats = np.asarray(integers, dtype=object), []
        for value in map(int, values.ravel()):
            try:
                floats.append(math.ldexp(float(value), self.exponent))
            except OverflowError:  # a release must not fail for an absurdly large draw
                floats.append(sys.float_info.max if value > 0 else -sys.float_info.max)
        return np.array(floats, dtype=np.float64).reshape(values.shape)


def integer_vector(values: list[int]) -> IntegerVector:
    """Return an array of Python integers."""
    vector = np.empty(len(values), dtype=object)
    vector[:] = values
    return vector
