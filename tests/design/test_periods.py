"""Periods of effects that change with time: from a schema to places, names and public coordinates."""

import numpy as np
import pytest

from discreet.design.baseline import LogTime, NaturalSpline, PiecewiseConstant, Stepped
from discreet.design.design import Design
from discreet.design.schema import Schema
from discreet.design.terms import user_columns
from discreet.errors import SchemaError
from tests.changes import INTERVALS, changing_design, changing_schema, vector

BASELINES = [NaturalSpline(3), PiecewiseConstant(5), PiecewiseConstant(7), LogTime(2)]


def schema(cuts, time=None, **more):
    """One category that changes."""
    grid = {"horizon": 3650, "intervals": 100, "unit": "days"}
    item = {"name": "stage", "levels": ["I", "II", "III"], "changes_at": cuts, **more}
    time = {"duration": "t", "event": "e", **(grid if time is None else time)}
    return Schema.from_mapping(
        {"time": time, "covariate": [{"name": "age", "low": 0, "high": 99}, item]}
    )


def test_every_period_has_a_coefficient_of_its_own_name():
    found = schema([365, 1095], label="Stage")
    assert found.coefficient_names == (
        "age",
        "stage[II] until 365",
        "stage[II] 365 to 1095",
        "stage[II] from 1095",
        "stage[III] until 365",
        "stage[III] 365 to 1095",
        "stage[III] from 1095",
    )
    assert found.coefficient_titles[1:3] == (
        "Stage: II until 365 days",
        "Stage: II 365 to 1095 days",
    )
    assert found.changing == ("stage",)
    assert Schema.from_mapping(found.to_mapping()) == found
    assert "changes_at" not in str(
        Schema.from_mapping({**found.to_mapping(), "covariate": []}).to_mapping()
    )


def test_a_period_counts_the_times_at_or_before_the_beginning_of_the_interval():
    """Against the definition, on every kind of grid, with times at points and within intervals."""
    random = np.random.default_rng(1)
    grids = [
        {"horizon": 3650, "intervals": 100},
        {"horizon": 10.0, "intervals": 37, "origin": 2.0},
        {"horizon": 5.0, "intervals": 40, "first": 0.01},
        {"edges": [0, 1, 2, 5, 9, 11, 20, 30]},
    ]
    for grid in grids:
        made = Design(schema([9.0 if "edges" in grid else 4.0], grid), NaturalSpline(2))
        edges = made.schema.time.grid.edges
        for _ in range(30):
            at_points = random.choice(edges[1:-1], 2, replace=False)
            cuts = np.sort(np.where(random.random(2) < 0.5, at_points, at_points + 1e-3))
            expected = [int(np.sum(cuts <= begin)) for begin in edges[:-1]]
            if len(set(expected)) < 3:
                with pytest.raises(SchemaError, match="without an interval"):
                    schema(cuts.tolist(), grid)
            else:
                found = Design(schema(cuts.tolist(), grid), NaturalSpline(2)).periods
                assert found.of_interval.tolist() == expected


def test_rounding_of_a_point_moves_no_period():
    """60.3 is a point of the grid, though 60 + 3 (100 - 60) / 400 is 60.300000000000004."""
    grid = {"horizon": 100, "intervals": 400, "origin": 60}
    made = Design(schema([60.3], grid), NaturalSpline(2))
    assert made.periods.ends == (0, 3, 400)


@pytest.mark.parametrize(
    ("cuts", "says"),
    [
        ([0], r"has 0, which is not between 0 days and the horizon, 3650 days"),
        ([3650], r"has 3650, which is not between"),
        ([365, 4000], r"has 4000, which is not between"),
        ([365, 365], "must increase from one time to the next"),
        ([1095, 365], "must increase from one time to the next"),
        ([], "needs at least one entry"),
        ([1, 2], r"leaves an effect '1 to 2' without an interval"),
        ([3649], r"leaves an effect 'from 3649' without an interval"),
        (["365"], "must be a number"),
        (365, "must be a list"),
        ([1e200], "must be a finite number"),
        ([float("nan")], "must be a finite number"),
    ],
)
def test_times_that_are_none_are_refused_in_one_sentence(cuts, says):
    with pytest.raises(SchemaError, match=says) as caught:
        schema(cuts)
    assert str(caught.value).count("\n") == 0
    assert "stage" in str(caught.value)


def test_a_misspelt_key_is_recognised():
    with pytest.raises(SchemaError, match="did you mean 'changes_at'"):
        Schema.from_mapping(
            {
                "time": {"duration": "t", "event": "e", "horizon": 10, "intervals": 10},
                "covariate": [{"name": "sex", "levels": ["F", "M"], "change_at": [5]}],
            }
        )


@pytest.mark.parametrize("baseline", BASELINES, ids=lambda item: item.spelling)
@pytest.mark.parametrize("strata", [False, True])
def test_user_and_internal_coordinates_give_the_same_predictor(baseline, strata):
    random = np.random.default_rng(2)
    design = Design(changing_schema(strata=strata, terms=True), baseline)
    covariates = design.covariates
    for _ in range(5):
        f = random.normal(size=design.dimension)
        raw = user_columns(design.schema, [random.uniform(20, 90), int(random.integers(3)), 0.4])
        internal = raw @ covariates.matrix + covariates.offset
        for stratum in range(design.strata):
            ours = design.vectors(design.basis, internal, stratum) @ f
            basis = design.baseline.basis(INTERVALS)
            theirs = design.vectors(basis, raw, stratum) @ (design.to_user @ f)
            np.testing.assert_allclose(ours, theirs, atol=1e-12)


@pytest.mark.parametrize("baseline", BASELINES, ids=lambda item: item.spelling)
def test_the_vectors_are_those_of_the_names(baseline):
    design = Design(changing_schema(strata=True, terms=True), baseline)
    x = np.random.default_rng(3).normal(size=design.covariates.dimension)
    for stratum in range(2):
        found = design.vectors(design.basis, x, stratum)
        for s in range(INTERVALS):
            np.testing.assert_array_equal(found[s], vector(design, x, s, stratum))
            period = design.periods.of_interval[s]
            np.testing.assert_array_equal(
                design.periods.placed(x[None], period)[0], found[s, design.time_dimension :]
            )


def test_a_coefficient_knows_its_column():
    design = changing_design(terms=True)
    names, terms = design.schema.coefficient_names, design.schema.terms
    for name, column in zip(names, design.periods.column_of, strict=True):
        assert name in terms[column].names


def test_a_vector_is_as_long_as_without_changes():
    """The same values have other places."""
    design = changing_design(terms=True)
    x = np.random.default_rng(4).normal(size=design.covariates.dimension)
    for s in range(INTERVALS):
        z = vector(design, x, s)
        assert np.linalg.norm(z) == pytest.approx(np.hypot(design.norms[s], np.linalg.norm(x)))


@pytest.mark.parametrize("baseline", BASELINES, ids=lambda item: item.spelling)
def test_the_baseline_spans_the_indicators_of_periods(baseline):
    design = Design(changing_schema(), baseline)
    stepped = design.baseline
    assert isinstance(stepped, Stepped)
    basis = stepped.basis(INTERVALS)
    assert np.linalg.matrix_rank(basis) == stepped.dimension
    for period, level in enumerate(stepped.levels):
        indicator = (design.periods.of_interval == period).astype(float)
        np.testing.assert_allclose(basis @ level, indicator, atol=1e-9)
    np.testing.assert_allclose(stepped.evaluate(np.arange(1, 13) / 12), basis, atol=1e-12)
    assert design.baseline_names[baseline.dimension :] == tuple(
        f"baseline from {end / 2:g}" for end in stepped.steps
    )
    assert stepped.spelling == baseline.spelling


def test_steps_at_the_ends_of_pieces_are_there_already():
    assert Design(changing_schema(), PiecewiseConstant(12)).baseline.steps == ()
    assert Design(changing_schema(), PiecewiseConstant(6)).baseline.steps == (7,)
    assert Design(changing_schema(), NaturalSpline(12)).baseline.steps == ()
    assert Design(changing_schema(), NaturalSpline(3)).baseline.steps == (2, 7)


def test_a_design_is_made_again_from_its_own_baseline():
    design = changing_design(strata=True)
    again = Design(design.schema, design.baseline)
    np.testing.assert_array_equal(again.basis, design.basis)
    assert again.declared == NaturalSpline(3)
    lasting = Design(design.schema.lasting, design.baseline)
    assert lasting.dimension == design.time_dimension + design.covariates.dimension
    np.testing.assert_array_equal(lasting.basis, design.basis)
    assert design.without_strata().dimension == design.dimension - design.baseline.dimension


def test_a_product_changes_where_both_of_its_covariates_do():
    names = changing_schema(terms=True).coefficient_names
    assert [name for name in names if ":" in name] == [
        "age[spline 1]:stage[II] until 3.2",
        "age[spline 1]:stage[II] from 3.2",
        "age[spline 1]:stage[III] until 3.2",
        "age[spline 1]:stage[III] from 3.2",
        "age[spline 2]:stage[II] until 3.2",
        "age[spline 2]:stage[II] from 3.2",
        "age[spline 2]:stage[III] until 3.2",
        "age[spline 2]:stage[III] from 3.2",
        "stage[II]:dose",
        "stage[III]:dose",
    ]
