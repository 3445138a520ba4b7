"""A test of whether a chain's step keeps the mechanism's density, against the reference sampler.

A chain that starts at 0 must first find the density, and on these sets 250 epochs are too few for
some coordinates (`mixing.csv`). This test needs no mixing. A pilot chain runs until its steps are
short; branches of it, as old as the pilot, start at independent draws of the reference and run on
with noise of their own. If the step leaves the density invariant, the last states have it still, mixed
or not; if it leaves another one invariant, they are on their way there. Mean, variance and four
quantiles of every coordinate are compared with other draws of the reference, in units of the joint
Monte-Carlo error. No coordinate is left out.
"""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from discreet.paper.chains import VARIANTS, Variant, density_maker, reference_states
from discreet.paper.config import TABLE_EPSILON, Options
from discreet.paper.data import PaperSet, is_available, load
from discreet.paper.diagnostics import compare
from discreet.paper.exponential import SanitizedExponential, fresh_key
from discreet.paper.results import Results
from discreet.privacy.testing import SeededNoise
from discreet.types import Array

FALSE_ALARM = 1e-3
THIN = 20
"""Every THIN-th state of the reference is a start: far enough apart to be independent."""
JUDGED = ("TB", "WT")
TESTED = ("corrected", "printed, step 1/n")
CONTROL = "Metropolis, other draws"
KEYS = ("set", "variant", "epsilon", "pilot_epochs", "epochs", "chains")
COLUMNS = (
    *KEYS,
    *("worst_mean", "worst_variance", "worst_quantile", "worst"),
    *("least_ratio", "median_ratio", "limit", "accepted"),
)


def run_agreement(options: Options, tell: Callable[[str], None]) -> Results:
    """Every variant on every set that is judged, and draws of the reference itself."""
    results = Results(options.results / "agreement.csv", COLUMNS, KEYS)
    settings = (TABLE_EPSILON, options.pilot_epochs, options.branch_epochs, options.branches)
    for name in (name for name in options.sets if name in JUDGED and is_available(name)):
        cells = {
            variant: dict(zip(KEYS, (name, variant, *settings), strict=True))
            for variant in (CONTROL, *TESTED)
        }
        missing = [variant for variant, cell in cells.items() if not results.has(**cell)]
        for variant, found in _judged(load(name), missing, options, tell):
            results.append(cells[variant] | found)
    return results


def _judged(
    data: PaperSet, variants: list[str], options: Options, tell: Callable[[str], None]
) -> Iterator[tuple[str, dict[str, object]]]:
    if not variants:
        return
    tell(f"{data.name}: draws of the reference")
    draws = options.branches * THIN
    seeds = (options.seed + 1, options.seed + 2)
    starts, reference = (reference_states(data, TABLE_EPSILON, draws, seed) for seed in seeds)
    for name in variants:
        tell(f"{data.name}, {name}: {options.branches} branches against the reference")
        last = starts[::THIN]
        if name != CONTROL:
            last = branched(data, next(v for v in VARIANTS if v.name == name), last, options)
        yield name, judge(last, reference)


def branched(data: PaperSet, variant: Variant, starts: Array, options: Options) -> Array:
    """The last states of the branches, on all cores."""
    sampler = variant.settings(options, data.persons)
    density = density_maker(data, SanitizedExponential(epsilon=TABLE_EPSILON, sampler=sampler))
    pilot = sampler.start(density(), fresh_key(SeededNoise(options.seed)))
    pilot.advance(options.pilot_epochs * data.persons, data.persons)
    steps = options.branch_epochs * data.persons

    def run(index: int) -> Array:
        key = fresh_key(SeededNoise(options.seed + 1 + index))
        chain = pilot.branch(density(), starts[index], key)
        chain.advance(steps, steps)
        return chain.point

    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        return np.array(list(pool.map(run, range(len(starts)))))


def judge(states: Array, reference: Array) -> dict[str, object]:
    """Independent states against draws of the reference: the largest scores, and the verdict."""
    half = len(reference) // 2
    # as two chains, so that the reference's error includes what its halves disagree about
    halves = np.stack([reference[:half], reference[half : 2 * half]])
    comparison = compare(states, halves, FALSE_ALARM)
    worst = np.abs(comparison.scores).max(axis=0)
    ratios = states.var(axis=0) / reference.var(axis=0)
    return {
        "worst_mean": float(worst[0]),
        "worst_variance": float(worst[1]),
        "worst_quantile": float(worst[2:].max()),
        "worst": float(worst.max()),
        "least_ratio": float(ratios.min()),
        "median_ratio": float(np.median(ratios)),
        "limit": comparison.limit,
        "accepted": "yes" if comparison.accepted else "no",
    }
