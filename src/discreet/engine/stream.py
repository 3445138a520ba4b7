"""People in Parquet files, read block by block at every sum: memory does not grow with n.

Each ``reduce`` reads the files once more. A block is cut between people; while threads encode and
sum blocks, the next one is read, so there is one block more in memory than there are threads.
Nothing is written anywhere.
"""

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, reduce
from glob import escape, glob
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from discreet.design.schema import Schema
from discreet.engine.engine import Arrays, BlockFunction, Engine, add
from discreet.engine.local import LocalEngine
from discreet.engine.threads import one_blas_thread
from discreet.errors import DataFormError
from discreet.people import to_episodes
from discreet.people.episodes import Episodes
from discreet.people.files import check_columns, typed_columns
from discreet.people.runs import PersonCount, last_person
from discreet.people.tables import check_types

ROWS_A_BLOCK = 262_144
# Each holds a block: some 40 MB with eight covariates.
MOST_THREADS = 8


def find_files(pattern: str | os.PathLike[str]) -> tuple[Path, ...]:
    """The Parquet files of a pattern or folder, in the order of their names."""
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
    """`DataFormError` unless every file is Parquet with the schema's columns in readable types."""
    for file in files:
        with _open(file, schema.columns) as source, _typed(file):
            check_types(typed_columns(source.schema_arrow, schema.columns), schema.columns)


@dataclass(frozen=True, eq=False)
class StreamEngine:
    """Blocks of people from Parquet files that need not fit into memory."""

    files: tuple[Path, ...]
    schema: Schema
    rows_a_block: int = ROWS_A_BLOCK

    @cached_property
    def persons(self) -> int:
        """n; the first pass also checks that the rows of each person are adjacent."""
        person = self.schema.person
        if person is None:
            return sum(_open(file, self.schema.columns).metadata.num_rows for file in self.files)
        count = PersonCount(person)
        for table in self._people((person,)):
            count.add(table)
        return count.persons

    def blocks(self) -> Iterator[Episodes]:
        """The people, block after block, cut between them."""
        for table in self.tables():
            yield to_episodes(table, self.schema)

    def tables(self) -> Iterator[pa.Table]:
        """What the blocks are made of: raw rows of whole people."""
        return self._people(self.schema.columns)

    def reduce(self, function: BlockFunction, *arguments: Any) -> Arrays:
        """Sum block by block, added in the order of the files whichever thread is first."""
        if not self.persons:
            raise DataFormError("the files hold no row.")

        def sums(table: pa.Table) -> Arrays:
            block = to_episodes(table, self.schema)
            return LocalEngine(block, threads=1).reduce(function, *arguments)

        with one_blas_thread():
            return reduce(add, _in_turn(sums, self.tables()))

    def sample(self) -> Engine:
        """The people of the first block: enough for a starting value."""
        return LocalEngine(next(self.blocks()))

    def _people(self, columns: tuple[str, ...]) -> Iterator[pa.Table]:
        """Tables of whole people: the last person of a block waits for the next one."""
        waiting: pa.Table | None = None
        for table in self._tables(columns):
            whole = table if waiting is None else pa.concat_tables([waiting, table])
            person = self.schema.person
            cut = whole.num_rows if person is None else last_person(whole, person)
            waiting = whole.slice(cut)
            if cut:
                yield whole.slice(0, cut)
        if waiting is not None and waiting.num_rows:
            yield waiting

    def _tables(self, columns: tuple[str, ...]) -> Iterator[pa.Table]:
        for file in self.files:
            with _open(file, columns) as source:
                batches = source.iter_batches(self.rows_a_block, columns=list(columns))
                while (batch := _next(batches, file)) is not None:
                    yield pa.Table.from_batches([batch])


def _open(file: Path, columns: tuple[str, ...]) -> parquet.ParquetFile:
    with _typed(file):
        source = parquet.ParquetFile(file)
        check_columns(source.schema_arrow.names, columns)
    return source


def _next(batches: Iterator[pa.RecordBatch], file: Path) -> pa.RecordBatch | None:
    with _typed(file):
        return next(batches, None)


@contextmanager
def _typed(file: Path) -> Iterator[None]:
    """Arrow's own text may quote what it stumbled over."""
    try:
        yield
    except (OSError, pa.ArrowException, UnicodeError):
        raise DataFormError(f"'{file.name}' cannot be read as Parquet.") from None


def _in_turn(work: Callable[[pa.Table], Arrays], tables: Iterator[pa.Table]) -> Iterator[Arrays]:
    """What threads make of the tables, in their order; few tables are under way at a time."""
    threads = min(os.cpu_count() or 1, MOST_THREADS)
    with ThreadPoolExecutor(threads) as pool:
        coming: deque[Future[Arrays]] = deque()
        for table in tables:
            coming.append(pool.submit(work, table))
            if len(coming) > threads:
                yield coming.popleft().result()
        while coming:
            yield coming.popleft().result()
