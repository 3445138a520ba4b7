"""The paper's data sets, read from a folder; they are not part of this package.

The folder is named by the environment variable DISCREET_DATA.  Each set is a CSV file with the
columns ``time`` (days), ``status`` (1 = event) and the covariates; the counts of rows and events
are checked, so that nobody reproduces the paper on another file of the same name.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from discreet.design.schema import Schema
from discreet.errors import DataFormError, SettingsError
from discreet.people.files import read_file
from discreet.types import Array

VARIABLE = "DISCREET_DATA"


@dataclass(frozen=True)
class Source:
    """What a file must look like."""

    file: str
    rows: int
    events: int
    covariates: tuple[str, ...]
    title: str


SOURCES = {
    "FL": Source(
        "fl.csv",
        7874,
        2169,
        ("age", "sex", "sample_yr", "kappa", "lambda", "flc_grp", "creatinine", "mgus"),
        "serum free light chain study",
    ),
    "TB": Source(
        "tb.csv",
        16116,
        1761,
        ("age", "spacing", "sibs"),
        "third births, Medical Birth Registry of Norway",
    ),
    "WT": Source("wt.csv", 21685, 18615, ("sex", "age", "wage"), "unemployment durations"),
    "SB": Source(
        "sb.csv",
        53558,
        16341,
        ("age", "sex", "death"),
        "second births, Medical Birth Registry of Norway",
    ),
}


@dataclass(frozen=True, eq=False)
class Dataset:
    """A table (pyarrow) with ``time``, ``status`` and numeric covariates."""

    name: str
    source: Source
    table: Any

    def schema(self, intervals: int = 200) -> Schema:
        """Bounds and horizon taken from the records: for the reproduction, not for privacy."""
        columns = {name: _filled(self.table[name]) for name in self.source.covariates}
        covariates = [
            {"name": name, "low": float(column.min()), "high": float(column.max())}
            for name, column in columns.items()
        ]
        return _schema(covariates, float(_filled(self.table["time"]).max()), intervals)

    def as_in_the_paper(self, intervals: int = 200) -> tuple[Any, Schema]:
        """The paper's preprocessing and a schema that leaves its numbers as they are.

        Every covariate becomes (x - min)/(max - min) - 1/2 (missing ones the mean), every row is
        divided by the largest row norm, times by the largest time.  All of that reads the records.
        """
        import pyarrow as pa  # noqa: PLC0415 - as slow as the reading itself

        names = self.source.covariates
        columns = np.column_stack([_filled(self.table[name]) for name in names])
        low, high = columns.min(axis=0), columns.max(axis=0)
        unit = (columns - low) / (high - low) - 0.5
        largest = float(np.linalg.norm(unit, axis=1).max())
        time = _filled(self.table["time"])
        table = pa.table(
            {
                "time": time / time.max(),
                "status": self.table["status"],
                **dict(zip(names, (unit / largest).T.copy(), strict=True)),
            }
        )
        bounds = {"low": -0.5 / largest, "high": 0.5 / largest}
        return table, _schema([{"name": name, **bounds} for name in names], 1.0, intervals)


def load(name: str, folder: str | Path | None = None) -> Dataset:
    """The data set FL, TB, WT or SB; an error says where it was looked for."""
    source = SOURCES.get(name.upper())
    if source is None:
        raise SettingsError(f"there is no data set of that name; choose of {', '.join(SOURCES)}.")
    place = folder or os.environ.get(VARIABLE)
    if not place:
        raise SettingsError(f"the paper's data are not here: name their folder in {VARIABLE}.")
    columns = ("time", "status", *source.covariates)
    table = read_file(Path(place) / source.file, columns, set(columns))
    events = int(np.count_nonzero(_filled(table["status"]) == 1))
    if (table.num_rows, events) != (source.rows, source.events):
        raise DataFormError(
            f"'{source.file}' is not the paper's: it should have {source.rows} rows and "
            f"{source.events} events."
        )
    return Dataset(name.upper(), source, table)


def available(name: str, folder: str | Path | None = None) -> bool:
    """Whether the file is there."""
    place = folder or os.environ.get(VARIABLE)
    source = SOURCES.get(name.upper())
    return bool(place) and source is not None and (Path(str(place)) / source.file).is_file()


def _schema(covariates: list[dict[str, Any]], horizon: float, intervals: int) -> Schema:
    time = {"duration": "time", "event": "status", "horizon": horizon, "intervals": intervals}
    return Schema.from_mapping({"time": time, "covariate": covariates})


def _filled(column: Any) -> Array:
    """Numbers, the mean where one is missing."""
    values = column.cast("double").to_numpy(zero_copy_only=False).astype(np.float64)
    return np.asarray(np.where(np.isnan(values), np.nanmean(values), values))
