"""Tables of people as users have them, with hostile rows, and releases made from them."""

import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import numpy as np
import pyarrow as pa

from discreet.design.schema import Schema
from discreet.mechanisms import Mechanism
from discreet.models.model import Release
from discreet.privacy.noise import NoiseSource
from discreet.regression import SurvivalRegression, simulate
from discreet.types import Array

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
    return SurvivalRegression(user_schema(), baseline=BASELINE, **settings)


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
    return cast("Release", found.model)


def steps_in(release: Release) -> Array:
    """A perturbation's release in coordinates w, in steps of the grid on which noise was added."""
    details = release.details
    point = release.internal.vector
    shift = np.where(np.arange(len(point)) < BASELINE_SIZE, 2.0 ** details["baseline_shift"], 1.0)
    w = (point - np.array(details["centre"])) / shift
    return np.asarray(np.ldexp(w, -details["step_exponent"]))
