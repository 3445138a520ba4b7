"""The sampler's cells: Figures 3, 4 and 5, and the reference density."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any

import numpy as np

from discreet.engine.threads import in_threads
from discreet.paper.config import TABLE_EPSILON, Options
from discreet.paper.data import PaperSet, available, load
from discreet.paper.diagnostics import diagnose
from discreet.paper.exponential import SanitizedExponential, fresh_key, sanitized_records
from discreet.paper.metropolis import metropolis
from discreet.paper.results import Results
from discreet.paper.sampler import PSGLD, Chain
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


def worst_mixing(states: Array) -> dict[str, object]:
    """Return R-hat and effective size of a chain's second half, of the worst coordinate."""
    quarter = len(states) // 4
    if quarter < LEAST:
        return {"states": 2 * quarter, "r_hat": "", "effective": ""}
    # R-hat compares chains: the half is handed over as two
    r_hat, effective = diagnose(states[-2 * quarter :].reshape(2, quarter, -1))
    worst = {"r_hat": float(r_hat.max()), "effective": float(effective.min())}
    return {"states": 2 * quarter, **worst}


def run_chains(options: Options, tell: Callable[[str], None]) -> None:
    """Run every (set, variant, epsilon) once, on all cores: one chain serves all three figures."""
    figure_5, watch = Results.of(options, "figure-5"), watcher()

    def run(data: PaperSet, sampler: PSGLD, cell: dict[str, Any]) -> None:
        name, epsilon = cell["variant"], cell["epsilon"]
        tell(f"{data.name}, {name}, epsilon {epsilon:g}, {sampler.epochs} epochs")
        states, curve = run_chain(data, epsilon, sampler, options.seed, watch)
        with _WRITING:  # the row of Figure 5 last: it marks the cell as done
            Results.of(options, "figure-4").append(
                *({**cell, "epoch": epoch, "mre": mre} for epoch, mre in enumerate(curve, 1))
            )
            if epsilon == TABLE_EPSILON:
                write_densities(options, {**cell, "source": name}, states)
            Results.of(options, "mixing").append({**cell, **worst_mixing(states)})
            figure_5.append({**cell, **data.errors(states)})

    jobs = []
    for epsilon in sorted(options.epsilons, reverse=True):
        for variant in VARIANTS:
            for name in available(options, stand_in=False):
                data = load(name)
                sampler = variant.settings(options, data.persons)
                cell: dict[str, Any] = {"set": name, "mechanism": "sampler"}
                cell |= {"variant": variant.name, "epsilon": epsilon, "epochs": sampler.epochs}
                if epsilon in (variant.only or (epsilon,)) and not figure_5.has(**cell):
                    jobs.append((data, sampler, cell))
                    watch.begin(sampler.epochs * data.persons)
                    _ = data.optimum  # found once, before threads ask for it
    in_threads(lambda job: run(*job), jobs)


def run_chain(
    data: PaperSet, epsilon: float, sampler: PSGLD, seed: int, watch: Watcher | None = None
) -> tuple[Array, list[float]]:
    """Return the states after the first 10,000 steps, and MRE after each epoch.

    An epoch's MRE is the mean over all states since the dropped ones, as in the paper.
    """
    mechanism = SanitizedExponential(epsilon=epsilon, sampler=sampler)
    chain = starter(data, mechanism)(seed)
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


def starter(data: PaperSet, mechanism: SanitizedExponential) -> Callable[[int], Chain]:
    """Return a maker of chains with the noise of a seed, over one reading of the records."""
    plan = mechanism.plan(data.constants())
    records = sanitized_records(data.loss(), plan.number("bound"))

    def start(seed: int) -> Chain:
        # each thread needs a density of its own
        density = mechanism.density(plan, records)
        return mechanism.sampler.start(density, fresh_key(SeededNoise(seed)))

    return start


def reference_states(data: PaperSet, draws: int, seed: int) -> Array:
    """Return Metropolis-adjusted draws from the mechanism's density at epsilon = 6.4."""
    plan = SanitizedExponential(epsilon=TABLE_EPSILON).plan(data.constants())
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
    return metropolis(energy, best.point, covariance, random, draws=draws, burn_in=draws // 10)


def run_reference(options: Options, tell: Callable[[str], None]) -> None:
    """Write the reference densities of Figure 3."""
    draws = 4000 if options.epochs >= 8 else 500
    names = available(options, stand_in=False)
    cells = ({"set": name, "source": "reference", "epochs": 0} for name in names)
    for cell in Results.of(options, "figure-3").missing(cells):
        data = load(cell["set"])
        tell(f"{data.name}, Metropolis reference, {draws} draws")
        states = reference_states(data, draws, options.seed)
        write_densities(options, cell, states)
        key = {"mechanism": "sampler", "variant": "Metropolis reference", "epsilon": TABLE_EPSILON}
        Results.of(options, "figure-5").append({**cell, **key, **data.errors(states)})


def write_densities(options: Options, cell: dict[str, Any], states: Array) -> None:
    """Write histogram densities of beta1 and beta2 around their medians."""
    rows = []
    for index in (1, 2):
        values = states[:, 2 + index]
        centre, spread = float(np.median(values)), float(values.std()) + 1e-12
        edges = np.linspace(centre - 4 * spread, centre + 4 * spread, GRID + 1)
        heights, _ = np.histogram(values, edges, density=True)
        row = {**cell, "coefficient": f"beta{index}", "draws": len(states)}
        rows += [
            {**row, "value": float(value), "density": float(height)}
            for value, height in zip(0.5 * (edges[1:] + edges[:-1]), heights, strict=True)
        ]
    Results.of(options, "figure-3").append(*rows)
