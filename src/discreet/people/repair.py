"""The fixed rule that turns any record into one the model accepts, one value at a time.

==========  ==================================================================================
numeric     missing or unreadable: the declared fill, else the midpoint; infinite: the nearer
            bound; then clipped to the bounds, then the logarithm or the spline
category    missing or unknown: the reference level
stratum     missing or unknown: the first
indicator   where the schema asks for one: 1 if missing, unreadable or unknown
event       1, 1.0, "1", true, or the declared values: event; everything else, missing included: censored
duration    missing: the row is never at risk; negative: 0; beyond the horizon: censored there; with
            an origin, before it: never at risk, and so are later rows where it ends with an event
entry       missing or before time zero: time zero; after the duration: the duration
dates       missing or unreadable, or an end before the start: never at risk; then as above
==========  ==================================================================================
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from discreet.design.axis import TimeAxis
from discreet.design.schema import Categorical, Numeric, Schema, Strata
from discreet.design.terms import CovariateMap, transform
from discreet.people.tables import Table
from discreet.people.values import event_lookup, level_lookup, read_event, read_level
from discreet.types import Array, Flags

Rows = NDArray[np.int64]

# Rows that are encoded at a time: small enough to stay in cache from one column to the next.
BLOCK = 1 << 13
COLUMNS_AT_ONCE = 4
_Placed = tuple[int | slice, Callable[[slice], Array]]


@dataclass(frozen=True)
class Spells:
    """Repaired times: the row is in force at start <= a <= stop, and may end with an event.

    start <= stop, no NaN; both are at or after time zero, unless the row ends before an origin; ``stop`` may be infinite.  ``timed`` is false where the duration
    was missing: such a row is never in force.
    """

    start: Array | None
    stop: Array
    event: Flags
    timed: Flags


def repair_spells(table: Table, schema: Schema) -> Spells:
    """Times and events of every row; ``start`` is None where the schema has no entry."""
    time = schema.time
    duration, entry = _dated(table, time) if time.dated else _timed(table, time)
    timed = ~np.isnan(duration)
    earliest = 0.0 if time.zero == 0.0 else -np.inf
    stop = np.where(duration > earliest, duration, time.zero)  # NaN fails the comparison
    event = read_events(table, schema) & (stop <= time.horizon)
    start = None
    if entry is not None:
        start = np.minimum(np.where(entry > time.zero, entry, time.zero), stop)
    return Spells(start, stop, event, timed)


def _timed(table: Table, time: TimeAxis) -> tuple[Array, Array | None]:
    """Duration and entry as the columns have them, NaN where there is none."""
    duration = _as_floats(table.column(str(time.duration)).numbers())
    if time.entry is None:
        return duration, None
    return duration, _as_floats(table.column(time.entry).numbers())


def _dated(table: Table, time: TimeAxis) -> tuple[Array, Array | None]:
    """The same from dates; the duration is NaN where a date is, or the end is before the start."""
    days = read_days(table, time)
    start, end = days[str(time.start)], days[str(time.end)]
    duration = np.where(end >= start, (end - start) / time.days, np.nan)
    if time.entry is None:
        return duration, None
    entry = (days[time.entry] - start) / time.days
    return np.where(np.isnan(entry), np.nan, duration), entry


def read_days(table: Table, time: TimeAxis) -> dict[str, Array]:
    """The dates of the schema's columns, in days."""
    return {name: table.column(name).days(time.date_format) for name in time.date_columns}


def read_events(table: Table, schema: Schema) -> Flags:
    """Whether the row ends with an event."""
    column, lookup = table.column(schema.time.event), event_lookup(schema.time)
    rule = partial(read_event, lookup=lookup)
    return np.equal(column.apply(rule, missing=-2, dtype=np.int8), 1)


def encode(table: Table, schema: Schema, rows: Rows | None) -> Array:
    """The covariates of the given rows (all if None) in internal coordinates.

    In the order of the table first and by whole rows then: a row is one place in memory, its
    values in the columns are many.  A few columns at a time are held as numbers.
    """
    public_map = CovariateMap.from_schema(schema)
    encoded = np.empty((table.rows, public_map.dimension))
    encoders = _encoders(table, schema, public_map)
    while together := list(islice(encoders, COLUMNS_AT_ONCE)):
        for start in range(0, table.rows, BLOCK):
            part = slice(start, start + BLOCK)
            for columns, encoder in together:
                encoded[part, columns] = encoder(part)
        del together  # or these columns would be held while the next are read
    if public_map.derived:
        for start in range(0, table.rows, BLOCK):
            public_map.fill(encoded[start : start + BLOCK])
    return encoded if rows is None else np.take(encoded, rows, axis=0)


def _encoders(table: Table, schema: Schema, public_map: CovariateMap) -> Iterator[_Placed]:
    """For each covariate its columns in the result, and what fills a part of them."""
    first = 0
    for covariate in schema.covariates:
        last = first + len(covariate.coefficient_names)
        centre, scale = public_map.centre[first:last], public_map.scale[first:last]
        if isinstance(covariate, Numeric):
            values = table.column(covariate.name).numbers()
            yield first, partial(_encode_numbers, values, covariate, centre[0], scale[0])
            if covariate.indicated:
                yield last - 1, partial(_encode_gaps, values, centre[-1], scale[-1])
        else:
            points = (np.eye(last - first + 1)[:, 1:] - centre) * scale
            levels = _read_levels(table, covariate)
            yield slice(first, last), partial(_encode_levels, levels, points)
        first = last


def _encode_numbers(
    values: NDArray[np.generic], covariate: Numeric, centre: float, scale: float, part: slice
) -> Array:
    """(repaired value - centre) * scale."""
    block, (low, high) = _as_floats(values[part]), covariate.bounds
    repaired = np.where(np.isnan(block), covariate.fill, block)
    np.clip(repaired, low, high, out=repaired)
    internal = np.array(transform(covariate, repaired), copy=None)
    internal -= centre
    internal *= scale
    return internal


def _encode_gaps(values: NDArray[np.generic], centre: float, scale: float, part: slice) -> Array:
    """(1 where there is no number - centre) * scale."""
    return np.asarray((np.isnan(_as_floats(values[part])) - centre) * scale)


def _encode_levels(levels: NDArray[np.int16], points: Array, part: slice) -> Array:
    """(indicators - centre) * scale, looked up by level."""
    return np.asarray(points[levels[part]])


def _read_levels(table: Table, covariate: Categorical) -> NDArray[np.int16]:
    """The level of every row; where it is missing or unknown the reference, or one for that."""
    lookup = level_lookup(covariate)
    other = len(covariate.levels) if covariate.indicated else 0

    def rule(value: object) -> int:
        level = read_level(value, lookup)
        return other if level < 0 else level

    return table.column(covariate.name).apply(rule, other, np.int16)


def read_strata(table: Table, strata: Strata) -> NDArray[np.int16]:
    """The stratum of every row, the first where it is missing or unknown."""
    lookup = level_lookup(strata)
    column = table.column(strata.name)
    return column.apply(lambda value: max(read_level(value, lookup), 0), 0, np.int16)


def _as_floats(values: NDArray[np.generic]) -> Array:
    """Doubles; what is too large for one becomes infinite, quietly."""
    with np.errstate(over="ignore"):
        return values.astype(np.float64, copy=False)
