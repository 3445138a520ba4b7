"""The one release path: its order and what it refuses."""

import hashlib
import json
from dataclasses import replace
from datetime import date

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import discreet as ds
from discreet import release as release_path
from discreet.design.baseline import NaturalSpline
from discreet.design.link import CLogLog
from discreet.errors import (
    BudgetError,
    DataFormError,
    LedgerError,
    SchemaError,
    SettingsError,
)
from discreet.ledger import open_ledger
from discreet.ledger.interface import NullLedger
from discreet.mechanisms import get_mechanism
from discreet.people.source import People
from discreet.privacy.testing import SeededNoise
from discreet.release import REHEARSAL, publish, simulation
from tests.cohorts import episodic, schema
from tests.releases import PUBLIC, TABLE, Fixed, Recorder, Table, names, order, run


def test_the_order_of_a_release(tmp_path):
    trace = []
    found = run(order(), trace, tmp_path / "release.json")
    assert names(trace) == ["afford", "check", "count", "reserve", "read", "settle"]
    content = (tmp_path / "release.json").read_bytes()
    assert trace[-1][2] == hashlib.sha256(content).hexdigest() == found.digest
    assert trace[0][1] == trace[3][1] == trace[-1][1] == found.release_id


def test_with_the_number_of_persons_nothing_is_read_before_the_charge():
    trace = []
    run(order(persons=120), trace)
    assert names(trace) == ["afford", "check", "reserve", "read", "settle"]


def test_a_refused_charge_reads_nothing(tmp_path):
    trace = []
    with pytest.raises(BudgetError):
        run(order(persons=120), trace, tmp_path / "release.json", fail="reserve")
    assert names(trace) == ["afford", "check", "reserve"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("persons", [None, 120])
def test_a_budget_that_is_spent_is_told_before_the_data_are_looked_for(persons):
    trace = []
    with pytest.raises(BudgetError):
        run(order(persons=persons), trace, fail="afford")
    assert names(trace) == ["afford"]


@pytest.mark.parametrize("persons", [None, 120])
def test_data_of_another_form_are_told_before_the_charge(persons):
    trace = []
    with pytest.raises(DataFormError):
        run(order(persons=persons), trace, fail="check")
    assert names(trace) == ["afford", "check"]


@pytest.mark.parametrize("persons", [None, 120])
@pytest.mark.parametrize("values", [[date(2020, 1, 1)], [[1.0]]], ids=["dates", "lists"])
def test_types_that_cannot_be_read_are_told_before_the_charge(tmp_path, values, persons):
    odd = TABLE.set_column(2, "age", pa.array(values * TABLE.num_rows))
    parquet.write_table(odd, tmp_path / "people.parquet")
    for data in (
        odd,
        odd.to_pandas(types_mapper=pd.ArrowDtype),
        tmp_path / "people.parquet",
        tmp_path,
    ):
        trace = []
        with pytest.raises(DataFormError, match="'age' holds dates, durations or nested"):
            publish(order(persons=persons), People(data), ledger=Recorder(trace))
        assert names(trace) == ["afford"]


@pytest.mark.parametrize("source", ["stream", "cluster"])
def test_the_sampler_refuses_streams_and_clusters_before_anything_is_charged(source, tmp_path):
    trace = []
    elsewhere = People(str(tmp_path / "*.parquet"), engine="auto" if source == "stream" else "dask")
    sampler = order(mechanism=ds.SanitizedExponential(epsilon=1.0), accept_approximate=True)
    with pytest.raises(SettingsError, match="one table in memory, not a stream of files"):
        publish(sampler, elsewhere, ledger=Recorder(trace))
    assert trace == []


@pytest.mark.parametrize("name", ["newton", "output", "objective"])
def test_no_number_of_persons_makes_a_promise_cheaper_than_the_rehearsal(name):
    asked = order(mechanism=get_mechanism(name)(epsilon=1.0))
    first = asked.plan(REHEARSAL).guarantee
    for persons in (100, 10**5, 10**7):
        found = asked.plan(persons).guarantee
        assert found.kind == first.kind
        assert (first.epsilon, first.delta) <= (found.epsilon, found.delta)
        assert first.exact_rho <= found.exact_rho


def test_a_crash_after_the_charge_is_not_refunded_and_writes_nothing(tmp_path):
    trace = []
    with pytest.raises(RuntimeError):
        run(order(persons=120), trace, tmp_path / "release.json", fail="read")
    assert names(trace) == ["afford", "check", "reserve", "read"]
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_number_of_persons_is_an_error_after_the_charge():
    trace = []
    with pytest.raises(DataFormError, match="another number of persons"):
        run(order(persons=121), trace)
    assert names(trace) == ["afford", "check", "reserve", "read"]


def test_a_repeated_order_finds_its_charge_and_draws_nothing(tmp_path):
    ledger = open_ledger(tmp_path / "ledger")
    ledger.initialise("the people", 10)
    trace = []
    again = order(persons=120, release_id="one")
    publish(again, Table(trace), ledger=ledger)
    with pytest.raises(LedgerError, match="one draw"):
        publish(again, Table(trace), ledger=ledger)
    assert names(trace).count("read") == 1


def test_a_ledger_that_is_empty_is_a_ledger():
    class Empty(Recorder):
        def __len__(self):
            return 0

    trace = []
    publish(order(), Table(trace), ledger=Empty(trace))
    assert "reserve" in names(trace)


REFUSED = {
    "no bounds": (order(schema=schema(bounded=False)), SchemaError, "'age'"),
    "a link": (order(link=CLogLog()), SettingsError, "cloglog"),
    "printed": (order(mechanism=Fixed(publishable=False)), SettingsError, "accept_printed"),
    "approximate": (
        order(mechanism=Fixed(status="ideal-draw-only")),
        SettingsError,
        "accept_approximate",
    ),
    "without a proof": (
        order(mechanism=Fixed(status="unproved"), accept_approximate=True),
        SettingsError,
        "accept_printed",
    ),
    "a secret number of persons": (
        order(mechanism=Fixed(relation="add-remove")),
        SettingsError,
        "number of persons is a secret",
    ),
    "too fine a baseline": (order(baseline=NaturalSpline(50)), SettingsError, "more parameters"),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("persons", [None, 120])
def test_what_public_facts_forbid_is_refused_before_anything_is_read(name, persons):
    wrong, error, words = REFUSED[name]
    trace = []
    with pytest.raises(error, match=words):
        run(replace(wrong, persons=persons), trace)
    assert trace == []


def test_an_existing_file_is_refused_before_anything_is_read(tmp_path):
    (tmp_path / "release.json").write_text("old")
    trace = []
    with pytest.raises(SettingsError, match="exists"):
        run(order(), trace, tmp_path / "release.json")
    assert trace == []
    run(order(), trace, tmp_path / "release.json", overwrite=True)
    assert json.loads((tmp_path / "release.json").read_text())["private"] is True


def test_seeded_noise_is_marked_never_charged_and_never_written(tmp_path):
    trace = []
    with simulation(SeededNoise(3)):
        found = run(order(), trace)
        with pytest.raises(SettingsError, match="not private"):
            run(order(), [], tmp_path / "release.json")
    assert "reserve" not in names(trace)
    assert found.private is False
    assert any("seed" in text for text in found.warnings)
    with pytest.raises(SettingsError, match="not private"):
        found.save(tmp_path / "release.json")
    assert list(tmp_path.iterdir()) == []
    with simulation(SeededNoise(3)):
        again = run(order(), [])
    assert again.internal == found.internal
    assert run(order(), []).private is True


def test_a_simulation_takes_no_real_noise():
    from discreet.privacy.noise import SystemNoise  # noqa: PLC0415

    with pytest.raises(SettingsError, match="seeded"), simulation(SystemNoise()):
        pass


def test_a_simulation_may_draw_what_is_not_published():
    with simulation(SeededNoise(1)):
        found = run(order(mechanism=Fixed(publishable=False)), [])
    assert found.private is False


def test_two_releases_differ_and_have_ids_of_their_own():
    first, second = run(order(), []), run(order(), [])
    assert first.release_id != second.release_id
    assert first.internal != second.internal


# --- through the estimator


def test_the_estimator_takes_the_same_path(tmp_path):
    trace = []
    model = ds.SurvivalRegression(PUBLIC, mechanism=Fixed(), ledger=Recorder(trace))
    model.fit(TABLE)
    assert names(trace) == ["afford", "reserve", "settle"]
    assert model.release_.private
    assert not hasattr(model, "standard_errors_")
    assert not hasattr(model, "repairs_")
    model.save(tmp_path / "release.json")
    assert trace[-1][2] == hashlib.sha256((tmp_path / "release.json").read_bytes()).hexdigest()
    assert model.predict_survival(TABLE, [1.0]).shape == (120, 1)


def test_the_estimator_reads_nothing_before_settings_are_right():
    class Unreadable:
        def __getattribute__(self, name):
            raise AssertionError("the data were touched")

    wrong = [
        {"schema": schema(bounded=False)},
        {"mechanism": Fixed(publishable=False)},
        {"link": "cloglog"},
        {"schema": None},
        {"ridge": 0.1},
        {"baseline": "odd"},
        {"release_id": "../../etc", "persons": 120},
    ]
    for settings in wrong:
        model = ds.SurvivalRegression(**{"schema": PUBLIC, "mechanism": Fixed(), **settings})
        with pytest.raises((SettingsError, SchemaError)):
            model.fit(Unreadable())


def test_persons_not_rows_are_counted():
    public = schema(person=True, entry=True)
    found = ds.SurvivalRegression(public, mechanism=Fixed()).fit(episodic(people=40))
    assert found.release_.persons == 40
    assert found.release_.details["late_entry"] is True


def test_values_never_make_a_private_fit_fail_or_speak(recwarn):
    odd = TABLE.to_pandas()
    odd["age"] = odd["age"].astype(object)
    odd.loc[:5, "age"] = ["x", None, float("nan"), float("inf"), -1e308, ""]
    odd.loc[3, "time"] = -4
    odd.loc[4, "status"] = False
    ds.SurvivalRegression(PUBLIC, mechanism=Fixed(), ledger=NullLedger()).fit(odd)
    assert not list(recwarn)


@pytest.mark.parametrize("mechanism", [ds.ObjectivePerturbation, ds.OutputPerturbation])
def test_the_real_mechanisms_go_this_way(tmp_path, mechanism):
    model = ds.SurvivalRegression(PUBLIC, mechanism=mechanism(epsilon=1.0))
    model.publish(TABLE, path=tmp_path / "release.json")
    loaded = ds.load(tmp_path / "release.json")
    assert loaded.model == model.release_
    assert loaded.model.guarantee.epsilon == 1.0
    assert release_path.REHEARSAL > 0


@pytest.mark.parametrize("mechanism", [ds.ObjectivePerturbation, ds.OutputPerturbation])
def test_a_large_epsilon_recovers_the_ridge_fit(mechanism):
    private = ds.SurvivalRegression(PUBLIC, mechanism=mechanism(epsilon=1e9)).fit(TABLE)
    plain = ds.SurvivalRegression(PUBLIC).fit(TABLE)
    np.testing.assert_allclose(
        private.coefficients_.vector, plain.coefficients_.vector, rtol=0.02, atol=0.02
    )
