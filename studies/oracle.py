# ruff: noqa: INP001, scripts beside each other, no package
"""How near any single bound could come: bounded scores with what no release knows.

    python studies/oracle.py [--sets fl,rhc]

On each set the coordinates come from the exact Hessian, the start is the exact estimate, and one step
has 85% of the budget. For every bound c the root of the bounded scores is found without noise: its
distance from the maximum likelihood estimate is what the bound takes away, and noise of the step, by
the slope of the bounded score at the root, comes to it. The smallest sum over c is a row of
results/oracle.csv, in standard errors: sqrt(bias^2 + noise^2). Nothing is drawn, and nothing is private.
"""

import argparse
import csv
import math
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from newton_designs import fit
from newton_root import root, score_at
from real_sets import DEVELOPMENT, HELD_OUT, load, paper_sets

from discreet import Schema
from discreet.core.scores import Whitened
from discreet.design.baseline import NaturalSpline
from discreet.design.design import Design
from discreet.design.link import Logit
from discreet.estimator.asking import whitening
from discreet.likelihood.problem import Problem
from discreet.people.source import People
from discreet.privacy.accountant import rho_for
from discreet.types import Array

RESULTS = Path(__file__).parent / "results" / "oracle.csv"
COLUMNS = ("set", "epsilon", "multiple", "bias", "noise", "err")
MULTIPLES = (1.5, 2.0, 2.5, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0)
EPSILONS, DELTA, PART = (1.0, 4.0), 1e-6, 0.85
DIFFERENCE = 0.5
"""By so many standard errors the root is moved either way to see the slope: people leave the ball one by
one, so the slope of a sum is that over a stretch."""


def main() -> None:
    """Every set again."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--sets", default="", help="some sets, by commas")
    options = parser.parse_args()
    names = options.sets.split(",") if options.sets else (*DEVELOPMENT, *HELD_OUT, *paper_sets())
    with RESULTS.open("w", newline="", encoding="utf-8") as lines:
        writer = csv.writer(lines, lineterminator="\n")
        writer.writerow(COLUMNS)
        for name in names:
            for row in best_of(name):
                writer.writerow(row)
                sys.stdout.write(" ".join(map(str, row)) + "\n")
            lines.flush()


def best_of(name: str) -> Iterator[tuple[str, ...]]:
    """The best bound at each epsilon."""
    loss = problem_of(name)
    best, hessian = fit(loss)
    unit = math.sqrt(len(best) / loss.totals()[0])
    found = [(one, *bounded(loss, best, hessian, one * unit)) for one in MULTIPLES]
    for epsilon in EPSILONS:
        scale = 2.0 / math.sqrt(2.0 * PART * rho_for(epsilon, DELTA))
        errors = [math.hypot(bias, scale * noise) for _, bias, noise in found]
        multiple, bias, noise = found[int(np.argmin(errors))]
        shown = bias, scale * noise, min(errors)
        yield name, f"{epsilon:g}", f"{multiple:g}", *(f"{value:.2f}" for value in shown)


def problem_of(name: str) -> Problem:
    """A set as the mechanism gets it."""
    sample = load(name)
    schema = Schema.from_mapping(sample.schema)
    engine = People.of(sample.frame).open(schema)
    return Problem(engine, Design(schema, NaturalSpline(3)), Logit())


def bounded(loss: Problem, best: Array, hessian: Array, bound: float) -> tuple[float, float]:
    """The root's distance from the maximum likelihood estimate, and the noise of a unit of noise."""
    frame, size = whitening(hessian), len(best)
    point, _ = root(loss, best, hessian, bound, clipped=False)
    gap = np.linalg.solve(frame, point - best)
    inverse = np.linalg.inv(_slope(loss, point, frame, bound))
    spread = bound * math.sqrt(float(np.sum(inverse**2)) / size)
    return math.sqrt(float(gap @ gap) / size), spread


def _slope(loss: Problem, point: Array, frame: Array, bound: float) -> Array:
    """Of the summed bounded score by the point, in whitened coordinates."""

    def score(move: Array) -> Array:
        there = Whitened(loss.design, loss.link, point + frame @ move, frame, bound)
        return score_at(loss, there)

    moves = DIFFERENCE * np.eye(len(point))
    columns = [(score(move) - score(-move)) / (2.0 * DIFFERENCE) for move in moves]
    return np.array(columns).T


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        main()
