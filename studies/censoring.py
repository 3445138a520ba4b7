# ruff: noqa: INP001, T201, scripts beside each other, no package; progress is printed
"""Does censoring go with covariates? Cox's model of the time to censoring on the real sets.

    python studies/censoring.py      results/censoring.csv, which docs/accuracy.md shows

Covariates as in real_sets.py, standardised, levels as indicators; whoever is observed to the horizon is
not censored early. lifelines fits (Efron's ties). A cohort whose members are all censored alike is
wrong where the chi-square over its degrees of freedom is large.
"""

import csv
from pathlib import Path

import numpy as np
import pandas as pd
from lifelines import CoxPHFitter
from real_sets import DEVELOPMENT, HELD_OUT, load
from simulated import Sample

RESULTS = Path(__file__).parent / "results" / "censoring.csv"
COLUMNS = ("set", "censored", "chi2_over_df", "strongest", "log_hazard_ratio")
HORIZON = 0.99
"""Whoever leaves after this part of the horizon is taken to be observed to its end."""
RIDGE = 1e-4


def main() -> None:
    """One row a set."""
    with RESULTS.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for name in (*DEVELOPMENT, *HELD_OUT):
            writer.writerow({"set": name, **censoring(load(name))})
            print(name)


def censoring(sample: Sample) -> dict[str, str]:
    """The share censored early, the test, and the strongest covariate per standard deviation."""
    frame, end = sample.frame, HORIZON * float(sample.schema["time"]["horizon"])
    people = covariates(frame.drop(columns=["t", "e"]))
    people["t"] = np.minimum(frame["t"], end) + 1e-6
    people["c"] = ((frame["e"] == 0) & (frame["t"] < end)).astype(int)
    fitted = CoxPHFitter(penalizer=RIDGE).fit(people, "t", "c")
    test, strongest = fitted.log_likelihood_ratio_test(), fitted.params_.abs().idxmax()
    return {
        "censored": f"{people['c'].mean():.2f}",
        "chi2_over_df": f"{test.test_statistic / len(fitted.params_):.1f}",
        "strongest": str(strongest),
        "log_hazard_ratio": f"{fitted.params_[strongest]:.2f}",
    }


def covariates(table: pd.DataFrame) -> pd.DataFrame:
    """Standardised columns; what is missing is the mean."""
    columns = pd.get_dummies(table, drop_first=True).astype(float)
    columns = columns.fillna(columns.mean())
    columns = columns.loc[:, columns.std() > 0]
    return (columns - columns.mean()) / columns.std()


if __name__ == "__main__":
    main()
