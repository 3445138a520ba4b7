"""Sums over time, exactly or by a polynomial rule on panels, so that cost does not grow with q.

A rule cuts the intervals 1 ... q into consecutive panels. Inside a panel the partial sums of a
function g of the interval are ``sum_{s <= t} g(s) = sum_k Q[t, k] g(node_k)``:

* every interval its own node: Q is lower triangular of ones (a cumulative sum);
* a polynomial panel: g is interpolated at m Chebyshev nodes of the panel and the interpolant is
  summed; where the baseline is constant m = 1 is exact.

Panels lie between the breaks that the baseline declares (`design.baseline`); a baseline that declares
nothing, or breaks that its basis contradicts, is summed interval by interval.

``spread`` applies Q (prefix tables), ``collect`` applies Q' along the last axis but one (moments
of people to moments of nodes), both at the lengths t that occur and no others.

Between breaks a_s is a polynomial in s; writing a(x) = sum_j a_j x^j on the panel scaled to [-1, 1],
a stays within sum_j |a_j| X^j of its middle on the ellipse of radius X = (rho + 1/rho)/2; if that is
less than the link's distance to its nearest singularity the error falls as rho^-m (Trefethen 2013,
theorem 8.2). The sums contain B_s B_s', which grows as X^6 on the ellipse, so rho^-(m - 6) is kept
equal for all m: a flatter baseline, with a larger rho, needs fewer nodes.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise

import numpy as np

from discreet.design.baseline import Breaks
from discreet.design.design import Design
from discreet.design.link import Link
from discreet.types import Array, Integers

HIGHEST_DEGREE = 3
NODES = (12, 14, 16, 20)
_RHO = 5.0 ** (14.0 / (np.array(NODES) - 6.0))
_RADII = 0.5 * (_RHO + 1.0 / _RHO)
INSIDE = 1.0 - 2.0**-30
DECLARED = 1e-10
"""Relative error with which a rule must sum the basis; rounding is a thousand times smaller."""


@dataclass(frozen=True)
class EveryInterval:
    """All intervals are nodes."""

    first: int
    last: int

    @property
    def weights(self) -> Array:
        """The weights of all nodes are 1."""
        return np.ones(self.last - self.first)

    def spread(self, values: Array, lengths: Integers) -> Array:
        """Return prefix sums over the panel."""
        return np.cumsum(values, axis=0)[lengths - (self.first + 1)]

    def collect(self, moments: Array, lengths: Integers) -> Array:
        """Return sums over the rows that are at least as long."""
        reaching = np.cumsum(moments[..., ::-1, :], axis=-2)[..., ::-1, :]
        beyond = np.zeros((*moments.shape[:-2], 1, moments.shape[-1]))
        shortest = np.searchsorted(lengths, np.arange(self.first + 1, self.last + 1))
        return np.concatenate([reaching, beyond], axis=-2)[..., shortest, :]


@dataclass(frozen=True)
class Polynomial:
    """A panel of m nodes; ``matrix`` is Q."""

    first: int
    last: int
    matrix: Array

    @property
    def weights(self) -> Array:
        """Node weights of the whole panel."""
        return self.matrix[-1]

    def spread(self, values: Array, lengths: Integers) -> Array:
        """Return Q values."""
        return self.collector(lengths)[:, :-1] @ values

    def collect(self, moments: Array, lengths: Integers) -> Array:
        """Return Q' moments."""
        return self.collector(lengths)[:, :-1].T @ moments

    def collector(self, lengths: Integers) -> Array:
        """Return the rows of Q at these lengths and a column of ones: nodes and total together."""
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

    def within(self, first: int, last: int) -> "TimeRule":
        """Return the panels of the intervals first + 1 ... last; polynomials end where periods do."""
        panels: list[Panel] = []
        bases: list[Array] = []
        for panel, basis in zip(self.panels, self.bases, strict=True):
            low, high = max(panel.first, first), min(panel.last, last)
            if low < high and isinstance(panel, EveryInterval):
                panels.append(EveryInterval(low, high))
                bases.append(basis[low - panel.first : high - panel.first])
            elif low < high:
                panels.append(panel)
                bases.append(basis)
        return TimeRule(tuple(panels), tuple(bases))


def choose_rule(design: Design, link: Link, alpha: Array) -> TimeRule:
    """Return panels if they save at least half of the nodes, else every interval."""
    if design.baseline.breaks is None or design.baseline.degree > HIGHEST_DEGREE:
        return _direct_rule(design)
    if design.baseline.degree == 0:
        return _constant_rule(design)
    return _polynomial_rule(design, *_pieces_needed(design, alpha, link.reach))


@lru_cache(maxsize=16)
def _direct_rule(design: Design) -> TimeRule:
    return TimeRule((EveryInterval(0, design.intervals),), (design.basis,))


@lru_cache(maxsize=16)
def _constant_rule(design: Design) -> TimeRule:
    """Return one node per stretch: (t_j, t_{j+1}] holds the intervals up to floor(t_{j+1} q)."""
    ends = [int(place * design.intervals) for place in _refined(design, 1)]
    panels = tuple(
        Polynomial(low, high, np.arange(1.0, high - low + 1.0)[:, None])
        for low, high in pairwise(ends)
        if high > low
    )
    bases = tuple(design.basis[panel.first : panel.first + 1] for panel in panels)
    return _verified(design, TimeRule(panels, bases))


@lru_cache(maxsize=16)
def _polynomial_rule(design: Design, pieces: int, nodes: int) -> TimeRule:
    """Return ``pieces`` equal panels per stretch; in a panel of few intervals all are nodes."""
    panels: list[Panel] = []
    bases: list[Array] = []
    for left, right in pairwise(_refined(design, pieces)):
        low, high = float(left * design.intervals), float(right * design.intervals)
        first, last = int(np.floor(low)), int(np.floor(high))
        if last - first > nodes:
            middle, half = 0.5 * (low + high), 0.5 * (high - low)
            angles, orders = np.pi * (np.arange(nodes) + 0.5) / nodes, np.arange(nodes)
            # the interpolant at the intervals, summed term by term
            scaled = (np.arange(first + 1, last + 1) - middle) / half
            terms = np.cos(orders * np.arccos(np.clip(scaled, -1.0, 1.0))[:, None])
            transform = np.cos(np.outer(orders, angles)) * (2.0 / nodes)
            transform[0] *= 0.5
            panels.append(Polynomial(first, last, np.cumsum(terms, axis=0) @ transform))
            places = middle + half * np.cos(angles)
            bases.append(design.basis_at(places / design.intervals))
        elif last > first:
            panels.append(EveryInterval(first, last))
            bases.append(design.basis[first:last])
    if 2 * sum(map(len, bases)) > design.intervals:
        return _direct_rule(design)
    return _verified(design, TimeRule(tuple(panels), tuple(bases)))


def _refined(design: Design, pieces: int) -> Breaks:
    """Return the baseline's breaks, with each stretch cut into equal pieces, exactly."""
    breaks = design.baseline.breaks or (Fraction(0), Fraction(1))
    inner = [
        left + (right - left) * Fraction(piece, pieces)
        for left, right in pairwise(breaks)
        for piece in range(pieces)
    ]
    return (*inner, breaks[-1])


def _verified(design: Design, rule: TimeRule) -> TimeRule:
    """Return the rule if its sums of the basis are right, else every interval.

    Without this check a break that a baseline does not declare would make every sum wrong.
    """
    done = 0
    for panel, basis in zip(rule.panels, rule.bases, strict=True):
        lengths = np.arange(panel.first + 1, panel.last + 1)
        exact = np.cumsum(design.basis[panel.first : panel.last], axis=0)
        off = np.abs(panel.spread(basis, lengths) - exact)
        largest = np.max(np.abs(design.basis), axis=0) * len(lengths)
        if panel.first != done or not np.all(off <= DECLARED * largest):
            return _direct_rule(design)
        done = panel.last
    return rule if done == design.intervals else _direct_rule(design)


def _pieces_needed(design: Design, alpha: Array, reach: float) -> tuple[int, int]:
    """Return the fewest pieces per stretch, by doubling, and the nodes of a panel in the strip."""
    stretches, pieces = len(_refined(design, 1)) - 1, 1
    while True:
        # the largest sum_j |a_j| X^j, j >= 1, of any panel, for each number of nodes
        terms = np.abs(_polynomial_terms(design, pieces) @ alpha)
        powers = np.arange(1, design.baseline.degree + 1)
        within = np.flatnonzero(np.max(terms @ (_RADII ** powers[:, None]), axis=0) <= reach)
        if len(within):
            return pieces, NODES[within[0]]
        if stretches * pieces * NODES[-1] >= design.intervals:
            return pieces, NODES[-1]
        pieces *= 2


@lru_cache(maxsize=64)
def _polynomial_terms(design: Design, pieces: int) -> Array:
    """Return the terms a_1, a_2, ... of each panel's polynomial, one column per parameter."""
    degree, edges = design.baseline.degree, _refined(design, pieces)
    # inside the panel: a baseline may jump where it breaks
    places = INSIDE * (2.0 * np.arange(degree + 1) - degree) / degree
    middles = np.array([float((left + right) / 2) for left, right in pairwise(edges)])
    widths = np.array([float(right - left) for left, right in pairwise(edges)])
    basis = design.basis_at((middles[:, None] + 0.5 * places * widths[:, None]).ravel())
    inverse = np.linalg.inv(np.vander(places, increasing=True))
    return inverse[1:] @ basis.reshape(len(middles), degree + 1, -1)
