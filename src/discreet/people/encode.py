"""The fixed rule that turns any record into one the model accepts, one value at a time.

==========  ==================================================================================
numeric     missing or unreadable: the declared fill, else the midpoint; infinite: the nearer
            bound; then clipped to the bounds, then the logarithm or the spline
category    missing or unknown: the reference level
stratum     missing or unknown: the first
indicator   where the schema asks for one: 1 if missing, unreadable or unknown
event       1, 1.0, "1", true, or the declared values: event; the values of a cause: that
            cause; everything else, missing included: censored
duration    missing: the row is never at risk; negative: 0; beyond the horizon: censored there; with
            an origin, before it: never at risk, and so are later rows where it ends with an event
entry       missing or before time zero: time zero; after the duration: the duration
dates       missing or unreadable, or an end before the start: never at risk; then as above
==========  ==================================================================================
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.design.axis import TimeAxis
from discreet.design.schema import Categorical, Numeric, Schema, Strata
from discreet.design.terms import CovariateMap, transform
from discreet.people.columns import Column, event_lookup, level_lookup
from discreet.people.episodes import Episodes
from discreet.people.spans import Spans, Spells, grouped_spans, single_spans
from discreet.people.tables import Table, read_covariates, read_stratum, read_table
from discreet.types import Array

Rows = NDArray[np.int64]

# Rows that are encoded at a time: small enough to stay in cache from one column to the next.
BLOCK = 1 << 13
COLUMNS_AT_ONCE = 4
_Placed = tuple[int | slice, NDArray[Any], Callable[[Any], Array]]


def repair_spells(table: Table, schema: Schema) -> Spells:
    """Return times and events of every row; ``start`` is None where the schema has no entry."""
    time, entry = schema.time, None
    if time.dated:
        days = read_days(table, time)
        start, end = days[str(time.start)], days[str(time.end)]
        duration = np.where(end >= start, (end - start) / time.days, np.nan)
        if time.entry is not None:
            entry = (days[time.entry] - start) / time.days
            duration = np.where(np.isnan(entry), np.nan, duration)
    else:
        duration = _as_floats(table.column(str(time.duration)).numbers())
        if time.entry is not None:
            entry = _as_floats(table.column(time.entry).numbers())
    timed = ~np.isnan(duration)
    earliest = 0.0 if time.zero == 0.0 else -np.inf
    stop = np.where(duration > earliest, duration, time.zero)  # NaN fails the comparison
    # 1 for an event, or the number of its cause; below 1 for none
    codes = table.column(time.event).levels(event_lookup(time)).astype(np.int8)
    event = (codes >= 1) & (stop <= time.horizon)
    begin = None
    if entry is not None:
        begin = np.minimum(np.where(entry > time.zero, entry, time.zero), stop)
    return Spells(begin, stop, event, timed, None if time.causes is None else codes)


def read_days(table: Table, time: TimeAxis) -> dict[str, Array]:
    """Return the dates of the schema's columns, in days."""
    return {name: table.column(name).days(time.date_format) for name in time.date_columns}


def encode(table: Table, schema: Schema, rows: Rows | None) -> Array:
    """Return the covariates of the given rows (all if None) in internal coordinates.

    In the order of the table first and by whole rows then: a row is one place in memory, its
    values in the columns are many.  A few columns at a time are held as numbers.
    """
    public_map = CovariateMap.from_schema(schema)
    encoded = np.empty((table.rows, public_map.dimension))
    encoders = _encoders(table, schema, public_map)
    while together := list(islice(encoders, COLUMNS_AT_ONCE)):
        for start in range(0, table.rows, BLOCK):
            part = slice(start, start + BLOCK)
            for columns, raw, encoder in together:
                encoded[part, columns] = encoder(raw[part])
        del together  # or these columns would be held while the next are read
    if public_map.derived:
        for start in range(0, table.rows, BLOCK):
            public_map.fill(encoded[start : start + BLOCK])
    return encoded if rows is None else np.take(encoded, rows, axis=0)


def _encoders(table: Table, schema: Schema, public_map: CovariateMap) -> Iterator[_Placed]:
    """For each covariate yield its columns in the result, raw values, and what encodes a part."""
    first = 0
    for covariate in schema.covariates:
        last = first + len(covariate.coefficient_names)
        centre, scale = public_map.centre[first:last], public_map.scale[first:last]
        if isinstance(covariate, Numeric):
            values = table.column(covariate.name).numbers()
            yield first, values, partial(_encode_numbers, covariate, centre[0], scale[0])
            if covariate.indicated:
                marks = (np.array([0.0, 1.0]) - centre[-1]) * scale[-1]
                yield last - 1, np.isnan(_as_floats(values)).view(np.int8), marks.__getitem__
        else:
            points = (np.eye(last - first + 1)[:, 1:] - centre) * scale
            # a missing or unknown level becomes the reference, or the indicator's level
            other = len(covariate.levels) if covariate.indicated else 0
            levels = read_levels(table.column(covariate.name), covariate, other)
            yield slice(first, last), levels, points.__getitem__
        first = last


def _encode_numbers(
    covariate: Numeric, centre: float, scale: float, values: NDArray[np.generic]
) -> Array:
    """(repaired value - centre) * scale."""
    block, (low, high) = _as_floats(values), covariate.bounds
    repaired = np.where(np.isnan(block), covariate.fill, block)
    np.clip(repaired, low, high, out=repaired)
    internal = np.array(transform(covariate, repaired), copy=None)
    internal -= centre
    internal *= scale
    return internal


def read_levels(
    column: Column, covariate: Categorical | Strata, other: int = 0
) -> NDArray[np.int16]:
    """Return the level of every row, ``other`` where it is missing or unknown."""
    levels = column.levels(level_lookup(covariate))
    return np.where(levels < 0, np.int16(other), levels)


def _as_floats(values: NDArray[np.generic]) -> Array:
    """Return doubles; numbers beyond their range become infinite, without a warning."""
    with np.errstate(over="ignore"):
        return values.astype(np.float64, copy=False)


def to_episodes(data: Any, schema: Schema, outcome: Any = None) -> Episodes:
    """Return the people in the data, repaired and encoded.

    ``data`` is a pandas, polars or pyarrow table (whatever narwhals supports), a two-dimensional
    array, the path of a CSV or Parquet file, or a `Table` that was read before.  ``outcome`` is
    scikit-survival's structured array, if event and duration are not columns of the data.  The
    schema must have all bounds.
    """
    schema.require_bounds()
    table = read_table(data, schema, outcome)
    spans = person_spans(table, schema)
    return Episodes(
        covariates=encode(table, schema, spans.row),
        entry=spans.entry,
        exit=spans.exit,
        event=spans.event,
        offsets=spans.offsets,
        persons=spans.persons,
        stratum=_strata_of_people(table, schema, spans),
        cause=spans.cause,
    )


def _strata_of_people(table: Table, schema: Schema, spans: Spans) -> NDArray[np.int16] | None:
    """Return for all rows of a person the stratum of the person's first row at risk."""
    if schema.strata is None:
        return None
    numbers = read_levels(table.column(schema.strata.name), schema.strata)[spans.row]
    if spans.offsets is None:
        return numbers
    some = spans.offsets[1:] > spans.offsets[:-1]
    return np.repeat(numbers[spans.offsets[:-1][some]], np.diff(spans.offsets)[some])


def encode_strata(data: Any, schema: Schema) -> NDArray[np.int16] | None:
    """Return the stratum of each row by its number; None if the schema has no strata."""
    if schema.strata is None:
        return None
    return read_levels(read_stratum(data, schema).column(schema.strata.name), schema.strata)


def encode_covariates(data: Any, schema: Schema) -> NDArray[np.float64]:
    """Return the covariates of each row in internal coordinates; no time column is needed."""
    schema.require_bounds()
    return encode(read_covariates(data, schema), schema, rows=None)


def person_spans(table: Table, schema: Schema, spells: Spells | None = None) -> Spans:
    """Return the stretches at risk, once for each table; the schema decides their form."""

    def make() -> Spans:
        grid, found = schema.time.grid, spells or repair_spells(table, schema)
        if schema.person is None:
            return single_spans(found, grid)
        # a person's integers are a function of the person's rows: no other row may order them
        values = None if table.ordered else partial(_values, table, schema)
        return grouped_spans(*table.ids(schema.person).codes(), found, grid, values)

    deciding = () if table.ordered else (schema.covariates, schema.strata)
    return table.cached((schema.person, schema.time, *deciding), make)


def _values(table: Table, schema: Schema) -> list[NDArray[Any]]:
    """Return what rows of equal times differ in, as numbers: all that a fit sees of them."""
    found: list[NDArray[Any]] = []
    for item in (*schema.covariates, *filter(None, [schema.strata])):
        column = table.column(item.name)
        if isinstance(item, Numeric):
            found.append(_as_floats(column.numbers()))
        else:
            found.append(read_levels(column, item, len(item.levels)))
    return found
