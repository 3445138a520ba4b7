# ruff: noqa: INP001, scripts beside each other, no package
"""err of every mechanism against epsilon on one simulated cohort, and the picture of it.

    python studies/error_by_epsilon.py 9

The cohort is `right10` (15,000 people, about 1,500 events, d = 6, 50 intervals). Rows that are there
already are kept; the sampler's is the error of an ideal draw, sqrt(2 v / epsilon) with v = 2 log n.
Seeded: not private.
"""

import math
import sys
from pathlib import Path

from matplotlib.figure import Figure
from newton_designs import designs, fit, loss_of
from planner import measured_error

from discreet.mechanisms import Mechanism, ObjectivePerturbation, OutputPerturbation, PrivateNewton
from discreet.paper.results import Results
from discreet.plots import COLOURS, INK

HERE = Path(__file__).parent
COLUMNS = ("mechanism", "epsilon", "draws", "median")
RESULTS = Results(HERE / "results" / "error-by-epsilon.csv", COLUMNS, COLUMNS[:2])
PICTURE = HERE.parent / "docs" / "images" / "error-by-epsilon.png"
EPSILONS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
NAMES = (
    "private Newton, delta = 1e-6", "private Newton, pure", "objective perturbation",
    "output perturbation", "the paper's sampler, ideal draw",
)  # fmt: skip


def main(draws: int) -> None:
    """Every missing row, then the picture."""
    done = RESULTS.cells()
    cohort = designs(intervals=50)["right10"]()
    loss = loss_of(cohort)
    best = fit(loss)
    survival = 1.0 - cohort.events.mean()
    for epsilon in EPSILONS:
        for name, mechanism in mechanisms(epsilon, survival).items():
            if (name, str(epsilon)) not in done:
                found = measured_error(mechanism, loss, best, f"{name}/{epsilon}", draws)
                append(name, epsilon, draws, found)
        if (NAMES[-1], str(epsilon)) not in done:
            ideal = math.sqrt(4.0 * math.log(loss.persons) / epsilon)
            append(NAMES[-1], epsilon, 0, ideal)
    draw_picture()


def mechanisms(epsilon: float, survival: float) -> dict[str, Mechanism]:
    """Those that are measured, by the names of the picture."""
    made = (
        PrivateNewton(epsilon, 1e-6),
        PrivateNewton(epsilon, 0.0),
        ObjectivePerturbation(epsilon, survival=survival),
        OutputPerturbation(epsilon, survival=survival),
    )
    return dict(zip(NAMES, made, strict=False))


def draw_picture() -> None:
    """Both axes logarithmic; the line at 1 is the error of sampling alone."""
    figure = Figure(figsize=(7.2, 4.6), layout="constrained")
    axes = figure.subplots()
    for name, colour, marker in zip(NAMES, COLOURS, "osD^v", strict=False):
        found = sorted(
            (float(row["epsilon"]), float(row["median"]))
            for row in RESULTS.rows()
            if row["mechanism"] == name
        )
        dashes = "--" if name == NAMES[-1] else "-"
        axes.loglog(*zip(*found, strict=True), dashes, marker=marker, color=colour, label=name)
    axes.axhline(1.0, color=INK, linewidth=0.8, linestyle=(0, (4, 3)))
    axes.annotate("sampling error", (EPSILONS[0], 1.0), (2, 3), textcoords="offset points")
    axes.set_xticks(EPSILONS, [f"{value:g}" for value in EPSILONS])
    axes.set_xticks([], minor=True)
    axes.set_yticks([0.1, 0.3, 1, 3, 10, 30], ["0.1", "0.3", "1", "3", "10", "30"])
    axes.set_xlabel("epsilon")
    axes.set_ylabel("err, in standard errors")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="#DDDDDD", linewidth=0.6)
    axes.legend(frameon=False, fontsize="small")
    figure.savefig(PICTURE, dpi=110)


def append(name: str, epsilon: float, draws: int, found: float) -> None:
    """At once, so that a stop loses nothing."""
    row = (name, str(epsilon), draws, f"{found:.4f}")
    RESULTS.append(dict(zip(COLUMNS, row, strict=True)))


if __name__ == "__main__":
    main(int(sys.argv[1]))
