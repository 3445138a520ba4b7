"""Survival curves by group from private counts: estimates, bands and a test, all post-processing.

The released numbers are noisy counts of exits by group, stretch of time and outcome (and of
entries, where people may enter late). With cumulated counts made non-negative and non-decreasing
(the isotonic regression of what was released),

    at risk      R_k = entered at the start or up to k - left before k
    exposed      X_k = R_k - c_k (m_k - 1) / (2 m_k) - entered in k (m_k - 1) / (2 m_k)
    survival     S_k = prod_{j <= k} (1 - d_j / X_j)
    incidence    F_rk = sum_{j <= k} S_{j-1} d_rj / X_j

m_k is the number of grid intervals in stretch k: who is censored in one of them is taken to be
exposed in half of the others, and with m_k = 1 the estimate is Kaplan-Meier's and Aalen-Johansen's
own. Bands come from simulation: counts drawn around the estimate, noise of the released law added,
the same estimator applied. The generator has a fixed seed, since nothing here is secret.

A group's data reach up to the first stretch whose released number at risk is not told from none. After
it the estimate is carried on flat, and the band is all that is possible: [0, the last upper limit].

References: Kalbfleisch and Prentice (2002), sections 1.4 and 8.2; Efron and Tibshirani (1993),
chapter 6; Barlow et al. (1972) for the isotonic regression.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.random import Generator, default_rng
from scipy.optimize import isotonic_regression

from discreet.types import Array, Flags

SIMULATIONS = 600
"""Enough for standard deviations to 3 % and 95 % points of a maximum."""
TEST_SIMULATIONS = 999
SEED = 2026_11
MOST_EVENTS = 1e18
"""Of one stretch in a simulation: numpy draws no more, however absurd the noise is."""
LEVEL = 0.95
NORMAL_POINT = 1.959963984540054
CLEAR = NORMAL_POINT
"""A number of people is told from none if its 95 % range, as it is printed, does not hold none."""
CERTAIN = 3.0
"""So many deviations at one of the later stretches show people at the earlier ones as well: of forty
stretches that have nobody, one exceeds it in a release out of a hundred or fewer."""
NOBODY = 0.5
"""Less than this is nobody, however small the noise is."""


@dataclass(frozen=True, eq=False)
class Counts:
    """Released counts of all groups, noise included, unprojected.

    ``events`` has shape (groups, outcomes, stretches), ``censored`` (groups, stretches + 1): during
    each stretch, then in the last interval, as people are who are there to the end; ``entered``
    (groups, 1 + stretches): at the start, then during each stretch, or None where everybody is there
    from the start. ``widths`` are the numbers of grid intervals in the stretches.
    """

    events: Array
    censored: Array
    entered: Array | None
    widths: Array


@dataclass(frozen=True, eq=False)
class Noise:
    """The law of the noise of *cumulated* counts: L z, z independent with scale 1.

    ``lifts`` has L for every length of a sequence; z is Laplace where ``laplace``, else normal.
    """

    lifts: Mapping[int, Array]
    laplace: bool = False

    def draw(self, shape: tuple[int, ...], generator: Generator) -> Array:
        """Independent draws; the shape ends with the length of the sequence."""
        law = generator.laplace if self.laplace else generator.normal
        return np.asarray(law(size=shape) @ self.lifts[shape[-1]].T)

    def count_variance(self, size: int) -> Array:
        """Variance of the noise of every count."""
        rows = np.diff(self.lifts[size], axis=0, prepend=0.0)
        return np.asarray((2.0 if self.laplace else 1.0) * np.sum(rows**2, axis=1))

    def towards_total(self, size: int) -> Array:
        """Covariance of the noise of every count with that of their sum, up to one factor."""
        lift = self.lifts[size]
        return np.asarray(np.diff(lift @ lift[-1], prepend=0.0))


@dataclass(frozen=True, eq=False)
class Band:
    """An estimate at the ends of the stretches with pointwise and simultaneous 95 % limits."""

    estimate: Array
    deviation: Array
    lower: Array
    upper: Array
    lower_simultaneous: Array
    upper_simultaneous: Array


@dataclass(frozen=True)
class Number:
    """An estimate with its 95 % interval; a limit that the curve never reaches is infinite."""

    estimate: float
    lower: float
    upper: float


@dataclass(frozen=True, eq=False)
class GroupCurve:
    """What is said of one group.

    ``reach`` is the number of stretches that the group's data reach, ``known_until`` their end: later
    the estimate is that of `known_until`, and the bands hold everything that is possible.
    """

    size: float
    size_deviation: float
    at_risk: Array
    reach: int
    known_until: float
    survival: Band
    incidence: tuple[Band, ...]
    median: Number
    restricted_mean: Number

    @property
    def width(self) -> float:
        """The mean width of the pointwise band, as far as the data reach."""
        widths = self.survival.upper - self.survival.lower
        return float(np.mean(widths[: max(self.reach, 1)]))

    @property
    def may_be_empty(self) -> bool:
        """Whether the released size could be noise alone: its printed range holds none."""
        return not bool(_told_from_none(self.size, self.size_deviation))

    @property
    def ends_early(self) -> bool:
        """Whether the data do not reach the end of the axis."""
        return self.reach < len(self.at_risk)


@dataclass(frozen=True)
class LogRank:
    """Test that all groups have the same hazards: statistic, degrees of freedom, p-value."""

    statistic: float
    degrees: int
    p_value: float

    @property
    def words(self) -> str:
        """The p-value; the smallest that so many simulations can show is a bound."""
        sign = "≤" if self.p_value <= 1.0 / (TEST_SIMULATIONS + 1) else "="
        return f"p {sign} {self.p_value:.3f}"

    @property
    def freedom(self) -> str:
        """The degrees of freedom in words."""
        return "1 degree of freedom" if self.degrees == 1 else f"{self.degrees} degrees of freedom"


@dataclass(frozen=True, eq=False)
class _Flow:
    """Who comes and goes in every stretch, and so who is at risk; any leading axes."""

    events: Array
    censored: Array
    entered: Array
    widths: Array

    @cached_property
    def at_risk(self) -> Array:
        """R_k, which noise may make negative."""
        left = self.events.sum(axis=-2) + self.censored[..., :-1]
        entered = np.cumsum(self.entered, axis=-1)[..., 1:]
        return np.asarray(entered - np.cumsum(left, axis=-1) + left)

    @cached_property
    def exposed(self) -> Array:
        """X_k: who is there in only some intervals of a stretch counts in part."""
        partly = self.censored[..., :-1] + self.entered[..., 1:]
        return self.at_risk - _part(self.widths) * partly

    @property
    def hazards(self) -> Array:
        """d_rk / X_k, together at most 1; shape (..., outcomes, stretches)."""
        raw = self.events / np.maximum(self.exposed, 1.0)[..., None, :]
        return np.asarray(raw / np.maximum(raw.sum(axis=-2, keepdims=True), 1.0))


def _part(widths: Array) -> Array:
    """The mean share of a stretch's other intervals that somebody misses who leaves in one."""
    return (widths - 1.0) / (2.0 * widths)


def isotonic(values: Array) -> Array:
    """The closest non-decreasing sequences along the last axis (pool adjacent violators)."""
    flat = values.reshape(-1, values.shape[-1])
    return np.stack([isotonic_regression(row).x for row in flat]).reshape(values.shape)


def _people(noisy: Array) -> Array:
    """Counts as a table of people could have them: cumulated, they start at 0 and never fall."""
    rising = np.maximum(isotonic(np.cumsum(noisy, axis=-1)), 0.0)
    return np.diff(rising, axis=-1, prepend=0.0)


def _flow(counts: Counts, shape: Callable[[Array], Array]) -> _Flow:
    """The counts, each sequence shaped; without entries everybody is there at the start."""
    events, censored = shape(counts.events), shape(counts.censored)
    if counts.entered is not None:
        return _Flow(events, censored, shape(counts.entered), counts.widths)
    entered = np.zeros_like(censored)
    entered[..., 0] = events.sum(axis=(-1, -2)) + censored.sum(axis=-1)
    return _Flow(events, censored, entered, counts.widths)


def _balanced(counts: Counts, noise: Noise) -> Counts:
    """Who entered has left: the counts nearest to the released ones for which that is so.

    With a = 1 for entries and -1 for exits, x - S a (a'x) / (a'S a), S the covariance of the noise:
    least squares, linear and without bias, so that few at risk late are known from who leaves late.
    """
    if counts.entered is None:
        return counts
    events, ends = map(noise.towards_total, (counts.events.shape[-1], counts.censored.shape[-1]))
    spread = counts.events.shape[-2] * events.sum() + 2.0 * ends.sum()
    if spread <= 0.0:
        return counts
    left = counts.events.sum(axis=(-1, -2)) + counts.censored.sum(axis=-1)
    excess = ((counts.entered.sum(axis=-1) - left) / spread)[..., None]
    return Counts(
        counts.events + excess[..., None] * events,
        counts.censored + excess * ends,
        counts.entered - excess * ends,
        counts.widths,
    )


def _as_released(noisy: Array) -> Array:
    return noisy


def survival_of(hazards: Array) -> Array:
    """S at the end of every stretch."""
    return np.asarray(np.cumprod(1.0 - hazards.sum(axis=-2), axis=-1))


def incidence_of(hazards: Array) -> Array:
    """F_r at the end of every stretch: Aalen-Johansen."""
    survival = survival_of(hazards)
    before = np.concatenate([np.ones_like(survival[..., :1]), survival[..., :-1]], axis=-1)
    return np.asarray(np.cumsum(before[..., None, :] * hazards, axis=-1))


def _simulated(flow: _Flow, hazards: Array, noise: Noise, rounds: int, *, late: bool) -> Counts:
    """Releases as they would be with these hazards: events drawn, noise of the law added.

    Events are drawn from those exposed so far; of those at risk the same share is censored as in
    `flow`, and as many enter: what varies in them hardly moves a curve.
    """
    generator = default_rng(SEED)
    leaving = flow.censored[..., :-1] / np.maximum(flow.at_risk, 1.0)
    part = _part(flow.widths)
    events = np.zeros((rounds, *flow.events.shape[:-2], *hazards.shape[-2:]))
    censored = np.zeros((rounds, *flow.censored.shape))
    there = np.broadcast_to(flow.entered[..., 0], censored.shape[:-1])
    for k in range(len(flow.widths)):
        entering = flow.entered[..., k + 1]
        there = there + entering
        censored[..., k] = np.minimum(leaving[..., k], 1.0) * there
        exposed = np.maximum(there - part[k] * (censored[..., k] + entering), 0.0)
        expected = np.nan_to_num(exposed[..., None] * hazards[..., k])
        drawn = generator.poisson(np.minimum(expected, MOST_EVENTS))
        events[..., k] = np.minimum(drawn, exposed[..., None])
        there = np.maximum(there - events[..., k].sum(axis=-1) - censored[..., k], 0.0)
    censored[..., -1] = there

    def noisy(values: Array) -> Array:
        return values + np.diff(noise.draw(values.shape, generator), axis=-1, prepend=0.0)

    entered = np.broadcast_to(flow.entered, (rounds, *flow.entered.shape))
    drawn = Counts(noisy(events), noisy(censored), noisy(entered) if late else None, flow.widths)
    return _balanced(drawn, noise)


def _calm(flow: _Flow, noise: Noise) -> Array:
    """Hazards of the world that bands are simulated in: a + (1 - a) of the mean hazard.

    a = expected events / (expected events + variance of a count's noise). Where noise is little
    these are the estimates; where it hides the events, steps of noise are not taken for hazards,
    which would make bands too narrow where the noise happened to take the events away.
    """
    exposed = np.maximum(flow.exposed, 1.0)
    mean = flow.events.sum(axis=-1) / exposed.sum(axis=-1)[..., None]
    expected = mean[..., None] * exposed[..., None, :]
    own = expected / np.maximum(expected + noise.count_variance(expected.shape[-1]), 1e-12)
    calm = own * flow.hazards + (1.0 - own) * mean[..., None]
    return np.asarray(calm / np.maximum(calm.sum(axis=-2, keepdims=True), 1.0))


def _band(estimate: Array, truth: Array, draws: Array) -> Band:
    """Estimate +- normal point or simulated maximum times the deviation, within [0, 1].

    `draws` are estimates in a world where `truth` is true.
    """
    deviation = np.sqrt(np.mean((draws - truth) ** 2, axis=0))
    scaled = np.abs(draws - truth) / np.maximum(deviation, 1e-12)
    widest = max(float(np.quantile(scaled.max(axis=-1), LEVEL)), NORMAL_POINT)

    def limits(factor: float) -> tuple[Array, Array]:
        low, high = estimate - factor * deviation, estimate + factor * deviation
        return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)

    return Band(estimate, deviation, *limits(NORMAL_POINT), *limits(widest))


def _falling(band: Band) -> Band:
    """Limits of a curve that never rises need not rise themselves.

    A lower limit may be raised to every later one, and an upper limit lowered to every earlier
    one: where the simultaneous band holds the whole curve, so does the tighter one. Pointwise
    limits are put in order instead, which narrows none of them on average (Chernozhukov,
    Fernandez-Val and Galichon 2009).
    """

    def tighten(lower: Array, upper: Array) -> tuple[Array, Array]:
        return np.maximum.accumulate(lower[::-1])[::-1], np.minimum.accumulate(upper)

    pointwise = np.sort(band.lower)[::-1], np.sort(band.upper)[::-1]
    together = tighten(band.lower_simultaneous, band.upper_simultaneous)
    return Band(band.estimate, band.deviation, *pointwise, *together)


def _turned(band: Band) -> Band:
    """The band of one minus the curve."""
    return Band(
        1.0 - band.estimate,
        band.deviation,
        1.0 - band.upper,
        1.0 - band.lower,
        1.0 - band.upper_simultaneous,
        1.0 - band.lower_simultaneous,
    )


def _carried(band: Band, reach: int, size: int) -> Band:
    """The band of a falling curve of `size` stretches, of which only the first `reach` are known.

    After them the curve may fall to nothing at once, and it cannot rise.
    """

    def onwards(values: Array, start: float, later: float | None = None) -> Array:
        last = values[reach - 1] if reach else start
        return np.append(values[:reach], np.full(size - reach, last if later is None else later))

    return Band(
        onwards(band.estimate, 1.0),
        onwards(band.deviation, 0.0, np.inf),
        onwards(band.lower, 1.0, 0.0),
        onwards(band.upper, 1.0),
        onwards(band.lower_simultaneous, 1.0, 0.0),
        onwards(band.upper_simultaneous, 1.0),
    )


def _falling_band(estimate: Array, truth: Array, draws: Array, reach: int) -> Band:
    """Of a curve that never rises; what is noise alone has no part in the limits before it."""
    known = slice(max(reach, 1))
    band = _falling(_band(estimate[known], truth[known], draws[:, known]))
    return _carried(band, reach, len(estimate))


def _rising_band(estimate: Array, truth: Array, draws: Array, reach: int) -> Band:
    """The same for incidence: where the data do not reach, [the last lower limit, 1]."""
    return _turned(_falling_band(1.0 - estimate, 1.0 - truth, 1.0 - draws, reach))


def _time_below(times: Array, curve: Array, half: float = 0.5) -> float:
    """The first time at which the curve is at most one half, linear between stretches."""
    values = np.concatenate([[1.0], curve])
    below = np.flatnonzero(values <= half)
    if not len(below):
        return float("inf")
    index = int(below[0])
    high, low = values[index - 1], values[index]
    share = (high - half) / (high - low) if high > low else 1.0
    return float(times[index - 1] + share * (times[index] - times[index - 1]))


def _median(times: Array, band: Band, reach: int) -> Number:
    """The median with the interval of times that the pointwise band allows.

    Where the data do not reach, half of the people may be gone at once, or never.
    """
    curves = (band.estimate, band.lower, band.upper)
    estimate, lower, upper = (_time_below(times[: reach + 1], curve[:reach]) for curve in curves)
    earliest = float(times[reach]) if reach < len(band.estimate) else np.inf
    return Number(estimate, min(lower, earliest), upper)


def _restricted_means(times: Array, survival: Array) -> Array:
    """Areas under the curves up to the last time, by the trapezoidal rule."""
    start = np.ones((*survival.shape[:-1], 1))
    return np.asarray(np.trapezoid(np.concatenate([start, survival], axis=-1), times, axis=-1))


def _restricted_mean(times: Array, curves: tuple[Array, Array, Array], reach: int) -> Number:
    """The area up to the horizon from (estimate, truth, draws), as far as the data reach.

    What comes after it is between nothing and the area of a curve that no longer falls; the estimate
    is the latter.
    """
    ends, rest = times[: reach + 1], float(times[-1] - times[reach])
    known = [_restricted_means(ends, curve[..., :reach]) for curve in curves]
    held = [curve[..., reach - 1] if reach else np.ones(curve.shape[:-1]) for curve in curves]
    whole = [area + rest * value for area, value in zip(known, held, strict=True)]
    low, high = _reading(*known)[0], _reading(*whole)[1]
    return Number(float(whole[0]), max(low, 0.0), min(high, float(times[-1] - times[0])))


def _reading(estimate: Array, truth: Array, draws: Array) -> tuple[float, float]:
    """95 % limits of a number, with the deviation of its draws from the truth."""
    margin = NORMAL_POINT * float(np.sqrt(np.mean((draws - truth) ** 2)))
    return float(estimate) - margin, float(estimate) + margin


def group_curves(counts: Counts, times: Array, noise: Noise) -> tuple[GroupCurve, ...]:
    """Curves of every group with bands that hold sampling and privacy noise.

    Parameters
    ----------
    counts
        What was released.
    times
        Start and ends of the stretches: one more than there are stretches.
    noise
        Draws of the noise of cumulated counts.

    Returns
    -------
    tuple of GroupCurve
        In the order of the groups.
    """
    balanced = _balanced(counts, noise)
    return tuple(
        _curve(_one_group(balanced, group), times, noise) for group in range(len(counts.events))
    )


def _one_group(counts: Counts, group: int) -> Counts:
    entered = None if counts.entered is None else counts.entered[group]
    return Counts(counts.events[group], counts.censored[group], entered, counts.widths)


def _curve(counts: Counts, times: Array, noise: Noise) -> GroupCurve:
    flow, alone = _flow(counts, _people), _noise_alone(counts, noise)
    hazards, late = flow.hazards, counts.entered is not None
    size = max(float(counts.events.sum() + counts.censored.sum()), 0.0)
    deviation = float(np.std(alone.events.sum(axis=(-1, -2)) + alone.censored.sum(axis=-1)))
    released = _flow(counts, _as_released).at_risk
    reach = _reach(released, np.std(alone.at_risk, axis=0), late=late)
    reach = reach if _told_from_none(size, deviation) else 0  # nothing is said of nobody
    calm = _calm(flow, noise)
    draws = _flow(_simulated(flow, calm, noise, SIMULATIONS, late=late), _people).hazards
    curves = survival_of(hazards), survival_of(calm), survival_of(draws)
    band = _falling_band(*curves, reach)
    incidence, truths, incidences = map(incidence_of, (hazards, calm, draws))
    return GroupCurve(
        size=size,
        size_deviation=deviation,
        at_risk=np.maximum(flow.at_risk, 0.0),
        reach=reach,
        known_until=float(times[reach]),
        survival=band,
        incidence=tuple(
            _rising_band(incidence[r], truths[r], incidences[:, r], reach)
            for r in range(len(incidence))
        ),
        median=_median(times, band, reach),
        restricted_mean=_restricted_mean(times, curves, reach),
    )


def _noise_alone(counts: Counts, noise: Noise) -> _Flow:
    """What a group would show in which nobody is: draws of the noise of these counts."""
    generator = default_rng(SEED)

    def drawn(values: Array) -> Array:
        return np.diff(noise.draw((SIMULATIONS, *values.shape), generator), axis=-1, prepend=0.0)

    entered = None if counts.entered is None else drawn(counts.entered)
    found = Counts(drawn(counts.events), drawn(counts.censored), entered, counts.widths)
    return _flow(_balanced(found, noise), _as_released)


def _told_from_none(people: Array | float, deviation: Array | float) -> Flags:
    """Which released numbers of people are more than noise would show of nobody."""
    return np.asarray(people > np.maximum(CLEAR * np.asarray(deviation), NOBODY))


def _reach(at_risk: Array, deviation: Array, *, late: bool) -> int:
    """How many stretches begin with people at risk, all before them as well.

    `at_risk` is as released: projected counts never fall below none, and would reach further. Where
    nobody enters late, people who are there later were there before, whatever noise hides of them.
    """
    clear = _told_from_none(at_risk, deviation)
    if not late:
        certain = at_risk > np.maximum(CERTAIN * deviation, NOBODY)
        clear = clear | np.maximum.accumulate(certain[::-1])[::-1]
    return len(clear) if clear.all() else int(np.argmin(clear))


def log_rank(counts: Counts, noise: Noise) -> LogRank:
    """Mantel's test of equal hazards (any event), its null law simulated with the noise.

    U_g = sum_k (d_gk - X_gk d_k / X_k), with the group's counts as released, so that noise moves
    U without bias, and everybody's hazard from projected counts. Q = U' V^- U with V the covariance
    of U when events are drawn with everybody's hazards and the noise of the release is added; the
    p-value is the share of simulated Q that are as large.
    """
    counts = _balanced(counts, noise)
    flow, late = _flow(counts, _people), counts.entered is not None
    pooled = _pooled_hazards(counts)
    null = np.broadcast_to(pooled, flow.at_risk.shape)[..., None, :]
    draws = _simulated(flow, null, noise, TEST_SIMULATIONS, late=late)
    scores, score = _log_rank_scores(draws), _log_rank_scores(counts)
    inverse = np.linalg.pinv(np.atleast_2d(np.cov(scores, rowvar=False)))
    centre = scores.mean(axis=0)

    def statistic(values: Array) -> Array:
        away = values - centre
        return np.asarray(np.einsum("...i,ij,...j->...", away, inverse, away))

    observed, simulated = float(statistic(score)), statistic(scores)
    p_value = (1.0 + float(np.sum(simulated >= observed))) / (len(simulated) + 1.0)
    return LogRank(observed, scores.shape[-1], p_value)


def _pooled_hazards(counts: Counts) -> Array:
    """Everybody's hazards of any event, by stretch."""
    entered = None if counts.entered is None else counts.entered.sum(axis=-2)
    events = counts.events.sum(axis=-2).sum(axis=-2)[..., None, :]
    together = Counts(events, counts.censored.sum(axis=-2), entered, counts.widths)
    return np.asarray(_flow(together, _people).hazards[..., 0, :])


def _log_rank_scores(counts: Counts) -> Array:
    """Observed minus expected of all groups but the last."""
    flow = _flow(counts, _as_released)
    expected = flow.exposed * _pooled_hazards(counts)[..., None, :]
    return np.asarray((flow.events.sum(axis=-2) - expected).sum(axis=-1)[..., :-1])
