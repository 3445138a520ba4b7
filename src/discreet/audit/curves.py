"""The audit of curves by group: one vector of noisy sums, docs/proofs/group-curves.md."""

from functools import partial

import numpy as np

from discreet.audit.cases import Rows, few
from discreet.audit.findings import Finding
from discreet.audit.instruments import KnownNoise, seen_through, shown
from discreet.audit.measured import Attempt, refused
from discreet.audit.questions import Asking
from discreet.design.groups import Groups
from discreet.mechanisms.contract import Draw
from discreet.privacy.noise import SystemNoise

SLOWER = 200
"""A draw that reads people costs this many times one of a plug-in loss."""
WORST: tuple[dict[str, str], dict[str, str]] = (
    {"t": "0.1", "e": "0", "arm": "b"},
    {"t": "0.1", "e": "0", "arm": "a"},
)
"""Censored in the first stretch, in one group or in another."""


class CurvesAudit(Asking):
    """The audit of curves by group."""

    expected = frozenset({"group counts"})

    def records(self) -> Finding:
        """Covariates are levels; who is hostile is counted somewhere or nowhere."""
        return self._tables()

    def neighbours(self) -> list[Finding]:
        """As of other sums; there is no norm of a record."""
        return super().neighbours()[1:]

    def low_bits(self) -> list[Finding]:
        """Draws of two neighbours."""
        one, other = self._sides(few(self.case), max(8, self.effort.attacks // (2 * SLOWER)))
        return seen_through((one, other), self.case.plan(len(few(self.case))))

    def _sides(self, crowd: list[Rows], count: int) -> list[list[Draw]]:
        """Draws of the worst pair among the crowd, with system entropy."""
        sides = [[[crowd[0][0] | cells], *crowd[1:]] for cells in WORST]
        return [[self.case.drawn(people, SystemNoise()) for _ in range(count)] for people in sides]

    def refusals(self) -> list[Finding]:
        """Epsilons and deltas that mean nothing, groups that are not declared."""
        groups: list[Attempt] = [
            (f"by {by}", partial(Groups, self.case.schema, by))
            for by in ((), ("age",), ("arm", "arm"))
        ]
        return [refused([*self.settings_without_promise(), *groups])]

    def outcomes(self) -> list[Finding]:
        """Draws of the worst pair, along the line on which their sums differ."""
        person = few(self.case)[:1]
        pair = [[[person[0][0] | cells]] for cells in WORST]
        one, other = (self.case.drawn(people, KnownNoise()).point for people in pair)
        sides = self._sides(person, self.effort.fits)
        first, second = (np.array([(one - other) @ draw.point for draw in side]) for side in sides)
        note = f"{self.effort.fits} draws a side, one person, the line of the largest difference"
        claim, check = self.case.promise(1), "lower bound on epsilon"
        return [shown("end to end", check, (first, second), claim, note)]
