"""Signed prefix rows: the one form in which the sums over intervals see people.

A row at risk in the intervals entry + 1 ... stop is the prefix 1 ... stop with weight +1 and the
prefix 1 ... entry with weight -1. Sorted by prefix length, every sum over people and intervals
becomes a sum over prefixes; left truncation and time-varying covariates need nothing more.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from discreet.people.episodes import Episodes
from discreet.types import Array

Built = TypeVar("Built")


@dataclass(frozen=True)
class PrefixRows:
    """Prefixes 1 ... length with a weight and covariates, sorted by length (never 0)."""

    lengths: NDArray[np.int32]
    weights: Array
    covariates: Array

    @cached_property
    def occurring(self) -> NDArray[np.int64]:
        """The lengths that occur, ascending: days on a fine grid leave most intervals empty."""
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
    """Events by interval and the sum of their covariates: all that a linear term needs."""

    counts: NDArray[np.int64]
    covariates: Array

    def linear(self, basis: Array) -> Array:
        """(sum of B_exit, sum of x) over events."""
        return np.concatenate([self.counts @ basis[: len(self.counts)], self.covariates])


def _remembered(build: Callable[[Episodes], Built]) -> Callable[[Episodes], Built]:
    """Build once a block and keep it as long as the block lives."""
    memo: WeakKeyDictionary[Episodes, Built] = WeakKeyDictionary()

    @wraps(build)
    def recall(block: Episodes) -> Built:
        if block not in memo:
            memo[block] = build(block)
        return memo[block]

    return recall


@_remembered
def strata_blocks(block: Episodes) -> tuple[Episodes, ...]:
    """The people of each stratum that occurs in the block, by its number."""
    if block.stratum is None or not block.rows:
        return (block,)
    return tuple(block.of_stratum(number) for number in range(int(block.stratum.max()) + 1))


@_remembered
def closed_prefixes(block: Episodes) -> PrefixRows:
    """Prefixes that include the event's interval: every interval at risk."""
    return _prefixes(block, block.exit)


@_remembered
def open_prefixes(block: Episodes) -> PrefixRows:
    """Prefixes that leave the event's interval out: every interval survived."""
    return _prefixes(block, block.exit - block.event.astype(np.int32))


@_remembered
def event_totals(block: Episodes) -> EventTotals:
    """Sufficient statistics of the events of a block."""
    counts = np.bincount(block.exit[block.event], minlength=1)[1:]
    return EventTotals(counts, block.event @ block.covariates)


@_remembered
def event_rows(block: Episodes) -> EventRows:
    """The events of a block."""
    return EventRows(block.exit[block.event], block.covariates[block.event])


def _prefixes(block: Episodes, stops: NDArray[np.int32]) -> PrefixRows:
    late = np.flatnonzero(block.entry)
    if not len(late) and _ascending(stops):
        first = int(np.searchsorted(stops, 0, side="right"))
        weights = np.ones(len(stops) - first)
        return PrefixRows(stops[first:], weights, block.covariates[first:])
    lengths = np.concatenate([stops, block.entry[late]])
    rows = np.concatenate([np.arange(len(stops)), late])
    weights = np.concatenate([np.ones(len(stops)), -np.ones(len(late))])
    order = _stable_order(lengths)
    order = order[np.searchsorted(lengths[order], 0, side="right") :]
    return PrefixRows(lengths[order], weights[order], block.covariates[rows[order]])


def _ascending(values: NDArray[np.int32]) -> bool:
    return bool(np.all(values[1:] >= values[:-1]))


def _stable_order(lengths: NDArray[np.int32]) -> NDArray[np.int64]:
    """Stable argsort; numpy sorts 16-bit keys by radix, several times faster."""
    small = len(lengths) == 0 or int(lengths.max()) < 2**16
    keys = lengths.astype(np.uint16) if small else lengths
    return np.argsort(keys, kind="stable")
