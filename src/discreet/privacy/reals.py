"""Random real numbers that are drawn as precisely as they are asked for.

A uniform number is an infinite string of random bits of which the first n are known; what is
computed from it is enclosed by ball arithmetic (Arb: F. Johansson, IEEE Transactions on Computers
66, 2017).  A decision taken on an enclosure is the decision for the infinite string, so the
samplers built on this module have exactly the law they state.  Proof: docs/proofs/noise.md,
section 3.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

from flint import arb, ctx

from discreet.errors import SettingsError

BitSource = Callable[[int], int]
"""Called with a count n: an integer made of n fresh uniform bits."""

GUARD_BITS = 64
"""Precision beyond the unit digit: fewer than one draw in 2^40 needs a second, finer look."""


class LazyUniform:
    """U = 0.b1 b2 b3 ... in [0, 1], bit by bit; bits once drawn are kept."""

    def __init__(self, bits: BitSource) -> None:
        self._bits = bits
        self._known = 0
        self._count = 0

    def enclose(self, precision: int) -> arb:
        """The ball [m, m + 1] 2^-n that holds U, with n >= `precision` known bits."""
        missing = precision - self._count
        if missing > 0:
            self._known = (self._known << missing) | self._bits(missing)
            self._count = precision
        return arb((2 * self._known + 1, -self._count - 1), (1, -self._count - 1))


class Enclosure(NamedTuple):
    """Balls around a radius R and the coordinates of a vector of that norm."""

    radius: arb
    vector: list[arb]


class RealLaplace:
    """X in R^d with density proportional to exp(-|x| / s), as a function of lazy uniforms.

    X = R G / |G| with R = -s log(U_1 ... U_d), a Gamma variable of shape d, and G standard
    Gaussian; the pairs of G are sqrt(-2 log V) (cos 2 pi W, sin 2 pi W).  The factor sqrt 2
    cancels in G / |G| and is left out.
    """

    def __init__(self, dimension: int, scale: Fraction, bits: BitSource) -> None:
        self._dimension = dimension
        self._scale = scale
        self._radial = [LazyUniform(bits) for _ in range(dimension)]
        pairs = (dimension + 1) // 2
        self._angular = [(LazyUniform(bits), LazyUniform(bits)) for _ in range(pairs)]

    def enclose(self, precision: int) -> Enclosure:
        """Balls that hold |X| and X; unbounded (NaN) ones ask for more precision."""
        with ctx.workprec(precision):
            radius = self._radius(precision)
            direction = self._gaussian(precision)
            squares = sum((g * g for g in direction), arb(0))
            factor = radius / squares.sqrt()
            return Enclosure(radius, [factor * g for g in direction])

    def _radius(self, precision: int) -> arb:
        product = arb(1)
        for uniform in self._radial:
            product *= uniform.enclose(precision)
        return -rational(self._scale) * product.log()

    def _gaussian(self, precision: int) -> list[arb]:
        coordinates = []
        for first, second in self._angular:
            length = (-first.enclose(precision).log()).sqrt()
            cosine, sine = _circle(second.enclose(precision))
            coordinates += [length * cosine, length * sine]
        return coordinates[: self._dimension]


def rational(value: Fraction) -> arb:
    """A ball that holds the rational number, at the current working precision."""
    return arb(value.numerator) / value.denominator


def first_precision(scale: Fraction) -> int:
    """Working precision that resolves numbers of the size of `scale` to 2^-GUARD_BITS."""
    return GUARD_BITS + max(0, math.ceil(scale).bit_length())


def check_law(dimension: int, scale: Fraction) -> None:
    """`SettingsError` unless the dimension and the scale describe a law."""
    if type(dimension) is not int or dimension < 1:
        raise SettingsError("the dimension of the noise must be a positive integer")
    if type(scale) is not Fraction or scale <= 0:
        raise SettingsError("the scale of the noise must be a positive rational number")


def _circle(uniform: arb) -> tuple[arb, arb]:
    """The cosine and the sine of 2 pi times the uniform number."""
    sine, cosine = (2 * uniform).sin_cos_pi()
    return cosine, sine
