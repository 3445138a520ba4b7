"""The findings of `discreet check` for a custodian: a picture of the people, hints about the schema.

All of it is exact, so none of it may leave the building and nothing here is called by a private
fit.  No hint names a value to put into the schema: the schema is public, and that value would be
learned from the records.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.design.axis import TimeAxis
from discreet.design.draft import Roles
from discreet.design.schema import Categorical, Numeric, Schema
from discreet.people.columns import Column, is_missing, level_lookup, read_level
from discreet.people.databases import Query
from discreet.people.encode import person_spans
from discreet.people.files import (
    file_columns,
    first_open_quote,
    is_delimited,
    lines_within_fields,
)
from discreet.people.repairs import (
    LATE_EVENT,
    OVERLAP,
    Repair,
    RepairReport,
    count_repairs,
)
from discreet.people.tables import Table, open_table, read_columns
from discreet.text import printable

FEWEST_EVENTS = 10
"""Fewer fit no model, and say nothing about where events come."""
MOST_EXAMPLES = 3
LONGEST_EXAMPLE = 40
MOST_CODES = 100
"""Limit on the codes of one column of a table, the most frequent first."""
SHARE = 0.05
"""Less than this share of the rows is a matter of single records, not of the column."""
FEW_INTERVALS = 3
"""Number of parameters of the default baseline; events in fewer intervals cannot separate them."""
NEARLY_ALL = 0.9
HARDLY_ANY = 0.01
FULL = 10
"""Events in an interval: an empty one between two that are so full is an accident of e^-10."""
FEWEST_HOLES = 3
_CODE = re.compile(r"-\d+|7+|8+|9+")

Key = tuple[str, str]
"""A column and what is wrong with it, as in `Repair`."""


@dataclass(frozen=True)
class Picture:
    """The people of a table, or of a part of it in which people are whole.

    ``event_counts`` are events by the interval they happen in, ``exits`` people by the last interval
    in which they are at risk; ``ranges`` the smallest and the largest value (of categories:
    number of a level) of each covariate after repair, ``event_values`` a few of the event's column;
    ``codes`` how often each value that looks like a code for a missing value is in a column;
    ``changing`` in how many persons a covariate changes that is declared fixed, where it does;
    ``cause_events`` events by cause, where there are causes.
    """

    event_counts: Mapping[int, int] = field(default_factory=dict)
    time_at_risk: float = 0.0
    exits: Mapping[int, int] = field(default_factory=dict)
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    examples: Mapping[Key, tuple[str, ...]] = field(default_factory=dict)
    event_values: frozenset[str] = frozenset()
    codes: Mapping[Key, int] = field(default_factory=dict)
    changing: Mapping[str, int] = field(default_factory=dict)
    cause_events: Mapping[str, int] = field(default_factory=dict)

    @property
    def events(self) -> int:
        """People who have the event within the grid."""
        return sum(self.event_counts.values())

    @property
    def at_risk(self) -> int:
        """People who are at risk in some interval."""
        return sum(self.exits.values())

    @property
    def constant(self) -> tuple[str, ...]:
        """Covariates that have one value only."""
        return tuple(name for name, (low, high) in self.ranges.items() if low == high)


Checked = tuple[RepairReport, Picture]


def check_table(table: Table, schema: Schema) -> Checked:
    """Return the repairs and a picture of a table in which people are whole."""
    report = count_repairs(table, schema)
    spans, edges = person_spans(table, schema), schema.time.grid.edges
    levels = {
        item.name: table.column(item.name).levels(level_lookup(item))
        for item in schema.covariates
        if isinstance(item, Categorical)
    }
    changing = {}
    for item in schema.covariates:
        if schema.person is not None and isinstance(item, Categorical) and item.fixed:
            person, known = table.ids(schema.person).codes()[0], levels[item.name] >= 0
            pairs = np.unique(np.stack([person[known], levels[item.name][known]]), axis=1)
            changing[item.name] = int(np.count_nonzero(np.bincount(pairs[0]) > 1))
    examples = {}
    for repair in report.repairs:
        # a gap has no value to show, and ids are not shown
        if repair.problem != "missing" and repair.column != schema.person and repair.rows:
            codes, values = table.column(repair.column).coded()
            shown = [_shown(values[codes[row]]) for row in repair.rows if codes[row] >= 0]
            examples[repair.column, repair.problem] = _first(shown)
    codes, values = table.column(schema.time.event).coded()
    event_values: set[str] = set()
    for code in np.unique(codes[codes >= 0]):
        if not is_missing(values[code]) and len(event_values) <= MOST_EXAMPLES:
            event_values.add(_shown(values[code]))
    causes = {}
    if spans.cause is not None:
        by_cause = np.bincount(spans.cause, minlength=1 + len(schema.time.causes or {})).tolist()
        causes = dict(zip(schema.time.causes or {}, by_cause[1:], strict=True))
    picture = Picture(
        event_counts=_by_interval(spans.exit[spans.event]),
        time_at_risk=float(np.sum(edges[spans.exit] - edges[spans.entry])),
        exits=_by_interval(spans.last),
        ranges={
            item.name: _number_range(table.column(item.name), item)
            if isinstance(item, Numeric)
            else (float(max(levels[item.name].min(), 0)), float(max(levels[item.name].max(), 0)))
            for item in schema.covariates
            if table.rows
        },
        examples=examples,
        event_values=frozenset(event_values),
        codes=_codes(table, schema),
        changing={name: count for name, count in changing.items() if count},
        cause_events=causes,
    )
    return report, picture


def _by_interval(intervals: NDArray[np.int32]) -> dict[int, int]:
    found, counts = np.unique(intervals, return_counts=True)
    return dict(zip(found.tolist(), counts.tolist(), strict=True))


def within(counts: Mapping[int, int], after: int, until: int) -> int:
    """Return the sum of counts by interval over the intervals after + 1 ... until."""
    return sum(count for place, count in counts.items() if after < place <= until)


def _number_range(column: Column, covariate: Numeric) -> tuple[float, float]:
    """Return the smallest and the largest value after repair."""
    numbers = column.numbers().astype(np.float64)
    known = numbers[~np.isnan(numbers)]
    if covariate.bounded:
        known = np.clip(known, *covariate.bounds)
        if len(known) < len(numbers):
            known = np.append(known, covariate.fill)
    return (float(known.min()), float(known.max())) if len(known) else (0.0, 0.0)


COUNTS = ("event_counts", "exits", "codes", "changing", "cause_events")
"""The fields of a picture that are counted."""


def add_checks(parts: Iterable[Checked]) -> Checked:
    """Return the repairs and the picture of several parts, each with whole people."""
    reports, pictures = zip(*parts, strict=True)
    repairs: Counter[tuple[str, str, str]] = Counter()
    for item in (item for report in reports for item in report.repairs):
        repairs[item.column, item.problem, item.remedy] += item.count
    ranges: dict[str, tuple[float, float]] = {}
    examples: dict[Key, tuple[str, ...]] = {}
    counts: dict[str, Counter[Any]] = {name: Counter() for name in COUNTS}
    for part in pictures:
        for name, (low, high) in part.ranges.items():
            lowest, highest = ranges.get(name, (low, high))
            ranges[name] = min(low, lowest), max(high, highest)
        for key, shown in part.examples.items():
            examples[key] = _first([*examples.get(key, ()), *shown])
        for name, count in counts.items():
            count.update(getattr(part, name))
    report = RepairReport(
        rows=sum(part.rows for part in reports),
        persons=sum(part.persons for part in reports),
        never_at_risk=sum(part.never_at_risk for part in reports),
        repairs=tuple(Repair(*key, count) for key, count in repairs.items()),
    )
    return report, Picture(
        time_at_risk=sum(part.time_at_risk for part in pictures),
        ranges=ranges,
        examples=examples,
        event_values=frozenset().union(*(part.event_values for part in pictures)),
        **{name: dict(count) for name, count in counts.items()},
    )


def repeated_ids(data: Any, schema: Schema) -> str | None:
    """The column that says by its name whose row it is, if ids repeat and the schema has no person.

    Privacy would then protect a row, and not a person with all rows.
    """
    if schema.person is not None:
        return None
    if isinstance(data, str | PathLike):
        names = tuple(file_columns(Path(data)).names)
    elif isinstance(data, Query):
        names = tuple(data.schema().names)
    else:
        names = open_table(data).names
    for name in Roles.of(names).person:
        if name not in schema.columns:
            table = read_columns(data, (name,))
            if table.ids(name).codes()[1] < table.rows:
                return name
    return None


def _codes(table: Table, schema: Schema) -> dict[Key, int]:
    """Count in each column the values that look like codes for missing values."""
    found: Counter[Key] = Counter()
    for item in schema.covariates:
        column = table.column(item.name)
        if isinstance(item, Categorical):
            codes, values = column.coded()
            lookup = level_lookup(item)
            for code, count in Counter(codes[codes >= 0].tolist()).items():
                text = _shown(values[code]).strip()
                if read_level(values[code], lookup) == -1 and _CODE.fullmatch(text):
                    found[item.name, text] += count
        elif item.bounded:
            found.update(_code_numbers(item.name, column, *item.bounds))
    time = schema.time
    if time.duration is not None and not time.zero:
        column = table.column(time.duration)
        times = _code_numbers(time.duration, column, 0.0, 2 * time.horizon)
        # a late one that many share is where their follow-up ended
        found.update({key: count for key, count in times.items() if _CODE.fullmatch(key[1])})
    return dict(found)


def _code_numbers(name: str, column: Column, low: float, high: float) -> dict[Key, int]:
    """Numbers out of bounds that are written like a code, or lie far away: by another width."""
    numbers = column.numbers().astype(np.float64)
    beyond = numbers[np.isfinite(numbers) & ((numbers < low) | (numbers > high))]
    values, counts = np.unique(beyond, return_counts=True)
    most = np.argsort(-counts, kind="stable")[:MOST_CODES]
    width = high - low
    return {
        (name, f"{value:.15g}"): count
        for value, count in zip(values[most].tolist(), counts[most].tolist(), strict=True)
        if value < low - width or value > high + width or _CODE.fullmatch(f"{value:.15g}")
    }


def _first(shown: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(shown))[:MOST_EXAMPLES]


def _shown(value: object) -> str:
    text = f"{value:g}" if isinstance(value, float) else str(value)
    text = printable(text)
    return text if len(text) <= LONGEST_EXAMPLE else f"{text[:LONGEST_EXAMPLE]}..."


def grid_hints(report: RepairReport, picture: Picture, time: TimeAxis) -> Iterator[str]:
    """Say what to change about the time grid, one sentence for each thing that is wrong with it.

    A grid can fail people who leave (exits) and those who have the event.  Where follow-up is long
    and events come early, exits look fine and the model still sees all events in a few intervals.
    """
    found: list[str] = []
    enough, early, late = (
        picture.events >= FEWEST_EVENTS,
        time.intervals // 10,
        2 * time.intervals // 3,
    )
    # the least number of intervals that hold nearly all events
    largest = np.cumsum(sorted(picture.event_counts.values(), reverse=True))
    busy = int(np.searchsorted(largest, NEARLY_ALL * picture.events)) + 1
    leave = 2 * within(picture.exits, 0, early) > picture.at_risk > 0
    happen = enough and 2 * within(picture.event_counts, 0, early) > picture.events
    if (
        enough
        and len(picture.event_counts) > 1  # else no hint helps
        and busy <= FEW_INTERVALS
        and time.intervals >= 4 * busy
    ):
        found.append(
            f"Nearly all events are in {'a single one' if busy == 1 else busy} of the "
            f"{time.intervals} intervals, so the model cannot tell how the risk changes with time: is "
            "the horizon in the unit of the file? Make intervals short where events come, by first "
            "or edges in [time]; where people are seen at fixed visits, give these as edges."
        )
    elif leave or happen:
        said = [text for text, true in (("people leave", leave), ("events come", happen)) if true]
        found.append(
            f"Most {' and most '.join(said)} within the first tenth of the time grid: intervals that "
            "are short at the start, by first or edges in [time], describe them better."
        )
    events = within(picture.event_counts, late, time.intervals)
    if picture.at_risk and not within(picture.exits, late, time.intervals):
        found.append(
            "No person leaves in the last third of the time grid: an earlier horizon in [time] would "
            "lose none."
        )
    elif enough and events <= HARDLY_ANY * picture.events:
        found.append(
            "Hardly any event comes in the last third of the time grid, where people are only "
            "followed: an earlier horizon in [time] would lose little and spend the intervals where "
            "events are."
        )
    if sum(item.count for item in report.repairs if item.problem == LATE_EVENT) > picture.events:
        found.append(
            "More events come after the horizon than before it, and count as censored: is the "
            "horizon in [time] in the unit of the file? If it is, a later one keeps them."
        )
    holes = sum(
        after > before + 1 and min(here, there) >= FULL
        for (before, here), (after, there) in pairwise(sorted(picture.event_counts.items()))
    )
    if time.unit is not None and not time.dated and time.narrowest < 1.0:  # dates are days
        found.append(
            f"Some intervals are shorter than one of the {time.unit} in which time is measured: "
            f"if times are whole {time.unit}, they stay empty."
        )
    elif holes >= FEWEST_HOLES:
        found.append(
            "Intervals without an event stand between intervals with many: times seem to be recorded "
            "in longer units than an interval. Make intervals as long as that unit, or give the times "
            "of visits as edges; bands of curves are too narrow otherwise."
        )
    yield from found
    if found:
        yield "'Choosing the time grid' in the guide says more."


def hints(report: RepairReport, schema: Schema, explained: Collection[str] = ()) -> Iterator[str]:
    """One sentence for each kind of problem, with the columns that have it in many rows.

    Bounds of columns whose outlying values are ``explained`` are right as they are.
    """
    columns: dict[str, list[str]] = {}
    for repair in report.repairs:
        bounds = repair.problem in {"below low", "above high"}
        advice = "" if bounds and repair.column in explained else _advice(repair, schema)
        if advice and (repair.count > SHARE * report.rows or repair.column == schema.person):
            columns.setdefault(advice, []).append(f"'{repair.column}'")
    for advice, names in columns.items():
        yield f"Look at {', '.join(names)}: {advice}"


def quote_hints(path: Path, rows: int) -> Iterator[str]:
    """Where one record of a CSV file may hold others: lines that begin within a quoted field.

    Parsing alone cannot tell a note of two lines from a quote that was never closed, and the
    promise of a private fit begins with parsed records.
    """
    lines = lines_within_fields(path, rows) if is_delimited(path) else 0
    if lines:
        which = "1 line begins" if lines == 1 else f"{lines:,} lines begin"
        yield (
            f"{which} within a quoted field, the first after line {first_open_quote(path):,}: a "
            "line break in a text, or a quote that was opened and not closed and has other "
            "people's records in it. Look there before a private fit, and close the quote."
        )


def _advice(repair: Repair, schema: Schema) -> str:
    """Return the first thing to look at; empty where there is none."""
    times = (schema.time.duration, schema.time.entry)
    by_problem = {
        "neither 0 nor 1": (
            "write events as 1 and 0, or true and false, or name the words that mean an event as "
            "event_values in [time]. Other words, such as yes and no, count as censored."
        ),
        "not a number": (
            "times are numbers, such as days since the start; dates are named as start and end in "
            "[time]; decimals have a point, not a comma."
            if repair.column in times
            else "decimals have a point, not a comma; texts need levels in the schema."
        ),
        "unknown level": (
            "compare the schema's levels with the code book, and their spelling with the file: "
            "capitals count, and the file must be UTF-8."
        ),
        "missing": (
            "to keep people without a value apart, give them a level of their own, such as "
            "unknown, in the file and in the schema."
            if repair.remedy == "the reference level"
            else ""
        ),
        "not a date": (
            "dates are read as 2019-03-31 unless [time] says how they are written, such as "
            'date_format = "%d.%m.%Y".'
            if schema.time.date_format is None
            else f"[time] says that dates are written as {schema.time.date_format}; compare that with "
            "the file, the order of day and month and the signs between them too."
        ),
        "double of 2^53 or more": (
            "doubles do not hold every integer from 2^53 on, so ids may have been merged before: "
            "keep ids as integers (of a nullable type where some are missing) or as texts."
        ),
        OVERLAP: (
            "does it say whose row it is? Several rows of one person need entry in [time], the time "
            "at which each of them begins; without it all of them begin together and the last counts."
            if schema.time.entry is None
            else ""
        ),
    }
    if repair.problem in {"below low", "above high"}:
        return (
            f"is the schema's {repair.remedy} in the unit of the file? If it is, and the code book "
            "allows such values, widen it."
        )
    return by_problem.get(repair.problem, "")
