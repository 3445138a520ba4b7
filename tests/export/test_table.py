"""The JSON table is the summary's, with a schema that other programs read."""

import io
import json

import numpy as np
import pandas as pd
import pytest

import discreet as ds
from discreet.cli.export import ExportFormat
from discreet.errors import ArtefactError, SettingsError
from discreet.export import FORMATS, export_bytes
from tests.cohorts import cohort, schema
from tests.export.models import fitted


@pytest.mark.parametrize("name", ["strata", "changes", "odd names"])
def test_pandas_reads_the_numbers_of_the_summary(name):
    model = fitted(name)
    read = pd.read_json(io.BytesIO(export_bytes(model.model_, "json-table")), orient="table")
    table = model.summary()
    assert list(read.index) == list(table.names)
    columns = table.columns()
    for column in ("coefficient", "standard error", "lower", "upper"):
        assert np.abs(read[column] - columns[column]).max() < 1e-12


def test_causes_are_a_column_of_the_key():
    found = json.loads(export_bytes(fitted("causes").model_, "json-table"))
    assert found["schema"]["primaryKey"] == ["cause", "name"]
    assert {row["cause"] for row in found["data"]} == {"cancer", "the other"}
    assert "Not private" in found["description"]
    errors = np.array([row["standard error"] for row in found["data"]])
    table = fitted("causes").summary().tables
    expected = np.concatenate([part.columns()["standard error"] for part in table.values()])
    # discreet states each cause's own; the joint covariance has them on its diagonal
    assert np.abs(errors / expected - 1).max() < 1e-6


def test_an_unknown_format_is_named_with_those_that_there_are():
    with pytest.raises(
        SettingsError, match="unknown format 'sas': write r, excel, pmml, json-table"
    ):
        export_bytes(fitted("one knot").model_, "sas")
    assert set(FORMATS) == set(ExportFormat)


def test_curves_by_group_are_no_model():
    release = ds.simulate(
        ds.GroupCurves(schema(), by="arm"), cohort(300), mechanism=ds.GroupCounts(2.0), seed=0
    ).model_
    with pytest.raises(ArtefactError, match="holds curves by group, not a model"):
        export_bytes(release, "r")
