"""The sampler's cells: Figures 3, 4 and 5, and the reference density."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any

import numpy as np

from discreet.paper.config import TABLE_EPSILON, Options
from discreet.paper.data import PaperSet, is_available, load
from discreet.paper.diagnostics import diagnose
from discreet.paper.exponential import SanitizedExponential, fresh_key, sanitized_records
from discreet.paper.metropolis import Metropolis
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
"""States below which there is nothing to diagnose."""
GRID = 60


@dataclass(frozen=True)
class Variant:
    """A chain by name: what it is, and the epsilons at which it is worth running.

    steps: n times the factor of t^-tau; None is the sampler's default.
    """

    name: str
    sampler: PSGLD
    steps: float | None = None
    share: float = 1.0
    only: tuple[float, ...] | None = None

    def settings(self, options: Options, persons: int) -> PSGLD:
        """The chain's settings for a data set; the literal one is slow and gets fewer epochs."""
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
    """MRE against epochs."""
    return Results(
        options.results / "figure-4.csv", FIGURE_4, ("set", "variant", "epsilon", "epochs")
    )


def figure_5(options: Options) -> Results:
    """Errors against epsilon."""
    return Results(
        options.results / "figure-5.csv",
        FIGURE_5,
        ("set", "mechanism", "variant", "epsilon", "epochs"),
    )


def figure_3(options: Options) -> Results:
    """Marginal densities."""
    return Results(options.results / "figure-3.csv", FIGURE_3, ("set", "source", "epochs"))


def mixing(options: Options) -> Results:
    """How far each chain has mixed."""
    return Results(
        options.results / "mixing.csv",
        ("set", "variant", "epsilon", "epochs", "states", "r_hat", "effective"),
        ("set", "variant", "epsilon", "epochs"),
    )


def worst_mixing(states: Array) -> dict[str, object]:
    """Split R-hat and effective sample size of a chain's second half, of the worst coordinate."""
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
    """Every (set, variant, epsilon) once, on all cores: one chain serves all three figures."""
    cells = [cell for cell in _cells(options) if not _is_done(options, *cell)]
    watch = watcher()
    for data, variant, _ in cells:
        watch.begin(variant.settings(options, data.persons).epochs * data.persons)
        _ = data.optimum  # found once, before threads ask for it
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        for finished in [pool.submit(_cell, options, *cell, tell, watch) for cell in cells]:
            finished.result()


def _cells(options: Options) -> Iterator[tuple[PaperSet, Variant, float]]:
    for epsilon in sorted(options.epsilons, reverse=True):
        for variant in VARIANTS:
            if variant.only is not None and epsilon not in variant.only:
                continue
            for name in options.sets:
                if is_available(name) and name != "hdfail":
                    yield load(name), variant, epsilon


def _is_done(options: Options, data: PaperSet, variant: Variant, epsilon: float) -> bool:
    epochs = variant.settings(options, data.persons).epochs
    key = {"set": data.name, "variant": variant.name, "epsilon": epsilon, "epochs": epochs}
    return figure_5(options).has(mechanism="sampler", **key)


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
    key = {"set": data.name, "variant": variant.name, "epsilon": epsilon, "epochs": sampler.epochs}
    with _WRITING:
        _write(options, data, key, states, curve)


def _write(
    options: Options, data: PaperSet, key: dict[str, Any], states: Array, curve: list[float]
) -> None:
    """The rows of a finished cell; that of Figure 5 last, which marks the cell as done."""
    figure_4(options).append(*({**key, "epoch": i + 1, "mre": m} for i, m in enumerate(curve)))
    if key["epsilon"] == TABLE_EPSILON:
        figure_3(options).append(*_densities(data, key["variant"], states, key["epochs"]))
    mixing(options).append({**key, **worst_mixing(states)})
    figure_5(options).append({**key, "mechanism": "sampler", **data.errors(states)})


def run_chain(
    data: PaperSet, epsilon: float, sampler: PSGLD, seed: int, watch: Watcher | None = None
) -> tuple[Array, list[float]]:
    """States after the dropped steps, in the paper's coordinates, and MRE after each epoch.

    An epoch's MRE is the mean over all states since the dropped ones, as in the paper.
    """
    density = density_maker(data, SanitizedExponential(epsilon=epsilon, sampler=sampler))
    chain = sampler.start(density(), fresh_key(SeededNoise(seed)))
    kept: list[Array] = []
    total, count = 0.0, 0
    curve = []
    for states in chain.epochs(sampler.epochs, kept=KEPT):
        drop = _dropped(chain.steps - data.persons, data.persons, len(states))
        fresh = states[drop:]
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
    """What a chain's steps see, over records that are read once; every thread needs its own."""
    plan = mechanism.plan(data.constants())
    records = sanitized_records(data.loss(), plan.number("bound"))
    return lambda: mechanism.density(plan, records)


def _dropped(first: int, persons: int, states: int) -> int:
    """How many of an epoch's states belong to the first 10,000 steps."""
    return min(states, int(np.ceil(max(0, DROPPED - first) / persons * states)))


def reference_states(data: PaperSet, epsilon: float, draws: int, seed: int) -> Array:
    """Metropolis-adjusted draws from the same density."""
    plan = SanitizedExponential(epsilon=epsilon).plan(data.constants())
    records = sanitized_records(data.loss(), plan.number("bound"))
    scale, precision = plan.number("energy_scale"), plan.number("prior_precision")

    def energy(point: Array) -> tuple[float, Array]:
        value, gradient = records.total(point)
        prior = 0.5 * precision * float(point @ point)
        return scale * value + prior, scale * gradient + precision * point

    best = minimise(data.loss(), np.zeros(plan.dimension), tolerance=1e-6)
    bend = scale * best.evaluation.hessian + precision * np.eye(plan.dimension)
    random = np.random.default_rng(seed)
    sampler = Metropolis(draws=draws, burn_in=draws // 10)
    return sampler.sample(
        energy, best.point, np.asarray(np.linalg.inv(bend), dtype=np.float64), random
    ).points


def run_reference(options: Options, tell: Callable[[str], None]) -> None:
    """The reference densities of Figure 3."""
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
    """Histogram densities of beta1 and beta2 on a grid around the fit."""
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
