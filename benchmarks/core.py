"""The non-private core against what a user would pick instead: ratios in one run.

    python benchmarks/core.py [--fresh] [--table]

Every measurement goes to results/core.csv as it comes, and a run that was stopped resumes there;
``--fresh`` starts over. At the end (or alone, with ``--table``) docs/speed.md is written from
the file. Contenders take turns, round by round, so that a busy machine disturbs all of them.
"""

import argparse
import os
import platform
import time
from collections.abc import Callable, Mapping
from functools import partial
from importlib.metadata import version
from pathlib import Path
from statistics import median

import numpy as np
from cohort import Cohort, simulate
from contenders import COX, EXPANDED, OURS, Fit, core_fit, glum_fit, whole_fit
from probes import (
    IMPORT,
    IMPORT_ESTIMATOR,
    first_run,
    import_seconds,
    memory_growth,
    second_run,
)
from results_file import Key, Results, fill
from table import page

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "core.csv"
SAMPLER = RESULTS.with_name("sampler.csv")
FILES = RESULTS.with_name("files.csv")
VERSIONS_FILE = RESULTS.with_name("versions.csv")
PAGE = HERE.parent / "docs" / "speed.md"
ROUNDS = 5
SLOW_ROUNDS = 3  # statsmodels and scikit-survival take half a minute a fit
GRIDS = (200, 2_000, 20_000)
VERSIONS = ("glum", "lifelines", "numba", "numpy", "scikit-learn", "scikit-survival", "statsmodels")
Contender = Callable[[Cohort, int], Fit]


def main() -> None:
    """Measure what is missing, then write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fresh", action="store_true", help="measure everything again")
    parser.add_argument("--table", action="store_true", help="only write the page")
    arguments = parser.parse_args()
    results = Results(RESULTS, fresh=arguments.fresh)
    if not arguments.table:
        measure(results)
    fill(PAGE, "speed", page(results, *map(Results, (SAMPLER, FILES, VERSIONS_FILE))))
    print(f"wrote {PAGE.relative_to(HERE.parent)}")


def measure(results: Results) -> None:
    """Every benchmark, cheapest first."""
    environment(results)
    small, large = simulate(53_558, 3), simulate(1_000_000, 8)
    probes(results, small, large)
    flatness(results, "grid small", small)
    flatness(results, "grid large", large)
    race(results, "large", large, {**OURS, **COX}, SLOW_ROUNDS)
    race(results, "small", small, {**OURS, **COX, **EXPANDED}, SLOW_ROUNDS)
    agreement(results, small)


def environment(results: Results) -> None:
    """What the numbers were measured on."""
    facts = {name: version(name) for name in VERSIONS}
    facts |= {"python": platform.python_version(), "cores": str(os.cpu_count())}
    for name, fact in facts.items():
        results.measure(Key("environment", name), "", partial(str, fact))


def race(
    results: Results,
    benchmark: str,
    cohort: Cohort,
    contenders: Mapping[str, Contender],
    rounds: int,
    intervals: int = 200,
) -> None:
    """Fits of one cohort, taking turns; one fit beforehand, untimed, of each of ours."""
    keys = [Key(benchmark, name, turn) for turn in range(rounds) for name in contenders]
    if results.has(keys):
        return
    fits = {name: prepare(cohort, intervals) for name, prepare in contenders.items()}
    for name in OURS.keys() & fits.keys():
        fits[name]()
    for key in keys:
        results.measure(key, "s", partial(seconds, fits[key.contender]))


def flatness(results: Results, benchmark: str, cohort: Cohort) -> None:
    """The same fit on finer grids."""
    fits = {f"q = {grid}": partial(on_grid, grid) for grid in GRIDS}
    race(results, benchmark, cohort, fits, ROUNDS)


def on_grid(grid: int, cohort: Cohort, intervals: int) -> Fit:  # noqa: ARG001
    """Our fit on a grid of its own."""
    fit = core_fit(cohort, grid)
    fit()
    return fit


def probes(results: Results, small: Cohort, large: Cohort) -> None:
    """What needs a fresh interpreter."""
    measurements: dict[str, tuple[str, Callable[[], float]]] = {
        "import discreet": ("s", partial(import_seconds, IMPORT)),
        "import SurvivalRegression": ("s", partial(import_seconds, IMPORT_ESTIMATOR)),
        "first run, n = 53,558": ("s", partial(first_run, small, 200)),
        "first run, n = 1,000,000": ("s", partial(first_run, large, 200)),
        "second run, n = 1,000,000": ("s", partial(second_run, large, 200)),
        "memory growth over input bytes": ("", partial(memory_growth, large, 200)),
    }
    for turn in range(SLOW_ROUNDS):
        for name, (unit, measurement) in measurements.items():
            results.measure(Key("probe", name, turn), unit, measurement)


def agreement(results: Results, cohort: Cohort) -> None:
    """The largest difference between our coefficients and glum's, which has the same likelihood."""

    def difference() -> float:
        ours, theirs = whole_fit(cohort, 200)(), glum_fit(cohort, 200)()
        return float(np.abs(ours - theirs).max())

    results.measure(Key("agreement", "discreet - glum"), "", difference)


def seconds(fit: Fit) -> float:
    """The median time of as many fits as go into a second, at least one.

    A fit of some hundredths of a second is otherwise at the mercy of what ran before it.
    """
    times: list[float] = []
    while sum(times) < 1.0:
        started = time.perf_counter()
        fit()
        times.append(time.perf_counter() - started)
    return median(times)


if __name__ == "__main__":
    main()
