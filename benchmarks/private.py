"""What privacy costs in time: private Newton against the plain fit of the same million people.

    python benchmarks/private.py [--fresh]

Four ways take turns, seven rounds: from the user's table in memory, and from encoded people. Noise is
that of a real release; nothing is charged or written. It resumes; `--fresh` starts over.
"""

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

from cohort import simulate
from contenders import BASELINE, newton
from results_file import Key, Results

from discreet import PrivateNewton
from discreet.design.design import Design
from discreet.design.link import Logit
from discreet.engine.local import LocalEngine
from discreet.likelihood.problem import Problem
from discreet.mechanisms.contract import Facts
from discreet.people.encode import to_episodes
from discreet.people.episodes import Episodes
from discreet.privacy.noise import SystemNoise

FILE = Path(__file__).parent / "results" / "private.csv"
PEOPLE, WARM_UP, COVARIATES, INTERVALS, ROUNDS = 1_000_000, 150_000, 8, 200, 7
SETTINGS = {"epsilon 0.1": (0.1, None), "epsilon 1": (1.0, None), "pure epsilon 1": (1.0, 0.0)}


def main() -> None:
    """Measure what is missing, then print the ratios."""
    results = Results(FILE, fresh="--fresh" in sys.argv)
    contenders = ("plain", *SETTINGS)
    keys = [Key(way, who, k) for way in WAYS for who in contenders for k in range(ROUNDS)]
    if not results.has(keys):
        ways = {name: make(PEOPLE) for name, make in WAYS.items()}
        warm = {name: make(WARM_UP) for name, make in WAYS.items()}
        for way, who in ((way, who) for way in WAYS for who in contenders):
            warm[way](who)
        for key in sorted(keys, key=lambda item: item.round):
            run = ways[key.benchmark]
            results.measure(key, "s", lambda run=run, who=key.contender: seconds(run, who))
    for way in WAYS:
        plain = statistics.median(results.numbers(way, "plain"))
        for who in SETTINGS:
            private = statistics.median(results.numbers(way, who))
            print(f"{way}: {who} {private:.2f} s, plain {plain:.2f} s, ratio {private / plain:.1f}")


def seconds(run: Callable[[str], object], who: str) -> float:
    """Wall time of one fit."""
    started = time.perf_counter()
    run(who)
    return time.perf_counter() - started


def fit(episodes: Episodes, design: Design, who: str) -> object:
    """One fit of encoded people; a private one with its standard errors."""
    if who == "plain":
        return newton(episodes, design)
    mechanism = PrivateNewton(*SETTINGS[who])
    loss = Problem(LocalEngine(episodes), design, Logit())
    plan = mechanism.plan(Facts(loss.persons, design, Logit()))
    return mechanism.draw(plan, loss, SystemNoise())


def from_table(people: int) -> Callable[[str], object]:
    """Reading, clipping and encoding included."""
    cohort = simulate(people, COVARIATES)
    table, design = cohort.table(), Design(cohort.schema(INTERVALS), BASELINE)
    return lambda who: fit(to_episodes(table, design.schema), design, who)


def from_people(people: int) -> Callable[[str], object]:
    """The fit alone."""
    cohort = simulate(people, COVARIATES)
    design = Design(cohort.schema(INTERVALS), BASELINE)
    episodes = to_episodes(cohort.table(), design.schema)
    return lambda who: fit(episodes, design, who)


WAYS = {"fit(frame)": from_table, "fit alone": from_people}


if __name__ == "__main__":
    main()
