# ruff: noqa: INP001, T201, scripts beside each other, no package; progress is printed
"""What a user of Cox's model gets here: hazard ratios beside those of R's coxph.

    python studies/cox.py            R's answers and ours, into results/cox.csv; needs Rscript
    python studies/cox.py --page     the table of docs/comparison.md from them

Five real sets, the same people and covariates for both (numbers cut to the schema's bounds, levels as
indicators). R: coxph, Efron's ties. Here: the complementary log-log link on 1,000 intervals, or as
many as there are months where time is in whole months, plain and private (Newton, noise from seeds). Sets of the paper are read from the folder DISCREET_DATA.
"""

import csv
import math
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from fresh.family import Registry
from marked import fill, measure_or_fill
from real_sets import load

import discreet as ds
from discreet.predictions import Predictions

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "cox.csv"
PAGE = HERE.parent / "docs" / "comparison.md"
MARKS = ("<!-- cox: begin -->", "<!-- cox: end -->")
SETS = {"fl": "FL", "tb": "TB", "wt": "WT", "rott2": "rott2", "Dialysis": "Dialysis"}
INTERVALS, BASELINE = 1000, "natural-spline:5"
WHOLE_MONTHS = {"Dialysis": 44}
"""Times recorded in whole months: an interval is a month."""
TOO_FINE = "plain, too fine"
EPSILONS, DRAWS = (4.0, 1.0), 5
NORMAL_POINT = 1.959963984540054
COLUMNS = (
    "set", "people", "events", "coefficient", "scale", "method", "draw", "estimate", "standard_error",
)  # fmt: skip


def design(sample: Registry) -> pd.DataFrame:
    """The covariates as columns of numbers, named as coefficients are."""
    columns = {}
    for item in sample.schema["covariate"]:
        name, values = item["name"], sample.frame[item["name"]]
        if "levels" not in item:
            columns[name] = values.clip(item["low"], item["high"])
            continue
        for level in item["levels"][1:]:
            columns[f"{name}[{level}]"] = (values == level).astype(int)
    return pd.DataFrame(columns)


def coxph(samples: dict[str, Registry]) -> list[dict[str, str]]:
    """R's estimates, one row a coefficient."""
    with tempfile.TemporaryDirectory() as folder:
        for name, sample in samples.items():
            table = pd.concat([sample.frame[["time", "event"]], design(sample)], axis=1)
            table.to_csv(Path(folder) / f"people-{name}.csv", index=False)
        subprocess.run(["Rscript", HERE / "cox.R", folder], check=True)  # noqa: S603, S607
        with (Path(folder) / "cox.csv").open(newline="") as file:
            return list(csv.DictReader(file))


def model_on(sample: Registry, intervals: int) -> ds.SurvivalRegression:
    """The model on a grid of so many intervals."""
    schema = {**sample.schema, "time": {**sample.schema["time"], "intervals": intervals}}
    return ds.SurvivalRegression(schema, link="cloglog", baseline=BASELINE)


def ours(name: str, sample: Registry) -> Iterator[tuple[str, int, Predictions]]:
    """Method, draw and model: plain, then every epsilon."""
    model = model_on(sample, WHOLE_MONTHS.get(name, INTERVALS))
    yield "plain", 0, model.fit(sample.frame)
    if name in WHOLE_MONTHS:
        yield TOO_FINE, 0, model_on(sample, INTERVALS).fit(sample.frame)
    for epsilon in EPSILONS:
        for draw in range(DRAWS):
            mechanism = ds.PrivateNewton(epsilon)
            found = ds.simulate(model, sample.frame, mechanism=mechanism, seed=draw)
            yield f"epsilon {epsilon:g}", draw, found


def run() -> None:
    """Everything again."""
    samples = {name: load(name) for name in SETS}
    answers = coxph(samples)
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for name, sample in samples.items():
            for row in rows_of(name, sample, answers):
                writer.writerow(row)
            file.flush()
            print(name, flush=True)


def rows_of(
    name: str, sample: Registry, answers: list[dict[str, str]]
) -> Iterator[dict[str, object]]:
    """R's rows of a set, then ours."""
    columns = design(sample)
    scales = {column: _scale(columns[column]) for column in columns}
    facts = {"set": name, "people": len(sample.frame), "events": int(sample.frame["event"].sum())}
    for row in answers:
        if row["set"] == name:
            given = {**facts, "scale": f"{scales[row['coefficient']]:.10g}"}
            yield {**given, "method": "coxph", "draw": 0, **row}
    for method, draw, model in ours(name, sample):
        errors = model.standard_errors_.covariates
        for coefficient, estimate in model.coefficients_.covariates.items():
            yield {
                **facts,
                "coefficient": coefficient,
                "scale": f"{scales[coefficient]:.10g}",
                "method": method,
                "draw": draw,
                "estimate": f"{estimate:.10g}",
                "standard_error": f"{errors[coefficient]:.10g}",
            }


def _scale(values: pd.Series) -> float:
    """Ratios of numbers are shown for one standard deviation."""
    return 1.0 if set(np.unique(values)) <= {0, 1} else float(values.std())


def rows() -> list[dict[str, str]]:
    """What was measured."""
    with RESULTS.open(newline="") as file:
        return list(csv.DictReader(file))


def ratio(row: dict[str, str]) -> str:
    """exp(coefficient) and its interval."""
    scale, estimate, error = (float(row[key]) for key in ("scale", "estimate", "standard_error"))
    ends = (estimate, estimate - NORMAL_POINT * error, estimate + NORMAL_POINT * error)
    middle, low, high = (math.exp(min(scale * value, 700.0)) for value in ends)
    return f"{middle:.2f} ({low:.2f} to {high:.2f})"


def table() -> list[str]:
    """A row a coefficient; private columns are the first draw."""
    methods = ["coxph", "plain", *(f"epsilon {epsilon:g}" for epsilon in EPSILONS)]
    lines = [
        "| set | coefficient | " + " | ".join(HEADINGS) + " |",
        "|" + "---|" * (2 + len(methods)),
    ]
    first = {
        (row["set"], row["coefficient"], row["method"]): row for row in rows() if row["draw"] == "0"
    }
    for (name, coefficient), row in _coefficients().items():
        if SETS[name] not in LISTED:
            continue
        cells = [ratio(first[name, coefficient, method]) for method in methods]
        unit = "" if float(row["scale"]) == 1.0 else ", per sd"
        lines.append(f"| {SETS[name]} | {coefficient}{unit} | {' | '.join(cells)} |")
    return lines


LISTED = ("FL", "rott2")
"""The sets whose coefficients the page lists."""
HEADINGS = ("R's coxph", "discreet, plain", "private, ε = 4", "private, ε = 1")


def _coefficients() -> dict[tuple[str, str], dict[str, str]]:
    return {(row["set"], row["coefficient"]): row for row in rows() if row["method"] == "coxph"}


def distances(method: str, name: str | None = None) -> np.ndarray:
    """(estimate - R's) in R's standard errors, all draws and coefficients."""
    truth = _coefficients()
    found = [
        (float(row["estimate"]) - float(truth[row["set"], row["coefficient"]]["estimate"]))
        / float(truth[row["set"], row["coefficient"]]["standard_error"])
        for row in rows()
        if row["method"] == method and name in {None, row["set"]}
    ]
    return np.abs(np.array(found))


def held(method: str, name: str | None = None) -> float:
    """How often our 95 % interval holds R's estimate."""
    truth = _coefficients()
    inside = [
        abs(float(row["estimate"]) - float(truth[row["set"], row["coefficient"]]["estimate"]))
        <= NORMAL_POINT * float(row["standard_error"])
        for row in rows()
        if row["method"] == method and name in {None, row["set"]}
    ]
    return float(np.mean(inside))


def summary() -> list[str]:
    """By set: how far from R, in R's standard errors, and how often the interval holds R's estimate."""
    methods = ("plain", *(f"epsilon {epsilon:g}" for epsilon in EPSILONS))
    private = [f"ε = {epsilon:g}: median, holds R's" for epsilon in EPSILONS]
    headings = ["set", "people", "events", "plain: median, largest distance", *private]
    lines = [f"| {' | '.join(headings)} |", "|---|---|---|---|---|---|"]
    for name, shown in SETS.items():
        plain = distances("plain", name)
        found = [
            f"{np.median(distances(method, name)):.2f}, {held(method, name):.0%}"
            for method in methods[1:]
        ]
        row = next(row for row in rows() if row["set"] == name)
        facts = f"| {shown} | {int(row['people']):,} | {int(row['events']):,} "
        lines.append(f"{facts}| {np.median(plain):.2f}, {plain.max():.2f} | {' | '.join(found)} |")
    return lines


def tables() -> str:
    """What stands between the page's marks."""
    return "\n".join([*summary(), "", *table(), "", *too_fine()])


def too_fine() -> list[str]:
    """What a grid finer than the unit of measurement does."""
    return [
        f"**Grids and ties.** {SETS[name]} has times in whole months, and an interval is a month above. "
        f"On {INTERVALS:,} intervals the same fit is up to {distances(TOO_FINE, name).max():.2f} of R's "
        f"standard errors away instead of {distances('plain', name).max():.2f}, because events at the "
        "ends of months only are no smooth hazard within them. Finer than the unit is not better."
        for name in WHOLE_MONTHS
    ]


if __name__ == "__main__":
    measure_or_fill(__doc__, run, lambda: fill(PAGE, MARKS, tables()))
