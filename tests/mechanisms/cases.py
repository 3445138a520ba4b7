"""Designs, persons, plug-in losses and noise that tests of mechanisms share."""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import ClassVar

import numpy as np

from discreet.baseline import NaturalSpline
from discreet.engine.local import LocalEngine
from discreet.episodes import Episodes
from discreet.likelihood.objective import TotalLoss
from discreet.link import get_link
from discreet.mechanisms.contract import Constants
from discreet.optim import Evaluation
from discreet.privacy.continuous import ContinuousDraw
from discreet.privacy.grid import integer_vector
from discreet.privacy.noise import NoiseSource
from tests.support import make_design


def make_constants(
    persons=50,
    intervals=20,
    covariates=2,
    knots=3,
    link="logit",
    coordinates="orthonormal",
    **facts,
):
    """Public facts of a small cohort."""
    design = make_design(intervals, covariates, NaturalSpline(knots), coordinates)
    return Constants(persons, design, get_link(link), **facts)


@dataclass(frozen=True)
class Person:
    """Rows of one person: x (rows, p), and the intervals entry+1 ... exit of each row."""

    covariates: np.ndarray
    entry: np.ndarray
    exit: np.ndarray
    event: bool

    def gradient(self, constants, f):
        """Gradient of the person's loss by plain summation over intervals."""
        link, basis = constants.link, constants.design.basis
        total = np.zeros(constants.dimension)
        for row, (first, last) in enumerate(zip(self.entry, self.exit, strict=True)):
            for s in range(first, last):
                z = np.concatenate([basis[s], self.covariates[row]])
                eta = np.array([z @ f])
                ends = self.event and row == len(self.exit) - 1 and s == last - 1
                slope = link.event_loss_derivative if ends else link.survival_loss_derivative
                total += slope(eta)[0] * z
        return total

    def hessian(self, constants, f):
        """Hessian of the person's loss, likewise."""
        link, basis = constants.link, constants.design.basis
        total = np.zeros((constants.dimension, constants.dimension))
        for row, (first, last) in enumerate(zip(self.entry, self.exit, strict=True)):
            for s in range(first, last):
                z = np.concatenate([basis[s], self.covariates[row]])
                eta = np.array([z @ f])
                ends = self.event and row == len(self.exit) - 1 and s == last - 1
                bend = link.event_loss_curvature if ends else link.survival_loss_curvature
                total += bend(eta)[0] * np.outer(z, z)
        return total


def episodes_of(people, covariates):
    """The people as episodes."""
    counts = [len(person.exit) for person in people]
    last = np.zeros(sum(counts), dtype=bool)
    for offset, person in zip(np.cumsum(counts), people, strict=True):
        if len(person.exit):
            last[offset - 1] = person.event
    rows = [person.covariates for person in people]
    return Episodes(
        covariates=np.concatenate(rows).reshape(-1, covariates),
        entry=np.concatenate([person.entry for person in people]).astype(np.int32),
        exit=np.concatenate([person.exit for person in people]).astype(np.int32),
        event=last,
        offsets=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        persons=len(people),
    )


def loss_of(people, constants):
    """The total loss that fits use."""
    engine = LocalEngine(episodes_of(people, constants.covariates), threads=1)
    return TotalLoss(engine, constants.design, constants.link)


def random_person(random, constants, *, time_varying=False, extreme=False):
    """A person with random rows; extreme ones sit on corners, enter late and stay long."""
    intervals, width = constants.intervals, constants.covariates
    pieces = int(random.integers(1, 4)) if time_varying else 1
    cuts = np.sort(random.choice(intervals + 1, min(pieces + 1, intervals + 1), replace=False))
    if extreme and random.random() < 0.7:
        cuts[0], cuts[-1] = 0, intervals
    x = random.normal(size=(len(cuts) - 1, width))
    radius = 1.0 if extreme else random.random()
    x *= radius / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-300)
    return Person(x, cuts[:-1], cuts[1:], bool(random.random() < 0.5))


def corner_people(constants):
    """Hand-made persons: at a corner or its opposite, short or long, with and without event."""
    intervals, width = constants.intervals, constants.covariates
    corner = np.ones(width) / math.sqrt(max(width, 1))
    directions = [
        corner,
        -corner,
        *np.eye(width),
        *(-np.eye(width)),
        np.zeros(width),
        -0.0 * corner,
    ]
    people = [Person(np.empty((0, width)), np.array([], int), np.array([], int), event=False)]
    stays = ((0, intervals), (0, 1), (intervals - 1, intervals))
    people += [
        Person(x[None, :], np.array([first]), np.array([last]), event)
        for x, (first, last), event in product(directions, stays, (False, True))
    ]
    if constants.time_varying and intervals > 1:
        flips = np.array([corner if s % 2 else -corner for s in range(intervals)])
        steps = np.arange(intervals)
        people += [
            Person(sign * flips, steps, steps + 1, event)
            for sign in (1, -1)
            for event in (False, True)
        ]
    return people


def hostile_points(random, constants, count):
    """Coefficients of every size, also such that all slopes are saturated."""
    sizes = 10.0 ** random.uniform(-3, 4, count)
    points = random.normal(size=(count, constants.dimension)) * sizes[:, None]
    level = np.linalg.lstsq(constants.design.basis, np.ones(constants.intervals), rcond=None)[0]
    for point in points[::2]:
        point[: len(level)] += random.choice([-1e3, 1e3, 40.0, -40.0]) * level
    return points


@dataclass(frozen=True)
class LinearLoss:
    """loss(f) = g'f: the minimiser and every density are known in closed form."""

    slope: np.ndarray

    def __call__(self, f):
        size = len(f)
        return Evaluation(float(self.slope @ f), self.slope.copy(), np.zeros((size, size)))


@dataclass(frozen=True)
class QuadraticLoss:
    """loss(f) = g'(f - f_0) + (f - f_0)' E (f - f_0) / 2."""

    slope: np.ndarray
    bend: np.ndarray
    centre: np.ndarray

    def __call__(self, f):
        move = f - self.centre
        pull = self.bend @ move
        value = float(self.slope @ move + 0.5 * move @ pull)
        return Evaluation(value, self.slope + pull, self.bend.copy())


class StuckLoss:
    """A loss whose gradient is never quite right: solvers move, and get no certificate."""

    def __call__(self, f):
        slope = np.full(len(f), 1.0 + 0.01 * math.sin(1e6 * f.sum()))
        return Evaluation(float(f.sum()), slope, np.zeros((len(f), len(f))))


@dataclass
class FrozenNoise(NoiseSource):
    """Noise that is known: a fixed tilt and a fixed lattice vector, with a record of the calls."""

    private: ClassVar[bool] = False
    tilt: float = 0.0
    shift: int = 0
    calls: list = field(default_factory=list)

    def uniform_bits(self, count):
        self.calls.append(("bits", count))
        return 0

    def discrete_gaussian(self, values, scale):
        self.calls.append(("gaussian", len(np.atleast_1d(values)), Fraction(scale)))
        return integer_vector([int(value) + self.shift for value in np.atleast_1d(values)])

    def l1_laplace(self, values, scale):
        self.calls.append(("l1", len(np.atleast_1d(values)), Fraction(scale)))
        return integer_vector([int(value) + self.shift for value in np.atleast_1d(values)])

    def noisy_best(self, scores, scale):
        self.calls.append(("best", len(np.atleast_1d(scores)), Fraction(scale)))
        return int(np.argmax(scores))

    def lattice_laplace(self, dimension, scale):
        self.calls.append(("lattice", dimension, Fraction(scale)))
        return integer_vector([self.shift] * dimension)

    def continuous_laplace(self, dimension, scale):
        self.calls.append(("continuous", dimension, Fraction(scale)))
        vector = np.full(dimension, self.tilt * float(scale) / math.sqrt(dimension))
        return ContinuousDraw(vector, 0.0)
