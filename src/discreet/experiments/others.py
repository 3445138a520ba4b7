"""Figure 5's other mechanisms: the perturbations, printed and corrected, and the rest."""

from collections.abc import Callable, Iterator

import numpy as np

from discreet.experiments import sets
from discreet.experiments.chains import figure_5
from discreet.experiments.config import BEST_RIDGE, Options
from discreet.experiments.sets import PaperSet
from discreet.mechanisms import (
    ObjectivePerturbation,
    OutputPerturbation,
    PrivateNewton,
    SelectedRidge,
)
from discreet.mechanisms.contract import Mechanism
from discreet.privacy.testing import SeededNoise
from discreet.types import Array

DELTA = 1e-6
Named = tuple[str, str, Mechanism]


def run_others(options: Options, tell: Callable[[str], None]) -> None:
    """Every (set, mechanism, variant, epsilon), ``perturbation_draws`` draws each."""
    results = figure_5(options)
    for epsilon in sorted(options.epsilons, reverse=True):
        for name in options.sets:
            if not sets.is_available(name):
                continue
            for kind, variant, mechanism in mechanisms(name, epsilon):
                key = {"mechanism": kind, "variant": variant, "epsilon": epsilon, "epochs": 0}
                if results.has(set=name, **key):
                    continue
                tell(f"{name}, {kind} {variant}, epsilon {epsilon:g}")
                data = sets.load(name)
                points = draw_points(data, mechanism, options)
                results.append({**key, "set": name, **data.errors(points)})


def mechanisms(name: str, epsilon: float) -> Iterator[Named]:
    """The perturbations with the ridge of the paper's Table 2 as printed; ours by their rules."""
    ridge = BEST_RIDGE[name]
    for kind in (OutputPerturbation, ObjectivePerturbation):
        yield kind.name, "printed", kind(epsilon=epsilon, ridge=ridge, variant="printed")
        yield kind.name, "corrected", kind(epsilon=epsilon)
    yield "newton", "delta 1e-6", PrivateNewton(epsilon=epsilon, delta=DELTA)
    yield "newton", "pure", PrivateNewton(epsilon=epsilon, delta=0.0)
    yield "selected", "objective", SelectedRidge(epsilon=epsilon)


def draw_points(data: PaperSet, mechanism: Mechanism, options: Options) -> Array:
    """Draws in the paper's coordinates."""
    constants = data.constants(mechanism.coordinates)
    plan = mechanism.plan(constants)
    loss = data.loss(mechanism.coordinates)
    to_paper = constants.design.to_user
    points = [
        to_paper @ mechanism.draw(plan, loss, SeededNoise(options.seed + index)).point
        for index in range(options.perturbation_draws)
    ]
    return np.array(points)
