# ruff: noqa: INP001, S603, S607, scripts beside each other; git and this interpreter are ours
"""The golden comparison: what an older commit computes, this tree computes too.

    python studies/golden.py BASE [--engines memory stream dask] [--methods output ...] [--only TEXT]

Both trees run in this environment, each in a process of its own, on the same files and under the
same seeded noise. Every mechanism, link, baseline, form of data and engine is a case. Of a private
fit the point, the released numbers, the guarantee, the noise scale and the public details must be
the same bit for bit; of a plain fit within 1e-12. A refusal must be a refusal in both trees.
A promise whose status alone became weaker (proved, then conditional) is counted apart.
Details that only this tree has are counted and do not fail. Nothing here is private.

The script asks each tree for nothing but its public names, so modules may move between them.
"""

import argparse
import contextlib
import io
import itertools
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import warnings
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import parquet

ROOT = Path(__file__).parents[1]
CLOSE = 1e-12
"""Relative tolerance of plain fits."""
PEOPLE, PARTS, HORIZON, INTERVALS = 900, 3, 24.0, 30
ENGINES = ("memory", "stream", "dask")
LINKS = ("logit", "cloglog", "probit")
BASELINES = ("natural-spline:3", "piecewise-constant:4")
FORMS = ("numeric", "levels", "late", "episodes")
MECHANISMS: dict[str, tuple[str, dict[str, Any]]] = {
    "newton": ("PrivateNewton", {"epsilon": 1.0}),
    "newton-pure": ("PrivateNewton", {"epsilon": 1.0, "delta": 0.0}),
    "newton-clip": ("PrivateNewton", {"epsilon": 1.0, "score": "clip"}),
    "output": ("OutputPerturbation", {"epsilon": 1.0}),
    "objective": ("ObjectivePerturbation", {"epsilon": 1.0}),
    "selected": ("SelectedRidge", {"epsilon": 2.0, "mean_trials": 3.0}),
    "selected-output": ("SelectedRidge", {"epsilon": 2.0, "mean_trials": 3.0, "base": "output"}),
}
PLAIN = ("plain", "plain-bfgs")
STATUSES = ("proved", "conditional", "ideal-draw-only", "unproved")
WEAKER = "identical under a weaker promise"
METHODS = (*PLAIN, *MECHANISMS)


class Case(NamedTuple):
    """One fit."""

    method: str
    link: str
    baseline: str
    form: str
    engine: str

    @property
    def seed(self) -> int:
        """The same for every engine."""
        return zlib.crc32("/".join(self[:-1]).encode())

    def __str__(self) -> str:
        return "/".join(self)


def main() -> None:
    """Collect in both trees, compare, and fail if something differs."""
    arguments = _arguments()
    if arguments.collect:
        _collect(arguments.collect, list(chosen(arguments)))
        return
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        write_data(place)
        _checkout(arguments.base, place / "base")
        found = [
            _run(source, place, arguments) for source in (place / "base" / "src", ROOT / "src")
        ]
    sys.exit(compare(*found))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("base", nargs="?", help="the commit to compare with")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES))
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--only", default="", help="cases whose name has this text")
    parser.add_argument("--collect", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if not arguments.base and not arguments.collect:
        parser.error("name the commit to compare with")
    return arguments


def _checkout(commit: str, folder: Path) -> None:
    """The package as it was, without touching this work tree."""
    done = subprocess.run(
        ["git", "archive", commit, "src"], cwd=ROOT, check=True, capture_output=True
    )
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="data")


def _run(source: Path, data: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """What a tree computes, from a process that imports it."""
    print(f"{source}: collecting", file=sys.stderr)  # noqa: T201
    command = [sys.executable, str(Path(__file__).resolve()), "--collect", str(data)]
    command += ["--engines", *arguments.engines, "--methods", *arguments.methods]
    command += ["--only", arguments.only]
    environment = os.environ | {"PYTHONPATH": str(source)}
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE)
    found: dict[str, Any] = json.loads(done.stdout)
    if not found.pop("tree").startswith(str(source)):
        raise SystemExit(f"another package than {source} was imported")
    return found


# What a tree computes


def _collect(data: Path, wanted: list[Case]) -> None:
    """Print the outcome of every case as JSON."""
    import discreet  # noqa: PLC0415 - the tree that PYTHONPATH names

    found: dict[str, Any] = {"tree": str(discreet.__file__)}
    dask = any(case.engine == "dask" for case in wanted)
    with contextlib.redirect_stdout(sys.stderr), _cluster(dask):
        for case in wanted:
            found[str(case)] = outcome(case, data)
    json.dump(found, sys.stdout)


def cases(methods: Sequence[str] = METHODS, engines: Sequence[str] = ENGINES) -> Iterator[Case]:
    """All fits by these methods on these engines."""
    for values in itertools.product(methods, LINKS, BASELINES, FORMS, engines):
        yield Case(*values)


def chosen(arguments: argparse.Namespace) -> Iterator[Case]:
    """The fits that were asked for."""
    every = cases(arguments.methods, arguments.engines)
    return (case for case in every if arguments.only in str(case))


@contextlib.contextmanager
def _cluster(wanted: bool) -> Iterator[None]:  # noqa: FBT001
    """Workers that every fit with Dask finds in use."""
    if not wanted:
        yield
        return
    from discreet.engine.cluster import local_client  # noqa: PLC0415

    client = local_client(workers=2)
    try:
        yield
    finally:
        client.close()
        client.cluster.close()


def outcome(case: Case, data: Path) -> dict[str, Any]:
    """The numbers of a fit, or that it was refused."""
    import discreet as ds  # noqa: PLC0415
    from discreet.errors import InputError  # noqa: PLC0415

    schema = ds.Schema.from_mapping(schema_of(case.form))
    settings: dict[str, Any] = {"link": case.link, "baseline": case.baseline}
    settings["engine"] = "dask" if case.engine == "dask" else "auto"
    source = data / case.form
    table = parquet.read_table(source) if case.engine == "memory" else source
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if case.method in PLAIN:
                solver = "bfgs" if case.method == "plain-bfgs" else "newton"
                return plain_numbers(
                    ds.SurvivalRegression(schema, solver=solver, **settings), table
                )
            name, values = MECHANISMS[case.method]
            mechanism = getattr(ds, name)(**values)
            return private_numbers(simulated(schema, mechanism, settings, table, case.seed))
        except InputError:
            return {"refused": True}


def simulated(schema: Any, mechanism: Any, settings: dict[str, Any], table: Any, seed: int) -> Any:
    """A private fit under seeded noise, in the way that this tree has for it."""
    import discreet as ds  # noqa: PLC0415
    from discreet import release  # noqa: PLC0415
    from discreet.privacy.testing import SeededNoise  # noqa: PLC0415

    if hasattr(release, "simulation"):  # 0.1.0: a context around an estimator with a mechanism
        with release.simulation(SeededNoise(seed)):
            regression = ds.SurvivalRegression(schema, mechanism=mechanism, **settings)
            return regression.fit(table).release_
    regression = ds.SurvivalRegression(schema, **settings)
    return ds.simulate(regression, table, mechanism=mechanism, seed=seed).model


def plain_numbers(regression: Any, table: Any) -> dict[str, Any]:
    """Point, standard errors and likelihood of a plain fit, in hexadecimal digits."""
    model = regression.fit(table).model_.to_mapping()
    fit, uncertainty = model["fit"], model["uncertainty"]
    numbers = {
        "internal": model["internal"],
        "coefficients": model["coefficients"],
        "standard_errors": uncertainty["standard_errors"],
        "log_likelihood": fit["log_likelihood"],
        "counts": [fit[name] for name in ("persons", "rows", "events", "intervals_at_risk")],
    }
    return {"plain": exact(numbers)}


def private_numbers(release: Any) -> dict[str, Any]:
    """Everything of a release that noise or the plan determines."""
    mapping = release.to_mapping()
    names = ("internal", "released", "guarantee", "noise_scale", "grid_exponent", "persons")
    return {"private": exact({name: mapping[name] for name in names})} | {
        "details": exact(mapping["details"])
    }


def exact(value: Any) -> Any:
    """Floats as hexadecimal texts, so that no digit is lost."""
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, dict):
        return {name: exact(item) for name, item in value.items()}
    return [exact(item) for item in value] if isinstance(value, list | tuple) else value


# The comparison


def compare(base: dict[str, Any], here: dict[str, Any]) -> int:
    """Print what differs; 0 if nothing does."""
    lost = sorted(set(base) ^ set(here))
    verdicts = {name: verdict(base[name], here[name]) for name in base if name in here}
    counted = dict.fromkeys(("identical", WEAKER, "refused in both", "within 1e-12"), 0)
    wrong = [f"{name}: only one tree has it" for name in lost]
    for name, word in verdicts.items():
        if word in counted:
            counted[word] += 1
        else:
            wrong.append(f"{name}: {word}")
    lines = [*_grouped(wrong), ", ".join(f"{count} {word}" for word, count in counted.items())]
    lines += [f"{len(wrong)} of {len(verdicts)} differ"]
    print(*lines, sep="\n")  # noqa: T201
    return 1 if wrong or not verdicts else 0


def _grouped(wrong: list[str]) -> list[str]:
    """Each kind of difference once per method, with the number of its cases and one of them."""
    groups: dict[tuple[str, str], list[str]] = {}
    for line in wrong:
        case, word = line.split(": ", maxsplit=1)
        groups.setdefault((case.split("/", maxsplit=1)[0], word), []).append(case)
    return [
        f"{method}: {word} ({len(names)} cases, such as {names[0]})"
        for (method, word), names in groups.items()
    ]


def verdict(base: dict[str, Any], here: dict[str, Any]) -> str:
    """How two outcomes of one case compare."""
    if "refused" in base or "refused" in here:
        return "refused in both" if base == here else "refused in one tree only"
    if "plain" in base:
        if base == here:
            return "identical"
        farthest = distance(base["plain"], here["plain"])
        return "within 1e-12" if farthest <= CLOSE else f"plain fits differ by {farthest:.2g}"
    apart = [*_apart("", base["private"], here["private"])]
    apart += _apart("details.", base["details"], here["details"])
    if apart == ["guarantee.status"] and _weaker(base["private"], here["private"]):
        return WEAKER
    return f"{', '.join(apart)} differ" if apart else "identical"


def _weaker(base: dict[str, Any], here: dict[str, Any]) -> bool:
    """Whether this tree claims less of the same numbers."""
    ranks = [STATUSES.index(numbers["guarantee"]["status"]) for numbers in (base, here)]
    return ranks[1] > ranks[0]


def _apart(prefix: str, base: dict[str, Any], here: dict[str, Any]) -> Iterator[str]:
    """Names of what is not the same; of a mapping, the names inside it."""
    for name, value in base.items():
        other = here.get(name)
        if isinstance(value, dict) and isinstance(other, dict):
            yield from _apart(f"{prefix}{name}.", value, other)
        elif other != value:
            yield f"{prefix}{name}"


def distance(first: Any, second: Any) -> float:
    """The largest relative difference of two nests of numbers; infinite if their forms differ."""
    if isinstance(first, dict) and isinstance(second, dict):
        return distance(list(first.items()), list(second.items()))
    if isinstance(first, list | tuple) and isinstance(second, list | tuple):
        if len(first) != len(second):
            return np.inf
        return max(map(distance, first, second), default=0.0)
    if first == second:
        return 0.0
    try:
        numbers = float.fromhex(first), float.fromhex(second)
    except (TypeError, ValueError):
        return np.inf
    return abs(numbers[0] - numbers[1]) / max(1.0, *map(abs, numbers))


# The people


def schema_of(form: str) -> dict[str, Any]:
    """The public schema of a form of data."""
    time = {"duration": "time", "event": "status", "horizon": HORIZON, "intervals": INTERVALS}
    covariates: list[dict[str, Any]] = [{"name": "age", "low": 20, "high": 90}]
    if form == "numeric":
        covariates += [{"name": "dose", "low": -1, "high": 3}]
    else:
        covariates += [{"name": "arm", "levels": ["a", "b", "c"]}]
    if form in {"late", "episodes"}:
        time["entry"] = "start"
    person = {"person": "id"} if form == "episodes" else {}
    return {**person, "time": time, "covariate": covariates}


def write_data(folder: Path) -> None:
    """Every form of data as a folder of Parquet files that cut nobody in two."""
    for form in FORMS:
        (folder / form).mkdir()
        rows = list(people(form))
        for part in range(PARTS):
            chosen = [row for row in rows if row["id"] % PARTS == part]
            parquet.write_table(pa.Table.from_pylist(chosen), folder / form / f"{part}.parquet")


def people(form: str) -> Iterator[dict[str, Any]]:
    """Rows of simulated people; late entries and several rows each where the form has them."""
    random = np.random.default_rng(zlib.crc32(form.encode()))
    for person in range(PEOPLE):
        late = form in {"late", "episodes"} and random.random() < 0.4
        start = float(random.uniform(0, 8)) if late else 0.0
        age, dose = float(random.uniform(18, 92)), float(random.normal(1, 0.8))
        for _ in range(random.integers(1, 4) if form == "episodes" else 1):
            arm = str(random.choice(["a", "b", "c"]))
            rate = 0.04 * np.exp(0.02 * (age - 55) + 0.5 * (arm == "b") - 0.3 * dose)
            waited, followed = random.exponential(1 / rate), random.uniform(1, 20)
            stop, event = start + min(waited, followed), bool(waited <= followed)
            yield {
                "id": person, "start": start, "time": stop, "status": event,
                "age": age, "dose": dose, "arm": arm,
            }  # fmt: skip
            if event:
                break
            start = stop


if __name__ == "__main__":
    main()
