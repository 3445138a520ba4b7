# ruff: noqa: INP001, scripts beside each other, no package
"""What the rows of results/real.csv say, cell by cell, and which targets they miss.

python studies/real_summary.py [--label L] [--base 0.1.0] [--results FILE] [--cells]
"""

import argparse
import csv
import statistics
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from real_sets import DEVELOPMENT, FURTHER, HELD_OUT, LOGARITHMIC, ONCE, OTHERS, PAPER
from simulated import DESIGNS, RIGHT

Array = NDArray[np.float64]
Rows = list[dict[str, str]]
Key = tuple[str, float, float]

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "real.csv"
NORMAL = statistics.NormalDist().inv_cdf(0.975)
REAL = (*DEVELOPMENT, *HELD_OUT)
BASE = "0.1.0"
"""The version that the others are compared with."""

INSIDE, WORST, NOISE_ALONE = 0.95, 0.85, 0.90
TRUTH = (0.93, 0.98)
RATIO = {1.0: 1.9, 4.0: 1.2}
MEDIAN_GAIN = {1.0: 0.9, 4.0: 0.85}
LARGEST_GAIN, LARGEST_DRAW, LARGE_BUDGET, SIGNIFICANT = 1.1, 4.0, 0.2, 0.07
LARGEST_EPSILON = 1000.0
"""At which the release is to be the maximum likelihood estimate."""
CAPS = {
    "rhc": (2.3, 1.5),
    "acath": (2.4, 1.2),
    "LeukSurv": (2.7, 1.3),
    "calendar": (1.1, 0.32),
    "treatment": (1.0, 0.35),
    "treatment_late": (1.0, 0.35),
    "bounds_30": (1.2, 0.4),
    "lognormal_100": (1.5, 0.6),
    "fl": (2.4, 1.6),
    "tb": (1.15, 0.65),
    "wt": (1.15, 0.55),
}
"""Largest median err at epsilon 1 and 4, delta = 1e-6."""


@dataclass(frozen=True)
class Cell:
    """A set at one epsilon and delta: shares over draws and coefficients, those flagged left out."""

    draws: int
    err: float
    largest: float
    inside: float
    worst: float
    noise_alone: float
    ratio: float
    flagged: float
    truth: float
    significant: float
    seconds: float

    @classmethod
    def of(cls, rows: Rows) -> "Cell":
        """Measures of the draws of a cell."""
        gaps, ratios, truth = (_table(rows, name) for name in ("gaps", "ratios", "truth"))
        flags = np.array([[mark == "1" for mark in row["flags"]] for row in rows])
        left = ~flags & ~np.isnan(gaps)
        inside = np.abs(gaps) <= NORMAL * ratios
        alone = np.abs(gaps) <= NORMAL * np.sqrt(np.maximum(ratios**2 - 1.0, 0.0))
        covered = np.abs(gaps - truth) <= NORMAL * ratios
        told = left & ~np.isnan(truth)
        errors = np.array([float(row["err"]) for row in rows])
        tests = _table(rows, "unreached")
        tests = tests[:, 3:]  # of covariates
        return cls(
            draws=len(rows),
            err=_safe(np.nanmedian, errors),
            largest=_safe(np.nanmax, errors),
            inside=_safe(np.mean, inside[left]),
            worst=_worst(inside, left),
            noise_alone=_safe(np.mean, alone[left]),
            ratio=_safe(np.median, ratios[left]),
            flagged=float(flags.sum(axis=1).mean()),
            truth=_safe(np.mean, covered[told]),
            significant=_safe(np.mean, (np.abs(tests) > NORMAL)[~np.isnan(tests)]),
            seconds=float(np.median([float(row["seconds"]) for row in rows])),
        )


Cells = dict[Key, Cell]
Target = Callable[[Cells, Cells], Iterator[str]]


def _table(rows: Rows, name: str) -> Array:
    size = len(rows[0]["flags"])
    empty = [float("nan")] * size
    return np.array(
        [
            [float("nan") if item == "." else float(item) for item in row[name].split()] or empty
            for row in rows
        ]
    )


def _safe(function: object, values: Array) -> float:
    kept = values[~np.isnan(values)] if values.dtype.kind == "f" else values
    return float(function(kept)) if len(kept) else float("nan")  # type: ignore[operator]


def _worst(inside: NDArray[np.bool_], left: NDArray[np.bool_]) -> float:
    """The lowest share of a coefficient that is flagged in less than half of the draws."""
    count = left.sum(axis=0)
    kept = count > len(left) / 2
    if not kept.any():
        return float("nan")
    return float(((inside & left).sum(axis=0)[kept] / count[kept]).min())


def read(path: Path = RESULTS) -> Rows:
    """Every row of the results file."""
    with path.open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def cells(rows: Rows, label: str) -> Cells:
    """Every cell of a version, in the order of the sets."""
    return measured_in(newest_rows([row for row in rows if row["label"] == label]))


def newest(rows: Rows) -> Cells:
    """Every cell as the latest code that was measured there has it; of BASE where there is no other."""
    return measured_in(newest_rows([row for row in rows if row["label"] != BASE] or rows))


def newest_rows(rows: Rows) -> dict[Key, Rows]:
    """The rows of every cell that have its last label: labels are in order of time."""
    found: dict[Key, Rows] = defaultdict(list)
    for row in rows:
        own = found[row["set"], float(row["epsilon"]), float(row["delta"])]
        if own and own[0]["label"] != row["label"]:
            own.clear()
        own.append(row)
    return found


def measured_in(rows: dict[Key, Rows]) -> Cells:
    """The measures of every cell, in the order of the sets."""
    return in_order({key: Cell.of(own) for key, own in rows.items()})


def in_order(found: Cells) -> Cells:
    """The cells in the order of the sets."""
    order = [*REAL, *FURTHER, *OTHERS, *ONCE, *PAPER, *DESIGNS, *LOGARITHMIC]
    ordered = sorted(found, key=lambda key: (order.index(key[0]), -key[2], key[1]))
    return {key: found[key] for key in ordered}


def failures(now: Cells, before: Cells) -> Iterator[str]:
    """Every target that is missed, the most important first."""
    for target in TARGETS:
        yield from target(now, before)


def _at(key: Key) -> str:
    name, epsilon, delta = key
    return f"{name}, epsilon {epsilon:g}" + (", pure" if delta == 0 else "")


def _below(name: str, measure: str, least: float) -> Target:
    """Cells in which a share is too small."""

    def target(now: Cells, _: Cells) -> Iterator[str]:
        for key, cell in now.items():
            if getattr(cell, measure) < least and key[1] < LARGEST_EPSILON:
                yield f"{name}: {_at(key)}: {getattr(cell, measure):.2f} (at least {least:g})"

    return target


def _truth(now: Cells, _: Cells) -> Iterator[str]:
    for key, cell in now.items():
        right = key[0] in RIGHT and key[1] < LARGEST_EPSILON
        if right and not TRUTH[0] <= cell.truth <= TRUTH[1]:
            yield f"truth covered: {_at(key)}: {cell.truth:.3f} ({TRUTH[0]:g} to {TRUTH[1]:g})"


def _no_information(now: Cells, _: Cells) -> Iterator[str]:
    for key, cell in now.items():
        if cell.significant > SIGNIFICANT:
            found = f"{cell.significant:.2f} significant (at most {SIGNIFICANT:g})"
            yield f"tests of what the data do not reach: {_at(key)}: {found}"


def _widths(now: Cells, _: Cells) -> Iterator[str]:
    for epsilon, most in RATIO.items():
        found = _median(cell.ratio for _, cell in _sets(now, epsilon))
        if found > most:
            yield f"width: median over sets, epsilon {epsilon:g}: {found:.2f} (at most {most:g})"


def _caps(now: Cells, _: Cells) -> Iterator[str]:
    for (name, epsilon, delta), cell in now.items():
        caps = dict(zip((1.0, 4.0), CAPS.get(name, ()), strict=False))
        most = caps.get(epsilon, np.inf) if delta > 0 else np.inf
        if cell.err > most:
            yield f"err: {_at((name, epsilon, delta))}: {cell.err:.2f} (at most {most:g})"


def _median_gain(now: Cells, before: Cells) -> Iterator[str]:
    for epsilon, most in MEDIAN_GAIN.items():
        shared = (item for item in _sets(now, epsilon) if item[0] in before)
        found = _median(cell.err / before[key].err for key, cell in shared)
        if found > most:
            where = f"median over sets, epsilon {epsilon:g}"
            yield f"err against 0.1.0: {where}: {found:.2f} (at most {most:g})"


def _each_gain(now: Cells, before: Cells) -> Iterator[str]:
    for key, cell in now.items():
        gain = cell.err / before[key].err if key in before else 0.0
        if gain > LARGEST_GAIN and key[1] < LARGEST_EPSILON:
            yield f"err against 0.1.0: {_at(key)}: {gain:.2f} times (at most {LARGEST_GAIN:g})"


def _largest_draw(now: Cells, _: Cells) -> Iterator[str]:
    for key, cell in now.items():
        times = cell.largest / cell.err
        if times > LARGEST_DRAW:
            yield f"largest draw: {_at(key)}: {times:.1f} medians (at most {LARGEST_DRAW:g})"


def _much_budget(now: Cells, _: Cells) -> Iterator[str]:
    for key, cell in now.items():
        if key[1] >= LARGEST_EPSILON and cell.err > LARGE_BUDGET:
            yield f"much budget: {_at(key)}: err {cell.err:.2f} (at most {LARGE_BUDGET:g})"


def _sets(now: Cells, epsilon: float) -> list[tuple[Key, Cell]]:
    """The real sets at an epsilon, delta = 1e-6."""
    return [(k, cell) for k, cell in now.items() if k[0] in REAL and k[1:] == (epsilon, 1e-6)]


def _median(values: Iterable[float]) -> float:
    found = list(values)
    return float(np.median(found)) if found else float("nan")


TARGETS: tuple[Target, ...] = (
    _below("inside, mean", "inside", INSIDE),
    _below("inside, worst coefficient", "worst", WORST),
    _below("inside, noise alone", "noise_alone", NOISE_ALONE),
    _truth,
    _no_information,
    _widths,
    _caps,
    _median_gain,
    _each_gain,
    _largest_draw,
    _much_budget,
)


def lines(now: Cells, before: Cells) -> Iterable[str]:
    """A row of text per cell."""
    yield (
        f"{'set':15} {'eps':>5} {'delta':>6} {'draws':>5} {'err':>7} {'max':>7} {'/base':>6} "
        f"{'inside':>6} {'worst':>5} {'noise':>5} {'ratio':>6} {'flags':>5} {'truth':>5} {'signif':>6}"
    )
    for key, cell in now.items():
        gain = cell.err / before[key].err if key in before else float("nan")
        yield (
            f"{key[0]:15} {key[1]:5g} {key[2]:6g} {cell.draws:5d} {cell.err:7.2f} "
            f"{cell.largest:7.2f} {gain:6.2f} {cell.inside:6.2f} {cell.worst:5.2f} "
            f"{cell.noise_alone:5.2f} {cell.ratio:6.2f} {cell.flagged:5.1f} {cell.truth:5.2f} "
            f"{cell.significant:6.2f}"
        )


def main() -> None:
    """Failures first, then every cell."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--label", default="")
    parser.add_argument("--base", default="0.1.0")
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    rows = read(options.results)
    label = options.label or rows[-1]["label"]
    now, before = cells(rows, label), cells(rows, options.base)
    missed = list(failures(now, before if label != options.base else {}))
    text = [f"{label}: {len(missed)} targets missed", *missed, "", *lines(now, before)]
    sys.stdout.write("\n".join(text) + "\n")


if __name__ == "__main__":
    main()
