"""Noise that is known: zero or a fixed shift, with a record of what was asked for.

Under `KnownNoise` a draw shows what the noise would have hidden.  Under `ForcedNoise` the noise of
a second run is chosen such that every noisy number comes out as in the first: what the record then
holds are two neighbours' values for the same outcome, and so the privacy loss of that outcome.

Do draws follow the law they are said to follow?  p-values for audits and tests.

The draws are the rows of a matrix of integers or floats; scales are in the same units.  Away from
`lattice_p_value` the grid must be much finer than the scale, so that the law is as good as
continuous for the number of draws at hand.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from discreet.privacy.exact import ContinuousDraw
from discreet.privacy.noise import NoiseSource
from discreet.privacy.scales import IntegerVector, integer_vector
from discreet.types import Array

BITS, GAUSSIAN, L1, LATTICE, CONTINUOUS = "bits", "gaussian", "l1", "lattice", "continuous"


@dataclass
class Call:
    """One request for noise: its law, dimension and scale, and the integers it was added to."""

    law: str
    dimension: int
    scale: Fraction
    values: list[int] = field(default_factory=list)

    @property
    def shape(self) -> tuple[str, int, Fraction]:
        """What must not depend on the data."""
        return self.law, self.dimension, self.scale


class NotedInteger(int):
    """Lattice noise that notes what it is added to (the sum happens outside the source)."""

    call: Call
    forced: int | None

    def __radd__(self, other: SupportsIndex) -> int:
        value = int(other)
        self.call.values.append(value)
        return value + int(self) if self.forced is None else self.forced

    __hash__ = int.__hash__


@dataclass
class KnownNoise(NoiseSource):
    """A tilt of `tilt` scales along the diagonal, lattice noise of `shift` steps a coordinate."""

    private: ClassVar[bool] = False
    tilt: float = 0.0
    shift: int = 0
    calls: list[Call] = field(default_factory=list)

    @property
    def trace(self) -> list[tuple[str, int, Fraction]]:
        """The requests in order, without values."""
        return [call.shape for call in self.calls]

    def scales(self, law: str) -> list[Fraction]:
        """The scales asked for under one law."""
        return [call.scale for call in self.calls if call.law == law]

    def uniform_bits(self, count: int) -> int:
        """Zeros."""
        self.calls.append(Call(BITS, count, Fraction(1)))
        return 0

    def discrete_gaussian(self, values: ArrayLike, scale: float | Fraction) -> IntegerVector:
        """The values, moved by the shift."""
        return self._known(GAUSSIAN, values, scale)

    def l1_laplace(self, values: ArrayLike, scale: float | Fraction) -> IntegerVector:
        """The values, moved by the shift."""
        return self._known(L1, values, scale)

    def lattice_laplace(self, dimension: int, scale: float | Fraction) -> IntegerVector:
        """The shift in every coordinate; what it is added to is noted where that is possible."""
        call = Call(LATTICE, dimension, Fraction(scale))
        self.calls.append(call)
        return self._noted(call, self._outcome(len(self.calls) - 1))

    def continuous_laplace(self, dimension: int, scale: float | Fraction) -> ContinuousDraw:
        """The tilt."""
        self.calls.append(Call(CONTINUOUS, dimension, Fraction(scale)))
        size = self.tilt * float(scale) / math.sqrt(dimension)
        return ContinuousDraw(np.full(dimension, size), 0.0)

    def _known(self, law: str, values: ArrayLike, scale: float | Fraction) -> IntegerVector:
        integers = _integers(values)
        self.calls.append(Call(law, len(integers), Fraction(scale), integers))
        forced = self._outcome(len(self.calls) - 1)
        return integer_vector(
            [value + self.shift for value in integers] if forced is None else forced
        )

    def _outcome(self, place: int) -> list[int] | None:  # noqa: ARG002 - for `ForcedNoise`
        """The outcome that request must have; None: value plus shift."""
        return None

    def _noted(self, call: Call, outcome: Sequence[int] | None) -> IntegerVector:
        noise = [NotedInteger(self.shift) for _ in range(call.dimension)]
        for index, item in enumerate(noise):
            item.call = call
            item.forced = None if outcome is None else outcome[index]
        return integer_vector(list(noise))


@dataclass
class ForcedNoise(KnownNoise):
    """The second of two runs: every noisy number comes out as it did in the first."""

    first: KnownNoise = field(default_factory=KnownNoise)

    def _outcome(self, place: int) -> list[int] | None:
        before = self.first.calls
        if place >= len(before) or len(before[place].values) != before[place].dimension:
            return None
        return [value + self.first.shift for value in before[place].values]


def privacy_loss(first: KnownNoise, second: KnownNoise) -> tuple[float, float]:
    """(epsilon, rho) that the two runs' values spend at their common outcome.

    Discrete Gaussian: rho = |v - v'|^2 / (2 (sigma^2 - 5)).  Laplace: epsilon = |v - v'| / s, in the norm
    of its law.  Infinite where the requests differ: then the noise itself tells the two apart.
    """
    if first.trace != second.trace:
        return math.inf, math.inf
    pure, concentrated = 0.0, 0.0
    for one, other in zip(first.calls, second.calls, strict=True):
        gap = np.array([a - b for a, b in zip(one.values, other.values, strict=True)], dtype=float)
        if one.law == GAUSSIAN:
            concentrated += gaussian_cost(float(gap @ gap), float(one.scale))
        elif one.law in {L1, LATTICE}:
            norm = np.abs(gap).sum() if one.law == L1 else np.linalg.norm(gap)
            pure += float(norm) / float(one.scale)
    return pure, concentrated


ROUNDED = 5.0
"""So much less than its variance integer noise is worth: the proof page's number, not the code's."""


def gaussian_cost(squared: float, scale: float) -> float:
    """The rho of a gap at a scale."""
    if squared == 0:
        return 0.0
    worth = scale**2 - ROUNDED
    return squared / (2.0 * worth) if worth > 0 else math.inf


def _integers(values: ArrayLike) -> list[int]:
    return [int(value) for value in np.atleast_1d(np.asarray(values, dtype=object))]


def radius_p_value(draws: ArrayLike, scale: float) -> float:
    """Is |X| / s a Gamma variable of shape d?  Kolmogorov-Smirnov."""
    points = _points(draws)
    radius = np.linalg.norm(points, axis=1) / scale
    return float(stats.kstest(radius, stats.gamma(points.shape[1]).cdf).pvalue)


def direction_p_value(draws: ArrayLike) -> float:
    """Is X / |X| uniform on the sphere?  Projections on the axes and a diagonal, corrected.

    The projection t of a uniform direction on a unit vector has (t + 1)/2 ~ Beta(b, b) with
    b = (d - 1)/2; in one dimension the sign is a fair coin.
    """
    points = _points(draws)
    moved = points[np.any(points != 0, axis=1)]
    if moved.shape[1] == 1:
        heads = int(np.count_nonzero(moved > 0))
        return float(stats.binomtest(heads, moved.shape[0]).pvalue)
    dimension = moved.shape[1]
    units = np.vstack([np.eye(dimension), np.full(dimension, dimension**-0.5)])
    projections = moved @ units.T / np.linalg.norm(moved, axis=1, keepdims=True)
    law = stats.beta((dimension - 1) / 2, (dimension - 1) / 2)
    p_values = [stats.kstest((t + 1) / 2, law.cdf).pvalue for t in projections.T]
    return min(1.0, len(p_values) * float(min(p_values)))


def normal_p_value(draws: ArrayLike, scale: float) -> float:
    """Are the coordinates independent normal numbers?  Each alone, and the squared radius."""
    points = _points(draws) / scale
    squares = np.sum(points**2, axis=1)
    coordinates = stats.kstest(points.ravel(), stats.norm.cdf).pvalue
    radius = stats.kstest(squares, stats.chi2(points.shape[1]).cdf).pvalue
    return min(1.0, 2 * float(min(coordinates, radius)))


def l1_laplace_p_value(draws: ArrayLike, scale: float) -> float:
    """Are the coordinates independent Laplace numbers?  Each alone, and the L1 radius."""
    points = _points(draws) / scale
    sums = np.sum(np.abs(points), axis=1)
    coordinates = stats.kstest(points.ravel(), stats.laplace.cdf).pvalue
    radius = stats.kstest(sums, stats.gamma(points.shape[1]).cdf).pvalue
    return min(1.0, 2 * float(min(coordinates, radius)))


def lattice_masses(dimension: int, scale: Fraction, reach: int) -> dict[tuple[int, ...], float]:
    """P(k) for |k_i| <= reach, normalised over |k_i| <= reach + 40 scales."""
    wide = reach + int(40 * scale)
    axes = np.meshgrid(*[np.arange(-wide, wide + 1)] * dimension, indexing="ij")
    total = np.exp(-np.sqrt(sum(axis.astype(float) ** 2 for axis in axes)) / float(scale)).sum()
    box = itertools.product(range(-reach, reach + 1), repeat=dimension)
    return {k: float(np.exp(-np.linalg.norm(k) / float(scale)) / total) for k in box}


def lattice_p_value(draws: ArrayLike, scale: Fraction, reach: int) -> float:
    """Chi-square test of every lattice point within reach, and one cell for the rest."""
    points = np.asarray(draws, dtype=np.int64)
    masses = lattice_masses(points.shape[1], scale, reach)
    cells, counts = np.unique(points, axis=0, return_counts=True)
    seen = dict(zip(map(tuple, cells.tolist()), counts.tolist(), strict=True))
    observed = [seen.get(point, 0) for point in masses]
    expected = np.array([*masses.values(), 1 - sum(masses.values())]) * len(points)
    rest = len(points) - sum(observed)
    return float(stats.chisquare([*observed, rest], expected).pvalue)


def _points(draws: ArrayLike) -> Array:
    return np.asarray(draws, dtype=np.float64)
