"""Integer sums over people: exits, marginal counts, second moments, counts by group.

Each person's contribution is a vector of integers whose size is bounded by construction. Where
covariates may change, a person spreads an integer weight over the values held, by time at risk in
each stretch of time; a person who is never at risk contributes zeros. Proof:
docs/proofs/private-newton.md, sections 1 and 3; of causes docs/proofs/competing-risks.md, section 1;
of groups docs/proofs/group-curves.md, section 1; one person's part docs/proofs/persons.md, section 3.
"""

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from discreet.core.bins import UNIT, Columns, Marginal, Stretches
from discreet.core.covariate_sums import (
    Cuts,
    Standard,
    add_moments,
    count_levels,
    count_numbers,
)
from discreet.people.episodes import Episodes
from discreet.types import Array, Integers

CHUNK = 1 << 14
"""People at a time: what is made on the way stays in the processor's cache."""


def block_exits(
    block: Episodes, edges: Integers, outcomes: int, kinds: int, strata: int
) -> tuple[Integers]:
    """Counts by bin of (censored, outcome 1, 2, ...), and of entries where there is one kind more.

    Each person is in one cell, and in one of the entries. Strata come one after another.
    """
    bins = len(edges) - 1
    first, last = block.ends
    place = ended_in(edges, block.exit[last])
    before = _strata(block)[first].astype(np.int64) * kinds
    ended = block.event if block.cause is None else block.cause
    kind = np.where(block.event[last], ended[last], 0).astype(np.int64)
    counts = np.bincount((before + kind) * bins + place, minlength=strata * kinds * bins)
    if kinds > 1 + outcomes:
        began = (before + 1 + outcomes) * bins + began_in(edges, block.entry[first])
        counts = counts + np.bincount(began, minlength=strata * kinds * bins)
    return (counts.astype(np.int64),)


def ended_in(edges: Integers, exits: NDArray[np.int32]) -> Integers:
    """The bin of everybody's last interval."""
    return np.searchsorted(edges, exits, side="left") - 1


def began_in(edges: Integers, entries: NDArray[np.int32]) -> Integers:
    """The bin of everybody's first interval, the one after `entries`."""
    return np.searchsorted(edges, entries, side="right") - 1


def block_marginals(
    block: Episodes,
    marginals: tuple[Marginal, ...],
    stretches: Stretches,
    leads: Integers | None = None,
) -> tuple[Integers]:
    """Weights in every covariate's bins, stretch after stretch: in each at most `weight` a person.

    `leads` are the lead columns, None where all are.
    """
    shape = [(stretches.number, item.bins) for item in marginals]
    counts = [np.zeros(size, dtype=np.int64) for size in shape]
    weights, values = row_weights(block, stretches), _covariates(block)
    places = _places(block, leads)
    for part in _parts(block.rows):
        for found, item in zip(counts, marginals, strict=True):
            columns, held = places[list(item.columns)], weights[:, part]
            if item.numeric:
                count_numbers(values[part], int(columns[0]), _cuts(item), held, found)
            else:
                count_levels(values[part], columns, held, found)
    return (np.concatenate([*(found.ravel() for found in counts), np.zeros(0, dtype=np.int64)]),)


def block_moments(
    block: Episodes,
    centre: Array,
    spread: Array,
    limit: int,
    stretches: Stretches,
    columns: Columns | None = None,
) -> tuple[Integers]:
    """The lower triangle of sum w v v', v the standardised leads, |v|^2 <= `limit` in integers.

    w is a person's weight of the row in the one stretch. What `centre` has beyond the leads is for
    indicators of strata, of each but the first.
    """
    (weights,) = row_weights(block, stretches)
    asked = columns or Columns()
    pairs = np.array(asked.gaps, dtype=np.int64).reshape(-1, 2)
    place = _places(block, asked.leads)
    standard = Standard(place, centre, UNIT / spread, pairs)
    square = np.zeros((len(centre), len(centre)), dtype=np.int64)
    add_moments(_covariates(block), _strata(block), standard, limit, weights, square)
    rows, places = np.tril_indices(len(centre))
    return (square[rows, places],)


def row_weights(block: Episodes, stretches: Stretches) -> Integers:
    """floor(weight o_r / sum o_r) of each row r, o_r its intervals in the stretch: (K, rows).

    The rows of a person that has time in a stretch share its weight, so their sum is at most that.
    """
    edges = np.asarray(stretches.edges, dtype=np.int64)
    low, high = edges[:-1, None], edges[1:, None]
    held = np.minimum(block.exit, high) - np.maximum(block.entry, low)
    held = np.maximum(held, 0)
    if block.offsets is None:
        return np.where(held > 0, stretches.weight, 0)
    who = np.repeat(np.arange(len(block.offsets) - 1), np.diff(block.offsets))
    totals = [np.bincount(who, row, len(block.offsets) - 1).astype(np.int64) for row in held]
    shared = np.maximum(np.stack(totals)[:, who], 1)
    return np.asarray(held * stretches.weight // shared)


def _cuts(item: Marginal) -> Cuts:
    """The edges of a number's bins; the narrow ones, all alike, stand together."""
    edges, narrow = np.array(item.edges), item.fine
    first, last = int(narrow[0]), int(narrow[-1]) + 1
    return Cuts(edges, first, last, float((last - first) / (edges[last] - edges[first])))


def _parts(rows: int) -> Iterator[slice]:
    """The rows in chunks."""
    for start in range(0, rows, CHUNK):
        yield slice(start, start + CHUNK)


def _covariates(block: Episodes) -> Array:
    """As compiled code takes them."""
    return np.ascontiguousarray(block.covariates, dtype=np.float64)


def _strata(block: Episodes) -> NDArray[np.int16]:
    """Every row's stratum; all are of the first where there are none."""
    if block.stratum is None:
        return np.zeros(block.rows, dtype=np.int16)
    return np.ascontiguousarray(block.stratum, dtype=np.int16)


def _places(block: Episodes, leads: Integers | None) -> Integers:
    """The columns of the leads."""
    return np.arange(block.dimension) if leads is None else leads


def block_group_counts(
    block: Episodes,
    edges: Integers,
    levels: tuple[int, ...],
    tables: tuple[tuple[int, int], ...],
    matrices: tuple[Integers, ...],
) -> tuple[Integers, ...]:
    """M x of events, censored people and entries, by sequence and place (`Groups.tables`).

    A person at risk is in one cell of the first two tables and in one of the third.
    """
    first, last = block.ends
    group, leaves = _groups(block.covariates[first], levels), block.exit[last]
    ended = block.event if block.cause is None else block.cause
    kind = np.where(block.event[last], ended[last], 0).astype(np.int64)
    stretch = np.searchsorted(edges, leaves, side="left") - 1
    happened = kind > 0
    event = (kind - 1) * math.prod(levels) + group
    censored = np.where(leaves == edges[-1], len(edges) - 1, stretch)
    found = [
        _counted(event[happened], stretch[happened], tables[0]),
        _counted(group[~happened], censored[~happened], tables[1]),
    ]
    if len(tables) > len(found):
        entry = block.entry[first]
        began = np.where(entry == 0, 0, np.searchsorted(edges, entry, side="right"))
        found.append(_counted(group, began, tables[2]))
    pairs = zip(found, matrices, strict=True)
    return tuple(table @ matrix.T for table, matrix in pairs)


def _counted(sequence: Integers, place: Integers, shape: tuple[int, int]) -> Integers:
    cells = np.bincount(sequence * shape[1] + place, minlength=math.prod(shape))
    return cells.astype(np.int64).reshape(shape)


def _groups(covariates: Array, levels: tuple[int, ...]) -> Integers:
    """The number of the combination of levels; a level is the indicator that is positive."""
    group, column = np.zeros(len(covariates), dtype=np.int64), 0
    for number in levels:
        chosen = covariates[:, column : column + number - 1] > 0
        level = np.where(chosen.any(axis=1), chosen.argmax(axis=1) + 1, 0)
        group, column = group * number + level, column + number - 1
    return group
