"""All families of a mechanism, in order."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from multiprocessing import get_context
from typing import Any

from discreet.audit.curves import CurvesAudit
from discreet.audit.findings import Effort, Finding, Subject, judged
from discreet.audit.measured import FAMILIES, Measured
from discreet.audit.newton import NewtonAudit
from discreet.audit.objective import ObjectiveAudit
from discreet.audit.output import OutputAudit
from discreet.audit.selected import SelectedAudit
from discreet.engine.threads import one_blas_thread
from discreet.version import __version__

AUDITS: dict[str, type[Measured]] = {
    "output": OutputAudit,
    "objective": ObjectiveAudit,
    "selected": SelectedAudit,
    "newton": NewtonAudit,
    "curves": CurvesAudit,
}
"""The audit of every mechanism, by its name; the paper's sampler adds its own."""

LAST = "end to end"


@dataclass(frozen=True)
class Audit:
    """The findings about a mechanism or a release."""

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
    measured = audit_of(subject, effort)
    with ExitStack() as stack:
        outcomes: Future[Sequence[Finding]] | None = None
        if effort == Effort.full() and type(measured).__module__.startswith("discreet.audit"):
            # the longest family has a process of its own: it shares nothing with the others
            pool = ProcessPoolExecutor(1, mp_context=get_context("spawn"))
            outcomes = stack.enter_context(pool).submit(run_family, LAST, subject, effort)
        for number, name in enumerate(FAMILIES, 1):
            tell(f"{number} of {len(FAMILIES)}: {name}")
            if name == LAST and outcomes is not None:
                findings += outcomes.result()
            else:
                findings += _family(name, measured)
    facts = {"mechanism": subject.name, "epsilon": subject.epsilon, "delta": subject.delta}
    kinds = {"strata": subject.strata, "causes": subject.causes}
    facts |= {name: number for name, number in kinds.items() if number > 1}
    return Audit(f"mechanism {subject.name}", facts, tuple(findings))


def audit_of(subject: Subject, effort: Effort) -> Measured:
    """The audit of the subject's mechanism; of one without an audit of its own what all share."""
    return AUDITS.get(subject.name, Measured)(subject, effort)


def run_family(name: str, subject: Subject, effort: Effort) -> Sequence[Finding]:
    """The checks of one family; an error inside them is a failure."""
    return _family(name, audit_of(subject, effort))


def _family(name: str, measured: Measured) -> Sequence[Finding]:
    try:
        with (
            one_blas_thread()
        ):  # matrices are small, and threads that wait cost more than they bring
            found: Sequence[Finding] = getattr(measured, FAMILIES[name])()
    except Exception as error:  # noqa: BLE001 - broken code may break a check in any way
        said = type(error).__name__
        found = [judged("the check itself", "completes", said, sound=False, note=str(error))]
    return [replace(item, family=name) for item in found]
