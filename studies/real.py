# ruff: noqa: INP001, scripts beside each other, no package
"""Private Newton on real data and on simulated designs: every draw a row of results/real.csv.

    python studies/real.py --draws 60 --label 0.2.0 [--tree CHECKOUT] [--sets a,b] [--held-out]

A release goes through the public interface, and so does the exact fit. `--tree` runs the source of
another checkout by the same script, which knows both interfaces. Rows that are there are not made
again. Noise is that of a real release unless `--seeded` asks for the testing source, whose laws are
the same up to rounding and whose draws can be repeated.

A row has, for every coefficient, gap = (private - exact) / exact standard error, ratio = private /
exact standard error, whether the release says that the data do not reach it, and on designs with a
known truth (truth - exact) / exact standard error; err = sqrt(gap' R^-1 gap / d), R the correlation
of the exact estimates, over the coefficients that are reached. Of simulated designs every draw has
people of its own. `python studies/real_page.py` makes the page.
"""

import argparse
import contextlib
import csv
import os
import subprocess
import sys
import time
import warnings
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from real_sets import (
    DEVELOPMENT,
    FURTHER,
    HELD_OUT,
    LOGARITHMIC,
    ONCE,
    OTHERS,
    load,
    paper_sets,
)
from simulated import DESIGNS, Sample

Array = NDArray[np.float64]

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "real.csv"
FACTS = HERE / "results" / "real-sets.csv"
EPSILONS, DELTAS = (1.0, 4.0, 1000.0), (1e-6, 0.0)
KEYS = ("label", "set", "epsilon", "delta", "draw")
MEASURES = ("err", "err_all", "gaps", "ratios", "flags", "truth", "unreached")
COLUMNS = (*KEYS, *MEASURES, "codes", "seconds")
FACT_COLUMNS = ("set", "kind", "people", "events", "dimension", "coefficients")
UNREACHED = "unreached"
"""The code of the warning that names coefficients which the data do not reach."""
UNKNOWN = "."


@dataclass(frozen=True)
class Exact:
    """The fit without privacy: coefficients, standard errors, their correlations."""

    names: tuple[str, ...]
    estimate: Array
    errors: Array
    correlation: Array


def main() -> None:
    """Every missing row."""
    options = _options()
    if options.tree:
        raise SystemExit(_elsewhere(options.tree))
    done = _done(options.results)
    names = options.sets.split(",") if options.sets else _all_sets(options)
    cells = [(e, d) for d in options.deltas for e in options.epsilons]
    for name in names:
        for draw in range(options.first, options.draws):
            missing = [cell for cell in cells if _key(options.label, name, *cell, draw) not in done]
            if missing:
                _measure(options, name, draw, missing)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--draws", type=int, default=60)
    parser.add_argument("--first", type=int, default=0, help="the first draw, to share the work")
    parser.add_argument("--label", required=True, help="names the version of the code")
    parser.add_argument("--sets", default="", help="some sets, by commas")
    parser.add_argument("--held-out", action="store_true", help="the four sets that are kept apart")
    parser.add_argument("--once", action="store_true", help="the sets that are run at the very end")
    parser.add_argument("--log", action="store_true", help="the sets on logarithmic grids too")
    parser.add_argument("--tree", type=Path, help="another checkout, whose source is measured")
    parser.add_argument("--epsilons", type=_numbers, default=EPSILONS)
    parser.add_argument("--deltas", type=_numbers, default=DELTAS)
    parser.add_argument("--seeded", action="store_true", help="noise that can be repeated")
    parser.add_argument("--results", type=Path, default=RESULTS)
    return parser.parse_args()


def _numbers(text: str) -> tuple[float, ...]:
    return tuple(float(item) for item in text.split(","))


def _elsewhere(tree: Path) -> int:
    """The same command with another tree's source in front."""
    given = sys.argv[1:]
    if "--tree" in given:
        place = given.index("--tree")
        given = given[:place] + given[place + 2 :]
    else:
        given = [item for item in given if not item.startswith("--tree=")]
    environment = {**os.environ, "PYTHONPATH": str((tree / "src").resolve())}
    command = [sys.executable, str(HERE / "real.py"), *given]
    return subprocess.run(command, env=environment, check=False).returncode  # noqa: S603 - ours


def _all_sets(options: argparse.Namespace) -> tuple[str, ...]:
    asked = (options.held_out, HELD_OUT), (options.once, ONCE), (options.log, LOGARITHMIC)
    further = [name for wanted, names in asked if wanted for name in names]
    return (*DEVELOPMENT, *FURTHER, *OTHERS, *further, *paper_sets(), *DESIGNS)


def _key(label: str, name: str, epsilon: float, delta: float, draw: int) -> tuple[str, ...]:
    return label, name, f"{epsilon:g}", f"{delta:g}", str(draw)


def _done(path: Path) -> set[tuple[str, ...]]:
    if not path.is_file():
        return set()
    with path.open(newline="", encoding="utf-8") as lines:
        return {tuple(row[key] for key in KEYS) for row in csv.DictReader(lines)}


def _append(path: Path, columns: tuple[str, ...], row: dict[str, object]) -> None:
    """One line at once: several runs may share a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = not path.is_file()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        if fresh:
            writer.writeheader()
        writer.writerow(row)


_KEPT: dict[tuple[str, int], tuple[Sample, Exact]] = {}


def _prepared(options: argparse.Namespace, name: str, draw: int) -> tuple[Sample, Exact]:
    """The people and their exact fit; of a real set the same for every draw."""
    key = (name, draw) if name in DESIGNS else (name, 0)
    if key not in _KEPT:
        _KEPT.clear()
        sample = sample_of(name, draw)
        _KEPT[key] = sample, exact_fit(sample)
        _note_facts(options.results.parent / FACTS.name, name, sample, _KEPT[key][1])
    return _KEPT[key]


def sample_of(name: str, draw: int) -> Sample:
    """The people of a set, or those that a draw of a design has for itself."""
    return DESIGNS[name](1000 * draw) if name in DESIGNS else load(name)


def _note_facts(path: Path, name: str, sample: Sample, exact: Exact) -> None:
    if path.is_file():
        with path.open(newline="", encoding="utf-8") as lines:
            if name in {row["set"] for row in csv.DictReader(lines)}:
                return
    kind = "simulated" if name in DESIGNS else "paper" if name in paper_sets() else "real"
    person = sample.schema.get("person")
    people = sample.frame[person].nunique() if person else len(sample.frame)
    events = int(sample.frame["e"].where(sample.frame["t"].notna(), 0).sum())
    values = (name, kind, people, events, len(exact.names), " ".join(exact.names))
    _append(path, FACT_COLUMNS, dict(zip(FACT_COLUMNS, values, strict=True)))


def exact_fit(sample: Sample) -> Exact:
    """The maximum likelihood fit; where nothing is known of any coefficient there is none."""
    from discreet import Schema, SurvivalRegression  # noqa: PLC0415 - of the tree on the path

    schema = Schema.from_mapping(sample.schema)
    names = (*_baseline_names(sample), *schema.coefficient_names)
    if set(names) == set(sample.unreached):
        nothing = np.full(len(names), np.nan)
        return Exact(names, nothing, nothing, np.eye(len(names)))
    fitted = SurvivalRegression(schema, baseline="natural-spline:3", link="logit").fit(sample.frame)
    covariance = fitted.model_.covariance
    errors = np.sqrt(np.diag(covariance))
    estimate = fitted.model_.coefficients.vector
    return Exact(names, estimate, errors, covariance / np.outer(errors, errors))


def _baseline_names(sample: Sample) -> list[str]:
    """Of three knots; with strata those of each."""
    strata = sample.schema.get("strata")
    if strata is None:
        return [f"baseline[{k}]" for k in (1, 2, 3)]
    named = [f"baseline[{strata['name']}={level}]" for level in strata["levels"]]
    return [f"{name}[{k}]" for name in named for k in (1, 2, 3)]


def private_fit(sample: Sample, epsilon: float, delta: float, seed: int | None) -> Any:
    """A release by the interface of the tree that runs."""
    import discreet  # noqa: PLC0415 - of the tree on the path

    mechanism = discreet.PrivateNewton(epsilon, delta=delta)
    if not hasattr(discreet, "simulate"):
        return _private_fit_of_0_1(sample, mechanism, seed)
    model = discreet.SurvivalRegression(
        discreet.Schema.from_mapping(sample.schema), baseline="natural-spline:3", link="logit"
    )
    if seed is not None:
        return discreet.simulate(model, sample.frame, mechanism=mechanism, seed=seed).model_
    return model.publish(sample.frame, mechanism=mechanism, ledger=discreet.NO_LEDGER).release_


def _private_fit_of_0_1(sample: Sample, mechanism: Any, seed: int | None) -> Any:
    """Version 0.1.0 took the mechanism with the model."""
    from discreet import Schema, SurvivalRegression  # noqa: PLC0415
    from discreet.privacy.testing import SeededNoise  # noqa: PLC0415
    from discreet.release import simulation  # noqa: PLC0415

    schema = Schema.from_mapping(sample.schema)
    model = SurvivalRegression(
        schema, baseline="natural-spline:3", mechanism=mechanism, link="logit"
    )
    drawn = contextlib.nullcontext() if seed is None else simulation(SeededNoise(seed))
    with drawn:
        return model.publish(sample.frame).release_


def _measure(
    options: argparse.Namespace, name: str, draw: int, cells: list[tuple[float, float]]
) -> None:
    sample, exact = _prepared(options, name, draw)
    for epsilon, delta in cells:
        key = _key(options.label, name, epsilon, delta, draw)
        seed = zlib.crc32("/".join(key[1:]).encode()) if options.seeded else None
        start = time.perf_counter()
        release = private_fit(sample, epsilon, delta, seed)
        found = row_of(sample, exact, release)
        found["seconds"] = f"{time.perf_counter() - start:.2f}"
        _append(options.results, COLUMNS, dict(zip(KEYS, key, strict=True)) | found)
        sys.stdout.write(f"{' '.join(key)}: err {found['err']}\n")
        sys.stdout.flush()


def row_of(sample: Sample, exact: Exact, release: Any) -> dict[str, object]:
    """What is kept of one release."""
    estimate = release.coefficients.vector
    errors = np.sqrt(np.maximum(np.diag(release.covariance), 0.0))
    flagged = _flagged(release, exact.names)
    known = np.array([name not in sample.unreached for name in exact.names])
    gap, ratio = (estimate - exact.estimate) / exact.errors, errors / exact.errors
    truth = np.array([sample.truth.get(name, np.nan) for name in exact.names])
    told = truth if sample.truth else np.full(len(truth), np.nan)
    return {
        "err": _decimals(_error(gap, exact, known & ~flagged)),
        "err_all": _decimals(_error(gap, exact, known)),
        "gaps": _listed(gap, known),
        "ratios": _listed(ratio, known),
        "flags": "".join("1" if flag else "0" for flag in flagged),
        "truth": _listed((told - exact.estimate) / exact.errors, known & ~np.isnan(told)),
        "unreached": _listed(estimate / errors, ~known),
        "codes": " ".join(sorted({_code(item) for item in release.warnings})),
    }


def _error(gap: Array, exact: Exact, chosen: NDArray[np.bool_]) -> float:
    """The distance over the chosen coefficients, the others profiled out."""
    if not chosen.any():
        return float("nan")
    part = exact.correlation[np.ix_(chosen, chosen)]
    return float(np.sqrt(gap[chosen] @ np.linalg.solve(part, gap[chosen]) / chosen.sum()))


def _flagged(release: Any, names: tuple[str, ...]) -> NDArray[np.bool_]:
    """Coefficients that the release says the data do not reach."""
    told = {
        name for item in release.warnings if _code(item) == UNREACHED for name in item.coefficients
    }
    return np.array([name in told for name in names])


def _code(item: Any) -> str:
    return str(getattr(item, "code", "text"))


def _listed(values: Array, chosen: NDArray[np.bool_]) -> str:
    if not chosen.any():
        return ""
    return " ".join(
        _decimals(value) if use else UNKNOWN for value, use in zip(values, chosen, strict=True)
    )


def _decimals(value: float) -> str:
    return f"{value:.4g}"


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        main()
