"""The questions of private Newton in order, each a function of the answers before, by the estimator.

    exits; ranges and bins of covariates, second moments    -> the picture, a first estimate
    scores at the estimate, T times, once with the information    -> the next estimate

The layout lists what is asked; between the questions the estimator sees released numbers alone.
Proof: docs/proofs/private-newton.md, section 4; of several causes docs/proofs/competing-risks.md.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.core import question
from discreet.core.ask import Ask
from discreet.core.bins import (
    DIAGONAL,
    OFF_DIAGONAL,
    UNIT,
    Columns,
    Marginal,
    exit_edges,
    gaps_of,
    marginals_of,
)
from discreet.core.released import Released
from discreet.core.scores import Whitened
from discreet.estimator import asking
from discreet.estimator.estimate import EstimatePoint, estimate, point
from discreet.estimator.field import Field
from discreet.estimator.picture import picture_of, second_moments, standardised
from discreet.estimator.published import Ended
from discreet.estimator.tails import narrowed
from discreet.estimator.transcript import Information, Moments, ScoreSum, Transcript
from discreet.mechanisms.newton.layout import (
    EXITS,
    INFORMATION,
    MARGINALS,
    MOMENTS,
    RANGES,
    Layout,
    average_trace,
    information_error,
    informed_step,
)
from discreet.types import Array, Integers

if TYPE_CHECKING:
    from discreet.design.design import Design
    from discreet.design.link import Link
    from discreet.mechanisms.outlook import Outlook

EARLY_ROUNDS = 3
"""Rounds of Gauss-Newton between two questions: the last estimate alone is carried to its end."""


@dataclass(frozen=True, eq=False)
class Sequence:
    """The questions of one draw."""

    ask: Ask
    design: "Design"
    link: "Link"
    layout: Layout
    clipped: bool = False

    def run(self) -> Ended:
        """Ask all of them."""
        transcript = self._first()
        field, prior, phi = picture_of(transcript)
        lay, steps, size = field.layout, self.layout.budget.steps, self.design.dimension
        centre = np.array([prior.mean[lay.f(r)] for r in range(lay.causes)])
        found = point(field, prior, phi, centre)
        for number, share in enumerate(steps):
            known = found.phi, found.f, found.informations
            wanted = asking.next_score(field, prior, *known, self.layout.later_noise(number, size))
            asked = self._score(replace(wanted, clipped=self.clipped), share)
            transcript = transcript.having(steps=(*transcript.steps, asked))
            if number == informed_step(self.layout.budget):
                transcript = transcript.having(information=self._information(field, found, asked))
            field = field.having(transcript)
            if number < len(steps) - 1:
                found = point(field, prior, found.phi, found.f, EARLY_ROUNDS)
        return Ended(field, prior, estimate(field, prior, found.phi, found.f))

    def _first(self) -> Transcript:
        """Exits, and where there are covariates their bins and second moments."""
        design, layout, share = self.design, self.layout, self.layout.budget.share
        edges = exit_edges(design.intervals, layout.time_bins)
        asked = question.exits(edges, layout.causes, layout.strata, late=layout.late_entry)
        found = self.ask(asked, share(EXITS))
        counts, kinds = found.values.reshape(layout.strata, -1, len(edges) - 1), layout.causes + 1
        entries = Released(counts[:, kinds], found.deviation) if layout.late_entry else None
        exits = Released(counts[:, :kinds], found.deviation)
        facts = design, self.link, self.ask.persons, layout.causes, edges, exits, entries
        transcript = Transcript(*facts)
        if design.dimension == design.time_dimension:
            return transcript
        stretches = layout.stretches(design.intervals)
        marginals = self._ranges(transcript.observed)
        bins = question.marginals(marginals, stretches, self._leads)
        counted = self.ask(bins, share(MARGINALS))
        transcript = transcript.having(
            stretches=stretches.edges, marginals=marginals, counts=counted
        )
        if share(MOMENTS) == 0:
            return transcript
        return transcript.having(moments=self._moments(transcript))

    @property
    def _leads(self) -> Integers | None:
        """The lead columns; None where all are."""
        covariates = self.design.covariates
        return covariates.leads if covariates.derived else None

    def _ranges(self, mass: float) -> tuple[Marginal, ...]:
        """The covariates, numbers with bins where the people are: one coarse release."""
        marginals = marginals_of(self.design, self.layout.range_bins)
        numbers = tuple(item for item in marginals if item.numeric)
        if not numbers:
            return marginals
        asked = question.marginals(numbers, self.layout.whole(self.design.intervals), self._leads)
        found = self.ask(asked, self.layout.budget.share(RANGES))
        return narrowed(marginals, found.values, found.deviation, self.layout.value_bins, mass)

    def _moments(self, transcript: Transcript) -> Moments:
        """Second moments of the standardised leads, and of strata where these are asked for."""
        centre, spread = standardised(transcript)
        if not self.layout.mixed:
            width = len(self.design.covariates.leads)
            centre, spread = centre[:width], spread[:width]
        weight = self.layout.moment_weight(self.design.intervals)
        columns = Columns(self._leads, gaps_of(self.design))
        asked = question.moments(centre, spread, weight, columns)
        found = self.ask(asked, self.layout.budget.share(MOMENTS))
        matrix, noise = as_matrix(found.values, found.deviation, len(centre))
        limit = question.moment_limit(len(centre)) / UNIT**2
        return Moments(centre, spread, matrix, noise, limit)

    def _whitened(self, asked: ScoreSum) -> list[Whitened]:
        """Each cause's scores as they are summed."""
        causes = zip(asked.points, asked.mappings, asked.bounds, strict=True)
        return [
            Whitened(self.design, self.link, point, mapping, float(bound), asked.clipped)
            for point, mapping, bound in causes
        ]

    def _score(self, asked: ScoreSum, share: Fraction) -> ScoreSum:
        """The released sum of the scores' bounded values, uphill."""
        causes, persons = self._whitened(asked), self.ask.persons
        found = self.ask(question.scores(causes, persons), share)
        values = -found.values.reshape(len(causes), -1) * asked.bounds[:, None]
        return replace(asked, released=values, deviations=found.deviation * asked.bounds)

    def _information(self, field: Field, found: EstimatePoint, asked: ScoreSum) -> Information:
        """The sum of the people's information, each person's cut to the trace `limit`."""
        causes, persons, size = self._whitened(asked), self.ask.persons, self.design.dimension
        average = average_trace(size, persons, len(causes))
        noise = information_error(self.layout.budget, size, average, len(causes))
        limit = asking.information_limit(field, found.phi, asked, noise)
        put = question.information(causes, limit, persons)
        answer = self.ask(put, self.layout.budget.share(INFORMATION))
        parts = [
            as_matrix(part, answer.deviation, size)
            for part in answer.values.reshape(len(causes), -1)
        ]
        matrices, noises = zip(*parts, strict=True)
        return Information(
            asked.points, asked.mappings, limit * np.array(matrices), limit * noises[0], limit
        )


def as_matrix(values: Array, deviation: float, size: int) -> tuple[Array, Array]:
    """A released lower triangle, times 181/128 off the diagonal, as a matrix; its noise."""
    rows, columns = np.tril_indices(size)
    weights = np.where(rows == columns, 1.0, OFF_DIAGONAL / DIAGONAL)
    matrix, noise = np.zeros((size, size)), np.zeros((size, size))
    matrix[rows, columns] = matrix[columns, rows] = values / weights
    noise[rows, columns] = noise[columns, rows] = deviation / weights
    return matrix, noise


def foreseen(layout: Layout, outlook: "Outlook") -> tuple[Array, Array]:
    """(sampling, privacy) covariance that a release will state, from public facts: (R d, R d).

    The picture is made of what would be released without noise, with the noise that there will be.
    """
    design, budget, intervals = outlook.design, layout.budget, outlook.design.intervals
    t = outlook.transcript(exit_edges(intervals, layout.time_bins), layout.value_bins)
    deviation = budget.deviation(budget.share(EXITS), question.of_exits(late=layout.late_entry))
    t = t.having(exits=Released(t.exits.values, deviation))
    if layout.late_entry:
        entries = np.zeros((design.strata, t.bins))
        entries[:, 0] = t.persons / design.strata
        t = t.having(entries=Released(entries, deviation))
    if t.counts is not None:
        stretches = layout.stretches(intervals)
        asked = question.of_marginals(len(t.marginals), stretches)
        deviation = budget.deviation(budget.share(MARGINALS), asked) * stretches.number**0.5
        t = t.having(counts=Released(t.counts.values, deviation))
    if budget.share(MOMENTS) > 0:
        t = t.having(moments=_foreseen_moments(layout, outlook, t))
    field, prior, phi = picture_of(t)
    f = np.array([prior.mean[field.layout.f(r)] for r in range(t.causes)])
    size = design.dimension
    noises = [
        (layout.later_noise(number, size), layout.step_noise(share, size))
        for number, share in enumerate(budget.steps)
    ]
    return asking.predicted(field, prior, phi, f, noises)


def _foreseen_moments(layout: Layout, outlook: "Outlook", transcript: Transcript) -> Moments:
    """Those of covariates that go together, alike in every stratum."""
    design, budget = outlook.design, layout.budget
    centre, spread = standardised(transcript)
    leads, weights = outlook.leads
    if layout.mixed:
        strata = np.eye(design.strata)[:, 1:]
        rows = np.repeat(leads, design.strata, axis=0)
        leads = np.hstack([rows, np.tile(strata, (len(leads), 1))])
        weights = np.repeat(weights, design.strata) / design.strata
    size = leads.shape[1]
    weight = layout.moment_weight(design.intervals).weight
    half = size * (size + 1) // 2
    deviation = budget.deviation(budget.share(MOMENTS), question.of_moments(size, weight), half)
    nothing, noise = as_matrix(np.zeros(half), deviation, size)
    limit = question.moment_limit(size) / UNIT**2
    made = Moments(centre[:size], spread[:size], nothing, noise, limit)
    adds = second_moments(design, made, leads[:, None]).adds
    matrix, rows_columns = nothing.copy(), np.tril_indices(size)
    matrix[rows_columns] = outlook.persons * (weights @ adds)
    return replace(made, matrix=np.tril(matrix) + np.tril(matrix, -1).T)
