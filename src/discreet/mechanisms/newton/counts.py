"""Integer sums over people for the first releases: exits, marginal counts, second moments.

Each person's contribution is a vector of integers whose size is bounded by construction; the
bounds and their proofs are in docs/proofs/private-newton.md, section 3. Where covariates may change,
a person spreads an integer weight over the values held, by time at risk in each stretch of time;
somebody never at risk contributes zeros.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.design.design import Design
from discreet.design.schema import Categorical
from discreet.design.terms import Filled
from discreet.likelihood.covariate_sums import (
    Cuts,
    Standard,
    count_levels,
    count_numbers,
    moment_sums,
)
from discreet.people.episodes import Episodes
from discreet.types import Array, Integers

UNIT = 2**10
"""Standardised covariates are rounded toward zero to multiples of 1 / UNIT."""

DIAGONAL, OFF_DIAGONAL = 128, 181
"""Integer weights of the half-vector; (181/128)^2 < 2, so its norm is below Frobenius'."""

CHUNK = 1 << 14
"""People at a time: what is made on the way stays in the processor's cache."""

EXITS_ONLY, ENTRIES_TOO = 2, 3


@dataclass(frozen=True)
class Marginal:
    """One covariate's columns and how its values are binned: by level, or between edges.

    The first and the last bin of a number hold also what lies beyond them.
    """

    columns: tuple[int, ...]
    bins: int
    edges: tuple[float, ...] = ()

    @property
    def numeric(self) -> bool:
        """Whether the covariate is a number."""
        return bool(self.edges)

    @property
    def fine(self) -> Integers:
        """A number's narrow bins, all alike and side by side; those beyond them are wider."""
        widths = np.diff(self.edges)
        return np.flatnonzero(widths < 1.5 * widths.min())

    @property
    def middles(self) -> Array:
        """The middle of each bin of a number."""
        edges = np.array(self.edges)
        return np.asarray((edges[1:] + edges[:-1]) / 2.0)


@dataclass(frozen=True)
class Stretches:
    """Public stretches of time, and the weight that a person spreads over the values in each.

    Stretch k holds the intervals edges[k] < s <= edges[k + 1].
    """

    edges: tuple[int, ...]
    weight: int = 1

    @property
    def number(self) -> int:
        """K."""
        return len(self.edges) - 1

    @property
    def mass(self) -> int:
        """The largest sum of what one person adds to the cells of one covariate."""
        return self.number * self.weight

    @property
    def square(self) -> int:
        """The largest sum of squares of the same: in each stretch all weight in one cell."""
        return self.number * self.weight**2


class Leavings(NamedTuple):
    """The released chance of being censored, by stratum and bin of time; zero in the last bin."""

    edges: Integers
    chances: Array


class Varyings(NamedTuple):
    """Lean, from -1 to 1, by interval, and the released hazard by stratum and interval."""

    lean: Array
    chances: Array


class Columns(NamedTuple):
    """What second moments are of: the lead columns (None: all), missing numbers, and what else.

    Where asked for (None: not), how much sooner than others people left and how late events came.
    `gaps` are pairs (number, indicator) of leads: a number that is missing counts as the centre,
    because its fill, the same for everybody, would make number and indicator look like one column.
    """

    leads: Integers | None = None
    gaps: tuple[tuple[int, int], ...] = ()
    leaving: Leavings | None = None
    varying: Varyings | None = None


ONCE = Stretches((0, 1))
"""Counts of people: one cell each, whole."""


def time_edges(intervals: int, bins: int) -> Integers:
    """Public edges: bin k holds the intervals edges[k] < s <= edges[k + 1]."""
    return np.unique(np.rint(np.linspace(0, intervals, bins + 1)).astype(np.int64))


def stretches_of(intervals: int, number: int, *, pure: bool) -> Stretches:
    """Stretches whose weights are one unit altogether, in the norm that the noise has.

    The sum of squares is at most UNIT^2, or the sum at most UNIT.
    """
    edges = tuple(int(edge) for edge in time_edges(intervals, number))
    parts = len(edges) - 1
    return Stretches(edges, UNIT // parts if pure else math.isqrt(UNIT**2 // parts))


def exit_edges(intervals: int, bins: int) -> Integers:
    """Equal bins, the first of them halved down to one interval, the last interval alone.

    Hazards often begin with a peak, and whoever is censored at the horizon was at risk until then.
    """
    edges = time_edges(intervals, bins).tolist()
    first, extra = int(edges[1]), [intervals - 1]
    while first > 1:
        first //= 2
        extra.append(first)
    return np.unique(np.array([*edges, *extra], dtype=np.int64))


def marginals_of(design: Design, bins: int) -> tuple[Marginal, ...]:
    """The covariates of the schema in the order of their lead columns.

    Columns are counted among the leads alone; where a missing number has a column of its own, that
    is a category of two levels.
    """
    result: list[Marginal] = []
    column, ranges = 0, design.covariates.ranges[design.covariates.leads]
    for covariate in design.schema.covariates:
        if isinstance(covariate, Categorical):
            levels = len(covariate.coefficient_names) + 1
            result.append(Marginal(tuple(range(column, column + levels - 1)), levels))
            column += levels - 1
            continue
        edges = np.linspace(-ranges[column], ranges[column], bins + 1).tolist()
        result.append(Marginal((column,), bins, tuple(edges)))
        if covariate.indicated:
            result.append(Marginal((column + 1,), 2))
        column += 2 if covariate.indicated else 1
    return tuple(result)


def gaps_of(design: Design) -> tuple[tuple[int, int], ...]:
    """Numbers with an indicator of their own, as pairs of places among the leads."""
    place = {int(column): number for number, column in enumerate(design.covariates.leads)}
    return tuple(
        (place[part.number], place[part.indicator])
        for part in design.covariates.derived
        if isinstance(part, Filled)
    )


def block_exits(block: Episodes, edges: Integers, kinds: int, strata: int = 1) -> tuple[Integers]:
    """Counts by bin of (censored, event), and of entries where `kinds` is 3: one cell each a person.

    With strata those of one stand after those of another.
    """
    bins = len(edges) - 1
    first, last = block.ends
    place = ended_in(edges, block.exit[last])
    before = _strata(block)[first].astype(np.int64) * kinds
    kind = block.event[last].astype(np.int64)
    counts = np.bincount((before + kind) * bins + place, minlength=strata * kinds * bins)
    if kinds == ENTRIES_TOO:
        began = began_in(edges, block.entry[first])
        entered = (before + EXITS_ONLY) * bins + began
        counts = counts + np.bincount(entered, minlength=strata * kinds * bins)
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
    """The half-vector of sum w v v', v the standardised leads, |v|^2 <= `limit` in integers.

    w is a person's weight of the row in the one stretch. What `centre` has beyond the leads is for
    indicators of strata, of each but the first, and last, where asked for, for how much sooner than
    others a person was censored and for how late the event came.
    """
    (weights,) = row_weights(block, stretches)
    asked = columns or Columns()
    pairs = np.array(asked.gaps, dtype=np.int64).reshape(-1, 2)
    place = _places(block, asked.leads)
    standard = Standard(place, centre, UNIT / spread, pairs, _further(block, asked))
    square = moment_sums(_covariates(block), _strata(block), standard, limit, weights)
    rows, places = np.tril_indices(len(centre))
    return (square[rows, places] * np.where(rows == places, DIAGONAL, OFF_DIAGONAL),)


def leavings(block: Episodes, leaving: Leavings) -> Array:
    """Of every row its person's u: how much sooner than others the person was censored.

    1{censored before the last bin} minus the sum of the bins' chances from the first entry to the
    last exit; half of the chance where the person enters within the bin or has an event there.
    """
    edges, chances = leaving
    before = np.hstack([np.zeros((len(chances), 1)), np.cumsum(chances, axis=1)])
    first, last = block.ends
    stratum, event = _strata(block)[first], block.event[last]
    begin, end = began_in(edges, block.entry[first]), ended_in(edges, block.exit[last])
    late = block.entry[first] > edges[begin]
    halves = chances[stratum, begin] * late + chances[stratum, end] * event
    asked = before[stratum, end + 1] - before[stratum, begin] - halves / 2.0
    early = ~event & (end < chances.shape[1] - 1)
    return np.repeat(early - asked, last - first + 1)


def varyings(block: Episodes, varying: Varyings) -> Array:
    """Of every row its person's l: how late the event came against everybody's hazard.

    lean(e) where the person has an event at the last interval e, otherwise 0, minus the sum of
    lean(s) q_s over the intervals s from the first entry to the last exit.
    """
    lean, chances = varying
    before = np.hstack([np.zeros((len(chances), 1)), np.cumsum(lean * chances, axis=1)])
    first, last = block.ends
    stratum, leave = _strata(block)[first], block.exit[last]
    asked = before[stratum, leave] - before[stratum, block.entry[first]]
    late = np.where(block.event[last], lean[leave - 1], 0.0)
    return np.repeat(late - asked, last - first + 1)


def _further(block: Episodes, columns: Columns) -> Array:
    """What second moments have besides covariates and strata, (rows, 0 to 2)."""
    found: list[Array] = []
    if columns.leaving is not None:
        found.append(leavings(block, columns.leaving))
    if columns.varying is not None:
        found.append(varyings(block, columns.varying))
    return np.ascontiguousarray(np.reshape(found, (len(found), block.rows)).T)


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
