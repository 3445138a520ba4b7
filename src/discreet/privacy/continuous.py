"""A real L2-Laplace vector as floats, with a certified distance to the real draw.

Objective perturbation tilts the objective by b with density proportional to exp(-|b| / s) on R^d.
The floats returned lie within a stated distance of a vector that has exactly this density; the
mechanism pays for that distance.  Proof: docs/proofs/noise.md, section 4.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from discreet.privacy.reals import BitSource, RealLaplace, check_law
from discreet.privacy.scales import float_above

PRECISION = 128
"""Bits of every uniform number: the rounding to float64 then dominates the error."""

RELATIVE_ERROR = Fraction(1, 2**40)
"""The public error bound in units of the scale; a radius beyond 2^12 scales would exceed it."""


class ContinuousDraw(NamedTuple):
    """Floats within `error` (Euclidean norm) of a real vector of exactly the stated law."""

    vector: NDArray[np.float64]
    error: float


def continuous_error(scale: Fraction) -> float:
    """The public bound 2^-40 s on the error; exceeded with probability below exp(-2500)."""
    return float_above(RELATIVE_ERROR * scale)


def sample_continuous_laplace(dimension: int, scale: Fraction, bits: BitSource) -> ContinuousDraw:
    """One draw of the density proportional to exp(-|b| / scale), with its error bound."""
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
    """A float not below the largest distance from `vector` to a point of the enclosure."""
    if not all(math.isfinite(coordinate) for coordinate in vector):
        return math.inf
    with ctx.workprec(precision):
        gaps = [ball - value for ball, value in zip(enclosure, vector, strict=True)]
        total = sum((gap * gap for gap in gaps), arb(0)).sqrt()
        return math.nextafter(float(total.upper()), math.inf)
