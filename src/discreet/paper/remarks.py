"""The paper's remarks, each a small table: links, prior, sanitizer, one chain against many."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from discreet.paper.chains import density_maker, run_chain
from discreet.paper.config import Options
from discreet.paper.data import PaperSet, is_available, load
from discreet.paper.exponential import SanitizedExponential, fresh_key
from discreet.paper.results import Results
from discreet.paper.sampler import PSGLD
from discreet.privacy.testing import SeededNoise
from discreet.solve import minimise
from discreet.types import Array

SET = "WT"
EPSILON = 1.6
GRIDS = (25, 50, 100, 200, 800)


def links(options: Options) -> Results:
    """|beta_link - beta_logit| / |beta_logit| on finer and finer grids."""
    results = Results(
        options.results / "remark-links.csv",
        ("set", "intervals", "link", "difference_percent"),
        ("set", "intervals", "link"),
    )
    for name in options.sets:
        if name == "hdfail" or not is_available(name):
            continue
        data = load(name)
        for intervals in GRIDS:
            if results.has(set=name, intervals=intervals, link="probit"):
                continue
            fits = {link: _slopes(data, link, intervals) for link in ("logit", "cloglog", "probit")}
            # a probit coefficient is on the scale of a normal latent variable: shapes compare
            fits["probit"] *= np.linalg.norm(fits["logit"]) / np.linalg.norm(fits["probit"])
            for link in ("cloglog", "probit"):
                gap = np.linalg.norm(fits[link] - fits["logit"]) / np.linalg.norm(fits["logit"])
                results.append(
                    {
                        "set": name,
                        "intervals": intervals,
                        "link": link,
                        "difference_percent": 100.0 * float(gap),
                    }
                )
    return results


def _slopes(data: PaperSet, link: str, intervals: int) -> Array:
    loss = data.loss(link=link, intervals=intervals)
    start = np.zeros(loss.dimension)
    start[0] = -3.0
    return minimise(loss, start, tolerance=1e-6).point[3:]


def samplers(options: Options, tell: Callable[[str], None]) -> Results:
    """Priors, boxing, and the released last draw of many chains, on one data set."""
    results = Results(
        options.results / "remark-sampler.csv",
        ("set", "what", "epsilon", "mre", "err", "draws", "epochs"),
        ("set", "what", "epsilon", "epochs"),
    )
    if SET not in options.sets or not is_available(SET):
        return results
    data, sampler = load(SET), PSGLD(epochs=max(4, options.epochs // 10))
    uniform = SanitizedExponential(epsilon=EPSILON, prior="uniform", sampler=sampler)
    boxes = boxed(data, 20.0, sampler)
    runs: dict[str, Callable[[], Array]] = {
        "normal prior, one chain": lambda: run_chain(data, EPSILON, sampler, options.seed)[0],
        "uniform prior on |f| <= 64, one chain": lambda: _states(data, uniform, options),
        "boxed to |f| <= 20 instead of sanitized, one chain": lambda: _states(data, boxes, options),
        "normal prior, last draw of many chains": lambda: _last(data, sampler, options),
    }
    for what, states in runs.items():
        key = {"set": SET, "what": what, "epsilon": EPSILON, "epochs": sampler.epochs}
        if not results.has(**key):
            tell(f"{SET}, {what}, epsilon {EPSILON:g}, {sampler.epochs} epochs")
            results.append(key | data.errors(states()))
    return results


def boxed(data: PaperSet, radius: float, sampler: PSGLD) -> SanitizedExponential:
    """Return boxing: a uniform prior on a ball, and for v the largest loss of a person in it.

    tanh at such a v is the identity, so this is the exponential mechanism with a bounded domain:
    sup loss <= sum_s softplus(radius r_s) + max_s softplus(radius r_s).
    """
    reach = radius * np.hypot(data.design().norms, 1.0)
    largest = float(np.logaddexp(0.0, reach).sum() + np.logaddexp(0.0, reach).max())
    return SanitizedExponential(
        epsilon=EPSILON, v=largest, prior="uniform", radius=radius, sampler=sampler
    )


def _states(data: PaperSet, mechanism: SanitizedExponential, options: Options) -> Array:
    sampler, density = mechanism.sampler, density_maker(data, mechanism)
    chain = sampler.start(density(), fresh_key(SeededNoise(options.seed)))
    epochs = list(chain.epochs(sampler.epochs, kept=100))
    return np.concatenate(epochs[len(epochs) // 4 :])


def _last(data: PaperSet, sampler: PSGLD, options: Options) -> Array:
    density = density_maker(data, SanitizedExponential(epsilon=EPSILON, sampler=sampler))

    def last(seed: int) -> Array:
        chain = sampler.start(density(), fresh_key(SeededNoise(seed)))
        for _ in chain.epochs(sampler.epochs, kept=1):
            pass
        return chain.point

    seeds = range(options.seed + 1, options.seed + 1 + options.chains)
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        return np.stack(list(pool.map(last, seeds)))
