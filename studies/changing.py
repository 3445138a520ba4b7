# ruff: noqa: INP001, T201, scripts beside each other, no package; progress is printed
"""Do effects change with time? The test of Grambsch and Therneau on the real sets.

    python studies/changing.py      results/changing.csv, which docs/accuracy.md shows

Covariates as in censoring.py; lifelines fits Cox's model (Efron's ties) and tests its residuals against
the rank of time. A model of constant effects is wrong where the chi-square over its degrees of freedom
is large.
"""

import csv
from pathlib import Path

import numpy as np
from censoring import covariates
from lifelines import CoxPHFitter
from lifelines.statistics import proportional_hazard_test
from real_sets import DEVELOPMENT, HELD_OUT, OTHERS, load
from simulated import Sample

RESULTS = Path(__file__).parent / "results" / "changing.csv"
COLUMNS = ("set", "chi2_over_df", "strongest", "its_chi2")
RIDGE = 1e-4


def main() -> None:
    """One row a set."""
    with RESULTS.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for name in (*DEVELOPMENT, *HELD_OUT, *OTHERS):
            writer.writerow({"set": name, **changing(load(name))})
            print(name)


def changing(sample: Sample) -> dict[str, str]:
    """The mean of the covariates' tests, and the strongest."""
    people, end = (
        covariates(sample.frame.drop(columns=["t", "e"])),
        sample.schema["time"]["horizon"],
    )
    people["t"], people["e"] = np.minimum(sample.frame["t"], end) + 1e-6, sample.frame["e"]
    fitted = CoxPHFitter(penalizer=RIDGE).fit(people, "t", "e")
    tests = proportional_hazard_test(fitted, people, time_transform="rank").summary[
        "test_statistic"
    ]
    return {
        "chi2_over_df": f"{tests.mean():.1f}",
        "strongest": str(tests.idxmax()),
        "its_chi2": f"{tests.max():.0f}",
    }


if __name__ == "__main__":
    main()
