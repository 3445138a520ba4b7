"""What was released before the steps, with its noise, and what is made of the exits: no record is here.

`Releases.again` adds noise of the same size once more: the spread of pictures made from such numbers is
what the noise of the first releases does to everything that is made from them. Its random numbers are
public.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from discreet.core.bins import (
    DIAGONAL,
    OFF_DIAGONAL,
    Columns,
    Leavings,
    Marginal,
    Stretches,
)
from discreet.core.released import Released
from discreet.design.design import Design
from discreet.design.link import Link
from discreet.mechanisms.newton.cohort import (
    Profile,
    Shares,
    released_moments,
    released_shares,
    stratum_profiles,
    stratum_shares,
)
from discreet.mechanisms.newton.foreseen import CohortScores
from discreet.mechanisms.newton.hazards import Hazards
from discreet.mechanisms.newton.layout import moment_part
from discreet.mechanisms.newton.leaving import Bins
from discreet.mechanisms.newton.varying import Varied
from discreet.types import Array, Flags, Integers

CLEAR = 3.0
"""Standard deviations of noise that the exits of a stratum must exceed."""
FEW = 0.2
"""How much sooner people leave is measured in parts of at least this."""
CERTAIN = 1.0
"""Noise of the counts of a table that is taken for the people's own."""
LIFE_TABLES = ("profile", "profiles", "hazards", "bins")
"""What `Releases` keeps once it is computed; all of it is made of the exits."""


@dataclass(frozen=True)
class Information:
    """The people's information at a step, in its whitened coordinates, each person's cut to a trace."""

    scores: CohortScores
    matrix: Array
    deviation: float
    limit: float = math.inf

    def again(self, random: np.random.Generator) -> "Information":
        """The same with as much noise once more; off the diagonal it is smaller by sqrt(2)."""
        noise = random.normal(0.0, self.deviation / 2.0, self.matrix.shape)
        return replace(self, matrix=self.matrix + noise + noise.T)


def as_matrix(scores: CohortScores, values: Array, deviation: float, limit: float) -> Information:
    """A released lower triangle, in parts of the limit and times 181/128 off the diagonal."""
    size = scores.mapping.shape[1]
    rows, columns = np.tril_indices(size)
    matrix = np.zeros((size, size))
    triangle = values / np.where(rows == columns, 1.0, OFF_DIAGONAL / DIAGONAL)
    matrix[rows, columns] = matrix[columns, rows] = triangle * limit
    return Information(scores, matrix, deviation * limit, limit)


@dataclass(frozen=True)
class Releases:
    """All that was released before the steps, and the information.

    Exits are by stratum; second moments may have the strata's indicators after the covariates, and
    last how much sooner than others people left, over `sooner`, and how late events came, as `varied`
    says.
    """

    persons: int
    edges: Integers
    exits: Released
    stretches: Stretches
    marginals: tuple[Marginal, ...] = ()
    counts: Released | None = None
    moments: Released | None = None
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

    def _another_table(self, random: np.random.Generator) -> Released:
        """Exits that the people may have had, as good as without noise."""
        drawn = np.array([one.another(random).exits.ravel() for one in self.hazards])
        entries = self.exits_by_stratum[:, drawn.shape[1] :]
        deviation = min(self.exits.deviation, CERTAIN)
        return Released(np.hstack([drawn, entries]).ravel(), deviation)

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

    def shares(self, design: Design, *, narrow: bool = False) -> list[Shares]:
        """The shares made consistent of the covariates, and of the strata as one more category.

        Numbers are as wide as they are counted, or as `narrow` as counts that are noise let them be.
        """
        if self.counts is None:
            return []
        found = released_shares(
            design,
            self.marginals,
            self.counts.values,
            self.profile.persons,
            self.counts.deviation,
            self.stretches.number,
            narrow=narrow,
        )
        if self.strata == 1:
            return found
        width, number = len(design.covariates.leads), self.stretches.number
        return [*found, stratum_shares(self.sizes, width, number)]

    @property
    def totals(self) -> list[tuple[Marginal, Array]]:
        """Every covariate with the released counts of its bins, all stretches of time together."""
        if self.counts is None:
            return []
        number = self.stretches.number
        ends = np.cumsum([number * item.bins for item in self.marginals])
        parts = np.split(self.counts.values, ends[:-1])
        sums = (own.reshape(number, -1).sum(axis=0) for own in parts)
        return list(zip(self.marginals, sums, strict=True))

    @property
    def total_deviation(self) -> float:
        """The noise of such a count."""
        return (
            0.0 if self.counts is None else self.counts.deviation * math.sqrt(self.stretches.number)
        )

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

    def _shortened_moments(self, moments: Released) -> tuple[Array, float]:
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
