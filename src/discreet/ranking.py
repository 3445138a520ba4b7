"""Harrell's concordance index in O(n log n)."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import DataFormError
from discreet.types import Array, Integers


def concordance_index(
    event: ArrayLike, time: ArrayLike, risk: ArrayLike, entry: ArrayLike | None = None
) -> float:
    """P(higher risk has the event first) over comparable pairs; ties in risk count one half.

    A pair is comparable if one has the event while the other is still under observation: a later
    time, or the same time without an event; with ``entry``, who entered at or after the event's time
    is not compared.  One half where no pair is comparable.
    """
    events = np.asarray(event, dtype=np.bool_)
    times, risks = np.asarray(time, dtype=np.float64), np.asarray(risk, dtype=np.float64)
    if not events.shape == times.shape == risks.shape or events.ndim != 1:
        raise DataFormError("event, time and risk must be one-dimensional and of one length.")
    counts = _pairs(events, times, risks, _ranks(times, events))
    if entry is not None:
        counts = counts - _entered_later(events, times, risks, np.asarray(entry, dtype=np.float64))
    lower, tied, total = counts
    return float((lower + 0.5 * tied) / total) if total else 0.5


def _ranks(times: Array, events: NDArray[np.bool_]) -> Integers:
    """Order of leaving: by time, events before the censored of the same time."""
    key = np.lexsort((~events, times))
    new = (np.diff(times[key]) != 0) | (np.diff(events[key].astype(np.int8)) != 0)
    ranks = np.empty(len(times), dtype=np.int64)
    ranks[key] = np.concatenate([[0], np.cumsum(new)])[: len(times)]
    return ranks


def _pairs(events: NDArray[np.bool_], times: Array, risks: Array, left: Integers) -> Array:
    """(lower risk, same risk, all) over pairs of an event and somebody who leaves later."""
    return _count(left, risks, left[events], risks[events]) if len(times) else np.zeros(3)


def _entered_later(events: NDArray[np.bool_], times: Array, risks: Array, entry: Array) -> Array:
    """The pairs in which the other one entered at or after the event (and not at the origin)."""
    late = entry > 0
    both = np.concatenate([entry[late], times[events]])
    order = np.unique(both, return_inverse=True)[1]
    entered, happened = order[: int(late.sum())], order[int(late.sum()) :]
    return _count(entered, risks[late], happened - 1, risks[events])


def _count(position: Integers, risks: Array, asked: Integers, asked_risks: Array) -> Array:
    """Sums over questions of how many have position > asked and risk <, = or any."""
    distinct, ranks = np.unique(np.concatenate([risks, asked_risks]), return_inverse=True)
    own, wanted = ranks[: len(risks)], ranks[len(risks) :]
    below = up_to = _dominance(position, own, asked, wanted)
    if len(distinct) < len(risks):
        up_to = _dominance(position, own, asked, wanted + 1)
    ordered = np.sort(position)
    total = len(ordered) - np.searchsorted(ordered, asked, side="right")
    return np.array([below, up_to - below, total.sum()], dtype=np.float64)


def _dominance(position: Integers, rank: Integers, asked: Integers, limit: Integers) -> int:
    """Number of (item, question) with position > asked and rank < limit.

    Items and questions in one sequence by falling position; then one pass for each binary digit
    of the rank: among those that agree in all higher digits, an item with digit 0 lies below a
    later question with digit 1.  Every pass is a sort of integers: O(n log n) in vector steps.
    """
    is_item = np.arange(len(position) + len(asked)) < len(position)
    # at equal positions questions come first: the item must lie strictly later
    order = np.lexsort((is_item, -np.concatenate([position, asked])))
    value, is_item = np.concatenate([rank, limit])[order], is_item[order]
    digits = range(int(value.max(initial=0)).bit_length())
    return sum(_agreeing(value, is_item, digit) for digit in digits)


def _agreeing(value: Integers, is_item: NDArray[np.bool_], digit: int) -> int:
    """Pairs that agree above the digit, an item with 0 before a question with 1."""
    bits = len(value).bit_length()
    # sorting (group, place) as one integer keeps the sequence within a group
    keys = np.sort(((value >> (digit + 1)) << bits) | np.arange(len(value)))
    place, group = keys & ((1 << bits) - 1), keys >> bits
    low, item = ((value >> digit) & 1 == 0)[place], is_item[place]
    before = np.cumsum(low & item)
    head = np.append(True, group[1:] != group[:-1])
    start = np.maximum.accumulate(np.where(head, before - (low & item), 0))
    return int(np.sum((before - start)[~low & ~item]))
