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
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from discreet.design.schema import Schema
from discreet.engine.engine import Engine
from discreet.engine.local import LocalEngine
from discreet.errors import SettingsError, of_extra
from discreet.people.databases import Query, require_query

if TYPE_CHECKING:
    from discreet.people.check import Checked
    from discreet.people.repairs import RepairReport
    from discreet.people.tables import Table

EngineName = Literal["auto", "dask"]


class People(ABC):
    """Data and how to reach them, under one schema; nothing is read until a method asks for it."""

    data: Any
    in_memory: ClassVar[bool] = False
    """Whether the data are one table that this process holds."""

    @classmethod
    def of(
        cls,
        data: Any,
        outcome: Any = None,
        engine: EngineName = "auto",
        scheduler: str | None = None,
    ) -> "People":
        """Return the source of the data's kind; a source is returned as it is, parsed or not."""
        kind = type(data)  # an object whose attributes run code is not asked for any here
        if issubclass(kind, People):
            return data
        require_query(data)
        if engine == "dask" and issubclass(kind, Query):
            raise SettingsError("a query is read in this process: leave out engine='dask'.")
        if engine == "dask" or kind.__module__.startswith("dask."):
            return ClusterPeople(data, scheduler)
        return StreamPeople(data) if _is_pattern(data) else TablePeople(data, outcome)

    @abstractmethod
    def check(self, schema: Schema) -> None:
        """Raise `DataFormError` unless files and columns are there; no record is read."""

    @abstractmethod
    def open(self, schema: Schema) -> Engine:
        """Return the engine; the schema must have all bounds."""

    def count(self, schema: Schema) -> int:
        """Return n, which is public under replace-one."""
        return self.open(schema).persons

    def repairs(self, schema: Schema) -> "RepairReport":
        """Count what does not fit the schema; not private, for the custodian."""
        return self.check_report(schema)[0]

    @abstractmethod
    def check_report(self, schema: Schema) -> "Checked":
        """Return the repairs and a picture of the people; not private, for the custodian."""


@dataclass(eq=False)
class TablePeople(People):
    """One table of this process, parsed once and kept until the people are opened."""

    data: Any
    outcome: Any = None
    in_memory: ClassVar[bool] = True
    _parsed: "Table | None" = field(default=None, init=False, repr=False)

    def check(self, schema: Schema) -> None:
        """Check names and types, from a file's first line or footer."""
        from discreet.people.tables import check_form

        check_form(self.data, schema, self.outcome)

    def table(self, schema: Schema) -> "Table":
        """Parse the data once."""
        from discreet.people.tables import read_table

        if self._parsed is None:
            self._parsed = read_table(self.data, schema, self.outcome)
        return self._parsed

    def open(self, schema: Schema) -> Engine:
        """Encode all people; raw values are not kept beside them."""
        from discreet.people.encode import to_episodes

        table, self._parsed = self.table(schema), None
        return LocalEngine(to_episodes(table, schema))

    def count(self, schema: Schema) -> int:
        """Count rows, or persons by their ids; nothing else is read."""
        table = self.table(schema)
        return table.rows if schema.person is None else table.ids(schema.person).codes()[1]

    def repairs(self, schema: Schema) -> "RepairReport":
        """Count the repairs without a picture."""
        from discreet.people.repairs import count_repairs

        return count_repairs(self.table(schema), schema)

    def check_report(self, schema: Schema) -> "Checked":
        """Check the one table."""
        from discreet.people.check import check_table

        return check_table(self.table(schema), schema)


@dataclass(eq=False)
class StreamPeople(People):
    """Parquet files that need not fit into memory."""

    data: str | PathLike[str]
    _opened: Engine | None = field(default=None, init=False, repr=False)

    @cached_property
    def _files(self) -> tuple[Path, ...]:
        from discreet.engine.stream import find_files

        return find_files(self.data)

    def check(self, schema: Schema) -> None:
        """Check the footer of every file."""
        from discreet.engine.stream import check_files

        check_files(self._files, schema)

    def open(self, schema: Schema) -> Engine:
        """Return one engine for all calls: it counts the people once."""
        from discreet.engine.stream import StreamEngine

        if self._opened is None:
            self._opened = StreamEngine(self._files, schema)
        return self._opened

    def check_report(self, schema: Schema) -> "Checked":
        """Check block by block; the schema may have open bounds."""
        from discreet.engine.stream import StreamEngine
        from discreet.people.check import add_checks, check_table

        engine = StreamEngine(self._files, schema)
        persons = engine.persons  # first: it also finds rows of one person that lie apart
        report, picture = add_checks(check_table(table, schema) for table in engine.tables())
        return replace(report, persons=persons), picture


@dataclass(eq=False)
class ClusterPeople(People):
    """A Dask data frame, or Parquet files for one, on workers of this machine or of a scheduler."""

    data: Any
    scheduler: str | None = None
    _opened: Engine | None = field(default=None, init=False, repr=False)

    @property
    def _cluster(self) -> Any:
        with of_extra("dask", "Dask is not installed"):
            from discreet.engine import cluster
        return cluster

    @cached_property
    def _files(self) -> tuple[Path, ...] | None:
        """The files; None where the data are a frame."""
        from discreet.engine.stream import find_files

        if not isinstance(self.data, str | PathLike):
            return None
        return find_files(self.data) if _is_pattern(self.data) else (Path(self.data),)

    def check(self, schema: Schema) -> None:
        """Check the footer of every file, or the frame's columns, and that the cluster answers."""
        cluster = self._cluster
        from discreet.engine.stream import check_files
        from discreet.people.files import check_columns

        if self._files is None:
            check_columns(tuple(self.data.columns), schema.columns)
        else:
            check_files(self._files, schema)
        if self.scheduler is not None:  # a charge would be lost to a cluster that does not answer
            cluster.connect(self.scheduler).close()

    def open(self, schema: Schema) -> Engine:
        """Return one engine for all calls: its blocks stay on the workers."""
        if self._opened is None:
            client = self._cluster.current_client(self.scheduler)
            self._opened = self._cluster.ClusterEngine.from_frame(self._frame(), schema, client)
        return self._opened

    def check_report(self, schema: Schema) -> "Checked":
        """Check each partition on a worker; counts and the first values that do not fit come back."""
        from discreet.people.check import add_checks

        self.check(schema)
        client = self._cluster.current_client(self.scheduler)
        return add_checks(self._cluster.check_partitions(self._frame(), schema, client))

    def _frame(self) -> Any:
        if self._files is None:
            return self.data
        from dask import dataframe

        # arrow's own types: over numpy one gap would make doubles of a whole partition's integers
        return dataframe.read_parquet([str(file) for file in self._files], dtype_backend="pyarrow")


def _is_pattern(data: Any) -> bool:
    if not issubclass(type(data), str | PathLike):
        return False
    text = str(data)
    signs = any(sign in text for sign in "*?[") and not Path(text).exists()  # a name may have them
    return signs or Path(text).is_dir()
