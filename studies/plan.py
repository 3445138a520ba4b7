# ruff: noqa: INP001, T201, scripts beside each other, no package; progress is printed
"""Predicted standard errors against those that releases state, on real data.

    python studies/plan.py           predictions and releases for every set, into results/plan.csv
    python studies/plan.py --page    the table of docs/publish.md from them

The planner is told what is public: persons, events, and of the covariates the standard deviations of
numbers and the shares of levels. What comes out is the median over DRAWS releases of real noise. The
planner's constants were chosen on the development sets, not on those kept apart.
"""

import csv
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from fresh.family import Registry
from fresh.fits import DELTA, exact_fit, measure
from fresh.report import UNREACHED
from marked import fill, measure_or_fill
from real_sets import DEVELOPMENT, HELD_OUT, load

from discreet import Schema
from discreet.forecast import forecasts, outlook_for
from discreet.mechanisms.outlook import CovariateSpread

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "plan.csv"
PAGE = HERE.parent / "docs" / "publish.md"
MARKS = ("<!-- plan: begin -->", "<!-- plan: end -->")
EPSILONS, DRAWS = (1.0, 4.0), 4
FACTOR = 1.5
COLUMNS = (
    "set", "kind", "epsilon", "coefficient", "draws", "unreached",
    "predicted", "came_out", "predicted_plain", "plain",
)  # fmt: skip


def known_of(sample: Registry) -> CovariateSpread:
    """What a custodian could know from published tables."""
    sd, shares = {}, {}
    for item in sample.schema["covariate"]:
        values = sample.frame[item["name"]]
        if "levels" in item:
            shares[item["name"]] = [max(float((values == x).mean()), 1e-4) for x in item["levels"]]
        else:
            sd[item["name"]] = float(values.clip(item["low"], item["high"]).std())
    return CovariateSpread(sd, shares)


def run() -> None:
    """Every set again."""
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for name in (*DEVELOPMENT, *HELD_OUT):
            writer.writerows(rows_of(name))
            file.flush()
            print(name, flush=True)


def rows_of(name: str) -> Iterator[dict[str, object]]:
    """A row for every epsilon and coefficient of a set."""
    sample = load(name)
    exact, schema = exact_fit(sample), Schema.from_mapping(sample.schema)
    persons, events = len(sample.frame), int(sample.frame["event"].sum())
    outlook = outlook_for(schema, persons, events, known=known_of(sample))
    behind = len(exact.names) - len(schema.coefficient_names)
    for epsilon in EPSILONS:
        (plan,) = (
            item for item in forecasts(outlook, epsilon, DELTA) if item.mechanism == "newton"
        )
        drawn = [measure(sample, exact, epsilon) for _ in range(DRAWS)]
        ratios = np.median([np.array(row["ratios"].split(), float) for row in drawn], axis=0)
        named = [_unreached(row["cautions"]) for row in drawn]
        for place, coefficient in enumerate(schema.coefficient_names):
            own = behind + place
            yield {
                "set": name,
                "kind": "kept apart" if name in HELD_OUT else "development",
                "epsilon": f"{epsilon:g}",
                "coefficient": coefficient,
                "draws": DRAWS,
                "unreached": f"{np.mean([own in places for places in named]):.2f}",
                "predicted": f"{plan.standard_errors[place]:.5g}",
                "came_out": f"{ratios[own] * exact.errors[own]:.5g}",
                "predicted_plain": f"{outlook.sampling_errors[place]:.5g}",
                "plain": f"{exact.errors[own]:.5g}",
            }


def _unreached(cautions: str) -> set[int]:
    """Places of the coefficients that a release says the data do not reach."""
    lists = [item.partition(":")[2] for item in cautions.split() if item.startswith(UNREACHED)]
    return {int(place) for text in lists for place in text.split(",")}


def rows() -> list[dict[str, str]]:
    """What was predicted and came out."""
    with RESULTS.open(newline="") as file:
        return list(csv.DictReader(file))


def reached(row: dict[str, str]) -> bool:
    """Whether most releases say that the data reach the coefficient: others are what was assumed."""
    return float(row["unreached"]) < 0.5


def ratios(chosen: list[dict[str, str]]) -> np.ndarray:
    """Predicted over what came out."""
    return np.array([float(row["predicted"]) / float(row["came_out"]) for row in chosen])


def share(found: np.ndarray) -> float:
    """Within the factor, both ways."""
    return float(np.mean((found >= 1.0 / FACTOR) & (found <= FACTOR)))


def tables() -> str:
    """What stands between the page's marks."""
    lines = ["| sets | ε | coefficients | within 1.5, both ways | median ratio | least, largest |"]
    lines.append("|---|---|---|---|---|---|")
    for kind in ("development", "kept apart"):
        for epsilon in (f"{epsilon:g}" for epsilon in EPSILONS):
            chosen = [
                row
                for row in rows()
                if (row["kind"], row["epsilon"]) == (kind, epsilon) and reached(row)
            ]
            if chosen:
                found = ratios(chosen)
                lines.append(
                    f"| {kind} | {epsilon} | {len(found)} | {share(found):.0%} | "
                    f"{np.median(found):.2f} | {found.min():.2f}, {found.max():.2f} |"
                )
    return "\n".join([*lines, "", *misses()])


def misses() -> list[str]:
    """The worst, in words."""
    wrong = [row for row in rows() if reached(row) and not share(ratios([row]))]
    worst = sorted(wrong, key=lambda row: -abs(float(np.log(ratios([row])[0]))))[:3]
    named = "; ".join(
        f"{row['coefficient']} of {row['set']} at ε = {row['epsilon']}, {row['predicted']} predicted, "
        f"{row['came_out']} came out"
        for row in worst
    )
    left_out = sum(not reached(row) for row in rows())
    said = f"{left_out} coefficients are left out because half of the releases or more say that the data do not reach them."
    return [f"Furthest off: {named}. {said}"]


if __name__ == "__main__":
    measure_or_fill(__doc__, run, lambda: fill(PAGE, MARKS, tables()))
