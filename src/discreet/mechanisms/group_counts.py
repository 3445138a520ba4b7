"""Counts of exits by group, time and outcome, released once: what curves by group are made of.

    y = M x + noise      for the sequence x of every group and outcome (and of entries)

With delta > 0, M is the integer square root of cumulation: noise of cumulated counts grows with the
logarithm of the number of stretches. With delta = 0, M is the identity and stretches are few.
Proof: docs/proofs/group-curves.md.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from discreet.design.groups import Groups, outcomes_of, strategy, stretch_edges
from discreet.errors import SettingsError
from discreet.mechanisms.contract import (
    NOT_GIVEN,
    Draw,
    Plan,
    is_count,
    require_positive,
    settings_of,
)
from discreet.people.episodes import Episodes
from discreet.privacy.accountant import rho_for
from discreet.privacy.guarantee import Guarantee, checked_delta
from discreet.privacy.noise import LARGEST_VALUE
from discreet.privacy.scales import exact, gaussian_scale, laplace_scale, upper_square_root
from discreet.privacy.shares import ALONE, NoiseShares
from discreet.types import Array, Integers

if TYPE_CHECKING:
    from discreet.engine.engine import Engine
    from discreet.privacy.noise import NoiseSource

DEFAULT_DELTA = 1e-6
MOST_STRETCHES = 40
"""Finer ones would show nothing in a figure; the noise would allow them."""
EXITS, EXITS_AND_ENTRIES = 1, 2
FEWEST_STRETCHES, PEOPLE_PER_DEVIATION = 4, 8
"""Without cumulation (pure epsilon): so many people of a group per deviation of a count's noise."""


@dataclass(frozen=True)
class GroupCounts:
    """(epsilon, delta)-DP, or epsilon-DP with delta = 0, under replace-one (proved).

    `delta=None` means 1e-6, or 1/(10 n) where that is smaller.
    """

    epsilon: float = NOT_GIVEN
    delta: float | None = None

    name: ClassVar[str] = "curves"
    proof: ClassVar[str] = "group-curves"
    needs_memory: ClassVar[bool] = False
    across_sites: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Refuse settings that promise nothing."""
        require_positive("epsilon", self.epsilon)
        if self.delta is not None:
            checked_delta(self.delta)

    def promise(self, persons: int) -> Guarantee:
        """What is promised of n persons."""
        delta = self._delta(persons)
        return Guarantee(self.epsilon, delta, None if delta == 0 else rho_for(self.epsilon, delta))

    def plan(self, persons: int, groups: Groups, sites: NoiseShares = ALONE) -> Plan:
        """Stretches, matrix, scale of the noise: from public facts alone."""
        if not is_count(persons):
            raise SettingsError("the number of persons must be a positive integer")
        promise, time = self.promise(persons), groups.schema.time
        sites.require_delta(promise.delta)
        pure, late = promise.delta == 0, time.entry is not None
        stretches = self._stretches(persons, groups, pure=pure, late=late)
        matrix = strategy(stretches, pure=pure)
        tables = EXITS_AND_ENTRIES if late else EXITS
        largest = persons * int(matrix[:, 0].sum())
        if largest > LARGEST_VALUE:
            raise SettingsError("so many persons are beyond the integers that noise is added to.")
        sequences = groups.number * (outcomes_of(groups.schema) + tables)
        scale = self._scale(promise, matrix, tables, sites)
        return Plan(
            mechanism=self.name,
            settings={**settings_of(self), "by": list(groups.by)},  # type: ignore[arg-type]
            guarantee=promise,
            persons=persons,
            dimension=sequences * stretches,
            noise_scale=float(scale) * sites.excess,
            grid_exponent=0,
            details={
                "groups": groups.number,
                "outcomes": outcomes_of(groups.schema),
                "stretches": stretches,
                "late_entry": late,
                "scale": str(scale),
                **sites.details(),
            },
        )

    def draw(self, plan: Plan, groups: Groups, engine: "Engine", noise: "NoiseSource") -> Draw:
        """One pass over the people, one vector of noise."""
        details: Any = plan.details
        stretches = int(details["stretches"])
        tables = EXITS_AND_ENTRIES if details["late_entry"] else EXITS
        edges = stretch_edges(groups.schema.time.intervals, stretches)
        (counts,) = engine.reduce(
            block_group_exits, edges, groups.levels, details["outcomes"], tables
        )
        pure = plan.guarantee.delta == 0
        sums = (counts.reshape(-1, stretches) @ strategy(stretches, pure=pure).T).ravel()
        scale = Fraction(str(details["scale"]))
        noisy = noise.l1_laplace(sums, scale) if pure else noise.discrete_gaussian(sums, scale)
        return Draw.from_integers(noisy, 0, private=noise.private)

    def _delta(self, persons: int) -> float:
        if self.delta is not None:
            return float(self.delta)
        return min(DEFAULT_DELTA, 1.0 / (10 * persons))

    def _stretches(self, persons: int, groups: Groups, *, pure: bool, late: bool) -> int:
        """As many as a figure shows; without cumulation as few as keep counts above their noise."""
        most = min(groups.schema.time.intervals, MOST_STRETCHES)
        if not pure:
            return most
        deviation = math.sqrt(2.0) * (4 if late else 2) / self.epsilon
        wanted = int(persons / groups.number / (PEOPLE_PER_DEVIATION * deviation))
        return min(most, max(FEWEST_STRETCHES, wanted))

    def _scale(
        self, promise: Guarantee, matrix: Integers, tables: int, sites: NoiseShares
    ) -> Fraction:
        """The proof's sensitivity over the budget."""
        if promise.delta == 0:
            return laplace_scale(2 * tables, exact(self.epsilon))
        squared = 2 * tables * int(np.sum(matrix[:, 0] ** 2))
        rho = sites.spendable(promise.exact_rho)
        scale = gaussian_scale(upper_square_root(Fraction(squared)), rho)
        return max(Fraction(scale), sites.least_scale)


def block_group_exits(
    block: Episodes, edges: Integers, levels: tuple[int, ...], outcomes: int, tables: int
) -> tuple[Integers]:
    """Counts by (censored, events ..., [entered]) x group x stretch: one cell each per person."""
    size, groups = len(edges) - 1, math.prod(levels)
    first, last = block.ends
    group = _groups(block.covariates[first], levels)
    ended = block.event if block.cause is None else block.cause
    kind = ended[last].astype(np.int64)
    place = np.searchsorted(edges, block.exit[last], side="left") - 1
    cell = (kind * groups + group) * size + place
    counts = np.bincount(cell, minlength=(outcomes + 1) * groups * size)
    if tables == EXITS_AND_ENTRIES:
        began = np.searchsorted(edges, block.entry[first], side="right") - 1
        entries = np.bincount(group * size + began, minlength=groups * size)
        counts = np.concatenate([counts, entries])
    return (counts.astype(np.int64),)


def _groups(covariates: Array, levels: tuple[int, ...]) -> Integers:
    """The number of the combination of levels; a level is the indicator that is positive."""
    group, column = np.zeros(len(covariates), dtype=np.int64), 0
    for number in levels:
        chosen = covariates[:, column : column + number - 1] > 0
        level = np.where(chosen.any(axis=1), chosen.argmax(axis=1) + 1, 0)
        group, column = group * number + level, column + number - 1
    return group
