# ruff: noqa: INP001, scripts beside each other, no package
"""err of private Newton over a wide grid of cohorts that nothing was chosen on.

    python studies/newton_grid.py results/newton-grid.csv

n from 2,000 to 1,000,000, d from 4 to 20, event rates 2% to 90%, weak and strong effects, rare
binaries, heavy tails; 20 intervals. One line a cohort and epsilon, with the median and the largest
err over a few draws, and the err that the planner predicts from n, the events and the schema; lines
that are there are not made again. Seeded: not private.
"""

import itertools
import sys
import zlib
from pathlib import Path

import numpy as np
from newton_designs import error, fit, loss_of
from planner import outlook_of, predicted_errors
from simulated import Cohort, Covariates, simulate

from discreet.mechanisms import Facts, PrivateNewton
from discreet.paper.results import Results
from discreet.privacy.testing import SeededNoise
from discreet.types import Array

INTERVALS, CENSORED, DELTA = 20, 0.4, 1e-6
DRAWS = {2_000: 5, 20_000: 5, 200_000: 3, 1_000_000: 1}
RATES = (0.02, 0.3, 0.9)
WIDTHS = {"weak": 1, "strong": 5, "rare": 9, "heavy": 17}
LARGEST = (("heavy", 0.3), ("rare", 0.02), ("strong", 0.9), ("weak", 0.3))
"""Those that are made at a million too; with three coefficients of time, d is 4, 8, 12 and 20."""
EPSILONS = (0.1, 1.0, 10.0)
COLUMNS = (
    "kind", "rate", "people", "events", "dimension", "epsilon", "delta", "draws", "median", "largest",
    "predicted",
)  # fmt: skip


def main(file: Path) -> None:
    """Every missing line."""
    results = Results(file, COLUMNS, ("kind", "rate", "people", "epsilon"))
    done = results.cells()
    for people, kind, rate in itertools.product(DRAWS, WIDTHS, RATES):
        missing = [eps for eps in EPSILONS if (kind, str(rate), str(people), str(eps)) not in done]
        if missing and (people < max(DRAWS) or (kind, rate) in LARGEST):
            _measure(results, people, kind, rate, missing)


def _measure(results: Results, people: int, kind: str, rate: float, epsilons: list[float]) -> None:
    cohort = make(kind, people, rate, zlib.crc32(f"{kind}/{people}/{rate}".encode()))
    loss = loss_of(cohort)
    best, hessian = fit(loss)
    for epsilon in epsilons:
        mechanism = PrivateNewton(epsilon, DELTA)
        plan = mechanism.plan(Facts(people, loss.design, loss.link))
        points = [mechanism.draw(plan, loss, SeededNoise(k)).point for k in range(DRAWS[people])]
        errors = [error(point, best, hessian) for point in points]
        events = int(cohort.events.sum())
        expected = predicted_errors(outlook_of(cohort, loss), epsilon, DELTA)["newton"]
        found = (f"{value:.4f}" for value in (np.median(errors), max(errors), expected))
        facts = map(str, (kind, rate, people, events, len(best), epsilon, DELTA, DRAWS[people]))
        results.append(dict(zip(COLUMNS, (*facts, *found), strict=True)))


def make(kind: str, people: int, rate: float, seed: int) -> Cohort:
    """People in one batch; effects are those of the kind."""
    random = np.random.default_rng(seed)
    covariates, effects = _covariates(kind, people, random)
    time = np.arange(1, INTERVALS + 1) / INTERVALS
    effect = covariates[0] @ effects
    return simulate(covariates, effect, 2 * time * (1 - time), rate, CENSORED, seed)


def _covariates(kind: str, n: int, random: np.random.Generator) -> tuple[Covariates, Array]:
    width = WIDTHS[kind]
    signs = np.where(np.arange(width) % 2, -1.0, 1.0)
    if kind == "weak":
        return (random.uniform(-1, 1, (n, width)), ()), 0.1 * signs
    if kind == "strong":
        return (random.normal(0, 0.4, (n, width)).clip(-1, 1), ()), 2.0 * signs
    if kind == "rare":
        shares = np.geomspace(0.005, 0.3, width)
        flags = np.where(random.random((n, width)) < shares, 1.0, -1.0)
        return (flags, tuple(range(width))), 0.3 * signs
    return ((random.standard_t(3, (n, width)) / 12).clip(-1, 1), ()), signs


if __name__ == "__main__":
    main(Path(__file__).parent / sys.argv[1])
