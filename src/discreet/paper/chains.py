"""The sampler's cells: Figures 3, 4 and 5, and the reference density."""

import math
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from threading import Lock

import numpy as np

from discreet.paper.config import TABLE_EPSILON, Options
from discreet.paper.data import PaperSet, is_available, load
from discreet.paper.diagnostics import diagnose
from discreet.paper.exponential import SanitizedExponential, fresh_key, sanitized_records
from discreet.paper.metropolis import metropolis
from discreet.paper.results import Results
from discreet.paper.sampler import PSGLD, StochasticDensity
from discreet.privacy.testing import SeededNoise
from discreet.solve import minimise
from discreet.types import Array
from discreet.watch import Watcher, watcher

_WRITING = Lock()
DROPPED = 10_000
KEPT = 100
LEAST = 20
"""Fewest states a quarter of a chain needs to be diagnosed."""
GRID = 60


@dataclass(frozen=True)
class Variant:
    """A chain by name, with the epsilons at which it is run (``only``; None for all).

    steps: n times the factor of t^-tau; None is the sampler's default.
    """

    name: str
    sampler: PSGLD
    steps: float | None = None
    share: float = 1.0
    only: tuple[float, ...] | None = None

    def settings(self, options: Options, persons: int) -> PSGLD:
        """Return the chain's settings for a data set (the literal one is slow: fewer epochs)."""
        epochs = max(1, round(options.epochs * self.share))
        step = self.sampler.step if self.steps is None else self.steps / persons
        return replace(self.sampler, epochs=epochs, step=step)


VARIANTS = (
    Variant("corrected", PSGLD(variant="corrected")),
    Variant("printed, step 1/n", PSGLD(variant="printed"), steps=1.0),
    Variant("printed", PSGLD(variant="printed"), share=0.02, only=(1.6,)),
)
FIGURE_4 = ("set", "variant", "epsilon", "epoch", "mre", "epochs")
FIGURE_5 = ("set", "mechanism", "variant", "epsilon", "mre", "err", "draws", "epochs")
FIGURE_3 = ("set", "source", "coefficient", "value", "density", "epochs", "draws")


def figure_4(options: Options) -> Results:
    """Return the results file of MRE against epochs."""
    return Results(
        options.results / "figure-4.csv", FIGURE_4, ("set", "variant", "epsilon", "epochs")
    )


def figure_5(options: Options) -> Results:
    """Return the results file of errors against epsilon."""
    return Results(
        options.results / "figure-5.csv",
        FIGURE_5,
        ("set", "mechanism", "variant", "epsilon", "epochs"),
    )


def figure_3(options: Options) -> Results:
    """Return the results file of marginal densities."""
    return Results(options.results / "figure-3.csv", FIGURE_3, ("set", "source", "epochs"))


def mixing(options: Options) -> Results:
    """Return the results file of mixing."""
    return Results(
        options.results / "mixing.csv",
        ("set", "variant", "epsilon", "epochs", "states", "r_hat", "effective"),
        ("set", "variant", "epsilon", "epochs"),
    )


def worst_mixing(states: Array) -> dict[str, object]:
    """Return R-hat and effective size of a chain's second half, of the worst coordinate."""
    quarter = len(states) // 4
    if quarter < LEAST:
        return {"states": 2 * quarter, "r_hat": "", "effective": ""}
    # R-hat compares chains: the half is handed over as two
    found = diagnose(states[-2 * quarter :].reshape(2, quarter, -1))
    return {
        "states": 2 * quarter,
        "r_hat": float(found.r_hat.max()),
        "effective": float(found.bulk.min()),
    }


def run_chains(options: Options, tell: Callable[[str], None]) -> None:
    """Run every (set, variant, epsilon) once, on all cores: one chain serves all three figures."""
    cells = [
        (load(name), variant, epsilon)
        for epsilon in sorted(options.epsilons, reverse=True)
        for variant in VARIANTS
        if variant.only is None or epsilon in variant.only
        for name in options.sets
        if is_available(name) and name != "hdfail"
    ]
    cells = [cell for cell in cells if not figure_5(options).has(**_key(options, *cell))]
    watch = watcher()
    for data, variant, _ in cells:
        watch.begin(variant.settings(options, data.persons).epochs * data.persons)
        _ = data.optimum  # found once, before threads ask for it
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        for finished in [pool.submit(_cell, options, *cell, tell, watch) for cell in cells]:
            finished.result()


def _cell(
    options: Options,
    data: PaperSet,
    variant: Variant,
    epsilon: float,
    tell: Callable[[str], None],
    watch: Watcher,
) -> None:
    sampler = variant.settings(options, data.persons)
    tell(f"{data.name}, {variant.name}, epsilon {epsilon:g}, {sampler.epochs} epochs")
    states, curve = run_chain(data, epsilon, sampler, options.seed, watch)
    key = _key(options, data, variant, epsilon)
    with _WRITING:  # the row of Figure 5 last: it marks the cell as done
        figure_4(options).append(*({**key, "epoch": i + 1, "mre": m} for i, m in enumerate(curve)))
        if epsilon == TABLE_EPSILON:
            figure_3(options).append(*_densities(data, variant.name, states, sampler.epochs))
        mixing(options).append({**key, **worst_mixing(states)})
        figure_5(options).append({**key, **data.errors(states)})


def _key(options: Options, data: PaperSet, variant: Variant, epsilon: float) -> dict[str, object]:
    epochs = variant.settings(options, data.persons).epochs
    key = {"set": data.name, "variant": variant.name, "epsilon": epsilon, "epochs": epochs}
    return {**key, "mechanism": "sampler"}


def run_chain(
    data: PaperSet, epsilon: float, sampler: PSGLD, seed: int, watch: Watcher | None = None
) -> tuple[Array, list[float]]:
    """Return the states after the first 10,000 steps, and MRE after each epoch.

    An epoch's MRE is the mean over all states since the dropped ones, as in the paper.
    """
    density = density_maker(data, SanitizedExponential(epsilon=epsilon, sampler=sampler))
    chain = sampler.start(density(), fresh_key(SeededNoise(seed)))
    kept: list[Array] = []
    total, count = 0.0, 0
    curve = []
    for states in chain.epochs(sampler.epochs, kept=KEPT):
        late = chain.steps - data.persons - DROPPED  # steps between the dropped ones and the epoch
        fresh = states[min(len(states), math.ceil(max(0, -late) / data.persons * len(states))) :]
        kept.append(fresh)
        total, count = total + float(data.relative_error(fresh).sum()), count + len(fresh)
        # an epoch that was dropped whole shows its last state
        curve.append(total / count if count else float(data.relative_error(states[-1:])[0]))
        if watch is not None:
            watch.advance(data.persons)
    return (np.concatenate(kept) if count else states[-1:]), curve


def density_maker(
    data: PaperSet, mechanism: SanitizedExponential
) -> Callable[[], StochasticDensity]:
    """Return a maker of densities over one reading of the records; each thread needs its own."""
    plan = mechanism.plan(data.constants())
    records = sanitized_records(data.loss(), plan.number("bound"))
    return lambda: mechanism.density(plan, records)


def reference_states(data: PaperSet, epsilon: float, draws: int, seed: int) -> Array:
    """Return Metropolis-adjusted draws from the same density."""
    plan = SanitizedExponential(epsilon=epsilon).plan(data.constants())
    records = sanitized_records(data.loss(), plan.number("bound"))
    scale, precision = plan.number("energy_scale"), plan.number("prior_precision")

    def energy(point: Array) -> tuple[float, Array]:
        value, gradient = records.total(point)
        prior = 0.5 * precision * float(point @ point)
        return scale * value + prior, scale * gradient + precision * point

    best = minimise(data.loss(), np.zeros(plan.dimension), tolerance=1e-6)
    bend = scale * best.evaluation.hessian + precision * np.eye(plan.dimension)
    covariance = np.asarray(np.linalg.inv(bend), dtype=np.float64)
    random = np.random.default_rng(seed)
    return metropolis(
        energy, best.point, covariance, random, draws=draws, burn_in=draws // 10
    ).points


def run_reference(options: Options, tell: Callable[[str], None]) -> None:
    """Write the reference densities of Figure 3."""
    results = figure_3(options)
    draws = 4000 if options.epochs >= 8 else 500
    for name in options.sets:
        if name == "hdfail" or not is_available(name):
            continue
        if results.has(set=name, source="reference", epochs=0):
            continue
        tell(f"{name}, Metropolis reference, {draws} draws")
        data = load(name)
        states = reference_states(data, TABLE_EPSILON, draws, options.seed)
        results.append(*_densities(data, "reference", states, 0))
        key = {"set": name, "mechanism": "sampler", "variant": "Metropolis reference"}
        figure_5(options).append(
            {**key, "epsilon": TABLE_EPSILON, "epochs": 0, **data.errors(states)}
        )


def _densities(data: PaperSet, source: str, states: Array, epochs: int) -> list[dict[str, object]]:
    """Return histogram densities of beta1 and beta2 around their medians."""
    rows: list[dict[str, object]] = []
    for index in (1, 2):
        values = states[:, 2 + index]
        centre, spread = float(np.median(values)), float(values.std()) + 1e-12
        edges = np.linspace(centre - 4 * spread, centre + 4 * spread, GRID + 1)
        heights, _ = np.histogram(values, edges, density=True)
        rows += [
            {
                "set": data.name,
                "source": source,
                "coefficient": f"beta{index}",
                "value": float(value),
                "density": float(height),
                "epochs": epochs,
                "draws": len(states),
            }
            for value, height in zip(0.5 * (edges[1:] + edges[:-1]), heights, strict=True)
        ]
    return rows
