"""The schema: what it accepts, what it says when it does not, and its round trip."""

import math
from copy import deepcopy

import pytest
from pydantic import ValidationError

from discreet.design.schema import (
    MAX_FILE_BYTES,
    Categorical,
    Numeric,
    Schema,
    TimeAxis,
    level_key,
    parse_number,
)
from discreet.errors import SchemaError

TOML = """
person = "id"
[time]
duration = "time"
event = "status"
entry = "start"
horizon = 2190
intervals = 200
[[covariate]]
name = "age"
low = 26
high = 49
missing = 35
[[covariate]]
name = "sex"
levels = ["F", "M"]
[[covariate]]
name = "stage"
levels = [1, 2, 3]
"""


def mapping() -> dict:
    return {
        "person": "id",
        "time": {
            "duration": "time",
            "event": "status",
            "entry": "start",
            "horizon": 2190,
            "intervals": 200,
        },
        "covariate": [
            {"name": "age", "low": 26, "high": 49, "missing": 35},
            {"name": "sex", "levels": ["F", "M"]},
            {"name": "stage", "levels": [1, 2, 3]},
        ],
    }


def test_toml_and_mapping_give_the_same_schema(tmp_path):
    path = tmp_path / "schema.toml"
    path.write_text(TOML)
    schema = Schema.from_toml(path)
    assert schema == Schema.from_mapping(mapping())
    assert schema.person == "id"
    assert schema.time == TimeAxis(
        duration="time", event="status", entry="start", horizon=2190.0, intervals=200
    )
    assert schema.covariates == (
        Numeric(name="age", low=26, high=49, missing=35),
        Categorical(name="sex", levels=("F", "M")),
        Categorical(name="stage", levels=("1", "2", "3")),
    )


def test_mapping_survives_a_round_trip():
    schema = Schema.from_mapping(mapping())
    assert Schema.from_mapping(schema.to_mapping()) == schema
    bare = Schema.from_mapping(
        {"time": {"duration": "t", "event": "e", "horizon": 1, "intervals": 1}}
    )
    assert Schema.from_mapping(bare.to_mapping()) == bare
    assert "person" not in bare.to_mapping()


def test_names_columns_and_fills():
    schema = Schema.from_mapping(mapping())
    assert schema.coefficient_names == ("age", "sex[M]", "stage[2]", "stage[3]")
    assert schema.columns == ("id", "time", "status", "start", "age", "sex", "stage")
    assert schema.covariates[0].fill == 35.0
    assert Numeric(name="x", low=1, high=4).fill == 2.5
    assert schema.is_bounded


def test_missing_bounds_are_named_when_they_are_needed():
    schema = Schema.from_mapping(
        mapping()
        | {
            "covariate": [
                {"name": "a"},
                {"name": "b", "low": 1},
                {"name": "c", "low": 0, "high": 1},
            ]
        }
    )
    assert not schema.is_bounded
    with pytest.raises(SchemaError, match=r"'a', 'b'\.$"):
        schema.require_bounds()
    with pytest.raises(SchemaError, match="'a'"):
        _ = schema.covariates[0].fill


def test_a_schema_cannot_be_changed():
    schema = Schema.from_mapping(mapping())
    with pytest.raises(ValidationError):
        schema.person = "other"


def change(path: str, value: object) -> dict:
    """The good mapping with one key set, or removed where the value is ...."""
    changed = deepcopy(mapping())
    *parents, key = [int(part) if part.isdigit() else part for part in path.split("/")]
    place = changed
    for parent in parents:
        place = place[parent]
    if value is ...:
        del place[key]
    else:
        place[key] = value
    return changed


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        ("colour", 1, r"unknown key 'colour'; remove it or correct its spelling\.$"),
        ("tiem", {}, "unknown key 'tiem'; did you mean 'time'"),
        ("covariate/0/min", 1, "unknown key 'min' .*'age'; did you mean 'low'"),
        ("covariate/0/lvels", ["a"], "did you mean 'levels'"),
        ("time/horizont", 1, r"unknown key 'horizont' in \[time\]; did you mean 'horizon'"),
        ("time/Event", "e", "did you mean 'event'"),
        ("covariate/0/labels", ["a"], "key 'labels' .*'age' needs levels"),
        ("covariate/1/labels", ["a"], "'sex' needs one of the labels for each of its 2 levels"),
        ("covariate/1/typical", "X", "'sex' needs 'typical' to be one of its levels"),
        ("covariate/1/unit", "kg", "key 'unit' .*'sex' does not go with levels"),
        ("covariate/0/typical", 50, "'age' needs 'typical' between low and high"),
        ("covariate/0/label", "", "key 'label' .*'age' must not be empty"),
        ("covariate/0/scale", "ln", "key 'scale' .*'age' must be linear, log or spline:KNOTS"),
        ("covariate/0/scale", "spline:11", "key 'scale' .*'age' must be .* 3 to 10 knots"),
        (
            "covariate/0",
            {"name": "age", "low": 0, "high": 9, "scale": "log"},
            "'age' needs low > 0",
        ),
        (
            "covariate/0",
            {"name": "age", "scale": "log"},
            "'age' needs low and high for its 'scale'",
        ),
        (
            "covariate/0/missing",
            "mean",
            "'missing' .*'age' must be a number, midpoint or indicator",
        ),
        ("covariate/1/missing", 3, "'missing' .*'sex' must be midpoint .* or indicator"),
        ("covariate/1/scale", "log", "key 'scale' .*'sex' does not go with levels"),
        ("interaction", [{"of": ["age", "sxe"]}], r"\[\[interaction\]\] names 'sxe', .* 'sex'\?$"),
        ("interaction", [{"of": ["age"]}], r"'of' in \[\[interaction\]\] needs two different"),
        ("interaction", [{"of": ["age", "sex"]}, {"of": ["sex", "age"]}], "is there twice"),
        ("interaction", {"of": ["age", "sex"]}, r"write \[\[interaction\]\] with two brackets"),
        ("interaction", [{"off": 1}], "key 'of' .*number 1 is missing"),
        ("page", {"titel": "x"}, r"unknown key 'titel' in \[page\]; did you mean 'title'"),
        ("page", {"title": 3}, r"key 'title' in \[page\] must be text in quotes"),
        ("page", {"language": "english!"}, r"key 'language' in \[page\] must be the code"),
        ("page", {"description": "x" * 2001}, r"'description' in \[page\] must be at most 2000"),
        ("page", {"contact": "a\tb"}, r"'contact' in \[page\] must not contain control"),
        ("page", "x", "key 'page' must be a table"),
        ("time/unit", "hours", r"key 'unit' in \[time\] must be one of days, weeks, months, years"),
        ("time/origin", 2190, r"key 'horizon' in \[time\] must lie after origin"),
        ("time/first", 0, r"key 'first' in \[time\] must be a positive number"),
        ("time/first", 10.96, r"key 'first' in \[time\] is too long"),
        ("time/edges", [0, 1], r"key 'intervals' in \[time\] does not go with edges"),
        ("covariate/1/low", 1, "key 'low' .*'sex' does not go with levels"),
        ("covariate/0/low", 49, "'age' needs low < high"),
        ("covariate/0/low", math.nan, "key 'low' .*'age' must be a finite number"),
        ("covariate/0/high", math.inf, "key 'high' .*'age' must be a finite number"),
        ("covariate/0/high", "tall", "key 'high' .*'age' must be a number"),
        ("covariate/0/missing", 50, "'age' needs 'missing' between low and high"),
        ("covariate/0/missing", 20, "'age' needs 'missing' between low and high"),
        ("covariate/1/levels", ["1", "1.0"], "'sex' has the level '1' twice"),
        ("covariate/1/levels", ["F"], "key 'levels' .*'sex' needs at least two"),
        ("covariate/1/levels", [str(k) for k in range(1001)], "key 'levels' .*'sex' has too many"),
        ("covariate/1/levels", "FM", r"'levels' .*'sex' must be a list; write levels = \[\"FM\"\]"),
        ("time/causes", {"a": 1, "b": [2]}, r"'a' of causes in \[time\] .*; write a = \[1\]"),
        ("covariate/1/levels", ["F", ["M"]], "key 'levels' .*'sex' must be text"),
        ("covariate/1/name", "age", "column 'age' is used twice"),
        ("time/entry", "time", "column 'time' is used twice"),
        ("covariate/1/name", ..., r"key 'name' in \[\[covariate\]\] number 2 is missing"),
        ("covariate/0/name", "sex[M]", r"two coefficients would be named 'sex\[M\]'"),
        ("covariate/0", 3, "key 'covariate' must be a table"),
        ("covariate", 3, "key 'covariate' must be a list"),
        ("covariate", {"name": "age"}, r"must be a list; write \[\[covariate\]\] with two"),
        ("time/person", "id", r"key 'person' is in \[time\]; put it above the first table"),
        ("covariate", [{"name": f"x{k}"} for k in range(1001)], "key 'covariate' has too many"),
        ("covariates", [], "unknown key 'covariates'"),
        ("time/horizon", 0, r"key 'horizon' in \[time\] must be a positive number"),
        ("time/horizon", True, r"key 'horizon' in \[time\] must be a number"),
        ("time/horizon", math.inf, r"key 'horizon' in \[time\] must be a finite number"),
        ("time/intervals", 0, r"key 'intervals' in \[time\] must be at least 1"),
        ("time/intervals", 10**7, r"key 'intervals' in \[time\] must be at most"),
        ("time/intervals", 2.5, r"key 'intervals' in \[time\] must be a whole number"),
        ("time/duration", ..., r"key 'duration' in \[time\] is missing"),
        ("time/duration", "a\nb", r"key 'duration' in \[time\] must not contain control"),
        ("time", ..., r"key 'time' is missing; add the table \[time\]"),
        ("time", "days", "key 'time' must be a table"),
        ("person", 7, "key 'person' must be text"),
        ("person", "", "key 'person' must not be empty"),
        ("person", "p" * 201, "key 'person' must be at most 200"),
    ],
)
def test_a_bad_key_is_named_in_one_sentence(path, value, says):
    with pytest.raises(SchemaError, match=says) as caught:
        Schema.from_mapping(change(path, value))
    text = str(caught.value)
    assert "\n" not in text
    assert text.endswith((".", "?"))
    assert caught.value.exit_status == 2


WORDS = """
[time]
duration = "time"
event = "status"
horizon = 10
intervals = 10
[[covariate]]
name = "creat"
label = "Serum creatinine"
unit = "mg/dl"
low = 0
high = 15
typical = 1
[[covariate]]
name = "stage"
levels = [1, 2, 3]
label = "Stage"
labels = ["local", "regional", "distant"]
typical = 2
[[covariate]]
name = "sex"
levels = ["F", "M"]
[page]
title = "Survival after diagnosis"
description = '''
Two lines
of text.

And a second
paragraph.'''
event = "death from any cause"
contact = "registry@example.org"
citation = "Doe, J. (2026)."
licence = "CC BY 4.0"
language = "pt-BR"
"""


def test_words_for_people(tmp_path):
    (tmp_path / "schema.toml").write_text(WORDS)
    schema = Schema.from_toml(tmp_path / "schema.toml")
    assert schema.coefficient_names == ("creat", "stage[2]", "stage[3]", "sex[M]")
    assert schema.coefficient_titles == (
        "Serum creatinine (mg/dl)", "Stage: regional", "Stage: distant", "sex[M]",
    )  # fmt: skip
    assert [item.typical_value for item in schema.covariates] == [1.0, 1, 0]
    assert schema.page.description == ("Two lines of text.", "And a second paragraph.")
    assert schema.to_mapping()["page"]["description"] == list(schema.page.description)
    assert schema.page.language == "pt-BR"
    assert Schema.from_mapping(schema.to_mapping()) == schema


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("person = id", r'a text needs quotes; in line 2 write person = "id"\.$'),
        ("person = patient id  # the key", 'person = "patient id"'),
        ('person = "id', "Illegal character"),
        ("person = = 3", "Invalid value"),
    ],
)
def test_a_text_without_quotes_gets_a_hint(tmp_path, line, says):
    (tmp_path / "schema.toml").write_text(f"# a schema\n{line}\n{TOML.replace('person', 'pers')}")
    with pytest.raises(SchemaError, match=says):
        Schema.from_toml(tmp_path / "schema.toml")


def axis(**keys):
    return Schema.from_mapping({"time": {"duration": "t", "event": "e", **keys}}).time


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"edges": [0, 30, 30, 90]}, "key 'edges' .* must increase"),
        ({"edges": [0, 30, 20]}, "key 'edges' .* must increase"),
        ({"edges": [5]}, "key 'edges' .* needs at least two"),
        ({"edges": 7}, "key 'edges' .* must be a list"),
        ({"edges": [0, "x"]}, "key 'edges' .* must be a number"),
        ({"edges": [0, 30], "horizon": 31}, "key 'horizon' .* is not the last of the edges"),
        ({"edges": [0, 30], "origin": 1}, "key 'origin' .* is not the first of the edges"),
        ({"edges": [0, 30], "first": 1}, "key 'first' .* does not go with edges"),
        ({"edges": [1e9, 1e9 + 1e-7]}, "too narrow"),
        ({"horizon": 5, "intervals": 1, "first": 2}, "key 'first' .* needs at least 2 intervals"),
        ({"horizon": 5}, "key 'intervals' .* is missing"),
        ({"intervals": 5}, "key 'horizon' .* is missing"),
    ],
)
def test_a_bad_grid_is_named_in_one_sentence(keys, says):
    with pytest.raises(SchemaError, match=says) as caught:
        axis(**keys)
    assert str(caught.value).count(".") == 1


@pytest.mark.parametrize(
    ("keys", "zero", "horizon", "intervals", "words"),
    [
        ({"horizon": 10, "intervals": 5}, 0, 10, 5, "5 intervals up to 10"),
        ({"edges": [0, 1, 10]}, 0, 10, 2, "2 unequal intervals up to 10"),
        ({"edges": [60, 70, 90], "origin": 60, "horizon": 90}, 60, 90, 2, "from 60 to 90"),
        ({"origin": 60, "horizon": 90, "intervals": 3, "unit": "years"}, 60, 90, 3, "90 years"),
        ({"horizon": 9, "intervals": 3, "first": 1}, 0, 9, 3, "the first 1 long"),
    ],
)
def test_grids_survive_a_round_trip(keys, zero, horizon, intervals, words):
    time = axis(**keys)
    assert (time.zero, time.horizon, time.intervals) == (zero, horizon, intervals)
    assert words in time.words
    schema = Schema.from_mapping({"time": {"duration": "t", "event": "e", **keys}})
    assert Schema.from_mapping(schema.to_mapping()) == schema
    assert set(schema.to_mapping()["time"]) - {"horizon"} == {"duration", "event", *keys} - {
        "horizon"
    }


@pytest.mark.parametrize(
    "content", [b"x = [", b"\xff", b"a=" + b"[" * 100_000, b"#" * (MAX_FILE_BYTES + 1)]
)
def test_a_file_that_is_no_toml_is_refused(tmp_path, content):
    path = tmp_path / "schema.toml"
    path.write_bytes(content)
    with pytest.raises(SchemaError, match=r"schema\.toml"):
        Schema.from_toml(path)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(SchemaError, match=r"nowhere\.toml' cannot be read"):
        Schema.from_toml(tmp_path / "nowhere.toml")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("1", "1.0", True),
        ("1", " 01 ", True),
        ("-0", "0", True),
        ("1e3", "1000", True),
        ("True", "true", True),
        ("M", " M", True),
        ("m", "M", False),
        ("1_000", "1000", False),
        ("1", "TRUE", True),
        ("inf", "Inf", False),
        ("é", "e", False),
    ],
)
def test_spellings_of_one_level(one, other, same):
    assert (level_key(one) == level_key(other)) is same


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1.5", 1.5),
        ("-inf", -math.inf),
        ("1e400", math.inf),
        ("nan", None),
        ("0x1", None),
        ("", None),
    ],
)
def test_numbers_in_text(text, number):
    assert parse_number(text) == number
