"""From what the user calls data to an engine over its people.

a table, a file, a stream of Arrow, a query    in this process: `TablePeople`
a pattern or folder of Parquet                 streamed, block by block: `StreamPeople`
a Dask data frame                              on its workers: `ClusterPeople`
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from discreet.design.schema import Schema
from discreet.engine.engine import Engine
from discreet.engine.local import LocalEngine
from discreet.errors import SettingsError
from discreet.people.databases import Query, require_query

if TYPE_CHECKING:
    from collections.abc import Iterable

    from discreet.people import RepairReport
    from discreet.people.picture import Picture
    from discreet.people.tables import Table

EngineName = Literal["auto", "dask"]


class People(ABC):
    """Data and how to reach them, under one schema; nothing is read until a method asks for it."""

    data: Any

    @classmethod
    def of(
        cls,
        data: Any,
        outcome: Any = None,
        engine: EngineName = "auto",
        scheduler: str | None = None,
    ) -> "People":
        """The source of the data's kind; a source is returned as it is, parsed or not."""
        kind = type(data)  # an object whose attributes run code is not asked for any here
        if issubclass(kind, People):
            return data  # type: ignore[no-any-return]
        require_query(data)
        if engine == "dask" and issubclass(kind, Query):
            raise SettingsError("a query is read in this process: leave out engine='dask'.")
        if engine == "dask" or kind.__module__.startswith("dask."):
            return ClusterPeople(data, scheduler)
        return StreamPeople(data) if _is_pattern(data) else TablePeople(data, outcome)

    @property
    @abstractmethod
    def in_memory(self) -> bool:
        """Whether the data are one table that this process holds."""

    @abstractmethod
    def check(self, schema: Schema) -> None:
        """`DataFormError` unless files and columns are there; no record is looked at."""

    @abstractmethod
    def open(self, schema: Schema) -> Engine:
        """The engine; the schema must have all bounds."""

    def count(self, schema: Schema) -> int:
        """n, which is public under replace-one."""
        return self.open(schema).persons

    def repairs(self, schema: Schema) -> "RepairReport":
        """Counts of what does not fit the schema; not private, for the custodian."""
        return self.check_report(schema)[0]

    @abstractmethod
    def check_report(self, schema: Schema) -> "tuple[RepairReport, Picture]":
        """The repairs and a picture of the people; not private, for the custodian."""


@dataclass(eq=False)
class TablePeople(People):
    """One table of this process, parsed once and kept until the people are opened."""

    data: Any
    outcome: Any = None
    _parsed: "Table | None" = field(default=None, init=False, repr=False)

    @property
    def in_memory(self) -> bool:
        """Yes."""
        return True

    def check(self, schema: Schema) -> None:
        """Names and types, from a file's first line or footer."""
        from discreet.people.tables import check_form  # noqa: PLC0415 - loads pyarrow

        check_form(self.data, schema, self.outcome)

    def table(self, schema: Schema) -> "Table":
        """The one parse."""
        from discreet.people.tables import read_table  # noqa: PLC0415 - loads pyarrow

        if self._parsed is None:
            self._parsed = read_table(self.data, schema, self.outcome)
        return self._parsed

    def open(self, schema: Schema) -> Engine:
        """Everyone encoded; raw values are not kept beside the people."""
        from discreet.people import to_episodes  # noqa: PLC0415 - loads pyarrow

        table, self._parsed = self.table(schema), None
        return LocalEngine(to_episodes(table, schema))

    def count(self, schema: Schema) -> int:
        """Rows, or persons by their ids; nothing else is looked at."""
        table = self.table(schema)
        return table.rows if schema.person is None else table.ids(schema.person).codes()[1]

    def repairs(self, schema: Schema) -> "RepairReport":
        """The counts without a picture."""
        from discreet.people import count_repairs  # noqa: PLC0415 - loads pyarrow

        return count_repairs(self.table(schema), schema)

    def check_report(self, schema: Schema) -> "tuple[RepairReport, Picture]":
        """Of the one table."""
        return check_table(self.table(schema), schema)


@dataclass(eq=False)
class StreamPeople(People):
    """Parquet files that need not fit into memory."""

    data: str | PathLike[str]
    _opened: Engine | None = field(default=None, init=False, repr=False)

    @property
    def in_memory(self) -> bool:
        """No."""
        return False

    @cached_property
    def _files(self) -> tuple[Path, ...]:
        from discreet.engine.stream import find_files  # noqa: PLC0415 - loads pyarrow

        return find_files(self.data)

    def check(self, schema: Schema) -> None:
        """The footer of every file."""
        from discreet.engine.stream import check_files  # noqa: PLC0415 - loads pyarrow

        check_files(self._files, schema)

    def open(self, schema: Schema) -> Engine:
        """One engine for all calls: it counts the people once."""
        from discreet.engine.stream import StreamEngine  # noqa: PLC0415 - loads pyarrow

        if self._opened is None:
            self._opened = StreamEngine(self._files, schema)
        return self._opened

    def check_report(self, schema: Schema) -> "tuple[RepairReport, Picture]":
        """Block by block; the schema may have open bounds."""
        from discreet.engine.stream import StreamEngine  # noqa: PLC0415 - loads pyarrow

        engine = StreamEngine(self._files, schema)
        persons = engine.persons  # first: it also finds rows of one person that lie apart
        report, picture = _added(check_table(table, schema) for table in engine.tables())
        return replace(report, persons=persons), picture


@dataclass(eq=False)
class ClusterPeople(People):
    """A Dask data frame, or Parquet files for one, on workers of this machine or of a scheduler."""

    data: Any
    scheduler: str | None = None
    _opened: Engine | None = field(default=None, init=False, repr=False)

    @property
    def in_memory(self) -> bool:
        """No."""
        return False

    @cached_property
    def _files(self) -> tuple[Path, ...] | None:
        """The files; None where the data are a frame."""
        from discreet.engine.stream import find_files  # noqa: PLC0415 - loads pyarrow

        if not isinstance(self.data, str | PathLike):
            return None
        return find_files(self.data) if _is_pattern(self.data) else (Path(self.data),)

    def check(self, schema: Schema) -> None:
        """The footer of every file, or the frame's columns; and whether the cluster answers."""
        cluster = _dask()
        from discreet.engine.stream import check_files  # noqa: PLC0415 - loads pyarrow
        from discreet.people.files import check_columns  # noqa: PLC0415 - loads pyarrow

        if self._files is None:
            check_columns(tuple(self.data.columns), schema.columns)
        else:
            check_files(self._files, schema)
        if self.scheduler is not None:  # a charge would be lost to a cluster that does not answer
            cluster.connect(self.scheduler).close()

    def open(self, schema: Schema) -> Engine:
        """One engine for all calls: its blocks stay on the workers."""
        cluster = _dask()
        if self._opened is None:
            client = cluster.current_client(self.scheduler)
            self._opened = cluster.ClusterEngine.from_frame(self._frame(), schema, client)
        return self._opened

    def check_report(self, schema: Schema) -> "tuple[RepairReport, Picture]":
        """Of each partition on a worker; counts and the first values that do not fit come back."""
        cluster = _dask()
        self.check(schema)
        client = cluster.current_client(self.scheduler)
        return _added(cluster.check_partitions(self._frame(), schema, client))

    def _frame(self) -> Any:
        if self._files is None:
            return self.data
        from dask import dataframe  # noqa: PLC0415 - only those who use it wait for it

        # arrow's own types: over numpy one gap would make doubles of a whole partition's integers
        return dataframe.read_parquet([str(file) for file in self._files], dtype_backend="pyarrow")


def check_table(table: "Table", schema: Schema) -> "tuple[RepairReport, Picture]":
    """The repairs and a picture of a table in which people are whole."""
    from discreet.people.picture import picture_of  # noqa: PLC0415 - loads pyarrow
    from discreet.people.repairs import count_repairs  # noqa: PLC0415 - loads pyarrow

    report = count_repairs(table, schema)
    return report, picture_of(table, schema, report)


def _added(
    parts: "Iterable[tuple[RepairReport, Picture]]",
) -> "tuple[RepairReport, Picture]":
    """The reports of parts in which people are whole, as one."""
    from discreet.people.picture import add_pictures  # noqa: PLC0415 - loads pyarrow
    from discreet.people.repairs import add_reports  # noqa: PLC0415 - loads pyarrow

    reports, pictures = zip(*parts, strict=True)
    return add_reports(reports), add_pictures(pictures)


def _dask() -> Any:
    try:
        from discreet.engine import cluster  # noqa: PLC0415 - only those who use it wait for it
    except ImportError:
        raise SettingsError(
            "Dask is not installed; install this package with its extra 'dask'."
        ) from None
    return cluster


def _is_pattern(data: Any) -> bool:
    if not issubclass(type(data), str | PathLike):
        return False
    text = str(data)
    signs = any(sign in text for sign in "*?[") and not Path(text).exists()  # a name may have them
    return signs or Path(text).is_dir()
