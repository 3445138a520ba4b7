"""One fit in memory, streamed and on Dask: time and memory against n, q, block size and workers.

    python benchmarks/scale.py [--fresh] [--table] [--largest N]

Every measurement runs in a process of its own (so that its memory is its own), goes to
results/scale.csv as it comes, and a run that was stopped resumes there. At the end docs/speed.md
and its figure are written from the file.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from file_case import COMMANDS, STEPS
from results_file import Key, Results, fill
from scale_page import draw, page

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "scale.csv"
PAGE = HERE.parent / "docs" / "speed.md"
FIGURE = HERE.parent / "docs" / "images" / "scale.svg"
# What every case reports: the time of the fit, of one evaluation of the loss, its extra memory.
UNITS = {"fit": "s", "evaluation": "s", "memory": "MB", "overhead": "s"}


def main() -> None:
    """Measure what is missing, then write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fresh", action="store_true", help="measure everything again")
    parser.add_argument("--table", action="store_true", help="only write the page")
    parser.add_argument("--file", action="store_true", help="only the way of a CSV file")
    parser.add_argument("--largest", type=int, default=10_000_000, help="people at most")
    arguments = parser.parse_args()
    results = Results(RESULTS, fresh=arguments.fresh)
    if not arguments.table:
        measure_file(results)
        if not arguments.file:
            measure(results, arguments.largest)
    fill(PAGE, "scale", page(results))
    draw(results, FIGURE)
    print(f"wrote {PAGE.relative_to(HERE.parent)}")


def cases(largest: int) -> Iterator[dict[str, object]]:
    """What is measured: engine, people, intervals, rows a block, workers."""
    for people in (100_000, 1_000_000, 10_000_000):
        if people <= largest:
            yield {"engine": "memory", "people": people, "intervals": 200}
            yield {"engine": "stream", "people": people, "intervals": 200}
    for intervals in (50, 800, 3_200):
        yield {"engine": "memory", "people": 1_000_000, "intervals": intervals}
    for block in (65_536, 1_048_576):
        yield {"engine": "stream", "people": 1_000_000, "intervals": 200, "block": block}
    for people in (1_000_000, 10_000_000):
        for workers in (1, 2):
            if people <= largest:
                yield {"engine": "dask", "people": people, "intervals": 200, "workers": workers}


def measure(results: Results, largest: int) -> None:
    """Each case in its own process; the files of one cohort are made once."""
    with tempfile.TemporaryDirectory() as folder:
        for case in cases(largest):
            name = " ".join(f"{key}={value}" for key, value in case.items())
            if results.has([Key(quantity, name) for quantity in UNITS]):
                continue
            found = _run({**case, "folder": folder})
            for quantity, unit in UNITS.items():
                results.measure(Key(quantity, name), unit, partial(found.__getitem__, quantity))


def measure_file(results: Results) -> None:
    """Each step from a CSV file to a release, in processes of its own."""
    with tempfile.TemporaryDirectory() as folder:
        for step in (*COMMANDS, *STEPS):
            quantities = {"processor": "s", **({"memory": "MB"} if step in COMMANDS else {})}
            name = f"file: {step}"
            if results.has([Key(quantity, name) for quantity in quantities]):
                continue
            found = _run_script("file_case.py", folder, step)
            for quantity, unit in quantities.items():
                results.measure(Key(quantity, name), unit, partial(found.__getitem__, quantity))


def _run(case: dict[str, object]) -> dict[str, float]:
    return _run_script("scale_case.py", json.dumps(case))


def _run_script(*words: str) -> dict[str, float]:
    command = [sys.executable, str(HERE / words[0]), *words[1:]]
    output = subprocess.run(command, check=True, capture_output=True, text=True, cwd=HERE)
    found: dict[str, float] = json.loads(output.stdout.splitlines()[-1])
    return found


if __name__ == "__main__":
    main()
