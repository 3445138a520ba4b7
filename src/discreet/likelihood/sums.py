"""Sums over people and intervals at a cost that does not grow with the number of intervals.

For fixed alpha, with a_s = alpha'B_s, a prefix of length t contributes
``F_t(c) = sum_{s <= t} phi(a_s + c)`` and the B_s-weighted sums of its derivatives. Expanding
phi(a_s + c) = sum_j G_j(a_s) T_j(u(c)) separates people from intervals:

    moments  M[t, j] = sum over rows of length t of T_j(u) (1, x)          (one pass over rows)
    at risk  R[s, j] = sum_{t >= s} M[t, j]                                (cumulated backwards)
    value    = sum_s G[s] . R[s, :, 0]
    gradient = (sum_s B_s G'[s].R[s,:,0],  sum_s G'[s].R[s,:,1:])
    Hessian  = sum_s B_s B_s' G''[s].R[s,:,0],  sum_s B_s G''[s].R[s,:,1:],  sum x x' F''_t(c)

Person-period rows are never materialised. Each of phi, phi', phi'' is expanded on its own: the
derivative of an interpolant is wrong by 1e-6 where probabilities saturate.
"""

import numpy as np

from discreet.design.design import Design
from discreet.design.link import Link
from discreet.likelihood.accumulate import Rows, accumulate, worth_compiling
from discreet.likelihood.direct import direct_sums
from discreet.likelihood.expansion import Expansion, choose_expansion
from discreet.likelihood.functions import Functions, Pointwise, Sums
from discreet.likelihood.panels import TimeRule, choose_rule
from discreet.likelihood.rows import EventRows, PrefixRows
from discreet.types import Array


def prefix_sums(
    rows: PrefixRows, design: Design, link: Link, f: Array, functions: Functions, *, exact: bool
) -> Sums:
    """Sum ``functions`` over every interval of every prefix."""
    if not len(rows.lengths):
        return Sums.zeros(len(f))
    positions = rows.covariates @ f[design.baseline.dimension :]
    rule = choose_rule(design, link, f[: design.baseline.dimension])
    expansion = choose_expansion(link, positions, len(rows.levels), exact=exact)
    if expansion is None:
        return direct_sums(rows, design.basis, f, functions)
    placed = Rows(
        rows.levels,
        rows.edges,
        expansion.amplitudes(positions, rows.weights),
        rows.covariates,
        positions,
    )
    return _tabulated_sums(placed, rule, expansion, f, functions)


def event_sums(rows: EventRows, basis: Array, f: Array, functions: Functions) -> Sums:
    """Sum ``functions`` over the intervals of the events, directly."""
    here = basis[rows.intervals - 1]
    vectors = np.hstack([here, rows.covariates])
    eta = vectors @ f
    gradient = vectors.T @ functions.slope(eta)
    hessian = (vectors * functions.curvature(eta)[:, None]).T @ vectors
    return Sums(float(functions.value(eta).sum()), gradient, hessian)


def _tabulated_sums(
    rows: Rows, rule: TimeRule, expansion: Expansion, f: Array, functions: Functions
) -> Sums:
    """Panels from the last to the first, carrying the moments of all longer prefixes along."""
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
        found = accumulate(
            parts[index],
            panel,
            expansion,
            tables[index].reshape(-1, expansion.cells, expansion.terms),
            compiled=worth_compiling(len(rows.positions)),
        )
        at_risk = found.collected + panel.weights[:, None, None] * carried
        carried = carried + found.total
        sums.hessian[size:, size:] += found.curvature
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


def _prefix_tables(rule: TimeRule, parts: list[Rows], values: list[Array]) -> list[Array]:
    """Prefix sums over time at every length that occurs, panel after panel."""
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
