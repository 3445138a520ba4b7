# ruff: noqa: INP001, scripts beside each other, no package
"""Coverage of private Newton's 95% intervals: people drawn from the model, truth known.

    python studies/newton_coverage.py PEOPLE REPLICATIONS results/newton-coverage.csv [part parts]

One line a replication, appended at once: the z-score (estimate - truth) / standard error of every
coefficient in internal coordinates. Lines that are there are not made again. The people of a
replication are the same in all its cells; the noise is that of a real release, so a rerun gives
other lines.
"""

import itertools
import sys
import zlib
from pathlib import Path

import numpy as np
from newton_designs import schema_for

from discreet.design.baseline import NaturalSpline
from discreet.design.design import Design
from discreet.design.link import Logit
from discreet.engine.local import LocalEngine
from discreet.likelihood.problem import Problem
from discreet.mechanisms import Facts, PrivateNewton
from discreet.paper.results import Results
from discreet.people.episodes import Episodes
from discreet.privacy.noise import SystemNoise
from discreet.types import Array

INTERVALS = 50
TRUTH = np.array([-4.6, 0.3, -0.2, 1.0, -0.8, 0.4])
EPSILONS = (0.5, 1.0, 4.0)
DELTAS = (1e-6, 0.0)
COLUMNS = ("people", "epsilon", "delta", "replication", *(f"z{k}" for k in range(len(TRUTH))))


def people_from_model(design: Design, people: int, random: np.random.Generator) -> Problem:
    """A uniform, a normal and a binary covariate; about one third have the event."""
    columns = (
        random.uniform(-1, 1, people),
        random.normal(0, 0.3, people).clip(-1, 1),
        random.integers(0, 2, people),
    )
    x = (np.column_stack(columns) - design.covariates.centre) * design.covariates.scale
    hazard = Logit().hazard(design.basis @ TRUTH[:3] + (x @ TRUTH[3:])[:, None])
    hits = random.random(hazard.shape) < hazard
    first = np.where(hits.any(axis=1), hits.argmax(axis=1) + 1, INTERVALS + 1)
    last = random.integers(INTERVALS // 4, INTERVALS + 1, people)
    order = np.argsort(np.minimum(first, last), kind="stable")
    leave = np.minimum(first, last)[order].astype(np.int32)
    rows = Episodes(
        np.ascontiguousarray(x[order]), leave * 0, leave, (first <= last)[order], None, people
    )
    return Problem(LocalEngine(rows, threads=1), design, Logit())


def z_scores(loss: Problem, epsilon: float, delta: float) -> Array:
    """(estimate - truth) / standard error of one release."""
    mechanism = PrivateNewton(epsilon, delta)
    plan = mechanism.plan(Facts(loss.persons, loss.design, loss.link))
    draw = mechanism.draw(plan, loss, SystemNoise())
    return (draw.point - TRUTH) / np.sqrt(np.diag(draw.extras["covariance"]))


def main(people: int, replications: int, file: Path, part: int = 0, parts: int = 1) -> None:
    """Every missing replication of this part, all cells in turn."""
    results = Results(file, COLUMNS, COLUMNS[:4])
    done = results.cells()
    design = Design(schema_for(3, (2,), INTERVALS), NaturalSpline(3))
    for replication in range(part, replications, parts):
        cells = [
            (epsilon, delta, key)
            for delta, epsilon in itertools.product(DELTAS, EPSILONS)
            if (key := (str(people), str(epsilon), str(delta), str(replication))) not in done
        ]
        if cells:
            seed = zlib.crc32(f"{people}/{replication}".encode())
            loss = people_from_model(design, people, np.random.default_rng(seed))
        for epsilon, delta, key in cells:
            found = (f"{z:.4f}" for z in z_scores(loss, epsilon, delta))
            results.append(dict(zip(COLUMNS, (*key, *found), strict=True)))


if __name__ == "__main__":
    counts = int(sys.argv[1]), int(sys.argv[2])
    main(*counts, Path(__file__).parent / sys.argv[3], *map(int, sys.argv[4:6]))
