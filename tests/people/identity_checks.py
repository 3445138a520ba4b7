"""Checks of who is a person, each of which a planted bug must fail."""

from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

from discreet.engine.local import LocalEngine
from discreet.engine.stream import StreamEngine
from discreet.errors import DataFormError, DiscreetError
from discreet.likelihood.problem import block_totals
from discreet.people.encode import to_episodes
from discreet.people.identity import Ids
from discreet.people.tables import open_table
from tests import cohorts
from tests.people import metamorphic as world

FREE, ALONE = "free", ((None, 0.0, 9.0, 1, 88.0, "M"),)


@contextmanager
def folder():
    """A folder; an error of ours within is a failed check."""
    with TemporaryDirectory() as name:
        try:
            yield Path(name)
        except DiscreetError as error:
            raise AssertionError from error


def check_a_row_without_an_id_changes_nobody():
    """Large integers stay what they are beside a gap, in every container that holds both."""
    *names, _ = world.IDS["large"]
    for name in ("arrow", "polars", "pandas_nullable", "pandas_arrow", "parquet_file"):
        with folder() as path:
            people = world.make_people(names)
            world.check_replacement("in memory", world.CONTAINERS[name], people, ALONE, path)


def check_partitions_agree_on_who_is_who():
    """A person in a partition of integers and in one of doubles has one digest."""
    parts = (pd.DataFrame({"id": [1, 2, 7]}), pd.DataFrame({"id": [7.0, np.nan]}))
    found = [Ids.of(open_table(part).column("id")).digests(bytes(16)) for part in parts]
    assert len(np.intersect1d(*found)) == 1


def check_blank_ids_are_nobody():
    """Blank and padded ids, in an arrow column and in one of Python's objects."""
    for gap in ("  ", " NA ", "\t"):
        people = [world.make_people([gap])[0] * 3, *world.make_people(["a", "b"])]
        for name in ("arrow", "pandas_object", "csv_file"):
            with folder() as path:
                held = world.CONTAINERS[name](people, path)
                world.check_sums(world.in_memory(held), people, held)


def check_signed_zeros_are_one_person():
    """In memory, and in two blocks of a stream, where it must be noticed."""
    (one,), (_, other, *_) = world.make_people([0.0]), world.make_people([1.0, -0.0])
    with folder() as path:
        held = world.parquet_file([one, other], path)
        world.check_sums(world.in_memory(held), [one, other], held)
        assert world.streamed_in_pieces(held).persons == 1


def check_a_long_field_is_read():
    """Three blocks of the reader in one field, of somebody else."""
    *names, _ = world.IDS["texts"]
    new = (("x" * (3 << 20), 0.0, 9.0, 1, 88.0, "M"),)
    with folder() as path:
        world.check_replacement("in memory", world.csv_file, world.make_people(names), new, path)


def check_a_pass_notices_other_people():
    """Files that are exchanged between two passes, for as many people in as many rows.

    Other ids before the first sum; one other number after it, with ids and where each row is a
    person.
    """
    alone = world.SCHEMA.model_copy(update={"person": None})
    for schema, column, value, summed in (
        (world.SCHEMA, "id", 9, False),
        (world.SCHEMA, "age", 33.25, True),
        (alone, "age", 33.25, True),
        (alone, "event", 0, True),
    ):
        with TemporaryDirectory() as name:
            held = world.parquet_file(world.make_people([1, 2, 3, 4]), Path(name))
            engine = StreamEngine((held.data,), schema, rows_a_block=3)
            assert engine.persons == (4 if schema.person else 7)
            if summed:
                before = engine.reduce(block_totals)[0]
                assert np.array_equal(before, engine.reduce(block_totals)[0])
            table = parquet.read_table(held.data)
            values = table.column(column).to_pylist()
            last = [value if row == values[-1] else row for row in values]
            assert last != values
            place = table.column_names.index(column)
            parquet.write_table(table.set_column(place, column, [last]), held.data)
            with pytest.raises(DataFormError, match="found others than were counted"):
                engine.reduce(block_totals)


def check_nobody_stands_in_two_blocks():
    """Small blocks of a stream are cut between people, wherever they fall."""
    *names, _ = world.IDS["small"]
    for rows in (1, 2, 3, 5):
        with folder() as path:
            people = world.make_people(names)
            held = world.parquet_file(people, path)
            engine = StreamEngine((held.data,), world.SCHEMA, rows_a_block=rows)
            world.check_sums(engine, people, held)


def check_everybody_stands_in_a_block():
    """Any number of blocks in memory, some people without a row."""
    nan = float("nan")
    people = [*world.make_people([1, 2, 3, 4]), ((5, nan, nan, 0, 30.0, "F"),)]
    for threads in (1, 2, 3, 7):
        with folder() as path:
            held = world.arrow(people, path)
            engine = LocalEngine(to_episodes(held.data, world.SCHEMA), threads)
            world.check_sums(engine, people, held)


def check_other_rows_do_not_order_a_persons():
    """Of rows that begin and end together one counts: not the last that a query happens to give."""
    random, public = np.random.default_rng(7), cohorts.schema(person=True)
    table = cohorts.episodic()
    times = np.repeat(np.asarray(table["time"])[:1], table.num_rows)
    table = table.set_column(table.column_names.index("time"), "time", pa.array(times))
    found = []
    for _ in range(3):
        block = to_episodes(
            pl.from_arrow(table.take(random.permutation(table.num_rows))).lazy(), public
        )
        found.append(sorted(map(tuple, block.covariates.tolist())))
    assert found[0] == found[1] == found[2]
