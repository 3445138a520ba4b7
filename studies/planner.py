# ruff: noqa: INP001, scripts beside each other, no package
"""Predicted against measured err on simulated designs: one row a design, mechanism and epsilon.

python studies/planner.py DRAWS; rows that are there already are kept. `median` in the file is
the median over the draws; the ratio of interest is predicted / median. Nothing of the planner was
chosen on the designs with long tails: they are held out.
"""

import sys
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from newton_designs import designs, error, fit, loss_of, tail_designs
from simulated import Cohort

from discreet.design.baseline import NaturalSpline
from discreet.design.schema import Schema
from discreet.engine.engine import Engine
from discreet.forecast import forecasts
from discreet.likelihood.problem import Problem
from discreet.mechanisms import Mechanism, ObjectivePerturbation, OutputPerturbation, PrivateNewton
from discreet.mechanisms.outlook import Outlook
from discreet.paper.results import Results
from discreet.privacy.testing import SeededNoise
from discreet.release import Order, simulate
from discreet.types import Array

FILE = Path(__file__).parent / "results" / "planner.csv"
COLUMNS = ("design", "mechanism", "epsilon", "delta", "draws", "predicted", "median")
CASES = ((1.0, None), (1.0, 0.0), (4.0, None), (0.25, None))
INTERVALS = 50


def main(draws: int) -> None:
    """Every missing row."""
    results = Results(FILE, COLUMNS, COLUMNS[:5])
    done = results.cells()
    held_out = tail_designs(intervals=INTERVALS)
    for name, make in {**designs(intervals=INTERVALS), **held_out}.items():
        cohort = make()
        loss = loss_of(cohort)
        best = fit(loss)
        for epsilon, delta in CASES:
            for mechanism, predicted in _predictions(cohort, loss, epsilon, delta):
                key = (name, mechanism.name, str(epsilon), str(delta), str(draws))
                if key not in done:
                    measured = measured_error(mechanism, loss, best, "/".join(key), draws)
                    found = f"{predicted:.4f}", f"{measured:.4f}"
                    results.append(dict(zip(COLUMNS, (*key, *found), strict=True)))


def _predictions(
    cohort: Cohort, loss: Problem, epsilon: float, delta: float | None
) -> list[tuple[Mechanism, float]]:
    outlook = outlook_of(cohort, loss)
    found = predicted_errors(outlook, epsilon, delta)
    made: list[Mechanism] = [PrivateNewton(epsilon, delta)]
    if delta is None:
        made.append(ObjectivePerturbation(epsilon, survival=outlook.survival))
        made.append(OutputPerturbation(epsilon, survival=outlook.survival))
    return [(item, found[item.name]) for item in made]


def outlook_of(cohort: Cohort, loss: Problem) -> Outlook:
    """The public facts of a simulated cohort."""
    design = loss.design
    return Outlook(
        design.schema, loss.persons, int(cohort.events.sum()), loss.link, design.baseline
    )


def predicted_errors(outlook: Outlook, epsilon: float, delta: float | None) -> dict[str, float]:
    """err by mechanism, before anything is read."""
    return {item.mechanism: item.error or 0.0 for item in forecasts(outlook, epsilon, delta)}


@dataclass(frozen=True)
class Simulated:
    """A cohort as the source of a release."""

    loss: Problem

    in_memory: ClassVar[bool] = True

    def check(self, _: Schema) -> None:
        """Its form is right."""

    def count(self, _: Schema) -> int:
        """The number of persons."""
        return self.loss.persons

    def open(self, _: Schema) -> Engine:
        """The people."""
        return self.loss.engine


def measured_error(
    mechanism: Mechanism, loss: Problem, best: tuple[Array, Array], key: str, draws: int
) -> float:
    """The median err of a few seeded draws."""
    order = Order(mechanism, loss.design.schema, loss.link, NaturalSpline(3), persons=loss.persons)
    errors = []
    for draw in range(draws):
        noise = SeededNoise(zlib.crc32(f"{key}/{draw}".encode()))
        release = simulate(order, Simulated(loss), noise)
        point = np.array(release.internal.baseline + release.internal.covariates)
        errors.append(error(point, *best))
    return float(np.median(errors))


if __name__ == "__main__":
    main(int(sys.argv[1]))
