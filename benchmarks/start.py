"""From the first second: whole commands on 20,000 people of a CSV file, in units of their imports.

    python benchmarks/start.py [--fresh] [--table]

One unit is the import of the libraries that cannot be spared. Commands take turns, round by round;
times are processor seconds of all threads, units are medians of the ratios within a round. It resumes;
`make bench` writes the page.
"""

import sys
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from file_case import COMMANDS, run, write
from results_file import Key, Results, fill

HERE = Path(__file__).parent
FILE = HERE / "results" / "start.csv"
PAGE = HERE.parent / "docs" / "speed.md"
PEOPLE, ROUNDS = 20_000, 3
UNIT, FIRST, LATER, PLAIN = "libraries", "first private fit", "later private fit", "plain fit"
COX = (
    "import pandas as pd; from lifelines import CoxPHFitter; "
    "frame = pd.get_dummies(pd.read_csv('people.csv'), drop_first=True, dtype=float); "
    "CoxPHFitter().fit(frame, 'time', 'status')"
)
CONTENDERS = {
    UNIT: COMMANDS[UNIT],
    PLAIN: COMMANDS["plain fit"],
    FIRST: COMMANDS["private release"],
    LATER: COMMANDS["private release"],  # summary and predict read what it wrote
    "discreet summary": ["-m", "discreet", "summary", "out.json"],
    "discreet predict": [
        *["-m", "discreet", "predict", "out.json", "people.csv"],
        *["--times", "1,5", "--out", "predicted.csv", "--overwrite"],
    ],
    "discreet --help": COMMANDS["discreet --help"],
    "lifelines Cox, imports included": ["-c", COX],
    "pyarrow reads the file": ["-c", "from pyarrow import csv; csv.read_csv('people.csv')"],
}
AT_MOST = {FIRST: 25.0, LATER: 2.2, PLAIN: 1.8}

HEAD = """## From the first second

Written by `python benchmarks/start.py` from `benchmarks/results/start.csv`: whole commands on a CSV file
of 20,000 people, 60 intervals and 5 covariates. Processor seconds of all threads, medians of ROUNDS
rounds in turns. Other work on the machine makes all times larger, so read the units: one unit is the import of
the required libraries (numpy, scipy.special, pyarrow, numba, pydantic, narwhals, typer, rich). The first
private fit after an installation compiles.

| | processor, s | units | wanted, at most |
|---|---|---|---|
"""


def main() -> None:
    """Measure what is missing, then write the page."""
    results = Results(FILE, fresh="--fresh" in sys.argv)
    if "--table" not in sys.argv:
        measure(results)
    fill(PAGE, "start", page(results))
    print(f"wrote {PAGE.relative_to(HERE.parent)}")


def measure(results: Results) -> None:
    """Each command in its turn; the first private fit of every round has no compiled code."""
    keys = [Key("start", name, k) for k in range(ROUNDS) for name in CONTENDERS]
    if results.has(keys):
        return
    with TemporaryDirectory() as folder:
        place = Path(folder)
        write(place, PEOPLE)
        for name in (UNIT, PLAIN, LATER):  # bytecode is written, code compiled
            run(CONTENDERS[name], place, place / "later")
        for key in keys:
            cache = place / (f"first {key.round}" if key.contender == FIRST else "later")
            taken = partial(seconds, CONTENDERS[key.contender], place, cache)
            results.measure(key, "s", taken)


def seconds(words: list[str], place: Path, cache: Path) -> float:
    """Processor seconds of a command."""
    return run(words, place, cache)[0]


def page(results: Results) -> str:
    """A row a command."""
    units = results.numbers("start", UNIT)
    rows = []
    for name in CONTENDERS:
        times = results.numbers("start", name)
        ratio = median(time / unit for time, unit in zip(times, units, strict=True))
        limit = f"{AT_MOST[name]:g}" if name in AT_MOST else ""
        missed = ", **missed**" if ratio > AT_MOST.get(name, ratio) else ""
        rows.append(f"| {name} | {median(times):.2f} | {ratio:.1f}{missed} | {limit} |")
    return HEAD.replace("ROUNDS", f"{len(units)} of {ROUNDS}") + "\n".join(rows) + "\n"


if __name__ == "__main__":
    main()
