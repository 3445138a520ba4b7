"""The audit of private Newton: docs/proofs/private-newton.md and docs/proofs/competing-risks.md."""

from typing import Any

import numpy as np

from discreet.audit.findings import Finding
from discreet.audit.measured import Attempt, one_row, unread
from discreet.audit.questions import Asking
from discreet.audit.selected import low_bits_of_people
from discreet.likelihood.problem import Problem
from discreet.mechanisms.output import OutputPerturbation
from discreet.people.source import People
from discreet.privacy.noise import SystemNoise
from discreet.types import Array


class NewtonAudit(Asking):
    """The audit of private Newton, of one event, of strata and of competing risks."""

    @property
    def expected(self) -> frozenset[str]:  # type: ignore[override]
        """Every question there is."""
        of = " of causes" if self.subject.causes > 1 else ""
        return frozenset({"exits", "marginals", "moments", f"scores{of}", f"information{of}"})

    def low_bits(self) -> list[Finding]:
        """Draws of two tables of people."""
        return low_bits_of_people(self)

    def settings_without_promise(self) -> list[Attempt]:
        """Another mechanism for strata or causes too: only private Newton has a proof for them."""
        found = super().settings_without_promise()
        for case in self.modest:
            if case.strata * case.causes > 1:
                other = OutputPerturbation(epsilon=self.subject.epsilon)
                order = case.order.changed(mechanism=other)
                found.append((f"{case.kind.name} of another mechanism", lambda o=order: unread(o)))  # type: ignore[misc]
        return found

    outcome = "draws of the mechanism"

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
