# ruff: noqa: INP001, scripts beside each other, no package
"""What a bound alone costs: the noise-free root of bounded scores against the MLE, ball and clip.

    python studies/newton_root.py results/newton-root.csv

err in standard errors of the maximum likelihood estimate, W from the true Hessian, B = c sqrt(d / E);
`solved` is no where the search for the root did not end. Nothing is drawn: no noise, no privacy.
"""

import csv
import math
import sys
from pathlib import Path

import numpy as np
from newton_designs import designs, error, fit, loss_of, tail_designs

from discreet.core.scores import LARGEST, Whitened, alone, block_scores, score_tables
from discreet.estimator.asking import whitening
from discreet.likelihood.problem import Problem
from discreet.types import Array

MULTIPLES = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 16.0)
COLUMNS = ("design", "people", "events", "dimension", "score", "multiple", "error", "solved")
ROUNDS, FARTHEST, SOLVED = 40, 20.0, 1e-2


def main(file: Path) -> None:
    """One line a design, way of bounding and multiple."""
    with file.open("w", newline="") as lines:
        writer = csv.writer(lines, lineterminator="\n")
        writer.writerow(COLUMNS)
        for name, make in {**designs(intervals=50), **tail_designs(intervals=50)}.items():
            cohort = make()
            loss, events = loss_of(cohort), int(cohort.events.sum())
            best, hessian = fit(loss)
            unit = math.sqrt(len(best) / events)
            for score in ("ball", "clip"):
                for multiple in MULTIPLES:
                    bound = multiple * unit
                    point, left = root(loss, best, hessian, bound, clipped=score == "clip")
                    far = f"{error(point, best, hessian):.3f}"
                    solved = "yes" if left < SOLVED * math.sqrt(len(best)) else "no"
                    row = (name, loss.persons, events, len(best), score, multiple, far, solved)
                    writer.writerow(row)


def root(
    loss: Problem, best: Array, hessian: Array, bound: float, *, clipped: bool
) -> tuple[Array, float]:
    """Broyden's method from the maximum likelihood estimate; the norm of the score that is left."""
    frame, point = whitening(hessian), best.copy()
    slope = np.eye(len(best))
    before, moved = np.zeros(len(best)), np.zeros(len(best))
    for attempt in range(ROUNDS):
        left = -score_at(loss, Whitened(loss.design, loss.link, point, frame, bound, clipped))
        if np.linalg.norm(left) < SOLVED / 10:
            break
        if attempt:
            lacking = before - left - slope @ moved
            slope = slope + np.outer(lacking, moved) / (moved @ moved)
        moved = np.linalg.solve(slope, left)
        moved *= min(1.0, FARTHEST / np.linalg.norm(moved))
        before, point = left, point + frame @ moved
    return point, float(np.linalg.norm(left))


def score_at(loss: Problem, scores: Whitened) -> Array:
    """The exact sum of bounded scores."""
    (sums,) = loss.engine.reduce(
        block_scores, alone(scores), *score_tables(alone(scores), loss.persons)
    )
    return sums * (scores.bound / LARGEST)


if __name__ == "__main__":
    main(Path(__file__).parent / sys.argv[1])
