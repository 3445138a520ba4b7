"""A population's budget: whole numbers of small units, compared exactly.

Epsilon is kept in billionths (1e-9) and delta in units of 1e-18, so that 0.1 and 1e-6 are exact and
no sum of them drifts.  What a sequence of charges adds up to, and whether one more fits, is decided
by `discreet.privacy.filter`, whose proof allows each request to depend on all earlier releases.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import cached_property
from typing import Any, Self, get_args

from discreet.errors import ArtefactError, SettingsError
from discreet.privacy.accountant import Totals
from discreet.privacy.filter import PrivacyFilter
from discreet.privacy.guarantee import Guarantee, Relation, Unit
from discreet.privacy.scales import exact

NANO = 10**9
ATTO = 10**18

Amount = int | float | str | Decimal
"""A number as it is written: 0.1 and "0.1" are one tenth."""


@dataclass(frozen=True)
class Budget:
    """What may be lost altogether, under one relation."""

    epsilon_nano: int
    delta_atto: int
    relation: Relation = "replace-one"
    unit: Unit = "person"

    def __post_init__(self) -> None:
        """Refuse what is no budget."""
        if not _is_count(self.epsilon_nano) or self.epsilon_nano < 1:
            raise SettingsError("a budget's epsilon must be a finite number greater than 0.")
        if not _is_count(self.delta_atto) or not 0 <= self.delta_atto < ATTO:
            raise SettingsError("a budget's delta must be at least 0 and less than 1.")
        if exact(self.epsilon) * NANO != self.epsilon_nano or not self._delta_is_shown():
            raise SettingsError("a budget's epsilon and delta have at most 15 significant digits.")
        if self.relation not in get_args(Relation) or self.unit not in get_args(Unit):
            raise SettingsError(
                f"a budget counts {' or '.join(get_args(Relation))} guarantees per person."
            )

    @classmethod
    def of(cls, epsilon: Amount, delta: Amount, relation: str, unit: str) -> Self:
        """The budget as the custodian writes it."""
        counts = _units("epsilon", epsilon, NANO), _units("delta", delta, ATTO)
        return cls(*counts, relation, unit)  # type: ignore[arg-type]  # checked after construction

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any]) -> Self:
        """The budget that `to_mapping` wrote."""
        if set(mapping) != {item.name for item in fields(cls)}:
            raise ArtefactError("a budget has exactly the keys that this version writes.")
        return cls(**mapping)

    def to_mapping(self) -> dict[str, Any]:
        """The budget as a JSON object of whole numbers and words."""
        return asdict(self)

    @property
    def epsilon(self) -> float:
        """Epsilon as the decimal number it shows."""
        return self.epsilon_nano / NANO

    @property
    def delta(self) -> float:
        """Delta as the decimal number it shows."""
        return self.delta_atto / ATTO

    def _delta_is_shown(self) -> bool:
        return exact(self.delta) * ATTO == self.delta_atto

    @cached_property
    def _filter(self) -> PrivacyFilter:
        return PrivacyFilter(self.epsilon, self.delta, self.relation)

    def admits(self, spent: Totals, request: Guarantee) -> bool:
        """Whether the request fits on top of what is spent; exactly what is left fits."""
        if (request.relation, request.unit) != (self.relation, self.unit):
            raise SettingsError(
                f"this ledger counts {self.relation} guarantees per {self.unit}; "
                "a release under another relation cannot be charged to it."
            )
        return self._filter.admits(spent, request)

    def covers(self, totals: Totals) -> bool:
        """Whether everything charged is within the budget."""
        return self._filter.covers(totals)

    def left_pure(self, spent: Totals) -> float:
        """The largest epsilon of one more release without delta."""
        return self._filter.left(spent)

    def left_zcdp(self, spent: Totals) -> float:
        """The largest epsilon, at the budget's delta, of one more release with Gaussian noise."""
        return self._filter.left(spent, self.delta) if self.delta_atto else 0.0

    def more_like(self, spent: Totals, request: Guarantee) -> int:
        """How many more releases like this one fit; 1,000 stands for that many or more."""
        return self._filter.more_like(spent, request)

    def spent_share(self, spent: Totals, request: Guarantee) -> float:
        """The part of the budget that is used up, as seen by a further release like this one."""
        return self._filter.spent_share(spent, request)


def _units(name: str, amount: Amount, per_one: int) -> int:
    try:
        value = Fraction(Decimal(repr(amount) if isinstance(amount, float) else amount))
    except (InvalidOperation, TypeError, ValueError, OverflowError):
        raise SettingsError(f"a budget's {name} must be a finite number.") from None
    units = value * per_one
    if units.denominator != 1:
        raise SettingsError(f"a budget's {name} must be a multiple of {1 / per_one:g}.")
    return units.numerator


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
