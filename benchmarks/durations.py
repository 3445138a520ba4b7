"""How long a private fit takes, over persons, coefficients, intervals and causes.

    python benchmarks/durations.py [--fresh] [--table]

Processor seconds of whole private fits, from the table in memory to the standard errors, cases in turns.
From their medians follows the law by which `discreet check` and `plan` say what to expect
(`discreet.mechanisms.newton.duration`): its factors are printed, and a test compares them. It resumes.
"""

import sys
import time
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from results_file import Key, Results, fill
from scipy.optimize import nnls

import discreet as ds
from discreet.mechanisms.newton.duration import FACTORS, seconds, terms

HERE = Path(__file__).parent
FILE = HERE / "results" / "durations.csv"
PAGE = HERE.parent / "docs" / "speed.md"
HORIZON, ROUNDS = 1826.0, 3


class Case(NamedTuple):
    """Numbers beside one category with so many levels."""

    persons: int
    numbers: int
    levels: int
    intervals: int = 60
    causes: int = 1
    epsilon: float = 1.0

    @property
    def name(self) -> str:
        """The row's name in the results."""
        return " ".join(f"{value:g}" for value in self)


CASES = (
    Case(2_000, 2, 5),
    Case(2_000, 2, 100),
    Case(20_000, 2, 5),
    Case(20_000, 2, 30),
    Case(20_000, 2, 100),
    Case(20_000, 2, 190),
    Case(2_000, 150, 2),
    Case(20_000, 40, 2),
    Case(20_000, 80, 2),
    Case(20_000, 150, 2),
    Case(20_000, 2, 5, intervals=600),
    Case(20_000, 2, 100, intervals=600),
    Case(20_000, 2, 5, causes=3),
    Case(20_000, 2, 30, causes=3),
    Case(20_000, 2, 5, epsilon=0.1),
    Case(300_000, 2, 5),
    Case(300_000, 2, 5, epsilon=0.1),
    Case(300_000, 2, 60),
    Case(1_000_000, 2, 5),
)

HEAD = """## How long a private fit takes

Written by `python benchmarks/durations.py` from `benchmarks/results/durations.csv`.

Processor seconds of whole private fits, from a table in memory, with the baseline natural-spline:3 and one
row a person: medians of {rounds} rounds in turns, on a busy machine. *said* is the law from which
`discreet check` and `discreet plan` make their sentence,

    {law} seconds,

with n persons, d coefficients, those of all causes and their baselines together, and m among them of
numbers. On other machines, and with several rows a person, expect half to twice as much; with free cores a
large fit takes less than its processor time. 100 levels and 20,000 people take {ratio:.1f} times the time of
5 levels (at most 10 wanted).

| persons | numbers | levels | causes | intervals | epsilon | processor, s | said, s |
|---|---|---|---|---|---|---|---|
"""


def main() -> None:
    """Measure what is missing, then print the law and write the page."""
    results = Results(FILE, fresh="--fresh" in sys.argv)
    keys = [Key("durations", case.name, k) for k in range(ROUNDS) for case in CASES]
    if "--table" not in sys.argv and not results.has(keys):
        for case in (Case(500, 2, 3), Case(500, 2, 3, causes=2), Case(60_000, 2, 3)):
            processor_seconds(case)  # compiled, imported
        for key in keys:
            case = next(item for item in CASES if item.name == key.contender)
            results.measure(key, "s", partial(processor_seconds, case))
    print("FACTORS =", fitted(results))
    fill(PAGE, "durations", page(results))


def processor_seconds(case: Case) -> float:
    """One whole fit."""
    table, schema = people(case)
    model = ds.SurvivalRegression(schema)
    mechanism = ds.PrivateNewton(epsilon=case.epsilon, delta=1e-6)
    start = time.process_time()
    ds.simulate(model, table, mechanism=mechanism, seed=1)
    return time.process_time() - start


def people(case: Case) -> tuple[pa.Table, dict[str, Any]]:
    """A falling hazard, covariates that go together with nothing."""
    random = np.random.default_rng(3)
    x = random.uniform(-1.0, 1.0, (case.persons, case.numbers))
    waited = 1_500.0 * random.weibull(0.7, case.persons)
    waited *= np.exp(-0.3 * x.sum(axis=1) / case.numbers**0.5)
    levels = [f"L{k}" for k in range(case.levels)]
    causes = [f"C{k}" for k in range(case.causes)]
    kind = np.where(waited <= HORIZON, random.choice(causes, case.persons), "none")
    table = {f"x{k}": x[:, k] for k in range(case.numbers)}
    table |= {"group": random.choice(levels, case.persons), "kind": kind}
    table["time"] = np.minimum(waited, HORIZON)
    axis: dict[str, Any] = {"duration": "time", "event": "kind", "horizon": HORIZON}
    axis["intervals"] = case.intervals
    axis |= {"causes": {name: [name] for name in causes}} if case.causes > 1 else {}
    axis |= {"event_values": causes} if case.causes == 1 else {}
    covariates: list[dict[str, Any]] = [
        {"name": f"x{k}", "low": -1.0, "high": 1.0} for k in range(case.numbers)
    ]
    covariates.append({"name": "group", "levels": levels})
    return pa.table(table), {"time": axis, "covariate": covariates}


def facts(case: Case) -> tuple[ds.Schema, int, int]:
    """What is public: the schema, persons, and the baseline's three coefficients."""
    return ds.Schema.from_mapping(people(case._replace(persons=1))[1]), case.persons, 3


def fitted(results: Results) -> tuple[float, ...]:
    """The factors of the law, of least relative error."""
    known = [case for case in CASES if case.epsilon == 1.0]
    rows = np.array([terms(*facts(case)) for case in known])
    measured = np.array([median(results.numbers("durations", case.name)) for case in known])
    factors, _ = nnls(rows / measured[:, None], np.ones(len(known)))
    return tuple(float(f"{value:.2g}") for value in factors)


def page(results: Results) -> str:
    """A row a case."""
    rows = []
    few, many = (Case(20_000, 2, levels).name for levels in (5, 100))
    pairs = (results.numbers("durations", name) for name in (many, few))
    ratio = median(one / other for one, other in zip(*pairs, strict=True))
    for case in CASES:
        spent = median(results.numbers("durations", case.name))
        law = seconds(*facts(case))
        cells = (f"{case.persons:,}", case.numbers, case.levels, case.causes, case.intervals)
        rows.append(
            f"| {' | '.join(map(str, cells))} | {case.epsilon:g} | {spent:.1f} | {law:.1f} |"
        )
    units = ("", " n/10^6", " n d^2/10^9", " n m^2/10^9", " m/10^3", " d^3/10^6")
    law = " + ".join(f"{factor:g}{unit}" for factor, unit in zip(FACTORS, units, strict=True))
    head = HEAD.format(rounds=ROUNDS, law=law, ratio=ratio)
    return head + "\n".join(rows) + "\n"


if __name__ == "__main__":
    main()
