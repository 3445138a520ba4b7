# ruff: noqa: INP001, scripts beside each other, no package
"""Median err over the simulated designs for several constants of the bound's rule.

    python experiments/newton_bound.py 9 results/newton-bound.csv

The committed file was made with 9 draws a cell and one step fewer where the signal is strong; the
design many2 did not finish. Seeded: not private.
"""

import csv
import sys
from pathlib import Path

import numpy as np
from newton_designs import designs, error, fit

from discreet.mechanisms import Constants, PrivateNewton
from discreet.mechanisms.newton import bound
from discreet.privacy.testing import SeededNoise

CONSTANTS = ((0.15, 0.05), (0.25, 0.05), (0.15, 0.15))
PRIVACY = ((1.0, 1e-6), (1.0, 0.0), (4.0, 1e-6))
COLUMNS = ("design", "lambda", "tail", "epsilon", "delta", "draws", "median")


def main(draws: int, file: Path) -> None:
    """One line a design, pair of constants and privacy setting."""
    with file.open("w", newline="") as lines:
        writer = csv.writer(lines)
        writer.writerow(COLUMNS)
        for name, make in designs().items():
            loss = make().loss()
            best, hessian = fit(loss)
            for slope, tail in CONSTANTS:
                bound.LAMBDA, bound.TAIL = slope, tail
                for epsilon, delta in PRIVACY:
                    mechanism = PrivateNewton(epsilon, delta)
                    plan = mechanism.plan(Constants(loss.persons, loss.design, loss.link))
                    released = [
                        mechanism.draw(plan, loss, SeededNoise(draw)).point for draw in range(draws)
                    ]
                    median = np.median([error(point, best, hessian) for point in released])
                    writer.writerow((name, slope, tail, epsilon, delta, draws, f"{median:.2f}"))


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(__file__).parent / sys.argv[2])
