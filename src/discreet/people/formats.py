"""Workbooks and the files of Stata, SAS and SPSS, cell by cell.

No type is inferred from a column's values: a cell of a workbook has its own type, and the columns of
the others have the types that the file declares.  Stata, SAS and SPSS hold codes; their value labels
are not applied, so levels of the schema are the codes.

No value stops a reader: pyreadstat refuses a whole file for one date beyond the calendar or one text
that is not in the file's encoding, so it returns bare numbers and bytes, which are converted to
dates and texts here, one by one.
"""

import codecs
import re
import sys
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from discreet.errors import DataFormError, SettingsError, of_extra
from discreet.people.columns import Column, NumberColumn, ObjectColumn


@dataclass(frozen=True)
class Cells:
    """Named columns of cells; numbers in an array where the file declares numbers."""

    rows: int
    columns: Mapping[str, Any]

    def column(self, name: str) -> Column:
        """Return one column."""
        values = self.columns[name]
        if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
            return NumberColumn(values)
        return ObjectColumn(list(values))


def workbook_names(path: Path) -> tuple[str, ...]:
    """Return the first row of the first sheet, texts that name the columns."""
    with _damaged(path), _sheet(path) as rows:
        return _names(path, next(rows, ()))


def read_workbook(path: Path, columns: Sequence[str], *_: Collection[str]) -> Cells:
    """Read the named columns of the first sheet; a row without any value is not a record."""
    with _damaged(path), _sheet(path) as rows:
        names = _names(path, next(rows, ()))
        places = [names.index(name) for name in columns]
        records = [row for row in rows if any(value is not None for value in row)]
    found = {
        names[place]: [row[place] if place < len(row) else None for row in records]
        for place in places
    }
    return Cells(len(records), found)


def statistical_names(path: Path) -> tuple[str, ...]:
    """Return the columns that a file of Stata, SAS or SPSS declares."""
    return tuple(_declared(path).column_names)


def read_statistical(path: Path, columns: Sequence[str], *_: Collection[str]) -> Cells:
    """Read the named columns of a file of Stata, SAS or SPSS, as codes."""
    facts = _declared(path)
    encoding = str(facts.file_encoding or "utf-8")
    if path.suffix.lower() == ".dta":  # UTF-8 since Stata 14, release 118 of the format
        with path.open("rb") as file:
            release = re.match(rb"<stata_dta><header><release>(\d{3})", file.read(64))
        encoding = "utf-8" if release is not None and int(release[1]) >= 118 else "cp1252"
    try:
        codec = codecs.lookup(encoding).name
    except LookupError:
        raise DataFormError(
            f"'{path.name}' is in an encoding that is not known here; save it as UTF-8."
        ) from None
    with _damaged(path):
        bare = {name: name.encode(codec).decode(EVERY_BYTE) for name in columns}
        found, _ = _reader(path)(
            str(path),
            usecols=list(bare.values()),
            output_format="dict",
            disable_datetime_conversion=True,
            encoding=EVERY_BYTE,
        )
    rows = len(next(iter(found.values()))) if found else int(facts.number_rows or 0)
    clocks = {name: _clock(path, facts.original_variable_types.get(name)) for name in columns}
    read = {
        name: [_value(one, codec, clocks[name]) for one in found[bare[name]]] for name in columns
    }
    return Cells(rows, read)


EVERY_BYTE = "LATIN1"
"""The encoding in which every sequence of bytes is a text: no text fails and no byte is lost."""
MOST_BITS = 14_000
"""Integers beyond 10^4214 are texts: Python prints at most 4,300 digits."""
BEYOND = "beyond the calendar"
"""Replaces a date beyond the calendar: it is not a date, and does not show the number."""


@dataclass(frozen=True)
class _Clock:
    """The origin and the unit in which a file counts its dates."""

    origin: date
    unit: str
    whole: bool = False

    def moment(self, number: float) -> date | str:
        """Return the date of a number, with its time of day unless days are whole."""
        try:
            found = datetime.combine(self.origin, time()) + timedelta(**{self.unit: number})
        except (OverflowError, ValueError):
            return BEYOND
        return found.date() if self.whole else found


_1960, _1582 = date(1960, 1, 1), date(1582, 10, 14)
_STATA = {
    "td": _Clock(_1960, "days", whole=True),
    "d": _Clock(_1960, "days", whole=True),
    "tc": _Clock(_1960, "milliseconds"),
    "tC": _Clock(_1960, "milliseconds"),
}
_SPSS = {
    **dict.fromkeys(
        ("DATE", "ADATE", "EDATE", "JDATE", "SDATE"), _Clock(_1582, "seconds", whole=True)
    ),
    **dict.fromkeys(("DATETIME", "YMDHMS"), _Clock(_1582, "seconds")),
}
_SAS = {
    **{
        f"{order}{mark}": _Clock(_1960, "days", whole=True)
        for order in ("DDMMYY", "MMDDYY", "YYMMDD")
        for mark in ("", *"BCDNPS")
    },
    **dict.fromkeys(
        ("DATE", "WEEKDATE", "WEEKDATX", "IS8601DA", "E8601DA", "B8601DA"),
        _Clock(_1960, "days", whole=True),
    ),
    **dict.fromkeys(
        ("DATETIME", "DATEAMPM", "MDYAMPM", "DTDATE", "E8601DT", "IS8601DT", "B8601DT", "B8601DN"),
        _Clock(_1960, "seconds"),
    ),
}


def _clock(path: Path, shown: str | None) -> _Clock | None:
    """Return the clock of a column by the format that the file declares for it; None: not a date."""
    if path.suffix.lower() == ".dta":
        kind = re.match(r"%-?(t[dcC]|d)", shown or "")
        return None if kind is None else _STATA[kind[1]]
    name = re.match(r"[A-Z]+(?:8601[A-Z]+)?", (shown or "").upper())
    known = _SPSS if path.suffix.lower() == ".sav" else _SAS
    return None if name is None else known.get(name[0])


def _value(value: Any, codec: str, clock: _Clock | None) -> Any:
    if isinstance(value, str):
        return value.encode(EVERY_BYTE, errors="replace").decode(codec, errors="replace")
    if value is None or value != value:  # noqa: PLR0124 - NaN: pyreadstat 1.2 for a gap
        return None
    return value if clock is None else clock.moment(float(value))


def _declared(path: Path) -> Any:
    with _damaged(path):
        return _reader(path)(str(path), metadataonly=True)[1]


def _names(path: Path, row: Sequence[object]) -> tuple[str, ...]:
    names = tuple("" if value is None else str(value) for value in row)
    if not any(names):
        raise DataFormError(f"'{path.name}' is empty; its first row must name the columns.")
    return names


@contextmanager
def _sheet(path: Path) -> Iterator[Iterator[tuple[object, ...]]]:
    """Yield the rows of the first sheet, with the values that formulas had when it was saved."""
    with of_extra("files", f"'{path.name}' needs openpyxl"):
        import openpyxl
    most_digits = sys.get_int_max_str_digits()
    with path.open("rb") as file, warnings.catch_warnings():  # openpyxl 3.1.0 leaves files open
        # of more digits Python makes no integer: one cell would stop the reader
        sys.set_int_max_str_digits(0)
        warnings.simplefilter("ignore")  # openpyxl quotes numbers that are not dates
        book = openpyxl.load_workbook(file, read_only=True, data_only=True)
        try:
            sheet = book.worksheets[0]
            sheet.reset_dimensions()  # a file may say that it has fewer rows than it has
            yield (tuple(map(_as_read, row)) for row in sheet.iter_rows(values_only=True))
        finally:
            book.close()
            sys.set_int_max_str_digits(most_digits)


def _as_read(value: object) -> object:
    """An integer that Python would not print is a text, as it is in a CSV file."""
    return str(value) if isinstance(value, int) and value.bit_length() > MOST_BITS else value


def _reader(path: Path) -> Callable[..., tuple[dict[str, Any], Any]]:
    with of_extra("files", f"'{path.name}' needs pyreadstat"):
        import pyreadstat
    return getattr(pyreadstat, f"read_{path.suffix.lower()[1:]}")


@contextmanager
def _damaged(path: Path) -> Iterator[None]:
    """Raise a text of ours: the libraries' own may quote a cell."""
    try:
        yield
    except (DataFormError, SettingsError, FileNotFoundError, PermissionError, IsADirectoryError):
        raise
    except Exception:  # noqa: BLE001 - a damaged file raises anything
        raise DataFormError(
            f"'{path.name}' cannot be read as {path.suffix.lower()[1:]}: it is damaged, or of "
            "another format."
        ) from None
