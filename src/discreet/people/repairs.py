"""Counts of values that do not fit the schema: for the custodian, and for fits that are not private.

Counts are facts about the records; nothing here is called by a private fit.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.design.axis import TimeAxis
from discreet.design.schema import Categorical, Numeric, Schema, Strata
from discreet.people.columns import Column, event_lookup, level_lookup
from discreet.people.encode import person_spans, read_days, repair_spells
from discreet.people.identity import count_ids_beyond_2_53
from discreet.people.spans import Spells, first_events, time_order, until_event
from discreet.people.tables import Table, read_covariates, read_stratum, read_table

FIRST_ROWS = 100
"""The number of offending rows of which the custodian may be shown values."""
REPAIRED = "repaired"
"""The column of predictions that says what was repaired in each row."""
LATE_EVENT = "event after the horizon"
LATER_EVENT = "event after the first"
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
    """The values that do not fit the schema; ``repairs`` lists only what occurs.

    ``never_at_risk`` counts people who are in force at the start of no interval.
    """

    rows: int
    persons: int
    never_at_risk: int
    repairs: tuple[Repair, ...]

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


def count_repairs(data: Any, schema: Schema, outcome: Any = None) -> RepairReport:
    """Count by column and problem what ``to_episodes`` repairs."""
    table = read_table(data, schema, outcome)
    spells = repair_spells(table, schema)
    spans = person_spans(table, schema, spells)
    found = [*_times(table, schema, spells), *_people(table, schema, spells)]
    if schema.strata is not None:
        column = table.column(schema.strata.name)
        found += _levels(column, schema.strata, "the first stratum")
    for covariate in schema.covariates:
        found += _covariate(table.column(covariate.name), covariate)
    repairs = tuple(repair for repair in found if repair.count)
    return RepairReport(table.rows, spans.persons, spans.persons - len(spans.last), repairs)


def count_covariate_repairs(data: Any, schema: Schema) -> RepairReport:
    """Count the repairs of new people, of whom only the covariates and the stratum are read."""
    table = read_covariates(data, schema)
    found = [
        repair for item in schema.covariates for repair in _covariate(table.column(item.name), item)
    ]
    rows = table.rows
    if schema.strata is not None:
        strata = read_stratum(data, schema)
        column, rows = strata.column(schema.strata.name), strata.rows
        found += _levels(column, schema.strata, "the first stratum")
    return RepairReport(rows, rows, 0, tuple(repair for repair in found if repair.count))


def repaired_rows(report: RepairReport) -> list[str]:
    """Return the repairs of each row, in words; empty for a row that fits."""
    words: list[list[str]] = [[] for _ in range(report.rows)]
    for repair in report.repairs:
        for row in [] if repair.where is None else np.flatnonzero(repair.where).tolist():
            words[row].append(f"{repair.column}: {repair.problem}, now {repair.remedy}")
    return ["; ".join(item) for item in words]


def _covariate(column: Column, covariate: Numeric | Categorical) -> Iterator[Repair]:
    name, marked = covariate.name, "marked as missing"
    if isinstance(covariate, Categorical):
        yield from _levels(
            column, covariate, marked if covariate.indicated else "the reference level"
        )
        return
    numbers, declared = column.numbers(), isinstance(covariate.missing, float)
    fill = "the declared fill" if declared else "the midpoint of the bounds"
    yield from _gaps(name, column, numbers, marked if covariate.indicated else fill)
    if covariate.low is not None:
        yield _repair(name, "below low", "low", numbers < covariate.low)
    if covariate.high is not None:
        yield _repair(name, "above high", "high", numbers > covariate.high)


def _levels(column: Column, covariate: Categorical | Strata, remedy: str) -> Iterator[Repair]:
    levels = column.levels(level_lookup(covariate))
    yield _repair(covariate.name, "missing", remedy, levels == -2)
    yield _repair(covariate.name, "unknown level", remedy, levels == -1)


def _times(table: Table, schema: Schema, spells: Spells) -> Iterator[Repair]:
    time = schema.time
    if time.dated:
        yield from _dates(table, time)
    else:
        name = str(time.duration)
        column = table.column(name)
        numbers = column.numbers()
        yield from _gaps(name, column, numbers, "never at risk")
        if time.zero == 0.0:  # a time before an origin is not a mistake
            yield _repair(name, "negative", "0", numbers < 0)
    yield from _events(table, schema, spells)
    if time.entry is not None and not time.dated:
        column = table.column(time.entry)
        entry = column.numbers()
        yield from _gaps(time.entry, column, entry, f"{time.zero:g}")
        if time.zero == 0.0:
            yield _repair(time.entry, "negative", "0", entry < 0)
        late = (entry > spells.stop) & spells.timed
        yield _repair(time.entry, "after the duration", "the duration", late)


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
    event = table.column(name).levels(event_lookup(schema.time))
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
    later = int(np.count_nonzero(event & ~kept))
    yield Repair(schema.time.event, LATER_EVENT, "dropped", later)
    overlap = (who[1:] == who[:-1]) & (start[1:] < stop[:-1])
    yield _repair(schema.person, OVERLAP, "the later row counts", overlap)


def _gaps(name: str, column: Column, numbers: NDArray[Any], remedy: str) -> Iterator[Repair]:
    gaps = column.missing()
    yield _repair(name, "missing", remedy, gaps)
    yield _repair(name, "not a number", remedy, np.isnan(numbers) & ~gaps)


def _repair(name: str, problem: str, remedy: str, where: NDArray[np.bool_]) -> Repair:
    count = int(np.count_nonzero(where))
    return Repair(name, problem, remedy, count, where if count else None)
