# ruff: noqa: INP001, T201, scripts beside each other, no package; progress is printed
"""Which baseline should be the default: how near survival is to Kaplan-Meier, and what it costs.

    python studies/baselines.py           releases for every set, into results/baselines.csv
    python studies/baselines.py --page    the table of docs/publish.md from them

Of each set with one event, one row a person and no late entry, with the default link:

    curve   root mean square over 40 times, up to that by which 90 % have left, of the mean predicted
            survival of the people less their Kaplan-Meier estimate
    err     root mean square over effects of (private - exact) / exact standard error, with the exact fit
            of the same baseline

Medians over DRAWS releases of real noise. No constant of discreet was chosen by these numbers.
"""

import csv
import statistics
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from fresh import real
from fresh.family import Array, Registry
from marked import fill, measure_or_fill
from real_sets import DEVELOPMENT, HELD_OUT, load

import discreet as ds
from discreet.metrics import KaplanMeier

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "baselines.csv"
PAGE = HERE.parent / "docs" / "publish.md"
MARKS = ("<!-- baselines: begin -->", "<!-- baselines: end -->")
BASELINES = ("natural-spline:3", "natural-spline:5", "natural-spline:7", "log-time:3")
EPSILONS, DELTA, DRAWS, TIMES, SAMPLE = (1.0, 4.0), 1e-6, 5, 40, 2_000
COLUMNS = ("set", "people", "events", "baseline", "epsilon", "curve", "err")
PLAIN = "plain"


def registries() -> Iterator[Registry]:
    """The sets, by name."""
    for maker, names in ((load, (*DEVELOPMENT, *HELD_OUT)), (real.load, real.SETS)):
        for name in names:
            found = maker(name)
            axis = found.schema["time"]
            if "causes" not in axis and "entry" not in axis and "person" not in found.schema:
                yield found


def rows_of(sample: Registry) -> Iterator[dict[str, Any]]:
    """Without privacy and with it, by each baseline."""
    axis, frame = sample.schema["time"], sample.frame
    time = frame["time"].clip(upper=axis["horizon"]).to_numpy(dtype=float)
    event = (frame["event"].astype(str) == "1").to_numpy() & (frame["time"] <= axis["horizon"])
    event = np.asarray(event, dtype=bool)
    points = np.linspace(0.0, np.quantile(time, 0.9), TIMES + 1)[1:]
    people, observed = frame.iloc[:: -(-len(frame) // SAMPLE)], KaplanMeier.of(time, event)(points)
    facts = {"set": sample.name, "people": len(frame), "events": int(event.sum())}

    def curve(model: Any) -> float:
        mean = model.predict_survival(people, times=points).mean(axis=0)
        return float(np.sqrt(np.mean((mean - observed) ** 2)))

    for baseline in BASELINES:
        model = ds.SurvivalRegression(ds.Schema.from_mapping(sample.schema), baseline=baseline)
        exact = model.fit(frame)
        effects, errors = _effects(exact)
        yield {**facts, "baseline": baseline, "epsilon": PLAIN, "curve": curve(exact), "err": 0.0}
        for epsilon in EPSILONS:
            curves, errs = [], []
            for _ in range(DRAWS):
                fresh = ds.SurvivalRegression(model.schema, baseline=baseline)
                mechanism = ds.PrivateNewton(epsilon, delta=DELTA)
                drawn = fresh.publish(frame, mechanism=mechanism, ledger=ds.NO_LEDGER)
                curves.append(curve(drawn))
                gaps = (_effects(drawn)[0] - effects) / errors
                errs.append(float(np.sqrt(np.mean(gaps**2))))
            found = {"curve": statistics.median(curves), "err": statistics.median(errs)}
            yield {**facts, "baseline": baseline, "epsilon": epsilon, **found}


def _effects(model: Any) -> tuple[Array, Array]:
    """Coefficients of covariates and their standard errors."""
    document = model.model_
    size = len(document.coefficients.covariates)
    vector = np.asarray(document.coefficients.vector)
    return vector[-size:], np.sqrt(np.diag(np.asarray(document.covariance)))[-size:]


def run() -> None:
    """Every set again."""
    warnings.simplefilter("ignore")
    with RESULTS.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for sample in registries():
            for row in rows_of(sample):
                writer.writerow({key: _shown(value) for key, value in row.items()})
            file.flush()
            print(sample.name, flush=True)


def _shown(value: Any) -> Any:
    return f"{value:.4g}" if isinstance(value, float) else value


def table() -> Iterator[str]:
    """By baseline and epsilon: medians over sets, and geometric means of ratios to the default."""
    with RESULTS.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    cells: dict[tuple[str, str], dict[str, tuple[float, float]]] = defaultdict(dict)
    for row in rows:
        pair = float(row["curve"]), float(row["err"])
        cells[row["baseline"], row["epsilon"]][row["set"]] = pair
    yield (
        f"| baseline, {len({row['set'] for row in rows})} sets | ε | curve: median | of the default's "
        "| at most | effects: median | of the default's |"
    )
    yield "|---|---|---|---|---|---|---|"
    for (baseline, epsilon), found in cells.items():
        usual = cells[BASELINES[0], epsilon]
        curves, errs = np.array(list(found.values())).T
        ratios = np.array([found[name][0] / usual[name][0] for name in found])
        effects = " | "
        if epsilon != PLAIN:
            further = np.exp(np.mean([np.log(found[x][1] / usual[x][1]) for x in found]))
            effects = f"{np.median(errs):.2f} | {further:.2f}"
        yield (
            f"| `{baseline}` | {epsilon} | {np.median(curves):.3f} | "
            f"{np.exp(np.log(ratios).mean()):.2f} | {ratios.max():.2f} | {effects} |"
        )


if __name__ == "__main__":
    measure_or_fill(__doc__, run, lambda: fill(PAGE, MARKS, "\n".join(table())))
