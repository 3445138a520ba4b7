"""The covariance of a run's estimate: sampling, noise, what the picture may get wrong, and the prior.

    1. the steps' own sampling and noise, as they move the estimate, noise times max(1, RSS/df); where
       the people's information was not released, averaged over pictures that the same people might have
       given (the noise of the first releases once more, a life table from its posterior);
    2. what those pictures would have changed: all steps move together;
    3. a part of the life table's correction, and what bounds may take away where that table
       contradicts the model: fully correlated as well;
    4. the prior's variance along directions that the data do not reach.

Post-processing of released numbers; the random numbers are public.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from discreet.design.design import Design
from discreet.engine.threads import in_threads
from discreet.mechanisms.newton.bound import DOUBTED
from discreet.mechanisms.newton.cohort import Profile, kept_relations
from discreet.mechanisms.newton.combine import corrected
from discreet.mechanisms.newton.equation import Equation
from discreet.mechanisms.newton.picture import Picture
from discreet.mechanisms.newton.pin import Pinned
from discreet.mechanisms.newton.releases import Releases
from discreet.mechanisms.newton.steps import Prior, Step, errors_of, lifted, surplus, variances
from discreet.types import Array, Flags, Integers

PICTURES = 12
PUBLIC_SEED = 20_261
LITTLE = 1 << 12
"""Members of the cohort times intervals below which threads only wait for each other."""
CLEAR = 2.0
"""Standard deviations of noise that the count of a level must exceed to be taken for one."""
LIKENESS = 0.15
"""The cohort's sampling variance may be off by this part: it is like the people, it is not the people."""
BIAS_STATED = 0.5
"""The part of the variance of bounds' bias that intervals need; the estimate is weighted by all of it."""
UNRELATED = 0.5
"""Noise counts by so much more where nothing is known of second moments: columns that go together are
known less well than they look."""
FLAT, VARIED, INFORMED = 0.04, 1.75, 2.5
"""A combination of standardised columns repeats them whose variance is below FLAT (shortening makes
0.04 of 0.025), or is not told
from none by so many standard deviations of its noise; nor is its information by as many."""
NOISY, NOISE = 0.1, 0.2
"""Noise of a correlation above which hardly anything, or nothing, is said of repeated columns."""
LOOSE = 99.0
"""The prior of a number whose width nobody knows has so many times its variance more: the number may be
a tenth as wide as it looks."""
LOADING = 0.15
"""Columns with a smaller part in a flat combination are not taken for a part of it."""
REACHED = 0.05
"""A direction is not reached where the people seen for certain have less of its information."""


@dataclass(frozen=True)
class Answer:
    """A step's equation with its released score."""

    equation: Equation
    released: Array

    def around(self, picture: Picture, estimate: Array) -> Step:
        """The linear equation around an estimate, as a picture shows it."""
        return self.equation.around(self.released, picture.shape, estimate)

    def modelled(self, picture: Picture, estimate: Array) -> tuple[Array, Array]:
        """The score that the model expects at an estimate, uncorrected, and its variance."""
        return self.equation.modelled(picture.shape, estimate)


@dataclass(frozen=True)
class Spread:
    """Covariance of the estimate, its part that is sampling, and that of unreached directions."""

    covariance: Array
    sampling: Array
    missing: Array


def spread_of(answers: Sequence[Answer], picture: Picture, estimate: Array, prior: Prior) -> Spread:
    """All parts together.

    The Cauchy densities of effects draw a noisy estimate nearer, and what they would promise of it holds
    for effects that are as small as they say: intervals are those of the wider normal prior alone.
    """
    plain, meats = zip(*(one.modelled(picture, estimate) for one in answers), strict=True)
    turn, found = picture.shape.turn(estimate), [one.around(picture, estimate) for one in answers]
    steps = _responding(corrected(found, estimate), meats, turn)
    pinned = Pinned(replace(prior, effects=None), picture.shape).around(estimate)
    errors = errors_of(steps, estimate)
    _, lifts = lifted(steps, errors, pinned)
    scores, pictures = [one.score for one in steps], _seen_otherwise(answers, picture, estimate)
    moved = np.array([_moved(lifts, scores, [one.score for one in seen]) for seen in pictures])
    believed = [steps] if _informed(picture) else _as_modelled(pictures, turn)
    each = [variances(one, estimate, pinned, errors) for one in believed]
    sampling, noise = (np.mean(parts, axis=0) for parts in zip(*each, strict=True))
    noise = surplus(steps, estimate) * noise + moved.T @ moved / PICTURES
    bias = _bias(steps[-1], lifts, _moved(lifts, plain, scores)) + _tails(steps, lifts)
    noise = _unsure(picture) * noise + bias
    missing = widened(unreached(picture, len(estimate)), prior)
    missing = missing + LOOSE * widened(_unknown_widths(picture), prior)
    return Spread(likeness(sampling, noise) * sampling + noise + missing, sampling, missing)


def _as_modelled(pictures: Sequence[Sequence[Step]], turn: Array) -> list[list[Step]]:
    """The steps of other pictures, each with its own Meat."""
    return [_responding(seen, [one.meat for one in seen], turn) for seen in pictures]


def likeness(sampling: Array, noise: Array) -> float:
    """1 + sqrt(r^2 + LIKENESS^2) - r, r the noise's variance over sampling's.

    Of the coefficient in the middle; the noise has what is stated of bias as well.

    A sampling variance that is off by a part adds to the noise as errors do, in squares: it counts
    where noise is small, and where noise is large it is lost in it.
    """
    ratios = np.diag(noise) / np.maximum(np.diag(sampling), 1e-300)
    ratio = max(float(np.median(np.nan_to_num(ratios))), 0.0)
    return 1.0 + LIKENESS**2 / (math.hypot(ratio, LIKENESS) + ratio)


def _responding(steps: Sequence[Step], meats: Sequence[Array], turn: Array) -> list[Step]:
    """The steps with the response of their corrected scores to the estimate, and the model's Meat."""
    pairs = zip(steps, meats, strict=True)
    return [replace(step, meat=meat, response=step.slope @ turn) for step, meat in pairs]


def _bias(last: Step, lifts: Sequence[Array], corrections: Array) -> Array:
    """What is doubted of the life table's corrections, and what bounds may take away of a wrong model."""
    load = DOUBTED * corrections
    together = np.asarray(sum(lifts))  # bounds take away of the same people at every step
    found = np.outer(load, load) + BIAS_STATED * together @ last.bias @ together.T
    return np.asarray(found)


def _tails(steps: Sequence[Step], lifts: Sequence[Array]) -> Array:
    """What bounds may take away of numbers' tails: (I - J) d, where the effect there is off by d.

    The estimate is not weighted by it: that would draw effects with a tail to the prior, right or wrong.
    """
    pairs = zip(steps, lifts, strict=True)
    moved = [lift @ step.taken for step, lift in pairs if step.taken is not None]
    shared = np.asarray(sum(moved, np.zeros((len(lifts[0]), 1))))  # the same tails at every step
    return np.asarray(BIAS_STATED * shared @ shared.T)


def _informed(picture: Picture) -> bool:
    return picture.releases.information is not None


def _unsure(picture: Picture) -> float:
    """By how much more the noise is than a picture shows that does not know what goes together."""
    return 1.0 + UNRELATED * unrelated(picture.releases, len(picture.spreads)) ** 2


def unrelated(releases: Releases, columns: int) -> float:
    """How much of what columns have to do with each other is not known, from 0 to 1."""
    if columns < 2:
        return 0.0
    found = releases.second_moments(columns)
    return 1.0 if found is None else 1.0 - kept_relations(found[1], columns)


def _seen_otherwise(
    answers: Sequence[Answer], picture: Picture, estimate: Array
) -> list[list[Step]]:
    """The steps, with the model's Meat, as other pictures show them that the same people might give."""
    random = np.random.default_rng(PUBLIC_SEED)
    releases = [picture.releases.again(random) for _ in range(PICTURES)]
    wrong = answers[-1].around(picture, estimate).wrong  # one picture alone says how far it is

    def seen(other: Releases) -> list[Step]:
        shown = picture.showing(other).bent_as(picture)
        pairs = ((one.around(shown, estimate), one.modelled(shown, estimate)) for one in answers)
        return [replace(step, meat=meat, wrong=wrong) for step, (_, meat) in pairs]

    return in_threads(seen, releases, _threads(picture))


def _threads(picture: Picture) -> int | None:
    """One where compiled code, which threads can run beside each other, has next to nothing to do."""
    members, intervals = len(picture.people.cohort), picture.shape.design.intervals
    return 1 if members * intervals < LITTLE else None


def _moved(lifts: Sequence[Array], scores: Sequence[Array], others: Sequence[Array]) -> Array:
    """How other expected scores of the steps would have moved the estimate."""
    pairs = zip(lifts, scores, others, strict=True)
    return np.asarray(sum(lift @ (other - one) for lift, one, other in pairs))


def widened(directions: Array, prior: Prior) -> Array:
    """The prior's variance along each direction, the columns of `directions`."""
    scale = np.einsum("ij,ik,kj->j", directions, prior.precision, directions)
    return np.asarray((directions / np.maximum(scale, 1e-300)) @ directions.T)


def unreached(picture: Picture, size: int) -> Array:
    """Directions of f, as columns, that the released numbers do not show to be reached.

    Levels whose count may be noise, columns that repeat each other, and the baseline's directions
    that only those at risk after the last count that stands out would show.
    """
    design, found = picture.shape.design, _unseen(picture, _columns(picture))
    for stratum, profile in enumerate(picture.releases.profiles):
        own = design.columns(stratum)[: design.baseline.dimension]
        hidden = picture.releases.hidden[stratum]
        vectors = np.eye(len(own)) if hidden else _times(picture, profile)
        found += [_along(size, own, vector) for vector in vectors]
    return np.array(found).T if found else np.zeros((size, 0))


def _unseen(picture: Picture, leads: Sequence[Array]) -> list[Array]:
    """Effects of these leads and of what is made of one of them, apart from everybody's level."""
    design, people = picture.shape.design, _mean(picture)
    size, time = design.dimension, design.time_dimension
    found = [_effects(design, vector) for vector in leads]
    found += [_along(size, time + column, 1.0) for column in _derived(picture, leads)]
    return [_apart(design, direction, people) for direction in found]


def _effects(design: Design, vector: Array) -> Array:
    """The direction of f that moves predictors as the columns do: leads, then strata's indicators.

    An indicator of a stratum is a constant of its baseline.
    """
    time, leads = design.time_dimension, design.covariates.leads
    direction = _along(design.dimension, time + leads, vector[: len(leads)])
    level = design.constant
    for number, effect in enumerate(vector[len(leads) :], start=1):
        direction[design.columns(number)[: len(level)]] = effect * level
    return direction


def _apart(design: Design, direction: Array, people: Array) -> Array:
    """The same effects with a constant that leaves the predictor of the people as it is.

    What nobody shows moves nobody: the effect of an empty level is that of having it, not of the
    centred column, which everybody has.
    """
    time = design.time_dimension
    level = design.constant
    moved = direction.copy()
    for stratum in range(design.strata):
        moved[design.columns(stratum)[: len(level)]] -= (direction[time:] @ people) * level
    return moved


def _mean(picture: Picture) -> Array:
    """The people's mean of every internal column; of an empty level that of those without it."""
    people, covariates = picture.people, picture.shape.design.covariates
    mean = people.mean.copy()
    for vector in _empty(picture):
        places = covariates.leads[np.flatnonzero(vector[: len(covariates.leads)])]
        if len(places) == 1:
            mean[places] = -covariates.centre[places] * covariates.scale[places]
    return np.asarray(mean)


def _along(size: int, places: Integers | int, effects: Array | float) -> Array:
    direction = np.zeros(size)
    direction[places] = effects
    return direction


def _derived(picture: Picture, leads: Sequence[Array]) -> list[int]:
    """The columns of splines and interactions that are made of one of these leads."""
    covariates = picture.shape.design.covariates
    single = [int(np.flatnonzero(vector)[0]) for vector in leads if np.count_nonzero(vector) == 1]
    # behind the leads stand indicators of strata, of which nothing is made
    columns = [int(covariates.leads[place]) for place in single if place < len(covariates.leads)]
    return [int(place) for column in columns for place in covariates.made_of(column)[1:]]


def _columns(picture: Picture) -> list[Array]:
    """Effects of leads that nobody, or nobody apart from the others, is shown to have."""
    return _empty(picture) + _repeated(picture) + _blurred(picture)


def _blurred(picture: Picture) -> list[Array]:
    """Effects of numbers whose width nobody knows."""
    return [np.eye(len(picture.spreads))[place] for place in picture.blurred]


def _unknown_widths(picture: Picture) -> Array:
    """The directions of these effects, and of what is made of the numbers, as columns."""
    found = _unseen(picture, _blurred(picture))
    return np.array(found).T if found else np.zeros((picture.shape.design.dimension, 0))


def _empty(picture: Picture) -> list[Array]:
    """Effects of levels that nobody is shown to have; all of them where that is the reference."""
    releases, width = picture.releases, len(picture.spreads)
    found, noise = [], CLEAR * releases.total_deviation
    for marginal, counts in releases.totals:
        if marginal.numeric:
            continue
        empty = [place for place in range(1, marginal.bins) if counts[place] < noise]
        found += [np.eye(width)[marginal.columns[place - 1]] for place in empty]
        if counts[0] < noise:
            found.append(np.eye(width)[list(marginal.columns)].sum(axis=0))
    return found


def _repeated(picture: Picture) -> list[Array]:
    """Combinations of columns whose variance, and whose information, are not told from none."""
    found = picture.releases.second_moments(len(picture.spreads))
    if found is None:
        return []
    correlation, error, scale = unit_diagonal(*found)
    values, vectors = np.linalg.eigh(correlation)
    noise = error * np.sum((vectors / scale[:, None]) ** 2, axis=0)
    least = np.maximum(FLAT, VARIED * noise)
    if error > NOISY:  # then only what is below nothing is flat
        least = np.full(len(values), 0.0 if error < NOISE else -math.inf)
    flat = [
        _clear(vector, error) / (scale * picture.spreads) for vector in vectors.T[values < least]
    ]
    return [vector for vector in flat if not _informative(picture, vector)]


def _informative(picture: Picture, vector: Array) -> bool:
    """Whether the people's information along the effects of a combination is told from none."""
    information = picture.releases.information
    if information is None:
        return False
    design = picture.shape.design
    direction = _apart(design, _effects(design, vector), _mean(picture))
    along = np.linalg.solve(information.scores.mapping, direction)
    along = along / max(float(np.linalg.norm(along)), 1e-300)
    return bool(along @ information.matrix @ along > INFORMED * information.deviation)


def _clear(vector: Array, error: float) -> Array:
    """The columns that repeat each other, without the loadings that noise gives to others."""
    return np.where(np.abs(vector) >= max(LOADING, 2.0 * error), vector, 0.0)


def unit_diagonal(matrix: Array, error: float) -> tuple[Array, float, Array]:
    """Second moments with unit diagonal, the noise of an entry before, and the scale."""
    scale = np.sqrt(np.maximum(np.diag(matrix), 0.05))
    return matrix / np.outer(scale, scale), error, scale


def _with_events(picture: Picture, profile: Profile) -> Flags:
    """Intervals from which on released events are told from none: without events hazards are unknown."""
    events = profile.table[1]
    later = np.cumsum(events[::-1])[::-1]
    noise = profile.deviation * np.sqrt(np.arange(len(events), 0, -1))
    return np.asarray((later > CLEAR * noise)[picture.shape.places])


def _times(picture: Picture, profile: Profile) -> list[Array]:
    """Directions of the baseline whose information comes from times that nobody may have reached."""
    basis = picture.shape.design.basis
    places = picture.shape.places
    noise = profile.deviation * np.sqrt(2.0 * (places + 1.0))
    certain = (profile.at_risk > noise) & _with_events(picture, profile)
    hazard = np.clip(profile.events / profile.at_risk, 1e-6, 1.0)
    weight = profile.at_risk * hazard
    full = (basis.T * weight) @ basis
    seen = (basis.T * (weight * certain)) @ basis
    values, vectors = np.linalg.eigh(full)
    root = (vectors / np.sqrt(np.maximum(values, values[-1] * 1e-9))) @ vectors.T
    shares, directions = np.linalg.eigh(root @ seen @ root)
    return [
        root @ direction
        for share, direction in zip(shares, directions.T, strict=True)
        if share < REACHED
    ]
