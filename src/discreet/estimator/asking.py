"""What is asked next: the point, the whitened coordinates, the bound B of a score and the limit R.

Conventions
-----------
    informations (R, d, d) I + P: expected information at the estimate, the prior's precision; W = (I + P)^(-1/2)
    B = m sqrt(d / E), m a multiple from 1 to 64, E the released events (of each cause)

B is chosen by the variance of the full score that the sum would leave, as D-optimal designs are: the
entropy of the estimate, log det (1 + W' Var(U | y) W) / 2. A small bound lets the sum say less of U, a
large one has more noise; directions that no bound reaches have no part in the choice. The largest bound
is taken that costs at most NEXT_TO_NOTHING more than the best one.

R, a multiple of the average trace, is the one with the least squared noise plus squared part of the
information that it cuts off.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from scipy.linalg import block_diag

from discreet.estimator.constants import NEXT_TO_NOTHING
from discreet.estimator.estimate import Linear, Prior
from discreet.estimator.expected import Expected, expectations
from discreet.estimator.field import Field, Static
from discreet.estimator.lives import Chances
from discreet.estimator.numerical import AT_ONCE, FEWER, HOPELESS
from discreet.estimator.scores import images
from discreet.estimator.transcript import ScoreSum
from discreet.types import Array, Integers

MULTIPLES = 2.0 ** np.arange(0.0, 6.01, 0.5)
"""Of sqrt(d / E), the natural size of an event's score in whitened coordinates."""


def whitening(information: Array) -> Array:
    """W = information^(-1/2), symmetric."""
    values, vectors = np.linalg.eigh(information)
    floor = max(float(values[-1]) * 1e-10, 1e-12)
    return np.asarray((vectors / np.sqrt(np.maximum(values, floor))) @ vectors.T)


def thinned(field: Field) -> Field:
    """The same with a part of the cohort, without the sums that were released."""
    transcript = field.transcript.having(
        steps=(), information=None, marginals=(), counts=None, moments=None
    )
    number = max(len(field.members.weights) // FEWER, 1)
    none = Static.joined([], len(field.members.weights))
    field = replace(field, transcript=transcript, static=none, changing=(), walked=())
    some = field.only(np.arange(number))
    return some.weighed(some.members.weights / some.members.weights.sum())


def next_score(
    field: Field, prior: Prior, phi: Array, f: Array, informations: Array, unit_noise: float
) -> ScoreSum:
    """The score to be asked for at f; `unit_noise` is the noise of a sum over its bound."""
    mappings = np.array([whitening(one) for one in informations])
    lay, t = field.layout, field.transcript
    events = np.maximum(t.exits.values[:, 1:].sum(axis=(0, 2)), t.exits.deviation)
    units = np.sqrt(lay.size / events)
    trials = [
        ScoreSum(f, mappings, bounds, np.zeros_like(f), unit_noise * bounds)
        for bounds in MULTIPLES[:, None] * units
    ]
    found: list[tuple[float, float]] = []
    for left, multiple in zip(left_of(thinned(field), prior, phi, trials), MULTIPLES, strict=True):
        found.append((left, multiple))
        if left > min(found)[0] + HOPELESS:
            break
    least = min(found)[0] + NEXT_TO_NOTHING
    multiple = max(multiple for value, multiple in found if value <= least)
    return ScoreSum(f, mappings, multiple * units, np.zeros_like(f), np.zeros(lay.causes))


def left_of(field: Field, prior: Prior, phi: Array, trials: Sequence[ScoreSum]) -> Iterator[float]:
    """Of each trial, log det (1 + W' Var(U | y) W) over the number of parameters: twice the entropy left."""
    number, size = trials[0].points.size, field.layout.size
    some = max(AT_ONCE // number, 1)
    for start in range(0, len(trials), some):
        group = tuple(trials[start : start + some])
        asked = [replace(field, transcript=field.transcript.having(steps=(one,))) for one in group]
        whole = replace(field, transcript=field.transcript.having(steps=group))
        expected = expectations(whole, phi, group[0].points)
        for k, one in enumerate(asked):
            others = np.r_[: k * number, (k + 1) * number : len(group) * number]
            linear = Linear(one, without(expected, others), prior.covariance)
            left, found = linear.error(linear.gain), 0.0
            for r, mapping in enumerate(group[k].mappings):
                own = slice(r * size, (r + 1) * size)
                values = np.linalg.eigvalsh(mapping.T @ left[own, own] @ mapping)
                found += float(np.sum(np.log1p(np.maximum(values, 0.0))))
            yield found / len(left)


def without(expected: Expected, rows: Integers) -> Expected:
    """The same without some of the rows that have a covariance within."""
    return Expected(
        np.delete(expected.mean, rows),
        np.delete(expected.between, rows, axis=1),
        np.delete(np.delete(expected.within, rows, axis=0), rows, axis=1),
        np.delete(expected.slope, rows, axis=0),
    )


def information_limit(field: Field, phi: Array, score: ScoreSum, noise: float) -> float:
    """R; `noise` is that of the released information at one average trace, in parts of it."""
    t, pieces, members = field.transcript, field.pieces, field.members
    eta, leave = field.hazards(phi)
    chances = Chances.of(t.link, eta, leave, members.entry, pieces.lengths)
    survive, happen = field.slopes(score.points)
    square = np.sum(images(score, members, pieces) ** 2, axis=3)
    square *= score.bounds[:, None, None] ** 2
    mass = np.sum(survive * happen * square, axis=0) * (chances.spent > 0.0)
    whole = np.cumsum(mass * pieces.lengths, axis=1)
    trace = whole - mass * pieces.lengths + mass * (chances.before + 1.0)
    trace[:, -1] = whole[:, -1]
    leaving = chances.at_risk * (1.0 - chances.stay) * members.weights[:, None]
    average = float(np.sum(leaving * trace))
    best, chosen = np.inf, MULTIPLES[0]
    for multiple in MULTIPLES:
        kept = float(np.sum(leaving * np.minimum(trace, multiple * average)))
        error = (multiple * noise) ** 2 + (1.0 - kept / max(average, 1e-300)) ** 2
        if error < best:
            best, chosen = error, multiple
    return float(chosen * average)


def predicted(
    field: Field, prior: Prior, phi: Array, f: Array, noises: Sequence[tuple[float, float]]
) -> tuple[Array, Array]:
    """(sampling, privacy): what a release will state is their sum; before scores are asked for.

    Were `phi` the picture and f the truth, with a score for each of `noises`: (what its bound is chosen
    for, its own noise), both in parts of the bound. MSE(U) does not depend on the answers. (R d, R d).
    """
    t, members, (survive, happen) = field.transcript, field.members, field.slopes(f)
    chances = Chances.of(t.link, *field.hazards(phi), members.entry, field.pieces.lengths)
    mass = field.persons * members.weights
    informations = field.informations(chances.tries * survive * happen, mass)
    transcript = field.transcript.having(steps=())
    for chosen_for, own in noises:
        asked = next_score(field, prior, phi, f, informations, chosen_for)
        asked = replace(asked, deviations=own * asked.bounds)
        transcript = transcript.having(steps=(*transcript.steps, asked))
    field = replace(field, transcript=transcript, walked=())
    linear = Linear(field, expectations(field, phi, f), prior.covariance)
    inverse = np.asarray(block_diag(*np.linalg.inv(informations)))
    return inverse, inverse @ linear.error(linear.gain) @ inverse
