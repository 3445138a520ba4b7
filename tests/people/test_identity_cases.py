"""Four ways in which one person's row decided who other people are; none of them is left."""

import uuid
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

from discreet.design.schema import Schema
from discreet.engine.stream import StreamEngine
from discreet.people.columns import NumberColumn, ObjectColumn
from discreet.people.encode import to_episodes
from discreet.people.identity import Ids
from discreet.people.source import People
from discreet.people.tables import open_table

SCHEMA = Schema.from_mapping(
    {
        "person": "id",
        "time": {"duration": "time", "event": "status", "horizon": 10.0, "intervals": 10},
        "covariate": [{"name": "x", "low": 0, "high": 1}],
    }
)
LARGE = 1_700_000_000_000_000_000


def columns(ids) -> dict[str, object]:
    rows = np.arange(len(ids))
    return {"time": 1.0 + rows % 9, "status": rows % 2, "x": (rows % 7) / 7.0}


TABLES = {
    "pyarrow": lambda ids: pa.table({"id": pa.array(ids, pa.int64()), **columns(ids)}),
    "polars": lambda ids: pl.DataFrame({"id": pl.Series(ids, dtype=pl.Int64), **columns(ids)}),
    "pandas Int64": lambda ids: pd.DataFrame({"id": pd.array(ids, "Int64"), **columns(ids)}),
    "pandas arrow": lambda ids: pd.DataFrame(
        {"id": pd.array(ids, "int64[pyarrow]"), **columns(ids)}
    ),
    "pandas object": lambda ids: pd.DataFrame({"id": pd.Series(ids, dtype=object), **columns(ids)}),
}


@pytest.mark.parametrize("blocks", [7, 5000])
def test_one_row_without_an_id_merges_nobody_in_a_stream(tmp_path, blocks):
    ids = [LARGE + k for k in range(2000)]
    for at in (0, 700, 1999):
        parquet.write_table(
            TABLES["pyarrow"]([*ids[:at], None, *ids[at + 1 :]]), tmp_path / "a.parquet"
        )
        assert StreamEngine((tmp_path / "a.parquet",), SCHEMA, blocks).persons == 2000
        assert People.of(tmp_path / "a.parquet").count(SCHEMA) == 2000


def test_blank_and_padded_ids_do_not_depend_on_the_column():
    ids = ["  ", " NA ", "a", " a", "a\t", "", None, "NA", "b"]
    arrow = Ids.of(open_table(pa.table({"id": ids})).column("id"))
    python = Ids.of(ObjectColumn(ids))
    mixed = Ids.of(ObjectColumn([*ids, 3]))
    assert arrow.codes()[1] == python.codes()[1] == mixed.codes()[1] - 1 == 7
    assert np.array_equal(arrow.codes()[0], python.codes()[0])


@pytest.mark.parametrize("size", [1 << 20, 3 << 20])
def test_a_long_field_is_read_like_any_other(tmp_path, size):
    path = tmp_path / "people.csv"
    lines = [b"id,time,status,x", b"a,1,1,0.5", b'"' + b"b" * size + b'",2,0,0.1', b"c,3,1,0.2"]
    path.write_bytes(b"\n".join(lines) + b"\n")
    found = to_episodes(path, SCHEMA)
    assert (found.persons, found.exit.tolist()) == (3, [2, 3, 4])


SHAPES = {
    "categories of integers": (pd.Series(pd.Categorical([LARGE, LARGE + 1, None, LARGE])), 3),
    "categories of padded texts": (pd.Series(pd.Categorical(["a", " a", "b", "NA"])), 3),
    "nullable doubles": (pd.Series([0.0, -0.0, None, 0.5], dtype="Float64"), 3),
    "nullable truth values": (pd.Series([True, False, None, True], dtype="boolean"), 3),
    "unsigned integers": (pl.Series([2**63, 2**63 + 1, None, 2**63], dtype=pl.UInt64), 3),
    "integers of 128 bits": (pl.Series([2**70, 2**70 + 1, None, 2**70], dtype=pl.Int128), 3),
    "half precision": (pa.array(np.array([1.5, 1.5, 2.0, 3.0], np.float16)), 3),
    "single precision": (pa.array([0.1, 0.1, None, 0.2], pa.float32()), 3),
    "large decimals": (pa.array([2**70, 2**70 + 1, None, 2**70], pa.decimal128(38)), 3),
    "small decimals": (pa.array([7, 8, None, 7], pa.decimal128(9)), 3),
    "bytes": (pa.array([b"a\xff", b"a\xff ", b"", b"a"]), 3),
    "fixed bytes": (pa.array([b"ab", b"ab", None, b"cd"], pa.binary(2)), 3),
    "text views": (pa.array(["a", " a", None, "b"]).cast(pa.string_view()), 3),
    "nothing at all": (pa.nulls(4), 4),
    "objects of any kind": (
        pd.Series([uuid.UUID(int=1), uuid.UUID(int=1), pd.NaT, (1, 2)], dtype=object),
        3,
    ),
    "numbers of any kind": (
        pd.Series([Fraction(1, 2), Decimal("0.50"), np.float32(0.5), np.int8(3)], dtype=object),
        2,
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_people_are_counted_in_every_shape_of_a_column(shape):
    values, persons = SHAPES[shape]
    library = {pd.Series: pd.DataFrame, pl.Series: pl.DataFrame}.get(type(values), pa.table)
    codes, found = open_table(library({"id": values})).ids("id").codes()
    assert found == persons == len(set(codes.tolist()))


def test_long_doubles_are_compared_exactly():
    one = np.longdouble(1)
    values = np.array([one, one + np.finfo(np.longdouble).eps, one, np.nan], dtype=np.longdouble)
    assert Ids.of(NumberColumn(values)).codes()[1] == 3
