"""From a table to Episodes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.design.grid import TimeGrid
from discreet.design.schema import Schema
from discreet.people.episodes import Episodes
from discreet.people.repair import Spells, encode, read_strata, repair_spells
from discreet.people.spans import Spans, grouped_spans, single_spans
from discreet.people.tables import Table, read_covariates, read_stratum, read_table


def to_episodes(data: Any, schema: Schema, outcome: Any = None) -> Episodes:
    """The people in the data, repaired and encoded.

    ``data`` is a pandas, polars or pyarrow table (whatever narwhals supports), a two-dimensional
    array, the path of a CSV or Parquet file, or a `Table` that was read before.  ``outcome`` is scikit-survival's structured
    array, if event and duration are not columns of the data.  The schema must have all bounds.
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
    )


def encode_strata(data: Any, schema: Schema) -> NDArray[np.int16] | None:
    """The stratum of each row by its number; None where the schema has no strata."""
    if schema.strata is None:
        return None
    return read_strata(read_stratum(data, schema), schema.strata)


def _strata_of_people(table: Table, schema: Schema, spans: Spans) -> NDArray[np.int16] | None:
    """The stratum of everybody's first row at risk, for all rows of the person."""
    if schema.strata is None:
        return None
    numbers = read_strata(table, schema.strata)[spans.row]
    if spans.offsets is None:
        return numbers
    some = spans.offsets[1:] > spans.offsets[:-1]
    return np.repeat(numbers[spans.offsets[:-1][some]], np.diff(spans.offsets)[some])


def encode_covariates(data: Any, schema: Schema) -> NDArray[np.float64]:
    """The covariates of each row in internal coordinates; time columns are not needed."""
    schema.require_bounds()
    return encode(read_covariates(data, schema), schema, rows=None)


def person_spans(table: Table, schema: Schema, spells: Spells | None = None) -> Spans:
    """The stretches at risk, in the shape that the schema alone decides; kept with the table."""

    def make() -> Spans:
        grid, found = TimeGrid.of(schema.time), spells or repair_spells(table, schema)
        if schema.person is None:
            return single_spans(found, grid)
        return grouped_spans(*table.ids(schema.person).codes(), found, grid)

    return table.once((schema.person, schema.time), make)
