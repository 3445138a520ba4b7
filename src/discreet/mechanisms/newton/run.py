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

from discreet.core import question
from discreet.core.ask import Ask
from discreet.core.bins import Columns, Marginal, Stretches, exit_edges, gaps_of, marginals_of
from discreet.core.released import Released
from discreet.mechanisms.contract import Draw
from discreet.mechanisms.newton.bound import Cohort
from discreet.mechanisms.newton.cohort import completed_spreads, narrowed, without_fills
from discreet.mechanisms.newton.combine import combine
from discreet.mechanisms.newton.concentration import Concentration, chosen_limit
from discreet.mechanisms.newton.diagnosis import Ending
from discreet.mechanisms.newton.equation import Setting
from discreet.mechanisms.newton.foreseen import CohortScores
from discreet.mechanisms.newton.layout import (
    GRID_EXPONENT,
    Layout,
    average_trace,
    information_error,
)
from discreet.mechanisms.newton.picture import Picture, spreads_of, typical_values
from discreet.mechanisms.newton.pin import Pinned
from discreet.mechanisms.newton.releases import Information, Releases, as_matrix
from discreet.mechanisms.newton.split import (
    EXITS,
    INFORMATION,
    MARGINALS,
    MOMENTS,
    RANGES,
    informed_step,
)
from discreet.mechanisms.newton.spread import Answer, Spread, spread_of
from discreet.mechanisms.newton.steps import Prior
from discreet.mechanisms.newton.warnings import Counts, HiddenStrata
from discreet.types import Array, Integers

if TYPE_CHECKING:
    from discreet.design.design import Design
    from discreet.design.link import Link

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
        self, ask: Ask, design: "Design", link: "Link", layout: Layout, *, clipped: bool
    ) -> None:
        self.ask, self.design, self.link = ask, design, link
        self.persons = ask.persons
        self.layout, self.budget = layout, layout.budget
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
        return Draw(released_point(point), GRID_EXPONENT, self.ask.private)

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
            if number == informed_step(self.budget):
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
        return Draw(numbers, GRID_EXPONENT, self.ask.private, extras, ending.cautions())

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

    def _begun(self, edges: Integers, exits: Released, stretches: Stretches) -> Releases:
        """What is released once exits are."""
        return Releases(self.persons, edges, exits, stretches, strata=self.layout.strata)

    def _exits(self, edges: Integers) -> Released:
        """Counts of exits by (censored, event), and of entries where they may be late."""
        late, strata = self.layout.late_entry, self.layout.strata
        asked = question.exits(edges, self.layout.causes, strata, late=late)
        return self.ask(asked, self.budget.share(EXITS))

    def _ranges(self, mass: float) -> tuple[Marginal, ...]:
        """The covariates, numbers with bins where the people are: one coarse release."""
        marginals = marginals_of(self.design, self.layout.range_bins)
        numbers = tuple(item for item in marginals if item.numeric)
        if not numbers:
            return marginals
        asked = question.marginals(numbers, self.layout.whole(self.design.intervals), self.leads)
        found = self.ask(asked, self.budget.share(RANGES))
        return narrowed(marginals, found.values, found.deviation, self.layout.value_bins, mass)

    def _marginals(self, marginals: tuple[Marginal, ...], stretches: Stretches) -> Released:
        """Counts of every covariate's bins, by stretch of time."""
        asked = question.marginals(marginals, stretches, self.leads)
        return self.ask(asked, self.budget.share(MARGINALS))

    def _moments(self, centre: Array, spread: Array, columns: Columns) -> Released:
        """Second moments of the standardised covariates, of strata and of what else is asked for."""
        weight = self.layout.moment_weight(self.design.intervals)
        asked = question.moments(centre, spread, weight, columns)
        return self.ask(asked, self.budget.share(MOMENTS))

    def _limit(self, seen: Sequence[Concentration]) -> float:
        """R, by what the cohort shows of every cause."""
        average = average_trace(self.size, self.persons, len(seen))
        noise = information_error(self.budget, self.size, average, len(seen))
        return chosen_limit(seen, average, noise)

    def _information(self, scores: CohortScores, people: Cohort) -> Information:
        """The sum of the people's information, each of trace at most R, in whitened units."""
        limit = self._limit([Concentration(scores, people)])
        asked = question.information([scores.plain], limit, self.persons)
        found = self.ask(asked, self.budget.share(INFORMATION))
        return as_matrix(scores, found.values, found.deviation, limit)

    def _release(self, scores: CohortScores, share: Fraction) -> Array:
        """The noisy sum of bounded scores in whitened units."""
        found = self.ask(question.scores([scores.plain], self.persons), share)
        return found.values * scores.bound
