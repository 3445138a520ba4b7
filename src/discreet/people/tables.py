"""Data of any source as one table, whose columns are fetched one at a time.

Files, streams and queries are read without guessing a type from their values.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar, cast

import narwhals as nw
import numpy as np
import pyarrow as pa
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray

from discreet.design.schema import Numeric, Schema
from discreet.errors import DataFormError
from discreet.people import formats
from discreet.people.columns import (
    CodedColumn,
    Column,
    DateColumn,
    NumberColumn,
    ObjectColumn,
    StackedColumn,
    arrow_column,
    make_column,
    require_readable,
)
from discreet.people.databases import Query
from discreet.people.files import (
    check_columns,
    empty_table,
    file_columns,
    read_file,
    typed_columns,
)
from discreet.people.identity import Ids
from discreet.people.streams import open_stream

Kept = TypeVar("Kept")

MOST_ROWS = 1_000_000_000  # of one table in memory


@dataclass(frozen=True)
class Table:
    """Named columns of equal length; ``column`` converts one at each call and keeps nothing.

    Results that take long and are needed both to count people and to encode them are kept by
    ``cached``.
    """

    rows: int
    names: tuple[str, ...]
    column: Callable[[str], Column]
    gaps: Mapping[str, tuple[str, ...]] | None = None
    """The declared codes for missing values by column, once ``column`` applies them."""
    ordered: bool = True
    """False of rows that may come in another order each time: of a query or a lazy frame."""
    _kept: dict[Hashable, Any] = field(default_factory=dict, repr=False, compare=False)

    def cached(self, key: Hashable, make: Callable[[], Kept]) -> Kept:
        """Return the result of ``make``, computed at the first call with this key."""
        if key not in self._kept:
            self._kept[key] = make()
        return cast("Kept", self._kept[key])

    def ids(self, name: str) -> Ids:
        """Return the identity of each row's person, by the id in a column."""
        return self.cached(name, lambda: Ids.of(self.column(name)))


def read_table(data: Any, schema: Schema, outcome: Any = None) -> Table:
    """Read the columns of a fit.

    With ``outcome``, scikit-survival's structured array, event and duration come from there.
    """
    if outcome is None:
        return _read(data, schema.columns, schema)
    event, time = split_outcome(outcome)
    given: dict[str, Column] = dict(
        zip(_outcome_columns(schema), (NumberColumn(event), NumberColumn(time)), strict=True)
    )
    table = _read(data, tuple(name for name in schema.columns if name not in given), schema)
    if table.rows != len(event):
        raise DataFormError("X and y have different numbers of rows; they must describe one table.")
    return replace(
        table,
        names=(*(name for name in table.names if name not in given), *given),
        column=lambda name: given[name] if name in given else table.column(name),
    )


def check_form(data: Any, schema: Schema, outcome: Any = None) -> None:
    """Raise what `read_table` would raise for names, types and files; read no record."""
    given: set[str] = set()
    if outcome is not None:
        outcome_fields(outcome)
        given = set(_outcome_columns(schema))
    columns = [name for name in schema.columns if name not in given]
    if isinstance(data, np.ndarray):
        check_columns(_open_array(data).names, columns)
        return
    if isinstance(data, str | Path):
        data = typed_columns(file_columns(Path(data)), columns)
    elif isinstance(data, Query):
        data = typed_columns(data.schema(), columns)
    check_types(data, columns, schema.time.date_columns)


def _outcome_columns(schema: Schema) -> tuple[str, str]:
    """Return the columns that scikit-survival's array replaces."""
    if schema.time.duration is None:
        raise DataFormError(
            "y holds durations, but the schema has start and end in [time]; give one table with "
            "the dates, or a schema with a duration."
        )
    return schema.time.event, schema.time.duration


def check_types(data: Any, columns: Sequence[str], dates: Sequence[str] = ()) -> None:
    """Raise `DataFormError` unless the frame has the columns in types that can be read."""
    frame = _frame(data, rows=False)
    if isinstance(frame, pa.Table):
        names, kinds = frame.column_names, frame.schema.types
    else:
        types = frame.collect_schema()
        names, kinds = types.names(), types.dtypes()
    check_columns(names, columns)
    for name in columns:
        require_readable(name, kinds[names.index(name)], dates=name in dates)


def stack_tables(tables: Sequence[Table]) -> Table:
    """Return the rows of several tables with the same names and columns of any types."""
    if len(tables) == 1:
        return tables[0]
    return Table(
        sum(table.rows for table in tables),
        tables[0].names,
        lambda name: StackedColumn([table.column(name) for table in tables]),
    )


def read_covariates(data: Any, schema: Schema) -> Table:
    """Read the covariates alone, for predictions."""
    return _read(data, tuple(item.name for item in schema.covariates), schema)


def read_stratum(data: Any, schema: Schema) -> Table:
    """Read the column of the strata alone, for predictions."""
    name = () if schema.strata is None else (schema.strata.name,)
    return _read(data, name, schema)


def read_columns(data: Any, columns: Sequence[str]) -> Table:
    """Read columns whatever a schema says of them, every value as it is written."""
    if isinstance(data, str | Path):
        data = read_file(Path(data), columns, ())
    elif isinstance(data, Query):
        data = data.read(columns)
    return open_table(data, columns)


def other_columns(data: Any, schema: Schema) -> dict[str, list[object]]:
    """Return the values of columns beside covariates, event and times: names, ids, notes.

    They are copied to predictions alone, so columns of lists and repeated names are left out.
    """
    known = {item.name for item in schema.covariates} | set(schema.columns) - {schema.person}
    if isinstance(data, str | Path):
        present = file_columns(Path(data)).names
        names = [name for name in present if name not in known and present.count(name) == 1]
        data = read_file(Path(data), names, ()) if names else None
    data = held(data)
    if data is None or isinstance(data, np.ndarray):
        return {}
    table, found = open_table(data), {}
    for name in table.names:
        if name in known:
            continue
        try:
            column = table.column(name)
        except DataFormError:  # lists and the like
            continue
        if isinstance(column, DateColumn):
            found[name] = column.array.cast(pa.string()).to_pylist()
        else:
            codes, values = column.coded()
            found[name] = [None if code < 0 else values[code] for code in codes.tolist()]
    return found


def split_outcome(outcome: Any) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Return event and time of scikit-survival's structured array."""
    event, time = outcome_fields(outcome)
    array = np.asarray(outcome)
    return array[event].astype(np.bool_), array[time].astype(np.float64)


def outcome_fields(outcome: Any) -> tuple[str, str]:
    """Return the names of the first boolean and the first floating-point field.

    An integer field serves where there is no floating-point one.
    """
    array = np.asarray(outcome)
    kinds = {array.dtype[name].kind: name for name in reversed(array.dtype.names or ())}
    event, time = kinds.get("b"), kinds.get("f", kinds.get("i", kinds.get("u")))
    if event is None or time is None or array.ndim != 1:
        raise DataFormError(
            "y must be a one-dimensional structured array with a boolean field (event) and a "
            "number field (time), as sksurv.util.Surv makes it."
        )
    return event, time


def open_table(data: Any, columns: Sequence[str] | None = None) -> Table:
    """Open a data frame of any library, or a two-dimensional array (its columns are x0, x1, ...).

    Of a lazy frame only ``columns`` are collected, all of them if None.
    """
    if isinstance(data, np.ndarray):
        return _open_array(data)
    if isinstance(data, formats.Cells):
        return Table(data.rows, tuple(data.columns), data.column)
    frame = _frame(data)
    if isinstance(frame, pa.Table):
        check_columns(frame.column_names, frame.column_names)
        present = tuple(frame.column_names)
        return Table(frame.num_rows, present, lambda name: arrow_column(name, frame.column(name)))
    names, ordered = tuple(frame.collect_schema().names()), True
    if columns is not None:
        check_columns(names, columns)
    if isinstance(frame, nw.LazyFrame):
        frame = _collected(frame, names if columns is None else columns or names[:1])
        ordered = False
    return Table(
        len(frame), names, lambda name: make_column(frame.get_column(name)), ordered=ordered
    )


def _read(data: Any, columns: Sequence[str], schema: Schema) -> Table:
    if isinstance(data, Table):  # parsed before
        check_columns(data.names, columns)
        return _with_gaps(data, schema)
    if isinstance(data, str | Path):
        numbers = {item.name for item in schema.covariates if isinstance(item, Numeric)}
        times = {schema.time.duration, schema.time.entry} - {None, *schema.time.date_columns}
        levels = {item.name for item in schema.covariates if not isinstance(item, Numeric)}
        strata = {schema.strata.name} if schema.strata else set()
        data = read_file(
            Path(data),
            columns,
            numbers | {name for name in times if name is not None},
            (levels | strata | {schema.time.event}) - {schema.person},
        )
    table = open_table(data.read(columns) if isinstance(data, Query) else data, columns)
    check_columns(table.names, columns)
    if isinstance(data, Query):
        table = replace(table, ordered=False)
    if table.rows > MOST_ROWS:
        raise DataFormError(f"the data have more than {MOST_ROWS:,} rows; stream them in parts.")
    return _with_gaps(table, schema)


def _with_gaps(table: Table, schema: Schema) -> Table:
    """Return the table with gaps where the schema's codes for missing values are."""
    gaps, plain = schema.missing_codes, table.column
    if not gaps or table.gaps is not None:
        return table

    def column(name: str) -> Column:
        codes = gaps.get(name)
        return CodedColumn(plain(name), codes, schema.time.date_format) if codes else plain(name)

    return replace(table, column=column, gaps=gaps)


def held(data: Any) -> Any:
    """Return the rows of a query, a stream or a lazy frame as a table, other data as they are.

    Data that are read several times must be held: a database may return the rows in another order
    each time, and values of one row would be taken for those of another.
    """
    if isinstance(data, Query):
        return data.read()
    if data is None or isinstance(data, str | Path | np.ndarray | Table | formats.Cells):
        return data
    frame = _frame(data)
    if isinstance(frame, nw.LazyFrame):
        return _collected(frame, frame.collect_schema().names()).to_native()
    return frame if isinstance(frame, pa.Table) else data


def _collected(frame: "nw.LazyFrame[Any]", columns: Sequence[str]) -> "nw.DataFrame[Any]":
    """Compute the named columns of a lazy frame; its library's error texts may quote a record."""
    try:
        return frame.select(list(columns)).collect()
    except Exception as error:  # noqa: BLE001 - what the libraries raise has no common class
        raise DataFormError(
            f"the lazy frame cannot be computed: its library raises {type(error).__name__}."
        ) from None


def _frame(data: Any, *, rows: bool = True) -> Any:
    """Return a table of Arrow, or a frame of narwhals; without the ``rows`` of a stream if asked."""
    if isinstance(data, pa.Table):
        return data
    try:
        frame = nw.from_native(data)
        if type(data).__name__ == "DuckDBPyRelation" and len(set(data.columns)) < len(data.columns):
            raise DuplicateError  # noqa: TRY301 - narwhals keeps one of them
    except DuplicateError:
        twice = next((str(name) for name in data.columns if list(data.columns).count(name) > 1), "")
        raise DataFormError(f"the data have two columns '{twice}'; keep one.") from None
    except TypeError:
        stream = open_stream(data)
        if stream is None:
            raise DataFormError(
                f"data of type {type(data).__name__} cannot be read; give a table of pandas, "
                "polars, pyarrow or DuckDB, an object that speaks Arrow (of a cursor of ADBC its "
                "fetch_record_batch()), or the path of a file."
            ) from None
        return stream.table if rows else empty_table(stream.schema)
    return frame


def _open_array(array: NDArray[Any]) -> Table:
    if array.ndim != 2:
        raise DataFormError("an array of covariates must have two dimensions, rows and columns.")
    names = tuple(f"x{position}" for position in range(array.shape[1]))

    def column(name: str) -> Column:
        values = array[:, names.index(name)]
        plain = values.dtype.kind in "biuf"
        return NumberColumn(values) if plain else ObjectColumn(values.tolist())

    return Table(len(array), names, column)
