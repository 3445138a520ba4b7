# ruff: noqa: INP001, scripts beside each other, no package
"""Simulated cohorts on which the private Newton mechanism was designed, and the paper's three sets.

Event rates from 2% to 90%, right and wrong models, rare binaries, heavy tails, strong effects. The
constants of the mechanism come from these; the paper's sets are for measuring only.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet.design.baseline import NaturalSpline
from discreet.design.design import Design
from discreet.design.link import Logit
from discreet.design.schema import Schema
from discreet.engine.local import LocalEngine
from discreet.likelihood.problem import Problem
from discreet.people.episodes import Episodes
from discreet.solve import minimise
from discreet.types import Array

Covariates = tuple[Array, tuple[int, ...]]


@dataclass(frozen=True)
class Cohort:
    """Values u in [-1, 1] (columns in `binary` are -1 or 1), last intervals and events."""

    values: Array
    binary: tuple[int, ...]
    exits: NDArray[np.int64]
    events: NDArray[np.bool_]
    intervals: int

    def loss(self) -> Problem:
        """The total logit loss over a three-knot natural spline."""
        design = Design(
            schema_for(self.values.shape[1], self.binary, self.intervals), NaturalSpline(3)
        )
        order = np.argsort(self.exits, kind="stable")
        raw = np.where(np.isin(np.arange(self.values.shape[1]), self.binary), 0.5, 0.0)
        scaled = np.where(raw > 0, (self.values + 1) / 2, self.values)
        x = (scaled - design.covariates.centre) * design.covariates.scale
        leave = self.exits[order].astype(np.int32)
        people = Episodes(
            np.ascontiguousarray(x[order]), leave * 0, leave, self.events[order], None, len(order)
        )
        return Problem(LocalEngine(people), design, Logit())


def schema_for(width: int, binary: tuple[int, ...], intervals: int) -> Schema:
    """Numbers in [-1, 1] and two-level categories."""
    covariates: list[dict[str, object]] = [
        {"name": f"x{j}", "levels": ["a", "b"]}
        if j in binary
        else {"name": f"x{j}", "low": -1.0, "high": 1.0}
        for j in range(width)
    ]
    time = {"duration": "t", "event": "e", "horizon": 1.0, "intervals": intervals}
    return Schema.from_mapping({"time": time, "covariate": covariates})


def fit(loss: Problem) -> tuple[Array, Array]:
    """The maximum likelihood estimate and the Hessian there."""
    events, at_risk, _ = loss.totals()
    start = np.zeros(loss.dimension)
    start[0] = np.log(max(events, 1.0) / at_risk)
    solution = minimise(loss, start)
    return solution.point, loss(solution.point).hessian


def error(point: Array, best: Array, hessian: Array) -> float:
    """sqrt((f - f*)' H (f - f*) / d): in standard errors of the maximum likelihood estimate."""
    gap = point - best
    return float(np.sqrt(gap @ hessian @ gap / len(gap)))


def simulate(
    covariates: Covariates,
    effect: Array,
    shape: Array,
    rate: float,
    censored: float,
    seed: int,
) -> Cohort:
    """People with log-odds level + shape(t) + effect (n or n x q), the level set for the rate."""
    random = np.random.default_rng(seed)
    values, binary = covariates
    effect = effect if effect.ndim == 2 else effect[:, None]
    level = _level(effect[:1500] + shape, rate, censored)
    hits = random.random((len(values), len(shape))) < _expit(level + shape + effect)
    never = len(shape) + 1
    first = np.where(hits.any(axis=1), hits.argmax(axis=1) + 1, never)
    last = np.where(
        random.random(len(values)) < censored,
        random.integers(1, never, len(values)),
        len(shape),
    )
    return Cohort(values, binary, np.minimum(first, last), first <= last, len(shape))


def _level(predictor: Array, rate: float, censored: float) -> float:
    low, high = -25.0, 5.0
    for _ in range(40):
        middle = (low + high) / 2
        gone = 1 - np.cumprod(1 - _expit(middle + predictor), axis=1)
        reached = ((1 - censored) * gone[:, -1] + censored * gone.mean(axis=1)).mean()
        low, high = (low, middle) if reached > rate else (middle, high)
    return middle


def _expit(eta: Array) -> Array:
    return 1 / (1 + np.exp(-eta))


def _times(intervals: int) -> Array:
    return np.arange(1, intervals + 1) / intervals


def _simple(random: np.random.Generator, n: int) -> Covariates:
    columns = random.uniform(-1, 1, n), _normal(random, n, 0.25), random.choice([-1.0, 1.0], n)
    return np.column_stack(columns), (2,)


def _normal(random: np.random.Generator, size: int | tuple[int, int], spread: float) -> Array:
    return random.normal(0, spread, size).clip(-1, 1)


def _heavy(random: np.random.Generator, n: int) -> tuple[Covariates, Array]:
    latent = random.normal(size=(n, 8))
    latent[:, 4] = 0.8 * latent[:, 3] + 0.6 * latent[:, 4]
    latent[:, 5] = 0.7 * latent[:, 3] + 0.7 * latent[:, 5]
    columns = (
        latent[:, 0] * 0.4 - 0.2,
        np.where(latent[:, 1] > 0, 1, -1),
        latent[:, 2] * 0.5,
        np.exp(0.5 * latent[:, 3]) / 6 - 1,
        np.exp(0.6 * latent[:, 4]) / 8 - 1,
        latent[:, 5] * 0.5,
        np.exp(0.4 * latent[:, 6]) / 8 - 1,
        np.where(latent[:, 7] > 2.2, 1, -1),
    )
    return (np.column_stack(columns).clip(-1, 1), (1, 7)), latent


def designs(  # noqa: C901, a list of designs, each a function
    seed: int = 0, intervals: int = 200
) -> dict[str, Callable[[], Cohort]]:
    """Every design by name, made when called."""
    t = _times(intervals)
    smooth, late = 3 * t - 3 * t**2, -6 * np.exp(-8 * t)
    bumpy = (
        np.where((t > 0.1) & (t < 0.2), 1.2, 0) + np.where(t > 0.6, -0.8, 0) + np.sin(14 * t) / 2
    )

    def right10() -> Cohort:
        covariates = _simple(np.random.default_rng(seed + 1), 15_000)
        return simulate(covariates, covariates[0] @ [0.2, -1, -0.3], smooth, 0.10, 0.5, seed)

    def late10wrong() -> Cohort:
        covariates = _simple(np.random.default_rng(seed + 2), 15_000)
        x = covariates[0]
        effect = x @ [0.2, -1, -0.3] - 1.5 * np.maximum(x[:, 1], 0)
        return simulate(covariates, effect, late, 0.11, 0.3, seed)

    def bump85wrong() -> Cohort:
        random = np.random.default_rng(seed + 3)
        n = 20_000
        wage = (random.lognormal(-2, 0.6, n) - 1).clip(-1, 1)
        x = np.column_stack([random.choice([-1.0, 1.0], n), _normal(random, n, 0.35), wage])
        return simulate((x, (0,)), x @ [-0.1, -0.4, 0.6], bumpy, 0.85, 0.3, seed)

    def heavy28wrong() -> Cohort:
        covariates, latent = _heavy(np.random.default_rng(seed + 4), 8000)
        x = covariates[0]
        effect = 1.5 * x[:, 0] + 0.15 * x[:, 1] - 0.2 * x[:, 2] + 0.25 * latent[:, 3].clip(-3, 3)
        effect += 0.2 * np.maximum(latent[:, 4], 0) + 0.1 * latent[:, 5] + 0.1 * latent[:, 6]
        return simulate(covariates, effect, smooth, 0.28, 0.3, seed)

    def heavy28right() -> Cohort:
        covariates, _ = _heavy(np.random.default_rng(seed + 5), 8000)
        effect = covariates[0] @ [1.5, 0.15, -0.2, 0.8, 0.5, 0.2, 0, 0]
        return simulate(covariates, effect, smooth, 0.28, 0.3, seed)

    def rare5() -> Cohort:
        random = np.random.default_rng(seed + 6)
        n = 20_000
        flags = np.where(random.random((n, 3)) < [0.02, 0.05, 0.3], 1.0, -1.0)
        x = np.hstack([flags, random.uniform(-1, 1, (n, 2))])
        return simulate((x, (0, 1, 2)), x @ [0.4, -0.3, 0.2, 0.5, 0.5], smooth, 0.05, 0.5, seed)

    def strong50() -> Cohort:
        x = np.random.default_rng(seed + 7).uniform(-1, 1, (5000, 4))
        return simulate((x, ()), x @ [1.5, -1.5, 1, 0.5], -smooth, 0.5, 0.3, seed)

    def varying90wrong() -> Cohort:
        x = np.random.default_rng(seed + 8).uniform(-1, 1, (5000, 4))
        effect = (x @ [0.5, -0.5, 0.3, 0.2])[:, None] + np.outer(x[:, 0], 2 * t - 1) * 1.2
        return simulate((x, ()), effect, bumpy, 0.9, 0.1, seed)

    def many2() -> Cohort:
        random = np.random.default_rng(seed + 9)
        n = 50_000
        flags = np.where(random.random((n, 4)) < 0.4, 1.0, -1.0)
        x = np.hstack([_normal(random, (n, 6), 0.3), flags])
        effect = x @ [0.5, -0.5, 0.3, 0.2, 0, 0, 0.2, -0.2, 0.1, 0]
        return simulate((x, (6, 7, 8, 9)), effect, late, 0.02, 0.4, seed)

    def small30() -> Cohort:
        x = _normal(np.random.default_rng(seed + 10), (4000, 1), 0.3)
        return simulate((x, ()), x @ [1.0], smooth, 0.3, 0.4, seed)

    made = (right10, late10wrong, bump85wrong, heavy28wrong, heavy28right, rare5, strong50)
    return {item.__name__: item for item in (*made, varying90wrong, many2, small30)}


def tail_designs(seed: int = 0, intervals: int = 200) -> dict[str, Callable[[], Cohort]]:
    """Designs in which a few people carry much of the information on some coefficients."""
    smooth = 3 * _times(intervals) * (1 - _times(intervals))

    def tail20wrong() -> Cohort:
        covariates, latent = _long_tails(np.random.default_rng(seed + 11), 8000)
        effect = covariates[0] @ [1, 0.2, 0, 0, 0.3] + latent @ [0.3, 0.2]
        return simulate(covariates, effect, smooth, 0.2, 0.4, seed)

    def tail20right() -> Cohort:
        covariates, _ = _long_tails(np.random.default_rng(seed + 12), 8000)
        effect = covariates[0] @ [1, 0.2, 1.5, 1, 0.3]
        return simulate(covariates, effect, smooth, 0.2, 0.4, seed)

    def tail5wrong() -> Cohort:
        covariates, latent = _long_tails(np.random.default_rng(seed + 13), 40_000)
        effect = covariates[0] @ [1, 0.2, 0, 0, 0.3] + np.maximum(latent, 0) @ [0.4, -0.2]
        return simulate(covariates, effect, smooth, 0.05, 0.3, seed)

    def outlier40wrong() -> Cohort:
        random = np.random.default_rng(seed + 14)
        x = _normal(random, (6000, 4), 0.12)
        seen = np.where(random.random(x.shape) < 0.01, random.uniform(-1, 1, x.shape), x)
        return simulate((seen, ()), x @ [4, -3, 2, 0], smooth, 0.4, 0.3, seed)

    def step70wrong() -> Cohort:
        x = np.random.default_rng(seed + 15).standard_t(3, (10_000, 5)).clip(-20, 20) / 20
        effect = (x > 0.05) @ [0.8, -0.5, 0.3, 0, 0] + x @ [0, 0, 0, 3, -3]
        return simulate((x, ()), effect, smooth, 0.7, 0.2, seed)

    made = (tail20wrong, tail20right, tail5wrong, outlier40wrong, step70wrong)
    return {item.__name__: item for item in made}


def _long_tails(random: np.random.Generator, n: int) -> tuple[Covariates, Array]:
    """A normal, a binary, two correlated lognormal columns in a wide public range, a uniform."""
    latent = random.normal(size=(n, 2)) @ np.array([[1.0, 0.7], [0.0, 0.7]])
    columns = (
        _normal(random, n, 0.4),
        random.choice([-1.0, 1.0], n),
        *(np.exp(0.9 * latent).clip(0, 40) / 20 - 1).T,
        random.uniform(-1, 1, n),
    )
    return (np.column_stack(columns), (1,)), latent


def paper_sets() -> dict[str, Cohort]:
    """FL, TB and WT under the paper's preprocessing, which reads the data: for comparison only."""
    folder = os.environ.get("DISCREET_DATA")
    if not folder:
        return {}
    return {name: _paper_set(Path(folder) / f"{name}.csv") for name in ("fl", "tb", "wt")}


def _paper_set(file: Path, intervals: int = 200) -> Cohort:
    table = np.genfromtxt(file, delimiter=",", skip_header=1)
    time, event, raw = table[:, 0], table[:, 1] > 0, table[:, 2:]
    filled = np.where(np.isnan(raw), np.nanmean(raw, axis=0), raw)
    low, high = filled.min(axis=0), filled.max(axis=0)
    values = (filled - low) / (high - low) * 2 - 1
    binary = tuple(j for j in range(values.shape[1]) if len(np.unique(values[:, j])) == 2)
    exits = np.minimum(np.floor(time / time.max() * intervals).astype(np.int64) + 1, intervals)
    return Cohort(values, binary, exits, event, intervals)
