"""The audit of private Newton: docs/proofs/private-newton.md and docs/proofs/competing-risks.md."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from discreet.audit.findings import Effort, Subject
from discreet.audit.measured import Attempt, one_row, unread
from discreet.audit.questions import Asking
from discreet.likelihood.problem import Problem
from discreet.mechanisms.output import OutputPerturbation
from discreet.people.source import People
from discreet.privacy.noise import SystemNoise
from discreet.types import Array


class NewtonAudit(Asking):
    """The audit of private Newton, of one event, of strata and of competing risks."""

    outcome = "draws of the mechanism"

    def __init__(self, subject: Subject, effort: Effort) -> None:
        super().__init__(subject, effort)
        several = {case.kind.causes > 1 for case in self.cases}
        names = {f"{one}{' of causes' if more else ''}" for more in several for one in SUMS}
        self.expected = frozenset({"exits", "marginals", "moments", *names})

    def settings_without_promise(self) -> list[Attempt]:
        """Another mechanism for strata or causes too: only private Newton has a proof for them."""
        found, other = super().settings_without_promise(), OutputPerturbation(self.subject.epsilon)
        for case in self.cases:
            if case.kind.strata * case.kind.causes > 1:
                plain = replace(case.kind, link="logit", changes=False)
                order = replace(case, kind=plain).order.changed(mechanism=other)
                found.append((f"{case.kind.name} of another mechanism", partial(unread, order)))
        return found

    def drawn(self, row: tuple[float, int], fits: int) -> Array:
        """The first coefficient of draws of a table of one person.

        They have the plan, the people and the code of a public release up to its last noisy sum; what
        a release tells beside its estimate is made of released numbers, which `replay` shows.
        """
        order: Any = self.one_person
        plan, mechanism = order.plan(1), order.mechanism
        problem = Problem(People.of(one_row(row)).open(order.schema), order.design, order.link)
        draws = (mechanism.bare_draw(plan, problem, SystemNoise()) for _ in range(fits))
        return np.array([draw.point[0] for draw in draws])


SUMS = ("scores", "information")
"""Questions that have a name of their own where there are causes."""
