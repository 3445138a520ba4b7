"""Every peer on every set: python benchmarks/peers/run.py [--fdpcox PATH] [--sets ...] [--peers ...].

Writes benchmarks/results/peers.csv as it goes and resumes from it: a cell (a set, a peer, an epsilon) with fewer
draws than asked is measured again, with --again every cell that is named. --page writes docs/peers.md.
"""

import argparse
import csv
import itertools
import os
import statistics
import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from descent import FixedDescent, NoisyDescent
from elsewhere import Binned, Diffprivlib, Synthetic, SyntheticMST
from fdpcox import FDPCox
from ours import Nothing, ObjectivePerturbation, OutputPerturbation, PrivateNewton
from peer import Answer, Peer, Setting, UnavailableError
from people import SETS, Array, People, load
from sksurv.metrics import brier_score, concordance_index_censored

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "peers.csv"
SCRATCH = ROOT / "benchmarks" / "scratch" / "peers"
PEERS: tuple[type[Peer], ...] = (
    PrivateNewton, NoisyDescent, FixedDescent, FDPCox, Synthetic, SyntheticMST, Diffprivlib,
    ObjectivePerturbation, OutputPerturbation, Nothing, Binned,
)  # fmt: skip
EPSILONS, DELTA, DRAWS = (0.5, 1.0, 2.0, 4.0), 1e-6, 20
FIRST, SECOND, BEST = 2, 8, 10
"""Draws of every setting, then further ones of the best ten, on other seeds than those that are reported."""
SPLIT = 1
"""Seed of the split into people to fit on and people kept apart."""
FIELDS = (
    "set", "peer", "epsilon", "draw", "setting", "err", "ratio_error", "concordance", "brier",
    "inside", "significant", "kept", "wrong", "seconds", "code",
)  # fmt: skip
Row = Mapping[str, Any]


def main() -> None:
    """Measure what is missing."""
    arguments = _arguments()
    if arguments.page:
        from page import write  # noqa: PLC0415 - beside this script

        write()
        return
    if arguments.fdpcox:
        os.environ["FDPCOX"] = str(arguments.fdpcox)
    warnings.simplefilter("ignore")
    done = Counter(_place(row) for row in read(RESULTS))
    peers = [peer for peer in PEERS if peer.name in arguments.peers]
    for name, kind, epsilon in itertools.product(arguments.sets, peers, arguments.epsilons):
        drawn = done[_place({"set": name, "peer": kind.name, "epsilon": epsilon})]
        if drawn >= arguments.draws and not arguments.again:
            continue
        peer = kind()
        try:
            peer.require()
            people = load(name, SCRATCH)
        except (UnavailableError, FileNotFoundError) as reason:
            print(f"{name}, {kind.label}: left out, {reason}")
            continue
        started = time.monotonic()
        rows = list(measured(name, peer, people, epsilon, arguments.draws))
        store(RESULTS, FIELDS, rows, _place)
        err = statistics.median(float(row["err"]) for row in rows)
        print(
            f"{name} {kind.name} {epsilon:g}: err {err:.2f}, {time.monotonic() - started:.0f} s",
            flush=True,
        )


def measured(name: str, peer: Peer, people: People, epsilon: float, draws: int) -> Iterator[Row]:
    """Yield a row for each draw with the best setting."""
    train, test = people.split(SPLIT)
    exact = peer.exact(train)
    setting = tuned(peer, train, exact, epsilon)
    spelled = " ".join(f"{key}={value}" for key, value in setting.items())
    fits = peer.fits(train, epsilon, DELTA, [(setting, draw) for draw in range(draws)])
    found = np.array([answer.effects for answer, _ in fits])
    assert exact.errors is not None  # noqa: S101 - an exact fit has them
    oracle = np.sqrt(exact.errors**2 + np.mean((found - exact.effects) ** 2, axis=0))
    for draw, (answer, seconds) in enumerate(fits):
        yield {
            "set": name, "peer": peer.name, "epsilon": epsilon, "draw": draw, "setting": spelled,
            "err": f"{distance(answer, exact):.4g}",
            "ratio_error": f"{np.median(np.abs(answer.effects - exact.effects)):.4g}",
            **predictions(answer, train, test), **intervals(answer, exact, oracle),
            "seconds": f"{seconds:.3g}", "code": code(),
        }  # fmt: skip


@cache
def code() -> str:
    """Return the commit that is run."""
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=7"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def tuned(peer: Peer, train: People, exact: Answer, epsilon: float) -> Setting:
    """Return the setting with the smallest median error, chosen on the data and not charged."""
    settings = peer.settings()
    if len(settings) == 1:
        return settings[0]

    def errors(places: Sequence[int], seeds: range) -> list[list[float]]:
        runs = [(settings[place], seed) for place in places for seed in seeds]
        fits = peer.fits(train, epsilon, DELTA, runs)
        found = [distance(fit, exact) for fit, _ in fits]
        return [list(part) for part in zip(*[iter(found)] * len(seeds), strict=True)]

    once = errors(range(len(settings)), range(1000, 1000 + FIRST))
    best = sorted(range(len(settings)), key=lambda place: statistics.median(once[place]))[:BEST]
    again = errors(best, range(1000 + FIRST, 1000 + FIRST + SECOND))
    medians = [statistics.median(more) for more in again]
    return settings[best[int(np.argmin(medians))]]


def distance(answer: Answer, exact: Answer) -> float:
    """Return the root mean square of (private - exact) / exact standard error over the effects."""
    assert exact.errors is not None  # noqa: S101 - an exact fit has them
    if not np.isfinite(answer.effects).all():
        return np.inf
    return float(np.sqrt(np.mean(((answer.effects - exact.effects) / exact.errors) ** 2)))


def predictions(answer: Answer, train: People, test: People) -> dict[str, str]:
    """Return concordance, and Brier score at the middle of time, on the people kept apart."""
    risk = test.columns @ answer.effects
    concordance = concordance_index_censored(test.event, test.last.astype(float), risk)[0]
    survival = answer.survival(test.columns)
    if survival is None:
        return {"concordance": f"{concordance:.4f}", "brier": ""}
    middle = test.intervals // 2
    outcome = [_structured(people) for people in (train, test)]
    brier = brier_score(*outcome, survival[:, middle - 1], middle + 0.5)[1][0]
    return {"concordance": f"{concordance:.4f}", "brier": f"{brier:.5f}"}


def _structured(people: People) -> Array:
    fields = [("event", bool), ("time", float)]
    return np.array(list(zip(people.event, people.last, strict=True)), dtype=fields)


def intervals(answer: Answer, exact: Answer, oracle: Array) -> dict[str, str]:
    """Return the share of exact effects inside the 95 % intervals, and what stays significant.

    Of the effects that the exact fit finds different from 0 (5 %), how many does the private fit find so
    too, with the same sign; `wrong` are effects it finds that the exact fit does not. A method without
    standard errors is judged by an oracle, which knows its mean square error over the draws.
    """
    assert exact.errors is not None  # noqa: S101
    found = np.abs(exact.effects / exact.errors) > 1.96
    claimed = np.abs(answer.effects / (oracle if answer.errors is None else answer.errors)) > 1.96
    kept = found & claimed & (np.sign(answer.effects) == np.sign(exact.effects))
    inside = ""
    if answer.errors is not None:
        inside = f"{np.mean(np.abs(answer.effects - exact.effects) <= 1.96 * answer.errors):.4f}"
    return {
        "inside": inside,
        "significant": str(int(found.sum())),
        "kept": str(int(kept.sum())),
        "wrong": str(int((claimed & ~kept).sum())),
    }


def read(path: Path) -> list[dict[str, str]]:
    """Return the rows of a results file."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def store(
    path: Path, fields: Sequence[str], rows: list[Row], place: Callable[[Row], tuple[float, ...]]
) -> None:
    """Write the rows of one cell in place of older ones; cells stand in the order of their places."""
    others = [row for row in read(path) if place(row) != place(rows[0])]
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, fields)
        writer.writeheader()
        writer.writerows(sorted([*others, *rows], key=place))


def _place(row: Row) -> tuple[float, ...]:
    names = [peer.name for peer in PEERS]
    return SETS.index(row["set"]), names.index(row["peer"]), float(row["epsilon"])


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="+", default=SETS, choices=SETS)
    names = [peer.name for peer in PEERS]
    parser.add_argument("--peers", nargs="+", default=names, choices=names)
    parser.add_argument("--epsilons", nargs="+", type=float, default=EPSILONS)
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--fdpcox", type=Path)
    parser.add_argument("--page", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
