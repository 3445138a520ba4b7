"""What the released life table shows of the hazard that the baseline cannot follow.

delta(t), constant in each bin of the table, is added to the predictor so that the events expected of
the released numbers at risk, at the cohort's mean hazard, match the released ones, as far as these
are not noise: a ridge and a random walk hold it back. Under f + delta the full score at f is u(f),
zero where f is the maximum of the likelihood.

Where effects change with time (`varying.py`), the truth is f + offset + delta and the change: the
maximum of the likelihood averages effects over time in its own way, and `offset` is what the mean of
the true ones is away from it.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from discreet.core.walk import Point
from discreet.design.design import Design
from discreet.design.link import Link
from discreet.mechanisms.newton.bound import Cohort
from discreet.mechanisms.newton.cohort import Profile, numeric_columns
from discreet.mechanisms.newton.expected import STEADY, Bend, Rates
from discreet.mechanisms.newton.foreseen import CohortScores
from discreet.types import Array, Integers

RIDGE, WALK = 1.5, 0.4
"""Prior standard deviations of delta and of its change from bin to bin."""
CONTRADICTED = 3.0
"""A contradiction (chi-square over its degrees of freedom) up to which the life table may be chance."""
UNSEEN = 0.5
"""A model is doubted by so much where the life table is all noise and could not contradict it."""
AVERAGING, LITTLE = 3, 1e-6
"""Rounds in which true effects are found of which f is the average, and the parts of the information
that are a ridge for it: a direction that nobody shows must not stop it."""
ROUNDS = 8
SETTLED = 1e-3

BEYOND = 4.0
"""A number's tail is so many standard deviations from its mean: few people, whose effect is rarely on
the line of all others."""
DIFFERENCE = 1e-4
"""By so much a point is moved either way to see the slope of a score."""
RIDGE_OF_TURN = 1e-3
"""Added to two informations with about unit diagonal before one is divided by the other."""


class Residual(NamedTuple):
    """delta by interval (and stratum), the full score at f under f + delta, and the information at f.

    `wrong` is how far the model is doubted, from 0 to 1: how much of the life table's contradiction is
    not chance, or could be hidden by its noise; `changed` is how much of the contradiction of constant
    effects is not chance. Where effects change, `bend` says how and `offset` is what the mean of the
    true effects over time is away from f. `tail` is the largest part of a number's variance that is in
    its tail.
    """

    shift: Array
    score: Array
    information: Array
    wrong: float
    bend: Bend = STEADY
    offset: Array | float = 0.0
    changed: float = 0.0
    tail: float = 0.0


@dataclass(frozen=True, eq=False)
class Shape:
    """The life table against the model, at any f; with strata one for each.

    Effects change by `bend`, which is certain as far as `changed` says; delta is looked for from
    `start`.
    """

    design: Design
    link: Link
    people: Cohort
    profiles: tuple[Profile, ...]
    bend: Bend = STEADY
    changed: float = 0.0
    start: Array | None = None
    known: dict[bytes, Residual] = field(default_factory=dict)
    plain: dict[bytes, CohortScores] = field(default_factory=dict)

    def at(self, f: Array) -> Residual:
        """The residual at f, kept: several steps ask for the same."""
        key = f.tobytes()
        if key not in self.known:
            self.known[key] = self._residual(f)
        return self.known[key]

    def bent(self, bend: Bend, changed: float = 0.0, start: Array | None = None) -> "Shape":
        """The same with effects that change."""
        return replace(self, bend=bend, changed=changed, start=start, known={})

    def rates(self, f: Array, stratum: int = 0) -> Rates:
        """The mean hazards of a stratum's cohort under f, slopes at its own places of f."""
        return self._plain(f).strata[stratum].rates(self.people.of_stratum(stratum))

    def _hazards(
        self, f: Array, stratum: int, shift: Array | None = None, bend: Bend = STEADY
    ) -> tuple[Array, Array]:
        """The same hazards under f + shift and a bend, and their slopes by the predictor."""
        people = self.people.of_stratum(stratum)
        found = self._plain(f).strata[stratum].rates(people, shift, bend, sloped=False)
        return found.hazard, found.steepness

    def contradiction(self, f: Array) -> float:
        """Chi-square of the released events by bin against the model's, over its degrees of freedom.

        About 1 where the baseline follows the hazard, whatever the noise.
        """
        found = [self._chi_square(f, stratum) for stratum in range(len(self.profiles))]
        free = self.bins - self.design.baseline.dimension
        return float(np.sum(found)) / max(free * len(found), 1)

    def _chi_square(self, f: Array, stratum: int) -> float:
        profile = self.profiles[stratum]
        hazard, _ = self._hazards(f, stratum)
        events = np.bincount(self.places, profile.at_risk * hazard, self.bins)
        return float(np.sum((profile.table[1] - events) ** 2 / (profile.deviation**2 + events)))

    def true_point(self, f: Array, stratum: int) -> Point:
        """The truth at f, of one stratum, as compiled code takes it: f + offset + delta."""
        found = self.at(f)
        shift, own = found.shift, self._plain(f + found.offset).strata[stratum]
        return own.kernel_truth(own.point, shift if shift.ndim == 1 else shift[stratum])

    def _plain(self, f: Array) -> CohortScores:
        """The scores at f without a bound, kept: what compiled code takes is made once."""
        key = f.tobytes()
        if key not in self.plain:
            self.plain[key] = self._unkept(f)
        return self.plain[key]

    def _unkept(self, f: Array) -> CohortScores:
        """The same where they are asked for once."""
        return CohortScores(self.design, self.link, f, np.eye(len(f)), np.inf)

    @cached_property
    def bins(self) -> int:
        """Number of bins of the life table."""
        return len(self.edges) - 1

    @property
    def edges(self) -> Integers:
        """The edges of the bins, the same for every stratum."""
        return self.profiles[0].edges

    @cached_property
    def places(self) -> Integers:
        """The bin of every interval."""
        return np.repeat(np.arange(self.bins), np.diff(self.edges))

    @cached_property
    def _smooth(self) -> Array:
        """The prior precision of delta."""
        step = np.diff(np.eye(self.bins), axis=0)
        return np.asarray(np.eye(self.bins) / RIDGE**2 + step.T @ step / WALK**2)

    def _residual(self, f: Array) -> Residual:
        wrong = self._doubt(f)
        delta = self.deltas(f, STEADY, self.start)
        score, information = self._under(f, f, delta, STEADY)
        if len(self.bend.lean) == 0:
            own = self._by_interval(delta), score, information, wrong
            return Residual(*own, tail=self._tail)
        offset, delta = self._averaging(f, delta, score, information)
        score, information = self._under(f, f + offset, delta, self.bend)
        shift, bend = self._by_interval(delta), self.bend
        told = wrong, bend, offset, self.changed, self._tail
        return Residual(shift, score, information, *told)

    @cached_property
    def tails(self) -> tuple[Array, Array]:
        """The part of each column's variance that is in its tail, and how far from the mean that is."""
        return tails_of(self.design, self.people.cohort, self.people.counts)

    @property
    def tail_slopes(self) -> Array:
        """How far the effect in each column's tail may be from f, for a unit of the predictor there.

        Twice the distance of the tail is a range that people are on; sqrt(t), because a tail that is
        hardly one is as the rest of it.
        """
        parts, far = self.tails
        return np.asarray(np.sqrt(parts) / (2.0 * far))

    @property
    def _tail(self) -> float:
        return float(np.max(self.tails[0], initial=0.0))

    def _doubt(self, f: Array) -> float:
        """How far the life table contradicts the model, or could were it not noise, from 0 to 1."""
        events = np.array([profile.total_events for profile in self.profiles])
        noisy = 1.0 - events.sum() / np.sum(events / [one.certainty for one in self.profiles])
        return max(not_chance(self.contradiction(f)), UNSEEN * float(noisy))

    def _averaging(
        self, f: Array, delta: Array, aim: Array, information: Array
    ) -> tuple[Array, Array]:
        """The offset with which the full score at f is what it is where effects are constant, and delta.

        The score may differ from `aim` in the baseline's places, which delta looks after.
        """
        offset = np.zeros(len(f))
        ridge = LITTLE * np.diag(np.maximum(np.diag(information), LITTLE))
        for _ in range(AVERAGING - 1):
            delta = self.deltas(f + offset, self.bend, delta)
            score, _ = self._under(f, f + offset, delta, self.bend)
            move = np.linalg.solve(information + ridge, score - aim)
            offset = offset + self._of_effects(np.asarray(move, dtype=np.float64))
        return offset, self.deltas(f + offset, self.bend, delta)

    def _of_effects(self, move: Array) -> Array:
        """A move of the effects alone, with a level that leaves the people's mean predictor as it is.

        Columns are centred at public numbers, which may be far from everybody.
        """
        design = self.design
        time, level = design.time_dimension, design.constant
        own = np.where(np.arange(len(move)) < time, 0.0, move)
        for stratum in range(design.strata):
            own[design.columns(stratum)[: len(level)]] -= (move[time:] @ self.people.mean) * level
        return np.asarray(own)

    def _under(self, f: Array, truth: Array, delta: Array, bend: Bend) -> tuple[Array, Array]:
        """The full score at f under the truth's effects and delta, and the information."""
        plain = self.people.seen(self._plain(f))
        away = self.people.through(f, truth), self._by_interval(delta), bend
        score, _, _, information = plain.foreseen(self.people, *away)
        return score, information

    def turn(self, f: Array) -> Array:
        """I^-1 I(f): what the slope of a corrected score is, in parts of its slope toward the truth.

        I is the information at the truth, I(f) that of the model at f, both of those whom the truth
        leaves at risk. Directions without information keep their slope.
        """
        true, model = self.at(f).information, self._modelled(f)
        scale = 1.0 / np.sqrt(np.maximum(np.diag(true), LITTLE))
        ridge = RIDGE_OF_TURN * np.eye(len(f))
        parts = (scale[:, None] * one * scale + ridge for one in (true, model))
        return np.asarray(scale[:, None] * np.linalg.solve(*parts) / scale)

    def _modelled(self, f: Array) -> Array:
        """I(f), by differences: the slope by f of the full score at f, while the truth stays."""
        found, people = self.at(f), self.people
        away = people.through(f, f + found.offset), found.shift, found.bend

        def score(move: Array) -> Array:
            seen = people.seen(self._unkept(people.through(f, f + move)))
            return seen.foreseen(people, *away)[0]

        moves = DIFFERENCE * np.eye(len(f))
        rows = np.array([(score(move) - score(-move)) / (2.0 * DIFFERENCE) for move in moves])
        return np.asarray((rows + rows.T) / 2.0)

    def deltas(self, f: Array, bend: Bend, start: Array | None) -> Array:
        """delta by stratum and bin at f with such a bend, looked for from a start."""
        count = len(self.profiles)
        begin = np.zeros((count, self.bins)) if start is None else start
        return np.stack([self._shift(f, stratum, bend, begin[stratum]) for stratum in range(count)])

    def _by_interval(self, delta: Array) -> Array:
        found = delta[:, self.places]
        return found[0] if len(found) == 1 else found

    def _shift(self, f: Array, stratum: int, bend: Bend, start: Array) -> Array:
        """Newton's method for delta, steps of at most 1."""
        profile, precision = self.profiles[stratum], self._smooth
        variance = profile.deviation**2 + 1.0
        delta = start
        for _ in range(ROUNDS):
            hazard, steep = self._hazards(f, stratum, delta[self.places], bend)
            events = np.bincount(self.places, profile.at_risk * hazard, self.bins)
            slope = np.bincount(self.places, profile.at_risk * steep, self.bins)
            gradient = slope * (profile.table[1] - events) / variance - precision @ delta
            move = np.linalg.solve(np.diag(slope**2 / variance) + precision, gradient)
            delta = delta + move / max(1.0, float(np.abs(move).max()))
            if np.abs(move).max() < SETTLED:
                break
        return np.asarray(delta)


def tails_of(design: Design, cohort: Array, counts: Array) -> tuple[Array, Array]:
    """Of each column the part of its variance that is far from its mean, and the distance of that.

    The part is 0 where a column is no number's own; the distance is at least that of a tail.
    """
    weights = counts / counts.sum()
    squares = (cohort - np.einsum("mk,mkc->c", weights, cohort)) ** 2
    variance = np.maximum(np.einsum("mk,mkc->c", weights, squares), 1e-300)
    beyond = squares > BEYOND**2 * variance
    far = np.einsum("mk,mkc->c", weights, np.where(beyond, squares, 0.0))
    share = np.einsum("mk,mkc->c", weights, beyond)
    distance = np.sqrt(np.maximum(far / np.maximum(share, 1e-300), BEYOND**2 * variance))
    leads = np.isin(np.arange(len(variance)), design.covariates.leads)
    return np.where(leads & numeric_columns(design), far / variance, 0.0), distance


def not_chance(contradiction: float) -> float:
    """How much of a chi-square over its degrees of freedom is not chance, from 0 to 1."""
    return max(0.0, 1.0 - CONTRADICTED / max(contradiction, 1e-300))
