"""The data sets in the paper's coordinates: x in the unit ball, the printed spline basis.

The preprocessing is the paper's and reads the records: this is no private fit.
"""

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import import_module

import numpy as np
from numpy.typing import NDArray

from discreet import datasets
from discreet.design.baseline import NaturalSpline
from discreet.design.design import Coordinates, Design
from discreet.design.link import Link, get_link
from discreet.design.schema import Schema
from discreet.engine.local import LocalEngine
from discreet.experiments.config import INTERVALS
from discreet.likelihood.problem import Problem
from discreet.mechanisms.contract import Facts
from discreet.people.episodes import Episodes
from discreet.solve import Solution, minimise
from discreet.types import Array


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
        engine = LocalEngine(self._episodes(intervals), threads=1)
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

    def _episodes(self, intervals: int) -> Episodes:
        stops = np.minimum(np.floor(self.time * intervals).astype(np.int32) + 1, intervals)
        order = np.argsort(stops, kind="stable")
        return Episodes(
            covariates=np.ascontiguousarray(self.covariates[order]),
            entry=np.zeros(len(order), dtype=np.int32),
            exit=stops[order].astype(np.int32),
            event=self.event[order],
            offsets=None,
            persons=len(order),
        )


def is_available(name: str) -> bool:
    """Whether the set can be read here."""
    return name == "hdfail" or datasets.available(name)


@lru_cache(maxsize=8)
def load(name: str) -> PaperSet:
    """A set of the paper, or its stand-in."""
    if name == "hdfail":
        return _stand_in()
    table, _ = datasets.load(name).as_in_the_paper(INTERVALS)
    names = [column for column in table.column_names if column not in {"time", "status"}]
    columns = [np.asarray(table[column].to_numpy(), dtype=np.float64) for column in names]
    time = np.asarray(table["time"].to_numpy(), dtype=np.float64)
    event = np.asarray(table["status"].to_numpy()) == 1
    return PaperSet(name, time, event, np.column_stack(columns))


def _stand_in() -> PaperSet:
    """hdfail (SurvSet, a development dependency): temp, rsc, rer and psc, scaled as in the paper."""
    frame = import_module("SurvSet.data").SurvLoader().load_dataset("hdfail")["df"]
    names = [name for name in frame.columns if name.split("_")[-1] in {"temp", "rsc", "rer", "psc"}]
    columns = np.column_stack([np.asarray(frame[name], dtype=np.float64) for name in names])
    low, high = columns.min(axis=0), columns.max(axis=0)
    unit = (columns - low) / (high - low) - 0.5
    unit /= np.linalg.norm(unit, axis=1).max()
    time = np.asarray(frame["time"], dtype=np.float64)
    return PaperSet("hdfail", time / time.max(), np.asarray(frame["event"]) == 1, unit)
