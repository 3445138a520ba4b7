"""One case of the scale benchmark, in a process of its own; prints one line of JSON.

fit: from the columns (in memory: decoded; otherwise the files) to the optimum and its information.
evaluation: one sum of loss, gradient and Hessian. memory: peak of the process during the fit, above
what it held after the imports (and, in memory, without the table itself). overhead: one sum of next
to nothing (for a stream that still reads the files).
"""

import json
import re
import sys
import time
from pathlib import Path

import numpy as np
from cohort import Cohort, simulate
from pyarrow import parquet

import discreet as ds
from discreet.design.design import Design
from discreet.design.link import get_link
from discreet.engine.engine import Engine
from discreet.engine.stream import StreamEngine, find_files
from discreet.estimate import estimate
from discreet.likelihood.problem import Problem, block_totals
from discreet.people.source import People

CHUNK = 500_000
COVARIATES = 8


def main(case: dict[str, object]) -> dict[str, float]:
    """Make the data if they are not there, then measure."""
    people, intervals = int(str(case["people"])), int(str(case["intervals"]))
    folder = Path(str(case["folder"])) / str(people)
    if not folder.exists():
        write(folder, people)
    schema = simulate(1, COVARIATES).schema(intervals)
    warm_up(schema)
    data = parquet.read_table(folder) if case["engine"] == "memory" else str(folder / "*.parquet")
    return measured(case, data, schema)


def measured(case: dict[str, object], data: object, schema: ds.Schema) -> dict[str, float]:
    """The fit, then single sums on the same engine."""
    client = start_workers(case)
    before = resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    started = time.perf_counter()
    engine = open_engine(case, data, schema)
    loss = Problem(engine, Design(schema, ds.NaturalSpline(3)), get_link("logit"))
    loss.information(estimate(loss).point)
    fit = time.perf_counter() - started
    memory = (resident("VmHWM") - before) / 1e6
    point = np.zeros(loss.dimension)
    loss(point)
    evaluation = seconds(lambda: loss(point))
    overhead = seconds(lambda: engine.reduce(block_totals))
    if client is not None:
        client.shutdown()
    return {"fit": fit, "evaluation": evaluation, "memory": memory, "overhead": overhead}


def open_engine(case: dict[str, object], data: object, schema: ds.Schema) -> Engine:
    """The engine of the case."""
    if "block" in case:
        return StreamEngine(find_files(str(data)), schema, int(str(case["block"])))
    name = "dask" if case["engine"] == "dask" else "auto"
    return People.of(data, engine=name).open(schema)


def start_workers(case: dict[str, object]) -> object:
    """A cluster of single-threaded workers, which the fit then finds."""
    if case["engine"] != "dask":
        return None
    from discreet.engine.cluster import local_client  # noqa: PLC0415 - only this case pays

    return local_client(int(str(case["workers"])))


def seconds(action: object, rounds: int = 3) -> float:
    """The median of a few calls."""
    found = []
    for _ in range(rounds):
        started = time.perf_counter()
        action()
        found.append(time.perf_counter() - started)
    return float(np.median(found))


def warm_up(schema: ds.Schema) -> None:
    """Imports and compiled code are there before anything is counted."""
    ds.SurvivalRegression(schema, link="logit").fit(simulate(200_000, COVARIATES).table())


def write(folder: Path, people: int) -> None:
    """The cohort in files of half a million people."""
    folder.mkdir(parents=True)
    for part in range(-(-people // CHUNK)):
        size = min(CHUNK, people - part * CHUNK)
        cohort: Cohort = simulate(size, COVARIATES, seed=part)
        parquet.write_table(cohort.table(), folder / f"{part:04}.parquet")


def resident(field: str) -> int:
    """Bytes of memory of this process."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(re.search(field + r":\s+(\d+)", status)[1])


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
