"""Sources of noise: exact laws on integers, with entropy of the operating system.

    discrete_gaussian   v + N, mass exp(-|k|^2 / (2 sigma^2))    rho = Delta^2 / (2 (sigma^2 - 5))
    l1_laplace          v + L, mass exp(-|k|_1 / s)              pure, epsilon = Delta_1 / s
    lattice_laplace     K, mass exp(-|k| / s) on Z^d             pure, epsilon = Delta / s
    continuous_laplace  b, density exp(-|b| / s) on R^d          tilts an objective, never released

Definitions and proofs: docs/proofs/noise.md.
"""

import math
import os
import secrets
from abc import ABC, abstractmethod
from fractions import Fraction
from numbers import Integral
from typing import ClassVar, NoReturn

import numpy as np
from numpy.typing import ArrayLike
from opendp.domains import atom_domain, vector_domain
from opendp.measurements import make_gaussian, make_laplace
from opendp.metrics import l1_distance, l2_distance
from opendp.mod import Measurement, OpenDPException, enable_features

from discreet.errors import DataFormError, EntropyError, SettingsError
from discreet.privacy.exact import ContinuousDraw, sample_continuous_laplace, sample_lattice_laplace
from discreet.privacy.scales import IntegerVector, float_above, integer_vector

LARGEST_VALUE = 2**62
"""OpenDP's integers have 64 bits; it clips sums to their range after the addition."""

LARGEST_SCALE = 2.0**60

# OpenDP requires this flag for all of its measurements.
enable_features("contrib")


class NoiseSource(ABC):
    """A source of noise; releases may be published only if it is `private`.

    Scales of type float are read as binary fractions.
    """

    private: ClassVar[bool]

    @abstractmethod
    def uniform_bits(self, count: int) -> int:
        """Return an integer of `count` fresh uniform bits."""

    @abstractmethod
    def discrete_gaussian(self, values: ArrayLike, scale: float | Fraction) -> IntegerVector:
        """Return the integers plus independent discrete Gaussian noise."""

    @abstractmethod
    def l1_laplace(self, values: ArrayLike, scale: float | Fraction) -> IntegerVector:
        """Return the integers plus independent discrete Laplace noise."""

    def lattice_laplace(self, dimension: int, scale: float | Fraction) -> IntegerVector:
        """Draw K in Z^d with mass proportional to exp(-|k| / scale)."""
        draw = sample_lattice_laplace(dimension, _rational(scale), self.uniform_bits)
        return integer_vector(draw)

    def continuous_laplace(self, dimension: int, scale: float | Fraction) -> ContinuousDraw:
        """Draw a real vector of density proportional to exp(-|b| / scale), with an error bound."""
        return sample_continuous_laplace(dimension, _rational(scale), self.uniform_bits)


class SystemNoise(NoiseSource):
    """The noise of every release: entropy of the operating system, without seed or copies.

    The object holds the id of its process; it cannot be pickled, copied or used in a forked child,
    so that two processes cannot share a source.
    """

    private: ClassVar[bool] = True

    def __init__(self) -> None:
        self._process = os.getpid()

    def uniform_bits(self, count: int) -> int:
        """Return bits of the operating system."""
        self._check_process()
        try:
            return secrets.randbits(count)
        except (OSError, NotImplementedError):
            raise EntropyError("the operating system gave no entropy") from None

    def discrete_gaussian(self, values: ArrayLike, scale: float | Fraction) -> IntegerVector:
        """Add noise by OpenDP's exact discrete Gaussian."""
        integers = checked_integers(values)
        space = vector_domain(atom_domain(T="i64")), l2_distance(T="f64")
        return self._added(make_gaussian(*space, scale=checked_scale(scale)), integers)

    def l1_laplace(self, values: ArrayLike, scale: float | Fraction) -> IntegerVector:
        """Add noise by OpenDP's exact discrete Laplace."""
        integers = checked_integers(values)
        space = vector_domain(atom_domain(T="i64")), l1_distance(T="i64")
        return self._added(make_laplace(*space, scale=checked_scale(scale)), integers)

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        """Refuse pickling and copying."""
        raise EntropyError("a noise source cannot be pickled or copied: make one where it is used")

    def _added(self, measurement: Measurement, integers: list[int]) -> IntegerVector:
        self._check_process()
        try:
            noisy = measurement(integers)
        except OpenDPException:
            raise EntropyError("the noise sampler failed, so nothing was drawn") from None
        if len(noisy) != len(integers):
            raise EntropyError("the noise sampler returned a vector of another length")
        return integer_vector([int(value) for value in noisy])

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise EntropyError("a noise source cannot be used in a forked process")


def checked_integers(values: ArrayLike) -> list[int]:
    """Return Python integers; checks the domain, which OpenDP does not."""
    array = np.asarray(values)
    if array.ndim != 1 or array.size == 0:
        raise DataFormError("noise is added to a vector with at least one entry")
    items = array.tolist()
    if any(isinstance(value, bool) or not isinstance(value, Integral) for value in items):
        raise DataFormError("noise is added to integers: put the values on a grid first")
    integers = [int(value) for value in items]
    if max(map(abs, integers)) > LARGEST_VALUE:
        raise DataFormError("noise is added to integers of at most 2^62: bound the values first")
    return integers


def checked_scale(scale: float | Fraction) -> float:
    """Return the scale as a float, rounded up, within the range of OpenDP's integers."""
    number = float_above(_rational(scale))
    if number > LARGEST_SCALE:
        raise SettingsError(
            "the noise is too large for the integers it is drawn in: ask for a larger epsilon or "
            "delta."
        )
    return number


def _rational(scale: float | Fraction) -> Fraction:
    if isinstance(scale, float) and not math.isfinite(scale):
        raise SettingsError("the scale of the noise must be finite")
    if isinstance(scale, bool) or not scale > 0:
        raise SettingsError("the scale of the noise must be greater than 0")
    return Fraction(scale)
