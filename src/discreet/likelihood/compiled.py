"""The compiled half of the kernel: one pass over the rows of a panel."""

import math

import numpy as np
from numpy.typing import NDArray

from discreet.likelihood.jit import compiled

Array = NDArray[np.float64]
Integers = NDArray[np.int32]


@compiled
def accumulate(  # noqa: PLR0913, PLR0917, compiled code takes arrays, not objects
    lengths: Integers,
    amplitudes: Array,
    covariates: Array,
    positions: Array,
    placing: tuple[float, int],
    first: int,
    table: Array,
    moments: Array,
    curvature: Array,
) -> None:
    """Add the rows of a panel to ``moments`` and ``curvature``.

    A position c lies in cell floor(c / 2w); ``placing`` is (1 / 2w, the first cell of the table).

    moments[t, cell, j] += amplitude T_j(u) (1, x);  curvature += x x' sum_j T_j(u) table[t, cell, j]
    """
    terms = table.shape[2]
    width = covariates.shape[1]
    for row in range(len(lengths)):
        step = lengths[row] - first - 1
        scaled = positions[row] * placing[0]
        below = math.floor(scaled)
        cell = int(below) - placing[1]
        place = 2.0 * (scaled - below) - 1.0
        twice = 2.0 * place
        current = amplitudes[row]
        following = current * place
        weight = 0.0
        for term in range(terms):
            weight += current * table[step, cell, term]
            moments[step, cell, term, 0] += current
            for column in range(width):
                moments[step, cell, term, column + 1] += current * covariates[row, column]
            current, following = following, twice * following - current
        for column in range(width):
            scaled = weight * covariates[row, column]
            for other in range(column + 1):
                curvature[column, other] += scaled * covariates[row, other]
