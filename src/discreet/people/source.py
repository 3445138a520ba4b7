"""From whatever the user calls data to an engine over its people.

a table, a CSV or Parquet file     in this process
a pattern or folder of Parquet     streamed, block by block
a Dask data frame                  on its workers
"""

from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from discreet.design.schema import Schema
from discreet.engine.engine import Engine
from discreet.engine.local import LocalEngine
from discreet.errors import SettingsError

if TYPE_CHECKING:
    from discreet.people import RepairReport
    from discreet.people.picture import Picture
    from discreet.people.tables import Table

EngineName = Literal["auto", "dask"]


@dataclass(eq=False)
class People:
    """Data and how to reach them, under one schema; nothing is read until asked.

    A table in memory is parsed once: whoever asks first keeps it for the others, until the people
    are opened.  An engine elsewhere is opened once.
    """

    data: Any
    outcome: Any = None
    engine: EngineName = "auto"
    scheduler: str | None = None
    _parsed: "Table | None" = field(default=None, init=False, repr=False)
    _opened: Engine | None = field(default=None, init=False, repr=False)

    @classmethod
    def of(
        cls,
        data: Any,
        outcome: Any = None,
        engine: EngineName = "auto",
        scheduler: str | None = None,
    ) -> "People":
        """The data as people; those that are people already may have been parsed."""
        return data if type(data) is cls else cls(data, outcome, engine, scheduler)

    @property
    def in_memory(self) -> bool:
        """Whether the data are one table that this process holds."""
        return not (self.on_cluster or _is_pattern(self.data))

    @property
    def on_cluster(self) -> bool:
        """Whether Dask workers hold the data."""
        return self.engine == "dask" or type(self.data).__module__.startswith("dask.")

    def check(self, schema: Schema) -> None:
        """`DataFormError` unless files and columns are there; no record is looked at."""
        if self.on_cluster:
            self._check_cluster(schema)
        elif _is_pattern(self.data):
            from discreet.engine.stream import check_files, find_files  # noqa: PLC0415

            check_files(find_files(self.data), schema)
        else:
            from discreet.people.tables import check_form  # noqa: PLC0415 - loads pyarrow

            check_form(self.data, schema, self.outcome)

    def table(self, schema: Schema) -> "Table":
        """The one parse of data in memory."""
        from discreet.people.tables import read_table  # noqa: PLC0415 - loads pyarrow

        if self._parsed is None:
            self._parsed = read_table(self.data, schema, self.outcome)
        return self._parsed

    def open(self, schema: Schema) -> Engine:
        """The engine; the schema must have all bounds."""
        if not self.in_memory:
            if self._opened is None:
                self._opened = self._elsewhere(schema)
            return self._opened
        from discreet.people import to_episodes  # noqa: PLC0415 - loads pyarrow

        table, self._parsed = self.table(schema), None  # raw values are not kept beside the people
        return LocalEngine(to_episodes(table, schema))

    def _elsewhere(self, schema: Schema) -> Engine:
        if self.on_cluster:
            return self._cluster(schema)
        from discreet.engine.stream import StreamEngine, find_files  # noqa: PLC0415

        return StreamEngine(find_files(self.data), schema)

    def count(self, schema: Schema) -> int:
        """n, which is public under replace-one; of a table nothing else is looked at."""
        if not self.in_memory:
            return self.open(schema).persons
        table = self.table(schema)
        if schema.person is None:
            return table.rows
        return table.ids(schema.person).codes()[1]

    def repairs(self, schema: Schema) -> "RepairReport":
        """What does not fit the schema, counted; not private, for the custodian."""
        from discreet.people.repairs import add_reports, count_repairs  # noqa: PLC0415 - pyarrow

        if self.in_memory:
            return count_repairs(self.table(schema), schema)
        from discreet.engine.stream import StreamEngine, find_files  # noqa: PLC0415

        engine = StreamEngine(find_files(self.data), schema)
        persons = engine.persons  # first: it also finds rows of one person that lie apart
        found = add_reports(count_repairs(table, schema) for table in engine.tables())
        return replace(found, persons=persons)

    def review(self, schema: Schema) -> "tuple[RepairReport, Picture]":
        """The same with a picture of the people, for the custodian."""
        from discreet.people.picture import add_pictures, picture_of  # noqa: PLC0415
        from discreet.people.repairs import add_reports, count_repairs  # noqa: PLC0415 - pyarrow

        if self.in_memory:
            table = self.table(schema)
            report = count_repairs(table, schema)
            return report, picture_of(table, schema, report)
        from discreet.engine.stream import StreamEngine, find_files  # noqa: PLC0415
        from discreet.people.tables import read_table  # noqa: PLC0415

        engine = StreamEngine(find_files(self.data), schema)
        persons = engine.persons  # first: it also finds rows of one person that lie apart
        tables = (read_table(block, schema) for block in engine.tables())
        parts = (
            (report := count_repairs(part, schema), picture_of(part, schema, report))
            for part in tables
        )
        reports, pictures = zip(*parts, strict=True)
        return replace(add_reports(reports), persons=persons), add_pictures(pictures)

    def _cluster(self, schema: Schema) -> Engine:
        """Workers of this machine, or of the scheduler at an address."""
        cluster = _dask()
        client = cluster.current_client(self.scheduler)
        engine: Engine = cluster.ClusterEngine.from_frame(self._dask_frame(), schema, client)
        return engine

    def _check_cluster(self, schema: Schema) -> None:
        cluster = _dask()
        from discreet.engine.stream import check_files  # noqa: PLC0415 - loads pyarrow
        from discreet.people.tables import check_columns  # noqa: PLC0415

        if isinstance(self.data, str | PathLike):
            check_files(self._files(), schema)
        else:
            check_columns(tuple(self.data.columns), schema.columns)
        if self.scheduler is not None:  # a charge would be lost to a cluster that does not answer
            cluster.connect(self.scheduler).close()

    def _dask_frame(self) -> Any:
        if not isinstance(self.data, str | PathLike):
            return self.data
        from dask import dataframe  # noqa: PLC0415 - only those who use it wait for it

        # arrow's own types: over numpy one gap would make doubles of a whole partition's integers
        return dataframe.read_parquet(
            [str(file) for file in self._files()], dtype_backend="pyarrow"
        )

    def _files(self) -> tuple[Path, ...]:
        from discreet.engine.stream import find_files  # noqa: PLC0415 - loads pyarrow

        return find_files(self.data) if _is_pattern(self.data) else (Path(self.data),)


def _dask() -> Any:
    try:
        from discreet.engine import cluster  # noqa: PLC0415 - only those who use it wait for it
    except ImportError:
        raise SettingsError(
            "Dask is not installed; install this package with its extra 'dask'."
        ) from None
    return cluster


def _is_pattern(data: Any) -> bool:
    if not isinstance(data, str | PathLike):
        return False
    text = str(data)
    signs = any(sign in text for sign in "*?[") and not Path(text).exists()  # a name may have them
    return signs or Path(text).is_dir()
