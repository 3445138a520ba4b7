"""What a table looks like under a schema: for the custodian's eyes, never for a private fit.

Counts of events and exits, time at risk, the first values that do not fit, columns that do not
vary.  All of it is exact, so none of it may leave the building.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.design.grid import TimeGrid
from discreet.design.schema import Categorical, Numeric, Schema
from discreet.people.columns import Column, is_missing, level_lookup, read_level
from discreet.people.encode import person_spans
from discreet.people.repairs import RepairReport
from discreet.people.spans import Spans
from discreet.people.tables import Table
from discreet.text import printable
from discreet.types import Array

TENTHS = 10
FEWEST_EVENTS = 10
"""Fewer fit no model, and say nothing about where events come."""
MOST_EXAMPLES = 3
LONGEST_EXAMPLE = 40
MOST_CODES = 100
"""Of one column of a table, the most frequent first."""

Key = tuple[str, str]
"""A column and what is wrong with it, as in `Repair`."""


@dataclass(frozen=True)
class Picture:
    """The people of a table, or of a part of it in which people are whole.

    ``event_counts`` are events by the interval they happen in, where there are any; ``exits`` people
    by the tenth of the grid's intervals in which their time at risk ends, ``first_exits`` those
    whose only interval is the first; ``ranges`` the smallest and the largest value (of categories:
    number of a level) of each covariate after repair, ``event_values`` a few of the event's column;
    ``codes`` how often each value that looks like a code for a missing value is in a column;
    ``changing`` in how many persons a covariate changes that is declared fixed, where it does.
    """

    event_counts: Mapping[int, int] = field(default_factory=dict)
    time_at_risk: float = 0.0
    exits: tuple[int, ...] = (0,) * TENTHS
    first_exits: int = 0
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    examples: Mapping[Key, tuple[str, ...]] = field(default_factory=dict)
    event_values: frozenset[str] = frozenset()
    codes: Mapping[Key, int] = field(default_factory=dict)
    changing: Mapping[str, int] = field(default_factory=dict)

    @property
    def events(self) -> int:
        """People who have the event within the grid."""
        return sum(self.event_counts.values())

    @property
    def at_risk(self) -> int:
        """People who are at risk in some interval."""
        return sum(self.exits)

    @property
    def constant(self) -> tuple[str, ...]:
        """Covariates that have one value only."""
        return tuple(name for name, (low, high) in self.ranges.items() if low == high)


def picture_of(table: Table, schema: Schema, report: RepairReport) -> Picture:
    """The picture of one table, whose repairs were counted before."""
    spans = person_spans(table, schema)
    edges, last = TimeGrid.of(schema.time).edges, _last_intervals(spans)
    tenth = (TENTHS * (last - 1)) // schema.time.intervals
    return Picture(
        event_counts=_counted(spans.exit[spans.event]),
        time_at_risk=float(np.sum(edges[spans.exit] - edges[spans.entry])),
        exits=tuple(np.bincount(tenth, minlength=TENTHS).tolist()),
        first_exits=int(np.count_nonzero(last == 1)),
        ranges={
            item.name: _range(table.column(item.name), item)
            for item in schema.covariates
            if table.rows
        },
        examples=_examples(table, schema, report),
        event_values=_event_values(table.column(schema.time.event)),
        codes=_codes(table, schema),
        changing=_changing(table, schema),
    )


def add_pictures(pictures: Iterable[Picture]) -> Picture:
    """The picture of several parts, each with whole people."""
    return reduce(_add, pictures, Picture())


def _add(one: Picture, other: Picture) -> Picture:
    keys = dict.fromkeys([*one.examples, *other.examples])
    return Picture(
        event_counts=dict(Counter(one.event_counts) + Counter(other.event_counts)),
        time_at_risk=one.time_at_risk + other.time_at_risk,
        exits=tuple(np.add(one.exits, other.exits).tolist()),
        first_exits=one.first_exits + other.first_exits,
        ranges=_wider(one.ranges, other.ranges),
        examples={
            key: _first([*one.examples.get(key, ()), *other.examples.get(key, ())]) for key in keys
        },
        event_values=one.event_values | other.event_values,
        codes=dict(Counter(one.codes) + Counter(other.codes)),
        changing=dict(Counter(one.changing) + Counter(other.changing)),
    )


def _wider(
    one: Mapping[str, tuple[float, float]], other: Mapping[str, tuple[float, float]]
) -> dict[str, tuple[float, float]]:
    both = dict(one)
    for name, (low, high) in other.items():
        lowest, highest = both.get(name, (low, high))
        both[name] = min(low, lowest), max(high, highest)
    return both


def _counted(intervals: NDArray[np.integer[Any]]) -> dict[int, int]:
    """How often each interval is there."""
    found, counts = np.unique(intervals, return_counts=True)
    return dict(zip(found.tolist(), counts.tolist(), strict=True))


def _last_intervals(spans: Spans) -> Array:
    """The last interval at risk of everybody who is at risk in one."""
    if spans.offsets is None:
        return np.asarray(spans.exit, dtype=np.int64)
    some = np.diff(spans.offsets) > 0
    return np.asarray(spans.exit[spans.offsets[1:][some] - 1], dtype=np.int64)


def _levels(column: Column, covariate: Categorical) -> NDArray[np.int32]:
    """The level of every row by its number, below zero where it is missing or unknown."""
    lookup = level_lookup(covariate)
    return column.apply(lambda value: read_level(value, lookup), -2, np.int32)


def _changing(table: Table, schema: Schema) -> dict[str, int]:
    """Persons who have more than one of the declared levels of a covariate that is declared fixed."""
    fixed = [item for item in schema.covariates if isinstance(item, Categorical) and item.fixed]
    if schema.person is None or not fixed:
        return {}
    person, _ = table.ids(schema.person).codes()
    found = {}
    for item in fixed:
        levels = _levels(table.column(item.name), item)
        told = levels >= 0
        different = np.unique(np.stack([person[told], levels[told]]), axis=1)[0]
        _, levels_of = np.unique(different, return_counts=True)
        found[item.name] = int(np.count_nonzero(levels_of > 1))
    return {name: count for name, count in found.items() if count}


def _range(column: Column, covariate: Numeric | Categorical) -> tuple[float, float]:
    """The smallest and the largest value, as the fixed rule leaves them."""
    if isinstance(covariate, Categorical):
        levels = np.maximum(_levels(column, covariate), 0)
        return float(levels.min()), float(levels.max())
    numbers = np.asarray(column.numbers(), dtype=np.float64)
    known = numbers[~np.isnan(numbers)]
    if covariate.bounded:
        known = np.clip(known, *covariate.bounds)
    if len(known) < len(numbers) and covariate.bounded:
        known = np.append(known, covariate.fill)
    return (float(known.min()), float(known.max())) if len(known) else (0.0, 0.0)


def _examples(table: Table, schema: Schema, report: RepairReport) -> dict[Key, tuple[str, ...]]:
    """The first few values of each column that do not fit; a gap has no value to show."""
    found = {}
    for repair in report.repairs:
        if repair.problem == "missing" or repair.column == schema.person or not repair.rows:
            continue
        codes, values = table.column(repair.column).coded()
        shown = [_shown(values[codes[row]]) for row in repair.rows if codes[row] >= 0]
        found[repair.column, repair.problem] = _first(shown)
    return found


def _event_values(column: Column) -> frozenset[str]:
    """All values of the event's column if they are few, else some of them."""
    codes, values = column.coded()
    found: set[str] = set()
    for code in np.unique(codes[codes >= 0]):
        if not is_missing(values[code]):
            found.add(_shown(values[code]))
        if len(found) > MOST_EXAMPLES:
            break
    return frozenset(found)


_CODE = re.compile(r"-\d+|7+|8+|9+")


def _codes(table: Table, schema: Schema) -> dict[Key, int]:
    """How often values that look like codes for missing values are in each column."""
    found: dict[Key, int] = {}
    for item in schema.covariates:
        column = table.column(item.name)
        if isinstance(item, Categorical):
            found |= _code_levels(column, item)
        elif item.bounded:
            found |= _code_numbers(item.name, column, *item.bounds)
    time = schema.time
    if time.duration is not None and not time.zero:
        found |= _code_numbers(time.duration, table.column(time.duration), 0.0, 2 * time.horizon)
    return found


def _code_numbers(name: str, column: Column, low: float, high: float) -> dict[Key, int]:
    """Numbers out of bounds that are written like a code, or lie far away: by another width."""
    numbers = np.asarray(column.numbers(), dtype=np.float64)
    beyond = numbers[np.isfinite(numbers) & ((numbers < low) | (numbers > high))]
    values, counts = np.unique(beyond, return_counts=True)
    most = np.argsort(-counts, kind="stable")[:MOST_CODES]
    width = high - low
    return {
        (name, f"{value:.15g}"): count
        for value, count in zip(values[most].tolist(), counts[most].tolist(), strict=True)
        if value < low - width or value > high + width or _CODE.fullmatch(f"{value:.15g}")
    }


def _code_levels(column: Column, covariate: Categorical) -> dict[Key, int]:
    """Levels that are not declared and are written like a code."""
    codes, values = column.coded()
    lookup, counts = level_lookup(covariate), Counter(codes[codes >= 0].tolist())
    found: Counter[Key] = Counter()
    for code, count in counts.items():
        text = _shown(values[code]).strip()
        if read_level(values[code], lookup) == -1 and _CODE.fullmatch(text):
            found[covariate.name, text] += count
    return dict(found)


def _first(shown: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(shown))[:MOST_EXAMPLES]


def _shown(value: object) -> str:
    text = f"{value:g}" if isinstance(value, float) else str(value)
    text = printable(text)
    return text if len(text) <= LONGEST_EXAMPLE else f"{text[:LONGEST_EXAMPLE]}..."
