"""A synthetic cohort from released numbers: who the people might be, as far as was paid for.

Everything here is post-processing. The cohort serves three purposes: whitening, the expected
Jacobian of the bounded score, and the choice of the bound. Its random numbers are public.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import qmc

from discreet.design.design import Design
from discreet.design.link import Link
from discreet.mechanisms.newton.counts import DIAGONAL, OFF_DIAGONAL, UNIT, Marginal
from discreet.types import Array, Integers

COHORT = 256
FEW = 8
"""Of every level at least about so many are drawn into the cohort."""
RAKING_ROUNDS = 5
PUBLIC_SEED = 20_260
"""The cohort is post-processing: its randomness protects nobody and may be known."""


def nearest_counts(noisy: Array, total: float) -> Array:
    """The point of the simplex {v >= 0, sum v = total} nearest to the noisy counts."""
    size = len(noisy)
    shifted = noisy + (total - noisy.sum()) / size
    ordered = np.sort(shifted)[::-1]
    excess = (np.cumsum(ordered) - total) / np.arange(1, size + 1)
    last = np.nonzero(ordered > excess)[0]
    threshold = excess[last[-1]] if len(last) else excess[-1]
    return np.asarray(np.maximum(shifted - threshold, 0.0))


@dataclass(frozen=True)
class Profile:
    """Time as released: events, risk set and probability of being observed, by interval.

    `certainty` is the share of the events' variance by bin that is not noise, E / (E + bins sigma^2).
    """

    events: Array
    at_risk: Array
    present: Array
    total_events: float
    certainty: float = 1.0

    @classmethod
    def make(cls, counts: Array, edges: Integers, persons: int, deviation: float) -> "Profile":
        """From noisy counts (censored, events[, entered]) by bin."""
        bins = len(edges) - 1
        exits = nearest_counts(counts[: 2 * bins], float(persons))
        width = np.diff(edges)
        spread = np.repeat(exits.reshape(2, bins) / width, width, axis=1)
        left = np.concatenate([[0.0], np.cumsum(spread.sum(axis=0))[:-1]])
        entered = _entered(counts[2 * bins :], edges, persons)
        at_risk = np.maximum(entered - left, 0.5)
        censoring = np.clip(spread[0] / at_risk, 0.0, 1.0)
        stay = np.concatenate([[1.0], np.cumprod(1.0 - censoring)[:-1]]) * entered / persons
        events = max(float(exits[bins:].sum()), 4.0 * deviation, 1.0)
        certainty = events / (events + bins * deviation**2)
        return cls(spread[1], at_risk, stay, events, certainty)


def _entered(counts: Array, edges: Integers, persons: int) -> Array:
    """How many have entered by the start of each interval: all, where nobody enters late."""
    if not len(counts):
        return np.full(int(edges[-1]), float(persons))
    width = np.diff(edges)
    smooth = nearest_counts(counts, float(persons)) / width
    smooth[0] *= width[0]
    early = np.repeat(smooth, width)
    early[1 : width[0]] = 0.0
    return np.cumsum(early)


def baseline_start(design: Design, link: Link, profile: Profile, precision: Array) -> Array:
    """alpha that fits the released life table, with the weak prior around a constant hazard.

    The table counts as far as it is not noise: fitted as if it were exact, it would send the start
    anywhere when events are fewer than the noise.
    """
    basis = design.basis
    hazard = float(np.clip(profile.total_events / profile.at_risk.sum(), 1e-9, 0.5))
    grid = np.linspace(-30.0, 3.0, 4001)
    constant = np.linalg.lstsq(basis, np.ones(len(basis)), rcond=None)[0]
    centre = constant * np.interp(hazard, link.hazard(grid), grid)
    alpha = centre
    for _ in range(30):
        eta = np.clip(basis @ alpha, -30.0, 30.0)
        survive, happen = link.survival_loss_derivative(eta), -link.event_loss_derivative(eta)
        slope = (profile.at_risk - profile.events) * survive - profile.events * happen
        gradient = profile.certainty * (basis.T @ slope) + precision @ (alpha - centre)
        weight = profile.certainty * profile.at_risk * link.information(eta)
        step = np.linalg.solve((basis.T * weight) @ basis + precision, -gradient)
        alpha = alpha + step * min(1.0, 2.0 / max(float(np.abs(step).max()), 1e-12))
    return alpha


@dataclass(frozen=True)
class Shares:
    """Released shares of one covariate's bins with the internal columns of each bin's centre."""

    marginal: Marginal
    shares: Array
    centres: Array
    half_width: float

    @property
    def mean(self) -> Array:
        """Mean of the internal columns."""
        return self.shares @ self.centres

    @property
    def spread(self) -> Array:
        """Standard deviations of the internal columns; within a bin uniform."""
        squares = self.shares @ (self.centres - self.mean) ** 2
        return np.sqrt(squares + self.half_width**2 / 3.0)


def released_shares(
    design: Design, marginals: Sequence[Marginal], noisy: Array, persons: int, deviation: float
) -> list[Shares]:
    """Counts made consistent: non-negative, summing to n, no category rarer than its noise."""
    result, start = [], 0
    for marginal in marginals:
        counts = nearest_counts(noisy[start : start + marginal.bins], float(persons))
        start += marginal.bins
        if marginal.levels is not None:
            counts = np.maximum(counts, min(2.0 * deviation, persons / (2.0 * marginal.bins)))
        result.append(Shares(marginal, counts / counts.sum(), *_bin_centres(design, marginal)))
    return result


def _bin_centres(design: Design, marginal: Marginal) -> tuple[Array, float]:
    """Internal columns at each bin, and half the width of a numeric bin."""
    columns = list(marginal.columns)
    scale, centre = design.covariates.scale[columns], design.covariates.centre[columns]
    if marginal.levels is not None:
        indicators = np.vstack([np.zeros(len(columns)), np.eye(len(columns))])
        return (indicators - centre) * scale, 0.0
    radius = _range(design, marginal)
    middle = (np.arange(marginal.bins) + 0.5) / marginal.bins * 2.0 - 1.0
    return (middle * radius)[:, None], radius / marginal.bins


def _range(design: Design, marginal: Marginal) -> float:
    return float(numeric_ranges(design)[marginal.columns[0]])


def numeric_ranges(design: Design) -> Array:
    """Half the public range of every internal column: 1 / sqrt(number of covariates)."""
    count = max(len(design.schema.covariates), 1)
    return np.full(len(design.covariates.names), 1.0 / np.sqrt(count))


def correlation(noisy: Array, persons: int, deviation: float, size: int) -> Array:
    """The standardised second moments, shrunk toward the identity as far as they are noise."""
    rows, columns = np.tril_indices(size)
    unit = persons * UNIT**2
    half = noisy / np.where(rows == columns, DIAGONAL, OFF_DIAGONAL) / unit
    error = deviation / DIAGONAL / unit
    matrix = np.zeros((size, size))
    matrix[rows, columns] = matrix[columns, rows] = half
    own = 1.0 / (1.0 + 4.0 * error**2)
    diagonal = own * np.clip(np.diag(matrix), 0.1, 4.0) + 1.0 - own
    keep = 1.0 / (1.0 + 2.0 * size * error**2)
    mixed = keep * (matrix - np.diag(np.diag(matrix))) + np.diag(diagonal)
    values, vectors = np.linalg.eigh(mixed)
    floor = max(0.05, 0.7 * error * np.sqrt(size))
    return np.asarray((vectors * np.maximum(values, floor)) @ vectors.T)


def draw_cohort(shares: Sequence[Shares], moments: Array, size: int) -> tuple[Array, Array]:
    """Covariates with the released marginals and (by a Gaussian copula) correlations; their shares.

    `size` is a power of two: a Sobol sequence stands for the people. Of a rare level more are drawn
    than there are, and each counts for less: one person would stand for all of them, or none.
    """
    width = len(moments)
    points = qmc.Sobol(width + len(shares), rng=PUBLIC_SEED).random(size)
    spreads = np.sqrt(np.diag(moments))
    values, vectors = np.linalg.eigh(moments / np.outer(spreads, spreads))
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    latent = ndtri(points[:, :width]) @ root / np.linalg.norm(root, axis=1)
    independent = points[:, width:]
    cohort, weights, uneven = np.empty((size, width)), np.full(size, 1.0 / size), []
    for index, item in enumerate(shares):
        columns = list(item.marginal.columns)
        single = len(columns) == 1
        rank = ndtr(latent[:, columns[0]]) if single else independent[:, index]
        drawn = _flattened(item, size)
        cohort[:, columns], place = _quantiles(drawn, rank)
        if drawn is not item:
            weights *= item.shares[place] / drawn.shares[place]
            uneven.append((place, item.shares))
        if item.marginal.levels is None:
            deviation = cohort[:, columns] - item.mean
            cohort[:, columns] = item.mean + deviation * spreads[columns]
    return cohort, _raked(weights, uneven)


def _flattened(item: Shares, size: int) -> Shares:
    """Every level often enough for a few of the cohort; itself where it is so already."""
    least = FEW / size
    if item.marginal.levels is None or item.shares.min() >= least:
        return item
    raised = np.maximum(item.shares, least)
    return replace(item, shares=raised / raised.sum())


def _raked(weights: Array, uneven: Sequence[tuple[Integers, Array]]) -> Array:
    """Weights under which the levels that were drawn too often have their released shares.

    Iterative proportional fitting (Deming and Stephan 1940).
    """
    for _ in range(RAKING_ROUNDS if uneven else 0):
        for place, shares in uneven:
            found = np.bincount(place, weights, minlength=len(shares))
            weights = weights * (shares / np.maximum(found, 1e-300))[place]
    return weights / weights.sum() if uneven else weights


def _quantiles(item: Shares, rank: Array) -> tuple[Array, Integers]:
    """The internal columns at these ranks, levels or numbers uniform within a bin; the bins."""
    cumulated = np.concatenate([[0.0], np.cumsum(item.shares)])
    place = np.clip(np.searchsorted(cumulated, rank, side="right") - 1, 0, item.marginal.bins - 1)
    within = (rank - cumulated[place]) / np.maximum(item.shares[place], 1e-12)
    offset = (np.clip(within, 0.0, 1.0) * 2.0 - 1.0) * item.half_width
    return np.asarray(item.centres[place] + offset[:, None]), place
