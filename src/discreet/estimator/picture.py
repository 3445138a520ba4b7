"""The picture of the people: cohort, pieces of time and prior of its parameters.

Conventions
-----------
    phi ~ N(mean, covariance): f, delta, theta, bend for each cause; c, gamma and its change with time
    hazard      link( f'z_is + delta_bin(s) + theta'x_i lean(s) + bend'(x_i^2 - mean) )   x standardised, cut at WIDEST
    censoring   1 - exp(-exp( c_bin(s) + gamma'x_i + drift'x_i lean_c(s) ))   in each interval
    lean(s)     from -1 to 1, by the share of the events (of those censored) up to the bin

Weights: those with the least Kullback-Leibler divergence from the cohort's that fit the released counts
and second moments under their noise.
"""

import math

import numpy as np
from scipy.linalg import block_diag
from scipy.special import logsumexp

from discreet.core.bins import Marginal, gaps_of
from discreet.core.released import Released
from discreet.design.design import Design
from discreet.estimator.constants import (
    BEND,
    CHANGE,
    KAPPA,
    LEVEL,
    RANGE_EFFECT,
    SHAPE,
    WALK,
    WIDEST,
)
from discreet.estimator.estimate import Prior, Solver
from discreet.estimator.field import Field, Static
from discreet.estimator.lives import Pieces
from discreet.estimator.numerical import CELLS, ENTRY_SEED, NARROWEST, PIECES, TILT_ROUNDS
from discreet.estimator.population import Shares, draw, shares_of, stratum_shares
from discreet.estimator.scores import Members
from discreet.estimator.tails import nearest_counts
from discreet.estimator.transcript import Moments, Transcript
from discreet.types import Array, Flags, Integers


def standardised(transcript: Transcript) -> tuple[Array, Array]:
    """Centre and spread of the columns of second moments, before these are asked for."""
    shares = shares_of(transcript)
    if transcript.design.strata > 1:
        shares = [*shares, stratum_shares(transcript, sum(len(s.marginal.columns) for s in shares))]
    spread = [item.spread for item in shares]
    centre = np.concatenate([np.zeros(0), *(item.mean for item in shares)])
    return centre, np.maximum(np.concatenate([np.zeros(0), *spread]), NARROWEST)


def picture_of(transcript: Transcript) -> tuple[Field, Prior, Array]:
    """The cohort with its sums, the prior of phi, and a start."""
    field = field_of(transcript)
    prior, start = prior_of(field, shares_of(transcript))
    return field, prior, start


def field_of(transcript: Transcript) -> Field:
    """The cohort, weighed."""
    t, design = transcript, transcript.design
    shares, width = shares_of(t), len(design.covariates.leads)
    several = design.strata > 1
    if several:
        shares = [*shares, stratum_shares(t, width)]
    if shares:
        leads, parts = draw(t, shares)
    else:
        leads, parts = np.zeros((1, 1, 0)), np.ones((1, 1))
    stratum = _first(leads[:, 0, width:] > 0.5)
    size, stretches, _ = leads.shape
    flat = np.ascontiguousarray(leads[:, :, :width]).reshape(size * stretches, width)
    columns = np.ascontiguousarray(design.complete(flat)).reshape(size, stretches, -1)
    weights = parts.mean(axis=1) / parts.mean(axis=1).sum()
    ends = np.array(t.stretches if stretches > 1 else (0, design.intervals))
    periods = design.periods
    pieces = Pieces.of(design.basis, t.edges, ends, np.array(periods.ends), PIECES)
    entry, entry_bin = entries(t, pieces, stratum)
    begun = np.flatnonzero(np.diff(pieces.spans, prepend=-1))  # the first piece of each span
    places = periods.places[periods.of_interval[pieces.edges[begun]]]
    spans = np.take(columns, pieces.stretches[begun], axis=1)
    members = Members(spans, places, weights, stratum, entry, design.strata)
    mean = columns.mean(axis=1)
    centre = weights @ mean
    spread = np.sqrt(np.maximum(weights @ (mean - centre) ** 2, NARROWEST**2))
    scaled = np.clip((mean - centre) / spread, -WIDEST, WIDEST)
    counted = _counted(t, columns, weights)
    fixed = [_entered(t.entries, stratum, entry_bin)] if t.entries is not None else []
    fixed += counted if stretches == 1 else []
    fixed += [second_moments(design, t.moments, leads)] if t.moments is not None else []
    covariates = design.covariates
    squares = scaled[:, covariates.leads[covariates.numbers[covariates.leads]]] ** 2
    squares = squares - weights @ squares
    static = Static.joined(fixed, size)
    changing = tuple(counted) if stretches > 1 else ()
    lean = leans(t)[:, pieces.bins]
    field = Field(t, members, pieces, static, changing, scaled, squares, lean, t.observed)
    return field.weighed(tilted(field))


def entries(transcript: Transcript, pieces: Pieces, stratum: Integers) -> tuple[Integers, Integers]:
    """The piece and the bin with which each member's time at risk begins, by the released counts."""
    place = np.zeros(len(stratum), dtype=np.int64)
    if transcript.entries is None:
        return place, place
    found, edges = place.copy(), transcript.edges
    random = np.random.default_rng(ENTRY_SEED)
    for h in range(transcript.design.strata):
        own = np.flatnonzero(stratum == h)
        counts = transcript.entries.values[h]
        counts = nearest_counts(counts, max(float(counts.sum()), 1.0))
        reached = np.concatenate([[0.0], np.cumsum(counts) / counts.sum()])
        rank = random.permutation((np.arange(len(own)) + 0.5) / max(len(own), 1))
        cell = np.clip(np.searchsorted(reached, rank, side="right") - 1, 0, len(counts) - 1)
        part = (rank - reached[cell]) / np.maximum(reached[cell + 1] - reached[cell], 1e-12)
        at = edges[cell] + np.clip(part, 0.0, 0.999) * np.diff(edges)[cell]
        at = np.where(cell == 0, 0.0, at)
        begun = np.searchsorted(pieces.edges[:-1], at, side="right") - 1
        place[own], found[own] = np.clip(begun, 0, len(pieces.bins) - 1), cell
    return place, found


def leans(transcript: Transcript) -> Array:
    """(R + 1, K): of the events of each cause, and last of those censored before the last bin."""
    found = []
    for kind in [*range(1, transcript.causes + 1), 0]:
        counts = np.maximum(transcript.exits.values[:, kind].sum(axis=0), 0.0) + 1e-9
        if kind == 0:
            counts = counts[:-1]
        counts = counts / counts.sum()
        lean = 2.0 * (np.cumsum(counts) - counts / 2.0) - 1.0
        found.append(np.append(lean, 1.0) if kind == 0 else lean)
    return np.array(found)


def _entered(entered: Released, stratum: Integers, bins: Integers) -> Static:
    """Counts of entries by stratum and bin."""
    adds = np.zeros((len(stratum), *entered.values.shape))
    adds[np.arange(len(stratum)), stratum, bins] = 1.0
    noise = np.full(entered.values.size, entered.deviation)
    return Static(adds.reshape(len(stratum), -1), entered.values.ravel(), noise)


def _counted(transcript: Transcript, columns: Array, weights: Array) -> list[Static]:
    """Counts of the covariates' bins, stretch after stretch; those of numbers in at most CELLS cells."""
    found = []
    leads = transcript.design.covariates.leads
    deviation = 0.0 if transcript.counts is None else transcript.counts.deviation
    for item, counts in zip(transcript.marginals, transcript.totals, strict=True):
        for stretch, released in enumerate(counts):
            place = _bins(item, columns[:, stretch][:, leads[list(item.columns)]])
            cells = np.arange(item.bins)
            if item.numeric:
                mass = np.bincount(place, weights, item.bins)
                middle = (np.cumsum(mass) - mass / 2.0) * CELLS
                _, cells = np.unique(
                    np.minimum(middle.astype(np.int64), CELLS - 1), return_inverse=True
                )
            sums = np.eye(int(cells.max()) + 1)[cells]
            noise = deviation * np.sqrt(sums.sum(axis=0))
            found.append(Static(sums[place], sums.T @ released, noise, stretch))
    return found


def _bins(item: Marginal, columns: Array) -> Integers:
    """Each member's bin."""
    if item.numeric:
        place = np.searchsorted(item.edges, columns[:, 0], side="right") - 1
        return np.asarray(np.clip(place, 0, item.bins - 1))
    return _first(columns > 0.0)


def _first(chosen: Flags) -> Integers:
    """The number of the first column that is chosen, from 1; 0 where none is."""
    return np.argmax(np.hstack([np.zeros((len(chosen), 1), dtype=bool), chosen]), axis=1)


def second_moments(design: Design, moments: Moments, leads: Array) -> Static:
    """Those of shortened standardised columns, averaged over the stretches of time."""
    rows, columns = np.tril_indices(len(moments.centre))
    adds = np.zeros((len(leads), len(rows)))
    for stretch in range(leads.shape[1]):
        v = (leads[:, stretch, : len(moments.centre)] - moments.centre) / moments.spread
        for number, indicator in gaps_of(design):
            v[leads[:, stretch, indicator] > 0.0, number] = 0.0
        left = np.minimum(1.0, moments.limit / np.maximum(np.sum(v**2, axis=1), 1e-9))
        adds += left[:, None] * v[:, rows] * v[:, columns] / leads.shape[1]
    return Static(adds, moments.matrix[rows, columns], moments.noise[rows, columns])


def tilted(field: Field) -> Array:
    """Weights w proportional to w_0 exp(lambda'a / KAPPA), a what a member adds: the dual, by Newton.

    lambda maximises lambda'y / n - KAPPA log sum w_0 exp(lambda'a / KAPPA) - lambda' diag(noise / n)^2
    lambda / 2: the least KAPPA times the divergence plus half the squared misfit in units of the noise.
    """
    adds, n = field.static.adds, field.persons
    target, noise = field.static.released / n, (field.static.noise / n) ** 2
    dual, log_weights = np.zeros(adds.shape[1]), np.log(np.maximum(field.members.weights, 1e-300))

    def at(dual: Array) -> tuple[float, Array]:
        logs = log_weights + adds @ dual / KAPPA
        total = logsumexp(logs)
        value = dual @ target - KAPPA * total - 0.5 * dual @ (noise * dual)
        return float(value), np.asarray(np.exp(logs - total))

    value, weights = at(dual)
    for _ in range(TILT_ROUNDS if len(dual) else 0):
        gradient = target - weights @ adds - noise * dual
        gaps = (adds - weights @ adds) * np.sqrt(weights / KAPPA)[:, None]
        move = Solver(np.zeros((0, 0)), np.maximum(noise, 1e-12), gaps.T)(gradient)
        size, gain = 1.0, 0.0
        while size > 1e-4:
            found, other = at(dual + size * move)
            gain = found - value
            if gain > 0.0:
                break
            size /= 2.0
        if gain <= 0.0:
            break
        dual, value, weights = dual + size * move, found, other
        if gain < 1e-3 * max(1.0, KAPPA / n):
            break
    return weights


# -- prior -------------------------------------------------------------------------------------------


def walk(bins: int, deviation: float) -> Array:
    """The covariance of a random walk held at 0."""
    change = np.diff(np.eye(bins), axis=0)
    return np.asarray(np.linalg.inv(np.eye(bins) / deviation**2 + change.T @ change / WALK**2))


def model_prior(field: Field, shares: list[Shares]) -> tuple[Array, Array]:
    """Precision of f (d, d), and the precisions of effects' Cauchy densities (d,).

    A number's range is the public one, or what is within WIDEST released spreads where that is less, and
    the level is that of the middle of the public range, or as near to the people's mean: generous bounds
    say nothing of an effect, nor does a baseline far from all. From there the effect of a missing number
    is counted as well: its fill may be far from all.
    """
    design = field.transcript.design
    size, time, level = design.dimension, design.time_dimension, design.constant
    along = np.outer(level, level) / float(level @ level)
    shape = (np.eye(len(level)) - along) / SHAPE**2 + along / LEVEL**2
    precision = np.zeros((size, size))
    precision[:time, :time] = np.kron(np.eye(design.strata), shape)
    covariates = design.covariates
    leads, spread = covariates.leads, np.full(covariates.dimension, np.inf)
    if len(leads):
        own = [item.spread for item in shares]
        spread[leads] = np.maximum(np.concatenate(own), NARROWEST)
    ranges = np.where(
        covariates.numbers, np.minimum(covariates.ranges, WIDEST * spread), covariates.ranges
    )
    own_ranges = ranges[design.periods.column_of]
    effects = np.append(np.zeros(time), (RANGE_EFFECT / (2.0 * own_ranges)) ** -2.0)
    precision[time:, time:] = np.diag(effects[time:])
    if len(leads):
        mean = (field.members.weights @ field.members.columns.mean(axis=1))[leads]
        reach = WIDEST * spread[leads]
        near = np.where(covariates.numbers[leads], np.clip(0.0, mean - reach, mean + reach), 0.0)
        here, middle = design.complete(np.stack([near, np.zeros(len(leads))]))
        turn = np.eye(size)
        for h in range(design.strata):
            rows = design.columns(h)[: len(level)]
            for places, own_level in zip(design.periods.places, design.levels, strict=True):
                turn[np.ix_(rows, time + places)] += np.outer(own_level, here - middle)
        for number, gap in gaps_of(design):
            column, made = int(leads[gap]), covariates.dependent_columns(int(leads[number]))
            values = np.tile(near, (2, 1))
            values[:, gap] += covariates.scale[column] * np.array([-0.5, 0.5])
            present, absent = design.complete(values)
            shift = (absent - present)[made] / covariates.scale[column]
            for places in design.periods.places:
                turn[time + places[column], time + places[made]] = shift
        precision = turn.T @ precision @ turn
    return precision, effects


def prior_of(field: Field, shares: list[Shares]) -> tuple[Prior, Array]:
    """The prior of phi, centred at constant hazards and no effects, and a start near the life table."""
    t, lay, design = field.transcript, field.layout, field.transcript.design
    precision, effects = model_prior(field, shares)
    counts = t.exits.values.sum(axis=0)
    noise = t.exits.deviation * math.sqrt(design.strata)
    widths = np.diff(t.edges).astype(np.float64)
    risk = at_risk(t)
    exposure, least = float(risk @ widths), noise * math.sqrt(lay.bins)
    departures = [walk(lay.bins, SHAPE)] * lay.strata
    mean: list[Array] = []
    blocks: list[Array] = []
    for r in range(lay.causes):
        events = max(float(counts[r + 1].sum()), least, 1.0)
        hazard = float(np.clip(events / exposure, 1e-9, 0.5))
        centre = np.zeros(lay.each)
        level = t.link.predictor(hazard) * design.constant
        centre[: design.time_dimension] = np.tile(level, lay.strata)
        mean.append(centre)
        own = np.asarray(np.linalg.inv(precision), dtype=np.float64)
        blocks += [own, *departures, CHANGE**2 * np.eye(lay.columns), BEND**2 * np.eye(lay.numbers)]
    left = math.log(max(float(counts[0, :-1].sum()), least, 1.0) / exposure)
    mean += [np.full(lay.strata * lay.bins, left), np.zeros(2 * lay.columns)]
    blocks += [walk(lay.bins, LEVEL)] * lay.strata
    blocks.append(CHANGE**2 * np.eye(2 * lay.columns))
    prior = Prior(np.concatenate(mean), block_diag(*blocks), effects)
    start = prior.mean.copy()
    rate = np.clip(np.maximum(counts[0], noise / 2.0) / risk, 1e-6, 0.95)
    start[lay.censoring] = np.tile(np.log(-np.log1p(-rate) / widths), lay.strata)
    return prior, start


def at_risk(transcript: Transcript) -> Array:
    """About how many are at risk in each bin, (K,): never fewer than the noise of a count."""
    t = transcript
    gone = np.maximum(t.exits.values.sum(axis=0), 0.0).sum(axis=0)
    entered = np.zeros(t.bins)
    entered[0] = t.observed
    if t.entries is not None:
        entered = np.maximum(t.entries.values.sum(axis=0), 0.0)
        entered = entered * t.observed / max(float(entered.sum()), 1.0)
    left = np.cumsum(entered) - np.cumsum(gone) + gone / 2.0
    return np.asarray(np.maximum(left, max(t.exits.deviation * math.sqrt(t.design.strata), 1.0)))
