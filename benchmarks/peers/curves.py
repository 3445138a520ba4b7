"""Private Kaplan-Meier curves of one group, ours beside those of the literature.

    python benchmarks/peers/curves.py [--methods ...] [--again]

writes benchmarks/results/peers-curves.csv as it goes, and resumes from it; with --again it measures the methods anew.

The error is the root mean square, over the ends of 60 intervals, of the private curve minus Kaplan and
Meier's of the same people. A peer's number of intervals or coefficients is tuned on the people, not charged.
"""

import argparse
import statistics
import warnings
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from people import Array, raw
from run import DRAWS, EPSILONS, ROOT, SCRATCH, Row, code, read, store
from scipy.fft import dct, idct

import discreet as ds

RESULTS = ROOT / "benchmarks" / "results" / "peers-curves.csv"
FIELDS = ("set", "people", "method", "epsilon", "draw", "setting", "rmse", "largest", "inside",
          "half", "known", "code")  # fmt: skip
HORIZONS = {"lung": 1000.0, "veteran": 600.0, "mgus2": 360.0, "colrec": 3652.0}
INTERVALS, TUNING = 60, 10
DELTA = 1e-6


def main() -> None:
    """Measure what is missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--methods", nargs="+", default=METHODS, choices=METHODS)
    parser.add_argument("--again", action="store_true")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    done = {_place(row) for row in read(RESULTS)}
    for name, horizon in HORIZONS.items():
        table = raw(name, SCRATCH)[["time", "event"]].dropna()
        time, event = table["time"].to_numpy(float), table["event"].to_numpy(int)
        for method, epsilon in product(arguments.methods, EPSILONS):
            cell = {"set": name, "method": method, "epsilon": epsilon}
            if _place(cell) in done and not arguments.again:
                continue
            measure, settings = METHODS[method]

            def rows(setting: Any, seeds: range) -> Iterator[dict[str, Any]]:
                for seed in seeds:
                    yield measure(time / horizon, event, epsilon, setting, seed)  # noqa: B023

            tuned = settings[0]
            if len(settings) > 1:
                seeds = range(1000, 1000 + TUNING)
                errors = [statistics.median(r["rmse"] for r in rows(s, seeds)) for s in settings]
                tuned = settings[int(np.argmin(errors))]
            facts = {"set": name, "people": len(time), "method": method, "epsilon": epsilon}
            found = [
                facts | {"draw": draw, "setting": tuned or "", "code": code()} | row
                for draw, row in enumerate(rows(tuned, range(DRAWS)))
            ]
            spelled = [
                {
                    key: f"{value:.4g}" if isinstance(value, float) else value
                    for key, value in row.items()
                }
                for row in found
            ]
            store(RESULTS, FIELDS, spelled, _place)
            print(*facts.values(), tuned, statistics.median(row["rmse"] for row in found))


def placed(time: Array, steps: int) -> Array:
    """Return the interval of each person, 0 to steps - 1; steps for those beyond the horizon."""
    return np.where(time > 1, steps, np.clip(np.ceil(time * steps) - 1, 0, steps)).astype(int)


def exact(time: Array, event: Array) -> Array:
    """Return Kaplan and Meier's curve at the ends of 60 intervals."""
    ends, order = np.arange(1, INTERVALS + 1) / INTERVALS, np.argsort(time, kind="stable")
    times, happened = time[order], event[order]
    distinct = np.unique(times[happened > 0])
    at_risk = len(times) - np.searchsorted(times, distinct)
    deaths = np.array([np.sum((times == t) & (happened > 0)) for t in distinct])
    steps = np.concatenate([[1.0], np.cumprod(1 - deaths / at_risk)])
    return steps[np.searchsorted(distinct, ends, side="right")]


def errors(curve: Array, time: Array, event: Array) -> dict[str, Any]:
    """Return the root mean square and the largest distance of a curve at the ends."""
    gap = curve - exact(time, event)
    return {"rmse": float(np.sqrt(np.mean(gap**2))), "largest": float(np.abs(gap).max())}


def falling(curve: Array) -> Array:
    """Return the curve as far as it falls, between 0 and 1."""
    return np.minimum.accumulate(curve.clip(0, 1))


def ours(time: Array, event: Array, epsilon: float, delta: float, seed: int) -> dict[str, Any]:
    """discreet's curves by group; the second group has nobody in it."""
    axis = {"duration": "time", "event": "event", "horizon": 1.0, "intervals": INTERVALS}
    schema = {"time": axis, "covariate": [{"name": "group", "levels": ["all", "none"]}]}
    # times on a grid point are in the interval that begins there, and Kaplan and Meier's fall at it
    table = pd.DataFrame({"time": np.nextafter(time, 0), "event": event, "group": "all"})
    mechanism = ds.GroupCounts(epsilon, delta)
    curves = ds.simulate(ds.GroupCurves(schema, by="group"), table, mechanism=mechanism, seed=seed)
    release = curves.model_
    ends = np.arange(1, INTERVALS + 1) / INTERVALS
    curve, times = release.estimates[0], np.asarray(release.times[1:])
    band, own = curve.survival, exact(time, event)
    # the release's times are ends of our intervals, not all of them: between two it is a straight line
    at = np.searchsorted(ends + 1e-9, times)
    shown = own[np.minimum(at, INTERVALS - 1)]
    low, high = np.asarray(band.sample_lower), np.asarray(band.sample_upper)
    middle = np.interp(ends, np.append(0, times), np.append(1, band.estimate))
    return errors(middle, time, event) | {
        "inside": float(np.mean((low - 5e-4 <= shown) & (shown <= high + 5e-4))),
        "half": float(np.mean(high - low) / 2),
        "known": curve.known_until,
    }


def gondara(time: Array, event: Array, epsilon: float, steps: int, seed: int) -> dict[str, Any]:
    """Gondara and Wang (2020): Laplace noise of scale 2 / epsilon on first at risk, events, censored."""
    random, scale = np.random.default_rng(seed), 2 / epsilon
    place = placed(time, steps)
    noisy = [
        np.bincount(place[event == kind], minlength=steps + 1)[:steps]
        + random.laplace(0, scale, steps)
        for kind in (1, 0)
    ]
    events, censored = (np.maximum(counts, 0) for counts in noisy)
    before = np.concatenate([[0.0], np.cumsum(events + censored)[:-1]])
    at_risk = len(time) + random.laplace(0, scale) - before
    hazard = np.divide(events, at_risk, out=np.zeros(steps), where=at_risk > 0).clip(0, 1)
    return errors(_refined(np.cumprod(1 - hazard), steps), time, event)


def cosine(time: Array, event: Array, epsilon: float, kept: int, seed: int) -> dict[str, Any]:
    """The first cosine coefficients of the curve with Laplace noise, after Rahimian et al. (2023).

    Of the curve at q ends a person moves each value by at most 1/n where nobody is censored, so k
    coefficients by sqrt(k q) / n together. With censoring it can be more: what the noise promises is
    taken as stated, which favours the method.
    """
    random = np.random.default_rng(seed)
    found = dct(exact(time, event), norm="ortho")
    scale = np.sqrt(kept * INTERVALS) / (len(time) * epsilon)
    found[:kept] += random.laplace(0, scale, kept)
    found[kept:] = 0
    return errors(falling(idct(found, norm="ortho")), time, event)


def _refined(curve: Array, steps: int) -> Array:
    ends = np.arange(1, INTERVALS + 1) / INTERVALS
    return np.interp(ends, np.arange(steps + 1) / steps, np.append(1.0, curve))


Measure = Callable[[Array, Array, float, Any, int], dict[str, Any]]
METHODS: dict[str, tuple[Measure, tuple[Any, ...]]] = {
    "ours": (ours, (DELTA,)),
    "ours-pure": (ours, (0.0,)),
    "gondara": (gondara, (4, 6, 10, 15, 20, 30, 60)),
    "cosine": (cosine, (2, 3, 4, 6, 8, 12)),
}


def _place(row: Row) -> tuple[float, ...]:
    return (
        list(HORIZONS).index(row["set"]),
        list(METHODS).index(row["method"]),
        float(row["epsilon"]),
    )


if __name__ == "__main__":
    main()
