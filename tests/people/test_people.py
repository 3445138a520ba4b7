"""One fit, wherever the people are: the same numbers, the same integers, one charge."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import discreet as ds
from discreet.errors import SchemaError, SettingsError
from discreet.people.source import People
from discreet.warnings import RepairWarning
from tests.engine.test_stream import _schema, _table, _write


@pytest.fixture
def files(tmp_path):
    """A table of episodes and the same people in three files."""
    table = _table(600)
    return table, _write(table, tmp_path, 3)


def test_a_streamed_fit_equals_the_one_in_memory(files):
    table, pattern = files
    with pytest.warns(RepairWarning):
        memory = ds.SurvivalRegression(_schema(True), link="logit").fit(table)
    streamed = ds.SurvivalRegression(_schema(True), link="logit").fit(pattern)
    for name in ("baseline", "covariates"):
        ours = getattr(streamed.coefficients_, name)
        theirs = getattr(memory.coefficients_, name)
        np.testing.assert_allclose(
            list(ours.values()) if isinstance(ours, dict) else ours,
            list(theirs.values()) if isinstance(theirs, dict) else theirs,
            rtol=1e-9,
            atol=1e-9,
        )
    assert streamed.model_.fit.rows == memory.model_.fit.rows


@pytest.mark.parametrize("delta", [1e-6, 0.0])
def test_private_integers_do_not_depend_on_the_engine(files, delta):
    table, pattern = files
    points = []
    for data in (table, pattern):
        mechanism = ds.PrivateNewton(epsilon=1.0, delta=delta)
        fitted = ds.simulate(
            ds.SurvivalRegression(_schema(True), link="logit"), data, mechanism=mechanism, seed=11
        )
        points.append(fitted.model_.internal.vector)
    assert np.array_equal(*points)


def test_streams_need_public_bounds(tmp_path):
    parquet.write_table(pa.table({"t": [1.0], "e": [1], "x": [0.5]}), tmp_path / "a.parquet")
    schema = {
        "time": {"duration": "t", "event": "e", "horizon": 2.0, "intervals": 4},
        "covariate": [{"name": "x"}],
    }
    with pytest.raises(SchemaError, match="x"):
        ds.SurvivalRegression(schema, link="logit").fit(tmp_path)


def test_a_name_with_the_signs_of_a_pattern_is_a_name(tmp_path):
    folder = tmp_path / "registry [2020]"
    folder.mkdir()
    parquet.write_table(_table(40), folder / "people [final].parquet")
    for place in (folder, folder / "people [final].parquet", f"{tmp_path}/*/*.parquet"):
        assert People.of(place).count(_schema(True)) == 40


def test_unknown_engines_are_refused():
    with pytest.raises(SettingsError, match="engine must be one of auto, dask"):
        ds.SurvivalRegression(_schema(True), engine="spark", link="logit").fit("people.csv")
    assert not People.of("people.csv", engine="dask").in_memory


def test_a_streamed_check_counts_as_the_one_in_memory(files):
    table, pattern = files
    memory = People.of(table).repairs(_schema(True))
    streamed = People.of(pattern).repairs(_schema(True))
    assert memory.repairs
    assert set(streamed.repairs) == set(memory.repairs)
    assert (streamed.rows, streamed.persons, streamed.never_at_risk) == (
        memory.rows,
        memory.persons,
        memory.never_at_risk,
    )
