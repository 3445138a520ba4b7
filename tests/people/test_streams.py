"""What speaks Arrow is read whole, once, and the same at every use."""

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import discreet as ds
from discreet.errors import DataFormError
from discreet.people import streams, to_episodes
from discreet.people.source import People
from discreet.people.tables import check_form, open_table
from tests.cohorts import cohort, schema
from tests.people.metamorphic import Capsules

CANARY = "canary-of-a-record"


def reader(table):
    return table.to_reader(max_chunksize=7)


def relation(table):
    return duckdb.connect().from_arrow(table)


KINDS = {
    "reader": reader,
    "capsules": Capsules,
    "relation": relation,
    "reader of a relation": lambda table: relation(table).to_arrow_reader(11),
    "lazy frame": lambda table: pl.from_arrow(table).lazy(),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_stream_is_read_whole_at_every_use(kind):
    """Checked, fitted, predicted for and fitted again: a reader's second answer would be empty."""
    table, data = cohort(), KINDS[kind](cohort())
    plain = ds.SurvivalRegression(schema()).fit(table)
    check_form(data, schema())
    assert ds.check(data, schema()).report.rows == 400
    model = ds.SurvivalRegression(schema()).fit(data)
    assert np.array_equal(model.coef_, plain.coef_)
    assert np.array_equal(model.predict_survival(data, [6.0]), plain.predict_survival(table, [6.0]))
    assert np.array_equal(ds.SurvivalRegression(schema()).fit(data).coef_, plain.coef_)


def test_a_stream_is_not_held_longer_than_its_object():
    data, before = reader(cohort()), len(streams._held)
    open_table(data)
    assert len(streams._held) == before + 1
    del data
    assert len(streams._held) == before


def test_the_form_of_a_stream_is_checked_without_its_records():
    def batches():
        raise AssertionError
        yield

    data = pa.RecordBatchReader.from_batches(cohort().schema, batches())
    check_form(data, schema())
    with pytest.raises(DataFormError, match="no column 'id'"):
        check_form(data, schema(person=True))


def test_a_stream_that_breaks_off_stops_the_fit_and_quotes_nothing():
    def batches():
        yield from cohort().to_batches(max_chunksize=50)
        raise pa.ArrowInvalid(CANARY)

    data = pa.RecordBatchReader.from_batches(cohort().schema, batches())
    with pytest.raises(DataFormError, match="cannot be read to its end") as caught:
        to_episodes(data, schema())
    assert CANARY not in str(caught.value)


def test_arrow_that_is_no_table_is_one_sentence():
    with pytest.raises(DataFormError, match="columns with names are needed"):
        to_episodes(pa.array([1, 2, 3]), schema())
    with pytest.raises(DataFormError, match="an object that speaks Arrow"):
        to_episodes(object(), schema())


def test_a_struct_array_is_a_table():
    table = cohort()
    found = to_episodes(table.to_struct_array().combine_chunks(), schema())
    assert np.array_equal(found.covariates, to_episodes(table, schema()).covariates)


def test_types_that_only_another_library_knows_are_their_storage():
    table = cohort()
    ages = pa.ExtensionArray.from_storage(
        pa.opaque(pa.float64(), "age", "a vendor"), table.column("age").combine_chunks()
    )
    data = table.set_column(2, "age", ages).to_reader()
    assert np.array_equal(
        to_episodes(data, schema()).covariates, to_episodes(table, schema()).covariates
    )


def test_two_columns_of_one_name_are_refused():
    twice = relation(cohort()).query("t", "SELECT *, age FROM t")
    for data in (twice, twice.to_arrow_reader()):
        with pytest.raises(DataFormError, match="two columns 'age'"):
            People.of(data).check(schema())


def test_a_query_that_gives_rows_in_another_order_each_time_mixes_nobody():
    """Covariates, strata and what is kept beside them are of one reading."""
    mapping = schema().to_mapping()
    mapping["covariate"] = [item for item in mapping["covariate"] if item["name"] == "age"]
    mapping["strata"] = {"name": "arm", "levels": ["a", "b", "c"]}
    table = cohort()
    model = ds.SurvivalRegression(mapping).fit(table)
    named = table.append_column("patient", pa.array(range(table.num_rows)))
    shuffled = relation(named).query("t", "SELECT * FROM t ORDER BY random()")
    expected = model.predict_survival(table, [6.0])[:, 0]
    found = model.predict_survival(shuffled, [6.0], frame=True)
    assert not found["patient"].is_monotonic_increasing
    for patient, survival in zip(found["patient"], found["survival_6"], strict=True):
        assert survival == expected[patient]


def test_a_lazy_frame_that_fails_on_a_record_quotes_nothing():
    data = relation(cohort()).query("t", f"SELECT * REPLACE (error('{CANARY}') AS age) FROM t")
    with pytest.raises(DataFormError, match="lazy frame cannot be computed") as caught:
        to_episodes(data, schema())
    assert CANARY not in str(caught.value)
