"""A synthetic cohort with the released marginals and second moments.

Conventions
-----------
    M members (a power of two: a Sobol sequence stands for the people), V stretches of time
    leads (M, V, l)   lead columns; all others are public functions of these (`Design.complete`)
    weights (M, V)    shares of the people

A number has the released distribution over its bins and is uniform within a bin; levels are chosen by
latent normal columns and constants; ranks go together by a Gaussian copula with the released
correlations. A level that is rare is drawn more often than it is, and each of it counts for less.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy.special import ndtr, ndtri

from discreet.core.bins import Marginal
from discreet.design.design import Design
from discreet.design.terms import Filled
from discreet.estimator.constants import CLEAR, HALF, HIDDEN, NEGLIGIBLE, SAME
from discreet.estimator.numerical import (
    CUT_ROUNDS,
    FEW,
    MEMBERS,
    MOST,
    PUBLIC_SEED,
    RAKING_ROUNDS,
    SHARING,
    UTILITY_ROUNDS,
)
from discreet.estimator.sobol import sobol_points
from discreet.estimator.tails import nearest_counts, people_in_bins
from discreet.estimator.transcript import Transcript
from discreet.types import Array, Integers


@dataclass(frozen=True)
class Shares:
    """Shares of one covariate's bins in each stretch of time (V, bins).

    Bin k is at `centres[k]` (internal columns) give or take `half_width[k]`, but the part `atoms[k]` of
    it that is at the end of the public range; `lasting` (V,) are the stretches' own shares.
    """

    marginal: Marginal
    shares: Array
    centres: Array
    half_width: Array
    lasting: Array
    atoms: Array

    @property
    def overall(self) -> Array:
        """Shares of the bins over all time."""
        return self.lasting @ self.shares

    @property
    def ends(self) -> Array:
        """Where an atom of each bin is: the outer end of the first and of the last bin."""
        found = self.centres.copy()
        if self.marginal.numeric:
            found[0], found[-1] = self.marginal.edges[0], self.marginal.edges[-1]
        return found

    @property
    def mean(self) -> Array:
        """Mean of the internal columns."""
        part = self.atoms[:, None]
        return np.asarray(self.overall @ (part * self.ends + (1.0 - part) * self.centres))

    @property
    def spread(self) -> Array:
        """Standard deviations of the internal columns."""
        part = self.atoms[:, None]
        squares = part * (self.ends - self.mean) ** 2 + (1.0 - part) * (
            (self.centres - self.mean) ** 2 + self.half_width[:, None] ** 2 / 3.0
        )
        return np.asarray(np.sqrt(self.overall @ squares))


def shares_of(transcript: Transcript) -> list[Shares]:
    """The released counts of covariates made consistent: non-negative, summing to all who have a value."""
    if transcript.counts is None:
        return []
    deviation = transcript.counts.deviation
    return [
        _shares(transcript.design, item, counts, transcript.observed, deviation)
        for item, counts in zip(transcript.marginals, counts_of_values(transcript), strict=True)
    ]


def _shares(
    design: Design, marginal: Marginal, counts: Array, persons: float, deviation: float
) -> Shares:
    """In a stretch of time the shares are those of all time as far as its counts are noise."""
    stretches = len(counts)
    lasting = np.maximum(counts.sum(axis=1), deviation * math.sqrt(marginal.bins))
    noise, mass, summed = deviation * math.sqrt(stretches), lasting.sum(), counts.sum(axis=0)
    atoms = _atoms(marginal, summed, noise)
    if marginal.numeric:
        total = people_in_bins(marginal, summed, mass, noise)
        other = _other_end(total, atoms)
        if other is not None:
            total[other] = max(total[other], min(HIDDEN * noise, persons / 4.0))
            atoms[other] = 1.0
    else:
        total = nearest_counts(summed, max(mass, 1.0))
        total = np.maximum(total, min(HIDDEN * noise, persons / (2.0 * marginal.bins)))
    total = total / total.sum()
    rows = [total]
    if stretches > 1:
        doubt = marginal.bins * deviation**2
        rows = [_mixed(row, own, total, doubt) for row, own in zip(counts, lasting, strict=True)]
    centres, half = _places(design, marginal)
    return Shares(marginal, np.array(rows), centres, half, lasting / lasting.sum(), atoms)


def _atoms(marginal: Marginal, counts: Array, deviation: float) -> Array:
    """The part of the first and of the last bin that is at the end of the range.

    A density goes on from bin to bin: by what an outer bin exceeds its neighbour, where that is more
    than noise, values are at the bound, cut there or the two values of an indicator.
    """
    found = np.zeros(marginal.bins)
    if not marginal.numeric or marginal.bins < 3:
        return found
    widths = np.diff(marginal.edges)
    for end, neighbour in ((0, 1), (-1, -2)):
        expected = max(counts[neighbour], 0.0) * widths[end] / widths[neighbour]
        excess = counts[end] - expected
        if excess > CLEAR * deviation * math.hypot(1.0, widths[end] / widths[neighbour]):
            found[end] = min(excess / max(counts[end], 1e-300), 1.0)
    return found


def _other_end(people: Array, atoms: Array) -> int | None:
    """The other end of a number with nearly everybody at one bound: a rare indicator.

    Those whom noise hides are taken to be there, as many as of a level: were they left out, the column
    would look constant.
    """
    for end, other in ((0, -1), (-1, 0)):
        if atoms[end] * people[end] > SAME * people.sum():
            return other
    return None


def _mixed(counts: Array, mass: float, overall: Array, doubt: float) -> Array:
    """A stretch's own shares and the overall ones, weighted by how much of each is not noise."""
    own = nearest_counts(np.where(overall > 0, counts, 0.0), mass) / mass
    gap = float(np.sum((counts / mass - overall) ** 2)) * mass**2
    believed = max(0.0, 1.0 - doubt / max(gap, 1e-300))
    mixed = believed * own + (1.0 - believed) * overall
    return np.asarray(mixed / mixed.sum())


def stratum_shares(transcript: Transcript, columns: int) -> Shares:
    """The strata as one more category after `columns` of covariates; a person keeps its stratum."""
    sizes = stratum_sizes(transcript)
    strata, stretches = len(sizes), max(len(transcript.stretches) - 1, 1)
    marginal = Marginal(tuple(range(columns, columns + strata - 1)), strata)
    centres = np.vstack([np.zeros(strata - 1), np.eye(strata - 1)])
    even, shares = np.full(stretches, 1.0 / stretches), np.tile(sizes / sizes.sum(), (stretches, 1))
    return Shares(marginal, shares, centres, np.zeros(strata), even, np.zeros(strata))


def stratum_sizes(transcript: Transcript) -> Array:
    """Persons of each stratum, by the exits; none has fewer than its noise would hide."""
    exits = transcript.exits.values.reshape(transcript.design.strata, -1)
    least = max(transcript.exits.deviation * math.sqrt(exits.shape[1]), 1.0)
    return np.maximum(nearest_counts(exits.sum(axis=1), transcript.observed), least)


def _places(design: Design, marginal: Marginal) -> tuple[Array, Array]:
    """Internal columns at each bin, and half the width of a numeric bin.

    People in a wide bin beyond the fine ones are in its inner half, nearest to the others.
    """
    columns = list(marginal.columns)
    if not marginal.numeric:
        places = design.covariates.leads[columns]
        scale, centre = design.covariates.scale[places], design.covariates.centre[places]
        indicators = np.vstack([np.zeros(len(columns)), np.eye(len(columns))])
        return (indicators - centre) * scale, np.zeros(marginal.bins)
    edges, fine = np.array(marginal.edges), marginal.fine
    low, high = edges[:-1].copy(), edges[1:].copy()
    left, right = slice(0, fine[0]), slice(fine[-1] + 1, None)
    reach = HALF * (high - low)
    low[left] = high[left] - reach[left]
    high[right] = low[right] + reach[right]
    return (low + high)[:, None] / 2.0, (high - low) / 2.0


def counts_of_values(transcript: Transcript) -> list[Array]:
    """Counts of every marginal, (V, bins); of a number without those who have none, counted at its fill."""
    design, found = transcript.design, [counts.copy() for counts in transcript.totals]
    place = {item.columns[0]: number for number, item in enumerate(transcript.marginals)}
    leads = {int(column): number for number, column in enumerate(design.covariates.leads)}
    for part in design.covariates.derived if found else ():
        if isinstance(part, Filled):
            number, gap = place[leads[part.number]], place[leads[part.indicator]]
            edges = transcript.marginals[number].edges
            fill = np.searchsorted(edges, part.value, side="right") - 1
            found[number][:, np.clip(fill, 0, len(edges) - 2)] -= found[gap][:, 1]
    return found


# -- correlations ------------------------------------------------------------------------------------

Shorten = Callable[[Array], Array]
"""The part that shortening leaves of members with such |v|^2."""


def correlations(transcript: Transcript, shares: Sequence[Shares], size: int) -> Array:
    """Those of the latent normal columns (c, c), c the leads and the indicators of strata."""
    columns = sum(len(item.marginal.columns) for item in shares)
    found, moments = np.eye(columns), transcript.moments
    if moments is None:
        return found
    scale = np.sqrt(np.maximum(np.diag(moments.matrix), NEGLIGIBLE * transcript.persons))
    error = moments.noise / np.outer(scale, scale)
    shown = shrunk(moments.matrix / np.outer(scale, scale), float(error[0, 0]))
    width = len(shown)
    counted = [item for item in shares if max(item.marginal.columns) < width]
    found[:width, :width] = before_cuts(
        counted,
        shown,
        moments.spread,
        lambda squares: np.minimum(1.0, moments.limit / np.maximum(squares, 1e-9)),
        size,
    )
    return found


def shrunk(matrix: Array, error: float) -> Array:
    """Correlations, each shrunk toward none as far as it may be noise.

    A moment r with noise s is taken for r max(0, 1 - (HIDDEN s / r)^2), the garrote of Breiman (1995):
    what stands out of the noise is kept.
    """
    noise = HIDDEN * error / math.sqrt(2.0)
    mixed = matrix * np.maximum(0.0, 1.0 - noise**2 / np.maximum(matrix**2, 1e-300))
    np.fill_diagonal(mixed, 1.0)
    values, vectors = np.linalg.eigh(mixed)
    found = (vectors * np.maximum(values, NEGLIGIBLE)) @ vectors.T
    scale = np.sqrt(np.diag(found))
    return np.asarray(found / np.outer(scale, scale))


def before_cuts(
    shares: Sequence[Shares], wanted: Array, spreads: Array, shorten: Shorten, size: int
) -> Array:
    """Correlations of normal columns that show the wanted ones once they are cut into levels.

    Levels take away a fifth of a correlation and more, and so does shortening: what the drawn columns
    lack is added, a few times, up to as much again. Not between the levels of one category, which
    exclude each other.
    """
    apart = ~np.eye(len(wanted), dtype=bool)
    for item in shares:
        apart[np.ix_(item.marginal.columns, item.marginal.columns)] = False
    found, most = wanted, np.minimum(2.0 * np.abs(wanted), 1.0)
    whole = [replace(item, shares=item.overall[None], lasting=np.ones(1)) for item in shares]
    for _ in range(CUT_ROUNDS if np.any(wanted[apart]) else 0):
        leads, weights = _stretch(whole, latent_columns(found, size), 0)
        gaps = (leads - weights @ leads) / spreads
        kept = weights * shorten(np.sum(gaps**2, axis=1))
        shown = (gaps.T * kept) @ gaps
        scale = np.sqrt(np.maximum(np.diag(shown), 1e-300))
        lacking = np.where(apart, wanted - shown / np.outer(scale, scale), 0.0)
        found = np.clip(found + lacking, -most, most)
    return found


# -- drawing -----------------------------------------------------------------------------------------


def cohort_size(strata: int) -> int:
    """M."""
    return min(MEMBERS << max(0, math.ceil(math.log2(strata / SHARING))), MOST)


def draw(transcript: Transcript, shares: Sequence[Shares]) -> tuple[Array, Array]:
    """Leads (M, V, l), indicators of strata after them, and weights (M, V)."""
    size = cohort_size(transcript.design.strata)
    latent = latent_columns(correlations(transcript, shares, size), size)
    return drawn_from(shares, latent)


def drawn_from(shares: Sequence[Shares], latent: Array) -> tuple[Array, Array]:
    """Members with these latent columns: a member keeps its ranks, so that values change as shares do."""
    drawn = [_stretch(shares, latent, k) for k in range(len(shares[0].lasting))]
    return np.stack([one for one, _ in drawn], axis=1), np.stack([one for _, one in drawn], axis=1)


def latent_columns(correlation: Array, size: int) -> Array:
    """Standard normal columns with these correlations, or the nearest that are possible."""
    values, vectors = np.linalg.eigh(correlation)
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    return np.asarray(normal_points(len(root), size) @ root / np.linalg.norm(root, axis=1))


@lru_cache(maxsize=64)
def normal_points(width: int, size: int) -> Array:
    """A Sobol sequence as standard normal columns: one for every cohort of this size."""
    points = np.asarray(ndtri(sobol_points(width, size, PUBLIC_SEED)))
    points.setflags(write=False)
    return points


def _stretch(shares: Sequence[Shares], latent: Array, stretch: int) -> tuple[Array, Array]:
    """The cohort in one stretch of time, and the members' weights."""
    size, width = latent.shape
    leads, weights, uneven = np.empty((size, width)), np.full(size, 1.0 / size), []
    for item in shares:
        columns, own = list(item.marginal.columns), item.shares[stretch]
        sampled = _flattened(item, own, size)
        if len(columns) > 1:
            place = _levels(sampled, latent[:, columns])
            leads[:, columns] = item.centres[place]
        else:
            leads[:, columns], place = _quantiles(item, sampled, ndtr(latent[:, columns[0]]))
        if sampled is not own or len(columns) > 1:
            found = np.bincount(place, minlength=len(own)) / size
            weights *= own[place] / found[place]
            uneven.append((place, own))
    return leads, _raked(weights, uneven)


def _flattened(item: Shares, own: Array, size: int) -> Array:
    """Every level, and every bin of a number that is one value, often enough for a few of the cohort."""
    level = item.atoms == 1.0 if item.marginal.numeric else np.ones(len(own), dtype=bool)
    if np.all(own[level] >= FEW / size):
        return own
    raised = np.where(level, np.maximum(own, FEW / size), own)
    return np.asarray(raised / raised.sum())


def _levels(shares: Array, latent: Array) -> Integers:
    """The level with the largest utility: latent column plus a constant that gives the shares.

    The first level has the utility that is left: minus the sum of the others. Constants rise where a
    level is chosen too rarely.
    """
    first = -latent.sum(axis=1, keepdims=True) / math.sqrt(latent.shape[1])
    utility, level = np.hstack([first, latent]), np.log(np.maximum(shares, 1e-12)) / 2.0
    place = np.argmax(utility + level, axis=1)
    for _ in range(UTILITY_ROUNDS):
        found = np.bincount(place, minlength=len(shares)) / len(utility)
        level = level + 0.3 * np.log((shares + 1e-3) / (found + 1e-3))
        place = np.argmax(utility + level, axis=1)
    return np.asarray(place)


def _quantiles(item: Shares, shares: Array, rank: Array) -> tuple[Array, Integers]:
    """The internal columns at these ranks, levels or numbers uniform within a bin; the bins.

    The atom of the first bin has its lowest ranks, that of the last one its highest.
    """
    cumulated = np.concatenate([[0.0], np.cumsum(shares)])
    place = np.clip(np.searchsorted(cumulated, rank, side="right") - 1, 0, item.marginal.bins - 1)
    within = np.clip((rank - cumulated[place]) / np.maximum(shares[place], 1e-12), 0.0, 1.0)
    atom = item.atoms[place]
    low = np.where(place == 0, atom, 0.0)
    rest = (within - low) / np.maximum(1.0 - atom, 1e-12)
    at_end = (rest < 0.0) | (rest > 1.0)
    offset = (np.clip(rest, 0.0, 1.0) * 2.0 - 1.0) * item.half_width[place]
    found = item.centres[place] + offset[:, None]
    return np.where(at_end[:, None], item.ends[place], found), place


def _raked(weights: Array, uneven: Sequence[tuple[Integers, Array]]) -> Array:
    """Weights under which the levels that were drawn too often have their released shares.

    Iterative proportional fitting (Deming and Stephan 1940).
    """
    for _ in range(RAKING_ROUNDS if uneven else 0):
        for place, shares in uneven:
            found = np.bincount(place, weights, minlength=len(shares))
            weights = weights * (shares / np.maximum(found, 1e-300))[place]
    return np.asarray(weights / weights.sum())
