"""A small registry from simulation to a fitted model, through the commands a custodian would use.

    python examples/demo.py [--out FOLDER]

The cohort is drawn from the model itself, so the table at the end can show the truth beside what
was estimated.
"""

import argparse
import csv
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import discreet as ds

PEOPLE = 12_000
SEED = 20_250_101
MONTHS = 60
DAYS = 1_826  # five years

SCHEMA = f"""\
person = "id"

[time]
duration = "days"
event = "died"
horizon = {DAYS}
intervals = {MONTHS}

[[covariate]]
name = "age"
low = 40
high = 90

[[covariate]]
name = "sex"
levels = ["F", "M"]

[[covariate]]
name = "stage"
levels = ["I", "II", "III"]
"""

# The truth, on the log-odds of dying within a month; the baseline in the natural spline's basis.
BASELINE = np.array([-8.6, 1.5, -1.0])
EFFECTS = {"age": 0.045, "sex[M]": 0.30, "stage[II]": 0.60, "stage[III]": 1.40}

PATIENTS = [("Anna", 55, "F", "I"), ("Bo", 70, "M", "II"), ("Carl", 80, "M", "III")]

console = Console(width=100)


def main() -> None:
    """Simulate, check, fit, show, predict, draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("demo"), help="folder to write to")
    folder = parser.parse_args().out
    folder.mkdir(parents=True, exist_ok=True)
    console.rule(f"A simulated registry of {PEOPLE:,} patients (seed {SEED})")
    write_registry(folder)
    run(folder, "check registry.csv --schema schema.toml")
    run(
        folder,
        "fit registry.csv --schema schema.toml --mechanism none --out model.json --overwrite",
    )
    run(folder, "summary model.json")
    run(
        folder,
        "predict model.json patients.csv --times 365,1095,1826 --out survival.csv --overwrite",
    )
    console.print((folder / "survival.csv").read_text())
    model = ds.load(folder / "model.json")
    console.print(comparison(model))
    draw(model, folder)
    console.print(f"{folder}/ now holds model.json, survival.csv and the picture model.png.")


def write_registry(folder: Path) -> None:
    """The schema, the registry, and three patients to predict for."""
    (folder / "schema.toml").write_text(SCHEMA)
    write(folder / "registry.csv", ("id", "days", "died", "age", "sex", "stage"), simulate())
    write(folder / "patients.csv", ("id", "age", "sex", "stage"), PATIENTS)


def write(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A CSV file."""
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])


def simulate() -> Iterable[Sequence[object]]:
    """People who die by the model's monthly odds; follow-up ends after one year at the earliest."""
    random = np.random.default_rng(SEED)
    age = random.normal(67, 11, PEOPLE).clip(40, 90).round(1)
    sex = random.choice(["F", "M"], PEOPLE)
    stage = random.choice(["I", "II", "III"], PEOPLE, p=[0.5, 0.3, 0.2])
    dies = random.random((PEOPLE, MONTHS)) < hazard(age, sex, stage)
    death = np.where(dies.any(axis=1), dies.argmax(axis=1), MONTHS)
    leaving = random.integers(12, 2 * MONTHS, PEOPLE)
    month = np.minimum(np.minimum(death, leaving), MONTHS)
    day = np.ceil(month * DAYS / MONTHS) + random.integers(0, 30, PEOPLE)
    died = (death <= leaving) & (death < MONTHS)
    columns = (np.where(month < MONTHS, day, DAYS).astype(int), died.astype(int))
    return zip(range(1, PEOPLE + 1), *columns, *soil(age, sex, stage), strict=True)


def hazard(
    age: NDArray[np.float64], sex: NDArray[np.str_], stage: NDArray[np.str_]
) -> NDArray[np.float64]:
    """h = 1 / (1 + exp(-eta)), eta = BASELINE'A_s + EFFECTS'x; one column a month."""
    indicators = [age, sex == "M", stage == "II", stage == "III"]
    covariates = np.column_stack(indicators) @ np.array(list(EFFECTS.values()))
    baseline = ds.NaturalSpline(3).basis(MONTHS) @ BASELINE
    return 1.0 / (1.0 + np.exp(-(covariates[:, None] + baseline)))


def soil(*columns: NDArray[np.generic]) -> list[list[object]]:
    """The columns as a registry would hold them: some ages missing or mistyped, a stage unknown."""
    age, sex, stage = (column.tolist() for column in columns)
    age[0:1_000:50] = [None] * 20
    age[7:1_000:100] = [670.0] * 10
    stage[3:1_000:100] = ["X"] * 10
    return [age, sex, stage]


def run(folder: Path, arguments: str) -> None:
    """One command, shown as it would be typed."""
    console.print(f"\n[bold]$ discreet {arguments}[/bold]", highlight=False)
    command = [str(Path(sys.executable).with_name("discreet")), *arguments.split()]
    subprocess.run(command, cwd=folder, check=True)


def comparison(model: ds.FittedModel) -> Table:
    """The truth beside the estimate, and how far off it is in standard errors."""
    table = Table(title="What the simulation put in, and what came out", title_justify="left")
    for heading in ("", "truth", "estimate", "standard error", "off by"):
        table.add_column(heading, justify="right" if heading else "left")
    summary = model.summary()
    truth = [*BASELINE, *EFFECTS.values()]
    estimates, errors = summary.coefficients, summary.columns()["standard error"]
    for name, true, estimate, error in zip(summary.names, truth, estimates, errors, strict=True):
        distance = f"{abs(estimate - true) / error:.1f} se"
        table.add_row(name, f"{true:.3f}", f"{estimate:.3f}", f"{error:.3f}", distance)
    return table


def draw(model: ds.FittedModel, folder: Path) -> None:
    """Baseline hazard, coefficients, and the patients' survival with their names."""
    figure = model.plot(folder / "patients.csv")
    labels = [f"{name}, {age}, stage {stage}" for name, age, _, stage in PATIENTS]
    curves = figure.axes[-1]
    curves.legend(curves.lines, labels, frameon=False, loc="lower left", fontsize=8)
    figure.savefig(folder / "model.png", dpi=150)


if __name__ == "__main__":
    main()
