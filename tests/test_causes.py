"""Competing risks: who dies of what, in the schema, in the people, in private curves."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import discreet as ds
from discreet.design.schema import Schema
from discreet.errors import SchemaError, SettingsError
from discreet.people.encode import to_episodes
from discreet.report import make_page
from discreet.results.group_table import GroupTable


def mapping(**time):
    grid = {"duration": "time", "event": "cause", "horizon": 20, "intervals": 20}
    causes = {"cancer": ["C", 1], "other": ["O", 2]}
    covariates = [
        {"name": "age", "low": 40, "high": 90},
        {"name": "arm", "levels": ["a", "b"]},
    ]
    return {"time": {**grid, "causes": causes, **time}, "covariate": covariates}


def people(number=3000, seed=1):
    """Discrete times from a multinomial logit: two causes with effects of their own."""
    random = np.random.default_rng(seed)
    age, arm = random.uniform(40, 90, number), random.integers(2, size=number)
    first = np.exp(-3.2 + 0.03 * (age - 65) + 0.5 * arm)
    second = np.exp(-3.6 + 0.01 * (age - 65) - 0.4 * arm)
    stay = 1.0 / (1.0 + first + second)
    time = random.geometric(1.0 - stay)
    cause = np.where(random.random(number) < first / (first + second), "C", "O")
    censored = np.minimum(random.integers(1, 30, number), 20)
    return pa.table(
        {
            "time": np.minimum(time, censored) - 0.5,
            "cause": np.where(time <= censored, cause, "alive"),
            "age": age,
            "arm": np.where(arm == 1, "b", "a"),
        }
    )


@pytest.mark.parametrize(
    ("time", "says"),
    [
        ({"causes": {"one": ["C"]}}, "needs two causes"),
        ({"causes": {"one": ["C"], "two": ["C", "O"]}}, "value twice"),
        ({"causes": {"one": [1], "two": ["1"]}}, "value twice"),
        ({"event_values": ["C"]}, "does not go with event_values"),
        ({"causes": {"baseline": ["C"], "two": ["O"]}}, "baseline"),
        ({"causes": {"covariates": ["C"], "two": ["O"]}}, "covariates"),
    ],
)
def test_causes_that_make_no_sense_are_refused(time, says):
    with pytest.raises(SchemaError, match=says):
        Schema.from_mapping(mapping(**time))


def test_a_schema_with_causes_goes_to_a_file_and_back():
    schema = Schema.from_mapping(mapping())
    assert Schema.from_mapping(schema.to_mapping()) == schema
    assert list(schema.time.causes) == ["cancer", "other"]


def test_every_value_has_its_cause():
    values = ["C", 1, "1", "O", 2, "x", None, 0]
    number = len(values)
    table = pd.DataFrame(
        {"time": np.full(number, 3.5), "cause": values, "age": 50.0, "arm": ["a"] * number}
    )
    found = to_episodes(table, Schema.from_mapping(mapping()))
    assert found.cause.tolist() == [1, 1, 1, 2, 2, 0, 0, 0]
    assert found.event.tolist() == [code > 0 for code in found.cause]


def test_the_first_event_of_a_person_decides_the_cause():
    rows = {
        "id": [1, 1, 2, 2, 3, 3], "time": [5.5, 9.5, 4.5, 4.5, 30.0, 6.5],
        "cause": ["O", "C", "O", "C", "C", "x"], "age": [50.0] * 6, "arm": ["a"] * 6,
    }  # fmt: skip
    found = to_episodes(pa.table(rows), Schema.from_mapping({"person": "id", **mapping()}))
    last = found.ends[1]
    # of two causes at one time the first of the schema counts; an event beyond the horizon does not
    assert found.cause[last].tolist() == [2, 1, 0]


@pytest.mark.parametrize("person", [False, True])
def test_an_interval_of_another_cause_does_not_count(person):
    table = people(500)
    given = mapping()
    if person:
        table = table.append_column("id", pa.array(range(500)))
        given = {"person": "id", **given}
    whole = to_episodes(table, Schema.from_mapping(given))
    first = whole.of_cause(1)
    other = int(np.sum(whole.cause == 2))
    assert first.event.sum() == np.sum(whole.cause == 1)
    assert int((whole.exit - whole.entry).sum() - (first.exit - first.entry).sum()) == other
    assert first.persons == whole.persons
    assert np.all(np.diff(first.exit) >= 0) or person


def aalen_johansen(time, cause, wanted):
    """The definition, interval by interval, of people half of whom are censored before any event."""
    surviving, incidence, found = 1.0, 0.0, []
    for end in range(1, 21):
        here, censored = time == end, cause == "alive"
        at_risk = np.sum(time >= end) - np.sum(here & censored & (time < 20)) / 2.0
        incidence += surviving * np.sum(here & (cause == wanted)) / at_risk
        surviving *= 1.0 - np.sum(here & ~censored) / at_risk
        found.append(incidence)
    return np.array(found)


@pytest.mark.parametrize(("place", "value"), [(0, "C"), (1, "O")])
def test_curves_by_group_are_aalen_johansen(place, value):
    table = people()
    found = ds.simulate(
        ds.GroupCurves(mapping(), by="arm"), table, mechanism=ds.GroupCounts(1e9), seed=0
    ).model_
    frame = table.to_pandas()
    chosen = frame[frame.arm == "b"]
    expected = aalen_johansen(np.ceil(chosen.time), chosen.cause, value)
    assert np.allclose(found.estimates[1].incidence[place].estimate, expected, atol=1e-3)
    assert found.causes == ("cancer", "other")


def test_private_curves_with_causes_are_written_and_read(tmp_path):
    path = tmp_path / "curves.json"
    curves = ds.GroupCurves(mapping(), by="arm")
    made = curves.publish(
        people(), mechanism=ds.GroupCounts(1.0), ledger=ds.NO_LEDGER, path=path
    ).release_
    assert set(made.curves[0]["incidence"]) == {"cancer", "other"}
    total = made.estimates[0].survival.estimate + sum(
        band.estimate for band in made.estimates[0].incidence
    )
    assert np.allclose(total, 1.0)
    assert ds.GroupCurves._of(made).plot(cause="cancer").axes[0].get_ylabel() == "cancer so far"
    with pytest.raises(SettingsError, match="no cause"):
        ds.GroupCurves._of(made).plot(cause="nothing")


def test_summary_and_page_of_curves_speak_of_the_causes():
    made = (
        ds.GroupCurves(mapping(), by="arm")
        .publish(people(), mechanism=ds.GroupCounts(2.0), ledger=ds.NO_LEDGER)
        .release_
    )
    assert any(
        "every cause at the end: cancer, other." in line for line in GroupTable(made).heading
    )
    heading, first = GroupTable(made).rows()[:2]
    cell = first[heading.index("cancer at the end")]
    band = made.estimates[0].incidence[0]
    assert cell == f"{band.estimate[-1]:.3g} ({band.lower[-1]:.3g} to {band.upper[-1]:.3g})"
    public = make_page(made).split('id="facts"')[0]
    assert "cancer at the end" in public
    assert "Causes: cancer (" in public


def test_two_causes_cost_no_more_noise_than_one():
    one = {**mapping(), "time": {**mapping()["time"], "causes": None, "event_values": ["C", "O"]}}
    scales = [
        ds.simulate(
            ds.GroupCurves(given, by="arm"), people(300), mechanism=ds.GroupCounts(1.0), seed=0
        ).model_.noise_scale
        for given in (mapping(), one)
    ]
    assert scales[0] == scales[1]
