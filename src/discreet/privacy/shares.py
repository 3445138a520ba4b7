"""Noise that several sites draw together, so that none of them knows the sum.

Each of m sites adds discrete Gaussian noise of variance sigma^2 / (m - t), so that the noise still has
variance sigma^2 if t of them subtract theirs.  The sum of discrete Gaussians is not exactly discrete
Gaussian; at scales from `SMALLEST_SHARE` on, the difference costs less than 2^-40 of rho, which is set
aside.  Proof: docs/proofs/federation.md.
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
"""The least scale of one site's noise: below it the sum is not close enough to Gaussian."""

LARGEST_SHARE = 2**57
"""A draw beyond 2^62, 32 times this, has a probability below e^-500; OpenDP's integers end there."""

SET_ASIDE = Fraction(1, 2**40)
"""The part of rho for the difference of the sum from a discrete Gaussian."""

LEAST_RHO, MOST_RHO = Fraction(1, 10**12), 40
MOST_COORDINATES = 10**6
"""Limit on the integers of one release; `SET_ASIDE` is proved for it and the limits on rho."""

NO_PURE_EPSILON = (
    "pure epsilon is not offered across sites: sums of Laplace noise are not Laplace. "
    "Leave delta out, or give one greater than 0 (--delta 1e-6)."
)


@dataclass(frozen=True)
class NoiseShares:
    """m, the number of sites that draw noise (1: one place), and t, those that may collude."""

    sites: int
    colluding: int

    def __post_init__(self) -> None:
        if (self.sites, self.colluding) == (1, 0):
            return
        if not FEWEST_SITES <= self.sites <= MOST_SITES:
            raise SettingsError(f"a joint fit takes {FEWEST_SITES} to {MOST_SITES} sites.")
        if not self.colluding >= 1 or not 2 * self.colluding < self.sites:
            raise SettingsError("the sites that may collude are at least 1 and fewer than half.")

    @classmethod
    def among(cls, sites: int, colluding: int | None = None) -> Self:
        """Return the shares of m sites; by default t is the largest number below m / 2."""
        return cls(sites, (sites - 1) // 2 if colluding is None else colluding)

    @classmethod
    def read(cls, details: Mapping[str, Any]) -> Self:
        """Read the shares that a plan prints; one place if it prints none."""
        return cls(int(details.get("sites", 1)), int(details.get("colluding", 0)))

    def details(self) -> dict[str, Any]:
        """Return the shares as a plan prints them; nothing if all records are in one place."""
        if self.sites == 1:
            return {}
        factor = str(self.noise_factor)
        return {"sites": self.sites, "colluding": self.colluding, "noise_factor": factor}

    @property
    def honest(self) -> int:
        """m - t, the number of shares of the noise that the guarantee counts."""
        return self.sites - self.colluding

    @property
    def noise_factor(self) -> Fraction:
        """m / (m - t), the variance of all noise together in units of sigma^2."""
        return Fraction(self.sites, self.honest)

    @property
    def excess(self) -> float:
        """sqrt(m / (m - t)), the standard deviation of all noise together in units of sigma."""
        return math.sqrt(self.noise_factor)

    @property
    def least_scale(self) -> Fraction:
        """The least sigma whose shares are wide enough; 0 if nothing is shared."""
        if self.sites == 1:
            return Fraction(0)
        return SMALLEST_SHARE * upper_square_root(Fraction(self.honest))

    def share(self, scale: Fraction) -> Fraction:
        """Return sigma / sqrt(m - t), rounded up: the scale of one site's noise."""
        share = scale * upper_square_root(Fraction(1, self.honest))
        if not SMALLEST_SHARE <= share <= LARGEST_SHARE:
            raise SettingsError("the scale of the noise is out of the range that sites can share.")
        return share

    def spendable(self, rho: Fraction) -> Fraction:
        """Return the part of rho for the noise: all of it but the part set aside for the sum's law."""
        if self.sites == 1:
            return rho
        if not LEAST_RHO <= rho <= MOST_RHO:
            raise SettingsError(
                "epsilon is out of the range that sites can share: at most about 60."
            )
        return rho * (1 - SET_ASIDE)

    def require_delta(self, delta: float) -> None:
        """Raise `SettingsError` for pure epsilon across sites."""
        if self.sites > 1 and not delta > 0:
            raise SettingsError(NO_PURE_EPSILON)


ALONE = NoiseShares(1, 0)
"""A fit at one place."""
