"""The public map: into the unit ball whatever the rounding, and onto its surface at the corners."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.design.baseline import NaturalSpline
from discreet.design.schema import Schema
from discreet.design.terms import CovariateMap, _slopes, user_columns
from discreet.errors import SchemaError
from discreet.people.encode import encode_covariates

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


TERMS = [
    numeric(0.3, 15, "crea") | {"scale": "log", "missing": "indicator"},
    numeric(20, 90, "age") | {"scale": "spline:5", "missing": "indicator"},
    numeric(-1, 1, "z") | {"scale": "spline:10"},
    category(4, "stage") | {"missing": "indicator"},
    category(2, "sex"),
]
PAIRS = [["crea", "age"], ["age", "stage"], ["stage", "sex"], ["z", "sex"]]


def term_schema(covariates=TERMS, pairs=PAIRS):
    interactions = [{"of": pair} for pair in pairs]
    return Schema.from_mapping({"time": TIME, "covariate": covariates, "interaction": interactions})


def records(count, seed=0):
    """Values in and out of the bounds, at their ends, and missing."""
    random = np.random.default_rng(seed)

    def numbers(low, high):
        some = random.uniform(low - 1, high + 1, count)
        ends = random.choice([low, high, np.nan, np.inf, -np.inf], count)
        return np.where(random.random(count) < 0.5, some, ends)

    return pa.table(
        {
            "crea": numbers(0.3, 15),
            "age": numbers(20, 90),
            "z": numbers(-1, 1),
            "stage": random.choice(["l0", "l1", "l2", "l3", "?", ""], count),
            "sex": random.choice(["l0", "l1"], count),
        }
    )


def test_terms_stay_inside_the_ball():
    encoded = encode_covariates(records(4000), term_schema())
    assert encoded.shape[1] == len(term_schema().coefficient_names)
    assert max(exact_square(row) for row in encoded[:300]) <= 1
    assert np.all(np.sum(encoded**2, axis=1) <= 1)


@pytest.mark.parametrize("knots", range(3, 11))
def test_a_spline_stays_inside_its_bound(knots):
    public = CovariateMap.from_schema(
        term_schema([numeric(0, 1) | {"scale": f"spline:{knots}"}], [])
    )
    leads = (np.linspace(0, 1, 40_001) - public.centre[0]) * public.scale[0]
    norms = np.linalg.norm(public.complete(leads[:, None]), axis=1)
    assert 0.99 < norms.max() <= 1


@pytest.mark.parametrize("knots", range(3, 11))
def test_slopes_are_those_of_the_spline(knots):
    times = np.linspace(0.1, 0.9, 401)
    basis = NaturalSpline(knots).evaluate
    differences = (basis(times + 1e-5) - basis(times - 1e-5))[:, 1:] / 2e-5
    np.testing.assert_allclose(_slopes(knots, times), differences, atol=1e-8)


def test_all_columns_follow_from_the_leads():
    public = CovariateMap.from_schema(term_schema())
    encoded = encode_covariates(records(500), term_schema())
    assert len(public.leads) == 2 + 2 + 1 + 4 + 1
    np.testing.assert_array_equal(public.complete(encoded[:, public.leads]), encoded)
    for block in (encoded[7:8], encoded[100:103]):  # a row by itself is the row among others
        np.testing.assert_array_equal(public.complete(block[:, public.leads]), block)


def test_without_terms_every_column_is_a_lead():
    _, public = make_map(numeric(0, 1), category(3))
    leads = np.ones((2, 3))
    assert public.complete(leads) is leads
    assert public.leads.tolist() == [0, 1, 2]


def test_user_columns_and_internal_ones_are_one_map():
    schema = term_schema()
    public = CovariateMap.from_schema(schema)
    profile = [2.5, 47.0, 0.3, 2, 1]
    table = pa.table({"crea": [2.5], "age": [47.0], "z": [0.3], "stage": ["l2"], "sex": ["l1"]})
    encoded = encode_covariates(table, schema)
    raw = user_columns(schema, profile)
    np.testing.assert_allclose(raw @ public.matrix + public.offset, encoded[0], atol=1e-12)
    np.testing.assert_allclose(public.raw(encoded)[0], raw, atol=1e-8)
    by_name = dict(zip(schema.coefficient_names, raw, strict=True))
    assert by_name["log(crea)"] == np.log(2.5)
    assert by_name["age[spline 1]"] == pytest.approx(27 / 70)
    assert by_name["stage[l2]:sex[l1]"] == 1
    assert by_name["log(crea):age[spline 1]"] == pytest.approx(np.log(2.5) * 27 / 70)
    assert by_name["stage[missing]"] == 0


@pytest.mark.parametrize("scale", ["linear", "log", "spline:3", "spline:10"])
def test_a_records_columns_do_not_depend_on_its_place_or_company(scale):
    """To the last bit: logarithms and powers of a vector could be computed by other instructions."""
    public = Schema.from_mapping(
        {
            "time": {"duration": "t", "event": "e", "horizon": 1.0, "intervals": 2},
            "covariate": [
                {"name": "x", "low": 0.3, "high": 15, "scale": scale, "missing": "indicator"},
                {"name": "arm", "levels": ["a", "b", "c"]},
            ],
            "interaction": [{"of": ["x", "arm"]}],
        }
    )
    random = np.random.default_rng(3)
    people = 531
    table = pa.table(
        {"x": random.uniform(0.3, 15, people), "arm": random.choice(["a", "b", "c"], people)}
    )
    whole = encode_covariates(table, public)
    for first, last in [(0, 1), (1, 2), (7, 9), (3, 12), (100, 131), (530, 531), (1, 531)]:
        assert np.array_equal(
            encode_covariates(table.slice(first, last - first), public), whole[first:last]
        )
