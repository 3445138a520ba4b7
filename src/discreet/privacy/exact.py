"""L2-Laplace laws, drawn exactly on the integer lattice and with a certified error on R^d.

A uniform number is an infinite string of random bits of which the first n are known; numbers computed
from it are enclosed by ball arithmetic (Arb: F. Johansson, IEEE Transactions on Computers 66, 2017).
A decision on an enclosure is the decision for the infinite string, so the samplers have exactly the
stated laws.

    P(k) = exp(-|k| / s) / Z,    k in Z^d,

gives pure epsilon-DP with epsilon = Delta / s, Delta the L2 sensitivity of the integer vector to
which the noise is added.  A continuous draw is rounded and the rounding corrected by rejection; almost
every proposal is accepted if the grid is finer than the noise.

Objective perturbation tilts the objective by b with density proportional to exp(-|b| / s) on R^d.
The floats lie within a stated distance of a vector that has exactly this density; the budget of the
mechanism covers that distance.  Proofs: docs/proofs/noise.md, sections 3 and 4.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from discreet.errors import SettingsError
from discreet.privacy.scales import float_above

BitSource = Callable[[int], int]
"""Returns an integer of n fresh uniform bits."""

GUARD_BITS = 64
"""Precision beyond the unit digit: fewer than one draw in 2^40 needs a second, finer pass."""


class LazyUniform:
    """U = 0.b1 b2 b3 ... in [0, 1], bit by bit; bits once drawn are kept."""

    def __init__(self, bits: BitSource) -> None:
        self._bits = bits
        self._known = 0
        self._count = 0

    def enclose(self, precision: int) -> arb:
        """Return the ball [m, m + 1] 2^-n that contains U, with n >= `precision` known bits."""
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
        """Return balls that contain |X| and X; NaN if more precision is needed."""
        with ctx.workprec(precision):
            product = arb(1)
            for uniform in self._radial:
                product *= uniform.enclose(precision)
            radius = -rational(self._scale) * product.log()
            coordinates = []
            for first, second in self._angular:
                length = (-first.enclose(precision).log()).sqrt()
                sine, cosine = (2 * second.enclose(precision)).sin_cos_pi()
                coordinates += [length * cosine, length * sine]
            direction = coordinates[: self._dimension]
            squares = sum((g * g for g in direction), arb(0))
            factor = radius / squares.sqrt()
            return Enclosure(radius, [factor * g for g in direction])


def rational(value: Fraction) -> arb:
    """Return a ball that contains the rational number, at the current working precision."""
    return arb(value.numerator) / value.denominator


def first_precision(scale: Fraction) -> int:
    """Return a working precision that resolves numbers of the size of `scale` to 2^-GUARD_BITS."""
    return GUARD_BITS + max(0, math.ceil(scale).bit_length())


def check_law(dimension: int, scale: Fraction) -> None:
    """Raise `SettingsError` unless the dimension and the scale define a law."""
    if type(dimension) is not int or dimension < 1:
        raise SettingsError("the dimension of the noise must be a positive integer")
    if type(scale) is not Fraction or scale <= 0:
        raise SettingsError("the scale of the noise must be a positive rational number")


def require_lattice(dimension: int, scale: Fraction) -> None:
    """Raise `SettingsError` unless 4 s^2 >= d, which the proposal of lattice noise requires."""
    if 4 * scale * scale < dimension:
        raise SettingsError(
            "the noise is too small for the grid it is drawn on: ask for a smaller epsilon."
        )


def sample_lattice_laplace(dimension: int, scale: Fraction, bits: BitSource) -> list[int]:
    """Draw from the law with mass proportional to exp(-|k| / scale), exactly."""
    check_law(dimension, scale)
    require_lattice(dimension, scale)
    while True:
        point = _propose(dimension, scale, bits)
        if point is not None:
            return point


def _propose(dimension: int, scale: Fraction, bits: BitSource) -> list[int] | None:
    """Round a continuous draw; return None if the correction rejects it."""
    draw = RealLaplace(dimension, scale, bits)
    uniform = LazyUniform(bits)
    precision = first_precision(scale)
    while True:
        enclosure = draw.enclose(precision)
        point = _nearest(enclosure.vector, precision)
        if point is not None:
            accepted = _accept(point, enclosure, scale, uniform.enclose(precision), precision)
            if accepted is not None:
                return point if accepted else None
        precision *= 2


def _nearest(vector: Sequence[arb], precision: int) -> list[int] | None:
    """Return floor(x + 1/2) in every coordinate, or None while one of them is not decided."""
    point = []
    with ctx.workprec(precision):
        for coordinate in vector:
            integer = (coordinate + 0.5).floor().unique_fmpz()
            if integer is None:
                return None
            point.append(int(integer))
    return point


def _accept(
    point: Sequence[int], draw: Enclosure, scale: Fraction, uniform: arb, precision: int
) -> bool | None:
    """Return whether s E + R > |K| + sqrt(d) / 2 with E = -log U; None while undecided."""
    with ctx.workprec(precision):
        left = draw.radius - rational(scale) * uniform.log()
        norm = arb(sum(k * k for k in point)).sqrt()
        right = norm + arb(len(point)).sqrt() / 2
        if left > right:
            return True
        return False if left < right else None


PRECISION = 128
"""Bits of every uniform number: the rounding to float64 then dominates the error."""

RELATIVE_ERROR = Fraction(1, 2**40)
"""The public error bound in units of the scale; a radius beyond 2^12 scales would exceed it."""


class ContinuousDraw(NamedTuple):
    """Floats within `error` (Euclidean norm) of a real vector of exactly the stated law."""

    vector: NDArray[np.float64]
    error: float


def continuous_error(scale: Fraction) -> float:
    """Return the public bound 2^-40 s on the error; exceeded with probability below exp(-2500)."""
    return float_above(RELATIVE_ERROR * scale)


def sample_continuous_laplace(dimension: int, scale: Fraction, bits: BitSource) -> ContinuousDraw:
    """Draw from the density proportional to exp(-|b| / scale), with its error bound."""
    check_law(dimension, scale)
    draw = RealLaplace(dimension, scale, bits)
    precision = PRECISION
    while True:
        enclosure = draw.enclose(precision).vector
        vector = [float(coordinate.mid()) for coordinate in enclosure]
        error = _distance(enclosure, vector, precision)
        if math.isfinite(error):
            return ContinuousDraw(np.array(vector), max(error, continuous_error(scale)))
        precision *= 2


def _distance(enclosure: Sequence[arb], vector: Sequence[float], precision: int) -> float:
    """Return a float not below the largest distance from `vector` to a point of the enclosure."""
    if not all(math.isfinite(coordinate) for coordinate in vector):
        return math.inf
    with ctx.workprec(precision):
        gaps = [ball - value for ball, value in zip(enclosure, vector, strict=True)]
        total = sum((gap * gap for gap in gaps), arb(0)).sqrt()
        return math.nextafter(float(total.upper()), math.inf)
