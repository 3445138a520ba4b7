"""The audit of private selection: docs/proofs/selection.md. Trials are audited as what they run."""

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.audit.cases import (
    corner_people,
    hostile_points,
    loss_of,
    make_constants,
    random_person,
)
from discreet.audit.findings import Finding, Subject, at_most, equal_to, judged
from discreet.audit.instruments import L1, LATTICE, KnownNoise, asked_of, seen_through
from discreet.audit.measured import Measured
from discreet.audit.objective import ObjectiveAudit
from discreet.audit.output import Minimiser, OutputAudit
from discreet.core.optimum import SCORE_EXPONENT, clipped_score
from discreet.privacy.noise import SystemNoise

SLOWER = 200
"""A draw that reads people costs this many times one of a plug-in loss."""


class SelectedAudit(Measured):
    """The audit of private selection."""

    @property
    def _base(self) -> Minimiser:
        mechanism: Any = self.subject.mechanism()
        kind = {"output": OutputAudit, "objective": ObjectiveAudit}[mechanism.base]
        return kind(Subject(mechanism.base, self.subject.epsilon), self.effort)

    def witness(self) -> list[Finding]:
        """Twice what one trial and its score spend, at the scales that the draw asked for."""
        facts = make_constants(persons=7)
        mechanism: Any = replace(self.subject.mechanism(), ridges=(2.0,), base="output")  # type: ignore[type-var]
        plan, noise = mechanism.plan(facts), KnownNoise()
        mechanism.draw(plan, loss_of(corner_people(facts)[:7], facts), noise)
        candidate = plan.candidates[0]
        step = Fraction(2) ** int(candidate.number("step_exponent"))
        trial = candidate.number("sensitivity") / float(noise.scales(LATTICE)[0] * step)
        score = math.ldexp(plan.number("score_bound"), -SCORE_EXPONENT) / float(noise.scales(L1)[0])
        note = "twice (trial + score): random stopping; budgets are whole billionths"
        # a budget in whole billionths, rounded down, loses up to four of them
        tolerance = 1e-9 + 4e-9 / self.subject.epsilon
        claimed, spent = self.subject.epsilon, 2.0 * (trial + score)
        return [equal_to("witness", "parts at the drawn scales", claimed, spent, note, tolerance)]

    def neighbours(self) -> list[Finding]:
        """The score of a person, alone and in company, and the search on what trials run."""
        facts = make_constants(persons=2, intervals=9)
        plan = self.subject.mechanism().plan(facts)
        bound, corners = plan.number("score_bound"), corner_people(facts)
        spreads = []
        for point in hostile_points(np.random.default_rng(1), facts, min(self.effort.pairs, 50)):
            pairs = [[first, corners[1]] for first in corners]
            scores = [clipped_score(loss_of(pair, facts), point, bound) for pair in pairs]
            spreads.append(max(scores) - min(scores))
        note = "in units of the bound that its noise is scaled to"
        moved = max(spreads) * 2.0**SCORE_EXPONENT / bound
        score = at_most("neighbours", "movement of the score", 1.0, moved, note)
        return [score, self._company(), *self._base.neighbours()[1:]]

    def _company(self) -> Finding:
        """A score is the sum of what each adds alone, to the last step."""
        random = np.random.default_rng(3)
        facts = make_constants(persons=64, intervals=9, time_varying=True)
        people = [random_person(random, facts, pieces=3) for _ in range(64)]
        different = 0
        for point in random.normal(size=(8, facts.dimension)):
            alone = sum(clipped_score(loss_of([who], facts), point, 50.0) for who in people)
            different += clipped_score(loss_of(people, facts), point, 50.0) != alone
        return judged(
            "neighbours",
            "score of a person in company",
            "the same as alone",
            f"{different} of 8 differ",
            sound=different == 0,
            note="64 persons of several rows: nobody rounds another's loss",
        )

    def law(self) -> list[Finding]:
        """The laws that a draw asks its source for."""
        facts, noise = make_constants(persons=4000), KnownNoise()
        mechanism = self.subject.mechanism()
        mechanism.draw(mechanism.plan(facts), loss_of(corner_people(facts)[:5], facts), noise)
        return [*asked_of(noise.calls, self.effort.draws), self.fresh()]

    def low_bits(self) -> list[Finding]:
        """Draws of two tables of people."""
        return low_bits_of_people(self)


def low_bits_of_people(audit: Measured) -> list[Finding]:
    """Where no loss can be plugged in: fewer draws."""
    facts = make_constants(50, 5, 0, 1, strata=audit.subject.strata, causes=audit.subject.causes)
    mechanism: Any = audit.subject.mechanism()
    plan = mechanism.plan(facts)
    draw = getattr(mechanism, "bare_draw", mechanism.draw)  # only the point is looked at
    one, other = corner_people(facts)[1:3]
    crowd = [one] * (plan.persons - 1)
    count = range(max(8, audit.effort.attacks // (2 * SLOWER)))
    same, replaced = (
        [draw(plan, loss_of([*crowd, who], facts), SystemNoise()) for _ in count]
        for who in (one, other)
    )
    return seen_through((same, replaced), plan)
