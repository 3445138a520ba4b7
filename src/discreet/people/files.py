"""Files as tables, without guessing a type from their values.

A format is an entry of `FORMATS`: names and types without looking at a record, and the named columns.
"""

import csv
import gzip
import io
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.errors import DataFormError
from discreet.people import formats
from discreet.people.columns import MISSING_TEXTS, to_numpy
from discreet.people.databases import ADDRESSES, require_query

LONGEST_HEADER = 1 << 20
MOST_NAMES = 8
"""Names of columns that an error proposes."""
LEVELS = pa.dictionary(pa.int32(), pa.binary())
"""Type of a CSV file's column of few different texts: each text is held once in each block."""
BLOCKS = (1 << 20, 1 << 25, 1 << 29, (1 << 31) - 1)
"""Sizes, in bytes, in which a CSV file is read; a record longer than the last is refused."""


def read_file(
    path: Path, columns: Sequence[str], numeric: Collection[str], levels: Collection[str] = ()
) -> Any:
    """Read the named columns of a file; raise `DataFormError` if its form is wrong."""
    with _format_of(path) as found:
        names = found.schema(path).names
        check_columns(names, columns)
        # readers take no column for all of them
        return found.read(path, list(columns) or names[:1], numeric, levels)


def file_columns(path: Path) -> Any:
    """Return names and types of a file's columns, from its first line or footer."""
    with _format_of(path) as found:
        return found.schema(path)


def typed_columns(schema: pa.Schema, columns: Sequence[str]) -> Any:
    """Return the named columns of a file, without rows."""
    check_columns(schema.names, columns)
    return empty_table(schema).select(list(columns))


def empty_table(schema: Any) -> Any:
    """Return a table without rows; pyarrow's own `empty_table` imports pandas if it is installed."""
    return pa.Table.from_arrays([pa.chunked_array([], item.type) for item in schema], schema=schema)


@contextmanager
def _format_of(path: Path) -> "Iterator[Format]":
    require_query(path)
    suffix = _ending(path)
    if suffix not in FORMATS:
        name = path.name or path  # '.' has no name
        raise DataFormError(
            f"'{name}' is none of {', '.join(FORMATS)}; convert the file. A database is read at its "
            f"address: {ADDRESSES}."
        )
    with readable(path, suffix[1:], ", or a line has another number of fields than the header"):
        yield FORMATS[suffix]


@contextmanager
def readable(path: Path, kind: str, hint: str = "") -> Iterator[None]:
    """Raise errors of reading a file with texts of ours: Arrow's own text may quote a record."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or "it is not a file of that format"
        raise DataFormError(f"'{path.name}' cannot be read: {reason}.") from None
    except (pa.ArrowException, UnicodeError, EOFError, zlib.error):
        # a column's name may not be UTF-8
        raise DataFormError(
            f"'{path.name}' cannot be read as {kind}: it is damaged{hint}."
        ) from None


def _ending(path: Path) -> str:
    """Return the ending that names a file's format; a packed file has two."""
    last = path.suffix.lower()
    return path.with_suffix("").suffix.lower() + last if last == ".gz" else last


def _delimiter(path: Path) -> str:
    return "\t" if _ending(path).startswith(".tsv") else ","


def check_columns(present: Sequence[str], wanted: Sequence[str]) -> None:
    """Raise `DataFormError` unless every wanted column is there once."""
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
    near = get_close_matches(plain, [name.casefold() for name in names], 1, 0.6)
    if not set(wanted) & set(names):  # the first line may be a record
        return ""
    if near:
        return f" Did you mean '{next(name for name in names if name.casefold() == near[0])}'?"
    others = [f"'{name}'" for name in names if name and name not in wanted]
    return f" It may be one of {', '.join(others[:MOST_NAMES])}." if others else ""


def _read_csv(
    path: Path, columns: Sequence[str], numeric: Collection[str], levels: Collection[str]
) -> Any:
    """Read numbers as numbers if all of them can be read, otherwise all as text.

    The readers of single values then treat each field by itself, with the results of the first
    attempt where that could read it.  Arrow gives up if a record is longer than two of the blocks
    that it reads, so the last attempts have larger ones: a long field makes no fit fail that would
    succeed without it.
    """
    for block, typed in ((BLOCKS[0], numeric), *((block, ()) for block in BLOCKS[:-1])):
        try:
            return _parse_csv(path, columns, typed, levels, block)
        except pa.ArrowException:
            continue
    return _parse_csv(path, columns, (), levels, BLOCKS[-1])


def lines_within_fields(path: Path, rows: int) -> int:
    """Count the lines of a CSV file of ``rows`` records that begin within a quoted field.

    Notes may have line breaks; a quote that was opened and never closed has the records of other
    people in it.
    """
    lines, ended = 0, True
    with _opened(path) as file:
        while chunk := file.read(BLOCKS[0]):
            ends = np.isin(np.frombuffer(chunk, np.uint8), (10, 13))
            begins = ~ends & np.append(ended, ends[:-1])
            lines, ended = lines + int(np.count_nonzero(begins)), bool(ends[-1])
    header = sum(max(len(name.splitlines()) - 1, 0) for name in _csv_header(path)) + 1
    return max(0, lines - header - rows)


def first_open_quote(path: Path) -> int:
    """Return the first line with an odd number of quotes: a quoted field goes on, or never ends."""
    with _opened(path) as file:
        odd = (number for number, line in enumerate(file, 1) if line.count(b'"') % 2)
        return next(odd, 0)


def _opened(path: Path) -> gzip.GzipFile | io.BufferedReader:
    return gzip.open(path, "rb") if _ending(path).endswith(".gz") else path.open("rb")


def is_delimited(path: Path) -> bool:
    """Return whether a file consists of text, in which a quote may be left open."""
    return FORMATS.get(_ending(path)) is _CSV


def _csv_header(path: Path) -> list[str]:
    kind: Any = {"encoding": "utf-8-sig", "errors": "replace", "newline": ""}
    with _opened(path) as raw, io.TextIOWrapper(raw, **kind) as file:
        beginning = file.read(LONGEST_HEADER)
    source = io.StringIO(beginning, newline="")
    try:
        header = next(csv.reader(source, delimiter=_delimiter(path)), [])
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


def _parse_csv(
    path: Path,
    columns: Sequence[str],
    numeric: Collection[str],
    levels: Collection[str],
    block: int,
) -> Any:
    """Read texts as bytes: one that is not UTF-8 must not decide how the others are read."""
    from pyarrow import csv as arrow_csv

    kinds = {**dict.fromkeys(levels, LEVELS), **dict.fromkeys(numeric, pa.float64())}
    types = {name: kinds.get(name, pa.binary()) for name in columns}
    table = arrow_csv.read_csv(
        path,
        read_options=arrow_csv.ReadOptions(block_size=block),
        parse_options=arrow_csv.ParseOptions(delimiter=_delimiter(path), newlines_in_values=True),
        convert_options=arrow_csv.ConvertOptions(
            include_columns=list(columns),
            column_types=types,
            null_values=list(MISSING_TEXTS),
            strings_can_be_null=False,  # a level may be called NA
        ),
    )
    texts = {name: _as_texts(table.column(name)) for name in columns if name not in numeric}
    return pa.table({name: texts.get(name, table.column(name)) for name in columns})


def _as_texts(array: Any) -> Any:
    """Declare bytes to be texts, unchecked: what is not UTF-8 is replaced where a value is read."""
    if isinstance(array, pa.ChunkedArray):
        texts = pa.dictionary(LEVELS.index_type, pa.string())
        kind = texts if array.type == LEVELS else pa.string()
        return pa.chunked_array([_as_texts(chunk) for chunk in array.chunks], kind)
    if array.type == LEVELS:
        texts = _as_texts(array.dictionary)
        return pa.DictionaryArray.from_arrays(array.indices, texts, safe=False)
    return pa.Array.from_buffers(pa.string(), len(array), array.buffers(), offset=array.offset)


@dataclass(frozen=True)
class Format:
    """The readers of files with one ending.

    ``schema`` returns names and types without reading a record; ``read`` the named columns, of which
    the numeric ones may be numbers already, and those of levels a dictionary.  Neither may let one
    record decide how another is read.
    """

    schema: Callable[[Path], Any]
    read: Callable[[Path, Sequence[str], Collection[str], Collection[str]], Any]


def _texts(names: Callable[[Path], Sequence[str]]) -> Callable[[Path], Any]:
    """Return the schema of a format that declares no types that would have to be checked."""
    return lambda path: pa.schema([(name, pa.string()) for name in names(path)])


def _parquet_schema(path: Path) -> Any:
    from pyarrow import parquet

    return parquet.read_schema(path)


def _read_parquet(path: Path, columns: Sequence[str], *_: Collection[str]) -> Any:
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        return file.read(columns=columns)


def _feather_schema(path: Path) -> Any:
    with pa.memory_map(str(path)) as source, pa.ipc.open_file(source) as file:
        return file.schema


def _read_feather(path: Path, columns: Sequence[str], *_: Collection[str]) -> Any:
    with pa.OSFile(str(path)) as source, pa.ipc.open_file(source) as file:
        found = file.read_all().select(columns)
    for column in found.columns:
        for chunk in column.chunks:
            _require_within(chunk)
    return found


def _require_within(array: Any) -> None:
    """Raise `ArrowInvalid` unless offsets and indices stay within the array's own memory.

    Arrow believes those of a file, and would read other memory.  Texts are checked as bytes: one
    that is not UTF-8 is not an error.
    """
    if pa.types.is_dictionary(array.type):
        array.indices.validate(full=True)
        _require_within(array.dictionary)
        codes = to_numpy(array.indices.cast(pa.int64()), gap=0)
        if len(codes) and not 0 <= codes.min() <= codes.max() < max(len(array.dictionary), 1):
            raise pa.ArrowInvalid("an index points beyond its dictionary")
        return
    array.validate()
    kind = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary()}.get(array.type)
    if kind is not None:
        array = pa.Array.from_buffers(kind, len(array), array.buffers(), offset=array.offset)
    array.validate(full=True)


_CSV = Format(_texts(_csv_header), _read_csv)
_STATISTICAL = Format(_texts(formats.statistical_names), formats.read_statistical)
FORMATS = {
    ".csv": _CSV,
    ".csv.gz": _CSV,
    ".tsv": _CSV,
    ".tsv.gz": _CSV,
    ".parquet": Format(_parquet_schema, _read_parquet),
    ".feather": Format(_feather_schema, _read_feather),
    ".xlsx": Format(_texts(formats.workbook_names), formats.read_workbook),
    ".dta": _STATISTICAL,
    ".sas7bdat": _STATISTICAL,
    ".sav": _STATISTICAL,
}
"""The formats that can be read, by ending."""
