"""The fixed rule that turns any record into one the model accepts, one value at a time.

==========  ==================================================================================
numeric     missing or unreadable: the declared fill, else the midpoint; infinite: the nearer
            bound; then clipped to the bounds
category    missing or unknown: the reference level
event       1, 1.0, "1", true: event; everything else, missing included: censored
duration    missing: the row is never at risk; negative: 0; beyond the horizon: censored there
entry       missing or negative: 0; after the duration: the duration
==========  ==================================================================================
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.covariate_map import CovariateMap
from discreet.frame.tables import Table
from discreet.frame.values import level_lookup, read_event, read_level
from discreet.schema import Categorical, Numeric, Schema

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Rows = NDArray[np.int64]

# Rows that are repaired at a time: small enough to stay in cache from one step to the next.
BLOCK = 1 << 16


@dataclass(frozen=True)
class Spells:
    """Repaired times: the row is in force at start <= a <= stop, and may end with an event.

    0 <= start <= stop, no NaN; ``stop`` may be infinite.  ``timed`` is false where the duration
    was missing: such a row is never in force.
    """

    start: Floats | None
    stop: Floats
    event: Flags
    timed: Flags


def repair_spells(table: Table, schema: Schema) -> Spells:
    """Times and events of every row; ``start`` is None where the schema has no entry."""
    time = schema.time
    duration = _as_floats(table.column(time.duration).numbers())
    timed = ~np.isnan(duration)
    stop = np.where(duration > 0.0, duration, 0.0)  # NaN and negative fail the comparison
    event = read_events(table, schema) & (stop <= time.horizon)
    start = None
    if time.entry is not None:
        entry = _as_floats(table.column(time.entry).numbers())
        start = np.minimum(np.where(entry > 0.0, entry, 0.0), stop)
    return Spells(start, stop, event, timed)


def read_events(table: Table, schema: Schema) -> Flags:
    """Whether the row ends with an event."""
    column = table.column(schema.time.event)
    return np.equal(column.apply(read_event, missing=-2, dtype=np.int8), 1)


def encode(table: Table, schema: Schema, rows: Rows | None) -> Floats:
    """The covariates of the given rows (all if None) in internal coordinates.

    Column by column straight into the result, so that at most one column is converted at a time.
    """
    public_map = CovariateMap.from_schema(schema)
    count = table.rows if rows is None else len(rows)
    encoded = np.empty((count, public_map.dimension))
    first = 0
    for covariate in schema.covariates:
        last = first + len(covariate.coefficient_names)
        centre, scale = public_map.centre[first:last], public_map.scale[first:last]
        if isinstance(covariate, Numeric):
            _encode_numeric(table, covariate, rows, (centre[0], scale[0]), encoded[:, first])
        else:
            _encode_levels(table, covariate, rows, (centre, scale), encoded[:, first:last])
        first = last
    return encoded


def _encode_numeric(
    table: Table,
    covariate: Numeric,
    rows: Rows | None,
    placement: tuple[float, float],
    target: Floats,
) -> None:
    """(repaired value - centre) * scale."""
    values = table.column(covariate.name).numbers()
    (low, high), fill, (centre, scale) = covariate.bounds, covariate.fill, placement
    for start in range(0, len(target), BLOCK):
        part = slice(start, start + BLOCK)
        block = _as_floats(values[part] if rows is None else values[rows[part]])
        repaired = np.where(np.isnan(block), fill, block)
        np.clip(repaired, low, high, out=repaired)
        repaired -= centre
        np.multiply(repaired, scale, out=target[part])


def _encode_levels(
    table: Table,
    covariate: Categorical,
    rows: Rows | None,
    placement: tuple[Floats, Floats],
    target: Floats,
) -> None:
    """(indicators - centre) * scale, looked up by level."""
    lookup = level_lookup(covariate)
    column = table.column(covariate.name)
    levels = column.apply(lambda value: max(read_level(value, lookup), 0), 0, np.int16)
    centre, scale = placement
    points = (np.eye(len(covariate.levels))[:, 1:] - centre) * scale
    for start in range(0, len(target), BLOCK):
        part = slice(start, start + BLOCK)
        target[part] = points[levels[part] if rows is None else levels[rows[part]]]


def _as_floats(values: NDArray[np.generic]) -> Floats:
    """Doubles; what is too large for one becomes infinite, quietly."""
    with np.errstate(over="ignore"):
        return values.astype(np.float64, copy=False)
