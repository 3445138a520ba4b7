"""How many people are in the bins of a number, as noisy counts let it be seen: post-processing alone.

Counts near most people are made consistent. Far away few people have more of the information than
many near the mean, and noise taken for people would have more still: there counts are weighed against
what a tail would have. Why: docs/proofs/private-newton.md, section 5, generous bounds.
"""

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import log_ndtr, softmax

from discreet.mechanisms.newton.counts import Marginal
from discreet.types import Array, Flags, Integers

FAR = 0.06
"""Bins far from most people are left out where fewer than this share may be hidden there."""
NEAR = 2.0
"""Standard deviations of noise that wide bins near most people have to exceed together."""
PHANTOM = 0.5
"""Far away is where one standard deviation of a bin's noise, taken for people, would raise the
variance of everybody by more than this part."""
TAIL, TAILED, APART = 0.125, 0.8, 0.01
"""Far away a bin is expected to hold this part of the one before it, half as wide, if a tail goes on
from there, which has this chance; and with the last one a group apart from all others."""


def nearest_counts(noisy: Array, total: float) -> Array:
    """The point of the simplex {v >= 0, sum v = total} nearest to the noisy counts."""
    size = len(noisy)
    shifted = noisy + (total - noisy.sum()) / size
    ordered = np.sort(shifted)[::-1]
    excess = (np.cumsum(ordered) - total) / np.arange(1, size + 1)
    last = np.nonzero(ordered > excess)[0]
    threshold = excess[last[-1]] if len(last) else excess[-1]
    return np.asarray(np.maximum(shifted - threshold, 0.0))


def people_in_bins(marginal: Marginal, counts: Array, mass: float, deviation: float) -> Array:
    """People in a number's bins: near most people as counted, far away as many as a tail would have.

    Few people far away have more of the information than many near the mean, and their bins' noise
    would stand for more of it still: there counts are weighed against what is expected.
    """
    widths = np.diff(marginal.edges)
    fine = np.flatnonzero(widths <= 1.5 * widths.min())
    near = _phantoms(marginal, counts, fine) * deviation <= PHANTOM
    near[fine] = True
    sides = np.arange(fine[0])[::-1], np.arange(fine[-1] + 1, len(counts))
    inside = _inside(counts, near, sides, deviation)
    found, half = np.zeros_like(counts), len(fine) // 2
    found[inside] = nearest_counts(counts[inside], max(float(counts[inside].sum()), 1.0))
    for outward, outer in zip(sides, (fine[:half], fine[half:]), strict=True):
        before, far = outward[near[outward]], outward[~near[outward]]
        last = float(found[before[-1]] if len(before) else found[outer].sum())
        last = max(last - NEAR * deviation, 0.0)  # whom noise may have put there begins no tail
        found[far] = _tail(counts[far], last, deviation, max(mass, deviation))
    found[inside] = nearest_counts(counts[inside], max(mass - float(found[~near].sum()), 1.0))
    return found


def _inside(counts: Array, near: Flags, sides: Sequence[Integers], deviation: float) -> Flags:
    """The near bins that are taken to hold anybody: not the outer wide ones that hold next to nobody.

    They are left out only where those whom their noise may hide are fewer than FAR of all.
    """
    inside = near.copy()
    for outward in sides:
        inward = outward[near[outward]][::-1]
        inside[inward[: _nobody(counts[inward], NEAR * deviation)]] = False
    hidden = 2.0 * NEAR * deviation * math.sqrt((near & ~inside).sum())
    return inside if hidden < FAR * counts.sum() else near


def _tail(counts: Array, last: float, deviation: float, mass: float) -> Array:
    """The expected number of people in bins from the inside out, after one with `last` people."""
    found, chance = np.zeros_like(counts), float(last > 0.0)
    for place, count in enumerate(counts):
        chance, last = _expected(count, deviation, (TAIL * last, mass), TAILED * chance)
        found[place] = last
    return found


def _expected(
    count: float, deviation: float, means: tuple[float, float], chance: float
) -> tuple[float, float]:
    """(chance that anybody is there, expected number), given a noisy count.

    Nobody is there; or the tail, with this chance, an exponential number with the first mean; or a
    group apart, an exponential number with the second mean. Times the normal density of the noise an
    exponential one is a normal one that begins at 0.
    """
    scale = np.maximum(np.array(means) / deviation, 1e-2)
    units = count / deviation
    centre = units - 1.0 / scale
    some = log_ndtr(centre) + 0.5 * (centre**2 - units**2) - np.log(scale)
    none = -0.5 * (units**2 + math.log(2.0 * math.pi))
    prior = np.array([(1.0 - chance) * (1.0 - APART), chance * (1.0 - APART), APART])
    weights = softmax(np.append(none, some) + np.log(np.maximum(prior, 1e-300)))
    hazard = np.exp(-0.5 * (centre**2 + math.log(2.0 * math.pi)) - log_ndtr(centre))
    people = deviation * float(weights[1:] @ np.maximum(centre + hazard, 0.0))
    return float(1.0 - weights[0]), people


def _phantoms(marginal: Marginal, counts: Array, fine: Integers) -> Array:
    """By what part one more person in each bin would raise the variance of those in the fine ones."""
    centres = (np.array(marginal.edges[1:]) + np.array(marginal.edges[:-1])) / 2.0
    people = np.maximum(counts[fine], 0.0)
    total = max(float(people.sum()), 1.0)
    mean = float(people @ centres[fine]) / total
    squares = (centres - mean) ** 2
    return np.asarray(squares / max(float(people @ squares[fine]), 1e-300))


def _nobody(counts: Array, clear: float) -> int:
    """How many bins, the outermost first, hold no more together than is not clear of noise."""
    found = np.flatnonzero(np.cumsum(counts) > clear * np.sqrt(np.arange(1, len(counts) + 1)))
    return int(found[0]) if len(found) else len(counts)
