# ruff: noqa: INP001, T201, scripts beside each other, no package; progress is printed
"""Private curves by group: bands against the truth, the level of the test, errors beside others.

    python studies/curves.py --draws 200     every draw a row of results/curves.csv; it resumes
    python studies/curves.py --page          docs/curves-measured.md from these rows

Every draw has people of its own: two groups with one hazard that falls with time, uniform
censoring, 60 intervals, with and without late entry. Noise is the testing source's, whose laws are
those of a release up to rounding. Beside it the method of Gondara and Wang (2020) on the same
people with the same epsilon: Laplace noise of scale 2/epsilon on the first number at risk and on
every count of events and of censored people, intervals by interval, and Kaplan-Meier's product.
"""

import argparse
import csv
import math
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.random import Generator, default_rng

import discreet as ds
from discreet.privacy.accountant import rho_for

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "curves.csv"
PAGE = HERE.parent / "docs" / "curves-measured.md"
INTERVALS = 60
HAZARD = 0.02 * np.exp(-np.arange(INTERVALS) / 20.0) + 0.009
TRUTH = np.cumprod(1.0 - HAZARD)
DELTA = 1e-6
BAR = 0.93
BANDS = {"inside": "pointwise", "simultaneous": "whole curve"}
CELLS = [
    (people, epsilon, delta, late)
    for people in (1_000, 20_000)
    for epsilon in (0.5, 2.0)
    for delta in (DELTA, 0.0)
    for late in (False, True)
]
EQUAL_CHARGE = {0.5: 0.124, 2.0: 0.451}
"""Pure epsilons that take as much of a shared budget as (epsilon, 1e-6): e tanh(e/2) = rho."""
CHARGED = [
    (people, small, 0.0, False) for people in (1_000, 20_000) for small in EQUAL_CHARGE.values()
]
KEYS = ("people", "epsilon", "delta", "late", "draw")
COLUMNS = (
    *KEYS, "inside", "simultaneous", "width", "error", "exact_error", "gondara_wang_error",
    "median_inside", "mean_inside", "p_value",
)  # fmt: skip


def schema(*, late: bool) -> dict[str, Any]:
    """Public facts: the horizon is 60, an interval is 1 long."""
    time = {"duration": "time", "event": "event", "horizon": INTERVALS, "intervals": INTERVALS}
    entry = {"entry": "entry"} if late else {}
    return {"time": {**time, **entry}, "covariate": [{"name": "group", "levels": ["a", "b"]}]}


def sample(people: int, random: Generator, *, late: bool) -> pa.Table:
    """Both groups have the same hazard, so that the test's null holds."""
    event = np.sum(random.random(people)[:, None] < TRUTH, axis=1)
    entry = random.integers(0, 30, people) * (random.random(people) < 0.5) * late
    censored = np.minimum(random.integers(1, 90, people), INTERVALS - 1)
    kept = (event >= entry) & (censored >= entry)
    columns = {
        "time": np.minimum(event, censored) + 0.5,
        "event": event <= censored,
        "group": np.where(random.random(people) < 0.5, "a", "b"),
        "entry": entry.astype(float),
    }
    return pa.table({name: column[kept] for name, column in columns.items()})


def kaplan_meier(at_risk: np.ndarray, events: np.ndarray) -> np.ndarray:
    """The product, cut to [0, 1]; nobody at risk: no further event."""
    hazard = np.divide(events, at_risk, out=np.zeros(len(events)), where=at_risk > 0)
    return np.cumprod(1.0 - np.clip(hazard, 0.0, 1.0))


def counts(table: pa.Table) -> tuple[np.ndarray, np.ndarray]:
    """Events and censored people of group a, by interval."""
    chosen = np.array(table["group"].to_pylist()) == "a"
    place = np.floor(np.asarray(table["time"])).astype(int)[chosen]
    event = np.asarray(table["event"])[chosen]
    return (
        np.bincount(place[event], minlength=INTERVALS).astype(float),
        np.bincount(place[~event], minlength=INTERVALS).astype(float),
    )


def gondara_wang(table: pa.Table, epsilon: float, random: Generator) -> np.ndarray:
    """Their partial matrix (first at risk, events, censored) with Laplace noise of scale 2/epsilon."""
    events, censored = counts(table)
    first = events.sum() + censored.sum() + random.laplace(0.0, 2.0 / epsilon)
    events = np.maximum(events + random.laplace(0.0, 2.0 / epsilon, INTERVALS), 0.0)
    censored = np.maximum(censored + random.laplace(0.0, 2.0 / epsilon, INTERVALS), 0.0)
    left = np.cumsum(events + censored)
    return kaplan_meier(np.maximum(first - left + events + censored, 0.0), events)


def exact(table: pa.Table) -> np.ndarray:
    """Kaplan-Meier of group a without noise, at every interval's end."""
    events, censored = counts(table)
    chosen = np.array(table["group"].to_pylist()) == "a"
    entered = np.bincount(np.asarray(table["entry"]).astype(int)[chosen], minlength=INTERVALS)
    left = np.cumsum(events + censored) - events - censored
    return kaplan_meier(np.cumsum(entered) - left, events)


def measure(people: int, epsilon: float, delta: float, draw: int, *, late: bool) -> dict[str, Any]:
    """One draw of one cell."""
    random = default_rng([draw, people, int(epsilon * 10), int(late), int(delta > 0)])
    table = sample(people, random, late=late)
    release = ds.Curves(schema(late=late), by="group").simulate(
        table, epsilon=epsilon, delta=delta, seed=int(random.integers(2**31))
    )
    ends = release.times[1:].astype(int)
    truth, curve = TRUTH[ends - 1], release.estimates[0]
    band, whole = curve.survival, np.concatenate([[1.0], TRUTH])
    median = float(np.interp(-0.5, -whole, np.arange(INTERVALS + 1.0)))
    mean = float(np.trapezoid(np.interp(release.times, np.arange(61.0), whole), release.times))
    other = np.nan if late else np.mean(np.abs(gondara_wang(table, epsilon, random) - TRUTH))
    return {
        "inside": np.mean((band.lower <= truth) & (truth <= band.upper)),
        "simultaneous": float(
            np.all((band.lower_simultaneous <= truth) & (truth <= band.upper_simultaneous))
        ),
        "width": np.mean(band.upper - band.lower),
        "error": np.mean(np.abs(band.estimate - truth)),
        "exact_error": np.mean(np.abs(exact(table) - TRUTH)),
        "gondara_wang_error": other,
        "median_inside": float(curve.median.lower <= median <= curve.median.upper),
        "mean_inside": float(curve.restricted_mean.lower <= mean <= curve.restricted_mean.upper),
        "p_value": release.log_rank.p_value,
    }


def rows() -> list[dict[str, str]]:
    """What was measured so far."""
    if not RESULTS.exists():
        return []
    with RESULTS.open(newline="") as file:
        return list(csv.DictReader(file))


def missing(draws: int) -> Iterator[tuple[int, float, float, bool, int]]:
    """Cells and draws without a row, all cells of a draw before the next draw."""
    done = {tuple(row[key] for key in KEYS) for row in rows()}
    for draw in range(draws):
        for people, epsilon, delta, late in (*CELLS, *CHARGED):
            if (str(people), str(epsilon), str(delta), str(late), str(draw)) not in done:
                yield people, epsilon, delta, late, draw


def run(draws: int) -> None:
    """Append a row per draw."""
    new = not RESULTS.exists()
    with RESULTS.open("a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        if new:
            writer.writeheader()
        for people, epsilon, delta, late, draw in missing(draws):
            found = measure(people, epsilon, delta, draw, late=late)
            shown = {key: f"{value:.5g}" for key, value in found.items()}
            keys = dict(zip(KEYS, (people, epsilon, delta, late, draw), strict=True))
            writer.writerow({**keys, **shown})
            file.flush()
            print(people, epsilon, delta, late, draw, flush=True)


def summary(chosen: list[dict[str, str]]) -> dict[str, float]:
    """Means over the draws of a cell; the share of tests rejected at 5 %."""

    def mean(name: str) -> float:
        return statistics.fmean(float(row[name]) for row in chosen)

    rejected = statistics.fmean(float(row["p_value"]) < 0.05 for row in chosen)
    return {name: mean(name) for name in COLUMNS[5:-1]} | {"rejected": rejected}


def table(cells: list[tuple[int, float, float, bool]]) -> list[str]:
    """A line per cell."""
    heading = (
        "| people | ε | δ | late entry | draws | inside, pointwise | whole curve | median | "
        "restricted mean | mean width | error | exact error | Gondara and Wang | test rejects |"
    )
    lines = [heading, "|" + "---|" * 14]
    for people, epsilon, delta, late in cells:
        chosen = rows_of(people, epsilon, delta, late=late)
        if chosen:
            lines.append(line(chosen, people, epsilon, delta, late=late))
    return lines


def rows_of(people: int, epsilon: float, delta: float, *, late: bool) -> list[dict[str, str]]:
    """The draws of a cell."""
    keys = (str(people), str(epsilon), str(delta), str(late))
    return [row for row in rows() if tuple(row[key] for key in KEYS[:4]) == keys]


def line(
    chosen: list[dict[str, str]], people: int, epsilon: float, delta: float, *, late: bool
) -> str:
    """One cell in words."""
    found = summary(chosen)
    other = found["gondara_wang_error"]
    shown = "" if late else f"{other:.4f}"
    return (
        f"| {people:,} | {epsilon:g} | {delta:g} | {'yes' if late else 'no'} | {len(chosen)} | "
        f"{found['inside']:.3f} | {found['simultaneous']:.2f} | {found['median_inside']:.2f} | "
        f"{found['mean_inside']:.2f} | {found['width']:.3f} | {found['error']:.4f} | "
        f"{found['exact_error']:.4f} | {shown} | {found['rejected']:.3f} |"
    )


TEXT = """# Curves by group, measured

Made by `python studies/curves.py --page` from `studies/results/curves.csv`; `make curves` measures
more draws. Every draw has people of its own: two groups with the same hazard, which falls with
time, uniform censoring, 60 intervals; with late entry half of the people enter in the first half
of the axis. Noise is the testing source's, whose laws are those of a release up to rounding.

*Inside*: how often the 95 % band holds the true survival, over the ends of the stretches; *whole
curve*: how often the simultaneous band holds all of it; the same for the median and the restricted
mean. *Error* is the mean distance from the true curve; *exact error* that of Kaplan and Meier's
without noise, which is what sampling costs. *Test rejects*: the log-rank test at 5 % where all
groups are the same.

**Failures first.** {failures}

{table}

The method of Gondara and Wang (2020), pure epsilon, adds Laplace noise of scale 2/ε to the first
number at risk and to every count, at every interval of the grid; it has no bands, no late entry
and no test, so only its error can be compared, in the rows with δ = 0 at an equal promise.

With 1,000 people at ε = 0.5 the noise is larger than what sampling alone would cost; with 20,000 it
hardly matters. Noise of cumulated counts grows with the logarithm of the number of stretches when
δ > 0 ([proof](proofs/group-curves.md)), so that fine stretches cost little; with δ = 0 counts are
released one by one and stretches are few.

## Which delta

Unless told otherwise δ is 1e-6, or 1/(10 n) where that is smaller. At the same ε a release with
δ = 0 is at least as accurate for few people, as the table above says. But it takes far more of a
budget that other releases share: a rho of ε tanh(ε/2) instead of that of (ε, δ),
which is {dearer}. The rows below are
pure releases that take **as much of such a budget** as the rows with δ = 1e-6 above (ε = 0.124 for
0.5, and 0.451 for 2):

{charged}

At an equal charge pure curves are {worse} times as far from the truth as those with δ. So the default
has a δ; where curves are the only release ever made of a small registry, `--delta 0` is better.
"""


def dearer() -> str:
    """How many times more a pure release takes of a shared budget."""
    times = {
        epsilon: epsilon * math.tanh(epsilon / 2.0) / float(rho_for(epsilon, DELTA))
        for epsilon in EQUAL_CHARGE
    }
    return " and ".join(f"{value:.0f} times as much at ε = {key:g}" for key, value in times.items())


def worse() -> str:
    """The range of ratios of errors at an equal charge."""
    found = [
        summary(rows_of(people, pure, 0.0, late=False))["error"]
        / summary(rows_of(people, epsilon, DELTA, late=False))["error"]
        for people in (1_000, 20_000)
        for epsilon, pure in EQUAL_CHARGE.items()
    ]
    return f"{min(found):.1f} to {max(found):.1f}"


def failures() -> str:
    """Cells whose bands hold the truth less often than asked, in words."""
    found = []
    for people, epsilon, delta, late in CELLS:
        chosen = rows_of(people, epsilon, delta, late=late)
        entry = "with" if late else "without"
        cell = f"{people:,} people, ε = {epsilon:g}, δ = {delta:g}, {entry} late entry"
        for key, name in BANDS.items():
            values = [float(row[key]) for row in chosen]
            if statistics.fmean(values) < BAR:
                error = statistics.stdev(values) / math.sqrt(len(values))
                found.append(f"- {name} {statistics.fmean(values):.3f} ± {error:.3f} ({cell})")
    if not found:
        return f"Bands hold the truth in at least {BAR:.0%} of draws in every row, both kinds."
    said = f"Below the bar of {BAR:g} are (± one standard error of so many draws):"
    return "\n".join([said, "", *found])


def page() -> str:
    """The text with its numbers."""
    return TEXT.format(
        table="\n".join(table(CELLS)),
        charged="\n".join(table(CHARGED)),
        failures=failures(),
        dearer=dearer(),
        worse=worse(),
    )


def main() -> None:
    """Measure, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--page", action="store_true")
    given = parser.parse_args()
    if given.page:
        PAGE.write_text(page())
    else:
        run(given.draws)


if __name__ == "__main__":
    main()
