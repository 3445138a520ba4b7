"""From whatever the user calls data to an engine over its people.

a table, a CSV or Parquet file     in this process
a pattern or folder of Parquet     streamed, block by block
a Dask data frame                  on its workers
"""

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from discreet.engine.engine import Engine
from discreet.engine.local import LocalEngine
from discreet.errors import SettingsError
from discreet.schema import Schema

EngineName = Literal["auto", "dask"]


@dataclass(frozen=True, eq=False)
class People:
    """Data and how to reach them; nothing is read until asked."""

    data: Any
    outcome: Any = None
    engine: EngineName = "auto"
    scheduler: str | None = None

    @property
    def in_memory(self) -> bool:
        """Whether the data are one table that this process holds."""
        return not (self.on_cluster or _is_pattern(self.data))

    @property
    def on_cluster(self) -> bool:
        """Whether Dask workers hold the data."""
        return self.engine == "dask" or type(self.data).__module__.startswith("dask.")

    def open(self, schema: Schema) -> Engine:
        """The engine; the schema must have all bounds."""
        if self.on_cluster:
            return self._cluster(schema)
        if _is_pattern(self.data):
            from discreet.engine.stream import StreamEngine, find_files  # noqa: PLC0415

            return StreamEngine(find_files(self.data), schema)
        from discreet.frame import to_episodes  # noqa: PLC0415 - loads pyarrow

        return LocalEngine(to_episodes(self.data, schema, self.outcome))

    def count(self, schema: Schema) -> int:
        """n, which is public under replace-one; of a table nothing else is looked at."""
        if not self.in_memory:
            return self.open(schema).persons
        from discreet.frame.identity import number_persons  # noqa: PLC0415 - loads pyarrow
        from discreet.frame.tables import read_table  # noqa: PLC0415

        table = read_table(self.data, schema, self.outcome)
        if schema.person is None:
            return table.rows
        return number_persons(table.column(schema.person))[1]

    def _cluster(self, schema: Schema) -> Engine:
        """Workers of this machine, or of the scheduler at an address."""
        try:
            from discreet.engine.cluster import ClusterEngine, current_client  # noqa: PLC0415
        except ImportError:
            raise SettingsError(
                "Dask is not installed; install this package with its extra 'dask'."
            ) from None
        client = current_client(self.scheduler)
        return ClusterEngine.from_frame(self._dask_frame(), schema, client)

    def _dask_frame(self) -> Any:
        if not isinstance(self.data, str | PathLike):
            return self.data
        from dask import dataframe  # noqa: PLC0415 - only those who use it wait for it

        from discreet.engine.stream import find_files  # noqa: PLC0415

        pattern = _is_pattern(self.data)
        files = find_files(self.data) if pattern else (Path(self.data),)
        return dataframe.read_parquet([str(file) for file in files])


def _is_pattern(data: Any) -> bool:
    if not isinstance(data, str | PathLike):
        return False
    text = str(data)
    return any(sign in text for sign in "*?[") or Path(text).is_dir()
