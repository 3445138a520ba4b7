"""Which intervals a person is at risk in, against an oracle that asks interval by interval."""

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.design.schema import Schema
from discreet.design.terms import CovariateMap
from discreet.people.encode import to_episodes
from discreet.people.episodes import Episodes
from discreet.people.spans import sweep

ROWS = 1000


def make_schema(
    horizon: float, intervals: int, *, entry: bool = True, person: bool = True
) -> Schema:
    time = {"duration": "stop", "event": "event", "horizon": horizon, "intervals": intervals}
    return Schema.from_mapping(
        ({"person": "id"} if person else {})
        | {"time": time | ({"entry": "start"} if entry else {})}
        | {"covariate": [{"name": "row", "low": 0, "high": ROWS}]}
    )


@dataclass(frozen=True)
class Row:
    person: object
    start: float
    stop: float
    event: int


def frame_of(rows: list[Row], numbers: list[int] | None = None) -> pa.Table:
    """The rows as a table, each with its own number as covariate."""
    return pa.table(
        {
            "id": pa.array([str(row.person) for row in rows], pa.string()),
            "start": pa.array([row.start for row in rows], pa.float64()),
            "stop": pa.array([row.stop for row in rows], pa.float64()),
            "event": pa.array([row.event for row in rows], pa.int64()),
            "row": pa.array(range(len(rows)) if numbers is None else numbers, pa.float64()),
        }
    )


def oracle(rows: list[tuple[int, Row]], schema: Schema) -> dict[int, tuple[int, bool]]:
    """Interval -> (number of the row that owns it, event), straight from the definition."""
    horizon, count = schema.time.horizon, schema.time.intervals
    edges = [horizon * s / count for s in range(count)]
    spells = []
    for number, row in rows:
        if math.isnan(row.stop):
            continue
        stop = max(row.stop, 0.0)
        start = 0.0 if math.isnan(row.start) else min(max(row.start, 0.0), stop)
        spells.append((start, stop, number, row.event == 1 and stop <= horizon))
    spells.sort()
    event_time = min((stop for _, stop, _, event in spells if event), default=None)
    owners = {}
    for s, edge in enumerate(edges, start=1):
        until = math.inf if s == count else edges[s]
        if event_time is not None and event_time < edge:
            break
        in_force = [
            number
            for start, stop, number, event in spells
            if start <= edge <= stop
            and (event_time is None or start < event_time or (event and stop == event_time))
        ]
        happened = event_time is not None and edge <= event_time < until
        if in_force:
            owners[s] = (in_force[-1], happened)
    return owners


def unfold(episodes: Episodes, schema: Schema, span: slice) -> dict[int, tuple[int, bool]]:
    """The same description from Episodes, with its promises checked on the way."""
    public_map = CovariateMap.from_schema(schema)
    owners: dict[int, tuple[int, bool]] = {}
    previous = 0
    raw = episodes.covariates[span, 0] / public_map.scale[0] + public_map.centre[0]
    rows = zip(raw, episodes.entry[span], episodes.exit[span], episodes.event[span], strict=True)
    for value, entry, exit_, event in rows:
        assert previous <= entry < exit_ <= schema.time.intervals
        assert not any(happened for _, happened in owners.values())  # an event is the last
        for s in range(entry + 1, exit_ + 1):
            owners[s] = (round(value), bool(event and s == exit_))
        previous = exit_
    return owners


def check_people(rows: list[Row], schema: Schema) -> None:
    episodes = to_episodes(frame_of(rows), schema)
    people = list(dict.fromkeys(row.person for row in rows))
    assert episodes.persons == len(people)
    assert episodes.offsets[0] == 0
    assert episodes.offsets[-1] == episodes.rows
    for number, person in enumerate(people):
        own = [(k, row) for k, row in enumerate(rows) if row.person == person]
        span = slice(*episodes.offsets[number : number + 2])
        assert unfold(episodes, schema, span) == oracle(own, schema)


HORIZON, INTERVALS = 7.0, 6
ON_GRID = [s * HORIZON / INTERVALS for s in range(INTERVALS + 1)]
TIMES = st.one_of(
    st.sampled_from(ON_GRID),
    st.floats(-1.0, 9.0),
    st.sampled_from([math.nan, math.inf, -math.inf, -0.0, HORIZON, 1.7, 2.0]),
)
ANY_ROWS = st.builds(Row, st.integers(0, 4), TIMES, TIMES, st.sampled_from([0, 0, 1]))


@settings(max_examples=2 * settings().max_examples)
@given(st.lists(ANY_ROWS, max_size=12))
def test_any_rows_of_any_people(rows):
    check_people(rows, make_schema(HORIZON, INTERVALS))


@given(
    st.lists(st.builds(Row, st.integers(0, 2), st.just(0.0), TIMES, st.integers(0, 1)), max_size=8)
)
def test_without_an_entry_column_every_row_starts_at_zero(rows):
    schema = make_schema(HORIZON, INTERVALS, entry=False)
    check_people(rows, schema)


@st.composite
def histories(draw):
    """Adjoining rows of several people in any file order: what a registry looks like."""
    rows = []
    for person in range(draw(st.integers(1, 4))):
        cuts = sorted(
            draw(st.sets(st.one_of(st.sampled_from(ON_GRID), st.floats(0, 8)), min_size=2))
        )
        died = draw(st.booleans())
        rows += [
            Row(person, start, stop, int(died and stop == cuts[-1]))
            for start, stop in pairwise(cuts)
        ]
    return draw(st.permutations(rows))


@given(histories())
def test_adjoining_rows_of_shuffled_people(rows):
    check_people(rows, make_schema(HORIZON, INTERVALS))


@given(st.lists(st.builds(Row, st.just(0), TIMES, TIMES, st.integers(0, 1)), max_size=12))
def test_without_a_person_column_every_row_is_a_person(rows):
    schema = make_schema(HORIZON, INTERVALS, person=False)
    episodes = to_episodes(frame_of(rows), schema)
    assert episodes.offsets is None
    assert episodes.persons == len(rows)
    assert np.all(np.diff(episodes.exit) >= 0)
    found = [unfold(episodes, schema, slice(k, k + 1)) for k in range(episodes.rows)]
    expected = [oracle([(k, row)], schema) for k, row in enumerate(rows)]
    key = lambda owners: sorted(owners.items())  # noqa: E731
    assert sorted(map(key, found)) == sorted(key(owners) for owners in expected if owners)


@settings(max_examples=2 * settings().max_examples)
@given(st.lists(ANY_ROWS, max_size=8), st.lists(ANY_ROWS, max_size=8), st.randoms())
def test_nobody_else_and_no_order_of_people_changes_a_person(own, others, random):
    """The contribution of a person is a function of that person's rows."""
    schema = make_schema(HORIZON, INTERVALS)
    own = [Row("me", row.start, row.stop, row.event) for row in own]
    company = list(enumerate(others, start=len(own)))
    places = sorted(random.sample(range(len(own) + len(others)), len(own)))
    for place, item in zip(places, enumerate(own), strict=True):  # my order breaks ties
        company.insert(place, item)
    numbers, rows = [k for k, _ in company], [row for _, row in company]
    before, after = to_episodes(frame_of(own), schema), to_episodes(frame_of(rows, numbers), schema)
    if not own:
        return
    number = list(dict.fromkeys(row.person for row in rows)).index("me")
    span = slice(*after.offsets[number : number + 2])
    for field in ("covariates", "entry", "exit", "event"):
        assert np.array_equal(getattr(before, field), getattr(after, field)[span])


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        # one row from 0: the paper's record; a stop on the grid is in the interval that begins there
        ([Row(0, 0, 25, 1)], {1: (0, False), 2: (0, False), 3: (0, True)}),
        ([Row(0, 0, 20, 1)], {1: (0, False), 2: (0, False), 3: (0, True)}),
        ([Row(0, 0, 0, 1)], {1: (0, True)}),
        # the next row starts there and takes over
        ([Row(0, 0, 20, 0), Row(0, 20, 25, 1)], {1: (0, False), 2: (0, False), 3: (1, True)}),
        # a change within an interval counts from the next one; the event belongs to the owner
        ([Row(0, 0, 5, 0), Row(0, 5, 8, 1)], {1: (0, True)}),
        # late entry: at risk from the first whole interval, an earlier event is dropped
        ([Row(0, 15, 35, 1)], {3: (0, False), 4: (0, True)}),
        ([Row(0, 15, 18, 1)], {}),
        # a gap
        ([Row(0, 0, 5, 0), Row(0, 25, 35, 1)], {1: (0, False), 4: (1, True)}),
        # a row inside a longer one interrupts it
        ([Row(0, 0, 45, 1), Row(0, 10, 25, 0)],
         {1: (0, False), 2: (1, False), 3: (1, False), 4: (0, False), 5: (0, True)}),
        # the first event only; rows after it are dropped, also one that starts with it
        ([Row(0, 0, 10, 1), Row(0, 10, 30, 1)], {1: (0, False), 2: (0, True)}),
        # an event in an interval whose start nobody was in force at ends the history all the same
        ([Row(0, 12, 15, 1), Row(0, 16, 45, 0)], {}),
        # horizon: an event at it counts, one beyond is censoring
        ([Row(0, 0, 50, 1)], {s: (0, s == 5) for s in range(1, 6)}),
        ([Row(0, 0, 50.001, 1)], dict.fromkeys(range(1, 6), (0, False))),
        ([Row(0, 0, math.inf, 1)], dict.fromkeys(range(1, 6), (0, False))),
    ],
)  # fmt: skip
def test_cases_worth_reading(rows, expected):
    schema = make_schema(50, 5)
    assert oracle(list(enumerate(rows)), schema) == expected
    check_people(rows, schema)


def test_sweep_gives_time_back_to_the_interrupted_row():
    assert sweep([0, 1, 2, 6], [9, 5, 3, 7]) == [
        (0, 0, 1), (1, 1, 2), (2, 2, 3), (1, 3, 5), (0, 5, 6), (3, 6, 7), (0, 7, 9),
    ]  # fmt: skip
    assert sweep([], []) == []


def test_slices_are_cut_between_people():
    rows = [Row(k % 3, 2.0 * (k // 3), 2.0 * (k // 3) + 2, 0) for k in range(9)]
    episodes = to_episodes(frame_of(rows), make_schema(6, 3))
    part = episodes.slice(1, 3)
    assert part.persons == 2
    assert part.offsets.tolist() == [0, 3, 6]
    assert np.array_equal(part.exit, episodes.exit[3:9])
    assert np.shares_memory(part.covariates, episodes.covariates)
    single = to_episodes(frame_of(rows), make_schema(6, 3, person=False))
    assert single.slice(2, 5).persons == single.slice(2, 5).rows == 3


@pytest.mark.parametrize("person", [False, True])
def test_what_ends_before_the_origin_is_never_at_risk(person):
    time = {"duration": "stop", "event": "event", "entry": "start", "horizon": 100, "origin": 60}
    public = Schema.from_mapping(
        ({"person": "id"} if person else {})
        | {"time": time | {"intervals": 4}, "covariate": [{"name": "row", "low": 0, "high": ROWS}]}
    )
    rows = [
        Row("a", 50.0, 59.0, 1),  # the event was before time zero: nothing of a counts
        Row("b", 50.0, 60.0, 1),
        Row("c", 20.0, 75.0, 0),
        Row("d", 71.0, 200.0, 1),
        Row("e", -5.0, -1.0, 0),
    ]
    if person:
        rows.append(Row("a", 61.0, 90.0, 0))
    found = to_episodes(frame_of(rows), public)
    spans = zip(found.entry.tolist(), found.exit.tolist(), found.event.tolist(), strict=True)
    assert sorted(spans) == [(0, 1, True), (0, 2, False), (2, 4, False)]
    assert found.persons == 5
