# ruff: noqa: INP001, T201, scripts beside each other, no package; progress is printed
"""Private competing risks: errors and intervals against the truth, by cause.

    python studies/causes.py --draws 20     every draw a row of results/causes.csv; it resumes
    python studies/causes.py --table        the table of docs/accuracy.md from these rows

Every draw has people of its own from a multinomial logit of two causes with a constant baseline; the
second cause is rarer. Noise is the testing source's. A row has, for one cause, the distance from the
fit without privacy in its own standard errors (err), how many of the covariates' 95 % intervals hold
the truth, and whether the intervals of its incidence at two times, for one person, do.
"""

import argparse
import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import discreet as ds

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "causes.csv"
CELLS = [(people, epsilon) for people in (5_000, 20_000) for epsilon in (1.0, 4.0)]
COLUMNS = (
    "people", "epsilon", "draw", "cause", "events", "err", "inside", "intervals", "incidence",
)  # fmt: skip
CAUSES = {"cancer": (-3.6, 0.03, 0.5), "other": (-4.6, 0.02, -0.4)}
TIMES = (10.0, 20.0)
AGE, MIDDLE = 70.0, 65.0
SCHEMA = {
    "time": {
        "duration": "time",
        "event": "cause",
        "horizon": 20,
        "intervals": 20,
        "causes": {cause: [cause] for cause in CAUSES},
    },
    "covariate": [
        {"name": "age", "low": 40, "high": 90},
        {"name": "arm", "levels": ["a", "b"]},
    ],
}


def odds(age: Any, arm: Any) -> np.ndarray:
    """Of each cause against no event, in every interval."""
    values = [np.exp(a + b * (age - MIDDLE) + c * arm) for a, b, c in CAUSES.values()]
    return np.array(values)


def people(number: int, seed: int) -> pa.Table:
    """Discrete times, causes, and censoring that is uniform beyond the horizon."""
    random = np.random.default_rng(seed)
    age, arm = random.uniform(40, 90, number), random.integers(2, size=number)
    each = odds(age, arm)
    time = random.geometric(each.sum(axis=0) / (1.0 + each.sum(axis=0)))
    first = random.random(number) < each[0] / each.sum(axis=0)
    censored = np.minimum(random.integers(1, 30, number), 20)
    cause = np.where(first, *CAUSES)
    return pa.table(
        {
            "time": np.minimum(time, censored) - 0.5,
            "cause": np.where(time <= censored, cause, "alive"),
            "age": age,
            "arm": np.where(arm == 1, "b", "a"),
        }
    )


def true_incidence(place: int) -> np.ndarray:
    """Of one cause at TIMES, for somebody of arm b."""
    each = odds(AGE, 1.0)
    stay = 1.0 / (1.0 + each.sum())
    whole = np.cumsum(stay ** np.arange(20) * each[place] * stay)
    return whole[[int(time) - 1 for time in TIMES]]


def rows_of(number: int, epsilon: float, draw: int) -> Iterator[dict[str, Any]]:
    """One draw, a row for each cause."""
    table = people(number, draw)
    plain = ds.SurvivalRegression(SCHEMA, link="logit").fit(table).model_
    made = ds.simulate(
        ds.SurvivalRegression(SCHEMA, link="logit"),
        table,
        mechanism=ds.PrivateNewton(epsilon),
        seed=10_000 + draw,
    )
    new = pa.table({"age": [AGE], "arm": ["b"]})
    for place, (cause, truth) in enumerate(CAUSES.items()):
        found, exact = made.model_.models[cause], plain.models[cause]
        gap = found.coefficients.vector - exact.coefficients.vector
        err = np.sqrt(gap @ np.linalg.solve(exact.covariance, gap) / len(gap))
        errors = np.sqrt(np.diag(found.covariance))[-2:]
        away = np.abs(found.coefficients.vector[-2:] - np.array(truth[1:]))
        limits = made.predict_incidence(new, cause, TIMES, interval=True)
        true = true_incidence(place)
        held = (limits.lower[0] <= true) & (true <= limits.upper[0])
        yield {
            "people": number,
            "epsilon": epsilon,
            "draw": draw,
            "cause": cause,
            "events": exact.fit.events,
            "err": f"{err:.4f}",
            "inside": int(np.sum(away < 1.96 * errors)),
            "intervals": len(away),
            "incidence": int(np.sum(held)),
        }


def run(draws: int) -> None:
    """Rows that are not there yet, written as they come."""
    there = {(row["people"], row["epsilon"], row["draw"]) for row in read()}
    new = not RESULTS.exists()
    with RESULTS.open("a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if new:
            writer.writeheader()
        for draw in range(draws):
            for number, epsilon in CELLS:
                if (str(number), str(epsilon), str(draw)) in there:
                    continue
                writer.writerows(rows_of(number, epsilon, draw))
                file.flush()
                print(draw, number, epsilon, flush=True)


def read() -> list[dict[str, str]]:
    """The rows so far."""
    if not RESULTS.exists():
        return []
    with RESULTS.open() as file:
        return list(csv.DictReader(file))


def table() -> str:
    """The page's table: medians of err, coverage of effects and of incidence."""
    lines = [
        "| people | ε | cause | events | draws | err, median | effects inside | incidence inside |",
        "|---|---|---|---|---|---|---|---|",
    ]
    found = read()
    for number, epsilon in CELLS:
        for cause in CAUSES:
            cell = (str(number), str(epsilon), cause)
            own = [row for row in found if (row["people"], row["epsilon"], row["cause"]) == cell]
            sums = {
                name: sum(int(row[name]) for row in own)
                for name in ("inside", "intervals", "incidence", "events")
            }
            err = np.median([float(row["err"]) for row in own])
            lines.append(
                f"| {number:,} | {epsilon:g} | {cause} | {sums['events'] / len(own):.0f} | "
                f"{len(own)} | {err:.2f} | {sums['inside'] / sums['intervals']:.0%} | "
                f"{sums['incidence'] / (len(TIMES) * len(own)):.0%} |"
            )
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--table", action="store_true")
    asked = parser.parse_args()
    if asked.table:
        print(table())
    else:
        run(asked.draws)
