"""What unequal grids, strata and effects that change cost, plain and private: ratios in one run.

    python benchmarks/grids.py [--people 300000] [--only private]

Fits take turns, round by round, so that a busy machine disturbs all of them; medians over rounds of
processor times, and of ratios within a round. Written to results/grids.csv, where rows that are not
measured stay (those of an earlier run say that their clock was on the wall); tests ask for the limits.
"""

import argparse
import csv
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa

import discreet as ds

RESULTS = Path(__file__).parent / "results" / "grids.csv"
COLUMNS = ("people", "case", "against", "seconds", "ratio", "limit", "clock")
ROUNDS = 3
HORIZON = 1826.0
TWICE, OFTEN = (365.0, 1095.0), (180.0, 365.0, 730.0, 1095.0)
PRIVATE = ds.PrivateNewton(epsilon=1.0, delta=1e-6)
CASES: dict[str, tuple[Any, ...]] = {
    # grid, strata, when effects change, how many of them do, the mechanism
    "equal, 200": ({"intervals": 200}, 1, (), 0),
    "equal, 2000": ({"intervals": 2_000}, 1, (), 0),
    "growing, 200": ({"intervals": 200, "first": 1.0}, 1, (), 0),
    "growing, 2000": ({"intervals": 2_000, "first": 0.1}, 1, (), 0),
    "5 strata, 200": ({"intervals": 200}, 5, (), 0),
    "an effect in 3 periods, 200": ({"intervals": 200}, 1, TWICE, 1),
    "an effect in 3 periods, 2000": ({"intervals": 2_000}, 1, TWICE, 1),
    "8 effects in 3 periods, 200": ({"intervals": 200}, 1, TWICE, 8),
    "an effect in 5 periods, 200": ({"intervals": 200}, 1, OFTEN, 1),
    "private, 200": ({"intervals": 200}, 1, (), 0, PRIVATE),
    "private, 2000": ({"intervals": 2_000}, 1, (), 0, PRIVATE),
    "private, an effect in 3 periods, 200": ({"intervals": 200}, 1, TWICE, 1, PRIVATE),
    "private, an effect in 3 periods, 2000": ({"intervals": 2_000}, 1, TWICE, 1, PRIVATE),
    "private, 8 effects in 3 periods, 200": ({"intervals": 200}, 1, TWICE, 8, PRIVATE),
    "private, an effect in 5 periods, 200": ({"intervals": 200}, 1, OFTEN, 1, PRIVATE),
}
RATIOS = (
    ("equal, 2000", "equal, 200", 1.4),
    ("growing, 2000", "growing, 200", 1.4),
    ("5 strata, 200", "equal, 200", 1.5),
    # K periods cost at most 1 + 0.3 K
    ("an effect in 3 periods, 200", "equal, 200", 1.9),
    ("8 effects in 3 periods, 200", "equal, 200", 1.9),
    ("an effect in 5 periods, 200", "equal, 200", 2.5),
    ("an effect in 3 periods, 2000", "an effect in 3 periods, 200", 1.4),
    ("private, an effect in 3 periods, 200", "private, 200", 1.9),
    ("private, 8 effects in 3 periods, 200", "private, 200", 1.9),
    ("private, an effect in 5 periods, 200", "private, 200", 2.5),
    ("private, an effect in 3 periods, 2000", "private, 2000", 1.9),
    ("private, an effect in 3 periods, 2000", "private, an effect in 3 periods, 200", 1.4),
    ("private, 2000", "private, 200", 1.4),
)


def main() -> None:
    """Measure all cases and write their ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--people", type=int, default=300_000)
    parser.add_argument("--only", default="", help="cases whose name begins so")
    arguments = parser.parse_args()
    cases = {name: case for name, case in CASES.items() if name.startswith(arguments.only)}
    table = simulate(arguments.people)
    for case in cases.values():  # compiled, imported
        fit_seconds(table, *case)
    seconds: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(ROUNDS):
        for name, case in cases.items():
            seconds[name].append(fit_seconds(table, *case))
    with RESULTS.open(newline="", encoding="utf-8") as file:
        rows = {(row["case"], row["against"]): row for row in csv.DictReader(file)}
    for case, other, limit in RATIOS:
        if case in cases:
            both = zip(seconds[case], seconds[other], strict=True)
            ratio = median(one / two for one, two in both)
            spent = f"{median(seconds[case]):.3f}", f"{ratio:.2f}"
            values = (arguments.people, case, other, *spent, limit, "processor")
            rows[case, other] = dict(zip(COLUMNS, map(str, values), strict=True))
            print(*values)
    with RESULTS.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows[case, other] for case, other, _ in RATIOS)


def simulate(people: int) -> pa.Table:
    """Eight covariates, a falling hazard, five hospitals."""
    random = np.random.default_rng(3)
    covariates = random.uniform(-1.0, 1.0, (people, 8))
    time_to = 1_500.0 * random.weibull(0.7, people) * np.exp(-0.3 * covariates.sum(axis=1))
    columns = {f"x{k}": covariates[:, k] for k in range(8)}
    hospital = pa.array(random.choice(list("ABCDE"), people))
    return pa.table(
        {
            "t": np.minimum(time_to, HORIZON),
            "e": time_to <= HORIZON,
            "hospital": hospital,
            **columns,
        }
    )


def fit_seconds(
    table: pa.Table,
    grid: dict[str, Any],
    strata: int,
    changes: tuple[float, ...],
    changing: int,
    mechanism: ds.PrivateNewton | None = None,
) -> float:
    """Processor time of one whole fit, from the table to the standard errors."""
    schema: dict[str, Any] = {
        "time": {"duration": "t", "event": "e", "horizon": HORIZON, **grid},
        "covariate": [{"name": f"x{k}", "low": -1.0, "high": 1.0} for k in range(8)],
    }
    for item in schema["covariate"][:changing]:
        item["changes_at"] = list(changes)
    if strata > 1:
        schema["strata"] = {"name": "hospital", "levels": list("ABCDE")}
    model = ds.SurvivalRegression(schema, link="logit")
    start = time.process_time()
    if mechanism is None:
        model.fit(table)
    else:
        ds.simulate(model, table, mechanism=mechanism, seed=1)
    return time.process_time() - start


if __name__ == "__main__":
    main()
