"""The compiled half of the first releases: cells of people's covariates, and their second moments.

Every row's part is a function of that row, of its weight and of public or released numbers only,
and it is added in integers, so neither blocks nor threads can change a sum. Bounds and proofs:
docs/proofs/private-newton.md, sections 1 and 3.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.likelihood.jit import compiled
from discreet.types import Array, Integers

FARTHEST = 2.0**30
"""Standardised covariates are cut to this size before they are rounded."""


class Cuts(NamedTuple):
    """The edges of a number's bins; the narrow ones, all alike, lie from edge `first` to edge `last`.

    `scale` is the number of narrow bins in a unit.
    """

    edges: Array
    first: int
    last: int
    scale: float


class Standard(NamedTuple):
    """How rows become the vectors of second moments: (x - centre) * unit, column by column.

    `columns` are those of the covariates; what `centre` has beyond them is for indicators of strata,
    of each but the first. `gaps` has rows (number, indicator), places among the columns: a number that
    is missing counts as the centre.
    """

    columns: Integers
    centre: Array
    unit: Array
    gaps: Integers


@compiled
def within(value: float) -> float:
    """A covariate as a number of size at most 1, whatever was there."""
    return 0.0 if math.isnan(value) else min(max(value, -1.0), 1.0)


@compiled
def cell_of(value: float, edges: Array, first: int, last: int, scale: float) -> int:
    """The bin of a value: by division among the narrow bins, by search elsewhere."""
    if edges[first] <= value < edges[last]:
        return int(min((value - edges[first]) * scale, last - first - 1.0)) + first
    cell = 0
    while cell < len(edges) - 2 and edges[cell + 1] <= value:
        cell += 1
    return cell


@compiled
def count_numbers(
    covariates: Array, column: int, cuts: Cuts, weights: Integers, counts: Integers
) -> None:
    """Add every row's weights, one for each stretch of time, to the cell of its value."""
    edges, first, last, scale = cuts
    for row in range(covariates.shape[0]):
        cell = cell_of(within(covariates[row, column]), edges, first, last, scale)
        for stretch in range(weights.shape[0]):
            counts[stretch, cell] += weights[stretch, row]


@compiled
def count_levels(covariates: Array, columns: Integers, weights: Integers, counts: Integers) -> None:
    """The same for a category: the first column above 0 says which level, none that it is the first."""
    for row in range(covariates.shape[0]):
        level = 0
        for place in range(len(columns)):
            if covariates[row, columns[place]] > 0.0:
                level = place + 1
                break
        for stretch in range(weights.shape[0]):
            counts[stretch, level] += weights[stretch, row]


@compiled
def shorten(vector: Array, limit: int, whole: Integers) -> None:
    """Write the vector toward zero as integers of squared norm at most `limit`: checked in integers.

    What is not a number counts as 0: as an integer it would be -2^63, whose square wraps around.
    """
    square, total = 0.0, 0
    for k in range(len(vector)):
        if not math.isfinite(vector[k]):
            vector[k] = 0.0
        square += vector[k] * vector[k]
    factor = min(1.0, math.sqrt(limit / max(square, 1.0)))
    for k in range(len(vector)):
        whole[k] = int(vector[k] * factor)
        total += whole[k] * whole[k]
    for k in range(len(vector)):
        whole[k] = 0 if total > limit else whole[k]


@compiled
def standardise(
    covariates: Array, stratum: NDArray[np.int16], row: int, standard: Standard, vector: Array
) -> None:
    """Write the row's standardised vector, rounded toward zero."""
    columns, centre, unit, gaps = standard
    width = len(columns)
    for k in range(len(centre)):
        value = within(covariates[row, columns[k]]) if k < width else 0.0
        if k >= width and stratum[row] == k - width + 1:
            value = 1.0
        scaled = min(max((value - centre[k]) * unit[k], -FARTHEST), FARTHEST)
        vector[k] = np.trunc(scaled)
    for gap in range(gaps.shape[0]):
        if within(covariates[row, columns[gaps[gap, 1]]]) > 0.0:
            vector[gaps[gap, 0]] = 0.0


@compiled
def add_moments(
    covariates: Array,
    stratum: NDArray[np.int16],
    standard: Standard,
    limit: int,
    weights: Integers,
    square: Integers,
) -> None:
    """Add w v v' of every row, lower triangle: v shortened to |v|^2 <= `limit`, w the weight."""
    size = len(standard.centre)
    vector, whole = np.empty(size), np.empty(size, dtype=np.int64)
    for row in range(len(weights)):
        standardise(covariates, stratum, row, standard, vector)
        shorten(vector, limit, whole)
        for i in range(size):
            weighted = weights[row] * whole[i]
            for j in range(i + 1):
                square[i, j] += weighted * whole[j]
