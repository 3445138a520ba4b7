"""`discreet demo` at work: a private release from beginning to end, by the commands of a custodian.

The registry is drawn from the model itself, so the table at the end can show the truth beside the
exact fit and the private one. A real registry has no truth to look up, and its exact fit stays in
the building.
"""

import csv
import shlex
import subprocess
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import discreet as ds

PEOPLE = 20_000
SEED = 20_250_101
DEATHS = (
    9_000  # from an earlier yearbook, as a custodian would take it: not counted in these records
)
MONTHS = 60
DAYS = 1_826  # five years
EPSILON = 1

SCHEMA = f"""\
[time]
duration = "days"
event = "died"
unit = "days"
horizon = {DAYS}      # five years
intervals = {MONTHS}      # about a month each

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

# The truth, on the log hazard of a month; the baseline in the natural spline's basis.
BASELINE = np.array([-8.6, 1.5, -1.0])
EFFECTS = {"age": 0.045, "sex[M]": 0.30, "stage[II]": 0.60, "stage[III]": 1.40}
BAR = 40

console = Console(width=100, highlight=False)


def show(folder: Path) -> None:
    """Simulate, check, plan, set a budget, publish, compare."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("budget.db*"):  # these people are made up again, and so is their budget
        old.unlink()
    console.rule(f"A registry of {PEOPLE:,} patients who do not exist")
    write_registry(folder)
    for command in commands():
        run(folder, command)
    console.rule("What the simulation put in, and what came out")
    console.print(comparison(folder))
    console.print(
        "The exact fit never leaves the building; this one may be shown because these people do "
        "not exist.\n"
    )
    console.print(f"The release, to publish:     [bold]{folder / 'release.json'}[/bold]")
    console.print(f"Its page, for any browser:   [bold]{folder / 'page.html'}[/bold]")


def commands() -> Iterator[str]:
    """The commands of a custodian."""
    yield "check registry.csv --schema schema.toml"
    yield f"plan --schema schema.toml --persons {PEOPLE} --events {DEATHS} --link cloglog --epsilon {EPSILON}"
    yield "budget init budget.db --population 'patients of the demo' --epsilon 4 --delta 1e-6"
    yield (
        f"fit registry.csv --schema schema.toml --link cloglog --epsilon {EPSILON} "
        "--ledger budget.db --out release.json --overwrite"
    )
    yield "summary release.json"
    yield "page release.json --out page.html --overwrite"


def write_registry(folder: Path) -> None:
    """The schema and the registry."""
    (folder / "schema.toml").write_text(SCHEMA)
    with (folder / "registry.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("id", "days", "died", "age", "sex", "stage"), *simulate()])


def simulate() -> Iterable[Sequence[object]]:
    """People who die by the model's monthly hazard; follow-up ends after a year at the earliest."""
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
    """h = 1 - exp(-exp(eta)), eta = BASELINE'A_s + EFFECTS'x; one column a month."""
    indicators = [age, sex == "M", stage == "II", stage == "III"]
    covariates = np.column_stack(indicators) @ np.array(list(EFFECTS.values()))
    baseline = ds.NaturalSpline(3).basis(MONTHS) @ BASELINE
    return np.asarray(-np.expm1(-np.exp(covariates[:, None] + baseline)))


def soil(*columns: NDArray[np.generic]) -> list[list[object]]:
    """The columns as a registry would hold them: some ages missing or mistyped, a stage unknown."""
    age, sex, stage = (column.tolist() for column in columns)
    age[0:1_000:50] = [None] * 20
    age[7:1_000:100] = [670.0] * 10
    stage[3:1_000:100] = ["X"] * 10
    return [age, sex, stage]


def run(folder: Path, arguments: str) -> None:
    """One command, shown as it would be typed."""
    console.print(f"\n[bold]$ discreet {arguments}[/bold]")
    command = [sys.executable, "-m", "discreet", *shlex.split(arguments)]
    subprocess.run(command, cwd=folder, check=True)  # noqa: S603 - our own command


def comparison(folder: Path) -> Table:
    """Hazard ratios: the truth, the exact fit, the private one with its interval as a bar."""
    exact = ds.SurvivalRegression(folder / "schema.toml", link="cloglog")
    private = ds.load(folder / "release.json")
    with warnings.catch_warnings():
        # `check` has shown what was repaired
        warnings.simplefilter("ignore", ds.warnings.RepairWarning)
        exact.fit(folder / "registry.csv")
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("hazard ratio", "truth", "exact fit", "private fit"):
        table.add_column(heading, justify="left" if heading == "hazard ratio" else "right")
    low, high = 0.9, 5.0
    table.add_column("├● private fit, 95 % ┤    ◆ truth", no_wrap=True)
    columns: Any = private.summary().columns()
    plain: Any = exact.summary().columns()
    for position, (name, effect) in enumerate(EFFECTS.items(), start=len(BASELINE)):
        ends = [columns[key][position] for key in ("lower", "coefficient", "upper")]
        numbers = (effect, plain["coefficient"][position], ends[1])
        table.add_row(
            name, *(f"{np.exp(value):.3f}" for value in numbers), bar(ends, effect, low, high)
        )
    return table


def bar(ends: Sequence[float], truth: float, low: float, high: float) -> str:
    """├──●──┤ from the lower to the upper end, with the truth on it."""
    scale = BAR / np.log(high / low)
    places = [int(np.clip((value - np.log(low)) * scale, 0, BAR - 1)) for value in (*ends, truth)]
    cells = [" "] * BAR
    cells[places[0] : places[2] + 1] = "─" * (places[2] + 1 - places[0])
    cells[places[0]], cells[places[2]] = "├", "┤"
    cells[places[1]], cells[places[3]] = "●", "◆"
    return "".join(cells)
