"""How the budget is split over the releases, and the noise that spends it.

Gaussian noise: release j costs rho_j, sum rho_j <= rho. L2-Laplace noise: it costs
epsilon_j, sum epsilon_j <= epsilon. Shares are rationals, so the sums are exact.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.mechanisms.newton.counts import ONCE, Stretches
from discreet.privacy.noise import NoiseSource
from discreet.privacy.scales import Number, exact, gaussian_scale, laplace_scale, upper_square_root
from discreet.privacy.shares import ALONE, NoiseShares
from discreet.types import Array, Integers

if TYPE_CHECKING:
    from numpy.typing import NDArray

EXITS, RANGES, MARGINALS, MOMENTS = "exits", "ranges", "marginals", "moments"
INFORMATION = "information"
FIRST_SHARES = {
    EXITS: Fraction(6, 100),
    RANGES: Fraction(15, 1000),
    MARGINALS: Fraction(4, 100),
    MOMENTS: Fraction(5, 100),
    INFORMATION: Fraction(5, 100),
}
PURE_SHARES = {
    EXITS: Fraction(6, 100),
    RANGES: Fraction(2, 100),
    MARGINALS: Fraction(15, 100),
    MOMENTS: Fraction(8, 100),
    INFORMATION: Fraction(5, 100),
}
"""Laplace noise of counts grows with the number of covariates, not with its root, so they get more."""
FINE = 16
"""Counts get their Gaussian noise in 16ths of a person: what rounding to integers costs is paid there."""
GROWTH, PURE_GROWTH = Fraction(2), Fraction(3, 2)
"""Every step has so many times the budget of the one before: late steps are the accurate ones. Laplace
noise goes with 1/share: the first steps need more of it to come near."""


@dataclass(frozen=True)
class Split:
    """The total (rho, or epsilon when pure) and the share of every release.

    `sites` says who draws the noise: several together draw more than the guarantee counts.
    """

    total: Fraction
    pure: bool
    shares: tuple[tuple[str, Fraction], ...]
    steps: tuple[Fraction, ...]
    sites: NoiseShares = ALONE

    def share(self, name: str) -> Fraction:
        """The share of one of the first releases; zero: it is not made."""
        return dict(self.shares)[name]

    @property
    def informed(self) -> int | None:
        """The step with which the information is released: three before the end, not the first."""
        return max(1, len(self.steps) - 3) if self.share(INFORMATION) else None

    @property
    def spent(self) -> Fraction:
        """All shares together: at most 1."""
        return sum((part for _, part in self.shares), sum(self.steps, Fraction(0)))

    def scale(self, share: Fraction, squared_sensitivity: int) -> Fraction:
        """The noise scale of a release whose L2 sensitivity is the root of this integer."""
        sensitivity = upper_square_root(Fraction(squared_sensitivity))
        if self.pure:
            return laplace_scale(sensitivity, self.total * share)
        scale = Fraction(gaussian_scale(sensitivity, self.total * share))
        return max(scale, self.sites.least_scale)

    def deviation(self, share: Fraction, squared_sensitivity: int, dimension: int) -> float:
        """Standard deviation of a coordinate; L2-Laplace has (d + 1) s^2."""
        factor = math.sqrt(dimension + 1) if self.pure else self.sites.excess
        return float(self.scale(share, squared_sensitivity)) * factor

    def count_deviation(self, share: Fraction, cells: int, stretches: Stretches = ONCE) -> float:
        """The same for counts, in people: a person adds to `cells` sets of cells."""
        if self.pure:
            scale = laplace_scale(2 * cells * stretches.mass, self.total * share)
            return math.sqrt(2.0) * float(scale) / stretches.weight
        return self.deviation(share, _fine_square(cells, stretches), 1) / (FINE * stretches.weight)

    def release(
        self, values: Integers, share: Fraction, squared_sensitivity: int, noise: NoiseSource
    ) -> Array:
        """The integers with discrete Gaussian or lattice L2-Laplace noise."""
        scale = self.scale(share, squared_sensitivity)
        noisy: NDArray[Any]
        if self.pure:
            noisy = values + np.asarray(noise.lattice_laplace(len(values), scale))
        else:
            noisy = noise.discrete_gaussian(values, scale)
        return np.asarray([float(value) for value in noisy])

    def release_counts(
        self,
        values: Integers,
        share: Fraction,
        cells: int,
        noise: NoiseSource,
        stretches: Stretches = ONCE,
    ) -> Array:
        """Counts in people, where a person adds to `cells` sets of cells.

        Two such additions are at most 2 cells mass apart in L1, and 2 cells square in squared L2.
        """
        if not self.pure:
            noisy = self.release(FINE * values, share, _fine_square(cells, stretches), noise)
            return noisy / (FINE * stretches.weight)
        scale = laplace_scale(2 * cells * stretches.mass, self.total * share)
        drawn = noise.l1_laplace(values, scale)
        return np.asarray([float(value) for value in drawn]) / stretches.weight


def _fine_square(cells: int, stretches: Stretches) -> int:
    """The squared L2 sensitivity of counts in 16ths of a person."""
    return FINE**2 * 2 * cells * stretches.square


def split(
    total: Number,
    steps: int,
    *,
    pure: bool,
    without: Collection[str] = (),
    sites: NoiseShares = ALONE,
) -> Split:
    """Shares of the first releases; the rest goes to the steps in growing parts."""
    first = first_shares(pure=pure)
    shares = {name: Fraction(0) if name in without else part for name, part in first.items()}
    rest = 1 - sum(shares.values(), Fraction(0))
    parts = growing(steps, PURE_GROWTH if pure else GROWTH)
    later = tuple(rest * part for part in parts)
    return Split(exact(total), pure, tuple(shares.items()), later, sites)


def first_shares(*, pure: bool) -> dict[str, Fraction]:
    """The shares of the first releases, were all of them made."""
    return PURE_SHARES if pure else FIRST_SHARES


def growing(steps: int, growth: Fraction) -> Sequence[Fraction]:
    """Parts proportional to growth^t that add up to 1."""
    weights = [growth**step for step in range(steps)]
    return [weight / sum(weights, Fraction(0)) for weight in weights]
