"""Streamed files: the same people, the same integers, whatever the blocks."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from discreet.core.information import Informations
from discreet.core.scores import Whitened, alone, block_information, information_tables
from discreet.design.baseline import NaturalSpline
from discreet.design.design import Design
from discreet.design.link import get_link
from discreet.design.schema import Schema
from discreet.engine.local import LocalEngine
from discreet.engine.stream import StreamEngine, find_files
from discreet.errors import DataFormError
from discreet.likelihood.problem import Problem, block_totals
from discreet.people.encode import to_episodes
from discreet.people.source import People


def _schema(person):
    return Schema.from_mapping(
        {
            **({"person": "id"} if person else {}),
            "time": {
                "duration": "stop",
                "event": "event",
                "entry": "start",
                "horizon": 10.0,
                "intervals": 40,
            },
            "covariate": [
                {"name": "age", "low": 20, "high": 90},
                {"name": "sex", "levels": ["F", "M"]},
            ],
        }
    )


def _table(people, *, text_ids=False):
    """People with one to three episodes each, adjacent."""
    random = np.random.default_rng(4)
    ids = np.repeat(np.arange(people), random.integers(1, 4, people))
    start = random.uniform(0, 8, len(ids))
    return pa.table(
        {
            "id": [f"p{i}" for i in ids] if text_ids else ids,
            "start": start,
            "stop": start + random.uniform(0, 3, len(ids)),
            "event": random.integers(0, 2, len(ids)),
            "age": random.uniform(10, 100, len(ids)),
            "sex": random.choice(["F", "M", "?"], len(ids)),
        }
    )


def _write(table, folder, parts):
    edges = np.linspace(0, table.num_rows, parts + 1).astype(int)
    for part, (low, high) in enumerate(pairwise(edges)):
        parquet.write_table(table.slice(low, high - low), folder / f"{part:02}.parquet")
    return str(folder / "*.parquet")


@pytest.mark.parametrize("person", [False, True])
@pytest.mark.parametrize("text_ids", [False, True])
@pytest.mark.parametrize("rows", [7, 64, 10_000])
def test_streamed_sums_equal_those_in_memory(tmp_path, person, text_ids, rows):
    schema, table = _schema(person), _table(300, text_ids=text_ids)
    stream = StreamEngine(find_files(_write(table, tmp_path, 3)), schema, rows_a_block=rows)
    memory = LocalEngine(to_episodes(table, schema))
    assert stream.persons == memory.persons
    np.testing.assert_array_equal(stream.reduce(block_totals)[0], memory.reduce(block_totals)[0])
    design = Design(schema, NaturalSpline(3))
    f = np.random.default_rng(1).normal(size=design.dimension)
    ours, theirs = (Problem(engine, design, get_link("logit"))(f) for engine in (stream, memory))
    np.testing.assert_allclose(ours.gradient, theirs.gradient, rtol=1e-11)
    np.testing.assert_allclose(ours.hessian, theirs.hessian, rtol=1e-11, atol=1e-11)


def test_a_person_in_two_places_is_an_error_of_form(tmp_path):
    table = _table(50)
    scattered = pa.concat_tables([table, table.slice(0, 1)])
    stream = StreamEngine(find_files(_write(scattered, tmp_path, 2)), _schema(True), 16)
    with pytest.raises(DataFormError, match="sort the files by 'id'"):
        stream.reduce(block_totals)


def test_missing_ids_are_people_of_their_own(tmp_path):
    table = _table(4, text_ids=True)
    blank = pa.array([None] * table.num_rows, pa.string())
    unknown = table.set_column(0, "id", blank)
    stream = StreamEngine(find_files(_write(unknown, tmp_path, 2)), _schema(True), 3)
    assert stream.persons == table.num_rows


def test_patterns_and_their_errors(tmp_path):
    assert not People.of("people/*.parquet").in_memory
    assert not People.of(tmp_path).in_memory
    assert People.of("people.parquet").in_memory
    with pytest.raises(DataFormError, match="no file matches"):
        find_files(tmp_path / "*.parquet")
    (tmp_path / "a.csv").write_text("x\n1\n")
    with pytest.raises(DataFormError, match="only Parquet files are streamed"):
        find_files(tmp_path / "*.csv")
    (tmp_path / "a.parquet").write_text("this is not Parquet")
    with pytest.raises(DataFormError, match="cannot be read as Parquet"):
        _ = StreamEngine(find_files(tmp_path), _schema(False)).persons
    parquet.write_table(_table(3).drop_columns("age"), tmp_path / "a.parquet")
    with pytest.raises(DataFormError, match="no column 'age'"):
        _ = StreamEngine(find_files(tmp_path), _schema(False)).persons


def information_sums(engine, schema):
    """The people's information at one point, with tables and interval by interval."""
    design = Design(schema, NaturalSpline(3))
    f = np.random.default_rng(1).normal(size=design.dimension)
    scores = alone(Whitened(design, get_link("logit"), f, np.eye(len(f)), 1.0))
    tables = (Informations(), *information_tables(scores, 10**9))
    return [engine.reduce(block_information, scores, 0.5, one)[0] for one in tables]


@pytest.mark.parametrize("person", [False, True])
@pytest.mark.parametrize("rows", [7, 64, 10_000])
def test_the_information_is_the_same_integers_from_a_stream(tmp_path, person, rows):
    """Every person's factor is rounded alone: blocks change no bit of the sum."""
    schema, table = _schema(person), _table(300)
    stream = StreamEngine(find_files(_write(table, tmp_path, 3)), schema, rows_a_block=rows)
    memory = information_sums(LocalEngine(to_episodes(table, schema)), schema)
    assert all(np.any(part) for part in memory)
    for ours, theirs in zip(information_sums(stream, schema), memory, strict=True):
        assert ours.dtype == theirs.dtype == np.int64
        assert np.array_equal(ours, theirs)


@pytest.mark.parametrize("person", [False, True])
def test_files_that_stay_as_they_are_never_stop_a_fit(tmp_path, person):
    """The stamp of a block is the same at every pass, whatever is computed on the way."""
    mapping = _schema(person).to_mapping()
    numeric = mapping["covariate"][0]
    mapping["covariate"] += [
        {**numeric, "name": "late", "scale": "spline:4", "missing": "indicator"},
        {**numeric, "name": "old", "scale": "log"},
    ]
    mapping["interaction"] = [{"of": ["age", "sex"]}]
    table = _table(5000)
    gaps = pa.array([None if row % 7 == 0 else row % 80 for row in range(table.num_rows)])
    table = table.append_column("late", gaps).append_column("old", table.column("age"))
    pattern = _write(table, tmp_path, 3)
    stream = StreamEngine(find_files(pattern), Schema.from_mapping(mapping), rows_a_block=1000)
    first = stream.reduce(block_totals)[0]
    for _ in range(20):
        assert np.array_equal(stream.reduce(block_totals)[0], first)
