"""Write the simulated people that the R scripts fit: python -m tests.oracle.make_people.

people.csv has one row a person, rows.csv late entries, several rows and gaps.
"""

from pathlib import Path

from pyarrow import csv

from tests.cohorts import cohort, episodic


def write(table, name):
    """With 0 and 1 for the status."""
    place = table.schema.get_field_index("status")
    table = table.set_column(place, "status", table["status"].cast("int8"))
    csv.write_csv(table, Path(__file__).with_name(name))


if __name__ == "__main__":
    write(cohort(people=300, seed=7), "people.csv")
    write(episodic(people=400, seed=8), "rows.csv")
