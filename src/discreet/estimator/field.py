"""All released sums and the full score as functions of the picture: means, covariances, derivatives.

Conventions
-----------
    picture  phi: for each cause f_r (d), delta_r (H K), theta_r (p), bend_r (q); then c (H K), gamma (p),
             its change with time (p)
    sums     the T steps and last the full score U at a target (R causes each), then the exits, the
             presence in each stretch and the information: of each a member has a value that depends on
             its life (`Lives`), times a public function of its columns
    static   counts of entries and of covariates' bins, second moments: functions of the columns alone
    E (N,)   expectations; between (M, N) what a member adds on average, minus the mean of all;
    within   (Q, Q) the covariance of scores and exits, given who the people are; D (N, len(phi))

Order of the N rows: steps (T R d), exits (H (R + 1) K), U (R d); then static rows; then information.
The first Q rows are the ones with a covariance within.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from discreet.estimator.lives import Chances, Lives, Pieces
from discreet.estimator.scores import (
    Members,
    Walk,
    carriers,
    images,
    predictors,
    slopes,
)
from discreet.estimator.transcript import ScoreSum, Transcript
from discreet.types import Array, Flags, Integers

NOT_ASKED = "no information was released"


@dataclass(frozen=True)
class FieldLayout:
    """Places in phi."""

    causes: int
    strata: int
    bins: int
    size: int
    columns: int
    numbers: int

    @property
    def each(self) -> int:
        """Parameters of a cause."""
        return self.size + self.strata * self.bins + self.columns + self.numbers

    def f(self, cause: int) -> slice:
        """The model's own parameters."""
        return slice(cause * self.each, cause * self.each + self.size)

    def delta(self, cause: int) -> slice:
        """Departures of the hazard by stratum and bin."""
        start = cause * self.each + self.size
        return slice(start, start + self.strata * self.bins)

    def theta(self, cause: int) -> slice:
        """Changes of effects with time."""
        start = self.delta(cause).stop
        return slice(start, start + self.columns)

    def bend(self, cause: int) -> slice:
        """Departures of numbers' effects from straight lines."""
        end = (cause + 1) * self.each
        return slice(end - self.numbers, end)

    @property
    def censoring(self) -> slice:
        """Log rates of censoring by stratum and bin."""
        start = self.causes * self.each
        return slice(start, start + self.strata * self.bins)

    @property
    def gamma(self) -> slice:
        """How censoring goes with the columns."""
        start = self.censoring.stop
        return slice(start, start + self.columns)

    @property
    def drift(self) -> slice:
        """How that changes with time."""
        return slice(self.gamma.stop, self.gamma.stop + self.columns)

    @property
    def total(self) -> int:
        """len(phi)."""
        return int(self.drift.stop)


@dataclass(frozen=True)
class Static:
    """What a member adds (M, N) to sums that do not depend on lives, released numbers and their noise.

    Where covariates may change, a member is counted in a stretch only where it is at risk there.
    """

    adds: Array
    released: Array
    noise: Array
    stretch: int = 0

    @classmethod
    def joined(cls, parts: "list[Static]", members: int) -> "Static":
        """All of them side by side."""
        adds = np.hstack([np.zeros((members, 0)), *(part.adds for part in parts)])
        return cls(
            adds,
            np.concatenate([np.zeros(0), *(part.released for part in parts)]),
            np.concatenate([np.zeros(0), *(part.noise for part in parts)]),
        )


@dataclass(frozen=True)
class Expected:
    """The expectations at a picture; rows as in the module's text."""

    mean: Array
    between: Array
    within: Array
    slope: Array
    masses: Array


@dataclass(frozen=True, eq=False)
class Field:
    """What does not depend on phi.

    `scaled` (M, p) are standardised columns, cut at 3 standard deviations, which theta and gamma multiply,
    `squares` (M, q) those of numbers, less their means, which bend multiplies;
    `lean` (R + 1, P) goes from -1 to 1 with the events of each cause, and last with those censored.
    """

    transcript: Transcript
    members: Members
    pieces: Pieces
    static: Static
    changing: tuple[Static, ...]
    scaled: Array
    squares: Array
    lean: Array
    persons: float

    @cached_property
    def layout(self) -> FieldLayout:
        """Of phi."""
        t = self.transcript
        columns = self.members.columns.shape[2]
        numbers = self.squares.shape[1]
        return FieldLayout(
            t.causes, self.members.strata, t.bins, t.design.dimension, columns, numbers
        )

    @cached_property
    def presence(self) -> Static:
        """The counts in each stretch, side by side."""
        return Static.joined(list(self.changing), len(self.members.weights))

    @property
    def stretches(self) -> int:
        """V."""
        return int(self.members.columns.shape[1])

    @cached_property
    def carried(self) -> Array:
        """(P, c)."""
        return carriers(self.pieces, self.stretches)

    def weighed(self, weights: Array) -> "Field":
        """The same cohort with other weights."""
        return replace(self, members=replace(self.members, weights=weights))

    @cached_property
    def walks(self) -> tuple[Walk, ...]:
        """Of the released steps: they do not depend on phi."""
        t = self.transcript
        return tuple(
            Walk.of(t.link, step, self.members, self.pieces, self.carried) for step in t.steps
        )

    # -- rows ------------------------------------------------------------------------------------

    @cached_property
    def score_rows(self) -> tuple[Integers, Array]:
        """Of one cause's score: the carrier of each raw row, and what multiplies it (M, H e + V p)."""
        size = self.pieces.basis.shape[1]
        own, x = self.members.indicators, self.members.columns
        base = np.tile(np.arange(size), self.members.strata)
        places = [base] + [np.full(x.shape[2], size + k) for k in range(self.stretches)]
        times = np.repeat(own, size, axis=1)
        return np.concatenate(places), np.hstack([times, x.reshape(len(x), -1)])

    def mapped(self, mapping: Array) -> Array:
        """The matrix (d, H e + V p) from raw rows to a score in the coordinates of W."""
        time = self.members.strata * self.pieces.basis.shape[1]
        return np.hstack([mapping[:time].T] + [mapping[time:].T] * self.stretches)

    @cached_property
    def rows(self) -> tuple[Integers, Array]:
        """The sum and the multiplier (M, .) of all raw rows of steps, exits and U, in this order."""
        t, causes = self.transcript, self.transcript.causes
        carrier, times = self.score_rows
        width = self.carried.shape[1]
        scores = [carrier + width * k for k in range(causes * (len(t.steps) + 1))]
        start = causes * (len(t.steps) + 1) * width
        own = self.members.indicators
        number = (causes + 1) * t.bins
        exits = np.tile(start + np.arange(number), self.members.strata)
        steps = causes * len(t.steps)
        place = np.concatenate([*scores[:steps], exits, *scores[steps:]])
        whole = np.hstack(
            [np.tile(times, steps), np.repeat(own, number, axis=1), np.tile(times, causes)]
        )
        return place.astype(np.int64), whole

    @cached_property
    def mix(self) -> Array:
        """From raw rows to the first Q rows."""
        t = self.transcript
        blocks = [self.mapped(m) for step in t.steps for m in step.mappings]
        blocks.append(np.eye(self.members.strata * (t.causes + 1) * t.bins))
        blocks += [self.mapped(np.eye(self.layout.size))] * t.causes
        found = np.zeros(tuple(np.sum([block.shape for block in blocks], axis=0)))
        row = column = 0
        for block in blocks:
            found[row : row + block.shape[0], column : column + block.shape[1]] = block
            row, column = row + block.shape[0], column + block.shape[1]
        return found

    @cached_property
    def released(self) -> Array:
        """y (N - R d,), all rows but those of U."""
        t = self.transcript
        parts = [step.released.ravel() for step in t.steps]
        parts += [t.exits.values.ravel(), self.static.released, self.presence.released]
        if t.information is not None:
            rows, columns = np.tril_indices(self.layout.size)
            parts += [matrix[rows, columns] for matrix in t.information.matrices]
        return np.concatenate(parts)

    @cached_property
    def noise(self) -> Array:
        """The standard deviations of their noise."""
        t = self.transcript
        parts = [np.repeat(step.deviations, self.layout.size) for step in t.steps]
        parts.append(np.full(t.exits.values.size, t.exits.deviation))
        parts += [self.static.noise, self.presence.noise]
        if t.information is not None:
            rows, columns = np.tril_indices(self.layout.size)
            parts += [t.information.noise[rows, columns]] * t.causes
        return np.concatenate(parts)

    @cached_property
    def observed(self) -> Flags:
        """Which of all rows were released: all but those of U."""
        t = self.transcript
        first = t.causes * len(t.steps) * self.layout.size + t.exits.values.size
        flags = np.ones(len(self.released) + t.causes * self.layout.size, dtype=bool)
        flags[first : first + t.causes * self.layout.size] = False
        return flags

    # -- expectations ------------------------------------------------------------------------------

    def hazards(self, phi: Array) -> tuple[Array, Array]:
        """Predictors (R, M, P) and log rates of censoring (M, P) of the picture."""
        lay, own, pieces = self.layout, self.members.stratum, self.pieces
        points = np.array([phi[lay.f(r)] for r in range(lay.causes)])
        eta = predictors(points, self.members, pieces)
        for r in range(lay.causes):
            delta = phi[lay.delta(r)].reshape(lay.strata, lay.bins)
            eta[r] += delta[own][:, pieces.bins]
            eta[r] += (self.scaled @ phi[lay.theta(r)])[:, None] * self.lean[r]
            eta[r] += (self.squares @ phi[lay.bend(r)])[:, None]
        level = phi[lay.censoring].reshape(lay.strata, lay.bins)
        leave = level[own][:, pieces.bins] + (self.scaled @ phi[lay.gamma])[:, None]
        return eta, leave + (self.scaled @ phi[lay.drift])[:, None] * self.lean[-1]

    def at(self, phi: Array, targets: Array) -> Expected:
        """All expectations at a picture, U at `targets` (R, d)."""
        pieces = self.pieces
        eta, leave = self.hazards(phi)
        chances = Chances.of(self.transcript.link, eta, leave, self.members.entry, pieces.lengths)
        target = self.plain(targets)
        at_event, at_exit = self.values(chances, (*self.walks, target))
        lives = Lives.of(chances, at_event, at_exit, self._first)
        return self._assembled(chances, lives, target)

    def plain(self, targets: Array) -> Walk:
        """The full score at `targets` (R, d) along the pieces."""
        causes, size = targets.shape
        same = np.tile(np.eye(size), (causes, 1, 1))
        none = np.zeros_like(targets)
        whole = ScoreSum(targets, same, np.full(causes, np.inf), none, np.zeros(causes))
        return Walk.of(self.transcript.link, whole, self.members, self.pieces, self.carried)

    @property
    def _first(self) -> int:
        """How many sums have a covariance within."""
        t = self.transcript
        scores = t.causes * (len(t.steps) + 1) * self.carried.shape[1]
        return int(scores + (t.causes + 1) * t.bins)

    def values(self, chances: Chances, walks: tuple[Walk, ...]) -> tuple[Array, Array]:
        """Of every sum, what it has had of a member when that leaves."""
        t, pieces = self.transcript, self.pieces
        shape = (len(self.members.weights), len(pieces.bins))
        event, out = zip(*(walk.values(chances, self.carried) for walk in walks), strict=True)
        bins = np.eye(t.bins)[pieces.bins]
        exits = np.zeros((t.causes + 1, *shape[1:], t.causes + 1, t.bins))
        for kind in range(t.causes + 1):
            exits[kind, :, kind] = bins
        exits = exits.reshape(t.causes + 1, 1, shape[1], -1)
        exits = np.broadcast_to(exits, (t.causes + 1, *shape, exits.shape[-1]))
        further: list[Array] = []
        if self.stretches > 1:
            entered = self.pieces.stretches[self.members.entry]
            reached = np.arange(self.stretches) <= pieces.stretches[:, None]
            here = reached & (np.arange(self.stretches) >= entered[:, None, None])
            further.append(here.astype(np.float64))
        if t.information is not None:
            further.append(self._information_values(chances))
        at_event = np.concatenate(
            [
                *event,
                exits[1:],
                *(np.broadcast_to(one, (t.causes, *one.shape)) for one in further),
            ],
            axis=3,
        )
        return at_event, np.concatenate([*out, exits[0], *further], axis=2)

    @cached_property
    def _pairs(self) -> tuple[Integers, Integers]:
        """Pairs of carriers, the second not after the first; those of two stretches never meet."""
        size = self.pieces.basis.shape[1]
        first, second = np.tril_indices(self.carried.shape[1])
        meet = (second < size) | (first == second)
        return first[meet], second[meet]

    @cached_property
    def _known_informations(self) -> tuple[Array, Array, Array]:
        """By cause, member and piece a b; the trace of what an interval adds; its products of carriers."""
        t = self.transcript
        asked = t.information
        if asked is None:
            raise ValueError(NOT_ASKED)
        plain = ScoreSum(asked.points, asked.mappings, np.ones(t.causes), asked.points, np.ones(1))
        survive, happen = slopes(t.link, predictors(asked.points, self.members, self.pieces))
        mass = survive * happen
        square = np.einsum("rmpd,rmpd->rmp", *[images(plain, self.members, self.pieces)] * 2)
        first, second = self._pairs
        return mass, (mass * square).sum(axis=0), self.carried[:, first] * self.carried[:, second]

    def _information_values(self, chances: Chances) -> Array:
        """(M, P, R pairs): cut to the limit when the member leaves."""
        asked = self.transcript.information
        if asked is None:
            raise ValueError(NOT_ASKED)
        mass, trace, pairs = self._known_informations
        lengths = self.pieces.lengths

        def summed(values: Array) -> Array:
            whole = np.zeros_like(values)
            whole[:, 1:] = np.cumsum((values * lengths)[:, :-1], axis=1)
            return np.asarray(whole)

        begun = np.arange(len(lengths)) >= self.members.entry[:, None]
        last = chances.before + 1.0
        kept = summed(trace * begun) + trace * last
        kept = np.minimum(1.0, asked.limit / np.maximum(kept, 1e-300))
        found = []
        for own in mass * begun:
            steps = (own * lengths)[:, :, None] * pairs
            whole = np.zeros_like(steps)
            np.cumsum(steps[:, :-1], axis=1, out=whole[:, 1:])
            found.append((whole + (own * last)[:, :, None] * pairs) * kept[:, :, None])
        return np.concatenate(found, axis=2)

    def _assembled(self, chances: Chances, lives: Lives, target: Walk) -> Expected:
        lay, weights = self.layout, self.members.weights
        mass = self.persons * weights
        place, times = self.rows
        raw = lives.mean[:, place] * times
        slope = self._slopes(lives, place, times, mass)
        within = self._within(lives, mass)
        adds = [raw @ self.mix.T, self.static.adds]
        slopes_ = [self.mix @ slope, np.zeros((self.static.adds.shape[1], lay.total))]
        start = self._first
        if self.stretches > 1:
            each = [np.full(part.adds.shape[1], part.stretch) for part in self.changing]
            place = start + np.concatenate([np.zeros(0, dtype=np.int64), *each])
            adds.append(lives.mean[:, place] * self.presence.adds)
            slopes_.append(self._slopes(lives, place, self.presence.adds, mass))
            start += self.stretches
        if self.transcript.information is not None:
            whole, turned = self._information_rows(lives, mass, start)
            adds.append(whole)
            slopes_.append(turned)
        all_adds = np.hstack(adds)
        return Expected(
            mass @ all_adds,
            all_adds - weights @ all_adds,
            within,
            np.vstack(slopes_),
            self.masses(chances, target),
        )

    def _slopes(self, lives: Lives, place: Integers, times: Array, mass: Array) -> Array:
        """Derivatives of the sums of some rows by phi, (rows, len(phi))."""
        lay, pieces = self.layout, self.pieces
        own, x, zc = self.members.indicators, self.members.columns, self.scaled
        size, bins = pieces.basis.shape[1], np.eye(lay.bins)[pieces.bins]
        found = np.zeros((len(place), lay.total))
        weighted = times * mass[:, None]
        basis = np.hstack([self.carried, bins])
        for r in range(lay.causes):
            by = lives.slope[r].transpose(0, 2, 1) @ np.hstack([basis, self.lean[r][:, None]])
            start = lay.f(r).start
            for j in range(size):
                columns = start + np.arange(lay.strata) * size + j
                found[:, columns] += (by[:, place, j] * weighted).T @ own
            shared = slice(start + lay.strata * size, lay.f(r).stop)
            for k in range(self.stretches):
                found[:, shared] += (by[:, place, size + k] * weighted).T @ x[:, k]
            start = lay.delta(r).start
            for k in range(lay.bins):
                columns = start + np.arange(lay.strata) * lay.bins + k
                found[:, columns] += (by[:, place, size + self.stretches + k] * weighted).T @ own
            found[:, lay.theta(r)] += (by[:, place, -1] * weighted).T @ zc
            whole = by[:, :, -1 - lay.bins : -1].sum(axis=2)
            found[:, lay.bend(r)] += (whole[:, place] * weighted).T @ self.squares
        pull = lives.pull.transpose(0, 2, 1) @ np.hstack([bins, self.lean[-1][:, None]])
        for k in range(lay.bins):
            columns = lay.censoring.start + np.arange(lay.strata) * lay.bins + k
            found[:, columns] += (pull[:, place, k] * weighted).T @ own
        found[:, lay.gamma] += (pull[:, :, :-1].sum(axis=2)[:, place] * weighted).T @ zc
        found[:, lay.drift] += (pull[:, place, -1] * weighted).T @ zc
        return found

    def _within(self, lives: Lives, mass: Array) -> Array:
        """sum over members of mass Cov(t | x), the first Q rows."""
        choices = lives.choices
        cov = choices.transpose(0, 2, 1) @ choices  # (M, sums, sums)
        place, whole = self.rows
        width, size = self.carried.shape[1], self.pieces.basis.shape[1]
        found = np.zeros((len(place), len(place)))
        scores = self.transcript.causes * (len(self.transcript.steps) + 1)
        is_carrier = (place < scores * width) & (place % width >= size)
        plain = np.flatnonzero(~is_carrier)
        own = self.members.indicators
        which = np.argmax(whole[:, plain] != 0.0, axis=0)
        stratum = self.members.stratum[which]
        x = self.members.columns
        blocks = {
            (s, k): np.flatnonzero(is_carrier & (place == s * width + size + k))
            for s in range(scores)
            for k in range(self.stretches)
        }
        for h in range(self.members.strata):
            rows = plain[stratum == h]
            weight = mass * own[:, h]
            sums = np.tensordot(weight, cov, axes=1)
            found[np.ix_(rows, rows)] = sums[np.ix_(place[rows], place[rows])]
            for (s, k), block in blocks.items():
                across = cov[:, place[rows], s * width + size + k].T @ (weight[:, None] * x[:, k])
                found[np.ix_(rows, block)] = across
                found[np.ix_(block, rows)] = across.T
        for (s, k), one in blocks.items():
            for (s2, k2), other in blocks.items():
                if (s2, k2) < (s, k):
                    continue
                both = mass * cov[:, s * width + size + k, s2 * width + size + k2]
                part = (x[:, k] * both[:, None]).T @ x[:, k2]
                found[np.ix_(one, other)] = part
                found[np.ix_(other, one)] = part.T
        return self.mix @ found @ self.mix.T

    def _information_rows(self, lives: Lives, mass: Array, start: int) -> tuple[Array, Array]:
        """What a member adds to the released information (M, .), and its derivatives (., len(phi))."""
        asked, lay = self.transcript.information, self.layout
        if asked is None:
            raise ValueError(NOT_ASKED)
        first, second, place, times = self._information_raw
        half = np.tril_indices(lay.size)
        adds: list[Array] = []
        turned: list[Array] = []
        count = len(self._pairs[0])
        for r in range(lay.causes):
            here = start + r * count + place
            raw = lives.mean[:, here] * times
            slope = self._slopes(lives, here, times, mass)
            for rows, found in ((raw, adds), (slope.T, turned)):
                lower = np.zeros((lay.size, lay.size, len(rows)))
                np.add.at(lower, (first, second), rows.T)
                lower = lower.transpose(2, 0, 1)
                full = lower + np.tril(lower, -1).transpose(0, 2, 1)
                seen = asked.mappings[r].T @ full @ asked.mappings[r]
                found.append(seen[:, half[0], half[1]])
        return np.hstack(adds), np.hstack(turned).T

    @cached_property
    def _information_raw(self) -> tuple[Integers, Integers, Integers, Array]:
        """Raw rows of one cause's information: entry (i, j) of the matrix, pair of carriers, multiplier."""
        size, strata = self.pieces.basis.shape[1], self.members.strata
        own, x = self.members.indicators, self.members.columns
        time, width = strata * size, x.shape[2]
        rows: list[tuple[Integers, Integers, Integers, Array]] = []
        for pair, (a, b) in enumerate(zip(*self._pairs, strict=True)):
            if a < size:
                places = np.arange(strata) * size
                rows.append((places + a, places + b, np.full(strata, pair), own))
            elif b < size:
                i, h = np.divmod(np.arange(width * strata), strata)
                times = x[:, a - size][:, i] * own[:, h]
                rows.append((time + i, h * size + b, np.full(len(i), pair), times))
            else:
                i, j = np.tril_indices(width)
                times = x[:, a - size][:, i] * x[:, a - size][:, j]
                rows.append((time + i, time + j, np.full(len(i), pair), times))
        first, second, place = (np.concatenate(part) for part in list(zip(*rows, strict=True))[:3])
        return first, second, place, np.hstack([row[3] for row in rows])

    def masses(self, chances: Chances, target: Walk) -> Array:
        """Of each cause and member the expected sum of a b over carriers' pairs at the target (R, M, .)."""
        first, second = self._pairs
        pairs = self.carried[:, first] * self.carried[:, second]
        others = chances.happen.sum(axis=0) - chances.happen
        count = chances.at_risk * np.maximum(chances.spent - others, 0.0)
        return np.asarray((count * target.survive * target.happen) @ pairs)

    def informations(self, masses: Array, persons: Array) -> Array:
        """I_r, the expected information of each cause (R, d, d), each member for so many persons (M,)."""
        lay, size = self.layout, self.pieces.basis.shape[1]
        time = lay.strata * size
        own, x = self.members.indicators, self.members.columns
        found = np.zeros((lay.causes, lay.size, lay.size))
        places = np.arange(lay.strata) * size
        for one, sums in zip(found, masses, strict=True):
            for pair, (a, b) in enumerate(zip(*self._pairs, strict=True)):
                weight = sums[:, pair] * persons
                if a < size:
                    one[places + a, places + b] = one[places + b, places + a] = weight @ own
                elif b < size:
                    part = (own * weight[:, None]).T @ x[:, a - size]
                    one[places + b, time:] += part
                    one[time:, places + b] += part.T
                else:
                    column = x[:, a - size]
                    one[time:, time:] += (column.T * weight) @ column
        return found
