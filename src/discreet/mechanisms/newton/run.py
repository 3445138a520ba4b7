"""One draw of private Newton: the releases in order, each a function of the ones before.

What is asked stands in the layout; what touches people is a sum over the engine's blocks, noised
before anything else sees it. Proof: docs/proofs/private-newton.md, section 4.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import SettingsError
from discreet.likelihood.score import LARGEST, Levels, Whitened, block_scores
from discreet.likelihood.score_information import (
    LARGEST_FACTOR,
    Informations,
    block_information,
)
from discreet.mechanisms.contract import Draw
from discreet.mechanisms.newton.bound import Cohort
from discreet.mechanisms.newton.cohort import completed_spreads, narrowed, without_fills
from discreet.mechanisms.newton.combine import combine
from discreet.mechanisms.newton.concentration import Concentration, chosen_limit
from discreet.mechanisms.newton.counts import (
    DIAGONAL,
    ENTRIES_TOO,
    EXITS_ONLY,
    OFF_DIAGONAL,
    Columns,
    Marginal,
    Stretches,
    block_exits,
    block_marginals,
    block_moments,
    exit_edges,
    gaps_of,
    marginals_of,
)
from discreet.mechanisms.newton.diagnosis import Ending
from discreet.mechanisms.newton.equation import Setting
from discreet.mechanisms.newton.layout import (
    GRID_EXPONENT,
    INFORMATION_SQUARED,
    Layout,
    average_trace,
    information_error,
    moment_limit,
    moment_sensitivity,
)
from discreet.mechanisms.newton.picture import Picture, spreads_of, typical_values
from discreet.mechanisms.newton.pin import Pinned
from discreet.mechanisms.newton.releases import Information, Noisy, Releases
from discreet.mechanisms.newton.split import EXITS, INFORMATION, MARGINALS, MOMENTS, RANGES
from discreet.mechanisms.newton.spread import Answer, Spread, spread_of
from discreet.mechanisms.newton.steps import Prior
from discreet.mechanisms.newton.warnings import Counts, HiddenStrata
from discreet.types import Array, Integers

if TYPE_CHECKING:
    from discreet.likelihood.problem import Problem
    from discreet.privacy.noise import NoiseSource

FARTHEST = 1e6
"""The released point is cut to this box: a public bound that no estimate reaches."""


def released_point(point: Array) -> Array:
    """The estimate on the public grid, within a public box."""
    grid = math.ldexp(1.0, GRID_EXPONENT)
    inside = np.clip(np.nan_to_num(point), -FARTHEST, FARTHEST)
    return np.asarray(np.rint(inside / grid) * grid)


class Run:
    """One draw: the releases in order, each a function of the ones before."""

    def __init__(
        self, loss: "Problem", layout: Layout, noise: "NoiseSource", *, clipped: bool
    ) -> None:
        self.engine, self.design, self.link = loss.engine, loss.design, loss.link
        if self.engine.persons < 1:
            raise SettingsError("a private fit needs at least one person")
        self.persons = self.engine.persons
        self.layout, self.noise = layout, noise
        self.budget = layout.budget
        self.setting = Setting(self.design, self.link, self.budget, clipped, layout.causes)
        self.size = self.design.dimension
        self.time = self.design.time_dimension
        terms = bool(self.design.covariates.derived)
        self.leads = self.design.covariates.leads if terms else None

    def draw(self) -> Draw:
        """The first releases, the steps; what is published with the estimate."""
        return self._told(*self._steps())

    def bare(self) -> Draw:
        """The released point alone: whatever is told beside it asks neither people nor noise."""
        return self._bare(self._steps()[2])

    def _bare(self, point: Array) -> Draw:
        return Draw(released_point(point), GRID_EXPONENT, self.noise.private)

    def _steps(self) -> tuple[list[Answer], Picture, Array, Prior]:
        """Everything that sees people or noise: the answers, and what is known in the end."""
        picture = self._picture()
        releases = picture.releases
        width = len(self.design.covariates.leads)
        spreads = completed_spreads(self.design, picture.spreads[:width])
        known = releases.profile, spreads, releases.profiles, picture.people.mean
        prior = self.setting.prior(*known)
        point, answers = prior.centre, []
        for number, share in enumerate(self.budget.steps):
            equation = self.setting.equation(point, picture.shape, prior, share)
            answers.append(Answer(equation, -self._release(equation.scores, share)))
            if number == self.budget.informed:
                picture = picture.informed(self._information(equation.scores, picture.people))
            if number > 0:
                picture = picture.bent(point)
            released = [partial(one.around, picture) for one in answers]
            point = combine(released, point, Pinned(prior, picture.shape), picture.people.events)
        return answers, picture, point, prior

    def _told(self, answers: list[Answer], picture: Picture, point: Array, prior: Prior) -> Draw:
        """The estimate, its covariance and what the release says of itself."""
        spread, releases = spread_of(answers, picture, point, prior), picture.releases
        numbers = released_point(point)
        ending = self._ending(picture, point, spread, prior)
        extras = {
            "covariance": spread.covariance,
            "life_table": releases.life_table,
            "calibration": ending.calibration(),
        }
        if self.size > self.time:
            shares = releases.shares(self.design)
            extras["typical"] = typical_values(self.design, shares)[None, :]
        if self.layout.strata > 1:
            extras["life_tables"] = releases.life_tables
        return Draw(numbers, GRID_EXPONENT, self.noise.private, extras, ending.cautions())

    def _ending(self, picture: Picture, point: Array, spread: Spread, prior: Prior) -> Ending:
        """What the release says of itself."""
        releases = picture.releases
        at_risk = [profile.at_risk for profile in releases.profiles]
        return Ending(
            self.design,
            self.link,
            point,
            picture.people,
            at_risk[0] if len(at_risk) == 1 else np.stack(at_risk),
            Counts(releases.life_table, releases.exit_deviation, self.persons),
            spread.covariance,
            spread.sampling,
            np.asarray(np.linalg.inv(prior.precision)),
            spread.missing,
            self._hidden(releases),
            picture.change,
        )

    def _hidden(self, releases: Releases) -> HiddenStrata | None:
        """Strata in which hardly anybody was counted."""
        declared = self.design.schema.strata
        if declared is None:
            return None
        names = self.design.baseline_names
        return HiddenStrata(declared.title, declared.level_titles, names, releases.hidden)

    def _picture(self) -> Picture:
        """The people as far as they were released."""
        return Picture.of(self.design, self.link, *self._releases())

    def _releases(self) -> tuple[Releases, Array]:
        """Exits, ranges, marginals and second moments; the spreads that standardise these."""
        edges = exit_edges(self.design.intervals, self.layout.time_bins)
        stretches = self.layout.stretches(self.design.intervals)
        first = self._begun(edges, self._exits(edges), stretches)
        if self.size == self.time:
            return first, np.zeros(0)
        marginals = self._ranges(first.profile.persons)
        counted = first.having(marginals=marginals, counts=self._marginals(marginals, stretches))
        shares = without_fills(self.design, counted.shares(self.design))
        if self.layout.strata > 1 and not self.layout.mixed:
            shares = shares[:-1]
        centre, spread = np.concatenate([item.mean for item in shares]), spreads_of(shares)
        return self._counted(counted, centre, spread), spread

    def _counted(self, counted: Releases, centre: Array, spread: Array) -> Releases:
        """The same with second moments, where they are released."""
        if self.budget.share(MOMENTS) == 0:
            return counted
        if self.layout.leaving:
            counted = counted.having(sooner=counted.sooner_spread)
        if self.layout.varying:
            counted = counted.having(varied=counted.lateness)
        columns, units = counted.columns(self.leads, gaps_of(self.design)), counted.further_units
        place = np.append(centre, np.zeros(len(units))), np.append(spread, units)
        return counted.having(moments=self._moments(*place, columns))

    def _begun(self, edges: Integers, exits: Noisy, stretches: Stretches) -> Releases:
        """What is released once exits are."""
        return Releases(self.persons, edges, exits, stretches, strata=self.layout.strata)

    def _exits(self, edges: Integers) -> Noisy:
        """Counts of exits by (censored, event), and of entries where they may be late."""
        late = self.layout.late_entry
        share, cells = self.budget.share(EXITS), 2 if late else 1
        kinds = ENTRIES_TOO if late else EXITS_ONLY
        (counts,) = self.engine.reduce(block_exits, edges, kinds, self.layout.strata)
        noisy = self.budget.release_counts(counts, share, cells, self.noise)
        return Noisy(noisy, self.budget.count_deviation(share, cells))

    def _ranges(self, mass: float) -> tuple[Marginal, ...]:
        """The covariates, numbers with bins where the people are, so many: one coarse release."""
        marginals = marginals_of(self.design, self.layout.range_bins)
        numbers = tuple(item for item in marginals if item.numeric)
        if not numbers:
            return marginals
        share, whole = self.budget.share(RANGES), self.layout.whole(self.design.intervals)
        (counts,) = self.engine.reduce(block_marginals, numbers, whole, self.leads)
        noisy = self.budget.release_counts(counts, share, len(numbers), self.noise, whole)
        deviation = self.budget.count_deviation(share, len(numbers), whole)
        return narrowed(marginals, noisy, deviation, self.layout.value_bins, mass)

    def _marginals(self, marginals: tuple[Marginal, ...], stretches: Stretches) -> Noisy:
        """Counts of every covariate's bins, by stretch of time."""
        share, cells = self.budget.share(MARGINALS), len(marginals)
        (counts,) = self.engine.reduce(block_marginals, marginals, stretches, self.leads)
        noisy = self.budget.release_counts(counts, share, cells, self.noise, stretches)
        return Noisy(noisy, self.budget.count_deviation(share, cells, stretches))

    def _moments(self, centre: Array, spread: Array, columns: Columns) -> Noisy:
        """Second moments of the standardised covariates, of strata and of what else is asked for."""
        width, share = len(centre), self.budget.share(MOMENTS)
        limit = moment_limit(width)
        squared = moment_sensitivity(width, changing=self.layout.changing)
        weight = self.layout.moment_weight(self.design.intervals)
        (half,) = self.engine.reduce(block_moments, centre, spread, limit, weight, columns)
        noisy = self.budget.release(half, share, squared, self.noise) / weight.weight
        return Noisy(noisy, self.budget.deviation(share, squared, len(half)) / weight.weight)

    def _limit(self, seen: Sequence[Concentration]) -> float:
        """R, by what the cohort shows of every cause."""
        average = average_trace(self.size, self.persons, len(seen))
        noise = information_error(self.budget, self.size, average, len(seen))
        return chosen_limit(seen, average, noise)

    def _information(self, scores: Whitened, people: Cohort) -> Information:
        """The sum of the people's information, each of trace at most R, in whitened units."""
        share, limit = self.budget.share(INFORMATION), self._limit([Concentration(scores, people)])
        tables = Informations.each(scores, self.persons)
        (half,) = self.engine.reduce(block_information, scores, limit, *tables)
        weighted = half * self._half_weights()
        noisy = self.budget.release(weighted, share, INFORMATION_SQUARED, self.noise)
        deviation = self.budget.deviation(share, INFORMATION_SQUARED, len(half))
        return self._as_information(scores, noisy, deviation, limit)

    def _half_weights(self) -> Integers:
        """Of the lower triangle, row after row."""
        rows, columns = np.tril_indices(self.size)
        return np.where(rows == columns, DIAGONAL, OFF_DIAGONAL)

    def _as_information(
        self, scores: Whitened, noisy: Array, deviation: float, limit: float
    ) -> Information:
        """A released half-vector as a matrix."""
        rows, columns = np.tril_indices(self.size)
        unit = limit / LARGEST_FACTOR**2
        matrix = np.zeros((self.size, self.size))
        matrix[rows, columns] = matrix[columns, rows] = noisy / self._half_weights() * unit
        return Information(scores, matrix, deviation / DIAGONAL * unit, limit)

    def _release(self, scores: Whitened, share: Fraction) -> Array:
        """The noisy sum of bounded scores in whitened units."""
        levels = Levels.each(scores, self.persons)
        (sums,) = self.engine.reduce(block_scores, scores, *levels)
        noisy = self.budget.release(sums, share, (2 * LARGEST) ** 2, self.noise)
        return noisy * (scores.bound / LARGEST)
