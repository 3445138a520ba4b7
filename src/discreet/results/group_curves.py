"""Survival curves by group from draws of a posterior: estimates, bands, numbers, and a test.

Symbols and shapes
    c draws, G groups, S kinds of exit (causes, then censoring), K stretches
    h_sk, R_k    hazards, and people at risk at the start of a stretch (`hazard_posterior`)
    d_sk, e_k    people of a draw who leave, and who enter during a stretch

Two curves are estimated. That of the population follows from a draw's hazards,

    S_k = exp(-sum_{j <= k} sum_{s event} h_sj),

and that of the sample from people: they are drawn from the hazards, moved to the released counts
(y - x - noise, times C (C + noise)^-1; Matheron's rule), and counted as Kaplan and Meier do,

    S_k = exp(-sum_{j <= k} d_j / X_j),    X_k = (R_k - R_k+1) / log(R_k / R_k+1).

The estimate is the mean of the sample's curves. Bands are quantiles of the draws; those of the
population also hold the sample's, so that a curve without an event may be at one.

References: Kalbfleisch and Prentice (2002), sections 1.4 and 8.2; Hoffman and Ribak (1991) for the
move to the released counts.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator, default_rng
from scipy.special import chdtrc
from threadpoolctl import threadpool_limits

from discreet.results.hazard_posterior import (
    Counts,
    Flow,
    HazardModel,
    draw_points,
    needed_scales,
    noise_of,
    vector_of,
)
from discreet.results.normal import ChiSquaredTest, normal_quantile
from discreet.types import Array, Flags

NORMAL_POINT = normal_quantile(0.95)
TAILS = (0.025, 0.975)
TOGETHER = 0.95
READABLE = 0.25
"""Half the height of a pointwise band up to which a curve is worth reading: it leaves out half."""
SHORTEST = 0.25
"""Share of the axis: a band that is narrow enough for less than this shows nothing of a curve."""
PRESENT = 5.0
"""A curve is known while the lower limit of the number at risk is at least this."""
SIDE, LEAST = 0.25, 0.05
"""Where limits lean to one side: the other is no nearer than this share of the band's height there,
and of its largest height, when draws are compared along the curve."""


@dataclass(frozen=True, eq=False)
class Band:
    """A curve at the ends of the stretches, with 95 % limits.

    Limits are of the population's curve, and with ``sample`` of these people's own curve without
    noise; ``simultaneous`` ones hold the whole curve, as far as it is known.
    """

    estimate: Array
    lower: Array
    upper: Array
    lower_simultaneous: Array
    upper_simultaneous: Array
    sample_lower: Array
    sample_upper: Array
    sample_lower_simultaneous: Array
    sample_upper_simultaneous: Array


@dataclass(frozen=True)
class Number:
    """An estimate with its 95 % interval; a limit that the curve never reaches is infinite.

    An estimate that lies beyond what is known is not a number.
    """

    estimate: float
    lower: float
    upper: float


@dataclass(frozen=True, eq=False)
class GroupCurve:
    """Size, curves and numbers of one group.

    ``reach`` is the number of stretches on which the curve is known, ``known_until`` their end.
    ``people_needed`` and ``noise_needed`` are how many times as many people, or what part of the
    noise, would show half of the curve of a group of which nothing is known; else 1.
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
    people_needed: float = 1.0
    noise_needed: float = 1.0

    @property
    def may_be_empty(self) -> bool:
        """Whether the printed range of the size holds none."""
        return self.size <= NORMAL_POINT * self.size_deviation

    @property
    def ends_early(self) -> bool:
        """Whether the curve is not known up to the end of the axis."""
        return self.reach < len(self.at_risk)


class LogRank(ChiSquaredTest):
    """Test that all groups have the same hazards."""

    digits = 3


@dataclass(frozen=True, eq=False)
class Draws:
    """Curves of the population and of the sample, (c, G, K), with a cause axis for incidence.

    ``exposed`` are mean people exposed, (G, K), and ``needed`` what `GroupCurve` has, (G, 2).
    """

    true: Array
    own: Array
    true_incidence: Array
    own_incidence: Array
    at_risk: Array
    sizes: Array
    exposed: Array
    needed: Array


@dataclass(frozen=True)
class ReleasedCounts:
    """The input of curves: counts, covariances of the noise by a sequence's length, n, a seed."""

    counts: Counts
    noise: Mapping[int, Array]
    persons: int
    seed: int


def group_curves(
    released: ReleasedCounts, times: Array
) -> tuple[tuple[GroupCurve, ...], LogRank | None]:
    """A curve for each group, in their order, and the test that all are equal (None of one group).

    ``times`` are the start and the ends of the stretches.
    """
    with threadpool_limits(1, "blas"):  # the last bit must not depend on the number of threads
        draws = curve_draws(released)
        curves = tuple(_curve(draws, group, times) for group in range(draws.true.shape[1]))
        return curves, log_rank(released, draws) if len(curves) > 1 else None


def curve_draws(released: ReleasedCounts) -> Draws:
    """Draws of the posterior and the curves that follow from each."""
    generator = default_rng(released.seed)
    model = HazardModel(released.counts, released.noise, released.persons)
    points = draw_points(model, generator)
    flow, middle = model.flow(points), model.flow(points.mean(axis=0)[None])
    events = flow.hazards[:, :, :-1]
    total = events.sum(axis=2)
    true = np.exp(-np.cumsum(total, axis=-1))
    true_incidence = incidence_of(events * (-np.expm1(-total) / total)[:, :, None])
    people = _people(model, middle, flow, generator)
    own, own_incidence, at_risk = _counted(model, people, generator)
    sizes, exposed = flow.entering.sum(axis=-1), flow.exposed.mean(axis=0)
    needed = needed_scales(model, points.mean(axis=0), READABLE)
    return Draws(true, own, true_incidence, own_incidence, at_risk, sizes, exposed, needed)


def _people(model: HazardModel, middle: Flow, flow: Flow, generator: Generator) -> Array:
    """Whole people as y lists them, (c, G, D): drawn from the hazards, moved to the release."""
    sizes = np.maximum(np.rint(flow.entering.sum(axis=-1)), 0.0).astype(np.int64)
    odds = flow.entering / flow.entering.sum(axis=-1, keepdims=True)
    entering = generator.multinomial(sizes, odds) if model.late else None
    there = sizes if entering is None else entering[..., 0]
    exits = np.zeros((*flow.hazards.shape,), dtype=np.int64)
    share = np.moveaxis(flow.hazards / flow.total[:, :, None], 2, -1)
    share = share / share.sum(axis=-1, keepdims=True)
    full = -np.expm1(-flow.total)
    part = 1.0 - full / flow.total
    for k in range(model.stretches):
        leaving = generator.binomial(there, full[..., k])
        there = there - leaving
        if entering is not None:
            new = entering[..., k + 1]
            gone = generator.binomial(new, part[..., k])
            leaving, there = leaving + gone, there + new - gone
        exits[..., k] = generator.multinomial(leaving, share[..., k, :])
    shape = (*sizes.shape, -1)
    drawn = [exits.reshape(shape), there[..., None], *([] if entering is None else [entering])]
    people = np.concatenate(drawn, axis=-1).astype(np.float64)
    model.set_precision(middle)
    gain = model.covariance(middle) @ model.precision
    root = np.linalg.cholesky(model.noise + 1e-9 * np.trace(model.noise) * np.eye(len(model.noise)))
    noise = generator.standard_normal(people.shape) @ root.T
    away = model.released - people - noise
    people = people + np.matmul(away.transpose(1, 0, 2), gain.transpose(0, 2, 1)).transpose(1, 0, 2)
    cells = model.kinds * model.stretches
    order = np.append(np.arange(cells).reshape(model.kinds, -1).T.ravel(), cells)
    found: Array = people.copy()
    found[..., order] = _rounded(people[..., order], sizes, generator)
    if model.late:
        found[..., cells + 1 :] = _rounded(people[..., cells + 1 :], sizes, generator)
    return found


def _rounded(people: Array, sizes: Array, generator: Generator) -> Array:
    """Whole people in order of time: none below zero, as many as the group has."""
    people = np.maximum(people, 0.0)
    people = people * (sizes / np.maximum(people.sum(axis=-1), 1e-9))[..., None]
    start = generator.uniform(size=(*sizes.shape, 1))
    whole: Array = np.floor(np.cumsum(people, axis=-1) + start)
    rounded: Array = np.diff(whole, axis=-1, prepend=0.0)
    return rounded


def _counted(model: HazardModel, people: Array, generator: Generator) -> tuple[Array, Array, Array]:
    """Kaplan and Meier's survival, Aalen and Johansen's incidence, and the people at risk."""
    cells = model.kinds * model.stretches
    exits = people[..., :cells].reshape(*people.shape[:2], model.kinds, model.stretches)
    events, left = exits[:, :, :-1], exits.sum(axis=2)
    entered = np.zeros((*people.shape[:2], model.stretches + 1))
    entered[..., 0] = people[..., : cells + 1].sum(axis=-1)
    if model.late:
        entered = people[..., cells + 1 :]
    at_risk = np.cumsum(entered, axis=-1)[..., :-1] - np.cumsum(left, axis=-1) + left
    at_risk = np.maximum(at_risk, 0.0)
    died, order = events.sum(axis=2), generator.standard_normal(at_risk.shape)
    event = event_in_stretch(at_risk, died, exits[:, :, -1], entered[..., 1:], order)
    hazards = events * (event / np.maximum(died, 1.0))[:, :, None]
    return survival_of(hazards), incidence_of(hazards), at_risk


def event_in_stretch(
    at_risk: Array, died: Array, censored: Array, entered: Array, order: Array
) -> Array:
    """Kaplan and Meier's probability of an event in a stretch whose order of events is not known.

    With d events, c censored and e who enter, in any order with the same probability, the number at
    risk goes evenly from R to R' = R - d - c + e, and

        -log S = sum over events of 1 / at risk = d / X,    X = (R - R') / log(R / R'),

    with variance d ((c - e)^2 + d (c + e)) / (12 X^4). ``order`` has standard normal numbers.
    """
    # where all leave, some censored, half a person stays for them: who was last is not known
    least = np.maximum(at_risk - died - censored, np.clip(censored, 1e-9, 0.5))
    start, end = np.maximum(at_risk, least), least + entered
    ratio = start / end
    ratio = np.where(np.abs(ratio - 1.0) < 1e-6, 1.0 + 1e-6, ratio)
    exposed = end * (ratio - 1.0) / np.log(ratio)
    mixed = (censored - entered) ** 2 / np.maximum(died, 1.0) + censored + entered
    hazard = (1.0 + order * np.sqrt(mixed / 12.0) / exposed) / exposed
    hazard = np.clip(hazard, 1.0 / (start + entered), 1.0 / least)
    return np.asarray(-np.expm1(-died * hazard))


def survival_of(hazards: Array) -> Array:
    """S at the end of every stretch, from probabilities of events (..., causes, K)."""
    return np.asarray(np.cumprod(1.0 - hazards.sum(axis=-2), axis=-1))


def incidence_of(hazards: Array) -> Array:
    """F_r at the end of every stretch: Aalen and Johansen."""
    survival = survival_of(hazards)
    before = np.concatenate([np.ones_like(survival[..., :1]), survival[..., :-1]], axis=-1)
    return np.asarray(np.cumsum(before[..., None, :] * hazards, axis=-1))


def _curve(draws: Draws, group: int, times: Array) -> GroupCurve:
    true, own = draws.true[:, group], draws.own[:, group]
    lower, upper = _limits(true, own)
    present = np.quantile(draws.at_risk[:, group], TAILS[0], axis=0) >= PRESENT
    narrow = upper - lower <= 2.0 * READABLE
    reach = _first_failure(narrow & present)
    early = times[_first_failure(narrow)] < times[0] + SHORTEST * (times[-1] - times[0])
    reach = 0 if early else reach
    size, deviation = float(draws.sizes[:, group].mean()), float(draws.sizes[:, group].std())
    band = _band(true, own, reach)
    # no event of a cause falls with time, as survival does
    kept, own_kept = 1.0 - draws.true_incidence[:, group], 1.0 - draws.own_incidence[:, group]
    turned = [_band(kept[:, r], own_kept[:, r], reach) for r in range(kept.shape[1])]
    return GroupCurve(
        size=size,
        size_deviation=deviation,
        at_risk=draws.at_risk[:, group].mean(axis=0),
        reach=reach,
        known_until=float(times[reach]),
        survival=band,
        incidence=tuple(map(_turned, turned)),
        median=_median(times, true, band, reach),
        restricted_mean=_restricted_mean(times, true, band, reach),
        people_needed=1.0 if reach else float(draws.needed[group, 0]),
        noise_needed=1.0 if reach else float(draws.needed[group, 1]),
    )


def _first_failure(flags: Flags) -> int:
    return len(flags) if flags.all() else int(np.argmin(flags))


def _limits(true: Array, own: Array) -> tuple[Array, Array]:
    """Pointwise limits of the population's curve, which hold those of the sample's."""
    low = np.minimum(*(np.quantile(draws, TAILS[0], axis=0) for draws in (true, own)))
    high = np.maximum(*(np.quantile(draws, TAILS[1], axis=0) for draws in (true, own)))
    return low, high


def _band(true: Array, own: Array, reach: int) -> Band:
    """The band of a curve that falls; draws have shape (c, K)."""
    lower, upper = _limits(true, own)
    (low, high), (own_low, own_high) = _whole(true, reach), _whole(own, reach)
    together = np.minimum(low, own_low), np.maximum(high, own_high)
    first, last = np.quantile(own, TAILS, axis=0)
    return Band(own.mean(axis=0), lower, upper, *together, first, last, own_low, own_high)


def _whole(draws: Array, reach: int) -> tuple[Array, Array]:
    """Limits that hold 95 % of the draws as far as the curve is known: pointwise ones, stretched.

    A lower limit may be raised to every later one, and an upper limit lowered to every earlier
    one, since no curve rises.
    """
    lower, middle, upper = np.quantile(draws, (TAILS[0], 0.5, TAILS[1]), axis=0)
    height = upper - lower
    least = np.maximum(np.maximum(SIDE * height, LEAST * height.max()), 1e-12)
    above, below = np.maximum(upper - middle, least), np.maximum(middle - lower, least)
    away = np.where(draws > middle, (draws - middle) / above, (middle - draws) / below)
    known = slice(reach or None)
    factor = max(float(np.quantile(away[:, known].max(axis=1), TOGETHER)), 1.0)
    low = np.clip(np.minimum(middle - factor * below, lower), 0.0, 1.0)
    high = np.clip(np.maximum(middle + factor * above, upper), 0.0, 1.0)
    return np.maximum.accumulate(low[::-1])[::-1], np.minimum.accumulate(high)


def _turned(band: Band) -> Band:
    """The band of one minus the curve."""
    one = {name: 1.0 - values for name, values in vars(band).items()}
    swapped = {
        name.replace("lower", "*").replace("upper", "lower").replace("*", "upper"): values
        for name, values in one.items()
    }
    return Band(**swapped)


def _times_below(times: Array, curves: Array, half: float = 0.5) -> Array:
    """The first time at which each curve (c, K) is at most one half, linear between stretches."""
    values = np.concatenate([np.ones((len(curves), 1)), curves], axis=1)
    below = values <= half
    index = np.maximum(np.argmax(below, axis=1), 1)
    rows = np.arange(len(curves))
    high, low = values[rows, index - 1], values[rows, index]
    share = (high - half) / np.maximum(high - low, 1e-12)
    found = times[index - 1] + share * (times[index] - times[index - 1])
    return np.where(below.any(axis=1), found, np.inf)


def _median(times: Array, true: Array, band: Band, reach: int) -> Number:
    """The median, unknown unless the curve is known where it crosses one half.

    A limit later than what is known is open: infinite.
    """
    curves = np.stack([band.estimate, band.sample_lower, band.sample_upper])
    estimate, first, last = _times_below(times, curves)
    lower, upper = np.quantile(_times_below(times, true), TAILS, method="inverted_cdf")
    lower, upper = min(lower, first), max(upper, last)
    known = float(times[reach])
    if estimate > known and reach < len(band.estimate):
        estimate = np.nan
    return Number(
        float(estimate),
        float(min(lower, known)) if reach < len(band.estimate) else float(lower),
        float(upper if upper <= known else np.inf),
    )


def _restricted_mean(times: Array, true: Array, band: Band, reach: int) -> Number:
    """The area under the curve up to the horizon, unknown unless all of it is known.

    Then the interval goes from an end of all lives, where the curve is no longer known, to none.
    """

    def areas(curves: Array, number: int) -> Array:
        whole = np.concatenate([np.ones((len(curves), 1)), curves], axis=1)
        return np.asarray(np.trapezoid(whole[:, : number + 1], times[: number + 1], axis=1))

    drawn = areas(true, reach)
    lower, upper = np.quantile(drawn, TAILS)
    if reach == len(band.estimate):
        return Number(float(areas(band.estimate[None], reach)[0]), float(lower), float(upper))
    held = true[:, reach - 1] if reach else np.ones(len(true))
    most = drawn + held * (times[-1] - times[reach])
    return Number(np.nan, float(lower), float(np.quantile(most, TAILS[1])))


def log_rank(released: ReleasedCounts, draws: Draws) -> LogRank:
    """Mantel's test of equal hazards of any event, with the noise in the variance of its scores.

    With p_k all groups' hazard and w_gk the share of group g in those exposed, both from the draws,

        U_g = sum_k sum_j (1[j = g] - w_gk) (d_jk - p_k X_jk),

    linear in the released counts d and X, so noise moves it without bias, and errors of p and w
    cancel to first order. Var U = sum_k p_k (1 - p_k) X_k w_gk (1[g = h] - w_hk) + that of the noise.
    """
    counts = released.counts
    groups, causes, number = counts.events.shape
    exposed = np.maximum(draws.exposed, 1e-9)
    share = exposed / exposed.sum(axis=0)
    before = np.concatenate([np.ones_like(draws.own[..., :1]), draws.own[..., :-1]], axis=-1)
    hazard = (1.0 - draws.own / np.maximum(before, 1e-12)).mean(axis=0)
    pooled = (hazard * share).sum(axis=0)
    # d_k - p_k X_k as a linear form of one group's counts: rows stretches, columns those of y
    late = counts.entered is not None
    upto = np.tri(number) - 0.5 * np.eye(number)  # who leaves in stretch j is gone after it
    gone = np.tri(number, k=-1)
    stays = 0.0 if late else 1.0
    event = np.eye(number) - pooled[:, None] * (stays - gone)
    censored = -pooled[:, None] * (stays - upto)
    end = -pooled[:, None] * stays * np.ones((1, 1))
    parts = [event] * causes + [censored, end]
    if late:
        parts.append(-pooled[:, None] * np.hstack([np.ones((number, 1)), upto]))
    form = np.hstack(parts)
    released_counts, noise = vector_of(counts), noise_of(counts, released.noise)
    excess = released_counts @ form.T
    scores = excess.sum(axis=1) - share @ excess.sum(axis=0)
    own = np.eye(groups)[:, :, None] - share[:, None, :]  # (g, j, k)
    weights = own @ form
    variance = (weights @ noise).reshape(groups, -1) @ weights.reshape(groups, -1).T
    people = exposed.sum(axis=0) * pooled * (1.0 - pooled)
    variance += np.einsum("k,gk,ghk->gh", people, share, np.eye(groups)[:, :, None] - share[None])
    left, score = variance[:-1, :-1], scores[:-1]
    statistic = float(score @ np.linalg.pinv(left, hermitian=True) @ score)
    return LogRank(statistic, groups - 1, float(chdtrc(groups - 1, statistic)))
