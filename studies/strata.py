# ruff: noqa: INP001, scripts beside each other, no package
"""Private strata: what one baseline for each of a few groups costs, draw by draw.

    python studies/strata.py [--draws 10]

Every set is fitted twice by private Newton: with the group as a covariate of one baseline, and with
a baseline for each group. err and inside are those of `real.py`, against the exact fit of the same
schema; d is the number of coefficients. Seeded noise, so that rows can be made again. Written to
results/strata.csv as they come; the guide's table is made of it.
"""

import argparse
import csv
import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median

import numpy as np
import pandas as pd
from fresh.family import Registry
from fresh.fits import exact_fit, measure
from fresh.real import MODEL
from real_sets import load

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "strata.csv"
EPSILONS = (1.0, 4.0)
COLUMNS = ("set", "groups", "strata", "people", "d", "epsilon", "draw", "err", "inside", "seconds")
NORMAL = 1.959964


def hospitals(shift: float, people: int = 6000) -> Registry:
    """Three hospitals whose hazards differ in level and trend; ages differ by `shift` spreads."""
    random = np.random.default_rng(17)
    site, stage = random.integers(0, 3, people), random.integers(0, 3, people)
    age = np.clip(random.normal(60 + 10 * shift * (site - 1), 10, people), 20, 100)
    sex, steps = random.integers(0, 2, people), np.arange(60)
    level = -4.2 + 0.5 * (site - 1) + 0.04 * (age - 60) + 0.4 * sex + 0.5 * stage
    trend = 0.01 * (site - 1)[:, None] * (steps - 30)
    hits = random.random((people, 60)) < 1 / (1 + np.exp(-(level[:, None] + trend)))
    died = np.where(hits.any(1), hits.argmax(1) + 0.5, 99.0)
    end = random.uniform(5, 80, people)
    frame = pd.DataFrame(
        {"time": np.minimum(died, end), "event": (died <= np.minimum(end, 60)).astype(int)}
    )
    frame["age"], frame["sex"], frame["stage"] = age, np.array(["f", "m"])[sex], stage.astype(str)
    frame["group"] = np.array(["A", "B", "C"])[site]
    covariates = [
        {"name": "age", "low": 20.0, "high": 100.0},
        {"name": "sex", "levels": ["f", "m"]},
        {"name": "stage", "levels": ["0", "1", "2"]},
        {"name": "group", "levels": ["A", "B", "C"]},
    ]
    axis = {"duration": "time", "event": "event", "horizon": 60.0, "intervals": 60}
    return Registry("hospitals", frame, {"time": axis, "covariate": covariates}, MODEL)


def tumours() -> Registry:
    """rott2 by the size of the tumour."""
    sample = load("rott2")
    return _grouped(sample, sample.frame["fac_tsize"], drop="fac_tsize")


def cancer() -> Registry:
    """rhc on a logarithmic grid, by cancer: none, yes, metastatic."""
    from SurvSet.data import SurvLoader  # noqa: PLC0415 - slow, and only for this set

    raw = SurvLoader().load_dataset("rhc")["df"]
    return _grouped(load("rhc/log"), raw["fac_ca"].astype(str))


def _grouped(sample: Registry, group: pd.Series, drop: str = "") -> Registry:
    """The same with the covariate `group`, the most frequent level first."""
    frame = sample.frame.assign(group=group.to_numpy())
    levels = [str(level) for level in group.value_counts().index]
    kept = [item for item in sample.schema["covariate"] if item["name"] != drop]
    covariates = [*kept, {"name": "group", "levels": levels}]
    return replace(sample, frame=frame, schema={**sample.schema, "covariate": covariates})


SETS: dict[str, Callable[[], Registry]] = {
    "hospitals alike": lambda: hospitals(0.0),
    "hospitals of other ages": lambda: hospitals(1.0),
    "rott2 by tumour size": tumours,
    "rhc by cancer": cancer,
}


def stratified(sample: Registry) -> Registry:
    """The group's levels as strata instead of a covariate."""
    covariates = sample.schema["covariate"]
    (group,) = (item for item in covariates if item["name"] == "group")
    others = [item for item in covariates if item is not group]
    strata = {"name": "group", "levels": group["levels"]}
    return replace(sample, schema={**sample.schema, "covariate": others, "strata": strata})


def draws_of(
    name: str, sample: Registry, draws: int, writer: Callable[[dict[str, object]], None]
) -> None:
    """All rows of a set."""
    exact = exact_fit(sample)
    strata = len(sample.schema.get("strata", {}).get("levels", ()))
    groups = max(strata, len(sample.schema["covariate"][-1].get("levels", ())))
    for epsilon in EPSILONS:
        for draw in range(draws):
            found = measure(sample, exact, epsilon)
            gaps, ratios = (np.array(found[key].split(), float) for key in ("gaps", "ratios"))
            inside = float(np.mean(np.abs(gaps) <= NORMAL * ratios))
            values = (
                name, groups, strata, len(sample.frame), len(gaps), f"{epsilon:g}", draw,
                found["err"], f"{inside:.3f}", found["seconds"],
            )  # fmt: skip
            writer(dict(zip(COLUMNS, values, strict=True)))


def table(rows: list[dict[str, str]]) -> list[str]:
    """The guide's table: medians of err and means of inside, without strata and with them."""
    lines = [
        "| people | epsilon | coefficients | err | inside |",
        "|---|---|---|---|---|",
    ]
    for name in SETS:
        for epsilon in EPSILONS:
            cell = [r for r in rows if r["set"] == name and float(r["epsilon"]) == epsilon]
            parts = zip(*(summary(cell, strata=strata) for strata in (False, True)), strict=True)
            sizes, errors, inside = (" → ".join(pair) for pair in parts)
            who = f"{name} ({int(cell[0]['people']):,})"
            lines.append(f"| {who} | {epsilon:g} | {sizes} | {errors} | {inside} |")
    return lines


def summary(cell: list[dict[str, str]], *, strata: bool) -> tuple[str, str, str]:
    """Coefficients, median of err and mean of inside, with strata or without."""
    rows = [row for row in cell if (row["strata"] != "0") == strata]
    err, inside = ([float(row[key]) for row in rows] for key in ("err", "inside"))
    return rows[0]["d"], f"{median(err):.2f}", f"{sum(inside) / len(inside):.0%}"


def read() -> list[dict[str, str]]:
    """The rows that are there."""
    with RESULTS.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def main() -> None:
    """Measure everything, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=10)
    draws = parser.parse_args().draws
    with RESULTS.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()

        def write(row: dict[str, object]) -> None:
            writer.writerow(row)
            file.flush()
            sys.stdout.write(" ".join(map(str, row.values())) + "\n")

        for name, make in SETS.items():
            for sample in (make(), stratified(make())):
                draws_of(name, sample, draws, write)
    sys.stdout.write("\n".join(table(read())) + "\n")


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        main()
