# ruff: noqa: INP001  # a script, no package
"""The audit of every mechanism as the command runs it, and of private Newton at full counts.

Findings go to results/audit.csv family by family, outcomes of fits end to end a few hundred at a
time to scratch/outcomes.csv: a run continues where an earlier one stopped, with outcomes of the
same source alone, and `--fresh` starts over.  `--only curves selected` runs these alone, `--effort
default` these counts, `--workers 2` so many families or parts at a time.  `--report` writes the
table in docs/audit.md from the results file.
"""

import argparse
import hashlib
import os
import sys
import textwrap
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402

import discreet.paper.audit  # noqa: E402, F401 - the sampler is audited too
from discreet.audit import FAMILIES, Effort, Finding, Subject  # noqa: E402
from discreet.audit.measured import SIDES, Measured  # noqa: E402
from discreet.audit.run import audit_of, run_family  # noqa: E402
from discreet.paper.results import Results  # noqa: E402
from discreet.text import aligned  # noqa: E402

PAGE = ROOT / "docs" / "audit.md"
COLUMNS = ["mechanism", "effort", "family", "check", "claimed", "measured", "verdict", "seconds"]
RESULTS = Results(Path(__file__).parent / "results" / "audit.csv", COLUMNS, COLUMNS[:3])
PARTS = ["source", "mechanism", "effort", "side", "part", "seconds", "values"]
OUTCOMES = Results(Path(__file__).parent / "scratch" / "outcomes.csv", PARTS, PARTS[:5])
A_PART = 500
"""Fits of one side that are kept together."""
OUTCOME = "end to end"
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
    "full": replace(FULL, slow_fits=13_000),
}
AUDITS = [
    (name, effort)
    for effort in ("default", "full")
    for name in SUBJECTS
    if effort == "default" or name.startswith("newton")
]
"""Full counts concern Newton alone: the perturbations and curves have as many by default, and a fit
of `selected` or `sampler` is many."""

Row = dict[str, str]


def families_of(effort: str) -> list[str]:
    """All of them; at full counts the one that has others than by default."""
    return [OUTCOME] if effort == "full" else [*FAMILIES]


@dataclass(frozen=True)
class Job:
    """A family, or of its fits end to end some of one side: what a process does at a time."""

    name: str
    effort: str
    family: str
    side: int = 0
    part: int = 0

    @property
    def key(self) -> list[str]:
        """As results name it."""
        return [self.name, self.effort, self.family]

    @property
    def in_parts(self) -> bool:
        """Whether it is of fits end to end; curves draw all of theirs at once."""
        return self.family == OUTCOME and not SUBJECTS[self.name].of_curves

    @property
    def audit(self) -> Measured:
        """Of the mechanism."""
        return audit_of(SUBJECTS[self.name], EFFORTS[self.effort])

    @property
    def fits(self) -> int:
        """How many of each side."""
        return self.audit.fits

    def each(self) -> "Iterator[Job]":
        """The parts that together are this family."""
        if not self.in_parts:
            yield self
            return
        for side in range(len(SIDES)):
            for part in range(0, self.fits, A_PART):
                yield replace(self, side=side, part=part)

    def outcomes(self) -> Iterable[float]:
        """Of this part."""
        row, count = SIDES[self.side], min(A_PART, self.fits - self.part)
        return self.audit.drawn(row, count).tolist()


def work(job: Job) -> tuple[Iterable[Finding] | Iterable[float], float]:
    """Findings of a family, or outcomes of a part, and how long they took."""
    started = time.process_time()
    subject, effort = SUBJECTS[job.name], EFFORTS[job.effort]
    found = job.outcomes() if job.in_parts else run_family(job.family, subject, effort)
    return found, time.process_time() - started


def run(only: list[str], efforts: list[str], workers: int) -> None:
    """Run what the results lack; this process alone writes, whoever is done."""
    source, wanted = source_digest(), [pair for pair in AUDITS if pair[0] in only]
    families = [
        Job(name, effort, family)
        for name, effort in wanted
        if effort in efforts
        for family in families_of(effort)
        if not RESULTS.has(mechanism=name, effort=effort, family=family)
    ]
    kept = OUTCOMES.cells()
    jobs = [part for job in families for part in job.each() if _cell(source, part) not in kept]
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        running = {pool.submit(work, job): job for job in jobs}
        for done in as_completed(running):
            _keep(source, running[done], *done.result())
            _tell_outcomes(source, running[done])
    for job in families:
        _tell_outcomes(source, job)


def _cell(source: str, job: Job) -> tuple[str, ...]:
    return source, job.name, job.effort, str(job.side), str(job.part)


def _keep(source: str, job: Job, found: Iterable[object], seconds: float) -> None:
    """Findings among the results, outcomes where they wait for the others."""
    sys.stderr.write(f"{job.name}: {job.effort} {job.family} {job.side} {job.part}\n")
    if job.in_parts:
        text = " ".join(float(value).hex() for value in found)
        row = (*_cell(source, job), f"{seconds:.1f}", text)
        OUTCOMES.append(dict(zip(PARTS, row, strict=True)))
    else:
        _append(job.key, found, seconds)


def _tell_outcomes(source: str, job: Job) -> None:
    """The finding of a family whose parts are all there."""
    if not job.in_parts or RESULTS.has(**dict(zip(COLUMNS, job.key, strict=False))):
        return
    cells = {_cell(source, part) for part in job.each()}
    known = {tuple(row[key] for key in PARTS[:5]): row for row in OUTCOMES.rows()}
    rows = [known[cell] for cell in cells if cell in known]  # one a part, should two runs make it
    if len(rows) == len(cells):
        first, second = (_values(rows, side) for side in range(len(SIDES)))
        found = [job.audit.told((first, second))]
        _append(job.key, found, sum(float(row["seconds"]) for row in rows))


def _values(rows: list[Row], side: int) -> "np.ndarray":
    own = sorted((int(row["part"]), row["values"]) for row in rows if int(row["side"]) == side)
    return np.array([float.fromhex(value) for _, text in own for value in text.split()])


def source_digest() -> str:
    """Of all that is audited: outcomes of another source are not added to these."""
    digest = hashlib.sha256()
    for path in sorted((ROOT / "src").rglob("*.py")):
        digest.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:12]


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
    return found if {row["family"] for row in found} == set(families_of(effort)) else []


def main() -> None:
    """Run, or write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fresh", action="store_true", help="forget earlier results")
    parser.add_argument("--only", nargs="+", choices=SUBJECTS, default=[*SUBJECTS])
    parser.add_argument("--effort", nargs="+", choices=EFFORTS, default=[*EFFORTS])
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="processes")
    parser.add_argument("--report", action="store_true", help="only write docs/audit.md")
    options = parser.parse_args()
    if options.fresh:
        RESULTS.path.unlink(missing_ok=True)
        OUTCOMES.path.unlink(missing_ok=True)
    if not options.report:
        run(options.only, options.effort, options.workers)
    PAGE.write_text(page(PAGE.read_text(), RESULTS.rows()))
    failed = [row for row in RESULTS.rows() if row["verdict"] == "fail"]
    if failed:
        names = ("mechanism", "effort", "family", "check")
        sys.exit(aligned([names, *(tuple(row[name] for name in names) for row in failed)]))


if __name__ == "__main__":
    main()
