"""The paper's data sets, read from a folder, in the paper's coordinates.

They are not part of this package: the folder is named by the environment variable DISCREET_DATA.
Each set is a CSV file with the columns ``time`` (days), ``status`` (1 = event) and the covariates;
the counts of rows and events are checked, so that another file of the same name is refused. The
preprocessing is the paper's and reads the records: nothing computed from it is private.
"""

import math
import os
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.design.baseline import NaturalSpline
from discreet.design.design import Coordinates, Design
from discreet.design.link import Link, get_link
from discreet.design.schema import Schema
from discreet.engine.local import LocalEngine
from discreet.errors import DataFormError, SettingsError
from discreet.likelihood.problem import Problem
from discreet.mechanisms.contract import Facts
from discreet.paper.config import INTERVALS
from discreet.people.episodes import Episodes
from discreet.people.files import read_file
from discreet.solve import Solution, minimise
from discreet.types import Array

VARIABLE = "DISCREET_DATA"


@dataclass(frozen=True)
class DatasetSource:
    """The expected content of a file."""

    file: str
    rows: int
    events: int
    covariates: tuple[str, ...]
    title: str


SOURCES = {
    "FL": DatasetSource(
        "fl.csv",
        7874,
        2169,
        ("age", "sex", "sample_yr", "kappa", "lambda", "flc_grp", "creatinine", "mgus"),
        "serum free light chain study",
    ),
    "TB": DatasetSource(
        "tb.csv",
        16116,
        1761,
        ("age", "spacing", "sibs"),
        "third births, Medical Birth Registry of Norway",
    ),
    "WT": DatasetSource("wt.csv", 21685, 18615, ("sex", "age", "wage"), "unemployment durations"),
    "SB": DatasetSource(
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
    source: DatasetSource
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


def read_dataset(name: str, folder: str | Path | None = None) -> Dataset:
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


def is_available(name: str, folder: str | Path | None = None) -> bool:
    """Return whether the set can be read here; the stand-in comes with a package."""
    place = folder or os.environ.get(VARIABLE)
    source = SOURCES.get(name.upper())
    return name == "hdfail" or (
        bool(place) and source is not None and (Path(str(place)) / source.file).is_file()
    )


def _schema(covariates: list[dict[str, Any]], horizon: float, intervals: int) -> Schema:
    time = {"duration": "time", "event": "status", "horizon": horizon, "intervals": intervals}
    return Schema.from_mapping({"time": time, "covariate": covariates})


def _filled(column: Any) -> Array:
    """Numbers, the mean where one is missing."""
    values = column.cast("double").to_numpy(zero_copy_only=False).astype(np.float64)
    return np.asarray(np.where(np.isnan(values), np.nanmean(values), values))


@dataclass(frozen=True, eq=False)
class PaperSet:
    """Times in [0, 1], events and scaled covariates of one data set."""

    name: str
    time: Array
    event: NDArray[np.bool_]
    covariates: Array

    @property
    def persons(self) -> int:
        """n."""
        return len(self.time)

    def design(self, coordinates: Coordinates = "paper", intervals: int = INTERVALS) -> Design:
        """A design whose internal covariates are those of the paper."""
        bound = 1.0 / math.sqrt(self.covariates.shape[1])
        columns = [
            {"name": f"x{i + 1}", "low": -bound, "high": bound}
            for i in range(self.covariates.shape[1])
        ]
        time = {"duration": "t", "event": "d", "horizon": 1.0, "intervals": intervals}
        schema = Schema.from_mapping({"time": time, "covariate": columns})
        return Design(schema, NaturalSpline(3), coordinates)

    def loss(
        self,
        coordinates: Coordinates = "paper",
        link: str | Link = "logit",
        intervals: int = INTERVALS,
    ) -> Problem:
        """The total loss of the persons."""
        stops = np.minimum(np.floor(self.time * intervals).astype(np.int32) + 1, intervals)
        order = np.argsort(stops, kind="stable")
        episodes = Episodes(
            covariates=np.ascontiguousarray(self.covariates[order]),
            entry=np.zeros(len(order), dtype=np.int32),
            exit=stops[order].astype(np.int32),
            event=self.event[order],
            offsets=None,
            persons=len(order),
        )
        engine = LocalEngine(episodes, threads=1)
        return Problem(engine, self.design(coordinates, intervals), get_link(link))

    def constants(self, coordinates: Coordinates = "paper", link: str = "logit") -> Facts:
        """The public facts for a plan."""
        return Facts(self.persons, self.design(coordinates), get_link(link))

    @cached_property
    def optimum(self) -> Solution:
        """f* of the unregularised logit fit and the Hessian there."""
        loss = self.loss()
        return minimise(loss, np.zeros(loss.dimension), tolerance=1e-7)

    def relative_error(self, points: Array) -> Array:
        """|f - f*| / |f*|, a row a point."""
        best = self.optimum.point
        return np.asarray(np.linalg.norm(points - best, axis=1) / np.linalg.norm(best))

    def standard_error(self, points: Array) -> Array:
        """sqrt((f - f*)' H (f - f*) / d): the error in standard errors."""
        gaps = points - self.optimum.point
        hessian = self.optimum.evaluation.hessian
        return np.asarray(np.sqrt(np.einsum("ij,jk,ik->i", gaps, hessian, gaps) / gaps.shape[1]))

    def errors(self, points: Array) -> dict[str, object]:
        """Mean MRE and err of the points, and how many there are: columns of a results file."""
        return {
            "mre": float(self.relative_error(points).mean()),
            "err": float(self.standard_error(points).mean()),
            "draws": len(points),
        }


@lru_cache(maxsize=8)
def load(name: str) -> PaperSet:
    """A set of the paper, or its stand-in."""
    if name == "hdfail":  # from SurvSet, a development dependency
        frame = import_module("SurvSet.data").SurvLoader().load_dataset("hdfail")["df"]
        kinds = {"temp", "rsc", "rer", "psc"}
        names = [item for item in frame.columns if item.split("_")[-1] in kinds]
        unit = np.column_stack([np.asarray(frame[item], dtype=np.float64) for item in names])
        low, high = unit.min(axis=0), unit.max(axis=0)
        unit = (unit - low) / (high - low) - 0.5
        unit /= np.linalg.norm(unit, axis=1).max()
        time = np.asarray(frame["time"], dtype=np.float64)
        return PaperSet(name, time / time.max(), np.asarray(frame["event"]) == 1, unit)
    table, _ = read_dataset(name).as_in_the_paper(INTERVALS)
    names = [column for column in table.column_names if column not in {"time", "status"}]
    columns = [np.asarray(table[column].to_numpy(), dtype=np.float64) for column in names]
    time = np.asarray(table["time"].to_numpy(), dtype=np.float64)
    event = np.asarray(table["status"].to_numpy()) == 1
    return PaperSet(name, time, event, np.column_stack(columns))
