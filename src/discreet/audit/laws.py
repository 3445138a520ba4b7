"""Do draws follow the law they are said to follow?  p-values for audits and tests.

The draws are the rows of a matrix of integers or floats; scales are in the same units.  Away from
`lattice_p_value` the grid must be much finer than the scale, so that the law is as good as
continuous for the number of draws at hand.
"""

import itertools
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from discreet.types import Array


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
