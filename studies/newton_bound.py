# ruff: noqa: INP001, scripts beside each other, no package
"""Median err over the simulated designs for several constants of the bound's rule.

    python studies/newton_bound.py 5 results/newton-bound.csv

One line a cell, appended at once; lines that are there are not made again. Seeded: not private.
"""

import itertools
import sys
from pathlib import Path

import numpy as np
from newton_designs import designs, error, fit, loss_of, tail_designs

from discreet.likelihood.problem import Problem
from discreet.mechanisms import Facts, PrivateNewton
from discreet.mechanisms.newton import bound
from discreet.paper.results import Results
from discreet.privacy.testing import SeededNoise
from discreet.types import Array

CONSTANTS = ((0.15, 0.05), (0.25, 0.05), (0.15, 0.15))
PRIVACY = ((1.0, 1e-6), (1.0, 0.0), (4.0, 1e-6))
COLUMNS = ("design", "lambda", "tail", "epsilon", "delta", "draws", "median")


def main(draws: int, file: Path) -> None:
    """One line a design, pair of constants and privacy setting."""
    results = Results(file, COLUMNS, COLUMNS[:-1])
    done = results.cells()
    for name, make in {**designs(intervals=50), **tail_designs(intervals=50)}.items():
        loss = loss_of(make())
        best = fit(loss)
        for constants, privacy in itertools.product(CONSTANTS, PRIVACY):
            key = (name, *map(str, (*constants, *privacy, draws)))
            if key not in done:
                found = f"{_median(loss, best, constants, privacy, draws):.2f}"
                results.append(dict(zip(COLUMNS, (*key, found), strict=True)))


def _median(
    loss: Problem,
    best: tuple[Array, Array],
    constants: tuple[float, float],
    privacy: tuple[float, float],
    draws: int,
) -> float:
    bound.LAMBDA, bound.TAIL = constants
    bound.CALM, bound.CHANGED, bound.OUTWEIGHED = bound.LAMBDA, 0.0, 0.0  # the same for every model
    mechanism = PrivateNewton(*privacy)
    plan = mechanism.plan(Facts(loss.persons, loss.design, loss.link))
    points = [mechanism.draw(plan, loss, SeededNoise(draw)).point for draw in range(draws)]
    return float(np.median([error(point, *best) for point in points]))


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(__file__).parent / sys.argv[2])
