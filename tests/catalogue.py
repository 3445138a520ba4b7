"""Every planted bug by subject, and the table of them in docs/audit.md.

`python -m tests.catalogue` writes the table; `tests/mechanisms/test_seeded_bugs.py` plants the bugs.
"""

from pathlib import Path

import discreet.paper.audit  # noqa: F401 - the sampler is audited too
from discreet.audit import FAMILIES, Effort, Subject
from discreet.audit.findings import FALSE_ALARM
from discreet.audit.run import _family, audit_of
from tests.audit.later_bugs import LATER_BUGS
from tests.audit.unseen_bugs import UNSEEN_BUGS
from tests.federation.joint_bugs import JOINT_BUGS
from tests.ledger.ledger_bugs import LEDGER_BUGS
from tests.mechanisms.budget_bugs import BUDGET_BUGS
from tests.mechanisms.bugs import BUGS
from tests.mechanisms.causes_bugs import CAUSES_BUGS
from tests.mechanisms.changes_bugs import CHANGES_BUGS
from tests.mechanisms.curves_bugs import CURVES_BUGS
from tests.mechanisms.identity_bugs import IDENTITY_BUGS
from tests.mechanisms.more_bugs import MORE_BUGS
from tests.mechanisms.strata_bugs import STRATA_BUGS

PAGE = Path(__file__).parents[1] / "docs" / "audit.md"
BEGIN, END = "<!-- bugs: begin -->\n", "<!-- bugs: end -->\n"
SMALL = Effort(pairs=12, fits=20, slow_fits=20, draws=60)
ENOUGH = Effort(pairs=12, fits=20, slow_fits=20, draws=4000)
WHY = {
    "Several sites": "of what sites say to each other; the audit draws their noise alone",
    "Budgets": "of what a ledger adds up; the audit charges none",
    "Who is a person": "of reading files; the audit takes tables whose people are known",
    "Ledgers": "of the ledger; the audit charges none",
}
"""Why the audit is not asked about the bugs of a table, unless a bug says otherwise."""
TABLES = {
    "Perturbation mechanisms, noise and records": BUGS,
    "Private Newton, selection and the way to a release": MORE_BUGS,
    "Strata": STRATA_BUGS,
    "Competing risks": CAUSES_BUGS,
    "Curves by group": CURVES_BUGS,
    "Effects that change with time": CHANGES_BUGS,
    "Written down from the proofs, before the checks were looked at": UNSEEN_BUGS,
    "Written down from the proofs a second time, for the audit of 0.3.0": LATER_BUGS,
    "Several sites": JOINT_BUGS,
    "Budgets": BUDGET_BUGS,
    "Who is a person": IDENTITY_BUGS,
    "Ledgers": LEDGER_BUGS,
}
ALL_BUGS = [bug for table in TABLES.values() for bug in table]


def subject_of(name):
    """The mechanism of a name such as "newton, pure"."""
    kind, _, pure = name.partition(", ")
    delta = {"delta": 0.0 if pure else 1e-6} if kind in {"newton", "curves"} else {}
    return Subject(kind, **delta)


def failures(noticed):
    """What fails in a family, of sums on one kind of people alone.

    So few draws cannot reject the controls of a law, and of one kind not everything is asked.
    """
    name, family, *kinds = noticed.split(": ")
    audit = audit_of(subject_of(name), ENOUGH if family == "law" else SMALL)
    for kind in kinds:
        audit.cases = [case for case in audit.cases if case.kind.name == kind]
        audit.case = audit.cases[-1]
        if family not in {"law", "replay"}:
            audit.cases = audit.cases[:1]  # where everything is asked
    found = [item for item in _family(family, audit) if item.failed and item.check != "questions"]
    return [item for item in found if not item.numbers.get("p_value", 0.0) > FALSE_ALARM]


def written(text):
    """The page with its tables of bugs: what the audit notices by family, then what tests do."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    asked = [bug for bug in ALL_BUGS if isinstance(bug.check, str)]
    lines = [f"{len(ALL_BUGS)} bugs, of which the audit notices {len(asked)}.\n"]
    for family in FAMILIES:
        own = [bug for bug in asked if bug.check.split(": ")[1] == family]
        if own:
            lines += [
                f"\n### Noticed by {family}: {len(own)}\n\n",
                "| audited | bugs |\n|---|---|\n",
            ]
        places = sorted({_audited(bug) for bug in own})
        for place in places:
            titles = "; ".join(bug.title for bug in own if _audited(bug) == place)
            lines.append(f"| {place} | {titles} |\n")
    lines += ["\n### Left to the tests\n\n", "| why not the audit | bugs |\n|---|---|\n"]
    left = {}
    for heading, bugs in TABLES.items():
        for bug in bugs:
            if not isinstance(bug.check, str):
                left.setdefault(bug.why or WHY[heading], []).append(bug.title)
    lines += [f"| {why} | {'; '.join(titles)} |\n" for why, titles in left.items()]
    return f"{before}{BEGIN}\n{''.join(lines)}\n{END}{after}"


def _audited(bug):
    name, _, *kinds = bug.check.split(": ")
    return f"`{name}`" + "".join(f": {kind}" for kind in kinds)


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text()))
