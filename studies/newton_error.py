# ruff: noqa: INP001, scripts beside each other, no package
"""err of private Newton, draw by draw: simulated designs and the paper's sets.

    python studies/newton_error.py paper 50 results/newton-paper.csv
    python studies/newton_error.py designs 25 results/newton-designs.csv

One line a draw, appended at once; lines that are there already are not drawn again. Noise is
seeded, so nothing here is private.
"""

import sys
import zlib
from pathlib import Path

from newton_designs import designs, error, fit, loss_of, paper_sets

from discreet.mechanisms import Facts, PrivateNewton
from discreet.paper.results import Results
from discreet.privacy.testing import SeededNoise

PRIVACY = ((1.0, 1e-6), (1.0, 0.0), (4.0, 1e-6), (0.1, 1e-6))
COLUMNS = ("data", "epsilon", "delta", "score", "draw", "error")


def main(kind: str, draws: int, file: Path) -> None:
    """Every missing draw of every cell."""
    cohorts = paper_sets() if kind == "paper" else {k: make() for k, make in designs().items()}
    results = Results(file, COLUMNS, COLUMNS[:-1])
    done = results.cells()
    for name, cohort in cohorts.items():
        loss = loss_of(cohort)
        best, hessian = fit(loss)
        for epsilon, delta in PRIVACY:
            mechanism = PrivateNewton(epsilon, delta)
            plan = mechanism.plan(Facts(loss.persons, loss.design, loss.link))
            for draw in range(draws):
                key = (name, str(epsilon), str(delta), mechanism.score, str(draw))
                if key not in done:
                    seed = zlib.crc32("/".join(key).encode())
                    point = mechanism.draw(plan, loss, SeededNoise(seed)).point
                    found = f"{error(point, best, hessian):.4f}"
                    results.append(dict(zip(COLUMNS, (*key, found), strict=True)))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(__file__).parent / sys.argv[3])
