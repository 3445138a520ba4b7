"""Results files: one row a cell, appended when the cell is done, so that a run can resume."""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from discreet.paper.config import Options

Row = Mapping[str, object]
Rows = list[dict[str, str]]

FILES = {
    "table-1": ("set rows events covariates", "set"),
    "table-2": ("set lambda mre se paper draws", "set lambda draws"),
    "table-2-gap": ("reading norm beta1 beta2 beta3 mre_1e-05 mre_0.1 mre_1", "reading"),
    "table-3": ("set ours paper", "set"),
    "figure-3": ("set source coefficient value density epochs draws", "set source epochs"),
    "figure-4": ("set variant epsilon epoch mre epochs", "set variant epsilon epochs"),
    "figure-5": (
        "set mechanism variant epsilon mre err draws epochs",
        "set mechanism variant epsilon epochs",
    ),
    "mixing": ("set variant epsilon epochs states r_hat effective", "set variant epsilon epochs"),
    "agreement": (
        """set variant epsilon pilot_epochs epochs chains
        worst_mean worst_variance worst_quantile worst least_ratio median_ratio limit accepted""",
        "set variant epsilon pilot_epochs epochs chains",
    ),
    "remark-links": ("set intervals link difference_percent", "set intervals link"),
    "remark-sampler": ("set what epsilon mre err draws epochs", "set what epsilon epochs"),
}
"""The files of the reproduction: their columns, and the columns that name a cell."""


class Results:
    """A CSV file whose columns are fixed and whose ``keys`` name a cell."""

    def __init__(self, path: Path, columns: Sequence[str], keys: Sequence[str]) -> None:
        self.path, self.columns, self.keys = path, tuple(columns), tuple(keys)

    @classmethod
    def of(cls, options: Options, name: str) -> "Results":
        """Return one of `FILES`."""
        columns, keys = FILES[name]
        return cls(options.results / f"{name}.csv", columns.split(), keys.split())

    def rows(self) -> Rows:
        """Return the rows of the file; none before the first run."""
        if not self.path.is_file():
            return []
        with self.path.open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def newest(self) -> Rows:
        """Return, for each cell, the rows of its run with most epochs."""
        rows, keys = self.rows(), [key for key in self.keys if key != "epochs"]
        most: dict[tuple[str, ...], int] = {}
        for row in rows:
            cell = tuple(row[name] for name in keys)
            most[cell] = max(most.get(cell, 0), int(row.get("epochs", 0)))
        return [
            row
            for row in rows
            if int(row.get("epochs", 0)) == most[tuple(row[name] for name in keys)]
        ]

    def has(self, **cell: object) -> bool:
        """Return whether the cell was run already."""
        return tuple(_text(cell[name]) for name in self.keys) in self.cells()

    def missing(self, cells: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """Yield the cells that were not run yet."""
        return (cell for cell in cells if not self.has(**cell))

    def cells(self) -> set[tuple[str, ...]]:
        """Return the keys of all rows."""
        return {tuple(row[name] for name in self.keys) for row in self.rows()}

    def append(self, *rows: Row) -> None:
        """Write finished rows by one call, so that rows of several processes stay whole."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        if not self.path.is_file():
            writer.writerow(self.columns)
        for row in rows:
            writer.writerow([_text(row[name]) for name in self.columns])
        with self.path.open("ab", buffering=0) as file:
            file.write(text.getvalue().encode())


def _text(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
