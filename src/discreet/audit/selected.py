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
from discreet.audit.findings import Finding, Subject, at_most, equal_to, judged, without
from discreet.audit.instruments import L1, LATTICE, KnownNoise, asked_of
from discreet.audit.measured import Measured
from discreet.audit.objective import ObjectiveAudit
from discreet.audit.output import Minimiser, OutputAudit
from discreet.core.optimum import SCORE_EXPONENT, clipped_score


class SelectedAudit(Measured):
    """The audit of private selection."""

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
        return [equal_to("parts at the drawn scales", claimed, spent, note, tolerance)]

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
        score = at_most("movement of the score", 1.0, moved, note)
        mechanism: Any = self.subject.mechanism()
        kind = {"output": OutputAudit, "objective": ObjectiveAudit}[mechanism.base]
        trials: Minimiser = kind(Subject(mechanism.base, self.subject.epsilon), self.effort)
        return [score, self._company(), *trials.neighbours()[1:]]

    def _company(self) -> Finding:
        """A score is the sum of what each adds alone, to the last step."""
        random = np.random.default_rng(3)
        facts = make_constants(persons=64, intervals=9, time_varying=True)
        people = [random_person(random, facts, pieces=3) for _ in range(64)]
        different = 0
        for point in random.normal(size=(8, facts.dimension)):
            alone = sum(clipped_score(loss_of([who], facts), point, 50.0) for who in people)
            different += clipped_score(loss_of(people, facts), point, 50.0) != alone
        said, note = f"{different} of 8 differ", "64 persons of several rows: nobody rounds another"
        name = "score of a person in company"
        return judged(name, "the same as alone", said, sound=not different, note=note)

    def law(self) -> list[Finding]:
        """The laws that a draw asks its source for."""
        facts, noise = make_constants(persons=4000), KnownNoise()
        mechanism = self.subject.mechanism()
        mechanism.draw(mechanism.plan(facts), loss_of(corner_people(facts)[:5], facts), noise)
        return [*asked_of(noise.calls, self.effort.draws), self.fresh()]

    def replay(self) -> list[Finding]:
        """Each trial has noise of its own, for its model and its score, and but one model leaves."""
        facts, wrong = make_constants(persons=7), list[str]()
        mechanism, loss = self.subject.mechanism(), loss_of(corner_people(facts)[:7], facts)
        for seed in range(8):
            noise = KnownNoise(seed=seed)
            draw = mechanism.draw(mechanism.plan(facts), loss, noise)
            scores = [call.values for call in noise.calls if call.law == L1]
            alone = len(noise.scales(LATTICE)) == len(scores) and all(map(any, scores))
            wrong += ["noise of a score"] * (not alone)
            wrong += ["more than a model"] * bool(draw.extras or draw.cautions)
        note = "8 draws of random numbers of trials"
        return [*super().replay(), without("trials", "each noised, one released", wrong, note)]
