"""Exact shares of a budget, and the noise that spends a share.

    Gaussian     a question costs rho s        sum of shares s <= 1, so sum of rho s <= rho
    Laplace      a question costs epsilon s    sum of shares s <= 1, so sum of epsilon s <= epsilon

Shares are rationals, so their sums are exact. Proof: docs/proofs/private-newton.md, section 4.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import SettingsError
from discreet.privacy.exact import require_lattice
from discreet.privacy.noise import LARGEST_VALUE, checked_scale
from discreet.privacy.scales import gaussian_scale, laplace_scale, upper_square_root
from discreet.privacy.shares import ALONE, NoiseShares

FINE = 16
"""Counts get their Gaussian noise in 16ths of a person: what rounding to integers costs is paid there."""


@dataclass(frozen=True)
class Sensitivity:
    """How far replacing one person moves a vector of integers x, and the unit of the answer.

    With the integer weights w of the question and any two neighbours' vectors x, x':

        squared >= |w (x - x')|_2^2     for noise in L2 (Gaussian, lattice Laplace): w x + noise
        absolute >= |x - x'|_1          for discrete Laplace noise: x + noise; None takes none

    The answer is divided by `least`, the smallest weight, where weights are used, and by `unit`: an
    entry of a larger weight is too large until it is divided by the ratio (`as_matrix`, sequence.py).
    """

    squared: int
    absolute: int | None = None
    least: int = 1
    unit: int = 1

    def keeps(self, persons: int) -> bool:
        """Whether no sum w x of so many persons is beyond 2^62.

        One person's w x is at most as long as it can move, from the zeros of a person who is never at
        risk. Noise refuses larger sums, which would depend on data, and 64 bits wrap around at 2^63.
        """
        return persons**2 * self.squared <= LARGEST_VALUE**2


@dataclass(frozen=True)
class Split:
    """The total (rho, or epsilon when pure) and the share of every question.

    `shares` are the named first questions, `steps` those that follow. `sites` says who draws the
    noise: several sites together draw more than the guarantee counts.
    """

    total: Fraction
    pure: bool
    shares: tuple[tuple[str, Fraction], ...]
    steps: tuple[Fraction, ...] = ()
    sites: NoiseShares = ALONE

    def __post_init__(self) -> None:
        """Refuse shares that are negative or more than the whole together."""
        every = [*(part for _, part in self.shares), *self.steps]
        if min(every, default=0) < 0 or self.spent > 1:
            raise SettingsError("the shares of a budget must be at least 0 and at most 1 together")

    @property
    def spent(self) -> Fraction:
        """All shares together: at most 1."""
        return sum((part for _, part in self.shares), sum(self.steps, Fraction(0)))

    def share(self, name: str) -> Fraction:
        """The share of one of the first questions; zero: it is not asked."""
        return dict(self.shares)[name]

    def counted(self, sensitivity: Sensitivity) -> bool:
        """Whether the noise is discrete Laplace, which is added to the sums without weights."""
        return self.pure and sensitivity.absolute is not None

    def scale(self, share: Fraction, sensitivity: Sensitivity) -> Fraction:
        """The noise scale of a question that has this share (docs/proofs/noise.md, section 5)."""
        if self.pure and sensitivity.absolute is not None:
            return laplace_scale(sensitivity.absolute, self.total * share)
        length = upper_square_root(Fraction(sensitivity.squared))
        if self.pure:
            return laplace_scale(length, self.total * share)
        return max(Fraction(gaussian_scale(length, self.total * share)), self.sites.least_scale)

    def require_drawable(
        self, share: Fraction, sensitivity: Sensitivity, dimension: int = 1
    ) -> None:
        """`SettingsError` where noise of this scale cannot be drawn: for a plan, before a charge."""
        scale = self.scale(share, sensitivity)
        if self.pure and not self.counted(sensitivity):
            require_lattice(dimension, scale)
        else:
            checked_scale(scale)

    def divisor(self, sensitivity: Sensitivity) -> int:
        """What noisy integers are divided by."""
        return sensitivity.unit * (1 if self.counted(sensitivity) else sensitivity.least)

    def deviation(self, share: Fraction, sensitivity: Sensitivity, dimension: int = 1) -> float:
        """Standard deviation of a coordinate of the answer; lattice Laplace noise has (d + 1) s^2."""
        factor = self.sites.excess
        if self.pure:
            factor = math.sqrt(2.0 if self.counted(sensitivity) else dimension + 1)
        scale = float(self.scale(share, sensitivity))
        return scale * factor / self.divisor(sensitivity)
