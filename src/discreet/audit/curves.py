"""The audit of curves by group: one vector of noisy sums, docs/proofs/group-curves.md."""

from functools import partial

import numpy as np

from discreet.audit.cases import few
from discreet.audit.findings import Finding
from discreet.audit.instruments import KnownNoise, shown
from discreet.audit.measured import Attempt, refused
from discreet.audit.questions import Asking
from discreet.design.groups import Groups
from discreet.mechanisms.contract import Draw
from discreet.privacy.noise import NoiseSource, SystemNoise

WORST: tuple[dict[str, str], dict[str, str]] = (
    {"t": "0.1", "e": "0", "arm": "b"},
    {"t": "0.1", "e": "0", "arm": "a"},
)
"""Censored in the first stretch, in one group or in another."""


class CurvesAudit(Asking):
    """The audit of curves by group."""

    expected = frozenset({"group counts"})

    def _draw(self, cells: dict[str, str], persons: int, noise: NoiseSource) -> Draw:
        """Of few people, the first of whom has these cells."""
        first, *rest = few(self.case)[:persons]
        order = self.case.order
        engine = self.case.people([[first[0] | cells], *rest]).open(order.schema)
        return order.draw(order.plan(persons), engine, noise)

    def refusals(self) -> list[Finding]:
        """Epsilons and deltas that mean nothing, groups that are not declared."""
        asked = ((), ("age",), ("arm", "arm"))
        groups: list[Attempt] = [
            (f"by {by}", partial(Groups, self.case.schema, by)) for by in asked
        ]
        attempts = [*self.settings_without_promise(), *groups]
        return [refused("settings without a promise", attempts, "before any data is read")]

    def outcomes(self) -> list[Finding]:
        """Draws of the worst pair, along the line on which their sums differ."""
        one, other = (self._draw(side, 1, KnownNoise()).point for side in WORST)
        sides = []
        for side in WORST:
            order, first = self.case.order, few(self.case)[0][0] | side
            engine, plan = self.case.people([[first]]).open(order.schema), order.plan(1)
            draws = (order.draw(plan, engine, SystemNoise()) for _ in range(self.effort.fits))
            sides.append(np.array([(one - other) @ draw.point for draw in draws]))
        note = f"{self.effort.fits} draws a side, one person, the line of the largest difference"
        return [shown("lower bound on epsilon", tuple(sides), self.case.promise(1), note)]  # type: ignore[arg-type]
