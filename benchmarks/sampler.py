"""Steps a second of the sampler on one core, against what was asked.

    python benchmarks/sampler.py [--fresh]

n = 53,558 simulated people, batches of 200, logit link, a natural spline of three knots; the chain is
past its burn-in. A step costs as much as the intervals that its batch was at risk in. Every measurement goes to results/sampler.csv as it comes.
"""

import argparse
import os
import platform
import time
from functools import partial
from importlib.metadata import version
from pathlib import Path

import numpy as np
from cohort import HORIZON, simulate
from results_file import Key, Results

from discreet.design.link import get_link
from discreet.mechanisms.contract import Facts
from discreet.paper.data import PaperSet
from discreet.paper.exponential import SanitizedExponential, fresh_key, sanitized_records
from discreet.paper.sampler import PSGLD, Chain
from discreet.privacy.testing import SeededNoise

RESULTS = Path(__file__).parent / "results" / "sampler.csv"
PEOPLE = 53_558
ROUNDS = 5
STEPS = 20_000
CASES = ((3, 200), (8, 200), (3, 2_000))


def main() -> None:
    """Measure what is missing."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fresh", action="store_true", help="measure everything again")
    results = Results(RESULTS, fresh=parser.parse_args().fresh)
    facts = {name: version(name) for name in ("numba", "numpy")}
    facts |= {"python": platform.python_version(), "cores": str(os.cpu_count())}
    for name, fact in facts.items():
        results.measure(Key("environment", name), "", partial(str, fact))
    for covariates, intervals in CASES:
        keys = [
            Key("sampler", f"p = {covariates}, q = {intervals}", turn) for turn in range(ROUNDS)
        ]
        if not results.has(keys):
            chain = warm_chain(covariates, intervals)
            for key in keys:
                results.measure(
                    key, "steps/s", partial(steps_a_second, chain, STEPS * 200 // intervals)
                )


def warm_chain(covariates: int, intervals: int) -> Chain:
    """A chain past its burn-in, compiled."""
    people = simulate(PEOPLE, covariates)
    inside = people.covariates / np.sqrt(covariates)
    data = PaperSet("simulated", people.time / HORIZON, people.event, inside)
    sampler = PSGLD()
    mechanism = SanitizedExponential(epsilon=1.6, sampler=sampler)
    link, design = get_link("logit"), data.design("paper", intervals)
    plan = mechanism.plan(Facts(PEOPLE, design, link))
    records = sanitized_records(data.loss("paper", link, intervals), plan.number("bound"))
    chain = sampler.start(mechanism.density(plan, records), fresh_key(SeededNoise(1)))
    chain.advance(sampler.burn_in, sampler.burn_in)
    return chain


def steps_a_second(chain: Chain, steps: int) -> float:
    """Processor seconds of this thread: waiting for a core is not counted."""
    started = time.thread_time()
    chain.advance(steps, steps)
    return steps / (time.thread_time() - started)


if __name__ == "__main__":
    main()
