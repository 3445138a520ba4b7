"""The public grid 2^k on which everything is released.

Proof that rounding to the grid and back is harmless: docs/proofs/noise.md, section 1.
"""

import math
import sys
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import DataFormError, SettingsError

IntegerVector = NDArray[np.object_]
"""Python integers: sums cannot overflow."""

LARGEST_EXPONENT = 1000


@dataclass(frozen=True)
class Grid:
    """The multiples of 2^exponent."""

    exponent: int

    def __post_init__(self) -> None:
        """Reject exponents whose multiples are not floats."""
        if type(self.exponent) is not int or abs(self.exponent) > LARGEST_EXPONENT:
            raise SettingsError("the exponent of a grid must be an integer from -1000 to 1000")

    @property
    def step(self) -> float:
        """The spacing 2^k, exactly."""
        return math.ldexp(1.0, self.exponent)

    def to_integers(self, values: ArrayLike) -> IntegerVector:
        """The integers nearest to values / 2^k, ties to even."""
        with np.errstate(over="ignore"):
            steps = np.rint(np.ldexp(np.asarray(values, dtype=np.float64), -self.exponent))
        if not np.all(np.isfinite(steps)):
            raise DataFormError("a value to be put on the grid must be finite and within its range")
        return integer_vector([int(step) for step in steps.ravel()]).reshape(steps.shape)

    def to_floats(self, integers: ArrayLike) -> NDArray[np.float64]:
        """Integers times 2^k: exact below 2^53, else the leading 53 bits; never infinite."""
        values = np.asarray(integers, dtype=object)
        floats = [_scaled(int(value), self.exponent) for value in values.ravel()]
        return np.array(floats, dtype=np.float64).reshape(values.shape)


def integer_vector(values: list[int]) -> IntegerVector:
    """The integers as an array of Python integers."""
    vector = np.empty(len(values), dtype=object)
    vector[:] = values
    return vector


def _scaled(value: int, exponent: int) -> float:
    """A release must not fail on an absurdly large draw: it stops at the largest float."""
    try:
        return math.ldexp(float(value), exponent)
    except OverflowError:
        return sys.float_info.max if value > 0 else -sys.float_info.max
