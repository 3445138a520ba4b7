"""What a check of the audit says: claimed, measured, and whether the claim stands.

What is audited, and how long.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

from discreet.errors import SettingsError
from discreet.mechanisms import Mechanism, get_mechanism

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
    family: str,
    check: str,
    claimed: str,
    measured: str,
    *,
    sound: bool,
    note: str = "",
    numbers: Mapping[str, float] | None = None,
) -> Finding:
    """A finding that passes where `sound` holds."""
    verdict: Verdict = "pass" if sound else "fail"
    return Finding(family, check, claimed, measured, verdict, note, numbers or {})


def at_most(family: str, check: str, claimed: float, measured: float, note: str = "") -> Finding:
    """Passes where the measured number is a number and not above the claimed one."""
    return judged(
        family,
        check,
        f"at most {claimed:.6g}",
        f"{measured:.6g}",
        sound=measured <= claimed,
        note=note,
        numbers={"claimed": claimed, "measured": measured},
    )


def equal_to(
    family: str,
    check: str,
    claimed: float,
    measured: float,
    note: str = "",
    tolerance: float = 1e-9,
) -> Finding:
    """Passes where both agree to the relative tolerance."""
    return judged(
        family,
        check,
        f"{claimed:.10g}",
        f"{measured:.10g}",
        sound=math.isclose(measured, claimed, rel_tol=tolerance),
        note=note,
        numbers={"claimed": claimed, "measured": measured},
    )


def not_applicable(family: str, check: str, reason: str) -> Finding:
    """A check that this mechanism cannot have, and why."""
    return Finding(family, check, "", "", "not applicable", reason)


@dataclass(frozen=True)
class Effort:
    """How many pairs, fits and draws; `full` takes minutes, `quick` seconds."""

    pairs: int
    fits: int
    slow_fits: int
    draws: int
    attacks: int

    @classmethod
    def full(cls) -> "Effort":
        """The counts of the published audit."""
        return cls(pairs=1000, fits=13_000, slow_fits=1000, draws=20_000, attacks=200_000)

    @classmethod
    def quick(cls) -> "Effort":
        """Enough to notice a broken constant."""
        return cls(pairs=24, fits=200, slow_fits=100, draws=5000, attacks=400)


@dataclass(frozen=True)
class Subject:
    """A registered mechanism under its claimed epsilon and, where it has one, delta."""

    name: str
    epsilon: float = 1.0
    delta: float | None = None

    def __post_init__(self) -> None:
        """Refuse a delta that the mechanism does not have, and settings that mean nothing."""
        if self.delta is not None and not self.has("delta"):
            raise SettingsError(f"the mechanism {self.name} has no delta; leave it out.")
        self.mechanism()

    def has(self, setting: str) -> bool:
        """Whether the mechanism has this setting."""
        kind: Any = get_mechanism(self.name)
        return setting in {item.name for item in fields(kind)}

    def mechanism(self, epsilon: float | None = None, **settings: Any) -> Mechanism:
        """The mechanism, by default with the claimed epsilon and its own defaults."""
        kind: Any = get_mechanism(self.name)
        if self.delta is not None:
            settings["delta"] = self.delta
        built: Mechanism = kind(epsilon=self.epsilon if epsilon is None else epsilon, **settings)
        return built
