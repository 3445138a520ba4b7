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
from discreet.privacy.accountant import promised
from discreet.privacy.guarantee import Guarantee, checked_delta, delta_for
from discreet.privacy.noise import LARGEST_VALUE
from discreet.privacy.scales import exact, gaussian_scale, laplace_scale, upper_square_root
from discreet.privacy.shares import ALONE, NoiseShares
from discreet.types import Array, Integers

if TYPE_CHECKING:
    from discreet.engine.engine import Engine
    from discreet.privacy.noise import NoiseSource

EXIT, EXIT_AND_ENTRY = 1, 2
"""Cells that a person stands in."""
MOST_STRETCHES = 40
"""Finer ones would show nothing in a figure; the noise would allow them."""
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
        return promised(self.epsilon, delta_for(persons, self.delta))

    def plan(self, persons: int, groups: Groups, sites: NoiseShares = ALONE) -> Plan:
        """Stretches, matrix, scale of the noise: from public facts alone."""
        if not is_count(persons):
            raise SettingsError("the number of persons must be a positive integer")
        promise, time = self.promise(persons), groups.schema.time
        sites.require_delta(promise.delta)
        pure, late = promise.delta == 0, time.entry is not None
        stretches = self._stretches(persons, groups, pure=pure, late=late)
        longest = strategy(stretches + 1, pure=pure)
        if persons * int(longest[:, 0].sum()) > LARGEST_VALUE:
            raise SettingsError("so many persons are beyond the integers that noise is added to.")
        cells = EXIT_AND_ENTRY if late else EXIT
        scale = self._scale(promise, longest, cells, sites)
        return Plan(
            mechanism=self.name,
            settings={**settings_of(self), "by": list(groups.by)},  # type: ignore[arg-type]
            guarantee=promise,
            persons=persons,
            dimension=sum(math.prod(shape) for shape in groups.tables(stretches)),
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
        edges = stretch_edges(groups.schema.time.intervals, stretches)
        counted = groups.tables(stretches)
        tables = engine.reduce(block_group_counts, edges, groups.levels, counted)
        pure = plan.guarantee.delta == 0
        sums = np.concatenate([_through_strategy(table, pure=pure) for table in tables])
        scale = Fraction(str(details["scale"]))
        noisy = noise.l1_laplace(sums, scale) if pure else noise.discrete_gaussian(sums, scale)
        return Draw.from_integers(noisy, 0, private=noise.private)

    def _stretches(self, persons: int, groups: Groups, *, pure: bool, late: bool) -> int:
        """As many as a figure shows; without cumulation as few as keep counts above their noise."""
        most = min(groups.schema.time.intervals, MOST_STRETCHES)
        if not pure:
            return most
        deviation = math.sqrt(2.0) * (4 if late else 2) / self.epsilon
        wanted = int(persons / groups.number / (PEOPLE_PER_DEVIATION * deviation))
        return min(most, max(FEWEST_STRETCHES, wanted))

    def _scale(
        self, promise: Guarantee, longest: Integers, cells: int, sites: NoiseShares
    ) -> Fraction:
        """The proof's sensitivity over the budget."""
        if promise.delta == 0:
            return laplace_scale(2 * cells, exact(self.epsilon))
        squared = 2 * cells * int(np.sum(longest[:, 0] ** 2))
        rho = sites.spendable(promise.exact_rho)
        scale = gaussian_scale(upper_square_root(Fraction(squared)), rho)
        return max(Fraction(scale), sites.least_scale)


def _through_strategy(table: Integers, *, pure: bool) -> Integers:
    """M x of every sequence, one after the other."""
    return np.asarray(table @ strategy(table.shape[1], pure=pure).T).ravel()


def block_group_counts(
    block: Episodes,
    edges: Integers,
    levels: tuple[int, ...],
    tables: tuple[tuple[int, int], ...],
) -> tuple[Integers, ...]:
    """Events, censored people and entries, by sequence and place (`Groups.tables`).

    A person at risk stands in one cell of the first two tables and in one of the third.
    """
    first, last = block.ends
    group, leaves = _groups(block.covariates[first], levels), block.exit[last]
    ended = block.event if block.cause is None else block.cause
    kind = ended[last].astype(np.int64)
    stretch = np.searchsorted(edges, leaves, side="left") - 1
    happened = kind > 0
    event = (kind - 1) * math.prod(levels) + group
    censored = np.where(leaves == edges[-1], len(edges) - 1, stretch)
    found = [
        _counted(event[happened], stretch[happened], tables[0]),
        _counted(group[~happened], censored[~happened], tables[1]),
    ]
    if len(tables) > len(found):
        entry = block.entry[first]
        began = np.where(entry == 0, 0, np.searchsorted(edges, entry, side="right"))
        found.append(_counted(group, began, tables[2]))
    return tuple(found)


def _counted(sequence: Integers, place: Integers, shape: tuple[int, int]) -> Integers:
    cells = np.bincount(sequence * shape[1] + place, minlength=math.prod(shape))
    return cells.astype(np.int64).reshape(shape)


def _groups(covariates: Array, levels: tuple[int, ...]) -> Integers:
    """The number of the combination of levels; a level is the indicator that is positive."""
    group, column = np.zeros(len(covariates), dtype=np.int64), 0
    for number in levels:
        chosen = covariates[:, column : column + number - 1] > 0
        level = np.where(chosen.any(axis=1), chosen.argmax(axis=1) + 1, 0)
        group, column = group * number + level, column + number - 1
    return group
