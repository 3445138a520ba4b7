"""Noise that tests of mechanisms share; designs, persons and losses are those of the audit."""

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from discreet.audit import cases
from discreet.audit.cases import (
    CasePerson,
    corner_people,
    episodes_of,
    hostile_points,
    linear_loss,
    loss_of,
    stuck_loss,
)
from discreet.design.schema import Schema
from discreet.privacy.exact import ContinuousDraw
from discreet.privacy.noise import NoiseSource
from discreet.privacy.scales import integer_vector

__all__ = [
    "CasePerson",
    "FrozenNoise",
    "corner_people",
    "episodes_of",
    "extreme_people",
    "hostile_points",
    "linear_loss",
    "loss_of",
    "make_constants",
    "mixed_schema",
    "random_person",
    "stuck_loss",
]


def make_constants(*numbers, strata=1, causes=1, late_entry=False, **settings):
    """The audit's facts; with strata, causes or late entry, which its plugged-in people lack."""
    facts = cases.make_constants(*numbers, **settings)
    mapping = facts.design.schema.to_mapping()
    if late_entry:
        mapping["time"]["entry"] = "entry"
    if causes > 1:
        mapping["time"]["causes"] = {f"cause{i}": [i] for i in range(1, causes + 1)}
    if strata > 1:
        mapping["strata"] = {"name": "site", "levels": [f"s{i}" for i in range(strata)]}
    return replace(facts, design=replace(facts.design, schema=Schema.from_mapping(mapping)))


def random_person(random, constants, *, time_varying=False, extreme=False):
    """A person with random rows; extreme ones sit on the sphere and stay long."""
    pieces = int(random.integers(1, 4)) if time_varying else 1
    return cases.random_person(random, constants, pieces=pieces, extreme=float(extreme))


def extreme_people(random, constants, count):
    """Corner cases, and as many random people of a few rows who sit on the sphere and stay long."""
    drawn = (
        random_person(random, constants, time_varying=True, extreme=True) for _ in range(count)
    )
    return [*corner_people(constants), *drawn]


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

    def lattice_laplace(self, dimension, scale):
        self.calls.append(("lattice", dimension, Fraction(scale)))
        return integer_vector([self.shift] * dimension)

    def continuous_laplace(self, dimension, scale):
        self.calls.append(("continuous", dimension, Fraction(scale)))
        vector = np.full(dimension, self.tilt * float(scale) / math.sqrt(dimension))
        return ContinuousDraw(vector, 0.0)


def mixed_schema():
    """A number, a category of four levels and one of two."""
    return Schema.from_mapping(
        {
            "time": {"duration": "t", "event": "e", "horizon": 1.0, "intervals": 20},
            "covariate": [
                {"name": "age", "low": 0.0, "high": 100.0},
                {"name": "arm", "levels": ["a", "b", "c", "d"]},
                {"name": "sex", "levels": ["f", "m"]},
            ],
        }
    )
