"""One site's share of the noise, and the sum over all sites; only noisy sums leave a site.

Proof: docs/proofs/federation.md, sections 2 and 3.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import ClassVar

from numpy.typing import ArrayLike

from discreet.errors import EntropyError, SettingsError
from discreet.privacy.noise import LARGEST_VALUE, NoiseSource, checked_integers
from discreet.privacy.scales import IntegerVector, integer_vector
from discreet.privacy.shares import MOST_COORDINATES, NO_PURE_EPSILON, NoiseShares

Opening = Callable[[list[int]], list[int]]
"""Adds the integers of all sites, by a protocol that shows the sums and nothing else."""


class SharedNoise(NoiseSource):
    """Draws this site's share from the source and opens the sum over all sites."""

    private: ClassVar[bool] = True

    def __init__(self, shares: NoiseShares, source: NoiseSource, opening: Opening) -> None:
        if source.private != self.private:
            raise SettingsError("a seeded source makes no private share of noise.")
        self.shares, self._source, self._opening = shares, source, opening
        self._opened = 0

    def uniform_bits(self, count: int) -> int:  # noqa: ARG002 - refused whatever is asked
        """Raise `SettingsError`: sites that drew their own bits would diverge."""
        raise SettingsError(NO_PURE_EPSILON)

    def discrete_gaussian(self, values: ArrayLike, scale: float | Fraction) -> IntegerVector:
        """Return the sum over sites of (integers + share of the noise)."""
        integers = checked_integers(values)
        self._opened += len(integers)
        if self._opened > MOST_COORDINATES:
            raise SettingsError("the schema has too many covariates for a joint fit.")
        share = self.shares.share(Fraction(scale))
        # drawn around zero, so that whether the draw fails does not depend on the data
        noise = self._source.discrete_gaussian([0] * len(integers), share)
        if max(map(abs, noise)) > LARGEST_VALUE:
            raise EntropyError("the noise sampler reached the end of its integers")
        masked = [value + int(step) for value, step in zip(integers, noise, strict=True)]
        return integer_vector(self._opening(masked))

    def l1_laplace(
        self,
        values: ArrayLike,  # noqa: ARG002 - refused whatever is asked
        scale: float | Fraction,  # noqa: ARG002
    ) -> IntegerVector:
        """Raise `SettingsError`: sums of Laplace noise are not Laplace."""
        raise SettingsError(NO_PURE_EPSILON)


class SimulatedShares(SharedNoise):
    """Shared noise with a seeded source, for tests; `private` is False."""

    private: ClassVar[bool] = False
