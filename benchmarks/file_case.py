"""From a CSV file of a million people to a release: processor seconds of each step, and memory.

    python benchmarks/file_case.py FOLDER STEP

Prints one line of JSON. Processor seconds (all threads) are what a busy machine leaves alone;
`libraries` is the unit: the import of what cannot be spared.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

PEOPLE = 1_000_000
ROUNDS = 3
SCHEMA = """
[time]
duration = "time"
event = "status"
horizon = 10.0
intervals = 60
""" + "".join(f'\n[[covariate]]\nname = "x{j}"\nlow = -3\nhigh = 3\n' for j in range(4))
SCHEMA += '\n[[covariate]]\nname = "arm"\nlevels = ["a", "b", "c"]\n'
LIBRARIES = "import narwhals, numba, numpy, pyarrow, pydantic, rich, scipy.special, typer"
FIT = ["-m", "discreet", "fit", "people.csv", "--schema", "schema.toml", "--out", "out.json"]
COMMANDS = {
    "libraries": ["-c", LIBRARIES],
    "discreet --help": ["-m", "discreet", "--help"],
    "plain fit": [*FIT, "--overwrite", "--mechanism", "none"],
    "private release": [*FIT, "--overwrite", "--epsilon", "1", "--no-ledger", "--yes"],
}
STEPS = ("pyarrow's own read", "the parse", "what is repaired, counted", "spans and encoding")


def main(folder: Path, step: str) -> dict[str, float]:
    """Make the file if it is not there, then measure the step."""
    if not (folder / "people.csv").exists():
        write(folder)
    if step in COMMANDS:
        runs = [run(COMMANDS[step], folder) for _ in range(ROUNDS + 1)][1:]  # the first compiles
        return {"processor": min(time for time, _ in runs), "memory": runs[0][1]}
    return {"processor": in_process(folder)[step]}


def write(folder: Path, people: int = PEOPLE) -> None:
    """One row a person: time, event, four numbers and a category."""
    import numpy as np  # noqa: PLC0415 - each step loads what it needs
    import pyarrow as pa  # noqa: PLC0415
    from pyarrow import csv  # noqa: PLC0415

    random = np.random.default_rng(7)
    leaving = np.minimum(random.exponential(8, people), random.uniform(0, 12, people))
    columns = {"time": leaving.round(3), "status": random.integers(0, 2, people)}
    columns |= {f"x{j}": random.normal(size=people).round(3) for j in range(4)}
    columns["arm"] = random.choice(["a", "b", "c"], people)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "schema.toml").write_text(SCHEMA)
    csv.write_csv(pa.table(columns), folder / "people.csv")


def run(words: list[str], folder: Path, cache: Path | None = None) -> tuple[float, float]:
    """Processor seconds and peak megabytes of a command, with compiled code in that folder."""
    place = {} if cache is None else {"XDG_CACHE_HOME": str(cache)}
    place["PYTHONDONTWRITEBYTECODE"] = ""  # an installation has bytecode
    process = subprocess.Popen(
        [sys.executable, *words],
        cwd=folder,
        env={**os.environ, **place},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(words)} ended with {process.returncode}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1000


def in_process(folder: Path) -> dict[str, float]:
    """Steps within a fit, each at its best of several."""
    from pyarrow import csv  # noqa: PLC0415

    from discreet.design.schema import Schema  # noqa: PLC0415
    from discreet.people.encode import to_episodes  # noqa: PLC0415
    from discreet.people.repairs import count_repairs  # noqa: PLC0415
    from discreet.people.tables import read_table  # noqa: PLC0415

    schema, file = Schema.from_toml(folder / "schema.toml"), folder / "people.csv"
    calls = (
        lambda: csv.read_csv(file),
        lambda: read_table(file, schema),
        lambda table: count_repairs(table, schema),
        lambda table: to_episodes(table, schema),
    )
    found = {}
    for name, call in zip(STEPS, calls, strict=True):
        takes_table = name in STEPS[2:]
        found[name] = min(
            seconds(call, *([read_table(file, schema)] if takes_table else []))
            for _ in range(ROUNDS + 1)
        )
    return found


def seconds(call: Callable[..., object], *arguments: object) -> float:
    """Processor seconds of a call, all threads together."""
    started = time.process_time()
    call(*arguments)
    return time.process_time() - started


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), sys.argv[2])))
