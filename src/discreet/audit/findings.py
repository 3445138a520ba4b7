"""What a check of the audit says: claimed, measured, and whether the claim stands."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

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
