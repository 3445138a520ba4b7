# ruff: noqa: T201, progress is printed
"""Measure private Newton on registries that no constant was chosen on.

    make fresh SEED=7                        the registries of a seed that is given
    make fresh SEED=entropy                  a seed from the system's entropy, after a freeze
    make fresh SEED=7 BASE=checkout          also by another version's source, on the same people
    make fresh REAL=1                        the real sets of `real.py`, once, after a freeze
    make fresh SEED=7 FAILED=1               what has no release, once more after its fault is mended

The freeze: constants are frozen by a commit, then the seed is drawn, and results/fresh-seeds.csv keeps
the seed with the commit and the hash of the package's source at that moment. A row counts as frozen
only if it was measured with that source (or by a base, which is older). `entropy` and REAL refuse a
tree with changes that are not committed.

Every draw is a row of results/fresh.csv, written as it comes; what is there is not made again.
"""

import argparse
import csv
import datetime as dt
import os
import secrets
import subprocess
import sys
from pathlib import Path

from fresh.family import Registry, registry
from fresh.fits import Exact, exact_fit, measure

STUDIES = Path(__file__).parents[1]
RESULTS = STUDIES / "results"
KEYS = ("seed", "registry", "source", "epsilon", "draw")
COLUMNS = (
    *KEYS, "label", "commit", "err", "gaps", "ratios", "cautions", "codes", "seconds",
)  # fmt: skip
FACTS = (
    "seed", "registry", "digest", "people", "rows", "events", "covariates", "coefficients",
    "determined", "link", "baseline", "intervals", "traits", "failure",
)  # fmt: skip
SEEDS = ("seed", "drawn", "source", "commit", "at")
REAL = "real"
Row = dict[str, str]


def main() -> None:
    """Every row that is not there."""
    options = _options()
    source, commit = options.measures or _source(STUDIES.parent)
    if options.seed == "entropy" or options.real:
        _require_committed(source)
    seed = REAL if options.real else _seed(options, source, commit)
    if not options.base_only:
        _measure_all(options, seed, source, commit)
    if options.base:
        raise SystemExit(_run_base(options, seed))


def _measure_all(options: argparse.Namespace, seed: str, source: str, commit: str) -> None:
    print(f"seed {seed}, {options.label}: source {source}, commit {commit}", flush=True)
    rows = read(options.results / "fresh.csv")
    done = {tuple(row[key] for key in KEYS) for row in rows}
    names = _names(options)
    if options.failed:
        failed = {row["registry"] for row in rows if row["seed"] == seed and not row["gaps"]}
        names = [name for name in names if name in failed]
    for name in names:
        cells = [
            (epsilon, draw)
            for draw in range(options.draws)
            for epsilon in options.epsilons
            if (seed, name, source, f"{epsilon:g}", str(draw)) not in done
        ]
        if cells:
            _measure(options, (seed, name, source), commit, cells)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m fresh", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seed", help="a number, or entropy")
    parser.add_argument("--real", action="store_true", help="the real sets instead")
    parser.add_argument("--registries", type=int, default=200)
    parser.add_argument("--draws", type=int, default=6)
    parser.add_argument("--epsilons", type=float, nargs="+", default=[1.0, 4.0])
    parser.add_argument("--failed", action="store_true", help="only what has no release")
    parser.add_argument("--base", type=Path, help="a checkout whose source is measured too")
    parser.add_argument("--base-only", action="store_true", help="that source alone")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--label", default="new", help=argparse.SUPPRESS)
    parser.add_argument("--measures", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.real == bool(options.seed):
        parser.error("give --seed, or --real")
    if options.base_only and not options.base:
        parser.error("--base-only needs --base")
    return options


def _names(options: argparse.Namespace) -> list[str]:
    if options.real:
        from fresh import real  # noqa: PLC0415 - its packages need not be there for a seed

        return list(real.SETS)
    return [f"{number:04d}" for number in range(options.registries)]


def _people(seed: str, name: str) -> Registry:
    if seed == REAL:
        from fresh import real  # noqa: PLC0415

        return real.load(name)
    return registry(int(seed), int(name))


# The freeze


def _source(where: Path) -> tuple[str, str]:
    """Hash of a checkout's source, with a + if it has changes, and the commit."""

    def git(*words: str) -> str:
        done = subprocess.run(["git", "-C", str(where), *words], capture_output=True, check=True)  # noqa: S603, S607
        return done.stdout.decode().strip()

    changed = "+" if git("status", "--porcelain", "src/discreet") else ""
    return git("rev-parse", "--short=12", "HEAD:src/discreet") + changed, git(
        "rev-parse", "--short=12", "HEAD"
    )


def _require_committed(source: str) -> None:
    if source.endswith("+"):
        raise SystemExit(
            "fresh: commit the changes in src/discreet first; constants are frozen by it."
        )


def _seed(options: argparse.Namespace, source: str, commit: str) -> str:
    """The seed, kept with the commit at which it was first used."""
    path, given = options.results / "fresh-seeds.csv", options.seed
    seed = str(secrets.randbits(48)) if given == "entropy" else str(int(given))
    if seed not in {row["seed"] for row in read(path)}:
        drawn = "entropy" if given == "entropy" else "given"
        at = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
        append(path, SEEDS, dict(zip(SEEDS, (seed, drawn, source, commit, at), strict=True)))
    return seed


def _run_base(options: argparse.Namespace, seed: str) -> int:
    """Measure the same people in a process that imports the other checkout's source."""
    command = [sys.executable, "-m", "fresh", "--label", "base"]
    command += ["--measures", *_source(options.base)]
    command += ["--registries", str(options.registries), "--draws", str(options.draws)]
    command += ["--epsilons", *map(str, options.epsilons), "--results", str(options.results)]
    command += ["--real"] if seed == REAL else ["--seed", seed]
    paths = os.pathsep.join([str((options.base / "src").resolve()), str(STUDIES)])
    return subprocess.run(  # noqa: S603 - ours
        command, env={**os.environ, "PYTHONPATH": paths}, check=False
    ).returncode


# Measuring


def _measure(
    options: argparse.Namespace,
    key: tuple[str, str, str],
    commit: str,
    cells: list[tuple[float, int]],
) -> None:
    """All missing draws of one registry."""
    seed, name, source = key
    people = _people(seed, name)
    exact = _prepared(options, seed, people)
    if exact is None:
        return
    for epsilon, draw in cells:
        values = (seed, name, source, f"{epsilon:g}", str(draw), options.label, commit)
        row = dict(zip(COLUMNS, values, strict=False))
        try:
            row |= measure(people, exact, epsilon)
        except Exception as error:  # noqa: BLE001 - a release that fails is a result
            row |= {"codes": f"failed {type(error).__name__}"}
        append(options.results / "fresh.csv", COLUMNS, row)
        print(
            f"{name} epsilon {epsilon:g} draw {draw}: err {row.get('err')} {row['codes']}",
            flush=True,
        )


def _prepared(options: argparse.Namespace, seed: str, people: Registry) -> Exact | None:
    """The exact fit, and the facts of the registry if they are not kept yet."""
    path = options.results / "fresh-registries.csv"
    kept = {(row["seed"], row["registry"]): row for row in read(path)}.get((seed, people.name))
    if kept and kept["digest"] != people.digest:
        raise SystemExit(
            f"fresh: registry {people.name} of seed {seed} has other people than when it was first "
            "measured; take another seed."
        )
    exact, failure = None, ""
    try:
        exact = exact_fit(people)
    except Exception as error:  # noqa: BLE001 - reported
        failure = type(error).__name__
    if not kept:
        values = {
            "seed": seed,
            "registry": people.name,
            "digest": people.digest,
            "people": people.people,
            "rows": len(people.frame),
            "events": round(people.event_share * people.people),
            "covariates": len(people.schema["covariate"]),
            "coefficients": "|".join(exact.names) if exact else "",
            "determined": int(exact.determined.sum()) if exact else 0,
            **people.model,
            "intervals": people.schema["time"]["intervals"],
            "traits": "|".join(people.traits),
            "failure": failure,
        }
        append(path, FACTS, {name: str(value) for name, value in values.items()})
    return exact


def read(path: Path) -> list[Row]:
    """The rows of a file, none if it is not there."""
    if not path.is_file():
        return []
    with path.open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def append(path: Path, columns: tuple[str, ...], row: Row) -> None:
    """One line at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = not path.is_file()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerow(row)


if __name__ == "__main__":
    main()
