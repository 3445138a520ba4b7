"""Reading tables and files; complaints about form; counts of content; schemas from data."""

import datetime as dt
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import csv as arrow_csv
from pyarrow import parquet

from discreet.design.schema import Categorical, Numeric, Schema
from discreet.design.terms import CovariateMap
from discreet.errors import DataFormError, SchemaError
from discreet.people.encode import encode_covariates, to_episodes
from discreet.people.infer import infer_schema, resolve_bounds
from discreet.people.repairs import Repair, count_repairs
from tests.cohorts import cohort
from tests.test_cli import SCHEMA as COHORT_SCHEMA

TIME = {"duration": "time", "event": "status", "horizon": 100, "intervals": 10}
MAPPING = {
    "time": TIME,
    "covariate": [
        {"name": "age", "low": 20, "high": 60, "missing": 35},
        {"name": "sex", "levels": ["F", "M"]},
    ],
}
SCHEMA = Schema.from_mapping(MAPPING)
PEOPLE = Schema.from_mapping(MAPPING | {"person": "id"})


def make_columns(rows: int = 60) -> dict[str, list]:
    random = np.random.default_rng(3)
    return {
        "id": (np.arange(rows) // 2).tolist(),
        "time": np.round(random.uniform(1, 120, rows), 3).tolist(),
        "status": random.integers(0, 2, rows).tolist(),
        "age": [None if k % 7 == 0 else float(k % 50 + 15) for k in range(rows)],
        "sex": [["F", "M", "X", None][k % 4] for k in range(rows)],
        "ignored": ["=cmd()"] * rows,
    }


SOURCES = {
    "pandas": lambda columns, _: pd.DataFrame(columns),
    "polars": lambda columns, _: pl.DataFrame(columns),
    "lazy polars": lambda columns, _: pl.LazyFrame(columns),
    "pyarrow": lambda columns, _: pa.table(columns),
    "chunks": lambda columns, _: pa.concat_tables([pa.table(columns).slice(k * 20, 20) for k in range(3)]),
    "csv": lambda columns, folder: write(pd.DataFrame(columns), folder / "data.csv"),
    "csv as text": lambda columns, folder: str(write(pd.DataFrame(columns), folder / "data.CSV")),
    "parquet": lambda columns, folder: write(pd.DataFrame(columns), folder / "data.parquet"),
}  # fmt: skip


def write(frame, path):
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False)
    return path


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("schema", [SCHEMA, PEOPLE], ids=["rows", "people"])
def test_every_source_gives_the_same_episodes(source, schema, tmp_path):
    columns = make_columns()
    expected = to_episodes(pa.table(columns), schema)
    found = to_episodes(SOURCES[source](columns, tmp_path), schema)
    assert found.persons == expected.persons == (60 if schema is SCHEMA else 30)
    for name in ("covariates", "entry", "exit", "event"):
        assert np.array_equal(getattr(found, name), getattr(expected, name))
    assert found.covariates.flags.c_contiguous
    assert (found.entry.dtype, found.exit.dtype) == (np.int32, np.int32)


def test_the_frame_itself_is_left_alone():
    frame = pd.DataFrame(
        {"time": [math.inf, -1.0], "status": [1, 0], "age": [math.nan, 1e9], "sex": ["M", "?"]}
    )
    before = frame.copy(deep=True)
    to_episodes(frame, SCHEMA)
    pd.testing.assert_frame_equal(frame, before)


def test_a_lazy_dask_frame_is_collected():
    dataframe = pytest.importorskip("dask.dataframe")
    columns = make_columns()
    lazy = dataframe.from_pandas(pd.DataFrame(columns), npartitions=3)
    expected = to_episodes(pa.table(columns), SCHEMA)
    assert np.array_equal(to_episodes(lazy, SCHEMA).covariates, expected.covariates)


def test_predictions_need_no_time_columns(tmp_path):
    columns = {"age": [20.0, 60.0], "sex": ["F", "M"]}
    centre, scale = CovariateMap.from_schema(SCHEMA).centre, CovariateMap.from_schema(SCHEMA).scale
    expected = (np.array([[20.0, 0.0], [60.0, 1.0]]) - centre) * scale
    assert np.array_equal(encode_covariates(pa.table(columns), SCHEMA), expected)
    assert np.array_equal(
        encode_covariates(write(pd.DataFrame(columns), tmp_path / "new.csv"), SCHEMA), expected
    )


def test_no_covariates_at_all(tmp_path):
    schema = Schema.from_mapping({"time": TIME})
    path = write(pd.DataFrame(make_columns()), tmp_path / "data.csv")
    assert encode_covariates(path, schema).shape == (60, 0)
    assert encode_covariates(write(pd.read_csv(path), tmp_path / "d.parquet"), schema).shape == (
        60,
        0,
    )
    assert encode_covariates(pl.LazyFrame(make_columns()), schema).shape == (60, 0)
    assert to_episodes(path, schema).covariates.shape == (60, 0)


def test_no_rows_are_no_people(tmp_path):
    (tmp_path / "empty.csv").write_text("id,time,status,age,sex\n")
    for schema in (SCHEMA, PEOPLE):
        for data in (
            tmp_path / "empty.csv",
            pd.DataFrame(columns=["id", "time", "status", "age", "sex"]),
        ):
            episodes = to_episodes(data, schema)
            assert (episodes.persons, episodes.rows, episodes.dimension) == (0, 0, 2)
        assert count_repairs(data, schema).total == 0


def test_more_intervals_than_sixteen_bits_hold():
    schema = Schema.from_mapping({"time": TIME | {"intervals": 100_000}})
    frame = pa.table({"time": [99.0, 50.0005, 100.0], "status": [1, 0, 1]})
    assert to_episodes(frame, schema).exit.tolist() == [50_001, 99_001, 100_000]


CANARY = "31415.9265"


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda _: pd.DataFrame({"time": [1]}), "no column 'status'"),
        (lambda _: pa.table({"time": [1], "status": [1], "age": [1]}), "no column 'sex'"),
        (lambda _: pa.table([[1], [2]], names=["time", "time"]), "two columns 'time'"),
        (lambda _: pd.DataFrame([[1, 2]], columns=["age", "age"]), "two columns 'age'"),
        (lambda _: {"time": [1]}, "type dict"),
        (lambda _: np.zeros(3), "two dimensions"),
        (lambda folder: folder / "nowhere.csv", "nowhere.csv' cannot be read: No such file"),
        (lambda folder: folder / "nowhere.parquet", "nowhere.parquet' cannot be read"),
        (lambda folder: folder / "data.xls", "data.xls' is none of .csv, "),
        (lambda folder: folder, "none of .csv, "),
        (lambda folder: text(folder, ""), "data.csv' is empty"),
        (lambda folder: text(folder, "\n\n"), "data.csv' is empty"),
        (lambda folder: text(folder, "time,status,age\n1,1,1\n"), "no column 'sex'"),
        (lambda folder: text(folder, "time,time,status,age,sex\n"), "two columns 'time'"),
        (lambda folder: text(folder, f"time,status,age,sex\n{CANARY},1\n"), "number of fields"),
        (lambda folder: text(folder, f"{CANARY} is no parquet", ".parquet"), "cannot be read as parquet"),
        (lambda _: with_dates(pd.DataFrame), "column 'time' holds dates"),
        (lambda _: with_dates(pl.DataFrame), "column 'time' holds dates"),
        (lambda _: pl.DataFrame({"time": [[1]], "status": [1], "age": [1], "sex": ["F"]}), "column 'time' holds"),
    ],
)  # fmt: skip
def test_form_errors_name_the_column_and_no_value(make, says, tmp_path):
    with pytest.raises(DataFormError, match=says) as caught:
        to_episodes(make(tmp_path), SCHEMA)
    text = str(caught.value)
    assert CANARY not in text
    assert "\n" not in text
    assert text.endswith(".")
    assert caught.value.exit_status == 2
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def text(folder, content: str, suffix: str = ".csv"):
    path = folder / f"data{suffix}"
    path.write_text(content)
    return path


def with_dates(library):
    day = dt.datetime(2020, 1, 1)  # noqa: DTZ001 - a frame's own naive time
    return library({"time": [day], "status": [1], "age": [1], "sex": ["F"]})


def test_bounds_are_required():
    schema = Schema.from_mapping({"time": TIME, "covariate": [{"name": "age"}]})
    for function in (to_episodes, encode_covariates):
        with pytest.raises(SchemaError, match="'age'"):
            function(pa.table(make_columns()), schema)


def test_a_header_alone_may_hold_a_byte_order_mark(tmp_path):
    path = tmp_path / "data.csv"
    path.write_bytes(b"\xef\xbb\xbftime,status,age,sex\n5,1,30,M\n")
    assert to_episodes(path, SCHEMA).event.tolist() == [True]


def test_quoted_line_breaks_are_one_field(tmp_path):
    path = text(tmp_path, 'time,status,note,age,sex\n5,1,"two\nlines",30,M\n15,0,x,30,F\n')
    assert to_episodes(path, SCHEMA).exit.tolist() == [1, 2]


def test_repairs_are_counted_by_column_and_problem():
    schema = Schema.from_mapping(MAPPING | {"person": "id", "time": TIME | {"entry": "start"}})
    columns = {
        "id": ["a", "a", "a", "b", "b", None, "c", "d", "e"],
        "start": [0, 5, 30, 0, "x", -1, 50, None, 0],
        "time": [10, 20, 40, None, "junk", -3, 20, 150, 90],
        "status": [0, 1, 0, 1, 2, None, 0, 1, 0],
        "age": [19, 61, "old", None, 30, math.inf, "NA", 30, 30],
        "sex": ["F", "M", "x", None, "", "F", "F", "M", "f"],
    }
    frame = pd.DataFrame(
        {name: pd.Series(values, dtype=object) for name, values in columns.items()}
    )
    report = count_repairs(frame, schema)
    assert (report.rows, report.persons, report.never_at_risk) == (9, 6, 1)
    assert {(repair.column, repair.problem): repair.count for repair in report.repairs} == {
        ("time", "missing"): 1,
        ("time", "not a number"): 1,
        ("time", "negative"): 1,
        ("status", "missing"): 1,
        ("status", "neither 0 nor 1"): 1,
        ("status", "event after the horizon"): 1,
        ("start", "missing"): 1,
        ("start", "not a number"): 1,
        ("start", "negative"): 1,
        ("start", "after the duration"): 1,
        ("id", "missing"): 1,
        ("id", "row after the first event"): 1,
        ("id", "row overlaps the one before"): 1,
        ("age", "missing"): 2,
        ("age", "not a number"): 1,
        ("age", "below low"): 1,
        ("age", "above high"): 2,
        ("sex", "missing"): 2,
        ("sex", "unknown level"): 2,
    }
    assert report.total == 23
    assert ("age", "above high", "2", "high") in report.table()
    assert Repair("age", "missing", "the declared fill", 2) in report.repairs


def test_a_clean_table_needs_no_repairs():
    frame = pa.table(
        {"time": [5.0, 100.0], "status": [True, False], "age": [20, 60], "sex": ["F", "M"]}
    )
    assert count_repairs(frame, SCHEMA).repairs == ()


def bounds_of(values: list, **keys: float) -> tuple[float, float]:
    schema = Schema.from_mapping({"time": TIME, "covariate": [{"name": "x"} | keys]})
    frame = pd.DataFrame({"x": pd.Series(values, dtype=object)})
    return resolve_bounds(frame, schema).covariates[0].bounds


@pytest.mark.parametrize(
    ("values", "keys", "expected"),
    [
        ([3, 1, 2], {}, (1, 3)),
        ([3, None, "junk", math.inf, -math.inf, 1], {}, (1, 3)),
        ([3, 1, 2], {"low": 0}, (0, 3)),
        ([3, 1, 2], {"high": 2}, (1, 2)),
        ([3, 1, 2], {"low": 7}, (7, 10.5)),
        ([3, 1, 2], {"high": 0}, (-0.5, 0)),
        ([3, 1, 2], {"missing": 9}, (1, 9)),
        ([5, 5], {}, (2.5, 7.5)),
        ([0, 0], {}, (-0.5, 0.5)),
        ([None], {}, (0, 1)),
        ([], {}, (0, 1)),
        ([1e308, 0], {}, (0, 5e99)),
        ([1e308], {}, (2.5e99, 7.5e99)),
    ],
)
def test_open_bounds_come_from_the_data(values, keys, expected):
    assert bounds_of(values, **keys) == pytest.approx(expected)


def test_declared_bounds_stay():
    assert resolve_bounds(object(), SCHEMA) is SCHEMA


def structured(times: list, events: list, names: tuple[str, str] = ("cens", "time")) -> np.ndarray:
    return np.array(
        list(zip(events, times, strict=True)), dtype=[(names[0], bool), (names[1], float)]
    )


def test_a_schema_for_scikit_survival():
    frame = pd.DataFrame(
        {
            "age": [1.0, 2.0, 3.0],
            "flag": [True, False, True],
            "stage": pd.Categorical(["b", "a", None], categories=["c", "b", "a"]),
            "same": ["x", "x", None],
            "time": [1, 2, 3],
        }
    )
    outcome = structured([4.0, 8.0, math.inf], [True, False, True])
    schema = infer_schema(frame, outcome)
    assert (schema.time.horizon, schema.time.intervals) == (8.0, 200)
    assert (schema.time.duration, schema.time.event) == ("time_", "cens")
    assert schema.covariates == (
        Numeric(name="age"),
        Numeric(name="flag"),
        Categorical(name="stage", levels=("a", "b")),
        Numeric(name="time"),
    )
    episodes = to_episodes(frame, resolve_bounds(frame, schema), outcome)
    assert episodes.exit.tolist() == [101, 200, 200]
    assert episodes.event.tolist() == [True, False, False]
    assert count_repairs(frame, schema, outcome).rows == 3


def test_arrays_have_columns_by_position():
    array = np.array([[1.0, 5.0], [2.0, 7.0]])
    outcome = structured([1.0, 2.0], [True, True], ("event", "years"))
    schema = resolve_bounds(array, infer_schema(array, outcome, intervals=4))
    assert schema.coefficient_names == ("x0", "x1")
    assert to_episodes(array, schema, outcome).exit.tolist() == [3, 4]
    assert encode_covariates(array, schema).shape == (2, 2)
    mixed = np.array([[1, "a"], [2.5, "b"]], dtype=object)
    assert infer_schema(mixed, outcome).covariates == (
        Numeric(name="x0"),
        Categorical(name="x1", levels=("a", "b")),
    )


@pytest.mark.parametrize(
    "outcome",
    [np.array([1.0, 2.0]), np.zeros(2, dtype=[("a", float)]), np.zeros((2, 2)), None, "time"],
)
def test_an_outcome_without_event_or_time_is_refused(outcome):
    with pytest.raises(DataFormError, match="y must be"):
        infer_schema(np.zeros((2, 1)), outcome)


def test_an_outcome_of_another_length_is_refused():
    array = np.array([[1.0], [2.0]])
    outcome = structured([1.0, 2.0, 3.0], [True, True, False])
    schema = Schema.from_mapping({"time": TIME, "covariate": [{"name": "x0", "low": 0, "high": 1}]})
    with pytest.raises(DataFormError, match="different numbers of rows"):
        to_episodes(array, schema, outcome)


def test_column_names_must_be_texts_for_inference():
    with pytest.raises(DataFormError, match="names must be texts"):
        infer_schema(pd.DataFrame(np.zeros((2, 2))), structured([1.0, 2.0], [True, True]))


def test_parquet_reads_only_what_it_needs(tmp_path):
    table = pa.table(make_columns()).append_column("nested", pa.array([[1]] * 60))
    parquet.write_table(table, tmp_path / "data.parquet")
    assert to_episodes(tmp_path / "data.parquet", SCHEMA).persons == 60


@pytest.mark.parametrize(("mark", "name"), [(";", "semicolons"), ("\t", "tabs")])
def test_a_file_with_another_separator_gets_a_hint(tmp_path, mark, name):
    path = tmp_path / "people.csv"
    path.write_text(mark.join(["id", "time", "status"]) + "\n")
    public = Schema.from_mapping(
        {"time": {"duration": "time", "event": "status", "horizon": 1, "intervals": 2}}
    )
    with pytest.raises(DataFormError, match=f"no column 'time'.* separated by {name}"):
        to_episodes(path, public)


HEADERS = {
    "a header that is not UTF-8": ("größe,status\n".encode("latin-1"), "größe", "save .* as UTF-8"),
    "two bytes a character": ("time,status\n".encode("utf-16"), "time", "save .* as UTF-8"),
    "no header": (b"12,1\n30,0\n", "time", "the first line must name the columns"),
    "a capital": (b"Time ,status\n", "time", "There is 'Time ': capitals and blanks count"),
}


@pytest.mark.parametrize("name", HEADERS)
def test_a_header_that_is_nearly_right_gets_a_hint(tmp_path, name):
    content, column, words = HEADERS[name]
    path = tmp_path / "people.csv"
    path.write_bytes(content)
    public = Schema.from_mapping(
        {"time": {"duration": column, "event": "status", "horizon": 1, "intervals": 2}}
    )
    with pytest.raises(DataFormError, match=f"no column '{column}'.*{words}"):
        to_episodes(path, public)


@pytest.mark.parametrize("columns", [[0, 1], [None, ("time", "status")], [float("nan"), "status"]])
def test_columns_without_texts_for_names_are_a_form(columns):
    frame = pd.DataFrame([[1.0, 1]], columns=pd.Index(columns, dtype=object))
    public = Schema.from_mapping(
        {"time": {"duration": "time", "event": "status", "horizon": 1, "intervals": 2}}
    )
    with pytest.raises(DataFormError, match="no column 'time'"):
        to_episodes(frame, public)


def test_reading_a_csv_file_loads_neither_pandas_nor_arrows_functions(tmp_path):
    """Each takes longer to load than a hundred thousand people to encode."""
    arrow_csv.write_csv(cohort(), tmp_path / "people.csv")
    program = (
        "from discreet.people.encode import to_episodes\n"
        "from discreet.people.repairs import count_repairs\n"
        "from tests.cohorts import schema\n"
        f"place = {str(tmp_path / 'people.csv')!r}\n"
        "assert to_episodes(place, schema()).persons == count_repairs(place, schema()).persons\n"
        "slow = {'pandas', 'pyarrow.compute', 'polars'} & (set(sys.modules) - before)\n"
        "assert not slow, slow\n"
    )
    # the cohort's own module loads what it likes
    program = "import sys, tests.cohorts\nbefore = set(sys.modules)\n" + program
    subprocess.run([sys.executable, "-c", program], check=True, cwd=Path(__file__).parents[2])


def test_a_fit_that_is_not_private_loads_no_mechanism(tmp_path):
    """They take longer to load than a million people to read and encode."""
    arrow_csv.write_csv(cohort(), tmp_path / "people.csv")
    (tmp_path / "schema.toml").write_text(COHORT_SCHEMA)
    program = (
        "import sys\n"
        "from discreet.cli import main\n"
        "sys.argv[1:] = 'fit people.csv --schema schema.toml --mechanism none --out m.json'.split()\n"
        "try:\n    main()\nexcept SystemExit as ended:\n    assert not ended.code\n"
        "assert 'discreet.regression' in sys.modules\n"
        "assert not {'discreet.mechanisms', 'scipy.stats'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=tmp_path)
