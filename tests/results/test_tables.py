"""Wherever a result shows a table, pandas and polars get the same numbers."""

import numpy as np
import pandas as pd
import pytest

import discreet as ds
from discreet.loading import load
from discreet.results.group_table import GroupTable
from tests.cohorts import cohort, schema
from tests.export.models import fitted

polars = pytest.importorskip("polars")


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    path = tmp_path_factory.mktemp("release") / "release.json"
    mechanism = ds.PrivateNewton(4.0)
    model = ds.SurvivalRegression(schema())
    model.publish(cohort(1500), mechanism=mechanism, ledger=ds.NO_LEDGER, path=path)
    return load(path)


def same(table):
    """The pandas frame, once polars has the same in the same order."""
    pandas, frame = table.to_pandas(), table.to_polars()
    names = list(pandas.columns)
    assert frame.columns == [*(["name"] if table.row_names else []), *names]
    if table.row_names:
        assert frame["name"].to_list() == list(pandas.index) == list(table.row_names)
    records = table.records()
    for name in names:
        np.testing.assert_array_equal(frame[name].to_list(), pandas[name].tolist())
        shown = [None if pd.isna(value) else value for value in pandas[name].tolist()]
        assert [row[name] for row in records] == shown
    return pandas


def test_a_summary_is_a_frame_of_coefficients(release):
    frame = same(release.summary())
    assert frame.loc["age", "coefficient"] == release.coefficients_.covariates["age"]


def test_a_summary_of_causes_has_a_column_for_the_cause():
    model = fitted("causes")
    frame = same(model.summary())
    assert list(frame["cause"].unique()) == ["cancer", "the other"]
    own = frame[frame["cause"] == "the other"].loc["age", "coefficient"]
    assert own == model.model_.coefficients["the other"].covariates["age"]


def test_a_life_table_begins_at_the_start_of_time(release):
    frame = same(release.life_table_)
    assert frame.iloc[0].to_dict() == {"time": 0.0, "survival": 1.0, "at_risk": 1500.0}
    assert frame["time"].iloc[-1] == 24.0


def test_a_calibration_has_a_row_for_each_group():
    table = cohort(600)
    found = ds.metrics.calibration(
        ds.SurvivalRegression(schema()).fit(table), table, 12.0, groups=4
    )
    frame = same(found)
    assert frame["group"].tolist() == [1, 2, 3, 4]
    assert frame["persons"].sum() == 600
    assert frame["predicted"].is_monotonic_increasing
    assert "standard error" in str(found)


def test_a_plan_has_a_column_for_each_epsilon():
    frame = same(ds.plan(schema(), persons=5000, events=1000, epsilon=[1.0, 4.0]))
    assert list(frame.columns) == ["not private", "epsilon 1", "epsilon 4"]
    assert (frame["epsilon 1"] >= frame["epsilon 4"]).all()


def test_curves_have_a_row_for_each_group_and_time():
    release = ds.simulate(
        ds.GroupCurves(schema(), by="arm"), cohort(3000), mechanism=ds.GroupCounts(2.0), seed=0
    ).model_
    frame = same(GroupTable(release))
    assert len(frame) == 3 * len(release.times)
    first = frame[(frame["group"] == release.titles[0]) & (frame["time"] > 0)]
    np.testing.assert_array_equal(first["estimate"], release.estimates[0].survival.estimate)
    np.testing.assert_array_equal(first["lower"], release.estimates[0].survival.lower)
    start = frame[frame["time"] == 0]
    assert (start["estimate"] == 1.0).all()
    assert start["at_risk"].sum() == pytest.approx(3000, rel=0.05)


def test_a_plan_of_causes_has_a_column_for_the_cause():
    mapping = fitted("causes").schema_.to_mapping()
    events = {"cancer": 900, "the other": 700}
    frame = same(ds.plan(mapping, persons=5000, events=events, epsilon=[1.0]))
    assert list(frame.columns) == ["cause", "not private", "epsilon 1"]
    assert len(frame) == 2 * len(fitted("causes").model_.public_schema.coefficient_names)
