# ruff: noqa: INP001, scripts beside each other, no package
"""The designs of `simulated.py` as total losses, without tables, and the paper's three sets.

Event rates from 2% to 90%, right and wrong models, rare binaries, heavy tails, strong effects. The
constants of the mechanism come from these; the paper's sets are for measuring only.
"""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import simulated
from simulated import Cohort, CohortMaker

from discreet.design.baseline import NaturalSpline
from discreet.design.design import Design
from discreet.design.link import Logit
from discreet.design.schema import Schema
from discreet.engine.local import LocalEngine
from discreet.likelihood.problem import Problem
from discreet.people.episodes import Episodes
from discreet.solve import minimise
from discreet.types import Array


def loss_of(cohort: Cohort) -> Problem:
    """The total logit loss over a three-knot natural spline."""
    width = cohort.values.shape[1]
    design = Design(schema_for(width, cohort.binary, cohort.intervals), NaturalSpline(3))
    order = np.argsort(cohort.exits, kind="stable")
    binary = np.isin(np.arange(width), cohort.binary)
    scaled = np.where(binary, (cohort.values + 1) / 2, cohort.values)
    x = (scaled - design.covariates.centre) * design.covariates.scale
    leave = cohort.exits[order].astype(np.int32)
    people = Episodes(
        np.ascontiguousarray(x[order]), leave * 0, leave, cohort.events[order], None, len(order)
    )
    return Problem(LocalEngine(people), design, Logit())


def schema_for(width: int, binary: tuple[int, ...], intervals: int) -> Schema:
    """Numbers in [-1, 1] and two-level categories."""
    return Schema.from_mapping(simulated.schema_for(width, binary, intervals))


def fit(loss: Problem) -> tuple[Array, Array]:
    """The maximum likelihood estimate and the Hessian there."""
    events, at_risk, _ = loss.totals()
    start = np.zeros(loss.dimension)
    start[0] = np.log(max(events, 1.0) / at_risk)
    solution = minimise(loss, start)
    return solution.point, loss(solution.point).hessian


def error(point: Array, best: Array, hessian: Array) -> float:
    """sqrt((f - f*)' H (f - f*) / d): in standard errors of the maximum likelihood estimate."""
    gap = point - best
    return float(np.sqrt(gap @ hessian @ gap / len(gap)))


def designs(seed: int = 0, intervals: int = 200) -> dict[str, Callable[[], Cohort]]:
    """The first ten designs by name, made when called."""
    return _made(simulated.FIRST, seed, intervals)


def tail_designs(seed: int = 0, intervals: int = 200) -> dict[str, Callable[[], Cohort]]:
    """Designs in which a few people carry much of the information on some coefficients."""
    return _made(simulated.TAILS, seed, intervals)


def _made(
    makers: tuple[CohortMaker, ...], seed: int, intervals: int
) -> dict[str, Callable[[], Cohort]]:
    return {maker.__name__: partial(maker, seed, intervals) for maker in makers}


def paper_sets() -> dict[str, Cohort]:
    """FL, TB and WT under the paper's preprocessing, which reads the data: for comparison only."""
    folder = os.environ.get("DISCREET_DATA")
    if not folder:
        return {}
    return {name: _paper_set(Path(folder) / f"{name}.csv") for name in ("fl", "tb", "wt")}


def _paper_set(file: Path, intervals: int = 200) -> Cohort:
    table = np.genfromtxt(file, delimiter=",", skip_header=1)
    time, event, raw = table[:, 0], table[:, 1] > 0, table[:, 2:]
    filled = np.where(np.isnan(raw), np.nanmean(raw, axis=0), raw)
    low, high = filled.min(axis=0), filled.max(axis=0)
    values = (filled - low) / (high - low) * 2 - 1
    binary = tuple(j for j in range(values.shape[1]) if len(np.unique(values[:, j])) == 2)
    exits = np.minimum(np.floor(time / time.max() * intervals).astype(np.int64) + 1, intervals)
    return Cohort(values, binary, exits, event, intervals)
