# ruff: noqa: INP001, scripts beside each other, no package
"""The worst case over the panel of every value of every constant in results/constants.csv."""

import csv
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from real_summary import Cell, Rows

RESULTS = Path(__file__).parent / "results" / "constants.csv"
AS_IS = "-"
Trial = tuple[str, str, str]


@dataclass(frozen=True)
class Worst:
    """One value of a constant: the worst of the panel's cells, and the median width."""

    constant: str
    value: str
    draws: int
    inside: float
    worst: float
    err: float
    width: float

    @classmethod
    def of(cls, trial: Trial, cells: dict[str, Cell], base: dict[str, Cell]) -> "Worst":
        """Against the panel as it is."""
        constant, _, value = trial
        return cls(
            "as they are" if constant == AS_IS else constant,
            value,
            min(cell.draws for cell in cells.values()),
            float(np.nanmin([cell.inside for cell in cells.values()])),
            float(np.nanmin([cell.worst for cell in cells.values()])),
            float(np.nanmax([cell.err / base[name].err for name, cell in cells.items()])),
            float(np.nanmedian([cell.ratio for cell in cells.values()])),
        )


def worst_cases(path: Path = RESULTS) -> list[Worst]:
    """As things are first, then in the order of the file."""
    rows = _rows(path)
    as_is = rows[AS_IS, "1", ""]
    found = [(trial, *_shared(sets, as_is)) for trial, sets in rows.items()]
    return [Worst.of(*item) for item in sorted(found, key=lambda item: item[0][0] != AS_IS)]


def _rows(path: Path) -> dict[Trial, dict[str, Rows]]:
    """By trial and set."""
    found: dict[Trial, dict[str, Rows]] = defaultdict(lambda: defaultdict(list))
    with path.open(newline="", encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            found[row["constant"], row["factor"], row["value"]][row["set"]].append(row)
    return found


def _shared(
    own: dict[str, Rows], as_is: dict[str, Rows]
) -> tuple[dict[str, Cell], dict[str, Cell]]:
    """The cells of the draws that both have: people and noise are the same in both."""
    pairs = {name: _paired(rows, as_is[name]) for name, rows in own.items()}
    kept = {name: pair for name, pair in pairs.items() if pair[0]}
    return (
        {name: Cell.of(pair[0]) for name, pair in kept.items()},
        {name: Cell.of(pair[1]) for name, pair in kept.items()},
    )


def _paired(own: Rows, as_is: Rows) -> tuple[Rows, Rows]:
    base = {row["draw"]: row for row in as_is}
    shared = [row for row in own if row["draw"] in base]
    return shared, [base[row["draw"]] for row in shared]
