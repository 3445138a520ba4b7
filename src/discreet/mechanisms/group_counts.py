"""Counts of exits by group, time and outcome, released once, from which curves are computed.

    y = M x + noise      for the sequence x of every group and outcome (and of entries)

With delta > 0, M is the integer square root of cumulation: noise of cumulated counts grows with the
logarithm of the number of stretches. With delta = 0, M is the identity and stretches are few.
Proof: docs/proofs/group-curves.md.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from discreet.core.ask import Ask
from discreet.core.question import group_counts, group_sensitivity
from discreet.core.split import Split
from discreet.design.groups import Groups, outcomes_of
from discreet.errors import SettingsError
from discreet.mechanisms.contract import NOT_GIVEN, Draw, Plan, require_positive, settings_of
from discreet.privacy.accountant import promised
from discreet.privacy.guarantee import Guarantee, checked_delta, delta_for
from discreet.privacy.scales import exact, is_count
from discreet.privacy.shares import ALONE, NoiseShares

if TYPE_CHECKING:
    from discreet.engine.engine import Engine
    from discreet.privacy.noise import NoiseSource

WHOLE = Fraction(1)
"""The budget's share of the only question."""
MOST_STRETCHES = 40
"""More would not be visible in a figure; the noise would allow them."""
FEWEST_STRETCHES, PEOPLE_PER_DEVIATION = 4, 8
"""For pure epsilon: people of a group in each stretch, in deviations of a count's noise."""


@dataclass(frozen=True)
class GroupCounts:
    """Counts by group for curves: (epsilon, delta)-DP, or epsilon-DP with delta = 0 (proved).

    Parameters
    ----------
    epsilon
        Privacy: the smaller, the stronger.
    delta
        1e-6, or 1/(10 n) where that is smaller, if None; 0 for pure epsilon.

    Examples
    --------
    >>> ds.GroupCounts(epsilon=0.5)
    GroupCounts(epsilon=0.5, delta=None)
    """

    epsilon: float = NOT_GIVEN
    delta: float | None = None

    name: ClassVar[str] = "curves"
    proof: ClassVar[str] = "group-curves"
    needs_memory: ClassVar[bool] = False
    across_sites: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_positive("epsilon", self.epsilon)
        if self.delta is not None:
            checked_delta(self.delta)

    def promise(self, persons: int) -> Guarantee:
        """Return the guarantee of n persons."""
        return promised(self.epsilon, delta_for(persons, self.delta))

    def plan(self, persons: int, groups: Groups, sites: NoiseShares = ALONE) -> Plan:
        """Return stretches, matrix and scale of the noise, from public facts alone."""
        if not is_count(persons):
            raise SettingsError("the number of persons must be a positive integer")
        promise, time = self.promise(persons), groups.schema.time
        sites.require_delta(promise.delta)
        pure, late = promise.delta == 0, time.entry is not None
        stretches = self._stretches(persons, groups, pure=pure, late=late)
        split = self._split(promise, sites)
        sensitivity = group_sensitivity(groups, stretches, pure=pure)
        if not sensitivity.keeps(persons):
            raise SettingsError(
                "sums over this number of persons are beyond the integers that noise is added to."
            )
        split.require_drawable(WHOLE, sensitivity)
        scale = split.scale(WHOLE, sensitivity)
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
        """Draw the counts: one pass over the people, one vector of noise."""
        details: Any = plan.details
        ask = Ask(engine, noise, self._split(plan.guarantee, NoiseShares.read(details)))
        question = group_counts(groups, int(details["stretches"]), pure=ask.split.pure)
        return Draw.from_integers(ask(question, WHOLE).values, 0, private=ask.private)

    def _stretches(self, persons: int, groups: Groups, *, pure: bool, late: bool) -> int:
        """Return the number of stretches; for pure epsilon, few enough to exceed the noise."""
        most = min(groups.schema.time.intervals, MOST_STRETCHES)
        if not pure:
            return most
        deviation = math.sqrt(2.0) * (4 if late else 2) / self.epsilon
        wanted = int(persons / groups.number / (PEOPLE_PER_DEVIATION * deviation))
        return min(most, max(FEWEST_STRETCHES, wanted))

    def _split(self, promise: Guarantee, sites: NoiseShares) -> Split:
        """Return the split of the budget: all of it for one question."""
        pure = promise.delta == 0
        total = exact(self.epsilon) if pure else sites.spendable(promise.exact_rho)
        return Split(total, pure, (("counts", WHOLE),), sites=sites)
