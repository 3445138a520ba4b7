"""Integer sums over people for the first releases: exits, marginal counts, second moments.

Each person's contribution is a vector of integers whose size is bounded by construction; the
bounds and their proofs are in docs/proofs/private-newton.md, section 3. A person's covariates are
those of the first row; somebody never at risk contributes zeros.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from discreet.design.design import Design
from discreet.design.schema import Categorical
from discreet.people.episodes import Episodes
from discreet.types import Array, Integers

UNIT = 2**10
"""Standardised covariates are rounded toward zero to multiples of 1 / UNIT."""

DIAGONAL, OFF_DIAGONAL = 128, 181
"""Integer weights of the half-vector; (181/128)^2 < 2, so its norm is below Frobenius'."""

CHUNK = 1 << 14
"""People at a time: what is made on the way stays in the processor's cache."""

EXACT = 1 << 53
"""Floating-point integers below this are exact."""

EXITS_ONLY, ENTRIES_TOO = 2, 3


@dataclass(frozen=True)
class Marginal:
    """One covariate's columns and how its values are binned; `levels` is None for numbers."""

    columns: tuple[int, ...]
    bins: int
    levels: int | None


def time_edges(intervals: int, bins: int) -> Integers:
    """Public edges: bin k holds the intervals edges[k] < s <= edges[k + 1]."""
    return np.unique(np.rint(np.linspace(0, intervals, bins + 1)).astype(np.int64))


def marginals_of(design: Design, bins: int) -> tuple[Marginal, ...]:
    """The covariates of the schema in the order of their internal columns."""
    result, column = [], 0
    for covariate in design.schema.covariates:
        levels = len(covariate.levels) if isinstance(covariate, Categorical) else None
        width = levels - 1 if levels else 1
        columns = tuple(range(column, column + width))
        result.append(Marginal(columns, levels or bins, levels))
        column += width
    return tuple(result)


def block_exits(block: Episodes, edges: Integers, kinds: int) -> tuple[Integers]:
    """Counts by bin of (censored, event), and of entries where `kinds` is 3: one cell each a person."""
    bins = len(edges) - 1
    first, last = _ends(block)
    place = np.searchsorted(edges, block.exit[last], side="left") - 1
    kind = block.event[last].astype(np.int64)
    counts = np.bincount(kind * bins + place, minlength=2 * bins)
    if kinds == ENTRIES_TOO:
        began = np.searchsorted(edges, block.entry[first], side="right") - 1
        counts = np.concatenate([counts, np.bincount(began, minlength=bins)])
    return (counts.astype(np.int64),)


def block_marginals(
    block: Episodes, marginals: tuple[Marginal, ...], scale: Array
) -> tuple[Integers]:
    """Counts of every covariate's bins: one cell of each covariate a person."""
    counts = np.zeros(sum(item.bins for item in marginals), dtype=np.int64)
    for values in _first_values(block):
        found = [
            np.bincount(_cells(values, item, scale), minlength=item.bins) for item in marginals
        ]
        counts += np.concatenate([*found, np.zeros(0, dtype=np.int64)])
    return (counts,)


def block_moments(block: Episodes, centre: Array, spread: Array, limit: int) -> tuple[Integers]:
    """The half-vector of sum v v', v the standardised covariates, |v|^2 <= `limit` in integers."""
    square = np.zeros((len(centre), len(centre)), dtype=np.int64)
    for values in _first_values(block):
        standard = (values - centre) * (UNIT / spread)
        whole = _shortened(np.trunc(np.clip(standard, -(2.0**30), 2.0**30)), limit)
        square += _gram(whole, limit)
    rows, columns = np.tril_indices(len(centre))
    return (square[rows, columns] * np.where(rows == columns, DIAGONAL, OFF_DIAGONAL),)


def _gram(whole: Integers, limit: int) -> Integers:
    """v'v of integers.

    In floating point, which is fast, where it is exact: |sum v_i v_j| <= CHUNK limit, and sums of
    integers below 2^53 do not round in any order.
    """
    if CHUNK * limit >= EXACT:
        return whole.T @ whole
    real = whole.astype(np.float64)
    return np.asarray(real.T @ real).astype(np.int64)


def _shortened(values: Array, limit: int) -> Integers:
    """Integer vectors of squared norm at most `limit`, checked in integers."""
    squares = np.maximum(np.sum(values * values, axis=1), 1.0)
    factor = np.minimum(1.0, np.sqrt(limit / squares))
    whole: Integers = np.trunc(values * factor[:, None]).astype(np.int64)
    whole[np.sum(whole * whole, axis=1) > limit] = 0
    return whole


def _cells(values: Array, item: Marginal, scale: Array) -> Integers:
    """The bin of each person: the level of a category, or the part of the public range."""
    chosen = values[:, list(item.columns)]
    if item.levels is not None:
        positive = chosen > 0
        return np.where(positive.any(axis=1), positive.argmax(axis=1) + 1, 0)
    place = np.floor((chosen[:, 0] / scale[item.columns[0]] + 1.0) / 2.0 * item.bins)
    return np.asarray(np.clip(place, 0, item.bins - 1), dtype=np.int64)


def _first_values(block: Episodes) -> Iterator[Array]:
    """The covariates of everybody's first row: numbers of size at most 1, whatever was there."""
    rows = None if block.offsets is None else _ends(block)[0]
    for start in range(0, block.rows if rows is None else len(rows), CHUNK):
        part = slice(start, start + CHUNK)
        values = block.covariates[part] if rows is None else block.covariates[rows[part]]
        yield np.clip(np.nan_to_num(values), -1.0, 1.0)


def _ends(block: Episodes) -> tuple[Integers, Integers]:
    """The first and the last row of every person who has one."""
    if block.offsets is None:
        rows = np.arange(block.rows, dtype=np.int64)
        return rows, rows
    some = block.offsets[1:] > block.offsets[:-1]
    return block.offsets[:-1][some], block.offsets[1:][some] - 1
