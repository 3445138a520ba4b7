"""The audit of curves by group: one vector of noisy sums, docs/proofs/group-curves.md."""

from functools import partial
from typing import Any

import numpy as np

from discreet.audit.cases import few
from discreet.audit.findings import Finding
from discreet.audit.instruments import KnownNoise, shown
from discreet.audit.measured import Attempt, refused
from discreet.audit.questions import Asking
from discreet.design.groups import Groups
from discreet.privacy.noise import SystemNoise
from discreet.types import Array

WORST: tuple[dict[str, str], dict[str, str]] = (
    {"t": "0.1", "e": "0", "arm": "b"},
    {"t": "0.1", "e": "0", "arm": "a"},
)
"""Censored in the first stretch, in one group or in another."""


class CurvesAudit(Asking):
    """The audit of curves by group."""

    expected = frozenset({"group counts"})

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
        order, usual, fits = self.case.order, few(self.case)[0][0], self.effort.fits
        plan = order.plan(1)
        engines = [self.case.people([[usual | side]]).open(order.schema) for side in WORST]
        one, other = (order.draw(plan, engine, KnownNoise()).point for engine in engines)

        def along(engine: Any) -> Array:
            draws = (order.draw(plan, engine, SystemNoise()) for _ in range(fits))
            return np.array([(one - other) @ draw.point for draw in draws])

        note = f"{fits} draws a side, one person, the line of the largest difference"
        sides = along(engines[0]), along(engines[1])
        return [shown("lower bound on epsilon", sides, self.case.promise(1), note)]
