# ruff: noqa: INP001, scripts beside each other, no package
"""What narrower intervals would cost at epsilon = 4: LIKENESS as it is, and a third of it.

    python studies/narrower.py [--draws 8]

An interval allows for what the synthetic cohort may get wrong of the sampling variance
(`spread.LIKENESS`). The price of a smaller allowance is paid where the noise is smallest. Every draw is a row of results/narrower.csv, rows that
are there are not made again; both values have the same people and the same noise.
`python studies/real_page.py` prints the table on docs/accuracy.md.
"""

import argparse
import statistics
import warnings
import zlib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from constants import Constant
from real import MEASURES, exact_fit, private_fit, row_of, sample_of
from real_summary import REAL, Cell, Rows

from discreet.mechanisms.newton import spread
from discreet.paper.results import Results

EPSILON, DELTA = 4.0, 1e-6
QUIET = (
    "dataDIVAT1", "nwtco", "prostateSurvival", "divorce", "right10", "line30", "heavy28right",
    "calendar",
)  # fmt: skip
"""Sets and designs whose noise is small beside sampling."""
LIKENESS = Constant("spread", "LIKENESS")
VALUES = (spread.LIKENESS, spread.LIKENESS / 3.0)
COLUMNS = ("value", "set", "draw", *MEASURES)
RESULTS = Results(Path(__file__).parent / "results" / "narrower.csv", COLUMNS, COLUMNS[:3])


def main(draws: int) -> None:
    """Every missing row."""
    for name in (*REAL, *QUIET):
        for draw in range(draws):
            _measure(name, draw)


def _measure(name: str, draw: int) -> None:
    missing = [
        value for value in VALUES if not RESULTS.has(value=f"{value:g}", set=name, draw=str(draw))
    ]
    if not missing:
        return
    sample = sample_of(name, draw)
    exact, seed = exact_fit(sample), zlib.crc32(f"{name}/{draw}".encode())
    for value in missing:
        with LIKENESS.set_to(value):
            release = private_fit(sample, EPSILON, DELTA, seed)
        found = {key: str(item) for key, item in row_of(sample, exact, release).items()}
        own = {"value": f"{value:g}", "set": name, "draw": str(draw)}
        RESULTS.append(own | {key: found[key] for key in MEASURES})


def cells() -> dict[str, dict[str, Cell]]:
    """By value, then by set."""
    rows: dict[str, dict[str, Rows]] = defaultdict(lambda: defaultdict(list))
    for row in RESULTS.rows():
        rows[row["value"]][row["set"]].append({**row, "seconds": "0"})
    return {
        value: {name: Cell.of(own) for name, own in sets.items()} for value, sets in rows.items()
    }


def table() -> Iterator[tuple[str, ...]]:
    """Noise alone and width for each value: the twelve sets together, then those with little noise."""
    found = cells()
    yield "", *(f"{part}, {value}" for value in found for part in ("noise alone", "width"))
    yield "the twelve, lowest and median", *_told(found, REAL)
    for name in QUIET:
        yield name, *_told(found, (name,))


def _told(found: dict[str, dict[str, Cell]], names: tuple[str, ...]) -> Iterator[str]:
    for sets in found.values():
        chosen = [sets[name] for name in names]
        yield f"{min(cell.noise_alone for cell in chosen):.2f}"
        yield f"{statistics.median(cell.ratio for cell in chosen):.3f}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--draws", type=int, default=8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        main(parser.parse_args().draws)
