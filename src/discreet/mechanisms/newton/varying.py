"""Effects that change with time, from released numbers alone.

The model takes effects for constant. Where they are not, the maximum of the likelihood averages them
over time, and bounded scores average otherwise: whoever is followed for long is bounded first. Second
moments have one more column, how late in time a person's event came against what everybody's hazard
expects,

    l = lean(e) 1{event at e} - sum over the intervals s at risk of lean(s) q_s,

q_s the released hazard and lean(s) about the share of events before s, from -1 to 1, constant in each
of a few pieces of time. With effects beta + theta lean(s), x l has the mean that the cohort expects of
it at theta; theta is fitted, with a prior, to the released moments (the test of Grambsch and Therneau
1994, turned into an estimate). Proof page: docs/proofs/private-newton.md, sections 3 and 5.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from discreet.core.bins import Varyings
from discreet.core.walk import LANES, Point
from discreet.likelihood.jit import compiled
from discreet.mechanisms.newton.expected import (
    STEADY,
    Bend,
    Members,
    Truth,
    set_members,
    slopes_of_truth,
    true_room,
)
from discreet.mechanisms.newton.layout import moment_left
from discreet.mechanisms.newton.leaving import spread_within
from discreet.mechanisms.newton.shape import Shape, not_chance
from discreet.types import Array, Integers

USUAL, AT_FIRST = 0.1, 0.5
"""What theta usually is, for a standard deviation of a covariate: the scale of a Cauchy prior, whose
tails leave room for an effect that fades. The first round has a wider one, so that a clear change is
not taken for none before it was looked at."""
PIECES = 4
"""Lean is constant in so many pieces of time, of as many events each: few are compiled quickly and
tell a trend, which is all that is fitted."""
LEAST = 0.2
"""l is measured in parts of at least this: where events are rare its own spread would be next to 0."""
ROUNDS, SETTLED, LITTLE = 5, 1e-2, 1e-6
UNLIKE, LEAST_NOISE = 0.75, 0.005
"""How far the cohort is from the people: so much of the moments that it has where effects are constant,
and at least this, both beside the noise."""
SEEN, FIRM = 2.5, 1e9
"""An effect may change where its moment is so many standard deviations from that of a constant one; the
others are held at none by such a precision."""
LARGEST = 2.0
"""The effect of a standard deviation changes by at most so much, on the link's scale."""


class Pieces(NamedTuple):
    """Lean by piece, twice the share of events before its middle less 1.

    Piece k holds the intervals cuts[k] < s <= cuts[k + 1].
    """

    lean: Array
    cuts: Integers

    @classmethod
    def of(cls, events: Array) -> "Pieces":
        """Of as many of the released events, by interval, as the grid allows."""
        reached = np.cumsum(events) / max(float(events.sum()), 1e-300)
        inner = np.searchsorted(reached, np.arange(1, PIECES) / PIECES) + 1
        cuts = np.unique(np.concatenate([[0], inner, [len(events)]])).astype(np.int64)
        cuts = cuts[cuts <= len(events)]  # without events the inner ones lie beyond
        ends = np.concatenate([[0.0], reached])[cuts]
        ends[-1] = 1.0
        return cls(ends[1:] + ends[:-1] - 1.0, cuts)

    @property
    def by_interval(self) -> Array:
        """Lean in every interval."""
        return np.repeat(self.lean, np.diff(self.cuts))


class Varied(NamedTuple):
    """What l is made with: pieces of time, released hazards by stratum and interval, and its unit."""

    pieces: Pieces
    chances: Array
    unit: float

    @classmethod
    def of(cls, events: Array, at_risk: Array) -> "Varied":
        """From events and people at risk, by stratum and interval; the unit is l's spread.

        Rounding may leave a fitted count of events a little below 0.
        """
        events = np.maximum(events, 0.0)
        pieces = Pieces.of(events.sum(axis=0))
        chances = np.clip(events / np.maximum(at_risk, 1e-300), 0.0, 1.0)
        share = events.sum(axis=0) / max(float(at_risk[:, 0].sum()), 1.0)
        variance = float(np.sum(share * pieces.by_interval**2))
        return cls(pieces, chances, max(np.sqrt(variance), LEAST))

    @property
    def asked(self) -> Varyings:
        """As people are asked for l."""
        return Varyings(self.pieces.by_interval, self.chances)


class Change(NamedTuple):
    """theta for every internal column, and its standard deviation, noise and prior together.

    `distance` says how many standard deviations the moments of each are from those of constant effects.
    `released` are the moments that theta was fitted to, `gain` what others would have changed;
    `certain` is how much of their contradiction of constant effects is not chance, from 0 to 1.
    """

    theta: Array
    deviation: Array
    distance: Array
    released: Array
    gain: Array
    certain: float = 0.0

    def had(self, released: Array) -> "Change":
        """The change that other moments would have shown."""
        theta = self.theta + self.gain @ (released - self.released)
        return self._replace(theta=theta, released=released)


NO_CHANGE = Change(*(np.zeros(0),) * 5)
"""Where nothing was released of it."""


class Round(NamedTuple):
    """One round of Gauss-Newton: how far theta moves, its covariance, and what moments do to it."""

    move: Array
    spread: Array
    gain: Array

    @classmethod
    def of(cls, theta: Array, gap: Array, slope: Array, precision: Array, usual: Array) -> "Round":
        """At theta, with this gap of the moments; a Cauchy prior of scales `usual` as a normal one.

        Where the scale is 0 theta is held at 0.
        """
        prior = np.where(usual > 0.0, 2.0 / np.maximum(usual**2 + theta**2, 1.0 / FIRM), FIRM)
        spread = np.linalg.inv((slope.T * precision) @ slope + np.diag(prior))
        gain = spread @ slope.T * precision
        return cls(gain @ gap - spread @ (prior * theta), np.asarray(spread), gain)

    @property
    def length(self) -> float:
        """The largest of the moves."""
        return float(np.abs(self.move).max())

    def after(self, theta: Array) -> Array:
        """theta moved, by at most 1."""
        return np.clip(theta + self.move / max(1.0, self.length), -LARGEST, LARGEST)


@dataclass(frozen=True)
class Varying:
    """The cohort whose x l is compared with the released one; `columns` are the leads' places.

    Vectors of second moments had so many `width` columns, and `apart` is what the strata add to |v|^2.
    """

    shape: Shape
    varied: Varied
    columns: Integers
    spreads: Array
    apart: Array
    width: int

    def change(self, f: Array, released: Array, noise: float) -> Change:
        """The most likely theta at f for moments with this noise: Gauss-Newton, by at most 1 a round."""
        theta, start = np.zeros(len(self.columns)), self.shape.deltas(f, STEADY, None)
        expected, slope = self._moments(f, theta, start)
        gap, precision = released - expected, _precision(expected, noise)
        distance = gap**2 * precision
        seen = distance > SEEN**2
        one = Round.of(theta, gap, slope, precision, np.where(seen, AT_FIRST, 0.0))
        for _ in range(1, ROUNDS):
            theta = one.after(theta)
            if one.length < SETTLED:
                break
            expected, slope = self._moments(f, theta, start)
            one = Round.of(theta, released - expected, slope, precision, np.where(seen, USUAL, 0.0))
        else:
            theta = one.after(theta)
        return self._found(theta, one, released, distance)

    def _found(self, theta: Array, last: Round, released: Array, distance: Array) -> Change:
        """theta and the rest for the internal columns; `distance` is squared."""
        inner = self._internal(np.eye(len(self.columns)))
        deviation = inner @ np.sqrt(np.diag(last.spread))
        far = (inner > 0.0).astype(np.float64) @ np.sqrt(distance)
        certain = not_chance(float(np.mean(distance)))
        return Change(inner @ theta, deviation, far, released, inner @ last.gain, certain)

    def bend(self, theta: Array) -> Bend:
        """theta of every internal column as the cohort's truth takes it."""
        return Bend(theta, *self.varied.pieces, self.shape.people.mean)

    def _internal(self, values: Array) -> Array:
        """From standard deviations of the leads, rows, to all internal columns."""
        found = np.zeros((self.shape.people.cohort.shape[2], values.shape[1]))
        found[self.columns] = values / self.spreads[:, None]
        return found

    def _moments(self, f: Array, theta: Array, start: Array) -> tuple[Array, Array]:
        """The mean of x l over its unit, and its slope by theta, effects' mean over time being free."""
        bend = self.bend((self._internal(theta[:, None]))[:, 0])
        shape = self.shape.bent(bend, start=start)
        parts = [self._of_stratum(shape, f, stratum) for stratum in range(len(shape.profiles))]
        found, within = (sum(part[1:], part[0]) for part in zip(*parts, strict=True))
        lean, scale = bend.lean, self.varied.unit * float(shape.people.counts[:, 0].sum())
        flat, tilt, bent = (np.tensordot(lean**power, within, 1) for power in range(3))
        ridge = LITTLE * np.diag(np.diag(flat)) + LITTLE * np.eye(len(flat))
        slope = bent - tilt @ np.linalg.solve(flat + ridge, tilt)
        return found / scale, slope / scale

    def _of_stratum(self, shape: Shape, f: Array, stratum: int) -> tuple[Array, Array]:
        """Sums of x l, and of squares of x among those with an event in each piece."""
        people = shape.people.of_stratum(stratum)
        traits = (people.cohort[:, 0] - self.shape.people.mean)[:, self.columns] / self.spreads
        truth, chances = shape.true_point(f, stratum), self.varied.chances[stratum]
        late = lateness(people.members, truth, shape.bend, chances)
        squares = np.sum(traits**2, axis=1) + self.apart[stratum] + 1.0
        happened, others = self._shortened(late, squares)
        share = late.events / np.maximum(people.counts[:, 0], 1e-300)
        all_of_them = share * happened + (1.0 - share) * others
        mean = late.came * happened + (late.mean - late.came) * all_of_them
        kept = late.steepness * happened[:, None]
        within = np.stack([spread_within(traits, each[:, None]) for each in kept.T])
        return traits.T @ mean, within

    def _shortened(self, late: "Lateness", squares: Array) -> tuple[Array, Array]:
        """The part of x l that is left of members with such other squares: with an event, and without.

        Of an event |l| is about that of its lean; without one l is small.
        """
        square = late.square / np.maximum(late.events, 1e-300) / self.varied.unit**2
        return moment_left(squares + square, self.width), moment_left(squares, self.width)


def _precision(expected: Array, noise: float) -> Array:
    """Of the moments, whose noise is that of the release and what the cohort may get wrong."""
    return np.asarray(1.0 / (noise**2 + (UNLIKE * expected) ** 2 + LEAST_NOISE**2))


class Lateness(NamedTuple):
    """Of every member, times its count: the mean of l, and slopes of hazards by piece.

    `came` is the part of the mean that events have, `events` their number, `square` about that of l^2.
    """

    mean: Array
    came: Array
    events: Array
    square: Array
    steepness: Array


@compiled
def lateness(members: Members, truth: Point, bend: Bend, chances: Array) -> Lateness:
    """The cohort followed through all intervals; the changes of effects are those of the truth."""
    people, stretches, width = members.covariates.shape
    there, places = true_room(truth, len(chances)), places_of(bend, len(chances))
    values, counts = np.zeros((width, LANES)), np.zeros(LANES)
    nothing = np.zeros((4, people))
    pieces = np.zeros((people, len(bend.lean)))
    found = Lateness(nothing[0], nothing[1], nothing[2], nothing[3], pieces)
    for start in range(0, people, LANES):
        there.alive[:] = 1.0
        for k in range(stretches):
            span = (members.edges[k], members.edges[k + 1])
            set_members(members, start, k, values, counts)
            slopes_of_truth(values, truth.beta[0], bend, span, there)
            for s in range(span[0], span[1]):
                at = s, places[s], bend.lean[places[s]], chances[s]
                add_lateness(at, start, members, there, counts, found)
    return found


@compiled
def places_of(bend: Bend, intervals: int) -> Integers:
    """The piece of every interval."""
    found = np.zeros(intervals, dtype=np.int64)
    for piece in range(len(bend.lean)):
        found[bend.cuts[piece] : bend.cuts[piece + 1]] = piece
    return found


@compiled
def add_lateness(
    at: tuple[int, int, float, float],
    start: int,
    members: Members,
    there: Truth,
    counts: Array,
    found: Lateness,
) -> None:
    """Every lane, from member `start` on, through interval s of a piece, its lean and hazard q_s."""
    s, piece, lean, chance = at
    for lane in range(min(LANES, len(found.mean) - start)):
        rise, fall = there.rise[0, s, lane], there.fall[0, s, lane]
        hazard = rise / (rise + fall)
        mass = counts[lane] * members.present[s] * there.alive[lane]
        if members.remaining.shape[0] > 0:
            mass *= members.remaining[start + lane, s]
        found.mean[start + lane] += mass * lean * (hazard - chance)
        found.came[start + lane] += mass * lean * hazard
        found.events[start + lane] += mass * hazard
        found.square[start + lane] += mass * lean**2 * hazard
        found.steepness[start + lane, piece] += mass * rise * (1.0 - hazard)
        there.alive[lane] *= 1.0 - hazard
