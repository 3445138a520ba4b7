"""Workbooks and the files of Stata, SAS and SPSS, cell by cell.

No type is taken from a column's values: a cell of a workbook is whatever it says it is, and the
columns of the others have the types that the file declares.  Stata, SAS and SPSS hold codes; their
value labels are not applied, so levels of the schema are the codes.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from discreet.errors import DataFormError, SettingsError
from discreet.people.columns import Column, NumberColumn, ObjectColumn


@dataclass(frozen=True)
class Cells:
    """Named columns of cells; numbers in an array where the file declares numbers."""

    rows: int
    columns: Mapping[str, Any]

    def column(self, name: str) -> Column:
        """One column."""
        values = self.columns[name]
        if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
            return NumberColumn(values)
        return ObjectColumn(list(values))


def workbook_names(path: Path) -> tuple[str, ...]:
    """The first row of the first sheet, texts that name the columns."""
    with _damaged(path), _sheet(path) as rows:
        return _names(path, next(rows, ()))


def read_workbook(path: Path, columns: Sequence[str]) -> Cells:
    """The named columns of the first sheet; a row without any value is no record."""
    with _damaged(path), _sheet(path) as rows:
        names = _names(path, next(rows, ()))
        places = [names.index(name) for name in columns or names[:1]]
        records = [row for row in rows if any(value is not None for value in row)]
    found = {
        names[place]: [row[place] if place < len(row) else None for row in records]
        for place in places
    }
    return Cells(len(records), found)


def statistical_names(path: Path) -> tuple[str, ...]:
    """The columns that a file of Stata, SAS or SPSS declares."""
    with _damaged(path):
        _, facts = _reader(path)(str(path), metadataonly=True)
        return tuple(facts.column_names)


def read_statistical(path: Path, columns: Sequence[str]) -> Cells:
    """The named columns of a file of Stata, SAS or SPSS, as codes."""
    wanted = list(columns) or list(statistical_names(path)[:1])
    with _damaged(path):
        found, facts = _reader(path)(str(path), usecols=wanted, output_format="dict")
    rows = len(next(iter(found.values()))) if found else int(facts.number_rows or 0)
    return Cells(rows, {name: found[name] for name in wanted})


def _names(path: Path, row: Sequence[object]) -> tuple[str, ...]:
    names = tuple("" if value is None else str(value) for value in row)
    if not any(names):
        raise DataFormError(f"'{path.name}' is empty; its first row must name the columns.")
    return names


@contextmanager
def _sheet(path: Path) -> Iterator[Iterator[tuple[object, ...]]]:
    """The rows of the first sheet, with the values that formulas had when it was saved."""
    book = _library("openpyxl", path).load_workbook(path, read_only=True, data_only=True)
    try:
        yield book.worksheets[0].iter_rows(values_only=True)
    finally:
        book.close()


def _reader(path: Path) -> Callable[..., tuple[dict[str, Any], Any]]:
    found: Callable[..., tuple[dict[str, Any], Any]] = getattr(
        _library("pyreadstat", path), f"read_{path.suffix.lower()[1:]}"
    )
    return found


def _library(name: str, path: Path) -> ModuleType:
    try:
        return import_module(name)
    except ImportError:
        raise SettingsError(
            f"'{path.name}' needs {name}; install this package with its extra 'files'."
        ) from None


@contextmanager
def _damaged(path: Path) -> Iterator[None]:
    """The libraries' own texts may quote a cell; what they raise has no common class."""
    try:
        yield
    except (DataFormError, SettingsError, FileNotFoundError, PermissionError, IsADirectoryError):
        raise
    except Exception:  # noqa: BLE001 - a damaged file raises anything
        raise DataFormError(
            f"'{path.name}' cannot be read as {path.suffix.lower()[1:]}: it is damaged, or of "
            "another format."
        ) from None
