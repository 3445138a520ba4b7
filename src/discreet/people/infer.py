"""Bounds and schemas learned from the data, for fits that are not private."""

from typing import Any

import numpy as np

from discreet.design.schema import (
    LARGEST_NUMBER,
    SMALLEST_RANGE,
    Numeric,
    Schema,
    level_key,
)
from discreet.errors import DataFormError
from discreet.people.columns import Column, NumberColumn, is_missing, read_text
from discreet.people.tables import open_table, outcome_fields, read_covariates, split_outcome


def resolve_bounds(data: Any, schema: Schema) -> Schema:
    """Return the schema, with every bound that was left out learned from the data.

    The bounds are the extremes of the readable, finite values and of the declared fill.  Where
    they coincide (a constant column) each open bound moves away by max(1, |value|) / 2; a column
    without any value gets 0 and 1.
    """
    if schema.is_bounded:
        return schema
    table, found = read_covariates(data, schema), []
    for item in schema.covariates:
        if not isinstance(item, Numeric) or item.bounded:
            found.append(item)
            continue
        numbers = table.column(item.name).numbers()
        values = numbers[np.isfinite(numbers)].astype(np.float64)
        fill = item.missing if isinstance(item.missing, float) else None
        known = np.array([value for value in (item.low, item.high, fill) if value is not None])
        limit = LARGEST_NUMBER / 2  # leaves room for the margin of a constant column
        values = np.concatenate([np.clip(values, -limit, limit), known])
        low, high = (values.min(), values.max()) if len(values) else (0.0, 1.0)
        low = float(low if item.low is None else item.low)
        high = float(high if item.high is None else item.high)
        if high - low < SMALLEST_RANGE:
            margin = max(1.0, abs(low)) / 2
            low = low - margin if item.low is None else low
            high = high + margin if item.high is None else high
        found.append(item.model_copy(update={"low": low, "high": high}))
    return schema.model_copy(update={"covariates": tuple(found)})


def infer_schema(data: Any, outcome: Any, intervals: int = 200) -> Schema:
    """Return a schema for scikit-survival's ``fit(X, y)``: horizon = the largest time.

    Numbers and truth values become numeric covariates without bounds; other columns become
    categories with their values as levels, in sorted order.  A category with fewer than two
    values has no coefficient and is left out.
    """
    table = open_table(data)
    if not all(isinstance(name, str) for name in table.names):
        raise DataFormError("column names must be texts; rename the columns of X.")
    event, duration = outcome_fields(outcome)
    times = split_outcome(outcome)[1]
    longest = times[np.isfinite(times)].max(initial=0.0)
    while duration in table.names:
        duration += "_"
    while event in table.names:
        event += "_"
    axis = {
        "duration": duration,
        "event": event,
        "horizon": float(np.clip(longest, SMALLEST_RANGE, LARGEST_NUMBER)) if longest > 0 else 1.0,
        "intervals": intervals,
    }
    found = (_infer(name, table.column(name)) for name in table.names)
    return Schema.from_mapping({"time": axis, "covariate": [item for item in found if item]})


def _infer(name: str, column: Column) -> dict[str, Any] | None:
    """Return the keys of one covariate in a schema; None for a category that does not vary."""
    if isinstance(column, NumberColumn):
        return {"name": name}
    codes, values = column.coded()
    present = [values[code] for code in np.unique(codes[codes >= 0])]
    known = [value for value in present if not is_missing(value)]
    if known and not any(isinstance(value, str | bytes) for value in known):
        return {"name": name}
    texts = {level_key(text): text for text in map(read_text, known) if text is not None}
    return {"name": name, "levels": sorted(texts.values())} if len(texts) > 1 else None
