"""What speaks Arrow is read whole, once, and the same at every use."""

import uuid

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import discreet as ds
from discreet.errors import DataFormError
from discreet.mechanisms import OutputPerturbation
from discreet.people import streams
from discreet.people.encode import person_spans, to_episodes
from discreet.people.source import People
from discreet.people.tables import check_form, open_table, read_table
from tests.cohorts import cohort, schema
from tests.people.metamorphic import Capsules

CANARY = "canary-of-a-record"


def reader(table):
    return table.to_reader(max_chunksize=7)


def relation(table):
    return duckdb.connect().from_arrow(table)


class Bound:
    """One-shot and without weak references, as the streams of nanoarrow and arro3 are."""

    __slots__ = ("_reader",)

    def __init__(self, table):
        self._reader = reader(table)

    def __arrow_c_stream__(self, requested_schema=None):
        if self._reader is None:
            raise RuntimeError(CANARY)
        given, self._reader = self._reader, None
        return given.__arrow_c_stream__(requested_schema)


class Batch:
    """Nothing but an array of structs."""

    def __init__(self, table):
        self._batch = table.combine_chunks().to_batches()[0]

    def __arrow_c_array__(self, requested_schema=None):
        return self._batch.__arrow_c_array__(requested_schema)


KINDS = {
    "reader": reader,
    "one-shot stream": Bound,
    "array": Batch,
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
    noise = {"mechanism": OutputPerturbation(1.0), "seed": 1}
    found, expected = (
        ds.simulate(ds.SurvivalRegression(schema(), link="logit"), people, **noise)
        for people in (data, table)
    )
    assert np.array_equal(found.coef_, expected.coef_)
    found, expected = (
        ds.simulate(
            ds.GroupCurves(schema(), by="arm"), people, mechanism=ds.GroupCounts(2.0), seed=1
        ).model_
        for people in (data, table)
    )
    assert found.released == expected.released


def test_a_stream_is_not_held_longer_than_its_object():
    data, before = reader(cohort()), len(streams._held)
    open_table(data)
    assert len(streams._held) == before + 1
    del data
    assert len(streams._held) == before


def test_one_object_without_weak_references_is_held_at_a_time():
    one, other = Bound(cohort()), Bound(cohort(50))
    assert [open_table(data).rows for data in (one, one, other, other)] == [400, 400, 50, 50]
    assert sum(stream.owner is not None for stream in streams._held.values()) == 1
    with pytest.raises(DataFormError, match="a stream can be read once") as caught:
        open_table(one)
    assert CANARY not in str(caught.value)


def test_the_form_of_a_stream_is_checked_without_its_records():
    def batches():
        raise AssertionError
        yield

    data = pa.RecordBatchReader.from_batches(cohort().schema, batches())
    check_form(data, schema())
    with pytest.raises(DataFormError, match="no column 'id'"):
        check_form(data, schema(person=True))


@pytest.mark.parametrize("error", [pa.ArrowInvalid, OSError, KeyError])
def test_a_stream_that_breaks_off_stops_the_fit_and_quotes_nothing(error):
    def batches():
        yield from cohort().to_batches(max_chunksize=50)
        raise error(CANARY)

    data = pa.RecordBatchReader.from_batches(cohort().schema, batches())
    for _ in range(2):  # nor is the rest read when it is asked again
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


FOREIGN = {
    "table": lambda table: table,
    "reader": lambda table: table.to_reader(max_chunksize=5),
    "polars": pl.from_arrow,
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_exact_numbers_of_a_database_are_one_person_however_they_are_written(kind):
    """ADBC hands over PostgreSQL's numerics as texts: 7 and 7.00 there are 7 and 7.00 here."""
    texts = ["7", "7.00", "7.", "70", "0.10", "0.1", "-3.50", "-3.5", "NaN", "100", "1e-9", None]
    numeric = pa.opaque(pa.string(), "numeric", "PostgreSQL")
    ids = pa.ExtensionArray.from_storage(numeric, pa.array(texts))
    codes, persons = open_table(FOREIGN[kind](pa.table({"id": ids}))).ids("id").codes()
    assert codes.tolist()[:8] == [0, 0, 0, 1, 2, 2, 3, 3]
    assert persons == 8


@pytest.mark.parametrize("kind", ["table", "reader"])  # to polars a UUID is any bytes
def test_uuids_are_texts_that_no_blank_at_their_end_confuses(kind):
    ids = [uuid.UUID(int=number) for number in (9, 10, 13, 32)]
    raw = [*(one.bytes for one in ids), None]
    array = pa.ExtensionArray.from_storage(pa.uuid(), pa.array(raw, pa.binary(16)))
    table = open_table(FOREIGN[kind](pa.table({"id": array})))
    assert table.ids("id").codes()[1] == 5
    assert table.column("id").coded()[1] == [str(one) for one in ids]
    whole = open_table(pa.table({"id": array}).slice(0, 0).to_reader())
    assert whole.ids("id").codes()[1] == 0


def test_two_columns_of_one_name_are_refused():
    twice = relation(cohort()).query("t", "SELECT *, age FROM t")
    for data in (twice, twice.to_arrow_reader()):
        with pytest.raises(DataFormError, match="two columns 'age'"):
            People.of(data).check(schema())


def test_a_table_that_two_schemas_read_orders_rows_by_each_of_them():
    """The stretches of fewer columns are not those of more: they decide among rows of equal times."""
    time = {"duration": "t", "event": "e", "horizon": 10.0, "intervals": 10}
    age, arm = {"name": "age", "low": 0, "high": 100}, {"name": "arm", "levels": ["a", "b"]}
    few, all_ = (
        ds.Schema.from_mapping({"person": "id", "time": time, "covariate": columns})
        for columns in ([age], [age, arm])
    )
    rows = pl.DataFrame(
        {"id": [1, 1], "t": [5.0, 5.0], "e": [1, 1], "age": [50.0, 50.0], "arm": ["b", "a"]}
    )
    found = []
    for order in (rows, rows.reverse()):
        table = read_table(order.lazy(), all_)
        person_spans(table, few)
        found.append(to_episodes(table, all_).covariates)
    np.testing.assert_array_equal(*found)


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
