"""The intervals that belong to each row of a person.

A row is in force at the times start <= a <= stop.  Interval s belongs to the row in force at its
start a_{s-1}; where several are, to the last of them in the order (start, stop, place in the
file; of a query the values instead of the place).  The first event of a person is the earliest; it counts in the interval that contains it, for
the row that owns that interval, and not at all if no row does.  Rows that start at or after the
first event, other than those that end with it, are dropped, and so are later intervals.

In terms of counts of grid points a row is in force at the points first, ..., last - 1 (of
a_0, ..., a_{q-1}): it is at risk in intervals first + 1, ..., last where no other row takes over.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.design.grid import TimeGrid
from discreet.types import Array, Flags

Counts = NDArray[np.int32]
Rows = NDArray[np.int64]
Keys = Callable[[], Sequence[NDArray[Any]]]
Stretches = tuple[Rows, Counts, Counts, Counts]  # row, person, first, last


@dataclass(frozen=True)
class Spells:
    """Repaired times: the row is in force at start <= a <= stop, and may end with an event.

    start <= stop, no NaN; both are at or after time zero, unless the row ends before an origin;
    ``stop`` may be infinite.  ``timed`` is false where the duration was missing: such a row is never
    in force.
    """

    start: Array | None
    stop: Array
    event: Flags
    timed: Flags
    cause: NDArray[np.int8] | None = None


@dataclass(frozen=True)
class Spans:
    """Stretches at risk: source row, intervals entry + 1 ... exit, event in the last."""

    row: Rows
    entry: Counts
    exit: Counts
    event: Flags
    offsets: Rows | None
    persons: int
    cause: NDArray[np.int8] | None = None

    @property
    def last(self) -> Counts:
        """The last interval of each person who is at risk in one."""
        if self.offsets is None:
            return self.exit
        return self.exit[self.offsets[1:][np.diff(self.offsets) > 0] - 1]


def single_spans(spells: Spells, grid: TimeGrid) -> Spans:
    """Return spans of rows that are a person each, sorted by exit."""
    last = grid.begun(spells.stop)
    first = None if spells.start is None else grid.begun_before(spells.start)
    kept = np.flatnonzero(spells.timed & (last > (0 if first is None else first)))
    # numpy sorts 16-bit integers by radix, several times faster than by comparison
    key = last[kept].astype(np.uint16 if grid.intervals < 1 << 16 else np.int32)
    row = kept[np.argsort(key, kind="stable")]
    entry = np.zeros(len(row), dtype=np.int32) if first is None else first[row]
    event = spells.event[row]
    cause = None if spells.cause is None else np.where(event, spells.cause[row], 0).astype(np.int8)
    return Spans(row, entry, last[row], event, None, len(last), cause)


def grouped_spans(
    person: Counts, persons: int, spells: Spells, grid: TimeGrid, values: Keys | None = None
) -> Spans:
    """Return spans of several rows a person, numbered 0 ... persons - 1, by person, then time.

    Of rows that begin and end together the last one counts. Where the order of rows means nothing,
    `values` gives columns of numbers to sort them by.
    """
    start = np.full_like(spells.stop, grid.zero) if spells.start is None else spells.start
    row = time_order(person, start, spells.stop, np.flatnonzero(spells.timed), values)
    first_event = first_events(person[row], spells.stop[row], spells.event[row], persons)
    first_cause = None
    if spells.cause is not None:  # of several at one time the schema's first
        first_cause = np.full(persons, np.iinfo(np.int8).max, dtype=np.int8)
        ends = row[spells.event[row] & (spells.stop[row] == first_event[person[row]])]
        np.minimum.at(first_cause, person[ends], spells.cause[ends])
    kept = until_event(person[row], start[row], spells.stop[row], spells.event[row], first_event)
    row = row[kept]
    limit = grid.begun(first_event)  # of no event, at infinity: all intervals
    who, first = person[row], grid.begun_before(start[row])
    last = np.minimum(grid.begun(spells.stop[row]), limit[who])
    row, who, first, last = _owned(row, who, first, last)
    final = np.append(who[1:] != who[:-1], True)[: len(who)]
    event = final & (last == limit[who]) & np.isfinite(first_event[who])
    offsets = np.concatenate([[0], np.cumsum(np.bincount(who, minlength=persons))])
    cause = None if first_cause is None else np.where(event, first_cause[who], 0).astype(np.int8)
    return Spans(row, first, last, event, offsets, persons, cause)


def time_order(
    person: Counts, start: Array, stop: Array, rows: Rows, values: Keys | None = None
) -> Rows:
    """Sort rows by person, start, stop, by `values` if given, and by place in the file."""
    ordered, who = rows, person[rows]
    if bool(np.any(who[1:] < who[:-1])):
        ordered = rows[np.argsort(who, kind="stable")]
    who, begin, end = person[ordered], start[ordered], stop[ordered]
    later = (begin[1:] > begin[:-1]) | ((begin[1:] == begin[:-1]) & (end[1:] >= end[:-1]))
    if values is None and bool(np.all(later | (who[1:] != who[:-1]))):
        return ordered
    further = [] if values is None else [column[ordered] for column in values()]
    return ordered[np.lexsort((*further, end, begin, who))]


def first_events(who: Counts, stop: Array, event: Flags, persons: int) -> Array:
    """Return the time of each person's first event, infinite without one; ``who`` is sorted."""
    first = np.full(persons, np.inf)
    who, stop = who[event], stop[event]
    if len(who):
        heads = np.flatnonzero(np.append(True, who[1:] != who[:-1]))
        first[who[heads]] = np.minimum.reduceat(stop, heads)
    return first


def until_event(who: Counts, start: Array, stop: Array, event: Flags, first_event: Array) -> Flags:
    """Return whether each row starts before the first event or ends with it."""
    time = first_event[who]
    ends: Flags = event & (stop == time)
    return ends | (start < time)


def _owned(row: Rows, who: Counts, first: Counts, last: Counts) -> Stretches:
    """Return disjoint stretches from rows in (start, stop) order.

    While ``last`` does not decrease within a person, each row ends where the next one begins.  A row
    inside an earlier, longer one interrupts it: such people are swept one by one.
    """
    row, who, first, last = _select(first < last, row, who, first, last)
    same = who[1:] == who[:-1]
    nested = np.unique(who[1:][same & (last[1:] < last[:-1])])
    swept = np.isin(who, nested)
    cut = np.append(np.where(same, first[1:], last[:-1]), last[-1:])
    plain = _select(~swept, row, who, first, np.minimum(last, cut))
    if len(nested):
        row, who, first, last = _select(swept, row, who, first, last)
        heads = [0, *(np.flatnonzero(who[1:] != who[:-1]) + 1).tolist(), len(who)]
        starts, stops = first.tolist(), last.tolist()
        pieces = [
            (head + index, begin, end)
            for head, tail in pairwise(heads)
            for index, begin, end in sweep(starts[head:tail], stops[head:tail])
        ]
        index, begin, end = np.array(pieces, dtype=np.int64).reshape(-1, 3).T
        parts = row[index], who[index], begin.astype(np.int32), end.astype(np.int32)
        row, who = np.append(plain[0], parts[0]), np.append(plain[1], parts[1])
        first, last = np.append(plain[2], parts[2]), np.append(plain[3], parts[3])
        plain = _select(np.lexsort((first, who)), row, who, first, last)
    return _select(plain[2] < plain[3], *plain)


def _select(chosen: NDArray[Any], row: Rows, who: Counts, first: Counts, last: Counts) -> Stretches:
    return row[chosen], who[chosen], first[chosen], last[chosen]


def sweep(first: list[int], last: list[int]) -> list[tuple[int, int, int]]:
    """Return the stretches (row, first, last) in which a row is the last one in force.

    Rows come in order of ``first``; a later one covers an earlier one while it is in force, and
    the earlier one resumes afterwards: a stack of rows, each point of time visited once.
    """
    pieces: list[tuple[int, int, int]] = []
    stack: list[int] = []
    time = 0
    for row, begin in enumerate(first):
        time = _advance(stack, last, time, begin, pieces)
        stack.append(row)
    _advance(stack, last, time, max(last, default=0), pieces)
    return pieces


def _advance(
    stack: list[int], last: list[int], time: int, until: int, pieces: list[tuple[int, int, int]]
) -> int:
    """Assign the time up to ``until`` to the rows on the stack, the topmost first."""
    while stack and time < until:
        end = min(last[stack[-1]], until)
        if end > time:
            pieces.append((stack[-1], time, end))
            time = end
        if last[stack[-1]] <= time:
            stack.pop()
    return max(time, until)
