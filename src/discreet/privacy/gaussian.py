"""The exact curve of Gaussian noise, certified by ball arithmetic.

    delta(epsilon) = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu),   mu = sqrt(2 rho),

Balle and Wang (2018), theorem 8; as Gaussian differential privacy, Dong, Roth and Su (2022).  It
holds for any sequence of noisy sums whose rho add up, also if each sum depends on the outcomes
before it, and for integer noise whose variance is by `scales.SMOOTHING` larger than that of
continuous noise.  Proof: docs/proofs/accounting.md, section 3.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from flint import arb, ctx

from discreet.errors import SettingsError
from discreet.privacy.exact import rational

SMOOTHING_SHARE = Fraction(1, 2**20)
"""The part of delta for the factor by which integer noise differs from rounded continuous noise."""
SMALLEST_DELTA = Fraction(1, 10**18)
"""The smallest delta for which that part is enough for 10^17 noisy integers."""
SMALLEST_RHO = Fraction(1, 2**1000)
"""The end of the search for a rho, reached only if arithmetic cannot decide."""
PRECISION = 192
DIGITS = 12


def gaussian_delta(epsilon: Fraction, rho: Fraction) -> arb:
    """Return a ball around the least delta at which noise of this rho is (epsilon, delta)-DP."""
    with ctx.workprec(_precision(epsilon)):
        half, size = rational(rho / 2).sqrt(), rational(epsilon)
        middle = size / (4 * half)  # mu = 2 half; the arguments of erfc are divided by sqrt(2)
        root = arb(2).sqrt()
        upper, lower = (root * middle - half / root), (root * middle + half / root)
        return (upper.erfc() - size.exp() * lower.erfc()) / 2


def _precision(epsilon: Fraction) -> int:
    # large epsilons cancel their digits twice
    return PRECISION + 2 * math.ceil(epsilon).bit_length()


def satisfies(epsilon: Fraction, delta: Fraction, rho: Fraction) -> bool:
    """Return whether integer noise of this rho is certainly (epsilon, delta)-DP."""
    with ctx.workprec(_precision(epsilon)):
        return bool(gaussian_delta(epsilon, rho) <= rational(delta * (1 - SMOOTHING_SHARE)))


@lru_cache(maxsize=256)
def largest_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the largest rho of twelve digits that satisfies (epsilon, delta)."""
    # the largest power of two that satisfies the curve; rho is near epsilon if that is large
    power = Fraction(2 ** math.ceil(epsilon).bit_length())
    while not satisfies(epsilon, delta, power):
        power /= 2
        if power < SMALLEST_RHO:
            raise SettingsError("epsilon or delta is out of the range that can be accounted for")
    while satisfies(epsilon, delta, 2 * power):
        power *= 2
    unit = Fraction(10) ** (math.floor(math.log10(power)) - DIGITS + 1)
    low, high = math.floor(power / unit), math.ceil(2 * power / unit)
    beyond = smallest_integer(lambda units: not satisfies(epsilon, delta, units * unit), low, high)
    return (beyond - 1) * unit


def smallest_integer(holds: Callable[[int], bool], low: int, high: int) -> int:
    """Return the least integer above `low` for which a monotone rule holds; it holds for `high`."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
