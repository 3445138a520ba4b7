"""The sampler's cells: Figures 3, 4 and 5, and the reference density."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discreet.experiments import sets
from discreet.experiments.config import TABLE_EPSILON, Options
from discreet.experiments.results import Results
from discreet.experiments.sets import PaperSet
from discreet.mechanisms import SanitizedExponential
from discreet.mechanisms.contract import Plan
from discreet.mechanisms.sanitized_exponential import fresh_key, sanitized_records
from discreet.optim import minimise
from discreet.privacy.testing import SeededNoise
from discreet.samplers import PSGLD, Metropolis

Array = NDArray[np.float64]

DROPPED = 10_000
KEPT = 100
GRID = 60
FIGURE_4_EPSILONS = (0.4, 1.6, 6.4)


@dataclass(frozen=True)
class Variant:
    """A chain by name: what it is, and the epsilons at which it is worth running."""

    name: str
    sampler: PSGLD
    share: float = 1.0
    only: tuple[float, ...] | None = None

    def settings(self, options: Options, persons: int) -> PSGLD:
        """The chain's settings for a data set; the literal one is slow and gets fewer epochs."""
        epochs = max(1, round(options.epochs * self.share))
        step = 1.0 / persons if self.name == "printed, step 1/n" else self.sampler.step
        return replace(self.sampler, epochs=epochs, step=step)


VARIANTS = (
    Variant("corrected", PSGLD(variant="corrected")),
    Variant("printed, step 1/n", PSGLD(variant="printed")),
    Variant("printed", PSGLD(variant="printed"), share=0.25, only=(0.4, 1.6, 6.4)),
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


def run_chains(options: Options, tell: Callable[[str], None]) -> None:
    """Every (set, variant, epsilon) once: one chain serves all three figures."""
    for epsilon in sorted(options.epsilons, reverse=True):
        for variant in VARIANTS:
            if variant.only is not None and epsilon not in variant.only:
                continue
            for name in options.sets:
                if sets.is_available(name) and name != "hdfail":
                    _cell(options, sets.load(name), variant, epsilon, tell)


def _cell(
    options: Options, data: PaperSet, variant: Variant, epsilon: float, tell: Callable[[str], None]
) -> None:
    sampler = variant.settings(options, data.persons)
    key = {"set": data.name, "variant": variant.name, "epsilon": epsilon, "epochs": sampler.epochs}
    if figure_5(options).has(mechanism="sampler", **key):
        return
    tell(f"{data.name}, {variant.name}, epsilon {epsilon:g}, {sampler.epochs} epochs")
    states, curve = run_chain(data, epsilon, sampler, options.seed)
    figure_4(options).append(*({**key, "epoch": i + 1, "mre": m} for i, m in enumerate(curve)))
    if epsilon == TABLE_EPSILON:
        density = _densities(data, variant.name, states, sampler.epochs)
        figure_3(options).append(*density)
    figure_5(options).append(
        {
            **key,
            "mechanism": "sampler",
            "mre": float(data.relative_error(states).mean()),
            "err": float(data.standard_error(states).mean()),
            "draws": len(states),
        }
    )


def run_chain(
    data: PaperSet, epsilon: float, sampler: PSGLD, seed: int
) -> tuple[Array, list[float]]:
    """States after the dropped steps, in the paper's coordinates, and MRE after each epoch."""
    mechanism, plan = _planned(data, epsilon, sampler)
    records = sanitized_records(data.loss(), plan.number("bound"))
    chain = sampler.start(mechanism.density(plan, records), fresh_key(SeededNoise(seed)))
    kept: list[Array] = []
    curve = []
    for states in chain.epochs(sampler.epochs, kept=KEPT):
        first = chain.steps - data.persons
        drop = int(np.ceil(max(0, DROPPED - first) / data.persons * len(states)))
        kept.append(states[drop:] if drop < len(states) else states[-1:])
        recent = kept if len(kept) < 2 else kept[1:] if len(kept[0]) < 2 else kept
        curve.append(float(data.relative_error(np.concatenate(recent)).mean()))
    return np.concatenate(kept), curve


def _planned(data: PaperSet, epsilon: float, sampler: PSGLD) -> tuple[SanitizedExponential, Plan]:
    mechanism = SanitizedExponential(epsilon=epsilon, sampler=sampler)
    return mechanism, mechanism.plan(data.constants())


def reference_states(data: PaperSet, epsilon: float, draws: int, seed: int) -> Array:
    """Metropolis-adjusted draws from the same density."""
    _, plan = _planned(data, epsilon, PSGLD())
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
        if name == "hdfail" or not sets.is_available(name):
            continue
        if results.has(set=name, source="reference", epochs=0):
            continue
        tell(f"{name}, Metropolis reference, {draws} draws")
        data = sets.load(name)
        states = reference_states(data, TABLE_EPSILON, draws, options.seed)
        results.append(*_densities(data, "reference", states, 0))
        figure_5(options).append(
            {
                "set": name,
                "mechanism": "sampler",
                "variant": "Metropolis reference",
                "epsilon": TABLE_EPSILON,
                "mre": float(data.relative_error(states).mean()),
                "err": float(data.standard_error(states).mean()),
                "draws": len(states),
                "epochs": 0,
            }
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
