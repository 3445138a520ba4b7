# ruff: noqa: INP001, S603, S607, scripts beside each other; git and this interpreter are ours
"""The golden comparison: what an older commit computes, this tree computes too.

    python studies/golden.py BASE [--engines memory stream dask] [--methods output ...] [--only TEXT]

Both trees run in this environment, each in a process of its own, on the same files and under the
same seeded noise. Every mechanism, link, baseline, form of data and engine is a case, and so are
competing risks, curves by group and releases of three sites together. Of a private fit everything
in the release's file must be the same bit for bit, and so must what its noise was asked for: every
law, scale and integer vector, in their order; of a plain fit all numbers within 1e-12. A refusal
must be a refusal in both trees, and a matrix without an inverse may fail the older tree only. A
promise whose status alone became weaker (proved, then conditional) and pages of releases that
differ are counted apart. What only this tree's files have does not fail. Nothing here is private.

The script asks each tree for nothing but its public names, so modules may move between them.
"""

import argparse
import contextlib
import hashlib
import io
import itertools
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import warnings
import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from types import SimpleNamespace
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
FORMS = ("numeric", "levels", "late", "episodes", "strata", "terms")
MECHANISMS: dict[str, tuple[str, dict[str, Any]]] = {
    "newton": ("PrivateNewton", {"epsilon": 1.0}),
    "newton-pure": ("PrivateNewton", {"epsilon": 1.0, "delta": 0.0}),
    "newton-clip": ("PrivateNewton", {"epsilon": 1.0, "score": "clip"}),
    "output": ("OutputPerturbation", {"epsilon": 1.0}),
    "objective": ("ObjectivePerturbation", {"epsilon": 1.0}),
    "selected": ("SelectedRidge", {"epsilon": 2.0, "mean_trials": 3.0}),
    "selected-output": ("SelectedRidge", {"epsilon": 2.0, "mean_trials": 3.0, "base": "output"}),
    "causes": ("PrivateNewton", {"epsilon": 1.0}),
    "causes-pure": ("PrivateNewton", {"epsilon": 1.0, "delta": 0.0}),
    "causes-clip": ("PrivateNewton", {"epsilon": 1.0, "score": "clip"}),
    "joint": ("PrivateNewton", {"epsilon": 1.0}),
    "joint-causes": ("PrivateNewton", {"epsilon": 1.0}),
}
CURVES: dict[str, dict[str, Any]] = {
    "curves": {"epsilon": 1.0},
    "curves-pure": {"epsilon": 1.0, "delta": 0.0},
    "joint-curves": {"epsilon": 1.0, "delta": 1e-6},
}
SITES = 3
PLAIN = ("plain", "plain-bfgs")
STATUSES = ("proved", "conditional", "ideal-draw-only", "unproved")
WEAKER = "identical under a weaker promise"
ANOTHER_PAGE = "identical but for the page"
REPAIRED = "failed in the older tree alone"
METHODS = (*PLAIN, *MECHANISMS, *CURVES)


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

    @property
    def plain(self) -> bool:
        """Whether the fit is not private."""
        return self.method in PLAIN

    @property
    def causes(self) -> bool:
        """Whether events have causes."""
        return "causes" in self.method

    @property
    def joint(self) -> bool:
        """Whether several sites release together."""
        return self.method.startswith("joint")

    @property
    def first(self) -> bool:
        """Whether the link, the baseline and the engine are the first of their kind."""
        return self[1:3] == (LINKS[0], BASELINES[0]) and self.engine == ENGINES[0]

    @property
    def made(self) -> bool:
        """Whether there is such a fit, and it tells more than those beside it."""
        if self.joint and not self.first:
            return False
        if self.method in CURVES:
            first = (self.link, self.baseline) == (LINKS[0], BASELINES[0])
            return first and self.form in {"levels", "late", "episodes"}
        if self.form in {"strata", "terms"}:
            covered = (
                self.plain or "newton" in self.method or (self.causes and self.form == "terms")
            )
            return self.engine == ENGINES[0] and covered
        return not (self.causes and self.form == "numeric")

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
    charts = Path("src/discreet/report/templates/charts.js")  # made when the package is built
    if not (folder / charts).exists():
        shutil.copyfile(ROOT / charts, folder / charts)


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
        if Case(*values).made:
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

    schema = ds.Schema.from_mapping(schema_of(case.form, causes=case.causes))
    settings: dict[str, Any] = {"link": case.link, "baseline": case.baseline}
    settings["engine"] = "dask" if case.engine == "dask" else "auto"
    source = data / case.form
    table = parquet.read_table(source) if case.engine == "memory" else source
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if case.plain:
                solver = "bfgs" if case.method == "plain-bfgs" else "newton"
                return plain_numbers(
                    ds.SurvivalRegression(schema, solver=solver, **settings), table
                )
            with transcript() as asked:
                release = simulated(case, schema, settings, table)
            return private_numbers(release, asked.hexdigest(), page=case.first)
        except InputError:
            return {"refused": True}
        except np.linalg.LinAlgError:
            return {"failed": True}


@contextlib.contextmanager
def transcript() -> Iterator[Any]:
    """A digest of what seeded noise is asked for: laws, scales and integers, in their order."""
    from discreet.privacy.testing import SeededNoise  # noqa: PLC0415

    digest, laws = hashlib.sha256(), ("discrete_gaussian", "l1_laplace", "lattice_laplace")
    kept = {law: getattr(SeededNoise, law) for law in laws}

    def noted(law: str) -> Any:
        def asked(self: Any, values: Any, scale: Any) -> Any:
            whole = int(values) if np.ndim(values) == 0 else [int(value) for value in values]
            digest.update(f"{law} {scale} {whole}\n".encode())
            return kept[law](self, values, scale)

        return asked

    for law in laws:
        setattr(SeededNoise, law, noted(law))
    try:
        yield digest
    finally:
        for law in laws:
            setattr(SeededNoise, law, kept[law])


def simulated(case: Case, schema: Any, settings: dict[str, Any], table: Any) -> Any:
    """A private release under seeded noise."""
    import discreet as ds  # noqa: PLC0415

    if case.joint:
        return jointly(case, schema, table)
    if hasattr(ds, "CompetingRisks"):
        return simulated_before_0_3(case, schema, settings, table)
    name, values = (
        ("GroupCounts", CURVES[case.method]) if case.method in CURVES else MECHANISMS[case.method]
    )
    mechanism = mechanism_named(name)(**values)
    if case.method in CURVES:
        model = ds.GroupCurves(schema, "arm")
    else:
        model = ds.SurvivalRegression(schema, **settings)
    return ds.simulate(model, table, mechanism=mechanism, seed=case.seed).model_


def simulated_before_0_3(case: Case, schema: Any, settings: dict[str, Any], table: Any) -> Any:
    """The same in trees where each kind of release had a `simulate` of its own."""
    import discreet as ds  # noqa: PLC0415

    old: Any = ds
    if case.method in CURVES:
        return old.Curves(schema, "arm").simulate(table, seed=case.seed, **CURVES[case.method])
    name, values = MECHANISMS[case.method]
    mechanism = mechanism_named(name)(**values)
    if case.causes:
        model = old.CompetingRisks(schema, link=case.link, baseline=case.baseline)
        return model.simulate(table, mechanism=mechanism, seed=case.seed).model_
    regression = ds.SurvivalRegression(schema, **settings)
    return old.simulate(regression, table, mechanism=mechanism, seed=case.seed).model


def mechanism_named(name: str) -> Any:
    """The class of a mechanism."""
    import discreet as ds  # noqa: PLC0415
    from discreet import mechanisms  # noqa: PLC0415

    return getattr(ds, name, None) or getattr(mechanisms, name)


def jointly(case: Case, schema: Any, table: Any) -> Any:
    """The release of three sites, of which each has every third person: threads of this process.

    Exchanges and sums are made in memory; certificates, connections and secret sharing are not part
    of what is compared.
    """
    from discreet.joint import simulate_jointly  # noqa: PLC0415
    from discreet.people.source import People  # noqa: PLC0415
    from discreet.privacy.shared_noise import SimulatedShares  # noqa: PLC0415
    from discreet.privacy.shares import NoiseShares  # noqa: PLC0415
    from discreet.privacy.testing import SeededNoise  # noqa: PLC0415

    shares, barrier, sent = NoiseShares.among(SITES), Barrier(SITES), [b"" for _ in range(SITES)]
    sums: list[list[int]] = [[] for _ in range(SITES)]
    number = np.asarray(table["id"]) % SITES

    def part(party: int) -> Any:
        def exchange(payload: bytes) -> list[bytes]:
            sent[party] = payload
            barrier.wait()
            found = list(sent)
            barrier.wait()
            return found

        def add(values: list[int]) -> list[int]:
            sums[party] = values
            barrier.wait()
            found = [sum(column) for column in zip(*sums, strict=True)]
            barrier.wait()
            return found

        sites = SimpleNamespace(shares=shares, digest="", require_party=lambda _: None)
        mesh: Any = SimpleNamespace(sites=sites, party=party, exchange=exchange, add=add)
        noise = SeededNoise(case.seed + party)
        try:
            return simulate_jointly(
                order_of(case, schema),
                People.of(table.filter(pa.array(number == party))),
                mesh,
                lambda opening: SimulatedShares(shares, noise, opening),
            )
        except BaseException:
            barrier.abort()
            raise

    with ThreadPoolExecutor(SITES) as pool:
        releases = list(pool.map(part, range(SITES)))
    return releases[0]


def order_of(case: Case, schema: Any) -> Any:
    """What every site asks for."""
    from discreet.curves import CurvesOrder  # noqa: PLC0415
    from discreet.design.baseline import parse_baseline  # noqa: PLC0415
    from discreet.design.groups import Groups  # noqa: PLC0415
    from discreet.design.link import get_link  # noqa: PLC0415
    from discreet.mechanisms.group_counts import GroupCounts  # noqa: PLC0415
    from discreet.release import Order  # noqa: PLC0415

    if case.method in CURVES:
        return CurvesOrder(GroupCounts(**CURVES[case.method]), Groups(schema, ("arm",)))
    kind: Any = Order
    with contextlib.suppress(ImportError):  # trees before 0.3 have an order of several causes
        from discreet.competing import CausesOrder  # noqa: PLC0415

        kind = CausesOrder if case.causes else Order
    name, values = MECHANISMS[case.method]
    settings = get_link(case.link), parse_baseline(case.baseline)
    return kind(mechanism_named(name)(**values), schema, *settings)


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


def private_numbers(release: Any, asked: str, *, page: bool) -> dict[str, Any]:
    """Everything of a release that noise or the plan determines."""
    from discreet.report import make_page  # noqa: PLC0415

    mapping = release.to_mapping()
    version, details = mapping.pop("library_version"), mapping.pop("details", {})
    made_up = {name: mapping.pop(name, None) for name in ("release_id", "joint_digest")}
    found = {"private": exact(mapping) | {"asked": asked}, "details": exact(details)}
    if page:
        shown = release.model_copy(update={"private": True})
        text = make_page(shown)
        for name in (version, shown.digest, *made_up.values()):
            text = text.replace(str(name), "")
        found["page"] = hashlib.sha256(text.encode()).hexdigest()
    return found


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
    counted = dict.fromkeys(
        (
            *("identical", WEAKER, ANOTHER_PAGE, "refused in both"),
            *("failed in both", REPAIRED, "within 1e-12"),
        ),
        0,
    )
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
    for word in ("refused", "failed"):
        if word in base or word in here:
            only = REPAIRED if "failed" in base else f"{word} in one tree only"
            return f"{word} in both" if base == here else only
    if "plain" in base:
        if base == here:
            return "identical"
        farthest = distance(base["plain"], here["plain"])
        return "within 1e-12" if farthest <= CLOSE else f"plain fits differ by {farthest:.2g}"
    apart = [*_apart("", base["private"], here["private"])]
    apart += _apart("details.", base["details"], here["details"])
    if apart == ["guarantee.status"] and _weaker(base["private"], here["private"]):
        return WEAKER
    if apart:
        return f"{', '.join(apart)} differ"
    return "identical" if base.get("page") == here.get("page") else ANOTHER_PAGE


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


def schema_of(form: str, *, causes: bool = False) -> dict[str, Any]:
    """The public schema of a form of data."""
    time: dict[str, Any] = {"duration": "time", "horizon": HORIZON, "intervals": INTERVALS}
    time |= {"event": "cause", "causes": {"a": [1], "b": [2]}} if causes else {"event": "status"}
    covariates: list[dict[str, Any]] = [{"name": "age", "low": 20, "high": 90}]
    if form == "numeric":
        covariates += [{"name": "dose", "low": -1, "high": 3}]
    elif form == "terms":
        covariates[0] |= {"scale": "spline:3"}
        covariates += [{"name": "dose", "low": -1, "high": 3, "missing": "indicator"}]
    else:
        covariates += [{"name": "arm", "levels": ["a", "b", "c"]}]
    if form in {"late", "episodes"}:
        time["entry"] = "start"
    further: dict[str, Any] = {"person": "id"} if form == "episodes" else {}
    if form == "strata":
        further["strata"] = {"name": "site", "levels": ["x", "y"]}
    return {**further, "time": time, "covariate": covariates}


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
        site = "xxy"[person % 3]
        start = float(random.uniform(0, 8)) if late else 0.0
        age, dose = float(random.uniform(18, 92)), float(random.normal(1, 0.8))
        for _ in range(random.integers(1, 4) if form == "episodes" else 1):
            arm = str(random.choice(["a", "b", "c"]))
            rate = 0.04 * np.exp(0.02 * (age - 55) + 0.5 * (arm == "b") - 0.3 * dose)
            waited, followed = random.exponential(1 / rate), random.uniform(1, 20)
            stop, event = start + min(waited, followed), bool(waited <= followed)
            yield {
                "id": person, "start": start, "time": stop, "status": event,
                "age": age, "dose": None if form == "terms" and person % 7 == 0 else dose,
                "arm": arm, "site": site, "cause": (1 + person // 2 % 2) * event,
            }  # fmt: skip
            if event:
                break
            start = stop


if __name__ == "__main__":
    main()
