"""Sums over time, exactly or by a polynomial rule on panels, so that cost does not grow with q.

A rule cuts the intervals 1 ... q into consecutive panels. Inside a panel the partial sums of a
function g of the interval are ``sum_{s <= t} g(s) = sum_k Q[t, k] g(node_k)``:

* every interval its own node: Q is lower triangular of ones (a cumulative sum);
* a polynomial panel: g is interpolated at m Chebyshev nodes of the panel and the interpolant is
  summed; with a piecewise constant baseline m = 1 is exact.

``spread`` applies Q (prefix tables), ``collect`` applies Q' along the last axis but one (moments
of people to moments of nodes), both at the lengths t that occur and no others.

Between knots a_s is a polynomial in s; writing a(x) = sum_j a_j x^j on the panel scaled to [-1, 1],
a stays within sum_j |a_j| X^j of its middle on the ellipse of radius X = (rho + 1/rho)/2; where
that is less than the link's distance to its nearest singularity the error falls as rho^-m
(Trefethen 2013, theorem 8.2). The sums carry B_s B_s', which grows as X^6 on the ellipse, so what is
kept alike from m to m is rho^-(m - 6): a flatter baseline, with a larger rho, needs fewer nodes.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

import numpy as np

from discreet.design.baseline import PiecewiseConstant
from discreet.design.design import Design
from discreet.design.link import Link
from discreet.types import Array, Integers

NODES = (12, 14, 16, 20)
_RHO = 5.0 ** (14.0 / (np.array(NODES) - 6.0))
_RADII = 0.5 * (_RHO + 1.0 / _RHO)


@dataclass(frozen=True)
class EveryInterval:
    """All intervals are nodes."""

    first: int
    last: int

    @property
    def weights(self) -> Array:
        """Each node stands for itself."""
        return np.ones(self.last - self.first)

    def spread(self, values: Array, lengths: Integers) -> Array:
        """Prefix sums over the panel."""
        return np.cumsum(values, axis=0)[lengths - (self.first + 1)]

    def collect(self, moments: Array, lengths: Integers) -> Array:
        """Sums over the rows at least as long."""
        reaching = np.cumsum(moments[..., ::-1, :], axis=-2)[..., ::-1, :]
        nobody = np.zeros((*moments.shape[:-2], 1, moments.shape[-1]))
        shortest = np.searchsorted(lengths, np.arange(self.first + 1, self.last + 1))
        return np.concatenate([reaching, nobody], axis=-2)[..., shortest, :]


@dataclass(frozen=True)
class Polynomial:
    """m nodes stand for the panel; ``matrix`` is Q."""

    first: int
    last: int
    matrix: Array

    @property
    def weights(self) -> Array:
        """Node weights of the whole panel."""
        return np.asarray(self.matrix[-1])

    def spread(self, values: Array, lengths: Integers) -> Array:
        """Q values."""
        return self.collector(lengths)[:, :-1] @ values

    def collect(self, moments: Array, lengths: Integers) -> Array:
        """Q' moments."""
        return self.collector(lengths)[:, :-1].T @ moments

    def collector(self, lengths: Integers) -> Array:
        """The rows of Q at these lengths and a column of ones: nodes and total in one product."""
        if len(lengths) == len(self.matrix):
            return self._with_total
        return self._with_total[lengths - (self.first + 1)]

    @cached_property
    def _with_total(self) -> Array:
        return np.hstack([self.matrix, np.ones((len(self.matrix), 1))])


Panel = EveryInterval | Polynomial


@dataclass(frozen=True)
class TimeRule:
    """Panels in order of time and the internal basis at their nodes."""

    panels: tuple[Panel, ...]
    bases: tuple[Array, ...]


def choose_rule(design: Design, link: Link, alpha: Array) -> TimeRule:
    """Panels if they save at least half of the nodes, else every interval."""
    if isinstance(design.baseline, PiecewiseConstant):
        return _constant_rule(design)
    panels, nodes = _panels_needed(design, alpha, link.reach)
    if 2 * panels * nodes > design.intervals:
        return _direct_rule(design)
    return _polynomial_rule(design, panels, nodes)


@lru_cache(maxsize=16)
def _direct_rule(design: Design) -> TimeRule:
    return TimeRule((EveryInterval(0, design.intervals),), (design.basis,))


@lru_cache(maxsize=16)
def _constant_rule(design: Design) -> TimeRule:
    """One node a piece: interval s lies in piece ceil(K s / q), so piece j ends at floor(j q/K)."""
    count, intervals = design.baseline.dimension, design.intervals
    ends = [piece * intervals // count for piece in range(count + 1)]
    panels = tuple(
        Polynomial(low, high, np.arange(1.0, high - low + 1.0)[:, None])
        for low, high in pairwise(ends)
    )
    bases = tuple(design.basis[panel.first : panel.first + 1] for panel in panels)
    return TimeRule(panels, bases)


@lru_cache(maxsize=16)
def _polynomial_rule(design: Design, count: int, nodes: int) -> TimeRule:
    """``count`` equal panels, as many between any two neighbouring knots."""
    intervals = design.intervals
    edges = [panel * intervals / count for panel in range(count + 1)]
    panels, bases = [], []
    for low, high in pairwise(edges):
        middle, half = 0.5 * (low + high), 0.5 * (high - low)
        panels.append(_polynomial_panel(low, high, nodes))
        bases.append(design.basis_at((middle + half * _chebyshev_nodes(nodes)) / intervals))
    return TimeRule(tuple(panels), tuple(bases))


def _polynomial_panel(low: float, high: float, nodes: int) -> Polynomial:
    """Intervals s with low < s <= high; the interpolant is summed term by term."""
    first, last = int(np.floor(low)), int(np.floor(high))
    steps = np.arange(first + 1, last + 1)
    scaled = (steps - 0.5 * (low + high)) / (0.5 * (high - low))
    orders = np.arange(nodes)
    terms = np.cos(orders * np.arccos(np.clip(scaled, -1.0, 1.0))[:, None])
    angles = np.pi * (orders + 0.5) / nodes
    transform = np.cos(np.outer(orders, angles)) * (2.0 / nodes)
    transform[0] *= 0.5
    return Polynomial(first, last, np.cumsum(terms, axis=0) @ transform)


def _chebyshev_nodes(nodes: int) -> Array:
    return np.cos(np.pi * (np.arange(nodes) + 0.5) / nodes)


def _panels_needed(design: Design, alpha: Array, reach: float) -> tuple[int, int]:
    """The fewest panels, by doubling, and nodes for which every panel's cubic stays in the strip."""
    count = max(design.baseline.dimension - 1, 1)
    while True:
        within = np.flatnonzero(_wandering(design, alpha, count) <= reach)
        if len(within):
            return count, NODES[within[0]]
        if count * NODES[-1] >= design.intervals:
            return count, NODES[-1]
        count *= 2


def _wandering(design: Design, alpha: Array, count: int) -> Array:
    """For each number of nodes the largest sum_j |a_j| X^j, j >= 1, of any panel."""
    cubics = np.abs(_cubic_terms(design, count) @ alpha)
    return np.asarray(np.max(cubics @ (_RADII ** np.arange(1, 4)[:, None]), axis=0))


@lru_cache(maxsize=64)
def _cubic_terms(design: Design, count: int) -> Array:
    """The terms a_1, a_2, a_3 of each panel's cubic through four points, a column a parameter."""
    middles = (np.arange(count) + 0.5) / count
    places = np.array([-1.0, -1.0 / 3.0, 1.0 / 3.0, 1.0])
    basis = design.basis_at((middles[:, None] + 0.5 * places / count).ravel())
    inverse = np.linalg.inv(np.vander(places, increasing=True))
    return np.asarray(inverse[1:] @ basis.reshape(count, 4, -1))
