"""Designs, persons and plug-in losses for the audit: random ones and hand-made worst cases.

Tables of people as users have them, with hostile rows, and releases made from them.
"""

import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.base import simulate
from discreet.design.baseline import NaturalSpline
from discreet.design.design import Coordinates, Design
from discreet.design.link import get_link
from discreet.design.schema import Schema
from discreet.documents.model import Release
from discreet.engine.local import LocalEngine
from discreet.likelihood.problem import Problem
from discreet.mechanisms import Facts, Mechanism
from discreet.people.episodes import Episodes
from discreet.privacy.noise import NoiseSource
from discreet.regression import SurvivalRegression
from discreet.solve import Evaluation
from discreet.types import Array


def make_constants(  # noqa: PLR0913, PLR0917 - each fact by name
    persons: int = 50,
    intervals: int = 20,
    covariates: int = 2,
    knots: int = 3,
    link: str = "logit",
    coordinates: Coordinates = "orthonormal",
    strata: int = 1,
    causes: int = 1,
    changes: Sequence[float] = (),
    **further: Any,
) -> Facts:
    """Public facts of a small cohort with numeric covariates in [-1, 1].

    All effects but that of the last covariate change at the times in `changes`, between 0 and 1.
    """
    mapping: dict[str, Any] = {
        "time": {"duration": "time", "event": "event", "horizon": 1.0, "intervals": intervals},
        "covariate": [{"name": f"x{i}", "low": -1, "high": 1} for i in range(covariates)],
    }
    for item in mapping["covariate"][: -1 if changes else 0]:
        item["changes_at"] = list(changes)
    if causes > 1:
        mapping["time"]["causes"] = {f"cause{i}": [i] for i in range(1, causes + 1)}
    if strata > 1:
        mapping["strata"] = {"name": "site", "levels": [f"s{i}" for i in range(strata)]}
    design = Design(Schema.from_mapping(mapping), NaturalSpline(knots), coordinates)
    return Facts(persons, design, get_link(link), **further)


@dataclass(frozen=True)
class CasePerson:
    """Rows of one person: x (rows, p), the intervals entry+1 ... exit of each row, the stratum.

    `cause` is that of the event, where there are several.
    """

    covariates: Array
    entry: NDArray[np.int64]
    exit: NDArray[np.int64]
    event: bool
    stratum: int = 0
    cause: int = 1

    def derivatives(self, facts: Facts, f: Array) -> tuple[Array, Array]:
        """Gradient and Hessian of the person's loss, by plain summation over intervals."""
        gradient = np.zeros(facts.dimension)
        hessian = np.zeros((facts.dimension, facts.dimension))
        link = facts.link
        for z, ends in self._intervals(facts):
            eta = np.array([z @ f])
            slope = link.event_loss_derivative if ends else link.survival_loss_derivative
            bend = link.event_loss_curvature if ends else link.survival_loss_curvature
            gradient += slope(eta)[0] * z
            hessian += bend(eta)[0] * np.outer(z, z)
        return gradient, hessian

    def gradient(self, facts: Facts, f: Array) -> Array:
        """Of the person's loss."""
        return self.derivatives(facts, f)[0]

    def hessian(self, facts: Facts, f: Array) -> Array:
        """Of the person's loss."""
        return self.derivatives(facts, f)[1]

    def _intervals(self, facts: Facts) -> Iterator[tuple[Array, bool]]:
        """z_s = (B_s, x) of every interval at risk, and whether the event is in it."""
        basis, last_row = facts.design.basis, len(self.exit) - 1
        period = facts.design.periods.of_interval
        for row, (first, last) in enumerate(zip(self.entry, self.exit, strict=True)):
            for s in range(first, last):
                ends = self.event and row == last_row and s == last - 1
                z = np.zeros(facts.dimension)
                own = facts.design.in_force(self.stratum, period[s])
                z[own] = np.concatenate([basis[s], self.covariates[row]])
                yield z, ends


def episodes_of(people: Sequence[CasePerson], covariates: int) -> Episodes:
    """The people as episodes."""
    counts = [len(person.exit) for person in people]
    last = np.zeros(sum(counts), dtype=bool)
    for offset, person in zip(np.cumsum(counts), people, strict=True):
        if len(person.exit):
            last[offset - 1] = person.event
    return Episodes(
        covariates=np.concatenate([who.covariates for who in people]).reshape(
            len(last), covariates
        ),
        entry=np.concatenate([person.entry for person in people]).astype(np.int32),
        exit=np.concatenate([person.exit for person in people]).astype(np.int32),
        event=last,
        offsets=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        persons=len(people),
        stratum=_strata_of(people, counts),
        cause=_causes_of(people, counts, last),
    )


def _causes_of(
    people: Sequence[CasePerson], counts: list[int], event: NDArray[np.bool_]
) -> NDArray[np.int8] | None:
    """The cause of every event; none where all are of the first."""
    numbers = [person.cause for person in people]
    found = (np.repeat(numbers, counts) * event).astype(np.int8)
    return found if max(numbers, default=1) > 1 else None


def _strata_of(people: Sequence[CasePerson], counts: list[int]) -> NDArray[np.int16] | None:
    """The stratum of every row; none where everybody is of the first."""
    numbers = [person.stratum for person in people]
    return np.repeat(numbers, counts).astype(np.int16) if any(numbers) else None


def loss_of(people: Sequence[CasePerson], facts: Facts) -> Problem:
    """The total loss that fits use."""
    width = facts.design.covariates.dimension
    engine = LocalEngine(episodes_of(people, width), threads=1)
    return Problem(engine, facts.design, facts.link)


def random_person(
    random: np.random.Generator, facts: Facts, *, pieces: int = 1, extreme: float = 0.7
) -> CasePerson:
    """A person of so many rows; the share `extreme` are on the sphere |x| = 1 and stay long."""
    intervals, width = facts.intervals, facts.design.covariates.dimension
    cuts = np.sort(random.choice(intervals + 1, min(pieces, intervals) + 1, replace=False))
    if random.random() < extreme:
        cuts[0], cuts[-1] = 0, intervals
    x = random.normal(size=(len(cuts) - 1, width))
    radius = 1.0 if random.random() < extreme else random.random()
    x *= radius / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-300)
    event = bool(random.random() < 0.5)
    stratum = int(random.integers(facts.design.strata)) if facts.design.strata > 1 else 0
    cause = int(random.integers(facts.causes)) + 1 if facts.causes > 1 else 1
    return CasePerson(x, cuts[:-1], cuts[1:], event, stratum, cause)


def corner_people(facts: Facts) -> list[CasePerson]:
    """Hand-made persons: at a corner or its opposite, short or long, with and without event."""
    intervals, width = facts.intervals, facts.design.covariates.dimension
    corner = np.ones(width) / math.sqrt(max(width, 1))
    axes = np.eye(width)
    directions = [corner, -corner, *axes, *(-axes), np.zeros(width), -0.0 * corner]
    nobody = np.array([], dtype=np.int64)
    people = [CasePerson(np.empty((0, width)), nobody, nobody, event=False)]
    stays = ((0, intervals), (0, 1), (intervals - 1, intervals))
    people += [
        CasePerson(x[None, :], np.array([first]), np.array([last]), event)
        for x, (first, last), event in product(directions, stays, (False, True))
    ]
    if facts.time_varying and intervals > 1:
        people += _flipping(facts, corner)
    kinds = product(range(facts.design.strata), range(1, facts.causes + 1))
    return [
        replace(person, stratum=stratum, cause=cause)
        for stratum, cause in kinds
        for person in people
    ]


def _flipping(facts: Facts, corner: Array) -> list[CasePerson]:
    """Covariates that jump from a corner to its opposite in every interval."""
    flips = np.array([corner if s % 2 else -corner for s in range(facts.intervals)])
    steps = np.arange(facts.intervals)
    return [
        CasePerson(sign * flips, steps, steps + 1, event)
        for sign in (1, -1)
        for event in (False, True)
    ]


def hostile_points(random: np.random.Generator, facts: Facts, count: int) -> Array:
    """Coefficients of every size, also such that all slopes are saturated."""
    sizes = 10.0 ** random.uniform(-3, 4, (count, 1))
    points = random.normal(size=(count, facts.dimension)) * sizes
    level = np.tile(facts.design.constant, facts.design.strata)
    for point in points[::2]:
        point[: len(level)] += random.choice([-1e3, 1e3, 40.0, -40.0]) * level
    return np.asarray(points)


@dataclass(frozen=True)
class LinearLoss:
    """loss(f) = g'f: the minimiser and every density are known in closed form."""

    slope: Array

    def __call__(self, f: Array) -> Evaluation:
        """Value, gradient and Hessian."""
        return Evaluation(float(self.slope @ f), self.slope.copy(), np.zeros((len(f), len(f))))


@dataclass(frozen=True)
class QuadraticLoss:
    """loss(f) = (f - f_0)' E (f - f_0) / 2."""

    bend: Array
    centre: Array

    def __call__(self, f: Array) -> Evaluation:
        """Value, gradient and Hessian."""
        move = f - self.centre
        pull = self.bend @ move
        return Evaluation(float(0.5 * move @ pull), pull, self.bend.copy())


class StuckLoss:
    """A loss whose gradient is never quite right: solvers move, and get no certificate."""

    def __call__(self, f: Array) -> Evaluation:
        """Value, gradient and Hessian."""
        slope = np.full(len(f), 1.0 + 0.01 * math.sin(1e6 * f.sum()))
        return Evaluation(float(f.sum()), slope, np.zeros((len(f), len(f))))


Row = tuple[float, int, float, str]

BASELINE = "natural-spline:2"
BASELINE_SIZE = 2
NAMES = ("time", "dead", "age", "arm")

BASE: tuple[Row, ...] = (
    (0.5, 1, 12.0, "a"),
    (3.5, 0, 22.0, "b"),
    (5.9, 0, 29.0, "c"),
    (2.5, 1, 18.0, "a"),
)

HOSTILE: tuple[Row, ...] = (
    (6.0, 0, 30.0, "d"),
    (0.0, 1, 10.0, "d"),
    (5.9, 1, 1e308, "b"),
    (5.9, 0, -1e308, "c"),
    (6.0, 0, math.nan, "nobody"),
    (math.inf, 0, math.inf, "d"),
    (-3.0, 1, -math.inf, ""),
    (math.nan, 1, 5e-324, "a"),
)


def user_schema() -> Schema:
    """Six intervals, a number and a category."""
    return Schema.from_mapping(
        {
            "time": {"duration": "time", "event": "dead", "horizon": 6.0, "intervals": 6},
            "covariate": [
                {"name": "age", "low": 10.0, "high": 30.0},
                {"name": "arm", "levels": ["a", "b", "c", "d"]},
            ],
        }
    )


def table(rows: Sequence[Row]) -> pa.Table:
    """The rows as a table."""
    return pa.table(dict(zip(NAMES, map(list, zip(*rows, strict=True)), strict=True)))


def neighbours() -> list[pa.Table]:
    """The base table, and those in which a hostile row replaces the first person."""
    return [table(BASE), *(table([row, *BASE[1:]]) for row in HOSTILE)]


def regression(**settings: Any) -> SurvivalRegression:
    """The public estimator of the tables."""
    return SurvivalRegression(user_schema(), **{"link": "logit", "baseline": BASELINE, **settings})


@contextmanager
def quiet() -> Iterator[None]:
    """Without the warnings that an audit expects."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def known_release(people: pa.Table, mechanism: Mechanism, noise: NoiseSource) -> Release:
    """A release made as users make one, under known noise."""
    with quiet():
        found = simulate(regression(), people, mechanism=mechanism, seed=noise)
    return cast("Release", found.model_)


def steps_in(release: Release) -> Array:
    """A perturbation's release in coordinates w, in steps of the grid on which noise was added."""
    details = release.details
    point = release.internal.vector
    shift = np.where(np.arange(len(point)) < BASELINE_SIZE, 2.0 ** details["baseline_shift"], 1.0)
    w = (point - np.array(details["centre"])) / shift
    return np.asarray(np.ldexp(w, -details["step_exponent"]))
