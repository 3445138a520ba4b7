"""Sums over people and intervals at a cost that does not grow with the number of intervals.

For fixed alpha, with a_s = alpha'B_s, a prefix of length t contributes
``F_t(c) = sum_{s <= t} phi(a_s + c)`` and the B_s-weighted sums of its derivatives. Expanding
phi(a_s + c) = sum_j G_j(a_s) T_j(u(c)) separates people from intervals:

    moments  M[t, j] = sum over rows of length t of T_j(u) (1, x)          (one pass over rows)
    at risk  R[s, j] = sum_{t >= s} M[t, j]                                (cumulated backwards)
    value    = sum_s G[s] . R[s, :, 0]
    gradient = (sum_s B_s G'[s].R[s,:,0],  sum_s G'[s].R[s,:,1:])
    Hessian  = sum_s B_s B_s' G''[s].R[s,:,0],  sum_s B_s G''[s].R[s,:,1:],  sum x x' F''_t(c)

If c spans too wide a range for tables, intervals are summed one by one.

Person-period rows are never materialised. Each of phi, phi', phi'' is expanded on its own: the
derivative of an interpolant is wrong by 1e-6 where probabilities saturate.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from discreet.design.design import Design
from discreet.design.link import Link
from discreet.likelihood.expansion import Expansion, choose_expansion
from discreet.likelihood.panels import Panel, Polynomial, TimeRule, choose_rule
from discreet.likelihood.rows import EventRows, Limits, PrefixRows
from discreet.types import Array, Integers

COMPILED_FROM: float = 150_000
"""Below this many rows numpy takes less time than compiling.

Nothing but the number of rows decides, so that the same data give the same last bit whatever was
fitted before.
"""

Pointwise = Callable[[Array], Array]


class Functions(NamedTuple):
    """Value, slope and curvature in eta of an interval's contribution."""

    value: Pointwise
    slope: Pointwise
    curvature: Pointwise


@dataclass
class Sums:
    """Totals over people: a value, its gradient and Hessian in f = (alpha, beta)."""

    value: float
    gradient: Array
    hessian: Array

    @classmethod
    def zeros(cls, dimension: int) -> Self:
        """Return the empty sum."""
        return cls(0.0, np.zeros(dimension), np.zeros((dimension, dimension)))

    def __iadd__(self, other: "Sums") -> Self:
        """Add another block's totals."""
        self.value += other.value
        self.gradient = self.gradient + other.gradient
        self.hessian = self.hessian + other.hessian
        return self


class Part(NamedTuple):
    """One stratum in one period: f of its baseline and of the effects in force, and the intervals.

    `total_rows` is the number of rows of all strata.
    """

    f: Array
    limits: Limits
    total_rows: int


class PlacedRows(NamedTuple):
    """Rows with their positions c = beta'x; the rows of lengths[k] begin at edges[k].

    A tuple, which compiled code accepts.
    """

    lengths: Integers
    edges: Integers
    amplitudes: Array
    covariates: Array
    positions: Array

    def between(self, first: int, last: int) -> "PlacedRows":
        """Return the rows with first < length <= last, as views."""
        low, high = np.searchsorted(self.lengths, [first, last], side="right")
        chosen = slice(self.edges[low], self.edges[high])
        return PlacedRows(
            self.lengths[low:high],
            self.edges[low : high + 1] - self.edges[low],
            self.amplitudes[chosen],
            self.covariates[chosen],
            self.positions[chosen],
        )


@dataclass(frozen=True)
class Accumulated:
    """The contribution of the rows of one panel."""

    collected: Array  # (nodes, cells * terms, 1 + p): moments at risk at the panel's nodes
    total: Array  # (cells * terms, 1 + p): their sum, at risk in every earlier panel
    curvature: Array  # (p, p): sum x x' F''(c)


def prefix_sums(
    rows: PrefixRows, design: Design, link: Link, part: Part, functions: Functions, *, exact: bool
) -> Sums:
    """Sum ``functions`` over every interval of every prefix in the period."""
    f, (first, last) = part.f, part.limits
    if not len(rows.lengths):
        return Sums.zeros(len(f))
    positions = rows.covariates @ f[design.baseline.dimension :]
    rule = choose_rule(design, link, f[: design.baseline.dimension]).within(first, last)
    expansion = choose_expansion(link, positions, len(rows.occurring), exact=exact)
    if expansion is None:
        return direct_sums(rows, design.basis, f, functions, first)
    placed = PlacedRows(
        rows.occurring,
        rows.edges,
        expansion.amplitudes(positions, rows.weights),
        rows.covariates,
        positions,
    )
    # by the rows of all strata: compiled code is worth it for all of them or for none
    compiled = part.total_rows >= COMPILED_FROM
    # a step that is too long may give infinite hazards where no row is at risk
    with np.errstate(over="ignore", invalid="ignore"):
        return _tabulated_sums(placed, rule, expansion, f, functions, compiled=compiled)


def event_sums(rows: EventRows, basis: Array, f: Array, functions: Functions) -> Sums:
    """Sum ``functions`` over the intervals of the events, directly."""
    here = basis[rows.intervals - 1]
    vectors = np.hstack([here, rows.covariates])
    eta = vectors @ f
    gradient = vectors.T @ functions.slope(eta)
    hessian = (vectors * functions.curvature(eta)[:, None]).T @ vectors
    return Sums(float(functions.value(eta).sum()), gradient, hessian)


def _tabulated_sums(
    rows: PlacedRows,
    rule: TimeRule,
    expansion: Expansion,
    f: Array,
    functions: Functions,
    *,
    compiled: bool,
) -> Sums:
    """Sum the panels from the last to the first, with the moments of all longer prefixes."""
    size = len(f) - rows.covariates.shape[1]
    expand = _Expander(expansion, [basis @ f[:size] for basis in rule.bases])
    curvatures = expand(functions.curvature)
    parts = [rows.between(panel.first, panel.last) for panel in rule.panels]
    tables = _prefix_tables(rule, parts, curvatures)
    values, slopes = expand(functions.value), expand(functions.slope)
    carried = np.zeros((expansion.cells * expansion.terms, 1 + len(f) - size))
    sums = Sums.zeros(len(f))
    for index in reversed(range(len(rule.panels))):
        panel = rule.panels[index]
        if panel.first >= rows.lengths[-1]:
            continue
        accumulate = _accumulate_compiled if compiled else _accumulate_numpy
        table = tables[index].reshape(-1, expansion.cells, expansion.terms)
        moments = accumulate(parts[index], panel, expansion, table)
        at_risk = moments.collected + panel.weights[:, None, None] * carried
        carried = carried + moments.total
        sums.hessian[size:, size:] += moments.curvature
        sums += _paired(at_risk, rule.bases[index], values[index], slopes[index], curvatures[index])
    return sums


class _Expander:
    """Expansion coefficients of a function at the nodes of every panel."""

    def __init__(self, expansion: Expansion, effects: list[Array]) -> None:
        self._expansion = expansion
        self._ends = np.cumsum([len(effect) for effect in effects])[:-1]
        # adding the shifts once and evaluating all panels together keeps numpy's calls few
        self._eta = np.concatenate(effects)[:, None] + expansion.shifts()

    def __call__(self, function: Pointwise) -> list[Array]:
        return np.split(self._expansion.coefficients(function(self._eta)), self._ends)


def _prefix_tables(rule: TimeRule, parts: list[PlacedRows], values: list[Array]) -> list[Array]:
    """Return prefix sums over time at every length that occurs, panel after panel."""
    tables = []
    before = np.zeros(values[0].shape[1])
    for panel, part, here in zip(rule.panels, parts, values, strict=True):
        table = panel.spread(here, part.lengths)
        table += before
        tables.append(table)
        before = before + panel.weights @ here
    return tables


def _paired(at_risk: Array, basis: Array, value: Array, slope: Array, curvature: Array) -> Sums:
    """Pair the moments at risk (nodes, terms, 1 + p) with the expansions at the same nodes."""
    size = basis.shape[1]
    slopes = (slope[:, None, :] @ at_risk)[:, 0, :]
    curved = (curvature[:, None, :] @ at_risk)[:, 0, :]
    sums = Sums.zeros(size + at_risk.shape[2] - 1)
    sums.value = float(np.sum(value * at_risk[:, :, 0]))
    sums.gradient[:size] = basis.T @ slopes[:, 0]
    sums.gradient[size:] = slopes[:, 1:].sum(axis=0)
    sums.hessian[:size, :size] = (basis * curved[:, :1]).T @ basis
    sums.hessian[:size, size:] = basis.T @ curved[:, 1:]
    sums.hessian[size:, :size] = sums.hessian[:size, size:].T
    return sums


def direct_sums(
    rows: PrefixRows, basis: Array, f: Array, functions: Functions, first: int = 0
) -> Sums:
    """Sum interval by interval over the rows that reach it: O(rows * q), no approximation."""
    size = basis.shape[1]
    positions = rows.covariates @ f[size:]
    sums = Sums.zeros(len(f))
    for step in range(first, rows.longest):
        here = slice(int(rows.starts[step]), None)
        row, weights, x = basis[step], rows.weights[here], rows.covariates[here]
        eta = row @ f[:size] + positions[here]
        slope = weights * functions.slope(eta)
        curved = weights * functions.curvature(eta)
        cross, corner = np.outer(row, x.T @ curved), (x * curved[:, None]).T @ x
        hessian = np.block([[np.outer(row, row) * curved.sum(), cross], [cross.T, corner]])
        gradient = np.concatenate([row * slope.sum(), x.T @ slope])
        sums += Sums(float(weights @ functions.value(eta)), gradient, hessian)
    return sums


def _accumulate_compiled(
    rows: PlacedRows, panel: Panel, expansion: Expansion, table: Array
) -> Accumulated:
    """Accumulate the rows of a panel; ``table`` is F'', (lengths, cells, terms)."""
    # imported here: numba takes longer to import than a plain fit to run
    from discreet.likelihood import kernels  # noqa: PLC0415

    width = rows.covariates.shape[1]
    shape = (math.prod(table.shape[1:]), width + 1)
    lower = np.zeros((width, width))
    if isinstance(panel, Polynomial):
        collector = panel.collector(rows.lengths)
        sums = np.zeros((collector.shape[1], math.prod(shape)))
        kernels.accumulate_and_collect(rows, expansion.placing, table, collector, sums, lower)
        collected, total = sums[:-1], sums[-1]
    else:
        moments = np.zeros((*table.shape, width + 1))
        kernels.accumulate(rows, expansion.placing, table, moments, lower)
        flat = moments.reshape(len(table), math.prod(shape))
        collected, total = panel.collect(flat, rows.lengths), np.ones(len(flat)) @ flat
    curvature = lower + np.tril(lower, -1).T
    return Accumulated(collected.reshape(-1, *shape), total.reshape(shape), curvature)


def _accumulate_numpy(
    rows: PlacedRows, panel: Panel, expansion: Expansion, table: Array
) -> Accumulated:
    """Accumulate the rows of a panel with one weighted bincount for each term and column."""
    length, cells, terms = table.shape
    width = rows.covariates.shape[1]
    located, places = expansion.locate(rows.positions)
    bins = np.repeat(np.arange(length) * cells, np.diff(rows.edges)) + located
    columns = np.ascontiguousarray(rows.covariates.T)
    entries = np.ascontiguousarray(table.reshape(length * cells, terms).T)
    moments = np.empty((terms, width + 1, length * cells))
    weight = np.zeros(len(bins))
    current, following = rows.amplitudes, rows.amplitudes * places
    for term in range(terms):
        weight += current * entries[term][bins]
        moments[term, 0] = np.bincount(bins, current, length * cells)
        for column in range(width):
            moments[term, column + 1] = np.bincount(bins, current * columns[column], length * cells)
        current, following = following, 2.0 * places * following - current
    cube = moments.reshape(terms, width + 1, length, cells)
    return Accumulated(
        # from (terms, columns, nodes, cells) to (nodes, cells, terms, columns)
        panel.collect(cube, rows.lengths)
        .transpose(2, 3, 0, 1)
        .reshape(-1, cells * terms, width + 1),
        (np.ones((1, length)) @ cube).transpose(2, 3, 0, 1).reshape(cells * terms, width + 1),
        (columns * weight) @ columns.T,
    )
