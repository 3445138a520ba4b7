"""All checks of a mechanism, in order."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from discreet.audit.curves import CURVES
from discreet.audit.end_to_end import check_end_to_end
from discreet.audit.findings import Effort, Finding, Subject, judged
from discreet.audit.lattice import check_lattice
from discreet.audit.law import check_law
from discreet.audit.neighbours import check_neighbours
from discreet.audit.pages import check_constants
from discreet.audit.questions import check_questions
from discreet.audit.refusals import check_refusals
from discreet.audit.replay import check_replay
from discreet.audit.witness import check_witness
from discreet.version import __version__

Check = Callable[[Subject, Effort], list[Finding]]

FAMILIES: Mapping[str, Check] = MappingProxyType(
    {
        "witness": check_witness,
        "constants": check_constants,
        "neighbours": check_neighbours,
        "law": check_law,
        "lattice": check_lattice,
        "replay": check_replay,
        "questions": check_questions,
        "refusals": check_refusals,
        "end to end": check_end_to_end,
    }
)


@dataclass(frozen=True)
class Audit:
    """What was found, of a mechanism or of a release."""

    subject: str
    facts: Mapping[str, Any]
    findings: tuple[Finding, ...]

    @property
    def sound(self) -> bool:
        """Whether no check failed."""
        return not any(item.failed for item in self.findings)

    def to_mapping(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "format": "discreet-audit",
            "version": 1,
            "library_version": __version__,
            "subject": self.subject,
            "facts": dict(self.facts),
            "sound": self.sound,
            "findings": [item.to_mapping() for item in self.findings],
        }


def audit_mechanism(
    subject: Subject, effort: Effort, tell: Callable[[str], None] = lambda _: None
) -> Audit:
    """Every family of checks."""
    findings: list[Finding] = []
    for name in FAMILIES:
        tell(name)
        findings += run_family(name, subject, effort)
    facts = {"mechanism": subject.name, "epsilon": subject.epsilon, "delta": subject.delta}
    kinds = {"strata": subject.strata, "causes": subject.causes}
    facts |= {name: number for name, number in kinds.items() if number > 1}
    return Audit(f"mechanism {subject.name}", facts, tuple(findings))


def run_family(name: str, subject: Subject, effort: Effort) -> Sequence[Finding]:
    """The checks of one family; an error inside them is a failure."""
    try:
        families = {**FAMILIES, **CURVES} if subject.of_curves else FAMILIES
        return families[name](subject, effort)
    except Exception as error:  # noqa: BLE001 - broken code may break a check in any way
        kind = type(error).__name__
        return [judged(name, "the check itself", "completes", kind, sound=False, note=str(error))]
