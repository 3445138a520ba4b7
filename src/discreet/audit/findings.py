"""Findings of an audit: claimed, measured, and whether the claim holds; its subject and effort."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

from discreet.errors import SettingsError
from discreet.mechanisms.contract import Mechanism, get_mechanism
from discreet.mechanisms.group_counts import GroupCounts
from discreet.privacy.scales import is_count

Verdict = Literal["pass", "fail", "not applicable"]

FALSE_ALARM = 1e-6
"""The chance that sound code fails one statistical check."""


@dataclass(frozen=True)
class Finding:
    """One line of the audit's table.

    `family` is the kind of check (witness, neighbours, ...), `numbers` what was measured, for the
    JSON file; `note` says how, or why the check does not apply.
    """

    family: str
    check: str
    claimed: str
    measured: str
    verdict: Verdict
    note: str = ""
    numbers: Mapping[str, float] = field(default_factory=dict)

    @property
    def failed(self) -> bool:
        """Whether the claim does not stand."""
        return self.verdict == "fail"

    def to_mapping(self) -> dict[str, Any]:
        """As JSON: numbers that are not finite become None, which JSON can say."""
        plain = asdict(self)
        plain["numbers"] = {
            key: value if math.isfinite(value) else None for key, value in self.numbers.items()
        }
        return plain


def judged(
    check: str, claimed: str, measured: str, *, sound: bool, note: str = "", numbers: Any = None
) -> Finding:
    """A finding that passes where `sound` holds; its family is named where it runs."""
    numbers = numbers or {}
    return Finding("", check, claimed, measured, "pass" if sound else "fail", note, numbers)


def at_most(check: str, claimed: float, measured: float, note: str = "") -> Finding:
    """Passes where the measured number is a number and not above the claimed one."""
    said, numbers = f"at most {claimed:.6g}", {"claimed": claimed, "measured": measured}
    return judged(
        check, said, f"{measured:.6g}", sound=measured <= claimed, note=note, numbers=numbers
    )


def ratio(squared: int, limit: int) -> float:
    """The root of an exact ratio; above 1 where the integers are."""
    if squared == limit:
        return 1.0
    root = math.sqrt(squared / limit) if limit else math.inf
    return min(root, math.nextafter(1.0, 0.0)) if squared < limit else max(root, 1 + 1e-9)


def equal_to(
    check: str, claimed: float, measured: float, note: str = "", tolerance: float = 1e-9
) -> Finding:
    """Passes where both agree to the relative tolerance."""
    sound, said = math.isclose(measured, claimed, rel_tol=tolerance), f"{claimed:.10g}"
    numbers = {"claimed": claimed, "measured": measured}
    return judged(check, said, f"{measured:.10g}", sound=sound, note=note, numbers=numbers)


def without(check: str, claimed: str, exceptions: Sequence[str], note: str = "") -> Finding:
    """Passes where there is no exception; otherwise names a few."""
    names = sorted(set(exceptions))
    found = f"not {'; '.join(names[:3])}" + ("; ..." if len(names) > 3 else "")
    return judged(check, claimed, found if names else "all of them", sound=not names, note=note)


def not_applicable(check: str, reason: str) -> Finding:
    """A check that this mechanism cannot have, and why."""
    return Finding("", check, "", "", "not applicable", reason)


@dataclass(frozen=True)
class Effort:
    """How many pairs, fits and draws; `full` takes about a minute, `quick` less."""

    pairs: int
    fits: int
    slow_fits: int
    draws: int

    @classmethod
    def full(cls) -> "Effort":
        """The counts of the command."""
        return cls(pairs=300, fits=3000, slow_fits=300, draws=10_000)

    @classmethod
    def quick(cls) -> "Effort":
        """Enough to notice a broken constant."""
        return cls(pairs=24, fits=200, slow_fits=100, draws=5000)


@dataclass(frozen=True)
class Subject:
    """A mechanism under its claimed epsilon and, where it has one, delta.

    `strata` and `causes` above 1 ask for releases of such models; ``"curves"`` are curves by group.
    """

    name: str
    epsilon: float = 1.0
    delta: float | None = None
    strata: int = 1
    causes: int = 1

    def __post_init__(self) -> None:
        """Refuse what the mechanism does not have, and settings that mean nothing."""
        if self.delta is not None and not self.has("delta"):
            raise SettingsError(f"the mechanism {self.name} has no delta; leave it out.")
        if not is_count(self.strata) or not is_count(self.causes):
            raise SettingsError("strata and causes must be positive integers.")
        if self.strata > 1 and self.causes > 1:
            raise SettingsError("strata do not go with causes; ask for the one or the other.")
        if self.strata * self.causes > 1 and self.name != "newton":
            raise SettingsError(
                f"{self.name} is audited without strata and causes; leave them out."
            )
        self.mechanism()

    @property
    def kind(self) -> Any:
        """The mechanism's class."""
        return GroupCounts if self.of_curves else get_mechanism(self.name)

    @property
    def of_curves(self) -> bool:
        """Whether curves are audited, which are no model."""
        return self.name == GroupCounts.name

    def has(self, setting: str) -> bool:
        """Whether the mechanism has this setting."""
        return setting in {item.name for item in fields(self.kind)}

    def mechanism(self, epsilon: float | None = None, **settings: Any) -> Mechanism:
        """The mechanism of a model, by default with the claimed epsilon and its own defaults."""
        if self.delta is not None:
            settings["delta"] = self.delta
        built: Mechanism = self.kind(
            epsilon=self.epsilon if epsilon is None else epsilon, **settings
        )
        return built
