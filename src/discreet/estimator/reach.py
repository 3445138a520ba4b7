"""Directions of f that the released numbers do not reach: there the prior speaks, and intervals say so.

Conventions
-----------
    a direction is a vector of R^d that moves predictors; as columns (d, .)
    v'Pv      the prior's precision along it; its variance v v' / v'Pv is added to the covariance

Not reached are effects of levels whose count may be noise, of columns that repeat each other, and of
numbers of unknown width; the baselines of hidden strata; and the directions of a baseline that times
alone would show in which the number at risk or the events may be noise.
"""

import math

import numpy as np
from scipy.linalg import block_diag

from discreet.core.bins import gaps_of
from discreet.estimator.constants import CLEAR, HALF, HIDDEN, LOOSE, NEGLIGIBLE, NOISY
from discreet.estimator.estimate import Prior, precisions
from discreet.estimator.field import Field
from discreet.estimator.population import counts_of_values
from discreet.estimator.tails import all_within, hidden_squares
from discreet.estimator.transcript import Transcript, moment_part
from discreet.types import Array, Flags, Integers


def missing(field: Field, prior: Prior) -> Array:
    """The prior's variance along all directions that are not reached (R d, R d)."""
    parts = []
    for cause, precision in enumerate(precisions(field, prior)):
        wide = widened(_seen_by(field, _blurred(field)), precision)
        parts.append(widened(unreached(field, cause), precision) + LOOSE * wide)
    return np.asarray(block_diag(*parts))


def far_away(field: Field, f: Array, sampling: Array) -> Array:
    """The mean square by which people whom noise hides far away would change the estimate, (R d, R d).

    Their effect is anywhere between none and that of all others, evenly: an exact fit that sees them is
    lower by their share of the squares times the effect and a uniform number, and the other
    coefficients follow as in a fit with this one held, by their covariance in `sampling`, J^-1.
    """
    design, shares = field.transcript.design, hidden_shares(field)
    columns, found = np.flatnonzero(shares), np.zeros_like(sampling)
    places = design.time_dimension + design.periods.places[0][columns]
    for r, one in enumerate(f):
        own = slice(r * one.size, (r + 1) * one.size)
        along = sampling[own, own][:, places] / np.diag(sampling)[own][places]
        moved = along * shares[columns] * one[places]
        found[own, own] = moved @ moved.T / 3.0
    return found


def hidden_shares(field: Field) -> Array:
    """Of each column that is a number: the share of its squares that noise may hide far away, (p,).

    0 of numbers of which other columns are made, and of effects that change by the schema.
    """
    t, weights = field.transcript, field.members.weights
    covariates, periods = t.design.covariates, t.design.periods.places
    found = np.zeros(covariates.dimension)
    for marginal, counts in zip(t.marginals, counts_of_values(t), strict=True):
        column = int(covariates.leads[marginal.columns[0]])
        single = len(covariates.dependent_columns(column)) == 1 and np.ptp(periods[:, column]) == 0
        if marginal.numeric and single and t.counts is not None:
            x = field.members.columns[:, :, column].mean(axis=1)
            seen = field.persons * float(weights @ (x - weights @ x) ** 2)
            noise = t.counts.deviation * math.sqrt(len(counts))
            far = hidden_squares(marginal, counts.sum(axis=0), noise)
            found[column] = far / max(far + seen, 1e-300)
    return found


def widened(directions: Array, precision: Array) -> Array:
    """The prior's variance along each direction, the columns of `directions`."""
    scale = np.einsum("ij,ik,kj->j", directions, precision, directions)
    return np.asarray((directions / np.maximum(scale, 1e-300)) @ directions.T)


def unreached(field: Field, cause: int = 0) -> Array:
    """Directions of f that the released numbers do not reach, as columns (d, .)."""
    design, hidden = field.transcript.design, hidden_strata(field.transcript)
    leads = [*_empty(field), *_repeated(field), *_blurred(field)]
    found = [_seen_by(field, leads)]
    for stratum in range(design.strata):
        size = design.baseline.dimension
        own = np.eye(size) if hidden[stratum] else _times(field, stratum, cause)
        directions = np.zeros((design.dimension, own.shape[1]))
        directions[design.columns(stratum)[:size]] = own
        found.append(directions)
    return np.hstack(found)


def hidden_strata(transcript: Transcript) -> Flags:
    """Strata whose exits, all times together, may be noise; not asked of one alone."""
    exits = transcript.exits.values.reshape(transcript.design.strata, -1)
    noise = transcript.exits.deviation * math.sqrt(exits.shape[1])
    return np.asarray((exits.sum(axis=1) < CLEAR * noise) & (len(exits) > 1))


def _seen_by(field: Field, leads: list[Array]) -> Array:
    """Effects of these leads and of what is made of one of them, apart from the level of all."""
    design = field.transcript.design
    covariates, time, size = design.covariates, design.time_dimension, design.baseline.dimension
    effects = time + design.periods.places
    vectors = [direction for vector in leads for direction in _effects(field, vector)]
    for vector in leads:
        places = np.flatnonzero(vector)
        if len(places) == 1 and places[0] < len(covariates.leads):
            made = covariates.dependent_columns(int(covariates.leads[places[0]]))[1:]
            own = np.unique(effects[:, np.asarray(made, dtype=np.int64)])
            vectors.extend(np.eye(design.dimension)[own])
    mean = _mean(field)
    for vector in vectors:  # an effect no one shows moves no one: the level takes it away
        away = [float(vector[own] @ mean) for own in effects]
        for own, gap, filled in _filled(field):  # and of those who have no value, the indicator
            if np.any(vector[effects[:, gap]]):
                continue
            for period, places in enumerate(effects):
                shift = float(vector[places[own]] @ (mean[own] - filled[own]))
                vector[places[gap]] = shift / covariates.scale[gap]
                away[period] -= shift * covariates.centre[gap]
        for stratum in range(design.strata):
            vector[design.columns(stratum)[:size]] -= np.array(away) @ design.levels
    return np.array(vectors).T if vectors else np.zeros((design.dimension, 0))


def _effects(field: Field, vector: Array) -> list[Array]:
    """Directions of f that move predictors as the columns do: leads, then strata's indicators.

    One direction for each time in which all effects of these columns stay the same.
    """
    design, found = field.transcript.design, dict[bytes, Array]()
    leads, size = design.covariates.leads, design.baseline.dimension
    moved = vector[: len(leads)] != 0.0
    for places, level in zip(design.periods.places[:, leads], design.levels, strict=True):
        own = found.setdefault(places[moved].tobytes(), np.zeros(design.dimension))
        own[design.time_dimension + places[moved]] = vector[: len(leads)][moved]
        for number, effect in enumerate(vector[len(leads) :], start=1):
            own[design.columns(number)[:size]] += effect * level
    return list(found.values())


def _filled(field: Field) -> list[tuple[Integers, int, Array]]:
    """Of numbers with an indicator: their columns, the indicator's, all columns where it is missing."""
    design, found = field.transcript.design, []
    covariates = design.covariates
    for number, gap in gaps_of(design):
        column = int(covariates.leads[gap])
        missing = np.zeros((1, len(covariates.leads)))
        missing[0, gap] = (1.0 - covariates.centre[column]) * covariates.scale[column]
        own = covariates.dependent_columns(int(covariates.leads[number]))
        found.append((own, column, design.complete(missing)[0]))
    return found


def _mean(field: Field) -> Array:
    """The mean of every column; of an empty level that of those without it, of a number of those who have it."""
    covariates, columns = field.transcript.design.covariates, field.members.columns.mean(axis=1)
    mean = np.asarray(field.members.weights @ columns).copy()
    for own, gap, _ in _filled(field):
        present = field.members.weights * (columns[:, gap] <= 0.0)
        mean[own] = present @ columns[:, own] / max(float(present.sum()), 1e-12)
    for vector in _empty(field):
        places = covariates.leads[np.flatnonzero(vector[: len(covariates.leads)])]
        if len(places) == 1:
            mean[places] = -covariates.centre[places] * covariates.scale[places]
    return mean


def _width(transcript: Transcript) -> int:
    """Leads, and indicators of strata where second moments have them."""
    if transcript.moments is not None:
        return len(transcript.moments.centre)
    return len(transcript.design.covariates.leads)


def _empty(field: Field) -> list[Array]:
    """Effects of levels whose count may be noise; all of a category's where that is the reference."""
    t, found = field.transcript, list[Array]()
    unit = np.eye(_width(t))
    for marginal, counts in zip(t.marginals, t.totals, strict=True):
        if marginal.numeric or t.counts is None:
            continue
        noise = HIDDEN * t.counts.deviation * math.sqrt(len(counts))
        rare, columns = counts.sum(axis=0) < noise, list(marginal.columns)
        found.extend(unit[columns][rare[1:]])
        if rare[0]:
            found.append(unit[columns].sum(axis=0))
    return found


def _moments_seen(transcript: Transcript) -> tuple[Array, float]:
    """Second moments, about 1 on the diagonal of a column as wide as counted, and an entry's noise.

    Shortening may leave more of other columns than of normal ones.
    """
    moments = transcript.moments
    if moments is None:
        return np.eye(_width(transcript)), math.inf
    normal = transcript.observed * moment_part(len(moments.matrix), moments.limit)
    unit = max(float(np.median(np.diag(moments.matrix))), normal)
    return moments.matrix / unit, float(moments.noise[0, 0]) / unit


def _repeated(field: Field) -> list[Array]:
    """Combinations of columns whose variance, and whose information, may be none."""
    t = field.transcript
    matrix, error = _moments_seen(t)
    if t.moments is None or error > NOISY:
        return []
    scale = np.sqrt(np.maximum(np.diag(matrix), NEGLIGIBLE))
    values, vectors = np.linalg.eigh(matrix / np.outer(scale, scale))
    noise = error * np.sum((vectors / scale[:, None]) ** 2, axis=0)
    flat = [
        np.where(np.abs(vector) >= max(NOISY, HIDDEN * error), vector, 0.0)
        / (scale * t.moments.spread)
        for vector in vectors.T[values < np.maximum(NEGLIGIBLE, HIDDEN * noise)]
    ]
    return [vector for vector in flat if not _informative(field, vector)]


def _informative(field: Field, vector: Array) -> bool:
    """Whether the released information along the effects of a combination exceeds its noise.

    It is that of the level that leaves least: the released means of columns that repeat each other
    differ by noise, and a level is well known.
    """
    information, design = field.transcript.information, field.transcript.design
    if information is None:
        return False
    levels = np.zeros((design.dimension, design.strata, len(design.levels)))
    for stratum in range(design.strata):
        levels[design.columns(stratum)[: design.baseline.dimension], stratum] = design.levels.T
    count = len(_effects(field, vector))
    directions = np.hstack([_seen_by(field, [vector]), levels.reshape(design.dimension, -1)])
    for mapping, matrix in zip(information.mappings, information.matrices, strict=True):
        along = np.linalg.solve(mapping, directions)
        along = along / np.maximum(np.linalg.norm(along, axis=0), 1e-300)
        found = along.T @ matrix @ along
        rest = np.linalg.pinv(found[count:, count:])
        least = np.diag(found)[:count] - [one @ rest @ one for one in found[:count, count:]]
        if np.all(least > CLEAR * information.noise[0, 0]):
            return True
    return False


def _blurred(field: Field) -> list[Array]:
    """Effects of numbers of unknown width.

    All people may be in one bin, or in two where second moments were not released; or the second moment
    may be none, and is far less than the counts would have it.
    """
    t, found = field.transcript, []
    matrix, error = _moments_seen(t)
    for marginal, counts in zip(t.marginals, counts_of_values(t), strict=True):
        if not marginal.numeric:
            continue
        noise = t.counts.deviation * math.sqrt(len(counts)) if t.counts else 0.0
        crowded = all_within(counts.sum(axis=0), noise, 2 if t.moments is None else 1)
        column = marginal.columns[0]
        narrow = matrix[column, column] < min(HIDDEN * error, HALF)
        if crowded or (narrow and t.moments is not None):
            found.append(np.eye(_width(t))[column])
    return found


def _times(field: Field, stratum: int, cause: int) -> Array:
    """Directions of a baseline whose information comes from times that may show no one or no event."""
    t = field.transcript
    bins, deviation = np.arange(t.bins), t.exits.deviation
    exits, widths = t.exits.values[stratum], np.diff(t.edges)
    events, gone = np.maximum(exits[cause + 1], 0.0), np.maximum(exits, 0.0).sum(axis=0)
    entered = np.zeros(t.bins)
    entered[0] = max(float(gone.sum()), 1.0)
    if t.entries is not None:
        entered = np.maximum(t.entries.values[stratum], 0.0)
    risk = np.cumsum(entered) - np.cumsum(gone) + gone
    later = np.cumsum(exits[cause + 1][::-1])[::-1]
    known = later > HIDDEN * deviation * np.sqrt(t.bins - bins)
    known &= risk > deviation * np.sqrt(2.0 * (bins + 1.0))
    basis = t.design.basis
    weight = np.repeat(np.maximum(events, 1e-6 * np.maximum(risk, 1.0)) / widths, widths)
    full = (basis.T * weight) @ basis
    seen = (basis.T * (weight * np.repeat(known, widths))) @ basis
    values, vectors = np.linalg.eigh(full)
    root = (vectors / np.sqrt(np.maximum(values, values[-1] * 1e-9))) @ vectors.T
    shares, directions = np.linalg.eigh(root @ seen @ root)
    return np.asarray(root @ directions[:, shares < NEGLIGIBLE])
