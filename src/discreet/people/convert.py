"""From a table to Episodes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.design.grid import TimeGrid
from discreet.design.schema import Schema
from discreet.people.episodes import Episodes
from discreet.people.repair import Spells, encode, repair_spells
from discreet.people.spans import Spans, grouped_spans, single_spans
from discreet.people.tables import Table, read_covariates, read_table


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
    )


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
