"""All released sums and the full score as functions of the picture: means, covariances, derivatives.

Conventions
-----------
    picture  phi: for each cause f_r (d), delta_r (H K), theta_r (p), bend_r (q); then c (H K), gamma (p),
             its change with time (p)
    sums     the T steps and last the full score U at a target (R causes each), then the exits, the
             presence in each stretch and the information: of each a member has a value that depends on
             its life (`Lives`), times a public function of its columns
    S        spans of time, in which columns and the places of their effects stay the same
    static   counts of entries and of covariates' bins, second moments: functions of the columns alone
    E (N,)   expectations; between (M, N) what a member adds on average, minus the mean of all;
    within   (Q, Q) the covariance of scores and exits, given who the people are; D (N, len(phi))

Order of the N rows: steps (T R d), exits (H (R + 1) K), U (R d); then static rows; then information.
The first Q rows are the ones with a covariance within.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import block_diag

from discreet.estimator.lives import Chances, Pieces
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
        """How censoring depends on the columns."""
        start = self.censoring.stop
        return slice(start, start + self.columns)

    @property
    def drift(self) -> slice:
        """How that dependence changes with time."""
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


@dataclass(frozen=True, eq=False)
class Field:
    """What does not depend on phi.

    `scaled` (M, p) are standardised columns, cut at 3 standard deviations, which theta and gamma multiply,
    `squares` (M, q) those of numbers, less their means, which bend multiplies;
    `lean` (R + 1, P) goes from -1 to 1 with the events of each cause, and last with those censored.
    `walked` are the walks of the first steps, where these are known.
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
    walked: tuple[Walk, ...] = ()

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
        """V, in which covariates are counted."""
        return int(self.pieces.stretches[-1]) + 1

    @property
    def spans(self) -> int:
        """S."""
        return len(self.members.places)

    @cached_property
    def carried(self) -> Array:
        """(P, c)."""
        return carriers(self.pieces)

    def only(self, chosen: Integers) -> "Field":
        """Some of its members, each still n p_i persons, with the same released sums."""
        still = [replace(one, adds=one.adds[chosen]) for one in (self.static, *self.changing)]
        found = replace(
            self,
            members=self.members.only(chosen),
            static=still[0],
            changing=tuple(still[1:]),
            scaled=self.scaled[chosen],
            squares=self.squares[chosen],
            walked=tuple(walk.only(chosen) for walk in self.walks),
        )
        # what does not depend on the members is known already
        vars(found).update(carried=self.carried, pairs=self.pairs, mix=self.mix)
        return found

    def weighed(self, weights: Array) -> "Field":
        """The same cohort with other weights."""
        return replace(self, members=replace(self.members, weights=weights))

    def having(self, transcript: Transcript) -> "Field":
        """The same cohort, and more released steps after those of today."""
        return replace(self, transcript=transcript, walked=self.walks)

    @cached_property
    def walks(self) -> tuple[Walk, ...]:
        """Of the released steps: they do not depend on phi."""
        t, known = self.transcript, self.walked
        given = self.members, self.pieces, self.carried
        return known + tuple(Walk.of(t.link, step, *given) for step in t.steps[len(known) :])

    # -- rows ------------------------------------------------------------------------------------

    @cached_property
    def score_rows(self) -> tuple[Integers, Array]:
        """Of one cause's score: the carrier of each raw row, and what multiplies it (M, H e + S p)."""
        size = self.pieces.basis.shape[1]
        own, x = self.members.indicators, self.members.columns
        base = np.tile(np.arange(size), self.members.strata)
        places = [base] + [np.full(x.shape[2], size + k) for k in range(self.spans)]
        times = np.repeat(own, size, axis=1)
        return np.concatenate(places), np.hstack([times, x.reshape(len(x), -1)])

    def mapped(self, mapping: Array) -> Array:
        """The matrix (d, H e + S p) from raw rows to a score in the coordinates of W."""
        time = self.members.strata * self.pieces.basis.shape[1]
        effects = mapping[time:]
        return np.hstack([mapping[:time].T] + [effects[own].T for own in self.members.places])

    @cached_property
    def mix(self) -> Array:
        """From raw rows to the first Q rows."""
        t = self.transcript
        blocks = [self.mapped(m) for step in t.steps for m in step.mappings]
        blocks.append(np.eye(self.members.strata * (t.causes + 1) * t.bins))
        blocks += [self.mapped(np.eye(self.layout.size))] * t.causes
        return np.asarray(block_diag(*blocks))

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

    def plain(self, targets: Array) -> Walk:
        """The full score at `targets` (R, d) along the pieces."""
        causes, size = targets.shape
        same = np.tile(np.eye(size), (causes, 1, 1))
        none = np.zeros_like(targets)
        whole = ScoreSum(targets, same, np.full(causes, np.inf), none, np.zeros(causes))
        return Walk.of(self.transcript.link, whole, self.members, self.pieces, self.carried)

    @property
    def varied(self) -> int:
        """How many sums have a covariance within."""
        t = self.transcript
        scores = t.causes * (len(t.steps) + 1) * self.carried.shape[1]
        return int(scores + (t.causes + 1) * t.bins)

    def values(self, chances: Chances, walks: tuple[Walk, ...]) -> Array:
        """What a member has added to every sum when it leaves, (M, R + 1, P, C)."""
        t, pieces, kinds = self.transcript, self.pieces, self.transcript.causes + 1
        further: list[Array] = []
        if self.stretches > 1:
            entered = self.pieces.stretches[self.members.entry]
            reached = np.arange(self.stretches) <= pieces.stretches[:, None]
            here = reached & (np.arange(self.stretches) >= entered[:, None, None])
            further.append(here.astype(np.float64))
        if t.information is not None:
            further.append(self._information_values(chances, t.information.limit))
        width = t.causes * self.carried.shape[1]
        first = len(walks) * width + kinds * t.bins
        count = first + sum(part.shape[2] for part in further)
        found = np.empty((len(self.members.weights), kinds, len(pieces.bins), count))
        for number, walk in enumerate(walks):
            own = found[..., number * width : (number + 1) * width]
            walk.write(chances.before, self.carried, own)
        which = np.roll(np.arange(kinds), -1)  # counts begin with those censored
        bins = np.eye(kinds * t.bins).reshape(kinds, t.bins, -1)
        found[..., len(walks) * width : first] = bins[which][:, pieces.bins]
        for part in further:
            found[..., first : first + part.shape[2]] = part[:, None]
            first += part.shape[2]
        return found

    @cached_property
    def pairs(self) -> tuple[Integers, Integers]:
        """Pairs of carriers, the second not after the first; those of two spans never meet."""
        size = self.pieces.basis.shape[1]
        first, second = np.tril_indices(self.carried.shape[1])
        meet = (second < size) | (first == second)
        return first[meet], second[meet]

    @cached_property
    def _known_informations(self) -> tuple[Array, Array, Array]:
        """By cause, member and piece a b; the trace of what an interval adds; its products of carriers."""
        t, asked = self.transcript, self.transcript.information
        if asked is None:
            raise ValueError("no information was released")
        plain = ScoreSum(asked.points, asked.mappings, np.ones(t.causes), asked.points, np.ones(1))
        survive, happen = self.slopes(asked.points)
        mass = survive * happen
        square = np.einsum("rmpd,rmpd->rmp", *[images(plain, self.members, self.pieces)] * 2)
        first, second = self.pairs
        return mass, (mass * square).sum(axis=0), self.carried[:, first] * self.carried[:, second]

    def _information_values(self, chances: Chances, limit: float) -> Array:
        """(M, P, R pairs): cut to the limit when the member leaves."""
        mass, trace, pairs = self._known_informations
        begun = np.arange(len(self.pieces.bins)) >= self.members.entry[:, None]
        last = (chances.before + 1.0)[:, :, None]

        def until(values: Array) -> Array:
            """Whole pieces before, and the intervals of the last one."""
            steps, whole = values * self.pieces.lengths[:, None], np.zeros_like(values)
            np.cumsum(steps[:, :-1], axis=1, out=whole[:, 1:])
            return whole + values * last

        kept = np.minimum(1.0, limit / np.maximum(until((trace * begun)[:, :, None]), 1e-300))
        found = [until((own * begun)[:, :, None] * pairs) * kept for own in mass]
        return np.concatenate(found, axis=2)

    def slopes(self, f: Array) -> tuple[Array, Array]:
        """a and b of the model at f, (R, M, P)."""
        return slopes(self.transcript.link, predictors(f, self.members, self.pieces))

    def informations(self, curved: Array, persons: Array) -> Array:
        """I_r, the expected information of each cause (R, d, d), each member for so many persons (M,).

        `curved` (R, M, P) is the sum of a b over the tries of a piece.
        """
        first, second = self.pairs
        masses = curved @ (self.carried[:, first] * self.carried[:, second])
        lay, size = self.layout, self.pieces.basis.shape[1]
        time = lay.strata * size
        own, x = self.members.indicators, self.members.columns
        found = np.zeros((lay.causes, lay.size, lay.size))
        places = np.arange(lay.strata) * size
        for one, sums in zip(found, masses, strict=True):
            for pair, (a, b) in enumerate(zip(*self.pairs, strict=True)):
                weight = sums[:, pair] * persons
                if a < size:
                    one[places + a, places + b] = one[places + b, places + a] = weight @ own
                elif b < size:
                    part = (own * weight[:, None]).T @ x[:, a - size]
                    at = time + self.members.places[a - size]
                    one[np.ix_(places + b, at)] += part
                    one[np.ix_(at, places + b)] += part.T
                else:
                    column, at = x[:, a - size], time + self.members.places[a - size]
                    one[np.ix_(at, at)] += (column.T * weight) @ column
        return found
