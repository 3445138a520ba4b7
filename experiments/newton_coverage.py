# ruff: noqa: INP001, scripts beside each other, no package
"""Coverage of private Newton's 95% intervals: people drawn from the model, truth known.

    python experiments/newton_coverage.py 1000 results/newton-coverage.csv [part parts]

One line a replication, appended at once: the z-score (estimate - truth) / standard error of every
coefficient in internal coordinates. Lines that are there are not made again. Seeded: not private.
"""

import csv
import itertools
import sys
import zlib
from pathlib import Path

import numpy as np
from newton_designs import schema_for
from numpy.typing import NDArray

from discreet.baseline import NaturalSpline
from discreet.design import Design
from discreet.engine.local import LocalEngine
from discreet.episodes import Episodes
from discreet.likelihood.objective import TotalLoss
from discreet.link import Logit
from discreet.mechanisms import Constants, PrivateNewton
from discreet.privacy.testing import SeededNoise

Array = NDArray[np.float64]

INTERVALS = 50
TRUTH = np.array([-4.6, 0.3, -0.2, 1.0, -0.8, 0.4])
PEOPLE = (5000, 50_000)
EPSILONS = (0.5, 1.0, 4.0)
DELTAS = (1e-6, 0.0)
COLUMNS = ("people", "epsilon", "delta", "replication", *(f"z{k}" for k in range(len(TRUTH))))


def people_from_model(design: Design, people: int, random: np.random.Generator) -> TotalLoss:
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
    return TotalLoss(LocalEngine(rows, threads=1), design, Logit())


def replicate(people: int, epsilon: float, delta: float, seed: int) -> Array:
    """z-scores of one fit to new people."""
    design = Design(schema_for(3, (2,), INTERVALS), NaturalSpline(3))
    loss = people_from_model(design, people, np.random.default_rng(seed))
    mechanism = PrivateNewton(epsilon, delta)
    plan = mechanism.plan(Constants(people, design, Logit()))
    draw = mechanism.draw(plan, loss, SeededNoise(seed))
    return (draw.point - TRUTH) / np.sqrt(np.diag(draw.extras["covariance"]))


def main(replications: int, file: Path, part: int = 0, parts: int = 1) -> None:
    """Every missing replication of this part, all cells in turn."""
    done = _done(file)
    for replication in range(part, replications, parts):
        for people, delta, epsilon in itertools.product(PEOPLE, DELTAS, EPSILONS):
            key = (str(people), str(epsilon), str(delta), str(replication))
            if key not in done:
                seed = zlib.crc32("/".join(key).encode())
                scores = replicate(people, epsilon, delta, seed)
                _append(file, (*key, *(f"{z:.4f}" for z in scores)))


def _done(file: Path) -> set[tuple[str, ...]]:
    if not file.exists():
        _append(file, COLUMNS)
        return set()
    with file.open(newline="") as lines:
        return {tuple(row[:4]) for row in csv.reader(lines)}


def _append(file: Path, row: tuple[str, ...]) -> None:
    with file.open("a", newline="") as lines:
        csv.writer(lines).writerow(row)


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(__file__).parent / sys.argv[2], *map(int, sys.argv[3:5]))
