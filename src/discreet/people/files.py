"""CSV and Parquet files as arrow tables, read without guessing a type from the values."""

import csv
import io
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.errors import DataFormError
from discreet.people.values import MISSING_TEXTS

READABLE = (".csv", ".parquet")
LONGEST_HEADER = 1 << 20
BLOCKS = (1 << 20, 1 << 25, 1 << 29, (1 << 31) - 1)
"""Sizes, in bytes, in which a CSV file is read; a record longer than the last is refused."""


def read_file(path: Path, columns: Sequence[str], numeric: Collection[str]) -> Any:
    """The named columns of a file; a DataFormError says what is wrong with its form."""
    with _typed(path):
        return (_read_csv if _is_csv(path) else _read_parquet)(path, columns, numeric)


def check_file(path: Path, columns: Sequence[str]) -> Any:
    """What `read_file` would say of the first line or the footer; no record is looked at.

    Returns the columns without rows, in the types that the file declares.
    """
    with _typed(path):
        if _is_csv(path):
            check_columns(_csv_header(path), columns)
            return pa.table({name: pa.array([], pa.string()) for name in columns})
        return typed_columns(_parquet_schema(path), columns)


def column_names(path: Path) -> tuple[str, ...]:
    """The names of a file's columns, from its first line or footer; no record is looked at."""
    with _typed(path):
        return tuple(_csv_header(path) if _is_csv(path) else _parquet_schema(path).names)


def typed_columns(schema: pa.Schema, columns: Sequence[str]) -> Any:
    """The named columns of a Parquet file, without rows."""
    check_columns(schema.names, columns)
    return schema.empty_table().select(list(columns))


@contextmanager
def _typed(path: Path) -> Iterator[None]:
    suffix = path.suffix.lower()
    if suffix not in READABLE:
        name = path.name or path  # '.' has no name
        raise DataFormError(f"'{name}' is neither .csv nor .parquet; convert the file.")
    try:
        yield
    except OSError as error:
        reason = error.strerror or "it is not a file of that format"
        raise DataFormError(f"'{path.name}' cannot be read: {reason}.") from None
    except (pa.ArrowException, UnicodeError):
        # arrow's own text quotes the line it stumbled over; a column's name may not be UTF-8
        raise DataFormError(
            f"'{path.name}' cannot be read as {suffix[1:]}: it is damaged, or a line has another "
            "number of fields than the header."
        ) from None


def _is_csv(path: Path) -> bool:
    return path.suffix.lower() == ".csv"


def check_columns(present: Sequence[str], wanted: Sequence[str]) -> None:
    """Every wanted column is there, once."""
    for name in wanted:
        if name not in present:
            raise DataFormError(
                f"the data have no column '{name}', which the schema names.{_hint(name, present, wanted)}"
            )
        if list(present).count(name) > 1:
            raise DataFormError(f"the data have two columns '{name}'; keep one.")


def _hint(missing: str, present: Sequence[object], wanted: Sequence[str]) -> str:
    """Why a column may be missing: a spreadsheet's separator, another encoding, a capital."""
    names = [str(name) for name in present]  # pandas takes numbers for names
    if any("\N{REPLACEMENT CHARACTER}" in name for name in names):
        return " The first line is not UTF-8; save the file as UTF-8."
    for mark, word in {";": "semicolons", "\t": "tabs"}.items():
        if len(names) == 1 and mark in names[0]:
            return (
                f" The columns seem to be separated by {word}; save the file with commas between "
                "columns and a point in decimals."
            )
    plain = missing.strip().casefold()
    alike = next((name for name in names if name.strip().casefold() == plain), None)
    if alike is not None:
        return f" There is '{alike}': capitals and blanks count."
    if len(wanted) > 1 and not set(wanted) & set(names):
        return " Nor is any other there: the first line must name the columns."
    return ""


def _read_csv(path: Path, columns: Sequence[str], numeric: Collection[str]) -> Any:
    """Numbers as numbers where every one can be read, otherwise all as text.

    The readers of single values then treat each field by itself, with the results of the first
    attempt where that could read it.  Arrow gives up where a record is longer than two of the
    blocks that it reads, so the last attempts have larger ones: nobody's long field makes a fit
    fail that would succeed without it.
    """
    header = _csv_header(path)
    check_columns(header, columns)
    columns = columns or header[:1]  # no column would mean all of them
    for block, typed in ((BLOCKS[0], numeric), *((block, ()) for block in BLOCKS[:-1])):
        try:
            return _parse_csv(path, columns, typed, block)
        except pa.ArrowException:
            continue
    return _parse_csv(path, columns, (), BLOCKS[-1])


def lines_within_fields(path: Path, rows: int) -> int:
    """How many lines of a CSV file begin within a quoted field, if it has so many records.

    Notes may have line breaks; a quote that was opened and never closed has the records of other
    people in it.
    """
    lines, ended = 0, True
    with path.open("rb") as file:
        while chunk := file.read(BLOCKS[0]):
            ends = np.isin(np.frombuffer(chunk, np.uint8), (10, 13))
            begins = ~ends & np.append(ended, ends[:-1])
            lines, ended = lines + int(np.count_nonzero(begins)), bool(ends[-1])
    header = sum(max(len(name.splitlines()) - 1, 0) for name in _csv_header(path)) + 1
    return max(0, lines - header - rows)


def first_open_quote(path: Path) -> int:
    """The first line with an odd number of quotes: a quoted field goes on, or never ends."""
    with path.open("rb") as file:
        odd = (number for number, line in enumerate(file, 1) if line.count(b'"') % 2)
        return next(odd, 0)


def _csv_header(path: Path) -> list[str]:
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        beginning = file.read(LONGEST_HEADER)
    source = io.StringIO(beginning, newline="")
    try:
        header = next(csv.reader(source), [])
    except csv.Error:  # one name of more than 128 KiB
        source.seek(LONGEST_HEADER)
    if source.tell() >= LONGEST_HEADER:
        raise DataFormError(
            f"the first line of '{path.name}' does not end within {LONGEST_HEADER:,} characters; "
            "it must name the columns, with closed quotes."
        )
    if not header:
        raise DataFormError(f"'{path.name}' is empty; its first line must name the columns.")
    return header


def _parse_csv(path: Path, columns: Sequence[str], numeric: Collection[str], block: int) -> Any:
    """Texts as bytes: one that is not UTF-8 must not decide how the others are read."""
    from pyarrow import csv as arrow_csv  # noqa: PLC0415 - only those who read CSV wait for it

    types = {name: pa.float64() if name in numeric else pa.binary() for name in columns}
    table = arrow_csv.read_csv(
        path,
        read_options=arrow_csv.ReadOptions(block_size=block),
        parse_options=arrow_csv.ParseOptions(newlines_in_values=True),
        convert_options=arrow_csv.ConvertOptions(
            include_columns=list(columns),
            column_types=types,
            null_values=list(MISSING_TEXTS),
            strings_can_be_null=False,  # a level may be called NA
        ),
    )
    texts = {name: _as_texts(table.column(name)) for name in columns if name not in numeric}
    return pa.table({name: texts.get(name, table.column(name)) for name in columns})


def _as_texts(column: Any) -> Any:
    """The same bytes as texts, unchecked: who reads a value replaces what is not UTF-8."""
    chunks = [
        pa.Array.from_buffers(pa.string(), len(chunk), chunk.buffers(), offset=chunk.offset)
        for chunk in column.chunks
    ]
    return pa.chunked_array(chunks, pa.string())


def _read_parquet(path: Path, columns: Sequence[str], _numeric: Collection[str]) -> Any:
    from pyarrow import parquet  # noqa: PLC0415 - only those who read Parquet wait for it

    with parquet.ParquetFile(path) as file:
        names = file.schema_arrow.names
        check_columns(names, columns)
        return file.read(columns=list(columns) or names[:1])


def _parquet_schema(path: Path) -> Any:
    from pyarrow import parquet  # noqa: PLC0415 - only those who read Parquet wait for it

    return parquet.read_schema(path)
