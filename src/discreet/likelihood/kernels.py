"""The compiled half of the kernel: one pass over the rows of a panel."""

import math

import numpy as np

from discreet.likelihood.jit import compiled
from discreet.likelihood.sums import PlacedRows
from discreet.types import Array

Placing = tuple[float, int]


@compiled
def accumulate(
    rows: PlacedRows, placing: Placing, table: Array, moments: Array, curvature: Array
) -> None:
    """Add the rows of a panel to ``moments`` and ``curvature``.

    A position c lies in cell floor(c / 2w); ``placing`` is (1 / 2w, the first cell of the table).

    moments[k, cell, j] += amplitude T_j(u) (1, x);  curvature += x x' sum_j T_j(u) table[k, cell, j]
    """
    _, edges, amplitudes, covariates, positions = rows
    terms = table.shape[2]
    width = covariates.shape[1]
    for length in range(len(edges) - 1):
        for row in range(edges[length], edges[length + 1]):
            scaled = positions[row] * placing[0]
            below = math.floor(scaled)
            cell = int(below) - placing[1]
            place = 2.0 * (scaled - below) - 1.0
            twice = 2.0 * place
            current = amplitudes[row]
            following = current * place
            weight = 0.0
            for term in range(terms):
                weight += current * table[length, cell, term]
                moments[length, cell, term, 0] += current
                for column in range(width):
                    moments[length, cell, term, column + 1] += current * covariates[row, column]
                current, following = following, twice * following - current
            for column in range(width):
                scaled = weight * covariates[row, column]
                for other in range(column + 1):
                    curvature[column, other] += scaled * covariates[row, other]


# Number of lengths whose moments are held at once, small enough for the processor's cache.
LENGTHS_AT_ONCE = 32


@compiled
def accumulate_and_collect(
    rows: PlacedRows,
    placing: Placing,
    table: Array,
    collector: Array,
    collected: Array,
    curvature: Array,
) -> None:
    """collected += collector' moments, with the moments of few lengths in memory."""
    lengths, edges, amplitudes, covariates, positions = rows
    count, cells, terms = table.shape
    width = covariates.shape[1] + 1
    moments = np.empty((LENGTHS_AT_ONCE, cells, terms, width))
    flat = moments.reshape(LENGTHS_AT_ONCE, cells * terms * width)
    for low in range(0, count, LENGTHS_AT_ONCE):
        high = min(low + LENGTHS_AT_ONCE, count)
        moments[:] = 0.0
        here = PlacedRows(
            lengths[low:high], edges[low : high + 1], amplitudes, covariates, positions
        )
        accumulate(here, placing, table[low:high], moments, curvature)
        _add_product(collector[low:high], flat, collected)


@compiled
def _add_product(left: Array, right: Array, total: Array) -> None:
    """total += left' right, in tiles of four rows and two nodes; BLAS would wake its threads."""
    rows, nodes = left.shape
    tiled_rows, tiled_nodes = rows - rows % 4, nodes - nodes % 2
    for node in range(0, tiled_nodes, 2):
        for row in range(0, tiled_rows, 4):
            _add_tile(
                left[row : row + 4, node : node + 2], right[row : row + 4], total[node : node + 2]
            )
    for node in range(nodes):
        for row in range(tiled_rows if node < tiled_nodes else 0, rows):
            for column in range(right.shape[1]):
                total[node, column] += left[row, node] * right[row, column]


@compiled
def _add_tile(left: Array, right: Array, total: Array) -> None:
    """Add four rows to two nodes: each number is loaded once for two products."""
    a, b, c, d = left[0, 0], left[1, 0], left[2, 0], left[3, 0]
    e, f, g, h = left[0, 1], left[1, 1], left[2, 1], left[3, 1]
    for column in range(right.shape[1]):
        w, x, y, z = right[0, column], right[1, column], right[2, column], right[3, column]
        total[0, column] += (a * w + b * x) + (c * y + d * z)
        total[1, column] += (e * w + f * x) + (g * y + h * z)
