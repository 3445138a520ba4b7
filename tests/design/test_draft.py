"""A schema is drafted from names: what it may guess, and what it must leave to a person."""

import tomllib

import pytest

from discreet.design.draft import UNITS, Roles, is_date_name, skeleton


def drafted(*columns, typed=()):
    return tomllib.loads("\n".join(skeleton("people.csv", columns, typed)))


@pytest.mark.parametrize(
    "name",
    [
        "date_of_birth",
        "DiagDate",
        "diagnosis date",
        "last_seen",
        "dob",
        "datum",
        "DATE",
        "Diagnosedatum",
    ],
)
def test_names_of_dates(name):
    assert is_date_name(name)


@pytest.mark.parametrize("name", ["update", "candidate", "age", "last_name", "days"])
def test_names_of_other_things(name):
    assert not is_date_name(name)


def test_dates_become_start_end_and_entry_and_the_unit_is_asked_for():
    found = drafted("id", "date_of_diagnosis", "enrolment_date", "last_seen", "died", "age")
    assert found["person"] == "id"
    time = found["time"]
    assert (time["start"], time["end"]) == ("date_of_diagnosis", "last_seen")
    assert (time["entry"], time["event"], time["unit"]) == ("enrolment_date", "died", "")
    assert "duration" not in time
    assert [item["name"] for item in found["covariate"]] == ["age"]


def test_names_of_packages_of_r_are_known():
    assert drafted("futime", "fustat", "age")["time"]["event"] == "fustat"
    assert drafted("survTime", "status", "age")["time"]["duration"] == "survTime"


def test_where_two_columns_may_be_meant_none_is_chosen():
    lines = list(
        skeleton("f.csv", ["diagnosis_date", "death_date", "last_contact", "dead", "status"])
    )
    (end,) = [line for line in lines if line.startswith("end")]
    assert end.startswith('end = "" ')
    assert end.endswith('"death_date", "last_contact"?')
    (event,) = [line for line in lines if line.startswith("event ")]
    assert event.startswith('event = "" ')
    assert 'name = "dead"' in lines  # who names the other as the event deletes it


def test_a_duration_goes_before_dates_which_are_no_covariates():
    found = drafted("days", "birth_date", "visit_date", "marital_status", "age_years")
    assert found["time"]["duration"] == "days"
    assert found["time"]["unit"] == "days"
    assert "start" not in found["time"]
    assert [item["name"] for item in found["covariate"]] == ["marital_status", "age_years"]


@pytest.mark.parametrize(
    ("start", "stop"),
    [("start", "stop"), ("tstart", "tstop"), ("Start", "Stop"), ("start_time", "stop_time")],
)
def test_rows_that_start_and_stop_have_entry_and_duration(start, stop):
    found = drafted("id", start, stop, "event", "age")
    assert (found["time"]["entry"], found["time"]["duration"]) == (start, stop)
    assert [item["name"] for item in found["covariate"]] == ["age"]


def test_a_start_alone_or_beside_a_time_is_left_to_a_person():
    assert "entry" not in drafted("start", "time", "event")["time"]
    found = drafted("start", "stop", "time", "event")["time"]
    assert (found["entry"], found["duration"]) == ("start", "")


def test_a_file_may_declare_its_dates():
    assert drafted("diagnosed", "exit", typed=("diagnosed", "exit"))["time"]["end"] == "exit"
    assert Roles.of(["diagnosed", "exit"]).dates == ()


def test_a_file_may_declare_its_texts():
    lines = "\n".join(skeleton("f.parquet", ["age", "sex"], texts=["sex"]))
    age, sex = tomllib.loads(lines)["covariate"]
    assert (age, sex["levels"]) == ({"name": "age", "low": "", "high": ""}, ["", ""])
    assert "low" not in sex


def test_nothing_that_a_release_prints_is_guessed():
    found = drafted("id", "time", "status", "age", "sex")
    assert (found["time"]["horizon"], found["time"]["unit"]) == ("", "")
    assert all(item["low"] == item["high"] == "" for item in found["covariate"])


def test_each_thing_is_said_once():
    lines = list(skeleton("f.csv", ["id", "start_date", "end_date", "status", "age", "sex", "arm"]))
    said = [line.partition("#")[2] for line in lines if "#" in line]
    assert len(set(said)) == len(said)
    assert sum(all(unit in line for unit in UNITS) for line in lines) == 1


@pytest.mark.parametrize("name", ['a"b', "back\\slash", "bell\x07", "\u00e9 [x]", "#"])
def test_odd_names_become_toml(name):
    assert drafted(name)["covariate"][0]["name"] == name
