"""The exact curve of Gaussian noise, certified by ball arithmetic.

    delta(epsilon) = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu),   mu = sqrt(2 rho),

Balle and Wang (2018), theorem 8; as Gaussian differential privacy, Dong, Roth and Su (2022).  It
holds of any sequence of noisy sums whose rho add up, also where each sum is chosen by the outcomes
of those before, and of integer noise whose variance is by `scales.SMOOTHING` larger than continuous
noise would need.  Proof: docs/proofs/accounting.md, section 3.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from flint import arb, ctx

from discreet.errors import SettingsError
from discreet.privacy.exact import rational

SMOOTHING_SHARE = Fraction(1, 2**20)
"""The part of delta that pays for integer noise being rounded continuous noise up to a factor only."""
SMALLEST_DELTA = Fraction(1, 10**18)
"""From here on that part is enough for 10^17 noisy integers."""
SMALLEST_RHO = Fraction(1, 2**1000)
"""Where the search for a rho gives up: only what arithmetic cannot decide comes so far."""
PRECISION = 192
DIGITS = 12


def gaussian_delta(epsilon: Fraction, rho: Fraction) -> arb:
    """A ball around the least delta at which noise of this rho keeps epsilon."""
    with ctx.workprec(_precision(epsilon)):
        half, size = rational(rho / 2).sqrt(), rational(epsilon)
        middle = size / (4 * half)  # mu = 2 half; the arguments of erfc are divided by sqrt(2)
        root = arb(2).sqrt()
        upper, lower = (root * middle - half / root), (root * middle + half / root)
        return (upper.erfc() - size.exp() * lower.erfc()) / 2


def _precision(epsilon: Fraction) -> int:
    """Large epsilons cancel as many digits as they have, twice."""
    return PRECISION + 2 * math.ceil(epsilon).bit_length()


def keeps(epsilon: Fraction, delta: Fraction, rho: Fraction) -> bool:
    """Whether integer noise of this rho is (epsilon, delta)-DP, for certain."""
    with ctx.workprec(_precision(epsilon)):
        return bool(gaussian_delta(epsilon, rho) <= rational(delta * (1 - SMOOTHING_SHARE)))


@lru_cache(maxsize=256)
def largest_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest rho of twelve digits that keeps (epsilon, delta)."""
    power = _power_kept(epsilon, delta)
    unit = Fraction(10) ** (math.floor(math.log10(power)) - DIGITS + 1)
    low, high = math.floor(power / unit), math.ceil(2 * power / unit)
    beyond = least(lambda units: not keeps(epsilon, delta, units * unit), low, high)
    return (beyond - 1) * unit


def least(holds: Callable[[int], bool], low: int, high: int) -> int:
    """The least integer above `low` for which a monotone rule holds; it holds for `high`."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _power_kept(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest power of two that is a rho which keeps (epsilon, delta)."""
    power = Fraction(
        2 ** math.ceil(epsilon).bit_length()
    )  # rho is near epsilon where that is large
    while not keeps(epsilon, delta, power):
        power /= 2
        if power < SMALLEST_RHO:
            raise SettingsError("epsilon or delta is out of the range that can be accounted for")
    while keeps(epsilon, delta, 2 * power):
        power *= 2
    return power
