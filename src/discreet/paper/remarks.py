"""The paper's remarks, each a small table: links, prior, sanitizer, one chain against many."""

from collections.abc import Callable

import numpy as np

from discreet.engine.threads import in_threads
from discreet.paper.chains import run_chain, starter
from discreet.paper.config import Options
from discreet.paper.data import PaperSet, available, load
from discreet.paper.exponential import SanitizedExponential
from discreet.paper.results import Results
from discreet.paper.sampler import PSGLD
from discreet.solve import minimise
from discreet.types import Array

SET = "WT"
EPSILON = 1.6
GRIDS = (25, 50, 100, 200, 800)


def links(options: Options) -> None:
    """|beta_link - beta_logit| / |beta_logit| on finer and finer grids."""
    results = Results.of(options, "remark-links")
    names = available(options, stand_in=False)
    # probit is the last row of a grid
    cells = ({"set": x, "intervals": q, "link": "probit"} for x in names for q in GRIDS)
    for cell in results.missing(cells):
        data, fits = load(cell["set"]), {}
        for link in ("logit", "cloglog", "probit"):
            loss = data.loss(link=link, intervals=cell["intervals"])
            start = np.zeros(loss.dimension)
            start[0] = -3.0
            fits[link] = minimise(loss, start, tolerance=1e-6).point[3:]
        # a probit coefficient is on the scale of a normal latent variable: shapes compare
        fits["probit"] *= np.linalg.norm(fits["logit"]) / np.linalg.norm(fits["probit"])
        for link in ("cloglog", "probit"):
            gap = np.linalg.norm(fits[link] - fits["logit"]) / np.linalg.norm(fits["logit"])
            results.append({**cell, "link": link, "difference_percent": 100.0 * float(gap)})


def samplers(options: Options, tell: Callable[[str], None]) -> None:
    """Priors, boxing, and the released last draw of many chains, on one data set."""
    if SET not in available(options):
        return
    data, sampler = load(SET), PSGLD(epochs=max(4, options.epochs // 10))
    uniform = SanitizedExponential(epsilon=EPSILON, prior="uniform", sampler=sampler)
    boxes = boxed(data, 20.0, sampler)
    runs: dict[str, Callable[[], Array]] = {
        "normal prior, one chain": lambda: run_chain(data, EPSILON, sampler, options.seed)[0],
        "uniform prior on |f| <= 64, one chain": lambda: _states(data, uniform, options),
        "boxed to |f| <= 20 instead of sanitized, one chain": lambda: _states(data, boxes, options),
        "normal prior, last draw of many chains": lambda: _last(data, sampler, options),
    }
    results = Results.of(options, "remark-sampler")
    facts = {"set": SET, "epsilon": EPSILON, "epochs": sampler.epochs}
    for cell in results.missing({**facts, "what": what} for what in runs):
        tell(f"{SET}, {cell['what']}, epsilon {EPSILON:g}, {sampler.epochs} epochs")
        results.append(cell | data.errors(runs[cell["what"]]()))


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
    sampler = mechanism.sampler
    chain = starter(data, mechanism)(options.seed)
    epochs = list(chain.epochs(sampler.epochs, kept=100))
    return np.concatenate(epochs[len(epochs) // 4 :])


def _last(data: PaperSet, sampler: PSGLD, options: Options) -> Array:
    start = starter(data, SanitizedExponential(epsilon=EPSILON, sampler=sampler))

    def last(index: int) -> Array:
        chain = start(options.seed + 1 + index)
        for _ in chain.epochs(sampler.epochs, kept=1):
            pass
        return chain.point

    return np.stack(in_threads(last, range(options.chains)))
