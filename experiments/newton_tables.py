# ruff: noqa: INP001, scripts beside each other, no package
"""The tables of docs/choosing.md, printed from the results files: python experiments/newton_tables.py."""

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


def main() -> None:
    """Those whose file is there."""
    makers = {
        "newton-paper.csv": paper,
        "newton-coverage.csv": coverage,
        "newton-grid.csv": grid,
        "planner.csv": planner,
    }
    for name, make in makers.items():
        if (RESULTS / name).exists():
            with (RESULTS / name).open(newline="") as lines:
                table = "\n".join(make(list(csv.DictReader(lines))))
            sys.stdout.write(f"\n{name}\n\n{table}\n")


def paper(rows: Rows) -> Iterable[str]:
    """Median err of the draws, with their number."""
    cells = grouped(rows, ("epsilon", "delta", "data"), "error")
    for key, values in sorted(cells.items()):
        yield line(*key, f"{np.median(values):.2f}", f"{len(values)} draws")


def coverage(rows: Rows) -> Iterable[str]:
    """Share of z-scores within the normal limits: all, the lowest coefficient, replications."""
    scores = [name for name in rows[0] if name.startswith("z")]
    cells = defaultdict(list)
    for row in rows:
        inside = [abs(float(row[name])) < NORMAL for name in scores]
        cells[int(row["people"]), float(row["epsilon"]), row["delta"]].append(inside)
    for key, values in sorted(cells.items()):
        share = np.mean(values, axis=0)
        yield line(*key, f"{share.mean():.3f}", f"lowest {share.min():.3f}", f"{len(values)}")


def grid(rows: Rows) -> Iterable[str]:
    """By n and epsilon: the median over the cohorts, the largest median and the largest draw."""
    cells = defaultdict(list)
    for row in rows:
        found = float(row["median"]), float(row["largest"])
        cells[int(row["people"]), float(row["epsilon"])].append(found)
    for key, values in sorted(cells.items()):
        medians, largest = zip(*values, strict=True)
        shown = f"{np.median(medians):.2f}", f"{max(medians):.2f}", f"{max(largest):.2f}"
        yield line(*key, f"{len(values)} cohorts", *shown)


def planner(rows: Rows) -> Iterable[str]:
    """Predicted over measured err, on the designs of its choices and on those held out."""
    cells = defaultdict(list)
    for row in rows:
        kind = "held out" if row["design"] in tail_designs() else "seen"
        ratio = float(row["predicted"]) / float(row["median"])
        cells[row["mechanism"], kind].append(ratio)
    for key, values in sorted(cells.items()):
        low, middle, high = np.quantile(values, [0.1, 0.5, 0.9])
        limits = f"{low:.2f} to {high:.2f}", f"{min(values):.2f} to {max(values):.2f}"
        yield line(*key, f"{len(values)}", f"{middle:.2f}", *limits)


def grouped(rows: Rows, keys: tuple[str, ...], value: str) -> dict[tuple[str, ...], list[float]]:
    """Values by key."""
    cells = defaultdict(list)
    for row in rows:
        cells[tuple(row[key] for key in keys)].append(float(row[value]))
    return cells


def line(*cells: object) -> str:
    """A row of a table."""
    return "| " + " | ".join(map(str, cells)) + " |"


if __name__ == "__main__":
    main()
