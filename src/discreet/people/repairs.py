"""How many values do not fit the schema: for the custodian, and for fits that are not private.

Counts are facts about the records; nothing here is called by a private fit.  Hints say what
probably went wrong where much of a column does not fit; they are for `discreet check` alone.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.design.axis import TimeAxis
from discreet.design.schema import Categorical, Numeric, Schema, Strata
from discreet.people.columns import Column, event_lookup, level_lookup, read_event, read_level
from discreet.people.encode import person_spans, read_days, repair_spells
from discreet.people.files import first_open_quote, is_delimited, lines_within_fields
from discreet.people.identity import count_ids_beyond_2_53
from discreet.people.spans import Spans, Spells, first_events, time_order, until_event
from discreet.people.tables import Table, read_covariates, read_stratum, read_table

FIRST_ROWS = 100
"""The number of offending rows of which the custodian may be shown values."""
REPAIRED = "repaired"
"""The column of predictions that says what was repaired in each row."""
LATE_EVENT = "event after the horizon"
OVERLAP = "row overlaps the one before"


@dataclass(frozen=True)
class Repair:
    """``count`` values of a column have a problem, which the fixed rule remedies."""

    column: str
    problem: str
    remedy: str
    count: int
    where: NDArray[np.bool_] | None = field(default=None, compare=False, repr=False)
    """The rows of a table that have it, where it is a matter of single rows."""

    @property
    def rows(self) -> tuple[int, ...]:
        """The first rows that have it."""
        return () if self.where is None else tuple(np.flatnonzero(self.where)[:FIRST_ROWS].tolist())


@dataclass(frozen=True)
class RepairReport:
    """What does not fit the schema; ``repairs`` lists only what occurs.

    ``never_at_risk`` counts people who are in force at the start of no interval, ``early_exits``
    and ``late_exits`` those whose time at risk ends in the first tenth and in the last third of
    the grid's intervals.
    """

    rows: int
    persons: int
    never_at_risk: int
    repairs: tuple[Repair, ...]
    early_exits: int = 0
    late_exits: int = 0

    @property
    def total(self) -> int:
        """Number of repairs; one row may need several."""
        return sum(repair.count for repair in self.repairs)

    def sentence(self) -> str:
        """Everything in one sentence."""
        listed = "; ".join(
            f"{item.column}: {item.count:,} {item.problem} (now {item.remedy})"
            for item in self.repairs
        )
        values, were = ("value does", "was") if self.total == 1 else ("values do", "were")
        return f"{self.total:,} {values} not fit the schema and {were} repaired: {listed}."

    def table(self) -> list[tuple[str, str, str, str]]:
        """Rows of text for printing: column, problem, count, remedy."""
        return [
            (repair.column, repair.problem, f"{repair.count:,}", repair.remedy)
            for repair in self.repairs
        ]


def add_reports(reports: Iterable[RepairReport]) -> RepairReport:
    """The report of several parts of the data, in each of which people are whole."""
    rows = persons = never_at_risk = early = late = 0
    counts: dict[tuple[str, str, str], int] = {}
    for report in reports:
        rows, persons = rows + report.rows, persons + report.persons
        never_at_risk += report.never_at_risk
        early, late = early + report.early_exits, late + report.late_exits
        for repair in report.repairs:
            key = repair.column, repair.problem, repair.remedy
            counts[key] = counts.get(key, 0) + repair.count
    repairs = tuple(Repair(*key, count) for key, count in counts.items())
    return RepairReport(rows, persons, never_at_risk, repairs, early, late)


def count_repairs(data: Any, schema: Schema, outcome: Any = None) -> RepairReport:
    """Count by column and problem what ``to_episodes`` repairs."""
    table = read_table(data, schema, outcome)
    spells = repair_spells(table, schema)
    spans = person_spans(table, schema, spells)
    found = [*_times(table, schema, spells), *_people(table, schema, spells)]
    if schema.strata is not None:
        found += _strata(table, schema.strata)
    for covariate in schema.covariates:
        found += _covariate(table.column(covariate.name), covariate)
    repairs = tuple(repair for repair in found if repair.count)
    last, q = _last_intervals(spans), schema.time.intervals
    return RepairReport(
        rows=table.rows,
        persons=spans.persons,
        never_at_risk=spans.persons - len(last),
        repairs=repairs,
        early_exits=int(np.count_nonzero(10 * last <= q)),
        late_exits=int(np.count_nonzero(3 * last > 2 * q)),
    )


def count_covariate_repairs(data: Any, schema: Schema) -> RepairReport:
    """The same for new people, of whom only the covariates and the stratum are read."""
    table = read_covariates(data, schema)
    found = [
        repair for item in schema.covariates for repair in _covariate(table.column(item.name), item)
    ]
    rows = table.rows
    if schema.strata is not None:
        strata = read_stratum(data, schema)
        rows, found = strata.rows, [*found, *_strata(strata, schema.strata)]
    return RepairReport(rows, rows, 0, tuple(repair for repair in found if repair.count))


def repaired_rows(report: RepairReport) -> list[str]:
    """What was repaired in each row, in words; empty for a row that fits."""
    words: list[list[str]] = [[] for _ in range(report.rows)]
    for repair in report.repairs:
        for row in [] if repair.where is None else np.flatnonzero(repair.where).tolist():
            words[row].append(f"{repair.column}: {repair.problem}, now {repair.remedy}")
    return ["; ".join(item) for item in words]


def _last_intervals(spans: Spans) -> NDArray[np.int64]:
    """The last interval at risk of everybody who is at risk in one."""
    if spans.offsets is None:
        return spans.exit.astype(np.int64)
    some = np.diff(spans.offsets) > 0
    return spans.exit[spans.offsets[1:][some] - 1].astype(np.int64)


def _covariate(column: Column, covariate: Numeric | Categorical) -> Iterator[Repair]:
    if isinstance(covariate, Numeric):
        return _numeric(column, covariate)
    return _category(column, covariate)


def _numeric(column: Column, covariate: Numeric) -> Iterator[Repair]:
    name, numbers = covariate.name, column.numbers()
    declared = isinstance(covariate.missing, float)
    fill = "the declared fill" if declared else "the midpoint of the bounds"
    fill = "marked as missing" if covariate.indicated else fill
    yield from _gaps(name, column, numbers, fill, fill)
    if covariate.low is not None:
        yield _repair(name, "below low", "low", numbers < covariate.low)
    if covariate.high is not None:
        yield _repair(name, "above high", "high", numbers > covariate.high)


def _category(column: Column, covariate: Categorical) -> Iterator[Repair]:
    lookup = level_lookup(covariate)
    levels = column.apply(lambda value: read_level(value, lookup), -2, np.int32)
    remedy = "marked as missing" if covariate.indicated else "the reference level"
    yield _repair(covariate.name, "missing", remedy, levels == -2)
    yield _repair(covariate.name, "unknown level", remedy, levels == -1)


def _strata(table: Table, strata: Strata) -> Iterator[Repair]:
    lookup = level_lookup(strata)
    rule = partial(read_level, lookup=lookup)
    levels = table.column(strata.name).apply(rule, -2, np.int32)
    yield _repair(strata.name, "missing", "the first stratum", levels == -2)
    yield _repair(strata.name, "unknown level", "the first stratum", levels == -1)


def _times(table: Table, schema: Schema, spells: Spells) -> Iterator[Repair]:
    time = schema.time
    yield from _dates(table, time) if time.dated else _durations(table, time)
    yield from _events(table, schema, spells)
    if time.entry is not None and not time.dated:
        column = table.column(time.entry)
        entry = column.numbers()
        yield from _gaps(time.entry, column, entry, *2 * (f"{time.zero:g}",))
        if time.zero == 0.0:
            yield _repair(time.entry, "negative", "0", entry < 0)
        late = (entry > spells.stop) & spells.timed
        yield _repair(time.entry, "after the duration", "the duration", late)


def _durations(table: Table, time: TimeAxis) -> Iterator[Repair]:
    name = str(time.duration)
    column = table.column(name)
    numbers = column.numbers()
    yield from _gaps(name, column, numbers, *2 * ("never at risk",))
    if time.zero == 0.0:  # before an origin nobody is observed, which is no mistake
        yield _repair(name, "negative", "0", numbers < 0)


def _dates(table: Table, time: TimeAxis) -> Iterator[Repair]:
    days = read_days(table, time)
    for name in time.date_columns:
        gaps = table.column(name).missing()
        yield _repair(name, "missing", "never at risk", gaps)
        yield _repair(name, "not a date", "never at risk", np.isnan(days[name]) & ~gaps)
    start, end = days[str(time.start)], days[str(time.end)]
    yield _repair(str(time.end), "before the start", "never at risk", end < start)
    if time.entry is not None:
        early, late = days[time.entry] < start, days[time.entry] > end
        if time.zero == 0.0:
            yield _repair(time.entry, "before the start", "the start", early)
        yield _repair(time.entry, "after the end", "the end", late & (end >= start))


def _events(table: Table, schema: Schema, spells: Spells) -> Iterator[Repair]:
    name = schema.time.event
    rule = partial(read_event, lookup=event_lookup(schema.time))
    event = table.column(name).apply(rule, missing=-2, dtype=np.int8)
    yield _repair(name, "missing", "censored", event == -2)
    if schema.time.event_values is None and schema.time.causes is None:
        yield _repair(name, "neither 0 nor 1", "censored", event == -1)
    late = (event >= 1) & (spells.stop > schema.time.horizon)
    yield _repair(name, LATE_EVENT, "censored at the horizon", late)


def _people(table: Table, schema: Schema, spells: Spells) -> Iterator[Repair]:
    if schema.person is None:
        return
    ids = table.ids(schema.person)
    yield _repair(schema.person, "missing", "a person of its own", ids.missing)
    coarse = count_ids_beyond_2_53(table.column(schema.person))
    yield Repair(schema.person, "double of 2^53 or more", "compared as a double", coarse)
    person, persons = ids.codes()
    zero = schema.time.zero
    start = np.full_like(spells.stop, zero) if spells.start is None else spells.start
    row = time_order(person, start, spells.stop, np.flatnonzero(spells.timed))
    who, start, stop, event = person[row], start[row], spells.stop[row], spells.event[row]
    kept = until_event(who, start, stop, event, first_events(who, stop, event, persons))
    yield _repair(schema.person, "row after the first event", "dropped", ~kept)
    overlap = (who[1:] == who[:-1]) & (start[1:] < stop[:-1])
    yield _repair(schema.person, OVERLAP, "the later row counts", overlap)


def _gaps(
    name: str, column: Column, numbers: NDArray[Any], missing: str, unreadable: str
) -> Iterator[Repair]:
    gaps = column.missing()
    yield _repair(name, "missing", missing, gaps)
    yield _repair(name, "not a number", unreadable, np.isnan(numbers) & ~gaps)


def _repair(name: str, problem: str, remedy: str, where: NDArray[np.bool_]) -> Repair:
    count = int(np.count_nonzero(where))
    return Repair(name, problem, remedy, count, where if count else None)


# Less than this share of the rows is a matter of single records, not of the column.
SHARE = 0.05


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
    """What to look at first."""
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
        "below low": (
            "is the schema's low in the unit of the file? If it is, and the code book allows such "
            "values, widen it."
        ),
        "above high": (
            "is the schema's high in the unit of the file? If it is, and the code book allows such "
            "values, widen it."
        ),
    }
    return by_problem.get(repair.problem, "")
