# ruff: noqa: INP001  # a script, no package
"""The audit of every mechanism, quick, as the command runs it, and at full counts.

Findings go to results/audit.csv family by family.

A run continues where an earlier one stopped, and `--fresh` begins anew.  `--only curves selected`
runs these alone.  `--report` writes the table in docs/audit.md from the results file.
"""

import argparse
import sys
import textwrap
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import discreet.paper.audit  # noqa: E402, F401 - the sampler is audited too
from discreet.audit import Effort, Finding, Subject  # noqa: E402
from discreet.audit.run import FAMILIES, run_family  # noqa: E402
from discreet.paper.results import Results  # noqa: E402
from discreet.text import aligned  # noqa: E402

PAGE = ROOT / "docs" / "audit.md"
COLUMNS = ["mechanism", "effort", "family", "check", "claimed", "measured", "verdict", "seconds"]
RESULTS = Results(Path(__file__).parent / "results" / "audit.csv", COLUMNS, COLUMNS[:3])
HARD_SPACE = "\N{NO-BREAK SPACE}"
BEGIN, END = "<!-- written by evidence/audit.py --report -->\n", "<!-- end -->\n"

SUBJECTS = {
    "output": Subject("output"),
    "objective": Subject("objective"),
    "newton": Subject("newton", delta=1e-6),
    "newton, pure": Subject("newton", delta=0.0),
    "newton, strata": Subject("newton", delta=1e-6, strata=3),
    "newton, causes": Subject("newton", delta=1e-6, causes=3),
    "curves": Subject("curves", delta=1e-6),
    "curves, pure": Subject("curves", delta=0.0),
    "selected": Subject("selected"),
    "sampler": Subject("sampler"),
}
FULL = Effort.full()
EFFORTS = {
    "quick": Effort.quick(),
    "default": FULL,
    "full": replace(FULL, slow_fits=FULL.fits),
}
AUDITS = [
    (name, effort)
    for effort in EFFORTS
    for name in SUBJECTS
    if effort != "full" or name.startswith("newton")
]
"""Full counts concern Newton alone: the perturbations and curves have as many by default, and a fit
of `selected` or `sampler` is many."""

Row = dict[str, str]


def run(only: list[str]) -> None:
    """Run what the results file lacks; the findings of one family are written together."""
    for name, effort in (pair for pair in AUDITS if pair[0] in only):
        for family in FAMILIES:
            if not RESULTS.has(mechanism=name, effort=effort, family=family):
                sys.stderr.write(f"{name}: {effort} {family}\n")
                _append([name, effort, family], *_measured(name, effort, family))


def _measured(name: str, effort: str, family: str) -> tuple[Iterable[Finding], float]:
    started = time.process_time()
    findings = run_family(family, SUBJECTS[name], EFFORTS[effort])
    return findings, time.process_time() - started


def _append(key: list[str], findings: Iterable[Finding], seconds: float) -> None:
    rows = []
    for item in findings:
        said = (item.check, item.claimed, item.measured, item.verdict)
        rows.append(dict(zip(COLUMNS, [*key, *said, f"{seconds:.1f}"], strict=True)))
        seconds = 0.0  # of the whole family, told once
    RESULTS.append(*rows)


def page(text: str, rows: list[Row]) -> str:
    """The page with its table made from the results."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table(rows)}\n{END}{after}"


def table(rows: list[Row]) -> str:
    """One line an audit that was run to its end, then those that were not."""
    headings = ["mechanism", "counts", "checks passed", "failed", "not applicable",
                "lower bound on epsilon", "processor minutes"]  # fmt: skip
    order = list(SUBJECTS)
    found = {
        pair: _of(rows, *pair) for pair in sorted(AUDITS, key=lambda pair: order.index(pair[0]))
    }
    lines = [headings, ["---"] * len(headings)]
    lines += [_line(*pair, rows) for pair, rows in found.items() if rows]
    missing = [f"`{name}` {effort}" for (name, effort), rows in found.items() if not rows]
    kept = ", ".join(item.replace(" ", HARD_SPACE) for item in missing)  # a name stays on its line
    words = textwrap.fill(f"Not run to the end: {kept}.", 100, break_on_hyphens=False)
    tail = f"\n{words.replace(HARD_SPACE, ' ')}\n" if missing else ""
    return "".join(f"| {' | '.join(line)} |\n" for line in lines) + tail


def _line(name: str, effort: str, rows: list[Row]) -> list[str]:
    verdicts = [row["verdict"] for row in rows]
    counts = [str(verdicts.count(verdict)) for verdict in ("pass", "fail", "not applicable")]
    bound = next(row["measured"] or "none" for row in rows if row["family"] == "end to end")
    minutes = sum(float(row["seconds"]) for row in rows) / 60
    return [f"`{name}`", effort, *counts, bound, f"{minutes:.1f}"]


def _of(rows: list[Row], name: str, effort: str) -> list[Row]:
    """The findings of one audit, or none if it was interrupted."""
    found = [row for row in rows if (row["mechanism"], row["effort"]) == (name, effort)]
    return found if {row["family"] for row in found} == set(FAMILIES) else []


def main() -> None:
    """Run, or write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fresh", action="store_true", help="forget earlier results")
    parser.add_argument("--only", nargs="+", choices=SUBJECTS, default=[*SUBJECTS])
    parser.add_argument("--report", action="store_true", help="only write docs/audit.md")
    options = parser.parse_args()
    if options.fresh:
        RESULTS.path.unlink(missing_ok=True)
    if not options.report:
        run(options.only)
    PAGE.write_text(page(PAGE.read_text(), RESULTS.rows()))
    failed = [row for row in RESULTS.rows() if row["verdict"] == "fail"]
    if failed:
        names = ("mechanism", "effort", "family", "check")
        sys.exit(aligned([names, *(tuple(row[name] for name in names) for row in failed)]))


if __name__ == "__main__":
    main()
