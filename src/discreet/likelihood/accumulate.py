"""Moments of people by prefix length and cell: in numpy, or compiled where there are many rows.

For a panel and the prefix lengths t that occur in it: ``moments[t, cell, j] = sum amplitude T_j(u)
(1, x)`` over its rows, collected at the panel's nodes, and ``sum x x' F''(c)`` with F'' from the
prefix table.
"""

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from discreet.errors import SettingsError
from discreet.likelihood.expansion import Expansion
from discreet.likelihood.panels import Panel, Polynomial
from discreet.types import Array, Integers

# Below this many rows numpy is fast enough that nobody should wait for a compiler.
COMPILED_FROM = 150_000
Kernel = Literal["auto", "numpy", "compiled"]
_kernel: Kernel = "auto"


@dataclass(frozen=True)
class Rows:
    """Rows with their positions c = beta'x; those of lengths[k] begin at edges[k]."""

    lengths: Integers
    edges: Integers
    amplitudes: Array
    covariates: Array
    positions: Array

    def between(self, first: int, last: int) -> "Rows":
        """Rows with first < length <= last, as views."""
        low, high = np.searchsorted(self.lengths, [first, last], side="right")
        chosen = slice(self.edges[low], self.edges[high])
        return Rows(
            self.lengths[low:high],
            self.edges[low : high + 1] - self.edges[low],
            self.amplitudes[chosen],
            self.covariates[chosen],
            self.positions[chosen],
        )


@dataclass(frozen=True)
class Accumulated:
    """What the rows of one panel contribute."""

    collected: Array  # (nodes, cells * terms, 1 + p): moments at risk at the panel's nodes
    total: Array  # (cells * terms, 1 + p): their sum, at risk in every earlier panel
    curvature: Array  # (p, p): sum x x' F''(c)


def use_kernel(kernel: Kernel) -> None:
    """Choose for this process: by the number of rows, or one of the two always.

    "auto" looks at nothing but the number of rows, so that the same data give the same last bit
    whatever was fitted before.
    """
    global _kernel  # noqa: PLW0603 - a setting of the process, like numpy's error state
    if kernel not in get_args(Kernel):
        raise SettingsError(f"kernel must be one of {', '.join(get_args(Kernel))}.")
    _kernel = kernel


def worth_compiling(rows: int) -> bool:
    """Many rows, unless the process has chosen otherwise."""
    return rows >= COMPILED_FROM if _kernel == "auto" else _kernel == "compiled"


def accumulate(
    rows: Rows, panel: Panel, expansion: Expansion, table: Array, *, compiled: bool
) -> Accumulated:
    """One pass over the rows of a panel; ``table`` is F'', (lengths, cells, terms)."""
    if compiled:
        return _accumulate_compiled(rows, panel, expansion, table)
    return _accumulate_numpy(rows, panel, expansion, table)


def _accumulate_compiled(
    rows: Rows, panel: Panel, expansion: Expansion, table: Array
) -> Accumulated:
    # imported here: numba takes longer to import than a plain fit to run
    from discreet.likelihood import kernels  # noqa: PLC0415

    width = rows.covariates.shape[1]
    shape = (math.prod(table.shape[1:]), width + 1)
    lower = np.zeros((width, width))
    people = (rows.edges, rows.amplitudes, rows.covariates, rows.positions, expansion.placing)
    if isinstance(panel, Polynomial):
        collector = panel.collector(rows.lengths)
        found = np.zeros((collector.shape[1], math.prod(shape)))
        kernels.accumulate_and_collect(*people, table, collector, found, lower)
        collected, total = found[:-1], found[-1]
    else:
        moments = np.zeros((*table.shape, width + 1))
        kernels.accumulate(*people, table, moments, lower)
        flat = moments.reshape(len(table), math.prod(shape))
        collected, total = panel.collect(flat, rows.lengths), np.ones(len(flat)) @ flat
    curvature = lower + np.tril(lower, -1).T
    return Accumulated(collected.reshape(-1, *shape), total.reshape(shape), curvature)


def _accumulate_numpy(rows: Rows, panel: Panel, expansion: Expansion, table: Array) -> Accumulated:
    """The same with one weighted bincount a term and column."""
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
        _nodes_first(panel.collect(cube, rows.lengths)).reshape(-1, cells * terms, width + 1),
        _nodes_first(np.ones((1, length)) @ cube).reshape(cells * terms, width + 1),
        (columns * weight) @ columns.T,
    )


def _nodes_first(cube: Array) -> Array:
    """From (terms, columns, nodes, cells) to (nodes, cells, terms, columns)."""
    return cube.transpose(2, 3, 0, 1)
