"""Means, covariances and derivatives of all released sums and the full score, the cohort part by part.

Conventions
-----------
    rows as in `field`; a raw row is a sum of members' lives times a multiplier of the member
    E (N,)   expectations; between (M, N) what a member adds on average, minus the mean of all;
    within   (Q, Q) the covariance of scores and exits, given who the people are; D (N, len(phi))

All of it is a sum over members, so that the cohort is taken in parts of one stratum: what a part needs
stays in a processor's cache.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from discreet.estimator.field import Field
from discreet.estimator.lives import Chances, Lives
from discreet.estimator.numerical import PART
from discreet.types import Array, Integers


@dataclass(frozen=True)
class Rows:
    """Rows of sums that have multipliers in common.

    Row place[i, a] is sums[a] times column i of `times`: (n, k), (k,) and (m, n). `plain` rows have one
    column of ones.
    """

    times: Array
    sums: Integers
    place: Integers
    plain: bool = False


@dataclass(frozen=True)
class ScoreTerms:
    """How predictors depend on phi: `columns` of phi, those of `time` before those of `effects`.

    `time` has (predictor, functions of time (P, q)), `effects` (predictor, places among `functions` of
    time, multipliers (m, ., q)); predictors are the causes' and last the log rate of censoring.
    """

    columns: Integers
    time: tuple[tuple[int, Array], ...]
    effects: tuple[tuple[int, slice, Array], ...]


@dataclass(frozen=True)
class Expected:
    """The expectations at a picture."""

    mean: Array
    between: Array
    within: Array
    slope: Array


def expectations(field: Field, phi: Array, targets: Array) -> Expected:
    """All expectations at a picture, U at `targets` (R, d)."""
    lay, weights, asked = field.layout, field.members.weights, field.transcript.information
    first, end = field.mix.shape[1], len(field.presence.released)
    count = first + end + (0 if asked is None else lay.causes * lay.size**2)
    slope, within = np.zeros((count, lay.total)), np.zeros((first, first))
    scores = np.empty((len(weights), len(field.mix)))
    further = np.zeros((len(weights), count - first))
    for part in parts(field):
        lives = part.lives(phi, targets)
        scores[part.chosen], further[part.chosen] = part.adds(lives, count)
        part.add_slopes(lives, slope)
        part.add_within(lives, within)
    adds = [scores, field.static.adds, further[:, :end]]
    fixed = np.zeros((field.static.adds.shape[1], lay.total))
    slopes = [field.mix @ slope[:first], fixed, slope[first : first + end]]
    for r, mapping in enumerate([] if asked is None else asked.mappings):
        own = slice(end + r * lay.size**2, end + (r + 1) * lay.size**2)
        adds.append(_turned(further[:, own], mapping))
        slopes.append(_turned(slope[first:][own].T, mapping).T)
    whole = np.hstack(adds)
    mean = weights @ whole
    return Expected(
        field.persons * mean, whole - mean, field.mix @ within @ field.mix.T, np.vstack(slopes)
    )


def _turned(flat: Array, mapping: Array) -> Array:
    """The lower halves of W'HW of matrices (., d d) of which the lower half is given."""
    size = len(mapping)
    lower = flat.reshape(-1, size, size)
    full = lower + np.tril(lower, -1).transpose(0, 2, 1)
    rows, columns = np.tril_indices(size)
    return np.asarray((mapping.T @ full @ mapping)[:, rows, columns])


@lru_cache(maxsize=2)
def parts(field: Field) -> "list[MembersPart]":
    """The cohort in parts of one stratum each: kept, for they do not depend on phi."""
    found = []
    for h in range(field.members.strata):
        own = np.flatnonzero(field.members.stratum == h)
        for start in range(0, len(own), PART):
            chosen = own[start : start + PART]
            found.append(MembersPart(field.only(chosen), chosen, h))
    return found


@dataclass(frozen=True, eq=False)
class MembersPart:
    """Members of one stratum; `chosen` are their numbers."""

    field: Field
    chosen: Integers
    stratum: int

    def lives(self, phi: Array, targets: Array) -> Lives:
        """Of the picture, with U at `targets`."""
        field = self.field
        given = *field.hazards(phi), field.members.entry, field.pieces.lengths
        chances = Chances.of(field.transcript.link, *given)
        return Lives.of(chances, field.values(chances, (*field.walks, field.plain(targets))))

    @cached_property
    def mass(self) -> Array:
        """Persons that each member is."""
        return np.asarray(self.field.persons * self.field.members.weights)

    # -- rows ------------------------------------------------------------------------------------

    @cached_property
    def scores(self) -> list[Rows]:
        """The raw rows of steps, exits and U; those that belong to the stratum first."""
        field, h = self.field, self.stratum
        t, causes, width = field.transcript, field.transcript.causes, field.carried.shape[1]
        size, strata, x = field.pieces.basis.shape[1], field.members.strata, field.members.columns
        each, number = strata * size + x.shape[1] * x.shape[2], (causes + 1) * t.bins
        scores = np.arange(causes * (len(t.steps) + 1))
        last = scores >= causes * len(t.steps)
        begins, exits = scores * each + last * strata * number, int(np.sum(~last)) * each
        own = begins[:, None] + h * size + np.arange(size)
        sums = scores[:, None] * width + np.arange(size)
        place = np.concatenate([own.ravel(), exits + h * number + np.arange(number)])
        sums = np.concatenate([sums.ravel(), len(scores) * width + np.arange(number)])
        ones = np.ones((len(x), 1))
        found = [Rows(ones, sums, place[None], plain=True)]
        for k in range(field.spans):
            place = begins + strata * size + k * x.shape[2] + np.arange(x.shape[2])[:, None]
            found.append(Rows(x[:, k], scores * width + size + k, place))
        return [rows for rows in found if rows.place.size]  # without covariates some are empty

    @cached_property
    def others(self) -> list[Rows]:
        """The rows of presence, then of each cause's information (d d, the lower half)."""
        field, lay = self.field, self.field.layout
        found, start, begin = list[Rows](), field.varied, field.mix.shape[1]
        if field.stretches > 1:
            for item in field.changing:
                place = begin + np.arange(item.adds.shape[1])[:, None]
                found.append(Rows(item.adds, np.array([start + item.stretch]), place))
                begin += len(place)
            start += field.stretches
        if field.transcript.information is None:
            return found
        size, x = field.pieces.basis.shape[1], field.members.columns
        level, effects = self.stratum * size, lay.strata * size + field.members.places
        i, j = np.tril_indices(lay.columns)
        first, second = field.pairs
        time, ones = np.flatnonzero(first < size), np.ones((len(x), 1))
        for _ in range(lay.causes):
            place = begin + (level + first[time]) * lay.size + level + second[time]
            found.append(Rows(ones, start + time, place[None], plain=True))
            for k in range(field.spans):
                mixed = np.flatnonzero((first == size + k) & (second < size))
                place = begin + effects[k][:, None] * lay.size + level + second[mixed]
                found.append(Rows(x[:, k], start + mixed, place))
                both = np.flatnonzero((first == size + k) & (second == size + k))
                place = begin + effects[k][i] * lay.size + effects[k][j]
                found.append(Rows(x[:, k][:, i] * x[:, k][:, j], start + both, place[:, None]))
            start, begin = start + len(first), begin + lay.size**2
        return [rows for rows in found if rows.place.size]

    def adds(self, lives: Lives, count: int) -> tuple[Array, Array]:
        """What its members add on average to scores and exits, and to presence and raw information."""
        found = np.zeros((len(lives.mean), count))
        for rows in (*self.scores, *self.others):
            sums = lives.mean[:, rows.sums]
            sums = (rows.times[:, :, None] * sums[:, None]).reshape(len(sums), -1)
            found[:, rows.place.ravel()] += sums
        used = np.concatenate([rows.place.ravel() for rows in self.scores])
        mix = self.field.mix
        return found[:, used] @ mix[:, used].T, found[:, mix.shape[1] :]

    def effects(self, lives: Lives, coefficients: Array) -> Array:
        """The effects of every way to leave on a linear combination of raw rows of scores and exits, (m, R + 1, P)."""
        weights = np.zeros((len(lives.mean), lives.mean.shape[1]))
        for rows in self.scores:
            weights[:, rows.sums] += rows.times @ coefficients[rows.place]
        return np.asarray((lives.effect @ weights[:, None, :, None])[..., 0])

    # -- derivatives -----------------------------------------------------------------------------

    @cached_property
    def terms(self) -> ScoreTerms:
        """How its members' predictors depend on phi."""
        field, lay, h = self.field, self.field.layout, self.stratum
        size, every = field.pieces.basis.shape[1], slice(0, field.spans)
        bins, lean = np.eye(lay.bins)[field.pieces.bins], slice(field.spans, None)
        once, wide = field.scaled[:, None], np.repeat(field.scaled[:, None], field.spans, axis=1)
        squares = np.repeat(field.squares[:, None], field.spans, axis=1)
        columns = np.zeros((len(once), field.spans, lay.size - lay.strata * size))
        for k, own in enumerate(field.members.places):
            columns[:, k, own] = field.members.columns[:, k]
        time: list[tuple[Integers, int, Array]] = []
        effects: list[tuple[Integers, int, slice, Array]] = []
        level, cells = slice(h * size, (h + 1) * size), slice(h * lay.bins, (h + 1) * lay.bins)
        phi = np.arange(lay.total)
        for r in range(lay.causes):
            f = phi[lay.f(r)]
            time += [(f[level], r, field.pieces.basis), (phi[lay.delta(r)][cells], r, bins)]
            effects.append((f[lay.strata * size :], r, every, columns))
            effects.append((phi[lay.theta(r)], r, lean, once))
            effects.append((phi[lay.bend(r)], r, every, squares))
        time.append((phi[lay.censoring][cells], lay.causes, bins))
        effects.append((phi[lay.gamma], lay.causes, every, wide))
        effects.append((phi[lay.drift], lay.causes, lean, once))
        places = np.concatenate([term[0] for term in (*time, *effects)])
        return ScoreTerms(places, tuple(t[1:] for t in time), tuple(t[1:] for t in effects))

    @cached_property
    def functions(self) -> Array:
        """Of time, that multiply effects in each predictor: spans and the lean, (R + 1, S + 1, P)."""
        spans = np.eye(self.field.spans)[:, self.field.pieces.spans]
        return np.array([np.vstack([spans, lean]) for lean in self.field.lean])

    def add_slopes(self, lives: Lives, found: Array) -> None:
        """To the derivatives of all raw rows by phi, (., len(phi)).

        Rows without multipliers are summed over members first; of the others, which are many rows of few
        sums, the parameters come first.
        """
        terms, effect = self.terms, lives.effect
        turn = lives.chances.turns * self.mass[:, None, None, None]
        size, ways, pieces, sums = effect.shape
        by = (turn[:, :, None] * self.functions[:, :, None]).reshape(size, -1, ways * pieces)
        by = by @ effect.reshape(size, -1, sums)  # each function of time, (m, ., C)
        by = by.reshape(size, *self.functions.shape[:2], sums)
        along = turn.transpose(3, 1, 0, 2).reshape(pieces, ways, -1)
        along = along @ effect.reshape(-1, pieces, sums).transpose(1, 0, 2)  # each piece, (P, ., C)
        whole = [along[:, k].T @ functions for k, functions in terms.time]
        for k, places, times in terms.effects:
            own = by[:, k, places].reshape(-1, sums)
            whole.append(own.T @ times.reshape(len(own), times.shape[2]))
        once = np.hstack(whole)
        for rows in (*self.scores, *self.others):
            if rows.plain:
                found[np.ix_(rows.place[0], terms.columns)] += once[rows.sums]
                continue
            few = effect[..., rows.sums]
            along = np.zeros((size, ways, pieces, len(rows.sums)))
            for k in range(ways):
                along += turn[:, :, k, :, None] * few[:, None, k]
            whole = [along[:, k].transpose(0, 2, 1) @ part for k, part in terms.time]
            for k, places, times in terms.effects:
                whole.append(by[:, k, places][..., rows.sums].transpose(0, 2, 1) @ times)
            part = rows.times.T @ np.concatenate(whole, axis=2).reshape(size, -1)
            place = np.ix_(rows.place.ravel(), terms.columns)
            found[place] += part.reshape(rows.place.size, -1)

    def add_within(self, lives: Lives, found: Array) -> None:
        """To the sum over members of mass Cov(t | x) of the raw rows of scores and exits."""
        own, *others = self.scores
        choices, rows = lives.choices(self.field.varied, self.mass), own.place[0]
        flat = choices.reshape(-1, choices.shape[2])
        found[np.ix_(rows, rows)] += (flat.T @ flat)[np.ix_(own.sums, own.sums)]
        for one in others:
            cov = choices.transpose(0, 2, 1) @ choices[..., one.sums]
            across = one.times.T @ cov[:, own.sums].reshape(len(cov), -1)
            across = across.reshape(len(one.place), len(rows), -1).transpose(1, 0, 2)
            place = one.place.ravel()
            found[np.ix_(rows, place)] += across.reshape(len(rows), -1)
            found[np.ix_(place, rows)] += across.reshape(len(rows), -1).T
            for other in others:
                both = one.times[:, :, None, None] * cov[:, None, other.sums]
                whole = other.times.T @ both.reshape(len(both), -1)
                whole = whole.reshape(-1, *both.shape[1:]).transpose(1, 3, 0, 2)
                turned = np.ix_(place, other.place.ravel())
                found[turned] += whole.reshape(len(place), -1)
