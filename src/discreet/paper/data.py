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
from discreet.paper.config import INTERVALS, PAPER_TABLE_1, Options
from discreet.people.episodes import Episodes
from discreet.people.files import read_file
from discreet.solve import Solution, minimise
from discreet.types import Array

VARIABLE = "DISCREET_DATA"
STAND_IN = "hdfail"


COVARIATES = {
    # serum free light chain study
    "FL": ("age", "sex", "sample_yr", "kappa", "lambda", "flc_grp", "creatinine", "mgus"),
    # third births, Medical Birth Registry of Norway
    "TB": ("age", "spacing", "sibs"),
    # unemployment durations
    "WT": ("sex", "age", "wage"),
    # second births, Medical Birth Registry of Norway
    "SB": ("age", "sex", "death"),
}


def file_of(name: str) -> Path:
    """Return the path of a set's file, `fl.csv` for FL."""
    folder = os.environ.get(VARIABLE)
    if not folder:
        raise SettingsError(f"the paper's data are not here: name their folder in {VARIABLE}.")
    return Path(folder) / f"{name.lower()}.csv"


def is_available(name: str) -> bool:
    """Return whether the set can be read here; the stand-in comes with a package."""
    return name == STAND_IN or (bool(os.environ.get(VARIABLE)) and file_of(name).is_file())


def available(options: Options, *, stand_in: bool = True) -> tuple[str, ...]:
    """Return the names of the sets that can be read here, with or without the stand-in."""
    return tuple(
        name for name in options.sets if is_available(name) and (stand_in or name != STAND_IN)
    )


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
        count = self.covariates.shape[1]
        bounds = {"low": -1.0 / math.sqrt(count), "high": 1.0 / math.sqrt(count)}
        columns = [{"name": f"x{i + 1}", **bounds} for i in range(count)]
        time = {"duration": "time", "event": "status", "horizon": 1.0, "intervals": intervals}
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
        return np.linalg.norm(points - best, axis=1) / np.linalg.norm(best)

    def standard_error(self, points: Array) -> Array:
        """sqrt((f - f*)' H (f - f*) / d): the error in standard errors."""
        gaps = points - self.optimum.point
        hessian = self.optimum.evaluation.hessian
        return np.sqrt(np.einsum("ij,jk,ik->i", gaps, hessian, gaps) / gaps.shape[1])

    def errors(self, points: Array) -> dict[str, object]:
        """Mean MRE and err of the points, and how many there are: columns of a results file."""
        return {
            "mre": float(self.relative_error(points).mean()),
            "err": float(self.standard_error(points).mean()),
            "draws": len(points),
        }


@lru_cache(maxsize=8)
def load(name: str) -> PaperSet:
    """Read a set of the paper, or its stand-in, with the paper's preprocessing.

    Every covariate becomes (x - min)/(max - min) - 1/2, missing ones being the mean, and every row is
    divided by the largest norm of a row, times by the largest time. All of that reads the records.
    """
    if name == STAND_IN:  # from SurvSet, a development dependency
        frame = import_module("SurvSet.data").SurvLoader().load_dataset(name)["df"]
        kinds = {"temp", "rsc", "rer", "psc"}
        names = [item for item in frame.columns if item.split("_")[-1] in kinds]
        time, status = (np.asarray(frame[item], dtype=np.float64) for item in ("time", "event"))
        covariates = np.asarray(frame[names], dtype=np.float64)
    elif name not in COVARIATES:
        listed = ", ".join((*COVARIATES, STAND_IN))
        raise SettingsError(f"the paper has no data set '{name}'; there are {listed}.")
    else:
        columns = ("time", "status", *COVARIATES[name])
        table = read_file(file_of(name), columns, set(columns))
        time, status, *others = (_filled(table[item]) for item in columns)
        covariates = np.column_stack(others)
        rows, events, _ = PAPER_TABLE_1[name]
        if (len(time), int(np.count_nonzero(status == 1))) != (rows, events):
            raise DataFormError(
                f"'{file_of(name).name}' is not the paper's: it should have {rows} rows and "
                f"{events} events."
            )
    low, high = covariates.min(axis=0), covariates.max(axis=0)
    unit = (covariates - low) / (high - low) - 0.5
    unit /= float(np.linalg.norm(unit, axis=1).max())
    return PaperSet(name, time / time.max(), status == 1, unit)


def _filled(column: Any) -> Array:
    """Numbers, the mean where one is missing."""
    values = column.cast("double").to_numpy(zero_copy_only=False).astype(np.float64)
    return np.where(np.isnan(values), np.nanmean(values), values)
