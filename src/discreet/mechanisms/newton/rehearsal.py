"""What a release will state of itself: the mechanism drawn on made-up people.

A release's standard errors follow from everything that the mechanism releases on the way, so they are
not predicted by a formula of their own: the mechanism runs, with noise from a seed, on people who are
made up from public facts. Some thousands stand for all: their sums are multiplied. The people have
what registries often have, and the planner is not told: covariates that go together, a hazard that
falls, effects of a usual size, early censoring. No record is read; nothing made here is private.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.engine.engine import Arrays, BlockFunction
from discreet.engine.local import LocalEngine
from discreet.likelihood.problem import Problem
from discreet.mechanisms.contract import Plan
from discreet.mechanisms.newton.spread import LIKENESS
from discreet.mechanisms.newton.steps import power
from discreet.people.episodes import Episodes
from discreet.privacy.testing import SeededNoise
from discreet.solve import minimise
from discreet.types import Array, Flags, Integers

if TYPE_CHECKING:
    from discreet.mechanisms.newton.mechanism import PrivateNewton
    from discreet.mechanisms.outlook import Outlook

PEOPLE = 2048
"""So many are made up at least, where there are as many."""
DRAWS = 3
"""So that one in which a level happens to be hidden decides nothing."""
SEED = 20_262
EFFECT = 0.3
"""Of one standard deviation of a number, or of a level, on the link's scale; signs alternate."""
FALL = 0.5
"""The hazard falls like t^-1/2."""
CENSORED = 0.5
"""So many at most are censored before the horizon, at any time alike."""
REALITY, LITTLE = 1.7, 0.75
"""Privacy costs real people more than made-up ones, whom the model fits: a noise of variance r, in parts
of sampling's, is REALITY^2 r^LITTLE. Little noise grows most: where a model is wrong, bounds are wider
than noise alone asks for. Chosen on the development sets of studies/plan.py."""
TOLERANCE = 1e-6
"""Of the gradient for each person: standard errors need no more."""


@dataclass(frozen=True, eq=False)
class Repeated:
    """People who stand for `times` as many each."""

    engine: LocalEngine
    times: int

    @property
    def persons(self) -> int:
        """n."""
        return self.engine.persons * self.times

    def reduce(self, function: BlockFunction, *arguments: Any) -> Arrays:
        """The sums of all whom they stand for."""
        return tuple(part * self.times for part in self.engine.reduce(function, *arguments))

    def sample(self) -> "Repeated":
        """Themselves: they are few."""
        return self


def stated_covariance(mechanism: "PrivateNewton", plan: Plan, outlook: "Outlook") -> Array:
    """The covariance that a release will state: of sampling, and of noise by a few draws on made-up people.

    The noise is what the middle one of the draws states beyond the sampling of these people. More
    budget leads near the standard errors without privacy, not to them: a release at any budget allows
    for what its cohort may get wrong of the sampling variance (`spread.LIKENESS`).
    """
    problem = Problem(made_up(outlook), outlook.design, outlook.link)
    drawn = [mechanism.draw(plan, problem, SeededNoise(SEED + k)) for k in range(DRAWS)]
    total = np.median([draw.extras["covariance"] for draw in drawn], axis=0)
    own = power(exact_information(problem, outlook.point), 0.5, 0.0)
    values, vectors = np.linalg.eigh(own @ total @ own)
    root = power(outlook.sampling_variance, 0.5, 0.0)
    return np.asarray(root @ (vectors * in_reality(values)) @ vectors.T @ root)


def exact_information(problem: Problem, start: Array) -> Array:
    """That of the people at their maximum of the likelihood."""
    found = minimise(problem, start, tolerance=TOLERANCE * problem.persons)
    return problem.information(found.point)


def in_reality(stated: Array) -> Array:
    """Stated variances, in parts of sampling, with the noise of real people.

    A noise of variance r is stated as 1 + sqrt(r^2 + LIKENESS^2) (`spread.likeness`): only r is larger
    for real people.
    """
    noise = np.sqrt(np.maximum(np.maximum(stated - 1.0, 0.0) ** 2 - LIKENESS**2, 0.0))
    return np.asarray(1.0 + np.hypot(REALITY**2 * noise**LITTLE, LIKENESS))


def made_up(outlook: "Outlook") -> Repeated:
    """People with the stated numbers of persons and events."""
    times = max(1, outlook.persons // PEOPLE)
    number, random = outlook.persons // times, np.random.default_rng(SEED)
    members = _members(outlook, number, random)
    covariates, stratum = outlook.related.cohort[members, 0], outlook.related.stratum
    exits, events = _lives(outlook, _effects(outlook, covariates), random)
    order = np.argsort(exits, kind="stable")
    people = Episodes(
        np.ascontiguousarray(covariates[order]),
        np.zeros(number, dtype=np.int32),
        exits[order].astype(np.int32),
        events[order],
        None,
        number,
        None if stratum is None else stratum[members][order].astype(np.int16),
    )
    return Repeated(LocalEngine(people, threads=1), times)


def _members(outlook: "Outlook", number: int, random: np.random.Generator) -> Integers:
    """So many members of the cohort, by systematic sampling."""
    counts = outlook.related.counts[:, 0]
    shares = np.cumsum(counts) / counts.sum()
    places = np.searchsorted(shares, (np.arange(number) + random.random(number)) / number)
    return np.minimum(places, len(shares) - 1)


def _effects(outlook: "Outlook", covariates: Array) -> Array:
    """Everybody's linear predictor, but for time."""
    design = outlook.design.covariates
    steps = np.where(design.numbers, np.std(covariates, axis=0), np.abs(design.scale))
    signs = np.where(np.arange(covariates.shape[1]) % 2, -1.0, 1.0)
    slopes = np.divide(EFFECT * signs, steps, out=np.zeros_like(signs), where=steps > 0)
    return np.asarray((covariates - covariates.mean(axis=0)) @ slopes)


def _lives(
    outlook: "Outlook", effects: Array, random: np.random.Generator
) -> tuple[Integers, Flags]:
    """When everybody leaves, and whether with an event: as many events as are stated."""
    number, intervals = len(effects), outlook.design.intervals
    passed = np.cumsum(((np.arange(intervals) + 0.5) / intervals) ** -FALL) / intervals
    fate = -np.log((random.permutation(number) + 0.5) / number) / np.exp(effects)
    censored = min(CENSORED, 1.0 - outlook.events / outlook.persons)
    leaves = np.where(random.random(number) < censored, random.random(number), 1.0)
    last = np.minimum((leaves * intervals).astype(np.int64), intervals - 1)

    def lived(level: float) -> tuple[Integers, Flags]:
        place = np.searchsorted(passed, fate / np.exp(level))
        events = place <= last
        return np.where(events, place, last) + 1, events

    low, high, wanted = -25.0, 10.0, number * outlook.events / outlook.persons
    for _ in range(40):
        middle = (low + high) / 2.0
        low, high = (middle, high) if lived(middle)[1].sum() < wanted else (low, middle)
    return lived(high)
