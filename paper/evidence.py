# ruff: noqa: INP001, a script beside the paper, no package
"""The numbers of paper.md from the results files: python paper/evidence.py writes its table."""

import csv
import sys
from collections import defaultdict
from pathlib import Path
from statistics import fmean, median

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "studies"))

import curves  # noqa: E402 - of the folder above
from fresh import report  # noqa: E402
from marked import fill  # noqa: E402

PAGE = ROOT / "paper" / "paper.md"
MARKS = ("<!-- numbers: begin -->", "<!-- numbers: end -->")
PEERS = {
    "newton": "private Newton",
    "descent": "tuned noisy descent",
    "fdpcox": "FDPCox",
    "output": "output perturbation",
}
REAL = ("nafld1", "dmlate", "colrec", "mgus2")
OURS = "discreet fit(frame)"
Row = tuple[str, str]


def read(path: str) -> list[dict[str, str]]:
    """The rows of a results file."""
    with (ROOT / path).open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def beside_peers() -> list[str]:
    """A table: medians over draws on each real set at epsilon 1, and the significant effects kept."""
    cells = defaultdict(list)
    for row in read("benchmarks/results/peers.csv"):
        if float(row["epsilon"]) == 1.0:
            cells[row["peer"], row["set"]].append(row)
    lines = [f"| error at epsilon 1 | {' | '.join(REAL)} | significant effects kept |"]
    lines.append("|---" * (2 + len(REAL)) + "|")
    for peer, label in PEERS.items():
        parts = [cells[peer, name] for name in REAL]
        found = [f"{median(float(row['err']) for row in part):.2f}" for part in parts]
        total = {
            field: sum(fmean(float(row[field]) for row in part) for part in parts)
            for field in ("kept", "significant")
        }
        share = total["kept"] / total["significant"]
        lines.append(f"| {label} | {' | '.join(found)} | {share:.0%} |")
    return lines


def on_registries() -> list[Row]:
    """The registries drawn after the freeze, as docs/accuracy.md has them."""
    names = ("fresh", "fresh-seeds")
    rows, seeds = (report.read(report.RESULTS / f"{name}.csv") for name in names)
    rows = [{**row, "people": report._kind_of(row["seed"], seeds)} for row in rows]  # noqa: SLF001
    found = []
    for people, label, epsilon, draws in report._cells(rows):  # noqa: SLF001
        if (people, label) == (report.FROZEN, report.NEW):
            own = report.Measures.of(draws)
            what = f"{own.registries} random registries, epsilon {epsilon}: median error; 95 % intervals that "
            what += "hold the exact estimate; coefficients for which less than 80 % do"
            found.append((what, f"{own.err:.2f}; {own.inside[0]:.1%}; {own.low[0]:.1%}"))
    return found


def of_curves() -> list[Row]:
    """Bands of random registries."""
    rows = [row for row in curves.rows() if row["part"] == "random"]
    return [
        (
            f"part of the true curve in the 95 % band, {len(rows)} groups",
            curves.share(rows, "truth"),
        )
    ]


def of_the_core() -> list[Row]:
    """Neighbours replayed on one transcript of noisy answers."""
    rows = read("evidence/results/replay.csv")
    pairs = sum(int(row["times"]) for row in rows)
    farthest = max(float(row["euclidean"]) for row in rows)
    what = f"largest movement of a vector over its sensitivity, {pairs:,} replayed pairs"
    return [(what, f"{farthest:.4f}")]


def of_speed() -> list[Row]:
    """Rounds in which both took turns: 53,558 people, 200 intervals."""
    seconds: dict[str, dict[str, float]] = defaultdict(dict)
    for row in read("benchmarks/results/core.csv"):
        if row["benchmark"] == "small" and row["contender"] in {"glum", OURS}:
            seconds[row["contender"]][row["round"]] = float(row["value"])
    times = [seconds["glum"][turn] / seconds[OURS][turn] for turn in seconds[OURS]]
    what = "exact fit from a table, 53,558 people on 200 intervals, against glum on person-periods"
    return [(what, f"{median(times):.0f} times faster")]


def table() -> str:
    """What stands between the marks."""
    rows = [*on_registries(), *of_curves(), *of_the_core(), *of_speed()]
    lines = ["", "| measured | found |", "|---|---|", *(f"| {a} | {b} |" for a, b in rows)]
    return "\n".join([*beside_peers(), *lines])


if __name__ == "__main__":
    fill(PAGE, MARKS, table())
