"""The fixed rule: what each value becomes, and that it depends on that value alone."""

import csv
import datetime as dt
import decimal
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.design.schema import Schema
from discreet.design.terms import CovariateMap
from discreet.errors import SchemaError
from discreet.people.encode import encode_covariates, to_episodes
from discreet.people.repairs import count_repairs

HORIZON, INTERVALS = 50.0, 5
SCHEMA = Schema.from_mapping(
    {
        "person": "id",
        "time": {
            "duration": "stop",
            "event": "event",
            "entry": "start",
            "horizon": HORIZON,
            "intervals": INTERVALS,
        },
        "covariate": [
            {"name": "x", "low": -2, "high": 6, "missing": 1},
            {"name": "plain", "low": 10, "high": 20},
            {"name": "sex", "levels": ["F", "M", "NA"]},
            {"name": "stage", "levels": [1, 2, 3]},
            {"name": "flag", "levels": ["false", "true"]},
        ],
    }
)
COLUMNS = SCHEMA.columns
GOOD = {
    "id": "me", "stop": 25.0, "event": 1, "start": 0.0,
    "x": 0.0, "plain": 15.0, "sex": "F", "stage": 1, "flag": False,
}  # fmt: skip


def only(**covariates: dict) -> Schema:
    """A schema with the named covariates and no person."""
    time = {"duration": "t", "event": "e", "horizon": HORIZON, "intervals": INTERVALS}
    items = [{"name": name} | keys for name, keys in covariates.items()]
    return Schema.from_mapping({"time": time, "covariate": items})


def repaired(values: list, dtype: object = object) -> list[float]:
    """What a numeric covariate with bounds -2, 6 and fill 1 becomes, on the user's scale."""
    schema = only(x={"low": -2, "high": 6, "missing": 1})
    frame = pd.DataFrame({"x": pd.Series(values, dtype=dtype)})
    public_map = CovariateMap.from_schema(schema)
    return (
        encode_covariates(frame, schema)[:, 0] / public_map.scale[0] + public_map.centre[0]
    ).tolist()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3, 3), (2.5, 2.5), ("2.5", 2.5), (" 2.5 ", 2.5), ("+2.5", 2.5), ("1e0", 1), (b"3", 3),
        (True, 1), (False, 0), ("true", 1), ("FALSE", 0), (np.bool_(0), 0), (np.int8(4), 4),
        (decimal.Decimal("2.25"), 2.25), (Fraction(1, 2), 0.5), (np.float32(0.5), 0.5), (-0.0, 0),
        (5e-324, 0),
        (7, 6), (-3, -2), (1e308, 6), (-1e308, -2), (math.inf, 6), (-math.inf, -2), ("inf", 6),
        (10**400, 6), (-(10**400), -2), ("1e400", 6), ("9" * 400, 6), (np.longdouble("-1e4000"), -2),
        (None, 1), (math.nan, 1), ("", 1), ("NA", 1), ("abc", 1), ("1_000", 1), ("0x10", 1),
        ("2,5", 1), (pd.NA, 1), (pd.NaT, 1), (dt.date(2020, 1, 1), 1), ([1], 1), ({}, 1),
        (1j, 1), (b"\xff", 1), ("\ud800", 1), (object(), 1), (decimal.Decimal("sNaN"), 1),
    ],
)  # fmt: skip
def test_numbers(value, expected):
    assert repaired([value, "junk"])[0] == pytest.approx(expected, abs=1e-12)


def test_a_fill_is_the_midpoint_unless_declared():
    schema = only(x={"low": 10, "high": 20})
    assert encode_covariates(pa.table({"x": pa.nulls(1)}), schema).tolist() == [[0.0]]


@pytest.mark.parametrize(
    "values",
    [
        np.array([1, 9, -9], dtype=np.int64),
        np.array([1, 9, -9], dtype=np.float32),
        np.array([1, 9, -9], dtype=np.float16),
        np.array([1, 9, -9], dtype=">i4"),
        np.array([1, 9, -9], dtype=">f8"),
        np.array([1, 9, 0], dtype=np.uint64),
        np.array([True, False, True]),
        pd.array([1, None, 9], dtype="Int64"),
        pd.array([True, None, False], dtype="boolean"),
        pd.array([1.5, None, 9], dtype="float64[pyarrow]"),
        pd.Categorical([1, 9, None]),
        pd.Categorical(["1", "x", None]),
        pl.Series([1, None, 9], dtype=pl.Int8),
        pl.Series([1, None, 9], dtype=pl.Int128),
        pl.Series(["1", None, "x"], dtype=pl.Categorical),
        pl.Series([decimal.Decimal("1.5"), None, decimal.Decimal(9)]),
        pl.Series([1, "a", None], dtype=pl.Object),
        pl.Series([b"1", None, b"x"]),
        pl.Series([None, None, None]),
        pa.chunked_array([["1", None], ["1", "x"]]),
        pa.chunked_array([[1], [None, 9]]),
        pa.chunked_array([], type=pa.string()),
        pa.chunked_array(
            [pa.array(["1"]).dictionary_encode(), pa.array(["9", None]).dictionary_encode()]
        ),
    ],
    ids=lambda values: (
        f"{type(values).__name__}-{getattr(values, 'dtype', getattr(values, 'type', ''))}"
    ),
)
def test_every_column_type_gives_what_its_values_give_one_by_one(values):
    items = values.to_pylist() if isinstance(values, pa.ChunkedArray) else list(values)
    frame = {
        pl.Series: lambda: pl.DataFrame({"x": values}),
        pa.ChunkedArray: lambda: pa.table({"x": values}),
    }.get(type(values), lambda: pd.DataFrame({"x": values}))()
    numeric = only(x={"low": -2, "high": 6, "missing": 1})
    levels = only(x={"levels": ["other", "1", "9"]})
    for schema in (numeric, levels):
        single = [
            encode_covariates(pd.DataFrame({"x": pd.Series([item], dtype=object)}), schema)[0]
            for item in items
        ]
        assert encode_covariates(frame, schema).tolist() == [row.tolist() for row in single]


def level_of(values: list, levels: list) -> list[int]:
    """The number of the level each value is taken for."""
    schema = only(c={"levels": levels})
    encoded = encode_covariates(pd.DataFrame({"c": pd.Series(values, dtype=object)}), schema)
    public_map = CovariateMap.from_schema(schema)
    indicators = np.round(encoded / public_map.scale + public_map.centre)
    return (indicators @ np.arange(1, len(levels))).astype(int).tolist()


@pytest.mark.parametrize(
    ("levels", "value", "expected"),
    [
        (["F", "M"], "M", 1), (["F", "M"], " M ", 1), (["F", "M"], "m", 0), (["F", "M"], None, 0),
        (["F", "M"], "X", 0), (["F", "M"], b"M", 1), (["F", "M"], 1, 0),
        (["F", "NA"], "NA", 1), (["F", "NA"], None, 0),
        ([0, 1], 1, 1), ([0, 1], 1.0, 1), ([0, 1], "1", 1), ([0, 1], "1.0", 1), ([0, 1], "01", 1),
        ([0, 1], True, 1), ([0, 1], "true", 1), ([0, 1], 2, 0), ([0, 1], decimal.Decimal(1), 1),
        ([0, 1], math.nan, 0), ([0, 1], 10**400, 0), ([0, 1], np.int64(1), 1),
        (["false", "true"], True, 1), (["false", "true"], "TRUE", 1), (["false", "true"], 1, 1),
        (["no", "1"], True, 1), (["no", "True"], np.bool_(1), 1), (["no", "true"], 1.0, 1),
        (["a", "0.5"], 0.5, 1), (["a", "b"], dt.date(2020, 1, 1), 0), (["a", "b"], ["b"], 0),
    ],
)  # fmt: skip
def test_levels(levels, value, expected):
    assert level_of([value, "junk"], levels)[0] == expected


@pytest.mark.parametrize(
    ("value", "happened"),
    [
        (1, True), (1.0, True), (True, True), ("1", True), ("True", True), ("1.0", True), (b"1", True),
        (0, False), (False, False), ("0", False), ("false", False), (2, False), (-1, False),
        (0.5, False), (None, False), (math.nan, False), ("yes", False), ([1], False), (math.inf, False),
    ],
)  # fmt: skip
def test_events(value, happened):
    frame = pd.DataFrame({"t": [25.0, 5.0], "e": pd.Series([value, "junk"], dtype=object)})
    episodes = to_episodes(frame, only())
    assert episodes.event.tolist() == [False, happened]  # sorted by exit: mine is the later one


@pytest.mark.parametrize(
    ("start", "stop", "expected"),
    [
        (0, 25, (0, 3)), (0, 20, (0, 3)), (0, 0, (0, 1)), (0, -5, (0, 1)), (0, -math.inf, (0, 1)),
        (0, 50, (0, 5)), (0, 1e308, (0, 5)), (0, math.inf, (0, 5)), (0, None, None), (0, "x", None),
        (None, 25, (0, 3)), (-5, 25, (0, 3)), ("x", 25, (0, 3)), (10, 25, (1, 3)), (10.1, 25, (2, 3)),
        (30, 25, None), (30, 20, (2, 3)), (math.inf, 25, None), (math.inf, math.inf, None),
        (45, 100, None), (40, 100, (4, 5)), ("10", "25", (1, 3)), (-0.0, -0.0, (0, 1)),
    ],
)  # fmt: skip
def test_times(start, stop, expected):
    row = GOOD | {"start": start, "stop": stop, "event": 0}
    frame = pd.DataFrame({name: pd.Series([row[name]], dtype=object) for name in COLUMNS})
    episodes = to_episodes(frame, SCHEMA)
    assert episodes.persons == 1
    found = list(zip(episodes.entry.tolist(), episodes.exit.tolist(), strict=True))
    assert found == ([] if expected is None else [expected])


TEXTS = st.one_of(
    st.text(max_size=6),
    st.sampled_from(
        ["", "NA", "nan", "M", "1", "1.0", "01", "true", "2.5", " 3 ", "1e400", "-inf", "+2", "1_0"]
    ),
)
VALUES = st.one_of(
    st.none(), st.booleans(), st.floats(), st.integers(), TEXTS,
    st.sampled_from([10**400, -(10**400), 1e308, -0.0, 5e-324, math.nan, math.inf, 1, 1.0, 25, 20.0]),
    st.dates(), st.binary(max_size=3), st.decimals(), st.lists(st.integers(), max_size=2), st.just(pd.NA),
)  # fmt: skip
RECORDS = st.fixed_dictionaries(dict.fromkeys(COLUMNS, VALUES))


def frame_of(records: list[dict], dtype: object = None) -> pd.DataFrame:
    """Columns as pandas infers them, or as objects."""
    return pd.DataFrame(
        {name: make_series([record[name] for record in records], dtype) for name in COLUMNS}
    )


def make_series(values: list, dtype: object) -> pd.Series:
    try:
        return pd.Series(values, dtype=dtype)
    except OverflowError:  # pandas' own inference stumbles over large integers
        return pd.Series(values, dtype=object)


@given(st.lists(RECORDS, min_size=1, max_size=6))
def test_garbage_never_fails_and_never_leaves_the_ball(records):
    for dtype in (None, object):
        frame = frame_of(records, dtype)
        episodes = to_episodes(frame, SCHEMA)
        for covariates in (episodes.covariates, encode_covariates(frame, SCHEMA)):
            assert np.all(np.isfinite(covariates))
            assert np.all(np.linalg.norm(covariates, axis=1) <= 1.0)
        assert np.all((episodes.entry >= 0) & (episodes.entry < episodes.exit))
        assert np.all(episodes.exit <= INTERVALS)
        assert 1 <= episodes.persons <= len(records)


def contribution(episodes: object, number: int) -> list[list]:
    span = slice(*episodes.offsets[number : number + 2])
    fields = (episodes.covariates, episodes.entry, episodes.exit, episodes.event)
    return [field[span].tolist() for field in fields]


@settings(max_examples=2 * settings().max_examples)
@given(RECORDS, st.lists(RECORDS, max_size=4))
def test_no_record_changes_how_another_is_read(mine, others):
    """Alone or in company, with columns of whatever type pandas infers from all of them."""
    records = [mine | {"id": "me"}, *(other | {"id": f"p{k}"} for k, other in enumerate(others))]
    alone = contribution(to_episodes(frame_of(records[:1]), SCHEMA), 0)
    assert contribution(to_episodes(frame_of(records), SCHEMA), 0) == alone
    assert contribution(to_episodes(frame_of(records, object), SCHEMA), 0) == alone


def write_csv(path, records: list[dict], tail: bytes = b"") -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(records)
    with path.open("ab") as file:
        file.write(tail)


@settings(max_examples=2 * settings().max_examples)
@given(
    st.fixed_dictionaries(dict.fromkeys(COLUMNS, TEXTS)),
    st.lists(st.fixed_dictionaries(dict.fromkeys(COLUMNS, TEXTS)), max_size=4),
    st.booleans(),
)
def test_no_line_of_a_file_changes_how_another_is_read(tmp_path_factory, mine, others, broken):
    """Junk, other spellings and bytes that are not UTF-8 on other lines change nothing on mine."""
    path = tmp_path_factory.mktemp("csv") / "data.csv"
    records = [mine | {"id": "me"}, *(other | {"id": f"p{k}"} for k, other in enumerate(others))]
    write_csv(path, records[:1])
    alone = contribution(to_episodes(path, SCHEMA), 0)
    write_csv(path, records, b"\xff\xe9,1,1,1,\xff,1,M,1,1\n" if broken else b"")
    assert contribution(to_episodes(path, SCHEMA), 0) == alone


@pytest.mark.parametrize("tail", [b"", b"p,1,1,0,junk,1,M,1,1\n", b"p,1,1,0,\xff,1,M,1,1\n"])
def test_levels_of_a_file_keep_their_letters(tmp_path, tail):
    """A level may be called NA, or be written with an accent, whatever else the file holds."""
    levels = ["F", "NA", "é"]
    schema = only(sex={"levels": levels}, x={"low": -2, "high": 6})
    records = [GOOD | {"sex": sex} for sex in (*levels, "")]
    write_csv(tmp_path / "data.csv", records, tail)
    encoded = encode_covariates(tmp_path / "data.csv", schema)[:4].tolist()
    frame = pd.DataFrame({"sex": [*levels, "F"], "x": 0.0})
    assert encoded == encode_covariates(frame, schema).tolist()


def test_missing_ids_are_people_of_their_own():
    ids = ["a", None, "a", "", "NA", None]
    frame = frame_of([GOOD | {"id": value} for value in ids])
    episodes = to_episodes(frame, SCHEMA)
    assert episodes.persons == 5
    assert episodes.exit.tolist() == [3] * 5  # equal rows of one person count once
    assert np.all(episodes.event)
    frame["id"] = [1.0, math.nan, 1.0, -0.0, 0.0, math.nan]
    assert to_episodes(frame, SCHEMA).persons == 4
    frame["id"] = pd.Series([1, "1", 1.0, None, decimal.Decimal("sNaN"), [2]], dtype=object)
    assert to_episodes(frame, SCHEMA).persons == 5
    frame["id"] = pd.Categorical(["b", "a", "b", None, None, "c"], categories=["a", "b", "c", "d"])
    assert to_episodes(frame, SCHEMA).persons == 5
    frame["id"] = np.array([7, 3, 7, 3, 1, 2], dtype=">i4")
    assert to_episodes(frame, SCHEMA).persons == 4


CODED = [
    [999, 0, -9, 5],
    ["999", "0", " -9.0 ", "5"],
    np.array([999, 0, -9, 5], dtype=np.float32),
    np.array([999, 0, -9, 5], dtype=np.int16),
    pd.array([999, 0, -9, 5], dtype="Int64"),
    pl.Series([999, 0, -9, 5], dtype=pl.Int32),
    pl.Series(["unknown", "0", "-9", "5"]),
    pa.chunked_array([["999", "0"], ["-9", "5"]]),
]


@pytest.mark.parametrize("values", CODED, ids=range(len(CODED)))
def test_declared_codes_are_missing_whatever_holds_them(values):
    keys = {"low": -10, "high": 10, "missing": 1, "missing_values": [999, -9, "unknown"]}
    makers = {pl.Series: pl.DataFrame, pa.ChunkedArray: pa.table}
    table = makers.get(type(values), pd.DataFrame)({"x": values})
    found = encode_covariates(table, only(x=keys))[:, 0] * 10
    assert found.tolist() == pytest.approx([1, 0, 1, 5])


def test_a_column_has_its_own_codes_or_those_of_all_and_a_level_is_no_code():
    items = {
        "all": {"low": 0, "high": 100},
        "own": {"low": 0, "high": 100, "missing_values": [5]},
        "none": {"low": 0, "high": 100, "missing_values": []},
        "level": {"levels": [1, 9], "missing": "indicator"},
        "gap": {"levels": [1, 2], "missing": "indicator"},
    }
    mapping = only(**items).to_mapping() | {"missing_values": [9, "x"]}
    schema = Schema.from_mapping(mapping)
    assert schema.missing_codes == {
        "all": ("9", "x"), "own": ("5",), "level": ("x",), "gap": ("9", "x"),
    }  # fmt: skip
    table = pa.table({name: [9.0, 5.0] for name in items})
    public_map = CovariateMap.from_schema(schema)
    found = encode_covariates(table, schema) / public_map.scale + public_map.centre
    assert found[:, :3].tolist() == [[50, 9, 9], [5, 50, 5]]
    assert found[:, 3:].tolist() == [[1, 0, 0, 1], [0, 1, 0, 1]]


def test_codes_of_times_dates_and_events():
    axis = {"duration": "t", "event": "e", "horizon": HORIZON, "intervals": INTERVALS}
    schema = Schema.from_mapping({"time": axis | {"missing_values": [99]}})
    found = to_episodes(pa.table({"t": [99.0, 25.0], "e": [1, 99]}), schema)
    assert (found.exit.tolist(), found.event.tolist()) == ([3], [False])
    dates = {"start": "a", "end": "b", "event": "e", "horizon": 20, "intervals": 4}
    schema = Schema.from_mapping({"time": dates | {"missing_values": ["2020-01-11", "99.99.9999"]}})
    ends = ["2020-01-11", "2020-01-10", "99.99.9999"]
    for column in (pa.array(ends), pa.array([dt.date(2020, 1, 11), dt.date(2020, 1, 10), None])):
        table = pa.table({"a": ["2020-01-01"] * 3, "b": column, "e": [1, 1, 1]})
        assert to_episodes(table, schema).exit.tolist() == [2]
        report = count_repairs(table, schema)
        assert {item.problem: item.count for item in report.repairs} == {"missing": 2}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"covariate": [{"name": "s", "levels": [1, 9], "missing_values": ["9.0"]}]}, "in levels"),
        ({"strata": {"name": "s", "levels": [1, 9], "missing_values": [9]}}, "in levels"),
        ({"missing_values": ["inf"]}, "infinity"),
        ({"missing_values": 9}, "must be a list"),
        ({"missing": [9]}, "unknown key 'missing'; did you mean 'missing_values'"),
        ({"covariate": [{"name": "x", "missing": [9]}]}, "belong in missing_values"),
    ],
)
def test_codes_that_contradict_the_schema_are_refused(change, words):
    with pytest.raises(SchemaError, match=words):
        Schema.from_mapping(only().to_mapping() | change)


@pytest.mark.parametrize("values", [None, [1]])
def test_an_outcome_is_no_code(values):
    time = {"duration": "t", "event": "e", "horizon": 5, "intervals": 5, "event_values": values}
    with pytest.raises(SchemaError, match="which is an outcome of column 'e'"):
        Schema.from_mapping({"time": time | {"missing_values": ["true"]}})
