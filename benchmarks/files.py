"""A plain fit from a CSV file against the same fit from a table in memory.

    python benchmarks/files.py [--fresh]

A million people with an id and five covariates; contenders take turns, round by round. Reading and
counting are timed apart as well: what counting repairs adds to a fit must cost less than reading.
It resumes; `--fresh` begins again. `make bench` writes the page.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
from cohort import Cohort, simulate
from pyarrow import csv
from results_file import Key, Results

from discreet import Schema, SurvivalRegression
from discreet.people.encode import to_episodes
from discreet.people.repairs import count_repairs
from discreet.people.tables import Table, read_table

FILE = Path(__file__).parent / "results" / "files.csv"
PEOPLE, WARM_UP, COVARIATES, INTERVALS, ROUNDS = 1_000_000, 20_000, 5, 200, 5
TABLE, CSV, READING, COUNTING = "fit(table)", "fit(csv)", "reading alone", "counting repairs"


def main() -> None:
    """Measure what is missing."""
    results = Results(FILE, fresh="--fresh" in sys.argv)
    keys = [Key("files", who, k) for k in range(ROUNDS) for who in (TABLE, CSV, READING, COUNTING)]
    if results.has(keys):
        return
    with TemporaryDirectory() as folder:
        for run in contenders(WARM_UP, Path(folder)).values():
            run()
        runs = contenders(PEOPLE, Path(folder))
        for key in keys:
            results.measure(key, "s", runs[key.contender])


def contenders(people: int, folder: Path) -> dict[str, Callable[[], float]]:
    """One measurement each, in seconds."""
    cohort, path = simulate(people, COVARIATES), folder / f"{people}.csv"
    table, schema = _with_ids(cohort), _person_schema(cohort)
    csv.write_csv(table, path)
    return {
        TABLE: lambda: _seconds(lambda: SurvivalRegression(schema, link="logit").fit(table)),
        CSV: lambda: _seconds(lambda: SurvivalRegression(schema, link="logit").fit(path)),
        READING: lambda: _seconds(lambda: read_table(path, schema)),
        COUNTING: lambda: _counting(read_table(path, schema), schema),
    }


def _with_ids(cohort: Cohort) -> pa.Table:
    table = cohort.table()
    ids = pa.array(np.arange(table.num_rows) + 10_000_000)
    return table.add_column(0, "id", ids)


def _person_schema(cohort: Cohort) -> Schema:
    return cohort.schema(INTERVALS).model_copy(update={"person": "id"})


def _counting(table: Table, schema: Schema) -> float:
    """What is counted beside a fit, which keeps ids and spans with the table."""
    to_episodes(table, schema)
    return _seconds(lambda: count_repairs(table, schema))


def _seconds(action: Callable[[], object]) -> float:
    """Processor time of all threads: a busy machine disturbs it little, and threads gain nothing."""
    started = time.process_time()
    action()
    return time.process_time() - started


if __name__ == "__main__":
    main()
