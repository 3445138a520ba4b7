"""Noise that can be repeated, for tests and simulations: nothing made with it is private.

A seed makes noise reproducible, and therefore removable.  Results have `private = False`; they can
neither be released nor charged.
"""

import random
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from discreet.privacy.noise import NoiseSource, checked_integers, checked_scale
from discreet.privacy.scales import IntegerVector, integer_vector


class SeededNoise(NoiseSource):
    """The laws of `SystemNoise` from a seed.

    The lattice and continuous laws run through the code of `SystemNoise`.  The laws of OpenDP are
    replaced by rounded floats of numpy, which is exact enough for a simulation and no protection.
    """

    private: ClassVar[bool] = False

    def __init__(self, seed: int) -> None:
        self._bits = random.Random(seed)  # noqa: S311  # a seeded generator is the point
        self._generator = np.random.default_rng(seed)

    def uniform_bits(self, count: int) -> int:
        """Return bits that the seed determines."""
        return self._bits.getrandbits(count)

    def discrete_gaussian(self, values: ArrayLike, scale: float | Fraction) -> IntegerVector:
        """Return the integers plus rounded normal noise."""
        integers = checked_integers(values)
        noise = np.rint(self._generator.normal(0.0, checked_scale(scale), len(integers)))
        return _sums(integers, [int(step) for step in noise])

    def l1_laplace(self, values: ArrayLike, scale: float | Fraction) -> IntegerVector:
        """Return the integers plus a difference of geometric numbers, which is discrete Laplace."""
        integers = checked_integers(values)
        success = -np.expm1(-1.0 / checked_scale(scale))
        pairs = self._generator.geometric(success, (2, len(integers)))
        return _sums(integers, (pairs[0] - pairs[1]).tolist())


def _sums(values: list[int], noise: list[int]) -> IntegerVector:
    return integer_vector([value + step for value, step in zip(values, noise, strict=True)])
