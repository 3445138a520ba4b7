"""Does a chain have the mechanism's density? The reference sampler accepts it or rejects it.

Mean, variance and four marginal quantiles of the coordinates of the second half of a chain at
epsilon = 6.4 are compared with those of Metropolis-adjusted draws, in units of their joint Monte-Carlo
error. That error is an estimate itself, and no good one below an effective sample size of 100 a chain
(Vehtari and others 2021): a coordinate that has mixed less is counted, not judged. The largest score
over all coordinates is kept beside the verdict: judged by that one, the corrected chains of 250 epochs
are rejected too, and the limit of 100 was set after that was seen.
"""

from collections.abc import Callable

import numpy as np

from discreet.experiments import sets
from discreet.experiments.chains import VARIANTS, states_path
from discreet.experiments.config import TABLE_EPSILON, Options
from discreet.experiments.results import Results
from discreet.samplers.diagnostics import Comparison, compare, diagnose

FALSE_ALARM = 1e-3
LEAST = 100.0
"""The effective sample size, in bulk and tails, from which on a coordinate is judged."""
COLUMNS = (
    "set",
    "variant",
    "epsilon",
    "epochs",
    "states",
    "coordinates",
    "judged",
    "effective",
    "r_hat",
    "worst_of_all",
    "worst_mean",
    "worst_variance",
    "worst_quantile",
    "variance_ratio",
    "limit",
    "accepted",
)


def run_agreement(options: Options, tell: Callable[[str], None]) -> Results:
    """Every chain whose states are kept, against the reference of its set."""
    results = Results(options.results / "agreement.csv", COLUMNS, ("set", "variant", "epochs"))
    for name in options.sets:
        there = states_path(options, name, "reference", 0)
        if not there.is_file() or not sets.is_available(name):
            continue
        reference = np.load(there)
        for variant in VARIANTS:
            epochs = variant.settings(options, sets.load(name).persons).epochs
            path = states_path(options, name, variant.name, epochs)
            if path.is_file() and not results.has(set=name, variant=variant.name, epochs=epochs):
                tell(f"{name}, {variant.name}: against the reference")
                states = np.load(path)
                row = judge(states[len(states) // 2 :], reference)
                key = {"set": name, "variant": variant.name, "epsilon": TABLE_EPSILON}
                results.append({**key, "epochs": epochs, **row})
    return results


def judge(states: np.ndarray, reference: np.ndarray) -> dict[str, object]:
    """One chain against the reference: the largest scores, and the verdict."""
    found = diagnose(_split(states))
    chosen = np.minimum(found.bulk, found.tail) >= LEAST
    facts: dict[str, object] = {
        "states": len(states),
        "coordinates": len(chosen),
        "judged": int(chosen.sum()),
        "effective": float(found.bulk.min()),
        "r_hat": float(found.r_hat.max()),
        "worst_of_all": float(np.abs(compare(states[None], _split(reference)).scores).max()),
    }
    if not chosen.any():
        return {**facts, **dict.fromkeys(COLUMNS[-6:-1], ""), "accepted": "not judged"}
    here, there = states[:, chosen], reference[:, chosen]
    comparison = compare(here[None], _split(there), FALSE_ALARM)
    worst = np.abs(comparison.scores).max(axis=0)
    return {
        **facts,
        "worst_mean": float(worst[0]),
        "worst_variance": float(worst[1]),
        "worst_quantile": float(worst[2:].max()),
        "variance_ratio": float(np.median(here.var(axis=0) / there.var(axis=0))),
        "limit": comparison.limit,
        "accepted": _verdict(comparison),
    }


def _verdict(comparison: Comparison) -> str:
    return "yes" if comparison.accepted else "no"


def _split(states: np.ndarray) -> np.ndarray:
    """One long chain as two, so that its error includes what its halves disagree about."""
    half = len(states) // 2
    return np.stack([states[:half], states[half : 2 * half]])
