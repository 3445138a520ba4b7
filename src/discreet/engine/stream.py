"""People in Parquet files, read block by block at every sum: memory does not grow with n.

Each ``reduce`` reads the files again, and stops if their rows have changed. A block is cut between
people; while threads encode and sum blocks, the next one is read, so that memory holds one block more
than there are threads. Nothing is written to disk.
"""

import os
import secrets
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from glob import escape, glob
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
from pyarrow import parquet

from discreet.design.schema import Schema
from discreet.engine.engine import Arrays, BlockFunction, Engine, add, require_same_people
from discreet.engine.local import LocalEngine
from discreet.engine.threads import one_blas_thread
from discreet.errors import DataFormError
from discreet.people.encode import to_episodes
from discreet.people.episodes import Episodes, Stamp
from discreet.people.files import check_columns, readable, typed_columns
from discreet.people.identity import PersonCount, last_person
from discreet.people.tables import Table, check_types, open_table, stack_tables

Result = TypeVar("Result")

ROWS_A_BLOCK = 262_144
# Each holds a block: about 40 MB with eight covariates.
MOST_THREADS = 8


def find_files(pattern: str | os.PathLike[str]) -> tuple[Path, ...]:
    """Return the Parquet files of a pattern or folder, in the order of their names."""
    text = os.fspath(pattern)
    # Path.glob refuses absolute patterns, and a user's pattern may be one
    inside = str(Path(escape(text)) / "*.parquet")
    found = sorted(glob(inside if Path(text).is_dir() else text))  # noqa: PTH207
    files = tuple(Path(name) for name in found)
    if not files:
        if Path(text).is_dir():
            raise DataFormError(f"the folder '{text}' holds no .parquet file.")
        raise DataFormError(f"no file matches '{text}'; quote the pattern and check the folder.")
    for file in files:
        if file.suffix.lower() != ".parquet":
            raise DataFormError(f"'{file.name}' is not .parquet; only Parquet files are streamed.")
    return files


def check_files(files: tuple[Path, ...], schema: Schema) -> None:
    """Raise `DataFormError` unless all files are Parquet with the schema's columns, readable."""
    for file in files:
        with _open(file, schema.columns) as source, readable(file, "Parquet"):
            columns = typed_columns(source.schema_arrow, schema.columns)
            check_types(columns, schema.columns, schema.time.date_columns)


@dataclass(frozen=True, eq=False)
class StreamEngine:
    """Blocks of people from Parquet files that need not fit into memory."""

    files: tuple[Path, ...]
    schema: Schema
    rows_a_block: int = ROWS_A_BLOCK
    _summed: list[Stamp] = field(default_factory=list, init=False, repr=False)

    @cached_property
    def persons(self) -> int:
        """n, the number of people."""
        if self.schema.person is None:
            return sum(_open(file, self.schema.columns).metadata.num_rows for file in self.files)
        return sum(persons for persons, _ in self._stamps)

    @cached_property
    def _stamps(self) -> list[Stamp]:
        """The ids of each block; the rows of each person must be adjacent."""
        person = self.schema.person
        if person is None:  # each row is a person: the first pass must find the same number
            return [(self.persons, 0)]
        count = PersonCount(person, self._secret)
        return [count.add(table.ids(person)) for table in self._people((person,))]

    @cached_property
    def _secret(self) -> bytes:
        return secrets.token_bytes(16)

    def tables(self) -> Iterator[Table]:
        """Return the raw rows of each block, of whole people."""
        return self._people(self.schema.columns)

    def reduce(self, function: BlockFunction, *arguments: Any) -> Arrays:
        """Sum block by block, added in the order of the files.

        The first pass must find the ids that were counted, and every later one the rows that the
        first one summed, number by number.
        """
        if not self.persons:
            raise DataFormError("the files hold no row.")
        first = not self._summed

        def sums(table: Table) -> tuple[Stamp, Stamp, Arrays]:
            block = to_episodes(table, self.schema)
            summed = LocalEngine(block, threads=1).reduce(function, *arguments)
            ids = (block.persons, 0)
            if first:  # later passes compare rows alone
                ids = stamp_of_ids(table, self.schema, block, self._secret)
            return ids, block.stamp(self._secret), summed

        counted: list[Stamp] = []
        stamps: list[Stamp] = []
        total: Arrays = ()
        with one_blas_thread():
            for ids, stamp, part in _in_turn(sums, self.tables()):
                total = add(total, part) if stamps else part
                counted.append(ids)
                stamps.append(stamp)
        if first:
            if self.schema.person is None:
                counted = [(sum(persons for persons, _ in counted), 0)]
            require_same_people(counted, self._stamps)
            self._summed.extend(stamps)
        require_same_people(stamps, self._summed)
        return total

    def sample(self) -> Engine:
        """Return the people of the first block, enough for a starting value."""
        return LocalEngine(to_episodes(next(self.tables()), self.schema))

    def _people(self, columns: tuple[str, ...]) -> Iterator[Table]:
        """Yield tables of whole people: the last person of a block waits for the next one.

        Files may differ in a column's type: pieces are stacked, not converted.
        """
        waiting: list[pa.Table] = []
        person = self.schema.person
        for table in self._tables(columns):
            pieces = [*waiting, table]
            whole = _stacked(pieces)
            cut = whole.rows if person is None else last_person(whole.ids(person))
            waiting = _rows(pieces, cut, whole.rows)
            if cut:
                yield _stacked(_rows(pieces, 0, cut))
        if waiting:
            yield _stacked(waiting)

    def _tables(self, columns: tuple[str, ...]) -> Iterator[pa.Table]:
        for file in self.files:
            with _open(file, columns) as source:
                batches = source.iter_batches(self.rows_a_block, columns=list(columns))
                while (batch := _next(batches, file)) is not None:
                    yield pa.Table.from_batches([batch])


def stamp_of_ids(table: Table, schema: Schema, block: Episodes, secret: bytes) -> Stamp:
    """Return the stamp of the ids of a block; they must be of as many people as were encoded."""
    if schema.person is None:
        return block.persons, 0
    stamp = table.ids(schema.person).stamp(secret)
    require_same_people([(block.persons, stamp[1])], [stamp])
    return stamp


def _open(file: Path, columns: tuple[str, ...]) -> parquet.ParquetFile:
    with readable(file, "Parquet"):
        source = parquet.ParquetFile(file)
        check_columns(source.schema_arrow.names, columns)
    return source


def _stacked(pieces: Sequence[pa.Table]) -> Table:
    return stack_tables([open_table(piece) for piece in pieces])


def _rows(pieces: Sequence[pa.Table], start: int, stop: int) -> list[pa.Table]:
    """Return the rows start:stop of concatenated tables, without empty pieces."""
    parts, first = [], 0
    for piece in pieces:
        low, high = max(start - first, 0), min(stop - first, piece.num_rows)
        if low < high:
            parts.append(piece.slice(low, high - low))
        first += piece.num_rows
    return parts


def _next(batches: Iterator[pa.RecordBatch], file: Path) -> pa.RecordBatch | None:
    with readable(file, "Parquet"):
        return next(batches, None)


def _in_turn(work: Callable[[Table], Result], tables: Iterator[Table]) -> Iterator[Result]:
    """Yield the results of threads in the order of the tables; few are in memory at a time."""
    threads = min(os.cpu_count() or 1, MOST_THREADS)
    with ThreadPoolExecutor(threads) as pool:
        coming: deque[Future[Result]] = deque()
        for table in tables:
            coming.append(pool.submit(work, table))
            if len(coming) > threads:
                yield coming.popleft().result()
        while coming:
            yield coming.popleft().result()
