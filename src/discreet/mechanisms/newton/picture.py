"""The people as the first releases show them: post-processing alone.

A picture is a synthetic cohort, the released life table and, where it was released, the people's
information. `Picture.again` is another one that the same people might have given.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from discreet.design.design import Design
from discreet.design.link import Link
from discreet.design.schema import Categorical, Numeric
from discreet.mechanisms.newton.bound import Cohort
from discreet.mechanisms.newton.cohort import (
    Shares,
    cohort_size,
    completed,
    draw_cohort,
    without_fills,
)
from discreet.mechanisms.newton.concentration import NOTHING, Concentration
from discreet.mechanisms.newton.expected import Bend
from discreet.mechanisms.newton.leaving import Leaving
from discreet.mechanisms.newton.releases import Information, Releases
from discreet.mechanisms.newton.shape import Shape
from discreet.mechanisms.newton.steps import power
from discreet.mechanisms.newton.varying import NO_CHANGE, Change, Varying
from discreet.mechanisms.newton.widths import blurred, moments_of, weighed_shares
from discreet.types import Array, Integers

SMALLEST_SPREAD = 1e-6
LEAST = 0.03
"""Eigenvalues of a released information, in parts of the cohort's, are at least this."""
BELIEVED = 2.5
"""Nor are they believed below so many deviations of the noise times sqrt(d), nor is that more than 0.5: along
a direction of next to no information steps would run away."""
CLEAR = 3.0
"""An entry of a released information is told from the cohort's by so many deviations of its noise."""


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

    @cached_property
    def blurred(self) -> list[int]:
        """The numbers, by column, whose width nobody knows."""
        return blurred(self.shape.design, self.releases, self.spreads)

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
    shares, strata = weighed_shares(design, releases, spreads), releases.strata
    if shares:
        size, moments = cohort_size(strata), moments_of(design, releases, shares, spreads)
        return draw_cohort(shares, moments, size)
    indicators = np.vstack([np.zeros(strata - 1), np.eye(strata - 1)])
    number, parts = releases.stretches.number, releases.sizes / releases.sizes.sum()
    return np.repeat(indicators[:, None, :], number, axis=1), np.tile(parts[:, None], number)


def tilted(people: Cohort, information: Information) -> Cohort:
    """The cohort seen through a lens A, A I A' = the released information, as far as it is not noise.

    In whitened coordinates the cohort's information is M_c, of which the limit leaves M_l, and as
    much as may be put back makes it M_r. The released M is drawn toward M_l as far as it may be noise
    (`kept`); with P = M_l^(-1/2) M M_l^(-1/2) the people's is M_r^(1/2) P M_r^(1/2), and A is
    W^-T (that)^(1/2) M_c^(-1/2) W'.
    """
    scores = information.scores
    shown = Concentration(scores, people)
    expected = shown.cut(information.limit)
    gap, size = information.matrix - expected, len(expected)
    least = max(LEAST, min(BELIEVED * information.deviation * math.sqrt(size), 0.5))
    inverse, root = power(expected, -0.5, NOTHING), power(shown.restored(expected), 0.5, NOTHING)
    found = expected + kept(gap, information.deviation) * gap
    parts = power(inverse @ found @ inverse, 1.0, least)
    turn = power(root @ parts @ root, 0.5, NOTHING**2) @ power(shown.full, -0.5, NOTHING)
    frame = scores.mapping
    return replace(people, lens=np.linalg.inv(frame).T @ turn @ frame.T)


def kept(gap: Array, deviation: float) -> Array:
    """What is kept of each entry of a symmetric difference whose noise is normal and isotropic.

    Of an entry g with noise s by itself 1 - (s / g)^2 (the garrote of Breiman 1995), or, if that is
    more, 1 - E|noise|^2 / |gap|^2 of all entries that are not clear, the positive part (James and
    Stein 1961). The coordinates are whitened symmetrically, so each is nearly a coefficient: where one
    effect is known much less well than a cohort shows and all others as well, one factor for all would
    hide it, or take noise for a difference everywhere.
    """
    noise = (deviation * np.where(np.eye(len(gap)) > 0.0, 1.0, math.sqrt(0.5))) ** 2
    squares = np.maximum(gap**2, 1e-300)
    rest = squares <= CLEAR**2 * noise
    together = 1.0 - np.sum(noise[rest]) / max(float(np.sum(squares[rest])), 1e-300)
    return np.asarray(np.maximum(1.0 - noise / squares, max(float(together), 0.0)))
