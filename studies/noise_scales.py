# ruff: noqa: INP001, T201  # a script, no package
"""The noise scales of the perturbation mechanisms, printed against ours.

For q intervals and e knots, d = e + 3 coefficients, n = 10,000 persons, epsilon = 1:
Delta (gradient sensitivity), J (Jacobian term) at a total ridge of 100, the ridge at which J takes
half of epsilon, and the scale of the tilt there, Delta / (epsilon / 2). "Ours" is in the paper's
basis, where the two can be compared number by number; "orthonormal" is the basis that fits use.
Writes results/noise-scales.csv and the table between the marks in docs/mechanisms.md.
"""

import csv
import math
from pathlib import Path

import numpy as np
from marked import fill
from scipy import optimize

from discreet.design.baseline import NaturalSpline
from discreet.mechanisms.bounds import (
    Basis,
    Slopes,
    gradient_sensitivity,
    jacobian_bound,
)
from discreet.paper.printed import gradient_sensitivity as printed_gradient_sensitivity
from discreet.paper.printed import jacobian_bound as printed_jacobian_bound

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "studies" / "results" / "noise-scales.csv"
DOCUMENT = ROOT / "docs" / "mechanisms.md"
MARKS = ("<!-- noise scales: begin -->", "<!-- noise scales: end -->")
INTERVALS, KNOTS, COVARIATES = (25, 50, 100, 200), (3, 5, 8), 3
EPSILON, RIDGE, CURVATURE = 1.0, 100.0, 0.25

COLUMNS = [
    "intervals",
    "knots",
    "sensitivity_printed",
    "sensitivity_ours",
    "sensitivity_orthonormal",
    "jacobian_printed",
    "jacobian_ours",
    "jacobian_orthonormal",
    "half_ridge_printed",
    "half_ridge_ours",
    "half_ridge_orthonormal",
    "output_scale_printed",
    "output_scale_ours",
    "output_scale_orthonormal",
]

HEADINGS = " | ".join(
    f"{quantity} printed | ours | orthonormal" for quantity in ("Δ", "J(100)", "ridge for J = ½")
)

Row = dict[str, float]


def bases(intervals: int, knots: int) -> tuple[Basis, Basis]:
    """The paper's basis and the orthonormal one."""
    printed = NaturalSpline(knots).basis(intervals)
    orthonormal = np.linalg.qr(printed)[0] * math.sqrt(intervals)
    return Basis(printed, has_covariates=True), Basis(orthonormal, has_covariates=True)


def jacobian(basis: Basis, ridge: float) -> float:
    """J(k) of the corrected mechanism, covariates constant in time."""
    return jacobian_bound(basis, COVARIATES, CURVATURE, ridge, time_varying=False)


def row(intervals: int, knots: int) -> Row:
    """One line of the table."""
    paper, orthonormal = bases(intervals, knots)
    ones = Slopes.constant(intervals, 1.0)
    terms = {
        "printed": lambda ridge: printed_jacobian_bound(paper.norms, ridge),
        "ours": lambda ridge: jacobian(paper, ridge),
        "orthonormal": lambda ridge: jacobian(orthonormal, ridge),
    }
    sensitivities = {
        "printed": printed_gradient_sensitivity(paper.norms),
        "ours": gradient_sensitivity(paper, ones),
        "orthonormal": gradient_sensitivity(orthonormal, ones),
    }
    found: Row = {"intervals": intervals, "knots": knots}
    for name, term in terms.items():
        found[f"sensitivity_{name}"] = sensitivities[name]
        found[f"jacobian_{name}"] = term(RIDGE)
        found[f"half_ridge_{name}"] = optimize.brentq(
            lambda ridge, term=term: term(ridge) - EPSILON / 2, 1e-3, 1e6
        )
        found[f"output_scale_{name}"] = sensitivities[name] / (RIDGE * EPSILON)
    return found


def table(rows: list[Row]) -> str:
    """The rows as a table for readers."""
    lines = [f"| q | e | {HEADINGS} |", f"|{'---|' * 11}"]
    for item in rows:
        numbers = [
            f"{item[f'sensitivity_{name}']:.1f}" for name in ("printed", "ours", "orthonormal")
        ]
        numbers += [
            f"{item[f'jacobian_{name}']:.3f}" for name in ("printed", "ours", "orthonormal")
        ]
        numbers += [
            f"{item[f'half_ridge_{name}']:.0f}" for name in ("printed", "ours", "orthonormal")
        ]
        lines.append(f"| {item['intervals']:.0f} | {item['knots']:.0f} | {' | '.join(numbers)} |")
    return "\n".join(lines)


def write_results(rows: list[Row], path: Path = RESULTS) -> None:
    """The full numbers."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for item in rows:
            writer.writerow({name: f"{item[name]:.10g}" for name in COLUMNS})


def read_results(path: Path = RESULTS) -> list[Row]:
    """The numbers that were committed."""
    with path.open(newline="") as file:
        return [
            {name: float(value) for name, value in line.items()} for line in csv.DictReader(file)
        ]


def main() -> None:
    """Compute, write, show."""
    rows = [row(intervals, knots) for intervals in INTERVALS for knots in KNOTS]
    write_results(rows)
    fill(DOCUMENT, MARKS, table(read_results()))
    print(table(rows))


if __name__ == "__main__":
    main()
