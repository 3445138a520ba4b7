"""What the first releases say of the people, and how far that is noise: post-processing alone.

A picture is a synthetic cohort, the released life table and, where it was released, the people's
information. `Releases.again` adds noise of the same size once more: the spread of pictures made
from such numbers is what the noise of the first releases does to everything that is made from them.
Its random numbers are public.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from discreet.design.design import Design
from discreet.design.link import Link
from discreet.design.schema import Categorical, Numeric
from discreet.likelihood.score import Whitened
from discreet.likelihood.score_expected import Bend
from discreet.mechanisms.newton.bound import Cohort
from discreet.mechanisms.newton.cohort import (
    Profile,
    Shares,
    before_cuts,
    cohort_size,
    completed,
    correlation,
    draw_cohort,
    released_moments,
    released_shares,
    stratum_profiles,
    stratum_shares,
    without_fills,
)
from discreet.mechanisms.newton.counts import (
    DIAGONAL,
    OFF_DIAGONAL,
    Columns,
    Leavings,
    Marginal,
    Stretches,
    gaps_of,
)
from discreet.mechanisms.newton.hazards import Hazards
from discreet.mechanisms.newton.layout import moment_left, moment_part
from discreet.mechanisms.newton.leaving import Bins, Leaving
from discreet.mechanisms.newton.shape import Shape
from discreet.mechanisms.newton.varying import NO_CHANGE, Change, Varied, Varying
from discreet.types import Array, Flags, Integers

SMALLEST_SPREAD = 1e-6
NARROWEST, WIDEST = 0.5, 2.0
"""Second moments may make a column of the cohort so much narrower or wider than the counts."""
LEAST = 0.03
"""Eigenvalues of a released information, in parts of the cohort's, are at least this."""
CLEAR = 3.0
"""Standard deviations of noise that the exits of a stratum must exceed."""
NOTHING = 1e-3
FEW = 0.2
"""How much sooner people leave is measured in parts of at least this."""
CERTAIN = 1.0
"""Noise of the counts of a table that is taken for the people's own."""
BELIEVED = 1.25
"""Nor are they believed below so much of what noise alone would make of them."""
LIFE_TABLES = ("profile", "profiles", "hazards", "bins")
"""What `Releases` keeps once it is computed; all of it is made of the exits."""


@dataclass(frozen=True)
class Noisy:
    """Released numbers and the standard deviation of their noise."""

    values: Array
    deviation: float

    def again(self, random: np.random.Generator) -> "Noisy":
        """The same with as much noise once more."""
        noise = random.normal(0.0, self.deviation, self.values.shape)
        return replace(self, values=self.values + noise)


@dataclass(frozen=True)
class Information:
    """The people's information at a step, in its whitened coordinates."""

    scores: Whitened
    matrix: Array
    deviation: float

    def again(self, random: np.random.Generator) -> "Information":
        """The same with as much noise once more; off the diagonal it is smaller by sqrt(2)."""
        noise = random.normal(0.0, self.deviation / 2.0, self.matrix.shape)
        return replace(self, matrix=self.matrix + noise + noise.T)


@dataclass(frozen=True)
class Releases:
    """All that was released before the steps, and the information.

    Exits are by stratum; second moments may have the strata's indicators after the covariates, and
    last how much sooner than others people left, over `sooner`, and how late events came, as `varied`
    says.
    """

    persons: int
    edges: Integers
    exits: Noisy
    stretches: Stretches
    marginals: tuple[Marginal, ...] = ()
    counts: Noisy | None = None
    moments: Noisy | None = None
    information: Information | None = None
    strata: int = 1
    sooner: float | None = None
    varied: Varied | None = None

    def having(self, **facts: Any) -> Self:
        """The same with more than the exits: what was fitted to these is kept."""
        found = replace(self, **facts)
        vars(found).update({name: vars(self)[name] for name in LIFE_TABLES if name in vars(self)})
        return found

    def again(self, random: np.random.Generator) -> "Releases":
        """Everything with as much noise once more, and another life table that fits."""
        return replace(
            self,
            exits=self._another_table(random),
            counts=self.counts and self.counts.again(random),
            moments=self.moments and self.moments.again(random),
            information=self.information and self.information.again(random),
        )

    def _another_table(self, random: np.random.Generator) -> Noisy:
        """Exits that the people may have had, as good as without noise."""
        drawn = np.array([one.another(random).exits.ravel() for one in self.hazards])
        entries = self.exits_by_stratum[:, drawn.shape[1] :]
        deviation = min(self.exits.deviation, CERTAIN)
        return Noisy(np.hstack([drawn, entries]).ravel(), deviation)

    @property
    def hazards(self) -> tuple[Hazards, ...]:
        """The life table fitted to each stratum's exits."""
        return tuple(one.hazards for one in self.profiles if one.hazards is not None)

    @cached_property
    def profile(self) -> Profile:
        """The life table of everybody made consistent."""
        everybody = self.exits_by_stratum.sum(axis=0)
        return Profile.make(everybody, self.edges, self.persons, self.exit_deviation)

    @cached_property
    def profiles(self) -> tuple[Profile, ...]:
        """The life table of each stratum made consistent."""
        if self.strata == 1:
            return (self.profile,)
        deviation = self.exits.deviation
        return stratum_profiles(self.exits_by_stratum, self.edges, self.profile.persons, deviation)

    @property
    def exits_by_stratum(self) -> Array:
        """The released counts, one row a stratum."""
        return self.exits.values.reshape(self.strata, -1)

    @property
    def hidden(self) -> Flags:
        """Strata whose exits, all times together, are not told from noise; not asked of one alone."""
        exits = self.exits_by_stratum[:, : 2 * (len(self.edges) - 1)]
        noise = self.exits.deviation * math.sqrt(exits.shape[1])
        return np.asarray((exits.sum(axis=1) < CLEAR * noise) & (self.strata > 1))

    @property
    def exit_deviation(self) -> float:
        """The noise of a count of everybody's exits, a sum over strata."""
        return self.exits.deviation * math.sqrt(self.strata)

    @property
    def life_table(self) -> Array:
        """Rows (first interval, last, censored, events[, entered])."""
        return self._rows(self.exits_by_stratum.sum(axis=0))

    @property
    def life_tables(self) -> Array:
        """Rows (number of the stratum, first interval, last, censored, events[, entered])."""
        tables = [self._rows(counts) for counts in self.exits_by_stratum]
        numbered = [np.insert(table, 0, number, axis=1) for number, table in enumerate(tables)]
        return np.vstack(numbered)

    def _rows(self, counts: Array) -> Array:
        columns = counts.reshape(-1, len(self.edges) - 1)
        return np.vstack([self.edges[:-1] + 1.0, self.edges[1:], columns]).T

    def remaining(self, design: Design, link: Link, cohort: Array) -> Array | None:  # noqa: ARG002
        """The chance of no event of another cause, by member and interval: there is no other."""
        return None

    def shares(self, design: Design) -> list[Shares]:
        """The shares made consistent of the covariates, and of the strata as one more category."""
        if self.counts is None:
            return []
        found = released_shares(
            design,
            self.marginals,
            self.counts.values,
            self.profile.persons,
            self.counts.deviation,
            self.stretches.number,
        )
        if self.strata == 1:
            return found
        width, number = len(design.covariates.leads), self.stretches.number
        return [*found, stratum_shares(self.sizes, width, number)]

    @cached_property
    def bins(self) -> tuple[Bins, ...]:
        """How people leave, by stratum and bin of the life table."""
        return tuple(Bins.of(one) for one in self.hazards)

    @property
    def sooner_spread(self) -> float:
        """The standard deviation of u were censoring to go with nothing; where few are censored more."""
        variance = np.average([one.variance for one in self.bins], weights=self.sizes)
        return max(math.sqrt(variance), FEW)

    @property
    def lateness(self) -> Varied:
        """What people are asked how late their events came with: the released hazards."""
        events = np.stack([profile.events for profile in self.profiles])
        return Varied.of(events, np.stack([profile.at_risk for profile in self.profiles]))

    def columns(self, leads: Integers | None, gaps: tuple[tuple[int, int], ...]) -> Columns:
        """What second moments are asked of, as far as it was chosen by now."""
        leaving = None if self.sooner is None else self.leavings
        return Columns(leads, gaps, leaving, None if self.varied is None else self.varied.asked)

    @property
    def further_units(self) -> list[float]:
        """The units of the columns after covariates and strata, whose centre is 0."""
        found = [] if self.sooner is None else [self.sooner]
        return found if self.varied is None else [*found, self.varied.unit]

    @property
    def leavings(self) -> Leavings:
        """The chances of being censored as they are released."""
        return Leavings(self.edges, np.array([one.chances for one in self.bins]))

    def second_moments(self, width: int) -> tuple[Array, float] | None:
        """Those of the first `width` columns, and the noise of an entry on the diagonal.

        In parts of what shortening leaves of them: about 1 on the diagonal.
        """
        if self.moments is None:
            return None
        matrix, error = self._shortened_moments(self.moments)
        part = moment_part(len(matrix))
        return matrix[:width, :width] / part, error / part

    def _shortened_moments(self, moments: Noisy) -> tuple[Array, float]:
        """Those of all columns as they were released."""
        size = math.isqrt(2 * len(moments.values))  # s (s + 1) / 2 of them
        return released_moments(moments.values, self.persons, moments.deviation, size)

    def moments_with(self, column: int, width: int) -> tuple[Array, float] | None:
        """Those of one column with the first `width`, shortened, and their noise and sampling.

        Sampling is that of whole vectors: what the cohort gets wrong of shortened ones is in it too.
        """
        if self.moments is None:
            return None
        matrix, error = self._shortened_moments(self.moments)
        noise = math.hypot(error * DIAGONAL / OFF_DIAGONAL, 1.0 / math.sqrt(self.persons))
        return matrix[column, :width], noise

    @property
    def sizes(self) -> Array:
        """People of each stratum."""
        return np.array([profile.persons for profile in self.profiles])


def typical_values(design: Design, shares: list[Shares]) -> Array:
    """One for each covariate of the schema: a number's median, the number of the commonest level."""
    values = {item.marginal.columns[0]: item for item in without_fills(design, shares)}
    found: list[float] = []
    column = 0
    for covariate in design.schema.covariates:
        item = values[column]
        column += len(item.marginal.columns)
        if isinstance(covariate, Categorical):
            found.append(min(int(np.argmax(item.overall)), len(covariate.levels) - 1))
        else:
            found.append(_median(covariate, item))
            column += 1 if covariate.indicated else 0
    return np.array(found, dtype=np.float64)


def _median(covariate: Numeric, item: Shares) -> float:
    """On the user's scale, to a hundredth of the range: bins are equal in x or, on logs, in log x."""
    edges = np.array(item.marginal.edges)
    reached = np.concatenate([[0.0], np.cumsum(item.overall)])
    part = (np.interp(0.5, reached, edges) - edges[0]) / (edges[-1] - edges[0])
    low, high = covariate.bounds
    value = low * (high / low) ** part if covariate.logarithmic else low + part * (high - low)
    digits = max(0, 2 - math.floor(math.log10(high - low)))
    return float(np.clip(round(value, digits), low, high))


def spreads_of(shares: list[Shares]) -> Array:
    """Standard deviations of the internal columns."""
    found = [item.spread for item in shares]
    return np.asarray(np.maximum(np.concatenate([*found, np.zeros(0)]), SMALLEST_SPREAD))


@dataclass(frozen=True, eq=False)
class Picture:
    """The people as far as they were released; `change` is that of their effects with time."""

    releases: Releases
    people: Cohort
    spreads: Array
    shape: Shape
    change: Change = NO_CHANGE

    @classmethod
    def of(cls, design: Design, link: Link, releases: Releases, spreads: Array) -> "Picture":
        """`spreads` are those by which second moments were standardised."""
        people = _people(design, link, releases, spreads)
        if releases.information is not None:
            people = tilted(people, releases.information)
        shape = Shape(design, link, people, releases.profiles)
        return cls(releases, people, spreads, shape)

    def again(self, random: np.random.Generator) -> "Picture":
        """Another picture that the same people might have given."""
        return self.showing(self.releases.again(random))

    def informed(self, information: Information) -> "Picture":
        """The same with the people's information."""
        return self.showing(self.releases.having(information=information))

    def bent(self, f: Array) -> "Picture":
        """The same with effects that change with time as the releases show it at f."""
        found, varied = self._late_moments, self.releases.varied
        if found is None or varied is None:
            return self
        leads = self.shape.design.covariates.leads
        whole = self._strata_squares, self._last_column + 1
        varying = Varying(self.shape, varied, leads, self.spreads[: len(leads)], *whole)
        change = varying.change(f, *found)
        return self._changing(change, varying.bend(change.theta), change.certain)

    def bent_as(self, other: "Picture") -> "Picture":
        """The same with effects that change as in another, but for the released moments."""
        found = self._late_moments
        if found is None:
            return self
        change = other.change.had(found[0])
        return self._changing(change, other.shape.bend._replace(theta=change.theta))

    def _changing(self, change: Change, bend: Bend, certain: float = 0.0) -> "Picture":
        return replace(self, shape=self.shape.bent(bend, certain), change=change)

    @property
    def _last_column(self) -> int:
        """The place of the column that says how late events came, where there is one."""
        return len(self.spreads) + (self.releases.sooner is not None)

    @property
    def _strata_squares(self) -> Array:
        """What the strata's indicators add to |v|^2 of their people, where they are columns."""
        spreads = self.spreads[len(self.shape.design.covariates.leads) :]
        sizes = self.releases.sizes
        if len(spreads) == 0:
            return np.zeros(len(sizes))
        shares = sizes / sizes.sum()
        return np.asarray(np.sum(((np.eye(len(sizes)) - shares)[:, 1:] / spreads) ** 2, axis=1))

    @property
    def _late_moments(self) -> tuple[Array, float] | None:
        """The released means of x l, x the leads, and their noise; None where there are none."""
        if self.releases.varied is None:
            return None
        width = len(self.shape.design.covariates.leads)
        return self.releases.moments_with(self._last_column, width)

    def showing(self, releases: Releases) -> "Picture":
        """The same people as other releases show them."""
        return Picture.of(self.shape.design, self.shape.link, releases, self.spreads)


def _people(design: Design, link: Link, releases: Releases, spreads: Array) -> Cohort:
    """The cohort, each of it for so many people; with strata every member is of one of them."""
    leads, parts = _drawn(design, releases, spreads)
    width, stratum = len(design.covariates.leads), _strata_of(design, leads)
    whole = completed(design, np.ascontiguousarray(leads[:, :, :width]))
    stay = _staying(releases, _standardised(leads, parts, spreads), parts[:, 0], stratum)
    several = releases.strata > 1
    present = np.stack([profile.present for profile in releases.profiles])
    return Cohort(
        whole,
        releases.sizes.sum() * parts,
        np.array(releases.stretches.edges, dtype=np.int64),
        present if several else releases.profile.present,
        releases.profile.total_events,
        remaining=_both(releases.remaining(design, link, whole), stay),
        stratum=stratum if several else None,
        staying=stay,
    )


def _strata_of(design: Design, leads: Array) -> Integers:
    """The stratum of each member, whose indicators stand after the leads."""
    chosen = leads[:, 0, len(design.covariates.leads) :] > 0.5
    found = np.zeros(len(leads), dtype=np.int64)
    if chosen.shape[1]:
        found = np.where(chosen.any(axis=1), chosen.argmax(axis=1) + 1, 0)
    return found


def _standardised(leads: Array, parts: Array, spreads: Array) -> Array:
    """The columns of second moments, each member's mean over time."""
    columns = leads[:, :, : len(spreads)].mean(axis=1)
    return np.asarray((columns - np.average(columns, axis=0, weights=parts[:, 0])) / spreads)


def _both(one: Array | None, other: Array | None) -> Array | None:
    """The chances of two kinds of staying together; None: everybody stays."""
    if one is None or other is None:
        return other if one is None else one
    return np.asarray(one * other)


def _staying(releases: Releases, people: Array, weights: Array, stratum: Integers) -> Array | None:
    """By member and interval, the chance of not being censored in parts of that of all alike."""
    width = people.shape[1]
    found = None if releases.sooner is None else releases.moments_with(width, width)
    if releases.sooner is None or found is None:
        return None
    further = len(releases.further_units)
    whole = np.sum(people**2, axis=1) + further - 1.0, width + further
    cohort = Leaving(releases.bins, people, weights, stratum, releases.sooner, *whole)
    return cohort.remaining(cohort.gamma(*found))


def _drawn(design: Design, releases: Releases, spreads: Array) -> tuple[Array, Array]:
    """Members by stretch of time, leads and then indicators of strata, and their shares."""
    shares, strata = without_fills(design, releases.shares(design)), releases.strata
    if shares:
        size, moments = cohort_size(strata), _moments(design, releases, shares, spreads)
        return draw_cohort(shares, moments, size)
    indicators = np.vstack([np.zeros(strata - 1), np.eye(strata - 1)])
    number, parts = releases.stretches.number, releases.sizes / releases.sizes.sum()
    return np.repeat(indicators[:, None, :], number, axis=1), np.tile(parts[:, None], number)


def _moments(design: Design, releases: Releases, shares: list[Shares], spreads: Array) -> Array:
    """Correlations of the columns, and on the diagonal how much wider they are than the counts.

    Standardised vectors are shortened to |v|^2 <= R, together: what is left of a moment is seen on a
    cohort. Strata that were not part of the release go with no covariate.
    """
    moments, width = np.eye(sum(len(item.marginal.columns) for item in shares)), len(spreads)
    found = releases.second_moments(width)
    if found is not None:
        shown, further = correlation(*found), len(releases.further_units)
        counted = [item for item in shares if max(item.marginal.columns) < width]
        own, columns = np.sqrt(np.diag(shown)), width + further

        def short(squares: Array) -> Array:
            return moment_left(squares + further, columns)  # that of a further column is about 1

        wanted, size = shown / np.outer(own, own), cohort_size(releases.strata)
        latent, left = before_cuts(counted, wanted, spreads, short, size)
        # second moments say how wide the columns are, however wide the counts look
        expected = left * _present(design, counted) / moment_part(columns)
        wide = np.clip(own / np.sqrt(np.maximum(expected, 1e-3)), NARROWEST, WIDEST)
        moments[:width, :width] = latent * np.outer(wide, wide)
    return moments


def _present(design: Design, shares: list[Shares]) -> Array:
    """The share of people whose number is not missing, for each lead; 1 where it cannot be."""
    overall = {item.marginal.columns[0]: item.overall for item in shares}
    found = np.ones(sum(len(item.marginal.columns) for item in shares))
    for number, indicator in gaps_of(design):
        found[number] = overall[indicator][0]
    return found


def tilted(people: Cohort, information: Information) -> Cohort:
    """The cohort seen through a lens A, A I A' = the released information, as far as it is not noise.

    In whitened coordinates the cohort's information is M_c. The released M is drawn toward it by
    positive-part James-Stein; A = W^-T M^(1/2) M_c^(-1/2) W'.
    """
    scores = information.scores
    expected = replace(scores, bound=math.inf).expected(people)[2]
    gap, size = information.matrix - expected, len(expected)
    noise = information.deviation**2 * size * (size + 1) / 2.0
    keep = max(0.0, 1.0 - noise / max(float(np.sum(gap**2)), 1e-300))
    mixed = expected + keep * gap
    least = max(LEAST, min(BELIEVED * information.deviation * math.sqrt(size), 0.5))
    root, inverse = power(expected, 0.5, NOTHING), power(expected, -0.5, NOTHING)
    parts = power(inverse @ mixed @ inverse, 1.0, least)
    turn = power(root @ parts @ root, 0.5, NOTHING**2) @ inverse
    frame = scores.mapping
    return replace(people, lens=np.linalg.inv(frame).T @ turn @ frame.T)


def power(matrix: Array, exponent: float, least: float) -> Array:
    """A power of a symmetric matrix whose eigenvalues are raised to `least` first."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.maximum(values, least) ** exponent) @ vectors.T)
