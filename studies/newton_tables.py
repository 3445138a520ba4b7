# ruff: noqa: INP001, scripts beside each other, no package
"""The rows of the tables in docs/accuracy.md, from the results files.

python studies/newton_tables.py prints them; a test asks for every one of them on the page.
"""

import csv
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from newton_designs import tail_designs

RESULTS = Path(__file__).parent / "results"
Rows = list[dict[str, str]]
NORMAL = statistics.NormalDist().inv_cdf(0.975)
PAPER = {
    ("1.0", "1e-06"): "private Newton, epsilon = 1, delta = 1e-6",
    ("1.0", "0.0"): "private Newton, pure epsilon = 1",
    ("4.0", "1e-06"): "private Newton, epsilon = 4, delta = 1e-6",
    ("0.1", "1e-06"): "private Newton, epsilon = 0.1, delta = 1e-6",
}
KINDS = {
    "all": "all",
    "heavy": "heavy tails",
    "rare": "rare binaries",
    "strong": "strong effects",
    "weak": "weak effects",
}

ROOT_COLUMNS = ("1.0", "1.5", "2.0", "3.0", "4.0", "8.0")
WAYS = {
    "fit(frame)": "from the user's table, seconds (times the plain fit)",
    "fit alone": "from encoded people",
}
CONTENDERS = ("epsilon 1", "pure epsilon 1", "epsilon 0.1")


def main() -> None:
    """All tables."""
    for name, lines in tables().items():
        sys.stdout.write(f"\n{name}\n\n" + "\n".join(lines) + "\n")


def tables() -> dict[str, list[str]]:
    """The rows of every table."""
    grid = read("newton-grid.csv")
    return {
        "paper": list(paper(read("newton-paper.csv"))),
        "coverage": list(coverage(read("newton-coverage.csv"))),
        "grid": list(errors(grid)),
        "planner on the grid": list(foreseen(grid)),
        "planner on designs": list(planner(read("planner.csv"))),
        "root": list(root(read("newton-root.csv"))),
        "time": list(seconds(read("../../benchmarks/results/private.csv"))),
    }


def read(name: str) -> Rows:
    """A results file."""
    with (RESULTS / name).open(newline="") as lines:
        return list(csv.DictReader(lines))


def paper(rows: Rows) -> Iterable[str]:
    """Median err of the draws, a column a set."""
    cells = defaultdict(list)
    for row in rows:
        cells[row["epsilon"], row["delta"], row["data"]].append(float(row["error"]))
    for key, name in PAPER.items():
        yield line(name, *(f"{np.median(cells[*key, data]):.2f}" for data in ("fl", "tb", "wt")))


def coverage(rows: Rows) -> Iterable[str]:
    """Share of z-scores within the normal limits: mean over coefficients, and the lowest."""
    scores = [name for name in rows[0] if name.startswith("z")]
    cells = defaultdict(list)
    for row in rows:
        inside = [abs(float(row[name])) < NORMAL for name in scores]
        cells[int(row["people"]), float(row["epsilon"]), float(row["delta"])].append(inside)
    shown = {
        key: f"{np.mean(inside):.3f}, {np.mean(inside, axis=0).min():.3f}"
        for key, inside in cells.items()
    }
    for people, epsilon in sorted({key[:2] for key in shown}):
        found = (shown[people, epsilon, delta] for delta in (1e-6, 0.0))
        yield line(f"{people:,}", f"{epsilon:g}", *found)


def errors(rows: Rows) -> Iterable[str]:
    """By n and epsilon: the median over the cohorts, the largest median and the largest draw."""
    cells = defaultdict(list)
    for row in rows:
        found = float(row["median"]), float(row["largest"])
        cells[int(row["people"]), float(row["epsilon"])].append(found)
    for (people, epsilon), values in sorted(cells.items()):
        medians, largest = zip(*values, strict=True)
        shown = f"{np.median(medians):.2f}", f"{max(medians):.2f}", f"{max(largest):.2f}"
        yield line(f"{people:,}", f"{epsilon:g}", len(values), *shown)


def foreseen(rows: Rows) -> Iterable[str]:
    """Predicted over measured err on the grid."""
    cells = defaultdict(list)
    for row in rows:
        for kind in (row["kind"], "all"):
            cells[kind].append(float(row["predicted"]) / float(row["median"]))
    for kind, name in KINDS.items():
        yield ratios(name, cells[kind])


def planner(rows: Rows) -> Iterable[str]:
    """The same on the designs that were looked at and on those that were not."""
    cells, held_out = defaultdict(list), tail_designs()
    for row in rows:
        kind = "long tails" if row["design"] in held_out else "ten designs"
        ratio = float(row["predicted"]) / float(row["median"])
        cells[f"{row['mechanism']}, {kind}"].append(ratio)
    for name, values in sorted(cells.items()):
        yield ratios(name, values)


def root(rows: Rows) -> Iterable[str]:
    """Without noise: ball and clip at every multiple, a row a design."""
    found = {(row["design"], row["score"], row["multiple"]): float(row["error"]) for row in rows}
    multiples = [m for m in dict.fromkeys(row["multiple"] for row in rows) if m in ROOT_COLUMNS]
    for row in {row["design"]: row for row in rows}.values():
        pairs = (
            ", ".join(short(found[row["design"], score, m]) for score in ("ball", "clip"))
            for m in multiples
        )
        people = f"{int(row['events']):,} of {int(row['people']):,}"
        yield line(row["design"], people, row["dimension"], *pairs)


def short(value: float) -> str:
    """Two decimals; none from 10 on."""
    return f"{value:.0f}" if value >= 10.0 else f"{value:.2f}"


def seconds(rows: Rows) -> Iterable[str]:
    """The heads, then medians over rounds and how many times the plain fit."""
    yield line("", "plain", *(who.replace("epsilon ", "epsilon = ") for who in CONTENDERS)).replace(
        "|  |", "| |", 1
    )
    cells = defaultdict(list)
    for row in rows:
        cells[row["benchmark"], row["contender"]].append(float(row["value"]))
    for way, name in WAYS.items():
        plain = np.median(cells[way, "plain"])
        private = (np.median(cells[way, who]) for who in CONTENDERS)
        yield line(name, f"{plain:.2f}", *(f"{time:.2f} ({time / plain:.1f})" for time in private))


def ratios(name: str, values: list[float]) -> str:
    """Number, median, 10% to 90%, all."""
    low, middle, high = np.quantile(values, [0.1, 0.5, 0.9])
    limits = f"{low:.2f} to {high:.2f}", f"{min(values):.2f} to {max(values):.2f}"
    return line(name, len(values), f"{middle:.2f}", *limits)


def line(*cells: object) -> str:
    """A row of a table."""
    return "| " + " | ".join(map(str, cells)) + " |"


if __name__ == "__main__":
    main()
