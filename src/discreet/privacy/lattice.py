"""The L2-Laplace law on the integer lattice, drawn exactly in any dimension.

    P(k) = exp(-|k| / s) / Z,    k in Z^d,

gives pure epsilon-DP with epsilon = Delta / s, Delta the L2 sensitivity of the integer vector it
is added to.  A continuous draw is rounded and the rounding corrected by rejection; almost every
proposal is accepted when the grid is finer than the noise.  Proof: docs/proofs/noise.md, section 3.
"""

from collections.abc import Sequence
from fractions import Fraction

from flint import arb, ctx

from discreet.errors import SettingsError
from discreet.privacy.reals import (
    BitSource,
    Enclosure,
    LazyUniform,
    RealLaplace,
    check_law,
    first_precision,
    rational,
)


def sample_lattice_laplace(dimension: int, scale: Fraction, bits: BitSource) -> list[int]:
    """One exact draw of the law with mass proportional to exp(-|k| / scale)."""
    check_law(dimension, scale)
    if 4 * scale * scale < dimension:
        raise SettingsError("the grid is too coarse for this noise: use a finer grid")
    while True:
        point = _propose(dimension, scale, bits)
        if point is not None:
            return point


def _propose(dimension: int, scale: Fraction, bits: BitSource) -> list[int] | None:
    """Round one continuous draw; None if the correction rejects it."""
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
    """floor(x + 1/2) in every coordinate, or None while one of them is not decided."""
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
    """Whether s E + R > |K| + sqrt(d) / 2 with E = -log U; None while undecided."""
    with ctx.workprec(precision):
        left = draw.radius - rational(scale) * uniform.log()
        norm = arb(sum(k * k for k in point)).sqrt()
        right = norm + arb(len(point)).sqrt() / 2
        if left > right:
            return True
        return False if left < right else None
