"""Results files: one row a cell, appended when the cell is done, so that a run can resume."""

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path

Row = Mapping[str, object]


class Results:
    """A CSV file whose columns are fixed and whose ``keys`` name a cell."""

    def __init__(self, path: Path, columns: Sequence[str], keys: Sequence[str]) -> None:
        self.path, self.columns, self.keys = path, tuple(columns), tuple(keys)

    def rows(self) -> list[dict[str, str]]:
        """Return the rows of the file; none before the first run."""
        if not self.path.is_file():
            return []
        with self.path.open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def has(self, **key: object) -> bool:
        """Return whether the cell was run already."""
        return tuple(_text(key[name]) for name in self.keys) in self.cells()

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


def newest(rows: list[dict[str, str]], keys: tuple[str, ...]) -> list[dict[str, str]]:
    """Return, for each cell, the rows of its run with most epochs."""
    most: dict[tuple[str, ...], int] = {}
    for row in rows:
        key = tuple(row[name] for name in keys)
        most[key] = max(most.get(key, 0), int(row["epochs"]))
    return [row for row in rows if int(row["epochs"]) == most[tuple(row[name] for name in keys)]]


def read_rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a results file with any columns."""
    return Results(path, (), ()).rows()


def _text(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
