"""An older tree and this one, taking turns: nothing may have become slower.

    python benchmarks/versions.py BASE [--fresh]

Both run in this environment, each in processes of its own, with the benchmarks of its own commit:
fits from a table and from encoded people, fits of a stream, and the memory that a fit takes, by this
tree's probe. Every measurement goes to results/versions.csv as it comes; then docs/speed.md is
written again. Times of two runs on a shared machine differ by more than what is asked here, turns of
one run do not.
"""

import argparse
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from unittest.mock import patch

from results_file import Key, Results

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results" / "versions.csv"
OLDER, HERE_NOW = "older", "this tree"
ROUNDS = 7
COHORTS = {"n = 53,558": (53_558, 3), "n = 1,000,000": (1_000_000, 8)}
FITS = ("discreet fit(frame)", "discreet fit alone")
STREAM = {"engine": "stream", "people": 1_000_000, "intervals": 200}
STREAMS = {"stream": STREAM, "stream, 65,536 rows a block": {**STREAM, "block": 65_536}}
MEMORY = "memory growth over input bytes"


def main() -> None:
    """Measure what is missing, then write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("base", help="the older commit")
    parser.add_argument("--fresh", action="store_true", help="measure everything again")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        serve()
        return
    results = Results(RESULTS, fresh=arguments.fresh)
    results.measure(Key("environment", "base"), "", partial(str, arguments.base))
    with tempfile.TemporaryDirectory() as folder:
        trees = {OLDER: checkout(arguments.base, Path(folder)), HERE_NOW: HERE.parent}
        race_fits(results, trees)
        race(
            results, "memory", MEMORY, {name: partial(growth, tree) for name, tree in trees.items()}
        )
        for name, case in STREAMS.items():
            asked = json.dumps({**case, "folder": folder})
            cases = {who: partial(streamed, tree, asked) for who, tree in trees.items()}
            race(results, "stream", name, cases)
    subprocess.run([sys.executable, HERE / "core.py", "--table"], check=True)


def checkout(commit: str, folder: Path) -> Path:
    """Package and benchmarks as they were, without touching this work tree."""
    command = ["git", "archive", commit, "src", "benchmarks"]
    done = subprocess.run(command, cwd=HERE.parent, check=True, capture_output=True)
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(folder / "tree", filter="data")
    return folder / "tree"


def race(results: Results, kind: str, name: str, cases: dict[str, Callable[[], float]]) -> None:
    """Turns of both trees; who begins changes."""
    for turn in range(ROUNDS):
        for who in sorted(cases, reverse=bool(turn % 2)):
            unit = "" if kind == "memory" else "s"
            results.measure(Key(name, who, turn), unit, cases[who])


def race_fits(results: Results, trees: dict[str, Path]) -> None:
    """Fits by a process of each tree that is asked for one after the other."""
    names = [f"{fit}, {cohort}" for cohort in COHORTS for fit in FITS]
    if results.has([Key(name, who, ROUNDS - 1) for name in names for who in trees]):
        return
    servers = {who: server(tree) for who, tree in trees.items()}
    for name in names:
        race(results, "fit", name, {who: partial(ask, item, name) for who, item in servers.items()})
    for item in servers.values():
        item.communicate()


def server(tree: Path) -> "subprocess.Popen[str]":
    """A process that imports this tree, ready to fit."""
    command = [sys.executable, str(HERE / "versions.py"), str(tree), "--serve"]
    pipe = subprocess.PIPE
    made = subprocess.Popen(command, env=environment(tree), stdin=pipe, stdout=pipe, text=True)
    if _line(made) != str(tree):
        raise SystemExit(f"another package than {tree} was imported")
    return made


def environment(tree: Path) -> dict[str, str]:
    """The tree's own package and benchmarks come first."""
    return os.environ | {"PYTHONPATH": f"{tree / 'src'}{os.pathsep}{tree / 'benchmarks'}"}


def ask(item: "subprocess.Popen[str]", name: str) -> float:
    """Seconds of a fit in that process."""
    if item.stdin is None:
        raise SystemExit("the process was started without a pipe")
    item.stdin.write(f"{name}\n")
    item.stdin.flush()
    return float(_line(item))


def _line(item: "subprocess.Popen[str]") -> str:
    return "" if item.stdout is None else item.stdout.readline().strip()


def serve() -> None:
    """Fit what is asked for, a name a line; the tree's contenders are those of its commit."""
    sys.path.remove(str(HERE))  # its neighbours are this tree's
    from cohort import simulate  # noqa: PLC0415
    from contenders import OURS  # noqa: PLC0415
    from core import seconds  # noqa: PLC0415

    import discreet  # noqa: PLC0415 - the tree that PYTHONPATH names

    fits = {}
    for cohort, (people, covariates) in COHORTS.items():
        made = simulate(people, covariates)
        fits |= {f"{name}, {cohort}": OURS[name](made, 200) for name in FITS}
    for fit in fits.values():
        fit()
    print(Path(discreet.__file__).parents[2], flush=True)
    for line in sys.stdin:
        print(seconds(fits[line.strip()]), flush=True)


def streamed(tree: Path, asked: str) -> float:
    """Seconds of a fit of streamed files in a process of its own."""
    place = tree / "benchmarks"
    command = [sys.executable, str(place / "scale_case.py"), asked]
    done = subprocess.run(
        command, env=environment(tree), cwd=place, check=True, capture_output=True, text=True
    )
    return float(json.loads(done.stdout.splitlines()[-1])["fit"])


def growth(tree: Path) -> float:
    """The probe of memory, with that tree's package."""
    from cohort import simulate  # noqa: PLC0415 - pyarrow
    from probes import memory_growth  # noqa: PLC0415

    with patch.dict(os.environ, environment(tree)):
        return memory_growth(simulate(1_000_000, 8), 200)


if __name__ == "__main__":
    main()
