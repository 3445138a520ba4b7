"""How many people are in the bins of a number, estimated from noisy counts: post-processing alone.

Counts near most people are made consistent. Far away few people have more of the information than
many near the mean, and noise taken for people would have more still: there counts are weighed against
what a tail would have. Why: docs/proofs/private-newton.md, section 5, generous bounds.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.special import log_ndtr, softmax

from discreet.core.bins import Marginal
from discreet.estimator.constants import APART, HALF, HIDDEN, NEGLIGIBLE, STANDING, SURE, TAIL
from discreet.types import Array, Flags, Integers


def nearest_counts(noisy: Array, total: float) -> Array:
    """The point of the simplex {v >= 0, sum v = total} nearest to the noisy counts."""
    size = len(noisy)
    shifted = noisy + (total - noisy.sum()) / size
    ordered = np.sort(shifted)[::-1]
    excess = (np.cumsum(ordered) - total) / np.arange(1, size + 1)
    last = np.nonzero(ordered > excess)[0]
    threshold = excess[last[-1]] if len(last) else excess[-1]
    return np.asarray(np.maximum(shifted - threshold, 0.0))


def occupied(counts: Array, deviation: float, mass: float = 0.0) -> tuple[int, int]:
    """The run of bins [first, last) that holds the people, as far as it stands out of noise.

    Generous bounds leave most bins empty, and their noise would stand for people far away: what is
    farther from those who are surely there than these reach has to be as sure as they are. `mass` is
    how many people there are: as many bins on either side are added as it takes to hold them.
    """
    clear = STANDING * deviation
    likely = _standing_out(counts, clear) or _densest(counts, clear)
    sure = _standing_out(counts, SURE * deviation)
    reach = sure[1] - sure[0] if sure else len(counts)
    near = sure or likely
    first, last = max(likely[0], near[0] - reach), min(likely[1], near[1] + reach)
    while last - first < len(counts) and _lacks(counts[first:last], mass, deviation):
        first, last = max(first - 1, 0), min(last + 1, len(counts))
    return first, last


def _lacks(counts: Array, mass: float, deviation: float) -> bool:
    """Whether these bins hold fewer people than there are, by more than noise and a few.

    One standard deviation would do so once in six times, and the bins then added are empty ones.
    """
    spared = max(HIDDEN * deviation * math.sqrt(len(counts)), NEGLIGIBLE * mass)
    return bool(counts.sum() <= mass - spared)


def all_within(counts: Array, deviation: float, bins: int) -> bool:
    """Whether everybody may be in so many bins side by side: the others together are not told from noise."""
    held = np.convolve(counts, np.ones(bins), mode="valid")
    others = float(counts.sum() - held.max())
    return others < deviation * math.sqrt(max(len(counts) - bins, 1))


def _densest(counts: Array, clear: float) -> tuple[int, int]:
    """The run of bins that stands out most, wherever it begins; all bins where none does."""
    sums = np.append(0.0, np.cumsum(counts))
    first, last = np.triu_indices(len(sums), 1)
    contrast = (sums[last] - sums[first]) / np.sqrt(last - first)
    best = int(np.argmax(contrast))
    return (int(first[best]), int(last[best])) if contrast[best] > clear else (0, len(counts))


def _standing_out(counts: Array, clear: float) -> tuple[int, int] | None:
    """From the first to the last block of bins, as small as can be, whose sum is not noise."""
    middle = len(counts) // 2
    halves = [(0, middle), (middle, len(counts))] if middle else []
    found = [
        (low + inner[0], low + inner[1])
        for low, high in halves
        if (inner := _standing_out(counts[low:high], clear))
    ]
    if found:
        return found[0][0], found[-1][1]
    return (0, len(counts)) if counts.sum() > clear * math.sqrt(len(counts)) else None


def people_in_bins(marginal: Marginal, counts: Array, mass: float, deviation: float) -> Array:
    """People in a number's bins: near most people as counted, far away as many as a tail would have.

    Few people far away have more of the information than many near the mean, and their bins' noise
    would stand for more of it still: there counts are weighed against what is expected. Far away is
    where one standard deviation of a bin's noise, taken for people, would raise the variance by HALF.
    """
    fine, everybody = marginal.fine, max(mass, deviation)
    near = _phantoms(marginal, counts) * deviation <= HALF
    near[fine] = True
    sides = np.arange(fine[0])[::-1], np.arange(fine[-1] + 1, len(counts))
    inside = _inside(counts, near, sides, deviation)
    found = np.zeros_like(counts)
    found[inside] = nearest_counts(counts[inside], max(float(counts[inside].sum()), 1.0))
    for outward, ring in zip(sides, _outer(marginal, counts), strict=True):
        before, far = outward[near[outward]], outward[~near[outward]]
        last = float(found[before[-1]] if len(before) else found[ring].sum())
        last = max(last - HIDDEN * deviation, 0.0)  # whom noise may have put there begins no tail
        found[far] = _tail(counts[far], last, deviation, everybody)
    inside = inside & near
    found[inside] = nearest_counts(counts[inside], max(mass - float(found[~near].sum()), 1.0))
    return found


def _inside(counts: Array, near: Flags, sides: Sequence[Integers], deviation: float) -> Flags:
    """The near bins that are taken to hold anybody: not the outer wide ones that hold next to nobody.

    They are left out only where those whom their noise may hide are next to none.
    """
    inside = near.copy()
    for outward in sides:
        inward = outward[near[outward]][::-1]
        inside[inward[: _nobody(counts[inward], HIDDEN * deviation)]] = False
    hidden = 2.0 * HIDDEN * deviation * math.sqrt((near & ~inside).sum())
    return inside if hidden < NEGLIGIBLE * counts.sum() else near


def hidden_squares(marginal: Marginal, counts: Array, deviation: float) -> float:
    """Squared distances from most people of those whom noise may hide beyond the fine bins.

    A tail that goes on from as many people in the outer fine bins as were counted there and one standard
    deviation of their noise; in each wide bin at most one standard deviation of its own is hidden.
    """
    fine, squares = marginal.fine, _squares(marginal, counts)
    sides = np.arange(fine[0])[::-1], np.arange(fine[-1] + 1, len(counts))
    found = 0.0
    for outward, ring in zip(sides, _outer(marginal, counts), strict=True):
        last = max(float(counts[ring].sum()), 0.0) + deviation * math.sqrt(len(ring))
        tail = last * TAIL ** np.arange(1.0, len(outward) + 1.0)
        found += float(np.minimum(tail, deviation) @ squares[outward])
    return found


def _squares(marginal: Marginal, counts: Array) -> Array:
    """Squared distances of the bins from most people."""
    fine, centres = marginal.fine, marginal.middles
    return np.asarray((centres - _middle(centres[fine], counts[fine])) ** 2)


def _tail(counts: Array, last: float, deviation: float, mass: float) -> Array:
    """The expected number of people in bins from the inside out, after one with `last` people."""
    found = np.zeros_like(counts)
    for place, count in enumerate(counts):
        found[place] = last = _expected(count, deviation, (TAIL * last, mass))
    return found


def _expected(count: float, deviation: float, means: tuple[float, float]) -> float:
    """The expected number of people given a noisy count.

    It is exponential, with the first mean if a tail goes on and with the second if a group apart is
    there. Times the normal density of the noise an exponential one is a normal one that begins at 0.
    """
    scale = np.maximum(np.array(means) / deviation, 1e-2)
    units = count / deviation
    centre = units - 1.0 / scale
    weights = softmax(
        log_ndtr(centre) + 0.5 * centre**2 - np.log(scale) + np.log([1.0 - APART, APART])
    )
    hazard = np.exp(-0.5 * (centre**2 + math.log(2.0 * math.pi)) - log_ndtr(centre))
    return deviation * float(weights @ np.maximum(centre + hazard, 0.0))


def _outer(marginal: Marginal, counts: Array) -> tuple[Integers, Integers]:
    """The fine bins in the outer half of the way from most people to either end of these bins.

    The first wide bin begins at twice their distance: what a tail holds there is a part of them, not of
    everybody on that side.
    """
    fine, centres = marginal.fine, marginal.middles[marginal.fine]
    middle = _middle(centres, counts[fine])
    low, high = marginal.edges[fine[0]], marginal.edges[fine[-1] + 1]
    left, right = (middle + low) / 2.0, (middle + high) / 2.0
    return fine[centres < left], fine[centres > right]


def _middle(centres: Array, counts: Array) -> float:
    """The mean of the people in bins with these noisy counts."""
    people = np.maximum(counts, 0.0)
    return float(people @ centres) / max(float(people.sum()), 1.0)


def _phantoms(marginal: Marginal, counts: Array) -> Array:
    """By what part one more person in each bin would raise the variance of those in the fine ones."""
    fine, squares = marginal.fine, _squares(marginal, counts)
    people = np.maximum(counts[fine], 0.0)
    return np.asarray(squares / max(float(people @ squares[fine]), 1e-300))


def _nobody(counts: Array, clear: float) -> int:
    """How many bins, the outermost first, hold no more together than is not clear of noise."""
    found = np.flatnonzero(np.cumsum(counts) > clear * np.sqrt(np.arange(1, len(counts) + 1)))
    return int(found[0]) if len(found) else len(counts)


def narrowed(
    marginals: Sequence[Marginal], noisy: Array, deviation: float, bins: int, mass: float = 0.0
) -> tuple[Marginal, ...]:
    """The same covariates, numbers with `bins` bins over the part of their range that holds `mass`.

    Beyond it bins are as wide as that part, then twice as wide, to the end of the public range.
    """
    result, start = [], 0
    for marginal in marginals:
        if not marginal.numeric:
            result.append(marginal)
            continue
        first, last = occupied(noisy[start : start + marginal.bins], deviation, mass)
        low, high = marginal.edges[max(first - 1, 0)], marginal.edges[min(last + 1, marginal.bins)]
        low, high = _without_slivers(low, high, marginal.edges, bins)
        edges = (
            *_growing(low, low - high, marginal.edges[0])[::-1],
            *np.linspace(low, high, bins + 1).tolist(),
            *_growing(high, high - low, marginal.edges[-1]),
        )
        start += marginal.bins
        result.append(replace(marginal, bins=len(edges) - 1, edges=edges))
    return tuple(result)


def _without_slivers(
    low: float, high: float, edges: Sequence[float], bins: int
) -> tuple[float, float]:
    """The part of the range, up to an end where a bin left over there would be as narrow as its own.

    `people_in_bins` knows the fine bins by their being narrow.
    """
    narrow = 2.0 * (high - low) / bins
    low = edges[0] if low - edges[0] < narrow else low
    return low, edges[-1] if edges[-1] - high < narrow else high


def _growing(edge: float, step: float, end: float) -> list[float]:
    """Edges at growing distances, up to the end."""
    edges: list[float] = []
    while abs(end - edge) > 1e-9:
        edge = end if abs(end - edge) <= 1.5 * abs(step) else edge + step
        step *= 2.0
        edges.append(edge)
    return edges
