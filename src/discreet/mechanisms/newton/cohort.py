"""A synthetic cohort from released numbers: who the people might be, as far as was paid for.

Everything here is post-processing. The cohort serves three purposes: whitening, the expected
Jacobian of the bounded score, and the choice of the bound. Its random numbers are public.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import qmc

from discreet.core.bins import DIAGONAL, OFF_DIAGONAL, Marginal
from discreet.design.design import Design
from discreet.design.link import Link
from discreet.design.terms import Filled
from discreet.estimator.tails import nearest_counts, occupied, people_in_bins
from discreet.likelihood.jit import compiled
from discreet.mechanisms.newton.hazards import SHARPEST, Exits, Hazards, fitted_hazards
from discreet.types import Array, Flags, Integers

COHORT = 256
SHARING, LARGEST_COHORT = 8, 2048
"""So many strata share a cohort of that size; more have a larger one, up to this."""
FEW = 8
"""Of every level at least about so many are drawn into the cohort."""
INNER, LAST = 0.4, 0.6
"""People in a wide bin are taken to be in this part of it, nearest to the others, as a tail's are; the
last bin of the public range holds whoever is beyond it too, at its end."""
RAKING_ROUNDS = 5
CUT_ROUNDS = 4
"""So often what the drawn columns lack of the released correlations is added."""
RELATED, SMALLEST = 1.5, 0.35
"""Standard deviations of noise below which a second moment is taken for none, and what the smallest
eigenvalue is taken to be, in parts of the root of their number times the noise."""
UTILITY_ROUNDS = 40
TABLES = 24
LEAST = 0.5
"""At least so many are taken to be at risk in any interval."""
UNSEEN = 0.3
"""A stratum is taken to hold at least so many standard deviations of the noise of that number."""
PUBLIC_SEED = 20_260
"""The cohort is post-processing: its randomness protects nobody and may be known."""


@dataclass(frozen=True)
class Profile:
    """Time as released: events, risk set and probability of being observed, by interval.

    `present` times the chance of no event so far is the share of people at risk: with late entries
    it counts those who have not entered yet, and can exceed 1 where many enter late.
    `certainty` is the share of the events' variance by bin that is not noise, E / (E + bins sigma^2).
    `elsewhere` is the share of those at risk who have an event of another cause in the interval, which
    does not count for this one.
    """

    events: Array
    at_risk: Array
    present: Array
    total_events: float
    certainty: float = 1.0
    persons: float = math.inf
    table: Array = field(default_factory=lambda: np.zeros((2, 1)))
    edges: Integers = field(default_factory=lambda: np.array([0, 1]))
    deviation: float = 1.0
    hazards: Hazards | None = None
    elsewhere: Array | float = 0.0

    @cached_property
    def others(self) -> tuple[Array, Array]:
        """People at risk by interval and events by bin of tables that could be the people's as well."""
        if self.hazards is None:
            return self.at_risk[None, :], np.add.reduceat(self.events, self.edges[:-1])[None, :]
        random, widths = np.random.default_rng(PUBLIC_SEED), np.diff(self.edges)
        tables = self.hazards.others(random, TABLES)
        entries = self.hazards.exits.entries
        at_risk = np.array([one.by_interval(entries, widths) for one in tables])
        at_risk = at_risk * (1.0 - self.elsewhere)
        return np.maximum(at_risk, LEAST), np.array([one.exits[1] for one in tables])

    @classmethod
    def make(cls, counts: Array, edges: Integers, persons: float, deviation: float) -> "Profile":
        """From noisy counts (censored, events[, entered]) by bin."""
        exits = exits_of(counts, edges, persons, deviation)
        table, width, observed = exits.counts, np.diff(edges), float(exits.entries.sum())
        hazards = fitted_hazards(exits)
        fitted = hazards.table()
        at_risk = np.maximum(fitted.by_interval(exits.entries, width), min(LEAST, observed))
        sums = np.add.reduceat(at_risk, edges[:-1])
        spread = np.repeat(fitted.exits[1] / sums, width) * at_risk
        surviving = np.cumprod(1.0 - np.clip(spread / at_risk, 0.0, 0.99))
        stay = at_risk / observed / np.concatenate([[1.0], surviving[:-1]])
        events = max(float(fitted.exits[1].sum()), 4.0 * deviation, 1.0)
        certainty = events / (events + len(width) * deviation**2)
        known = observed, table, edges, deviation, hazards
        return cls(spread, at_risk, stay, events, certainty, *known)


def stratum_profiles(
    counts: Array, edges: Integers, persons: float, deviation: float
) -> tuple[Profile, ...]:
    """From noisy counts by stratum, of `persons` at risk altogether: divided as the exits are.

    A stratum is never taken to hold fewer than its noise would hide.
    """
    exits = counts[:, : 2 * (len(edges) - 1)]
    least = max(UNSEEN * deviation * math.sqrt(exits.shape[1]), 1.0)
    sizes = np.maximum(nearest_counts(exits.sum(axis=1), persons), least)
    return tuple(
        Profile.make(row, edges, float(size), deviation)
        for row, size in zip(counts, sizes, strict=True)
    )


def exits_of(
    counts: Array, edges: Integers, persons: float, deviation: float, kinds: int = 2
) -> Exits:
    """Noisy counts by bin, (censored, events[, entered]), as a life table is fitted to them."""
    rows, bins = counts.reshape(-1, len(edges) - 1), len(edges) - 1
    observed = _observed(rows[:kinds].ravel(), persons, deviation)
    entries = np.concatenate([[observed], np.zeros(bins - 1)])
    if len(rows) > kinds:
        entries = nearest_counts(rows[kinds], observed)
    widths = np.diff(edges).astype(np.float64)
    return Exits(rows[:kinds], entries, widths, max(deviation, SHARPEST))


def _observed(exits: Array, persons: float, deviation: float) -> float:
    """How many are ever at risk: all, unless the exits together say otherwise beyond their noise."""
    found, noise = float(exits.sum()), 2.0 * deviation * math.sqrt(len(exits))
    return float(persons) if found > persons - noise else max(found, noise, 1.0)


def constant_hazard(design: Design, link: Link, profile: Profile) -> Array:
    """alpha of the constant hazard that gives the released events."""
    hazard = float(np.clip(profile.total_events / profile.at_risk.sum(), 1e-9, 0.5))
    grid = np.linspace(-30.0, 3.0, 4001)
    return np.asarray(design.constant * np.interp(hazard, link.hazard(grid), grid))


def baseline_start(
    design: Design,
    link: Link,
    profile: Profile,
    precision: Array,
    around: Array | None = None,
) -> Array:
    """alpha that fits the released life table, with the weak prior around another or a constant.

    The table counts as far as it is not noise: fitted as if it were exact, it would send the start
    anywhere when events are fewer than the noise.
    """
    basis = design.basis
    centre = constant_hazard(design, link, profile) if around is None else around
    alpha = centre
    for _ in range(30):
        eta = np.clip(basis @ alpha, -30.0, 30.0)
        survive, happen = link.survival_loss_derivative(eta), -link.event_loss_derivative(eta)
        slope = (profile.at_risk - profile.events) * survive - profile.events * happen
        gradient = profile.certainty * (basis.T @ slope) + precision @ (alpha - centre)
        weight = profile.certainty * profile.at_risk * link.information(eta)
        step = np.linalg.solve((basis.T * weight) @ basis + precision, -gradient)
        moved = alpha + step * min(1.0, 2.0 / max(float(np.abs(step).max()), 1e-12))
        if np.array_equal(moved, alpha):
            break  # every further round would be this one
        alpha = moved
    return alpha


@dataclass(frozen=True)
class Shares:
    """Released shares of one covariate's bins in each stretch of time (K, bins).

    `centres` are the internal columns of each bin's centre, `lasting` the stretches' own shares.
    """

    marginal: Marginal
    shares: Array
    centres: Array
    half_width: Array
    lasting: Array

    @property
    def overall(self) -> Array:
        """Shares of the bins over all time."""
        return self.lasting @ self.shares

    @property
    def mean(self) -> Array:
        """Mean of the internal columns."""
        return self.overall @ self.centres

    @property
    def spread(self) -> Array:
        """Standard deviations of the internal columns; within a bin uniform."""
        squares = self.overall @ (self.centres - self.mean) ** 2
        return np.sqrt(squares + self.overall @ self.half_width**2 / 3.0)


def released_shares(
    design: Design,
    marginals: Sequence[Marginal],
    noisy: Array,
    persons: float,
    deviation: float,
    stretches: int = 1,
    *,
    narrow: bool = False,
) -> list[Shares]:
    """Counts made consistent: non-negative, summing to n, no category rarer than its noise.

    `narrow` takes whatever does not stand out of the noise for a tail's people at most. In a stretch of
    time the shares are those of all time as far as its counts are noise.
    """
    result, start = [], 0
    for marginal in marginals:
        size = stretches * marginal.bins
        counts = noisy[start : start + size].reshape(stretches, marginal.bins)
        start += size
        lasting = np.maximum(counts.sum(axis=1), deviation * math.sqrt(marginal.bins))
        noise = deviation * math.sqrt(stretches)
        known = counts.sum(axis=0), lasting.sum(), noise, persons
        total = _consistent(marginal, *known, narrow=narrow)
        doubt = marginal.bins * deviation**2
        rows = [total]
        if stretches > 1:
            rows = [
                _mixed(row, mass, total, doubt) for row, mass in zip(counts, lasting, strict=True)
            ]
        centres, half = _bin_centres(design, marginal)
        result.append(Shares(marginal, np.array(rows), centres, half, lasting / lasting.sum()))
    return result


def stratum_shares(sizes: Array, columns: int, stretches: int) -> Shares:
    """The strata as one more category, after `columns` of covariates; nobody changes stratum."""
    strata = len(sizes)
    marginal = Marginal(tuple(range(columns, columns + strata - 1)), strata)
    centres = np.vstack([np.zeros(strata - 1), np.eye(strata - 1)])
    even, shares = np.full(stretches, 1.0 / stretches), np.tile(sizes / sizes.sum(), (stretches, 1))
    return Shares(marginal, shares, centres, np.zeros(strata), even)


def _consistent(
    marginal: Marginal,
    counts: Array,
    mass: float,
    deviation: float,
    persons: float,
    *,
    narrow: bool,
) -> Array:
    """Shares of the bins over all time."""
    if marginal.numeric:
        found = people_in_bins(marginal, counts, mass, deviation, narrow=narrow)
        return np.asarray(found / found.sum())
    found = nearest_counts(counts, max(mass, 1.0))
    found = np.maximum(found, min(2.0 * deviation, persons / (2.0 * marginal.bins)))
    return np.asarray(found / found.sum())


def _mixed(counts: Array, mass: float, overall: Array, doubt: float) -> Array:
    """A stretch's own shares and the overall ones, weighted by how much of each is not noise."""
    own = nearest_counts(np.where(overall > 0, counts, 0.0), mass) / mass
    gap = float(np.sum((counts / mass - overall) ** 2)) * mass**2
    believed = max(0.0, 1.0 - doubt / max(gap, 1e-300))
    mixed = believed * own + (1.0 - believed) * overall
    return np.asarray(mixed / mixed.sum())


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


def _bin_centres(design: Design, marginal: Marginal) -> tuple[Array, Array]:
    """Internal columns at each bin, and half the width of a numeric bin."""
    columns = list(marginal.columns)
    if marginal.numeric:
        low, high = _peopled(marginal)
        return (low + high)[:, None] / 2.0, (high - low) / 2.0
    places = design.covariates.leads[columns]
    scale, centre = design.covariates.scale[places], design.covariates.centre[places]
    indicators = np.vstack([np.zeros(len(columns)), np.eye(len(columns))])
    return (indicators - centre) * scale, np.zeros(marginal.bins)


def _peopled(marginal: Marginal) -> tuple[Array, Array]:
    """Between which numbers the people of each bin are taken to be."""
    edges, fine = np.array(marginal.edges), marginal.fine
    low, high, part = edges[:-1].copy(), edges[1:].copy(), np.full(marginal.bins, INNER)
    part[[0, -1]] = LAST
    reach, left, right = part * (high - low), slice(0, fine[0]), slice(fine[-1] + 1, None)
    low[left] = high[left] - reach[left]
    high[right] = low[right] + reach[right]
    return low, high


def numeric_ranges(design: Design) -> Array:
    """Half the public range of every internal column: 1 / sqrt(number of blocks), or less."""
    return design.covariates.ranges


def numeric_columns(design: Design) -> Flags:
    """Which internal columns depend on a number."""
    return design.covariates.numbers


def completed(design: Design, leads: Array) -> Array:
    """All columns of a cohort (size, K, leads): what a spline or product is follows from the leads."""
    size, stretches, width = leads.shape
    whole = design.complete(leads.reshape(size * stretches, width))
    return np.ascontiguousarray(whole).reshape(size, stretches, whole.shape[1])


def completed_spreads(design: Design, spreads: Array) -> Array:
    """The leads' released spreads; of other columns none is known."""
    found = np.full(design.covariates.dimension, np.inf)
    found[design.covariates.leads] = spreads
    return found


def without_fills(design: Design, shares: list["Shares"]) -> list["Shares"]:
    """Numbers without those who are missing: they are counted in the bin of the fill as well.

    A member that is drawn as missing gets the fill anyway, so the others are drawn from the rest.
    """
    place = {item.marginal.columns[0]: number for number, item in enumerate(shares)}
    leads = {int(column): number for number, column in enumerate(design.covariates.leads)}
    result = list(shares)
    for part in design.covariates.derived:
        if isinstance(part, Filled):
            number, gap = place[leads[part.number]], place[leads[part.indicator]]
            result[number] = _less(shares[number], part.value, shares[gap].shares[:, 1])
    return result


def _less(item: "Shares", fill: float, missing: Array) -> "Shares":
    """The shares of those who are not missing."""
    edges = np.array(item.marginal.edges)
    bin_of_fill = int(np.clip(np.searchsorted(edges, fill, side="right") - 1, 0, len(edges) - 2))
    rest = item.shares.copy()
    rest[:, bin_of_fill] = np.maximum(rest[:, bin_of_fill] - missing, 0.0)
    total = rest.sum(axis=1, keepdims=True)
    return replace(item, shares=np.where(total > 1e-9, rest / np.maximum(total, 1e-9), item.shares))


def released_moments(
    noisy: Array, persons: int, deviation: float, size: int
) -> tuple[Array, float]:
    """The standardised second moments as released, and the noise of an entry on the diagonal."""
    rows, columns = np.tril_indices(size)
    matrix = np.zeros((size, size))
    half = noisy / np.where(rows == columns, 1.0, OFF_DIAGONAL / DIAGONAL) / persons
    matrix[rows, columns] = matrix[columns, rows] = half
    return matrix, deviation / persons


def correlation(matrix: Array, error: float) -> Array:
    """The standardised second moments, each shrunk toward none as far as it may be noise.

    A moment r with noise s is taken for r max(0, 1 - (RELATED s / r)^2), the garrote of Breiman
    (1995): what stands out of the noise is kept. One factor for all would take as much of a
    correlation of 0.8 as of those that are noise, and two columns that nearly repeat each other would
    look apart, with standard errors that are too small.
    """
    own, noise = 1.0 / (1.0 + 4.0 * error**2), RELATED * error * DIAGONAL / OFF_DIAGONAL
    mixed = matrix * np.maximum(0.0, 1.0 - noise**2 / np.maximum(matrix**2, 1e-300))
    np.fill_diagonal(mixed, own * np.clip(np.diag(matrix), 0.1, 4.0) + 1.0 - own)
    values, vectors = np.linalg.eigh(mixed)
    floor = max(0.05, SMALLEST * error * np.sqrt(len(matrix)))
    return np.asarray((vectors * np.maximum(values, floor)) @ vectors.T)


def kept_relations(error: float, size: int) -> float:
    """The part of released correlations that is believed, from the noise of an entry."""
    return 1.0 / (1.0 + 2.0 * size * error**2)


def cohort_size(strata: int) -> int:
    """How many stand for everybody, a power of two: more where there are many strata."""
    return min(COHORT << max(0, math.ceil(math.log2(strata / SHARING))), LARGEST_COHORT)


def draw_cohort(shares: Sequence[Shares], moments: Array, size: int) -> tuple[Array, Array]:
    """Covariates with the released marginals and (by a Gaussian copula) correlations; their shares.

    Both by stretch of time, (size, K, p) and (size, K): a member keeps its ranks, so that values
    change as the marginals do. `size` is a power of two: a Sobol sequence stands for the people. Of
    a rare level more are drawn than there are, and each counts for less: one person would stand
    for all of them, or none.
    """
    spreads = np.sqrt(np.diag(moments))
    latent = _latent(moments / np.outer(spreads, spreads), size)
    drawn = [_stretch(shares, latent, spreads, k) for k in range(len(shares[0].lasting))]
    return np.stack([one for one, _ in drawn], axis=1), np.stack([one for _, one in drawn], axis=1)


Shorten = Callable[[Array], Array]
"""The part of second moments that is left of members with such sums of squares."""


def before_cuts(
    shares: Sequence[Shares], wanted: Array, spreads: Array, shorten: Shorten, size: int = COHORT
) -> tuple[Array, Array]:
    """Correlations of normal columns that show the wanted ones once they are cut; squares then shown.

    Levels take away a fifth of a correlation and more, and so does shortening, so columns that nearly
    repeat each other would look apart: what the drawn columns lack is added, a few times, up to as much
    again. Not between the levels of one category, which exclude each other.
    """
    apart = ~np.eye(len(wanted), dtype=bool)
    for item in shares:
        apart[np.ix_(item.marginal.columns, item.marginal.columns)] = False
    found, most = wanted, np.minimum(2.0 * np.abs(wanted), 1.0)
    seen = partial(shown_moments, shares, spreads=spreads, shorten=shorten, size=size)
    shown = seen(found)
    for _ in range(CUT_ROUNDS if np.any(wanted[apart]) else 0):
        scale = np.sqrt(np.maximum(np.diag(shown), 1e-300))
        lacking = np.where(apart, wanted - shown / np.outer(scale, scale), 0.0)
        found = np.clip(found + lacking, -most, most)
        shown = seen(found)
    return found, np.diag(shown)


def shown_moments(
    shares: Sequence[Shares],
    correlations: Array,
    *,
    spreads: Array,
    shorten: Shorten,
    size: int,
    centre: Array | None = None,
) -> Array:
    """Second moments of a cohort from such normal columns, all time together, shortened.

    They are around a centre, or the cohort's own mean.
    """
    always = np.ones(1)
    whole = [replace(item, shares=item.overall[None], lasting=always) for item in shares]
    latent = _latent(correlations, size)
    cohort, weights = _stretch(whole, latent, np.ones(len(correlations)), 0)
    gaps = (cohort - (weights @ cohort if centre is None else centre)) / spreads
    kept = weights * shorten(np.sum(gaps**2, axis=1))
    return np.asarray((gaps.T * kept) @ gaps)


def _latent(correlations: Array, size: int) -> Array:
    """Standard normal columns with these correlations, as far as there are such columns."""
    values, vectors = np.linalg.eigh(correlations)
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    return np.asarray(_normal_points(len(root), size) @ root / np.linalg.norm(root, axis=1))


@lru_cache(maxsize=64)
def _normal_points(width: int, size: int) -> Array:
    """A Sobol sequence as standard normal columns: the same for every cohort of this size."""
    points = np.asarray(ndtri(qmc.Sobol(width, rng=PUBLIC_SEED).random(size)))
    points.setflags(write=False)
    return points


def _stretch(
    shares: Sequence[Shares], latent: Array, spreads: Array, stretch: int
) -> tuple[Array, Array]:
    """The cohort in one stretch of time, and the members' shares."""
    size, width = latent.shape
    cohort, weights, uneven = np.empty((size, width)), np.full(size, 1.0 / size), []
    for item in shares:
        columns, own = list(item.marginal.columns), item.shares[stretch]
        drawn = _flattened(item, own, size)
        if len(columns) > 1:
            place = _levels(drawn, latent[:, columns])
            cohort[:, columns] = item.centres[place]
        else:
            cohort[:, columns], place = _quantiles(item, drawn, ndtr(latent[:, columns[0]]))
        if drawn is not own or len(columns) > 1:
            found = np.bincount(place, minlength=len(own)) / size
            weights *= own[place] / found[place]
            uneven.append((place, own))
        if item.marginal.numeric:
            deviation = cohort[:, columns] - item.mean
            cohort[:, columns] = item.mean + deviation * spreads[columns]
    return cohort, _raked(weights, uneven)


def _levels(shares: Array, latent: Array) -> Integers:
    """The level with the largest utility: latent column plus a constant that gives the shares.

    The first level has the utility that is left: minus the sum of the others.
    """
    first = -latent.sum(axis=1, keepdims=True) / math.sqrt(latent.shape[1])
    return best_levels(np.hstack([first, latent]), shares)


@compiled
def best_levels(utility: Array, shares: Array) -> Integers:
    """The level with the largest sum of utility and constant, for everybody.

    Constants rise where a level is chosen too rarely. Compiled: many rounds of little work.
    """
    size, levels = utility.shape
    place, facts = np.zeros(size, dtype=np.int64), np.log(np.maximum(shares, 1e-12)) / 2.0
    for number in range(UTILITY_ROUNDS + 1):
        found = np.zeros(levels)
        for member in range(size):
            best = 0
            for level in range(1, levels):
                if utility[member, level] + facts[level] > utility[member, best] + facts[best]:
                    best = level
            place[member] = best
            found[best] += 1.0 / size
        if number < UTILITY_ROUNDS:
            facts += 0.3 * np.log((shares + 1e-3) / (found + 1e-3))
    return place


def _flattened(item: Shares, own: Array, size: int) -> Array:
    """Every level often enough for a few of the cohort; itself where it is so already."""
    least = FEW / size
    if item.marginal.numeric or own.min() >= least:
        return own
    raised = np.maximum(own, least)
    return np.asarray(raised / raised.sum())


def _raked(weights: Array, uneven: Sequence[tuple[Integers, Array]]) -> Array:
    """Weights under which the levels that were drawn too often have their released shares.

    Iterative proportional fitting (Deming and Stephan 1940).
    """
    for _ in range(RAKING_ROUNDS if uneven else 0):
        for place, shares in uneven:
            found = np.bincount(place, weights, minlength=len(shares))
            weights = weights * (shares / np.maximum(found, 1e-300))[place]
    return weights / weights.sum() if uneven else weights


def _quantiles(item: Shares, shares: Array, rank: Array) -> tuple[Array, Integers]:
    """The internal columns at these ranks, levels or numbers uniform within a bin; the bins."""
    cumulated = np.concatenate([[0.0], np.cumsum(shares)])
    place = np.clip(np.searchsorted(cumulated, rank, side="right") - 1, 0, item.marginal.bins - 1)
    within = (rank - cumulated[place]) / np.maximum(shares[place], 1e-12)
    offset = (np.clip(within, 0.0, 1.0) * 2.0 - 1.0) * item.half_width[place]
    return np.asarray(item.centres[place] + offset[:, None]), place
