"""A test of whether a chain's step keeps the mechanism's density, against the reference sampler.

A chain that starts at 0 must first find the density, and on these sets 250 epochs are too few for
some coordinates (`mixing.csv`). This test needs no mixing. A pilot chain runs until its steps are
short; branches of it, as old as the pilot, start at independent draws of the reference and run on
with noise of their own. If the step leaves the density invariant, the last states have it still, mixed
or not; if it leaves another one invariant, they are on their way there. Mean, variance and four
quantiles of every coordinate are compared with other draws of the reference, in units of the joint
Monte-Carlo error. No coordinate is left out.
"""

from collections.abc import Callable

import numpy as np

from discreet.engine.threads import in_threads
from discreet.paper.chains import VARIANTS, Variant, reference_states, starter
from discreet.paper.config import TABLE_EPSILON, Options
from discreet.paper.data import PaperSet, available, load
from discreet.paper.diagnostics import compare
from discreet.paper.exponential import SanitizedExponential
from discreet.paper.results import Results
from discreet.types import Array

FALSE_ALARM = 1e-3
THIN = 20
"""Every THIN-th state of the reference is a start: far enough apart to be independent."""
JUDGED = ("TB", "WT")
TESTED = ("corrected", "printed, step 1/n")
CONTROL = "Metropolis, other draws"


def run_agreement(options: Options, tell: Callable[[str], None]) -> None:
    """Every variant on every set that is judged, and draws of the reference itself."""
    results = Results.of(options, "agreement")
    settings = (TABLE_EPSILON, options.pilot_epochs, options.branch_epochs, options.branches)
    for name in (name for name in available(options) if name in JUDGED):
        cells = [
            dict(zip(results.keys, (name, variant, *settings), strict=True))
            for variant in (CONTROL, *TESTED)
        ]
        missing = list(results.missing(cells))
        if not missing:
            continue
        data, draws = load(name), options.branches * THIN
        tell(f"{name}: draws of the reference")
        starts = reference_states(data, draws, options.seed + 1)[::THIN]
        reference = reference_states(data, draws, options.seed + 2)
        for cell in missing:
            tell(f"{name}, {cell['variant']}: {options.branches} branches against the reference")
            variants = [item for item in VARIANTS if item.name == cell["variant"]]
            last = branched(data, variants[0], starts, options) if variants else starts
            results.append(cell | judge(last, reference))


def branched(data: PaperSet, variant: Variant, starts: Array, options: Options) -> Array:
    """The last states of the branches, on all cores."""
    sampler = variant.settings(options, data.persons)
    start = starter(data, SanitizedExponential(epsilon=TABLE_EPSILON, sampler=sampler))
    pilot = start(options.seed)
    pilot.advance(options.pilot_epochs * data.persons, data.persons)
    steps = options.branch_epochs * data.persons

    def run(index: int) -> Array:
        chain = start(options.seed + 1 + index)
        chain.resume(pilot, starts[index])
        chain.advance(steps, steps)
        return chain.point

    return np.array(in_threads(run, range(len(starts))))


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
