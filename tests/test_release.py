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
from discreet.ledger import Ledger
from discreet.mechanisms import ObjectivePerturbation, OutputPerturbation
from discreet.mechanisms.contract import get_mechanism
from discreet.paper import SanitizedExponential
from discreet.people.source import People
from discreet.privacy.testing import SeededNoise
from discreet.release import UNCOUNTED, publish, simulate
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
            publish(order(persons=persons), People.of(data), ledger=Recorder(trace))
        assert names(trace) == ["afford"]


@pytest.mark.parametrize("source", ["stream", "cluster"])
def test_the_sampler_refuses_streams_and_clusters_before_anything_is_charged(source, tmp_path):
    trace = []
    elsewhere = People.of(
        str(tmp_path / "*.parquet"), engine="auto" if source == "stream" else "dask"
    )
    sampler = order(mechanism=SanitizedExponential(epsilon=1.0), accept_approximate=True)
    with pytest.raises(SettingsError, match="one table in memory, not a stream of files"):
        publish(sampler, elsewhere, ledger=Recorder(trace))
    assert trace == []


@pytest.mark.parametrize("name", ["newton", "output", "objective"])
def test_no_number_of_persons_makes_a_promise_cheaper_than_before_they_are_counted(name):
    asked = order(mechanism=get_mechanism(name)(epsilon=1.0))
    first = asked.promise
    assert first == asked.mechanism.promise(UNCOUNTED)
    for persons in (100, 10**5, 10**7):
        found = asked.plan(persons).guarantee
        assert found.kind == first.kind
        assert (first.epsilon, first.delta) <= (found.epsilon, found.delta)
        assert first.exact_rho <= found.exact_rho


def test_a_crash_after_the_charge_is_not_refunded_and_writes_nothing(tmp_path):
    trace = []
    with pytest.raises(RuntimeError) as caught:
        run(order(persons=120), trace, tmp_path / "release.json", fail="read")
    assert "charge stands" in caught.value.__notes__[0]
    assert names(trace) == ["afford", "check", "reserve", "read"]
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_number_of_persons_is_an_error_after_the_charge():
    trace = []
    with pytest.raises(DataFormError, match=r"another number of persons .* The charge stands"):
        run(order(persons=121), trace)
    assert names(trace) == ["afford", "check", "reserve", "read"]


def test_a_repeated_order_finds_its_charge_and_draws_nothing(tmp_path):
    ledger = Ledger(tmp_path / "ledger")
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
    "approximate": (
        order(mechanism=Fixed(status="ideal-draw-only")),
        SettingsError,
        "accept_approximate",
    ),
    "without a proof": (
        order(mechanism=Fixed(status="unproved"), accept_approximate=True),
        SettingsError,
        "not published",
    ),
    "a secret number of persons": (
        order(mechanism=Fixed(relation="add-remove")),
        SettingsError,
        "number of persons is a secret",
    ),
}

PLANNED = {
    "a link": (order(link=CLogLog()), "cloglog"),
    "too fine a baseline": (order(baseline=NaturalSpline(50)), "more parameters"),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("persons", [None, 120])
def test_what_public_facts_forbid_is_refused_before_anything_is_read(name, persons):
    wrong, error, words = REFUSED[name]
    trace = []
    with pytest.raises(error, match=words):
        run(replace(wrong, persons=persons), trace)
    assert trace == []


@pytest.mark.parametrize("name", PLANNED)
@pytest.mark.parametrize("persons", [None, 120])
def test_what_only_a_plan_finds_is_refused_before_the_charge(name, persons):
    wrong, words = PLANNED[name]
    trace = []
    with pytest.raises(SettingsError, match=words):
        run(replace(wrong, persons=persons), trace)
    assert not {"reserve", "read"} & set(names(trace))


def test_the_plan_is_made_once_and_the_design_built_once(monkeypatch):
    plans, designs = [], []
    plan, design = Fixed.plan, release_path.Design
    monkeypatch.setattr(Fixed, "plan", lambda *given: plans.append(1) or plan(*given))
    monkeypatch.setattr(release_path, "Design", lambda *given: designs.append(1) or design(*given))
    run(order(), [])
    assert (plans, designs) == ([1], [1])


@pytest.mark.parametrize("persons", [None, 120])
def test_a_file_is_parsed_once(tmp_path, monkeypatch, persons):
    from discreet.people import tables  # noqa: PLC0415

    parses, read = [], tables.read_file
    monkeypatch.setattr(tables, "read_file", lambda *given: parses.append(1) or read(*given))
    parquet.write_table(TABLE, tmp_path / "people.parquet")
    publish(order(persons=persons), People.of(tmp_path / "people.parquet"), ledger=Recorder([]))
    assert parses == [1]
    ds.SurvivalRegression(schema(bounded=False), link="logit").fit(tmp_path / "people.parquet")
    assert parses == [1, 1]


def test_a_file_that_cannot_be_written_says_that_the_charge_stands(tmp_path, monkeypatch):
    def full(*_given, **_named):
        raise SettingsError("the disk is full.")

    monkeypatch.setattr(release_path.Release, "save", full)
    trace = []
    with pytest.raises(SettingsError, match=r"the disk is full\. The charge stands"):
        run(order(), trace, tmp_path / "release.json")
    assert names(trace)[-1] == "read"


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
    found = simulate(order(), Table(trace), SeededNoise(3))
    assert names(trace) == ["check", "count", "read"]
    assert found.private is False
    assert found.ledger == "no ledger"
    assert any("seed" in str(text) for text in found.warnings)
    with pytest.raises(SettingsError, match="not private"):
        found.save(tmp_path / "release.json")
    assert list(tmp_path.iterdir()) == []
    assert simulate(order(), Table([]), SeededNoise(3)).internal == found.internal
    assert run(order(), []).private is True


def test_a_simulation_takes_no_real_noise():
    from discreet.privacy.noise import SystemNoise  # noqa: PLC0415

    trace = []
    with pytest.raises(SettingsError, match="seeded"):
        simulate(order(), Table(trace), SystemNoise())
    assert trace == []


def test_a_simulation_may_draw_what_is_not_published():
    unproved = order(mechanism=Fixed(status="unproved"))
    assert simulate(unproved, Table([]), SeededNoise(1)).private is False


def test_two_releases_differ_and_have_ids_of_their_own():
    first, second = run(order(), []), run(order(), [])
    assert first.release_id != second.release_id
    assert first.internal != second.internal


# --- through the estimator


def test_the_estimator_takes_the_same_path(tmp_path):
    trace = []
    model = ds.SurvivalRegression(PUBLIC, link="logit")
    model.publish(TABLE, mechanism=Fixed(), ledger=Recorder(trace))
    assert names(trace) == ["afford", "reserve", "settle"]
    assert model.release_.private
    assert not hasattr(model, "repairs_")
    model.save(tmp_path / "release.json")
    assert trace[-1][2] == hashlib.sha256((tmp_path / "release.json").read_bytes()).hexdigest()
    assert model.predict_survival(TABLE, [1.0]).shape == (120, 1)


def test_a_fit_never_spends_and_cross_validation_charges_nothing(tmp_path):
    from sklearn.base import clone  # noqa: PLC0415
    from sklearn.model_selection import cross_val_score  # noqa: PLC0415

    ledger = Ledger(tmp_path / "ledger")
    ledger.initialise("the people", 10)
    model = ds.SurvivalRegression(PUBLIC, link="logit")
    model.publish(TABLE, mechanism=Fixed(), ledger=ledger)
    frame = TABLE.to_pandas()
    cross_val_score(clone(model), frame, cv=3)
    model.fit(frame)
    assert not hasattr(model, "release_")
    assert len(ledger.show().charges) == 1


def test_a_release_needs_to_know_who_pays():
    model = ds.SurvivalRegression(PUBLIC, link="logit")
    with pytest.raises(TypeError, match="ledger"):
        model.publish(TABLE, mechanism=Fixed())
    with pytest.raises(SettingsError, match="NO_LEDGER"):
        model.publish(TABLE, mechanism=Fixed(), ledger=None)
    with pytest.raises(TypeError, match="mechanism"):
        model.publish(TABLE, ledger=ds.NO_LEDGER)
    for mechanism in (None, "newton", ds.PrivateNewton):
        with pytest.raises(SettingsError, match=r"mechanism=ds.PrivateNewton\(epsilon=1\)"):
            model.publish(TABLE, mechanism=mechanism, ledger=ds.NO_LEDGER)
    model.publish(TABLE, mechanism=Fixed(), ledger=ds.NO_LEDGER)
    assert model.release_.ledger == "no ledger"
    assert repr(ds.NO_LEDGER) == "NO_LEDGER"


def test_a_ledger_may_be_called_no_ledger(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(LedgerError, match="no ledger at this path"):
        ds.SurvivalRegression(PUBLIC, link="logit").publish(
            TABLE, mechanism=Fixed(), ledger="no ledger"
        )


def test_a_simulated_fit_is_a_model_that_says_what_it_is(tmp_path):
    model = ds.SurvivalRegression(PUBLIC, link="logit")
    found = ds.simulate(model, TABLE, mechanism=Fixed(), seed=3)
    again = ds.simulate(model, TABLE, mechanism=Fixed(), seed=SeededNoise(3), persons=120)
    assert found.model_.internal == again.model_.internal
    assert found.model_.private is False
    assert "not private" in str(found.summary())
    assert not hasattr(model, "model_")
    with pytest.raises(SettingsError, match="not private"):
        found.save(tmp_path / "release.json")


def test_the_estimator_reads_nothing_before_settings_are_right():
    class Unreadable:
        def __getattribute__(self, name):
            raise AssertionError("the data were touched")

    wrong = [
        {"schema": schema(bounded=False)},
        {"mechanism": Fixed(status="unproved")},
        {"link": "cloglog", "persons": 120},
        {"schema": None},
        {"ridge": 0.1},
        {"baseline": "odd"},
        {"release_id": "../../etc", "persons": 120},
        {"persons": 0},
    ]
    for settings in wrong:
        terms = {"mechanism": Fixed(), "ledger": ds.NO_LEDGER}
        described = {"schema": PUBLIC, "link": "logit"}
        for name, value in settings.items():
            (terms if name in {*terms, "persons", "release_id"} else described)[name] = value
        with pytest.raises((SettingsError, SchemaError)):
            ds.SurvivalRegression(**described).publish(Unreadable(), **terms)


def test_persons_not_rows_are_counted():
    public = schema(person=True, entry=True)
    found = ds.SurvivalRegression(public, link="logit")
    found.publish(episodic(people=40), mechanism=Fixed(), ledger=ds.NO_LEDGER)
    assert found.release_.persons == 40
    assert found.release_.details["late_entry"] is True


def test_values_never_make_a_private_fit_fail_or_speak(recwarn):
    odd = TABLE.to_pandas()
    odd["age"] = odd["age"].astype(object)
    odd.loc[:5, "age"] = ["x", None, float("nan"), float("inf"), -1e308, ""]
    odd.loc[3, "time"] = -4
    odd.loc[4, "status"] = False
    ds.SurvivalRegression(PUBLIC, link="logit").publish(odd, mechanism=Fixed(), ledger=ds.NO_LEDGER)
    assert not list(recwarn)


@pytest.mark.parametrize("mechanism", [ObjectivePerturbation, OutputPerturbation])
def test_the_real_mechanisms_go_this_way(tmp_path, mechanism):
    model = ds.SurvivalRegression(PUBLIC, link="logit")
    model.publish(
        TABLE,
        mechanism=mechanism(epsilon=1.0),
        ledger=ds.NO_LEDGER,
        path=tmp_path / "release.json",
    )
    loaded = ds.load(tmp_path / "release.json")
    assert loaded.model_ == model.release_
    assert loaded.model_.guarantee.epsilon == 1.0


@pytest.mark.parametrize("mechanism", [ObjectivePerturbation, OutputPerturbation])
def test_a_large_epsilon_recovers_the_ridge_fit(mechanism):
    private = ds.SurvivalRegression(PUBLIC, link="logit")
    private.publish(TABLE, mechanism=mechanism(epsilon=1e9), ledger=ds.NO_LEDGER)
    plain = ds.SurvivalRegression(PUBLIC, link="logit").fit(TABLE)
    np.testing.assert_allclose(
        private.coefficients_.vector, plain.coefficients_.vector, rtol=0.02, atol=0.02
    )
