"""Dates: one value at a time, the same number whatever the column's type."""

import math
from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.design.schema import Schema
from discreet.errors import DataFormError, SchemaError
from discreet.people.columns import read_date
from discreet.people.encode import to_episodes
from discreet.people.repairs import count_repairs
from discreet.people.tables import check_form, open_table

DAY = 18_292  # 31 January 2020


@pytest.mark.parametrize(
    ("value", "date_format", "days"),
    [
        ("2020-01-31", None, DAY),
        (" 2020-01-31 ", None, DAY),
        (b"2020-01-31", None, DAY),
        ("20200131", None, DAY),
        ("2020-01-31T12:00:00", None, DAY + 0.5),
        ("2020-01-31 06:00", None, DAY + 0.25),
        ("2020-01-31T12:00:00+12:00", None, DAY),
        ("31/01/2020", "%d/%m/%Y", DAY),
        ("31.1.2020", "%d.%m.%Y", DAY),
        (20200131, "%Y%m%d", DAY),
        (2020.0, "%Y", DAY - 30),
        (date(2020, 1, 31), "%d/%m/%Y", DAY),
        (datetime(2020, 1, 31, 12), None, DAY + 0.5),  # noqa: DTZ001 - a wall clock
        (datetime(2020, 1, 31, 12, tzinfo=timezone(timedelta(hours=12))), None, DAY),
        (np.datetime64("2020-01-31"), None, DAY),
        (pd.Timestamp("2020-01-31 12:00"), None, DAY + 0.5),
        ("1969-12-31", None, -1),
    ],
)
def test_a_date_is_a_number_of_days(value, date_format, days):
    assert read_date(value, date_format) == days


@pytest.mark.parametrize(
    "value",
    [None, "", "NA", math.nan, pd.NaT, np.datetime64("NaT", "D"), "31/01/2020", "2020-02-30", "soon",
     True, [], 1e300, math.inf, "0001-01-01T00:00:00+23:59", "\ud800"],
)  # fmt: skip
def test_what_is_no_date_is_none(value):
    assert math.isnan(read_date(value, None))


moments = st.datetimes(datetime(1800, 1, 1), datetime(2200, 1, 1))  # noqa: DTZ001


@given(st.lists(st.one_of(st.none(), moments), min_size=1, max_size=10))
def test_typed_columns_give_what_their_texts_give(values):
    texts = [None if value is None else value.isoformat() for value in values]
    expected = [read_date(text, None) for text in texts]
    columns = [
        pa.array(values, pa.timestamp("us")),
        pa.array([None if v is None else v.replace(tzinfo=UTC) for v in values],
                 pa.timestamp("us", tz="UTC")),
        pa.array(texts, pa.string()),
    ]  # fmt: skip
    frames = [pa.table({"d": column}) for column in columns]
    frames.append(pl.DataFrame({"d": pl.Series(values, dtype=pl.Datetime("us"))}))
    frames.append(pd.DataFrame({"d": pd.Series(values, dtype="object")}))
    for frame in frames:
        found = open_table(frame).column("d").days(None)
        np.testing.assert_array_equal(found, expected)


@given(st.lists(st.one_of(st.none(), st.dates()), min_size=1, max_size=10))
def test_columns_of_days(values):
    expected = [read_date(value, None) for value in values]
    for kind in (pa.date32(), pa.date64()):
        found = open_table(pa.table({"d": pa.array(values, kind)})).column("d").days(None)
        np.testing.assert_array_equal(found, expected)


def schema(**time):
    return Schema.from_mapping(
        {"time": {"start": "a", "end": "b", "event": "e", "horizon": 10, "intervals": 10, **time}}
    )


def spans(table, public):
    found = to_episodes(table, public)
    return sorted(zip(found.entry.tolist(), found.exit.tolist(), found.event.tolist(), strict=True))


def test_bad_dates_are_never_at_risk_and_counted():
    table = pa.table(
        {
            "a": ["2020-01-01", "2020-01-01", "2020-01-05", None, "2020-01-01", "2020-01-01"],
            "b": ["2020-01-03", "soon", "2020-01-04", "2020-01-04", "2020-01-01", "2020-03-01"],
            "e": ["1", "1", "1", "1", "1", "1"],
        }
    )
    public = schema()
    assert spans(table, public) == [(0, 1, True), (0, 3, True), (0, 10, False)]
    report = count_repairs(table, public)
    assert report.never_at_risk == 3
    found = {(item.column, item.problem, item.remedy, item.count) for item in report.repairs}
    assert found == {
        ("a", "missing", "never at risk", 1),
        ("b", "not a date", "never at risk", 1),
        ("b", "before the start", "never at risk", 1),
        ("e", "event after the horizon", "censored at the horizon", 1),
    }


@pytest.mark.parametrize(
    ("unit", "day", "interval"),
    [("days", 5, 6), ("weeks", 15, 3), ("months", 61, 3), ("years", 731, 3)],
)
def test_units_of_time(unit, day, interval):
    end = (date(2020, 1, 1) + timedelta(days=day)).isoformat()
    table = pa.table({"a": ["2020-01-01"], "b": [end], "e": [1]})
    assert spans(table, schema(unit=unit)) == [(0, interval, True)]


def test_an_entry_is_a_date_too():
    table = pa.table(
        {
            "a": ["01/01/2020"] * 4,
            "n": ["03/01/2020", "20/12/2019", None, "09/01/2020"],
            "b": ["06/01/2020"] * 4,
            "e": [1] * 4,
        }
    )
    public = schema(entry="n", date_format="%d/%m/%Y")
    assert spans(table, public) == [(0, 6, True), (2, 6, True), (5, 6, True)]
    problems = {(item.problem, item.count) for item in count_repairs(table, public).repairs}
    assert problems == {("missing", 1), ("before the start", 1), ("after the end", 1)}


@pytest.mark.parametrize(
    ("declared", "values", "events"),
    [
        (["dead", "Dead"], ["dead", " Dead ", "DEAD", "1", "alive", None], [1, 1, 0, 0, 0, 0]),
        ([2, 3], ["2", "3.0", "1", "0", "", "two"], [1, 1, 0, 0, 0, 0]),
        (["NA"], ["NA", "1", "", "0", "na", None], [1, 0, 0, 0, 0, 0]),
        (None, ["true", "1", "1.0", "yes", "0", None], [1, 1, 1, 0, 0, 0]),
    ],
)
def test_what_counts_as_the_event(declared, values, events):
    keys = {} if declared is None else {"event_values": declared}
    time = {"duration": "t", "event": "e", "horizon": 9, "intervals": 9, **keys}
    public = Schema.from_mapping({"time": time})
    table = pa.table({"t": np.arange(6) + 0.5, "e": pa.array(values, pa.string())})
    assert to_episodes(table, public).event.astype(int).tolist() == events
    assert Schema.from_mapping(public.to_mapping()) == public


def test_a_date_is_no_number_and_no_duration_is_asked_of_y():
    table = pa.table({"t": pa.array([date(2020, 1, 1)]), "e": [1]})
    numeric = Schema.from_mapping(
        {"time": {"duration": "t", "event": "e", "horizon": 1, "intervals": 1}}
    )
    for read in (check_form, to_episodes):
        with pytest.raises(DataFormError, match=r"'t' holds dates.*start and end in \[time\]"):
            read(table, numeric)
    outcome = np.array([(True, 1.0)], dtype=[("event", bool), ("time", float)])
    with pytest.raises(DataFormError, match="y holds durations"):
        to_episodes(table, schema(), outcome)
    check_form(table.append_column("a", table["t"]).append_column("b", table["t"]), schema())


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"start": None}, "key 'start' .* is missing"),
        ({"end": None}, "key 'end' .* is missing"),
        ({"duration": "t"}, "key 'duration' .* does not go with start and end"),
        ({"date_format": "%d/%m"}, "key 'date_format' .* such as %d/%m/%Y"),
        ({"date_format": "%"}, "key 'date_format' .* such as %d/%m/%Y"),
        ({"date_format": "%q"}, "key 'date_format' .* such as %d/%m/%Y"),
        ({"event_values": []}, "key 'event_values' .* needs at least one entry"),
        ({"event_values": "dead"}, "key 'event_values' .* must be a list"),
        ({"start": None, "end": None, "duration": "t", "date_format": "%Y"}, "needs dates"),
        ({"start": None, "end": None}, "key 'duration' .* is missing; add it, or start and end"),
    ],
)
def test_bad_keys_are_named(keys, says):
    given_keys = {"start": "a", "end": "b", "event": "e", "horizon": 10, "intervals": 10} | keys
    with pytest.raises(SchemaError, match=says) as caught:
        Schema.from_mapping({"time": {k: v for k, v in given_keys.items() if v is not None}})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("unit", "said"), [({}, "days"), ({"unit": "months"}, "months")])
def test_a_summary_says_what_dates_are_counted_in(unit, said):
    dates = {"start": "from", "end": "to", "event": "e", "horizon": 60, "intervals": 12}
    axis = Schema.from_mapping({"time": {**dates, **unit}}).time
    assert axis.words == f"12 intervals up to 60 {said}"
    assert axis.axis_label == f"time in {said}"
