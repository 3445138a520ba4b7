"""Sums over time at nodes that all records share, so that a record costs the same for every q.

The intervals are cut into panels between knots. In a panel, g(s) is interpolated at m Chebyshev
nodes and the interpolant is summed up to any t. So for t in panel P

    sum_{s <= t} g(s) = sum_{panels before P} sum_k full[panel, k] g(node_k)
                      + sum_k partial[t, k] g(node_k of P),   exact for polynomials of degree < m.

Only the weights depend on t: exp(a_k + c) = exp(a_k) exp(c) then needs one exponential a node and
one a record. Panels are halved (the next *level*) where the baseline effect a(s) wanders too far
between two knots for the interpolation (the bound of `time_rule`); on the last level every
interval is a node. Everything here is public: the rule is made from the design alone.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np

from discreet.design.baseline import PiecewiseConstant
from discreet.design.design import Design
from discreet.design.link import Link
from discreet.types import Array, Integers

NODES = 12
"""Nodes a panel: three vectors of four floats."""
PIECES = (1, 2, 3, 4, 6, 8)
RADIUS = 2.125
"""(rho + 1/rho)/2 for rho = 4: the error falls as rho^-m, 6e-8 for 12 nodes."""
REACH = {"logit": 2.7, "cloglog": 4.0, "probit": 1.0}
"""How far a may wander on that ellipse; `time_rule` gives the singularities behind it."""
DEPTH = {"logit": 0.86, "cloglog": 0.0, "probit": 0.0}
"""Logit is singular at i pi only: at eta = -m the distance is sqrt(m^2 + pi^2), times 0.86 here."""


@dataclass(frozen=True)
class Level:
    """One partition of time.

    basis (panels, m, e) at the nodes; full (panels, m) and partial (q + 1, m) weights; counts
    (q + 1), the panels in use up to t; checks (panels, 4, e), which give the coefficients of a(s)
    on the panels scaled to [-1, 1], times the powers of RADIUS.
    """

    basis: Array
    full: Array
    partial: Array
    counts: Integers
    checks: Array


@dataclass(frozen=True)
class RecordRule:
    """All levels joined: the panels of level i are panel_starts[i] : panel_starts[i + 1]."""

    panel_starts: Integers
    basis: Array
    full: Array
    partial: Array
    counts: Integers
    checks: Array
    reach: float
    depth: float


def make_rule(design: Design, link: Link) -> RecordRule:
    """The levels that save at least half of the intervals, and the one that saves none."""
    if isinstance(design.baseline, PiecewiseConstant):
        levels = [_constant_level(design)]
    else:
        spans = max(design.baseline.dimension - 1, 1)
        wanted = [spans * pieces for pieces in PIECES]
        levels = [_level(design, n) for n in wanted if 2 * n * NODES <= design.intervals]
        levels.append(_every_interval(design))
    return RecordRule(
        panel_starts=np.cumsum([0, *(len(level.full) for level in levels)], dtype=np.int64),
        basis=np.concatenate([level.basis for level in levels]),
        full=np.concatenate([level.full for level in levels]),
        partial=np.stack([level.partial for level in levels]),
        counts=np.stack([level.counts for level in levels]),
        checks=np.concatenate([level.checks for level in levels]),
        reach=REACH[link.name],
        depth=DEPTH[link.name],
    )


@lru_cache(maxsize=16)
def _level(design: Design, count: int) -> Level:
    """``count`` equal panels."""
    intervals = design.intervals
    edges = [panel * intervals / count for panel in range(count + 1)]
    partial = np.zeros((intervals + 1, NODES))
    counts = np.zeros(intervals + 1, dtype=np.int64)
    full, places = [], []
    for panel, (low, high) in enumerate(pairwise(edges)):
        here = slice(int(np.floor(low)) + 1, int(np.floor(high)) + 1)
        partial[here] = _prefix_weights(low, high)
        counts[here] = panel + 1
        full.append(partial[here.stop - 1])
        places.append((0.5 * (low + high) + 0.5 * (high - low) * _nodes()) / intervals)
    basis = design.basis_at(np.concatenate(places)).reshape(count, NODES, -1)
    return Level(basis, np.array(full), partial, counts, _checks(design, count))


def _prefix_weights(low: float, high: float) -> Array:
    """Weights of the partial sums over the intervals s with low < s <= high."""
    steps = np.arange(int(np.floor(low)) + 1, int(np.floor(high)) + 1)
    scaled = np.clip((steps - 0.5 * (low + high)) / (0.5 * (high - low)), -1.0, 1.0)
    orders = np.arange(NODES)
    terms = np.cos(orders * np.arccos(scaled)[:, None])
    transform = np.cos(np.outer(orders, np.arccos(_nodes()))) * (2.0 / NODES)
    transform[0] *= 0.5
    return np.asarray(np.cumsum(terms, axis=0) @ transform)


def _nodes() -> Array:
    return np.cos(np.pi * (np.arange(NODES) + 0.5) / NODES)


def _checks(design: Design, count: int) -> Array:
    """The cubic through four points of each panel, times RADIUS^order."""
    places = np.array([-1.0, -1.0 / 3.0, 1.0 / 3.0, 1.0])
    middles = (np.arange(count) + 0.5) / count
    values = design.basis_at((middles[:, None] + 0.5 * places / count).ravel())
    values = values.reshape(count, 4, design.baseline.dimension)
    inverse = np.linalg.inv(np.vander(places, increasing=True))
    powers = (RADIUS ** np.arange(4))[:, None]
    return np.asarray(np.einsum("jk,pke->pje", inverse, values) * powers)


def _every_interval(design: Design) -> Level:
    """Node k of a panel is its k-th interval: weights 1 up to t."""
    return _node_level(design.basis, np.arange(design.intervals))


def _constant_level(design: Design) -> Level:
    """A node a piece, which stands for the intervals of the piece: exact."""
    pieces = design.baseline.dimension
    member = np.argmax(design.baseline.basis(design.intervals), axis=1)
    return _node_level(design.basis[np.searchsorted(member, np.arange(pieces))], member)


def _node_level(basis: Array, node: Integers) -> Level:
    """Interval s has the value of node[s - 1]; padded to whole panels by nodes of weight 0."""
    panels = -(-len(basis) // NODES)
    padded = np.zeros((panels * NODES, basis.shape[1]))
    padded[: len(basis)] = basis
    prefix = np.zeros((len(node) + 1, panels * NODES))
    prefix[np.arange(1, len(node) + 1), node] = 1.0
    sums = np.cumsum(prefix, axis=0).reshape(-1, panels, NODES)
    counts = np.concatenate([[0], node // NODES + 1])
    partial = sums[np.arange(len(node) + 1), np.maximum(counts - 1, 0)]
    shape = (panels, NODES, basis.shape[1])
    checks = np.zeros((panels, 4, basis.shape[1]))
    return Level(padded.reshape(shape), sums[-1], partial, counts.astype(np.int64), checks)
