"""Noise that several sites draw together, none of them knowing the sum.

Each of m sites adds discrete Gaussian noise of variance sigma^2 / (m - t), so that what is left
when t of them subtract theirs still has variance sigma^2.  The sum of discrete Gaussians is not
quite discrete Gaussian; at scales from `SMALLEST_SHARE` on, the difference costs less than one part
in 2^40 of rho, which is set aside.  Proof: docs/proofs/federation.md.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

from discreet.errors import SettingsError
from discreet.privacy.scales import upper_square_root

FEWEST_SITES, MOST_SITES = 3, 64

SMALLEST_SHARE = 4
"""The least scale of one site's noise: where the sum is not yet Gaussian, more noise is drawn."""

LARGEST_SHARE = 2**57
"""A draw beyond 2^62, 32 times this, has a probability below e^-500; OpenDP's integers end there."""

SET_ASIDE = Fraction(1, 2**40)
"""The part of rho that pays for the sum not being discrete Gaussian."""

LEAST_RHO, MOST_RHO = Fraction(1, 10**12), 40
MOST_COORDINATES = 10**6
"""How many integers one release may open; with the limits on rho, what `SET_ASIDE` was proved for."""

NO_PURE_EPSILON = (
    "pure epsilon is not offered across sites: sums of Laplace noise are not Laplace. "
    "Leave delta out, or give one greater than 0 (--delta 1e-6)."
)


@dataclass(frozen=True)
class NoiseShares:
    """How many sites draw noise, and how many of them may collude.

    Parameters
    ----------
    sites
        m, the number of sites; 1 is a fit at one place.
    colluding
        t, the number of sites that may put together what they know; fewer than half.

    """

    sites: int
    colluding: int

    def __post_init__(self) -> None:
        """Refuse numbers for which there is no protocol."""
        if (self.sites, self.colluding) == (1, 0):
            return
        if not FEWEST_SITES <= self.sites <= MOST_SITES:
            raise SettingsError(f"a joint fit takes {FEWEST_SITES} to {MOST_SITES} sites.")
        if not self.colluding >= 1 or not 2 * self.colluding < self.sites:
            raise SettingsError("the sites that may collude are at least 1 and fewer than half.")

    @classmethod
    def among(cls, sites: int, colluding: int | None = None) -> Self:
        """The shares of m sites; unless given, t is the largest number below m / 2."""
        return cls(sites, (sites - 1) // 2 if colluding is None else colluding)

    @classmethod
    def read(cls, details: Mapping[str, Any]) -> Self:
        """The shares that a plan prints; one place where it prints none."""
        return cls(int(details.get("sites", 1)), int(details.get("colluding", 0)))

    def details(self) -> dict[str, Any]:
        """The shares as a plan prints them; nothing where all records are in one place."""
        if self.sites == 1:
            return {}
        factor = str(self.noise_factor)
        return {"sites": self.sites, "colluding": self.colluding, "noise_factor": factor}

    @property
    def honest(self) -> int:
        """m - t: how many shares make up the noise that the guarantee counts."""
        return self.sites - self.colluding

    @property
    def noise_factor(self) -> Fraction:
        """m / (m - t): the variance of all noise together, in parts of sigma^2."""
        return Fraction(self.sites, self.honest)

    @property
    def excess(self) -> float:
        """The root of it: how much wider all noise together is than sigma."""
        return math.sqrt(self.noise_factor)

    @property
    def least_scale(self) -> Fraction:
        """The least sigma whose shares are wide enough; 0 where nothing is shared."""
        if self.sites == 1:
            return Fraction(0)
        return SMALLEST_SHARE * upper_square_root(Fraction(self.honest))

    def share(self, scale: Fraction) -> Fraction:
        """sigma / sqrt(m - t), rounded up: the scale of one site's noise."""
        share = scale * upper_square_root(Fraction(1, self.honest))
        if not SMALLEST_SHARE <= share <= LARGEST_SHARE:
            raise SettingsError("the scale of the noise is out of the range that sites can share.")
        return share

    def spendable(self, rho: Fraction) -> Fraction:
        """What of rho goes into noise: all of it, less what is set aside for the sum's law."""
        if self.sites == 1:
            return rho
        if not LEAST_RHO <= rho <= MOST_RHO:
            raise SettingsError(
                "epsilon is out of the range that sites can share: at most about 60."
            )
        return rho * (1 - SET_ASIDE)

    def require_delta(self, delta: float) -> None:
        """`SettingsError` for pure epsilon across sites."""
        if self.sites > 1 and not delta > 0:
            raise SettingsError(NO_PURE_EPSILON)


ALONE = NoiseShares(1, 0)
"""A fit at one place."""


def divergence_bound(scale: float, summands: int) -> float:
    """How far the log of the mass of a sum can be from that of one discrete Gaussian.

    a = sum over k of log((1 + eta_k) / (1 - eta_k)),  eta_k = 2 sum_j exp(-2 pi^2 v_k^2 j^2),
    v_k^2 = s^2 k / (k + 1),  k from 1 to `summands` - 1 (proof page, section 3).
    """
    return sum(_one_more(scale**2 * k / (k + 1)) for k in range(1, summands))


def _one_more(variance: float) -> float:
    decay = [math.exp(-2 * (math.pi * j) ** 2 * variance) for j in range(1, 40)]
    ripple = 2 * sum(decay)
    return math.inf if ripple >= 1 else math.log1p(ripple) - math.log1p(-ripple)
