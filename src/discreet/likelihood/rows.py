"""Signed prefix rows, the input of all sums over people and intervals.

A row at risk in the intervals entry + 1 ... stop is the prefix 1 ... stop with weight +1 and the
prefix 1 ... entry with weight -1. Sorted by prefix length, every sum over people and intervals
becomes a sum over prefixes; left truncation and time-varying covariates need nothing more.

If effects change with time, each period has sums of its own: a prefix has the intervals from the
period's first on, so that a row at risk when the period begins is still one prefix.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import Concatenate, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from discreet.people.episodes import Episodes
from discreet.types import Array, Flags

Built = TypeVar("Built")
Asked = ParamSpec("Asked")
Limits = tuple[int, int]
"""(first, last): the intervals first + 1 ... last of a period."""


@dataclass(frozen=True)
class PrefixRows:
    """Prefixes first + 1 ... length with a weight and covariates, sorted by length (above first)."""

    lengths: NDArray[np.int32]
    weights: Array
    covariates: Array

    @cached_property
    def occurring(self) -> NDArray[np.int64]:
        """The lengths that occur, ascending; on a fine grid most intervals are empty."""
        return np.flatnonzero(self._counts)

    @cached_property
    def edges(self) -> NDArray[np.int64]:
        """The rows of occurring[k] are edges[k] ... edges[k + 1] - 1."""
        return np.concatenate([[0], np.cumsum(self._counts[self.occurring])])

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """starts[t] is the first row with length > t, for t = 0 ... the greatest length."""
        return np.cumsum(self._counts)

    @property
    def longest(self) -> int:
        """The greatest length, 0 when there is no row."""
        return int(self.lengths[-1]) if len(self.lengths) else 0

    @cached_property
    def _counts(self) -> NDArray[np.int64]:
        return np.bincount(self.lengths, minlength=1)


@dataclass(frozen=True)
class EventRows:
    """Covariates and interval of every event."""

    intervals: NDArray[np.int32]
    covariates: Array


@dataclass(frozen=True)
class EventTotals:
    """Events by interval and the sum of their covariates, for a linear term."""

    counts: NDArray[np.int64]
    covariates: Array

    def linear(self, basis: Array) -> Array:
        """Return (sum of B_exit, sum of x) over events."""
        return np.concatenate([self.counts @ basis[: len(self.counts)], self.covariates])


def _remembered(
    build: Callable[Concatenate[Episodes, Asked], Built],
) -> Callable[Concatenate[Episodes, Asked], Built]:
    """Build once for each block and period, and keep the result as long as the block lives."""
    memo: WeakKeyDictionary[Episodes, dict[object, Built]] = WeakKeyDictionary()

    @wraps(build)
    def recall(block: Episodes, /, *limits: Asked.args, **none: Asked.kwargs) -> Built:
        known = memo.setdefault(block, {})
        if limits not in known:
            known[limits] = build(block, *limits, **none)
        return known[limits]

    return recall


@_remembered
def strata_blocks(block: Episodes) -> tuple[Episodes, ...]:
    """Return the people of each stratum up to the last that occurs, by its number."""
    if block.stratum is None or not block.rows:
        return (block,)
    return tuple(block.of_stratum(number) for number in range(int(block.stratum.max()) + 1))


@_remembered
def closed_prefixes(block: Episodes, limits: Limits) -> PrefixRows:
    """Return prefixes that include the event's interval: every interval at risk."""
    return _prefixes(block, block.exit, limits)


@_remembered
def open_prefixes(block: Episodes, limits: Limits) -> PrefixRows:
    """Return prefixes without the event's interval: every interval survived."""
    return _prefixes(block, block.exit - block.event.astype(np.int32), limits)


@_remembered
def event_totals(block: Episodes, limits: Limits) -> EventTotals:
    """Return sufficient statistics of the events of a block."""
    events = _events_within(block, limits)
    counts = np.bincount(block.exit[events], minlength=1)[1:]
    return EventTotals(counts, events @ block.covariates)


@_remembered
def event_rows(block: Episodes, limits: Limits) -> EventRows:
    """Return the events of a block."""
    events = _events_within(block, limits)
    return EventRows(block.exit[events], block.covariates[events])


def _events_within(block: Episodes, limits: Limits) -> Flags:
    first, last = limits
    return block.event & (block.exit > first) & (block.exit <= last)


def _prefixes(block: Episodes, stops: NDArray[np.int32], limits: Limits) -> PrefixRows:
    first, last = limits
    late = np.flatnonzero((block.entry > first) & (block.entry < last))
    if not np.any(block.entry > first) and np.all(stops[1:] >= stops[:-1]):
        begin = int(np.searchsorted(stops, first, side="right"))
        weights = np.ones(len(stops) - begin)
        return PrefixRows(np.minimum(stops[begin:], last), weights, block.covariates[begin:])
    here = np.flatnonzero((stops > first) & (block.entry < last))
    lengths = np.concatenate([np.minimum(stops[here], last), block.entry[late]])
    rows = np.concatenate([here, late])
    weights = np.concatenate([np.ones(len(here)), -np.ones(len(late))])
    small = len(lengths) == 0 or int(lengths.max()) < 2**16
    keys = lengths.astype(np.uint16) if small else lengths
    order = np.argsort(keys, kind="stable")
    return PrefixRows(lengths[order], weights[order], block.covariates[rows[order]])
