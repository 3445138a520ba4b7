"""People in Parquet files, read block by block at every sum: memory does not grow with n.

Each ``reduce`` reads the files once more. A block is cut between people; while one block is
summed, the next is read and encoded by another thread, so at most two are in memory. Nothing is
written anywhere.
"""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from glob import glob
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from discreet.engine.engine import Arrays, BlockFunction, Engine, add
from discreet.engine.local import LocalEngine
from discreet.episodes import Episodes
from discreet.errors import DataFormError
from discreet.frame import to_episodes
from discreet.frame.files import check_columns
from discreet.frame.runs import PersonCount, last_person
from discreet.schema import Schema

ROWS_A_BLOCK = 262_144


def find_files(pattern: str | os.PathLike[str]) -> tuple[Path, ...]:
    """The Parquet files of a pattern or folder, in the order of their names."""
    text = os.fspath(pattern)
    # Path.glob refuses absolute patterns, and a user's pattern may be one
    found = sorted(glob(str(Path(text) / "*.parquet") if Path(text).is_dir() else text))  # noqa: PTH207
    files = tuple(Path(name) for name in found)
    if not files:
        raise DataFormError(f"no file matches '{text}'; quote the pattern and check the folder.")
    for file in files:
        if file.suffix.lower() != ".parquet":
            raise DataFormError(f"'{file.name}' is not .parquet; only Parquet files are streamed.")
    return files


def check_files(files: tuple[Path, ...], schema: Schema) -> None:
    """`DataFormError` unless every file is Parquet with the schema's columns."""
    for file in files:
        _open(file, schema.columns).close()


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
        for table in self._people(self.schema.columns):
            yield to_episodes(table, self.schema)

    def reduce(self, function: BlockFunction, *arguments: Any) -> Arrays:
        """Sum block by block, in the order of the files."""
        if not self.persons:
            raise DataFormError("the files hold no row.")
        total: Arrays | None = None
        for block in _ahead(self.blocks()):
            part = LocalEngine(block).reduce(function, *arguments)
            total = part if total is None else add(total, part)
        return total or ()

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
                for batch in source.iter_batches(self.rows_a_block, columns=list(columns)):
                    yield pa.Table.from_batches([batch])


def _open(file: Path, columns: tuple[str, ...]) -> parquet.ParquetFile:
    try:
        source = parquet.ParquetFile(file)
    except (OSError, pa.ArrowException):
        raise DataFormError(f"'{file.name}' cannot be read as Parquet.") from None
    check_columns(source.schema_arrow.names, columns)
    return source


def _ahead(blocks: Iterator[Episodes]) -> Iterator[Episodes]:
    """Prepare the next block while the caller works on this one."""
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, blocks, None)
        while (block := coming.result()) is not None:
            coming = pool.submit(next, blocks, None)
            yield block
