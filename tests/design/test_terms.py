"""The public map: into the unit ball whatever the rounding, and onto its surface at the corners."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.design.schema import Schema
from discreet.design.terms import CovariateMap
from discreet.errors import SchemaError

TIME = {"duration": "t", "event": "e", "horizon": 1, "intervals": 1}


def make_map(*covariates: dict) -> tuple[Schema, CovariateMap]:
    schema = Schema.from_mapping({"time": TIME, "covariate": list(covariates)})
    return schema, CovariateMap.from_schema(schema)


def numeric(low: float, high: float, name: str = "x") -> dict:
    return {"name": name, "low": low, "high": high}


def category(levels: int, name: str = "c") -> dict:
    return {"name": name, "levels": [f"l{k}" for k in range(levels)]}


def points(covariate: dict) -> list[list[float]]:
    """The extreme points of one covariate's raw columns."""
    if "levels" in covariate:
        return np.eye(len(covariate["levels"]))[:, 1:].tolist()
    return [[covariate["low"]], [covariate["high"]]]


def exact_square(vector: np.ndarray) -> Fraction:
    return sum((Fraction(float(value)) ** 2 for value in vector), Fraction(0))


def corner_squares(*covariates: dict) -> list[Fraction]:
    _, public_map = make_map(*covariates)
    corners = itertools.product(*(points(covariate) for covariate in covariates))
    raw = [np.array(list(itertools.chain(*corner))) for corner in corners]
    return [exact_square((corner - public_map.centre) * public_map.scale) for corner in raw]


@pytest.mark.parametrize(
    "covariates",
    [
        (numeric(26, 49),),
        (category(2),),
        (category(3),),
        (category(7),),
        (numeric(0, 1, "x"), numeric(-5, 3, "y"), category(2, "c"), category(5, "d")),
        (numeric(1e15, 1e15 + 1), category(3)),
        (numeric(1.0, math.nextafter(1.0, 2.0)),),
        (numeric(-1e100, 1e100), numeric(0, 1e-100, "y")),
    ],
)
def test_corners_stay_inside_and_one_attains_the_norm(covariates):
    squares = corner_squares(*covariates)
    assert max(squares) <= 1  # in exact arithmetic
    assert float(max(squares)) > 1 - 1e-13


@given(
    st.floats(-1e6, 1e6), st.floats(1e-9, 1e9), st.lists(st.floats(0, 1), min_size=1, max_size=20)
)
def test_nothing_inside_the_box_leaves_the_ball(low, width, fractions):
    high = low + width
    if not high > low:
        return
    _, public_map = make_map(numeric(low, high), category(4))
    values = np.clip(low + np.array(fractions) * (high - low), low, high)
    inner = (values - public_map.centre[0]) * public_map.scale[0]
    level = (np.eye(4)[3, 1:] - public_map.centre[1:]) * public_map.scale[1:]
    assert all(exact_square(np.append(level, value)) <= 1 for value in inner)


def test_many_columns_do_not_round_out_of_the_ball():
    covariates = [numeric(-k - 1, k + 2, f"x{k}") for k in range(999)]
    _, public_map = make_map(*covariates)
    corner = (
        np.array([item["high"] for item in covariates]) - public_map.centre
    ) * public_map.scale
    assert exact_square(corner) <= 1
    assert np.linalg.norm(corner) <= 1.0
    assert float(exact_square(corner)) > 1 - 1e-11


def test_names_follow_the_schema_and_no_covariates_are_legal():
    schema, public_map = make_map(numeric(0, 1), category(3))
    assert public_map.names == schema.coefficient_names == ("x", "c[l1]", "c[l2]")
    assert public_map.dimension == 3
    assert make_map()[1].dimension == 0


def test_bounds_are_required():
    schema = Schema.from_mapping({"time": TIME, "covariate": [{"name": "age"}]})
    with pytest.raises(SchemaError, match="'age'"):
        CovariateMap.from_schema(schema)
