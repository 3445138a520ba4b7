"""Write people.csv, the simulated people that the R script fits: python -m tests.oracle.make_people."""

from pathlib import Path

from pyarrow import csv

from tests.cohorts import cohort

if __name__ == "__main__":
    table = cohort(people=300, seed=7)
    table = table.set_column(1, "status", table["status"].cast("int8"))
    csv.write_csv(table, Path(__file__).with_name("people.csv"))
