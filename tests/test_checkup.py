"""What a custodian sees before a release is paid for."""

import re
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import discreet as ds
from discreet.design.grid import TimeGrid
from discreet.errors import ArtefactError, SettingsError
from discreet.results.life_table import LifeTable
from tests.cohorts import HORIZON, cohort, episodic, schema

TABLE = cohort(people=200)


def with_column(name, values):
    place = TABLE.column_names.index(name)
    return TABLE.set_column(place, name, pa.array(values))


MISTAKES = {
    "dates as durations": ("time", ["2020-01-31"] * 200, "Not one person is at risk"),
    "missing durations": ("time", [None] * 200, "Not one person is at risk"),
    "years against a horizon in days": ("time", [0.01] * 200, "first interval"),
    "events in words": ("status", ["Yes", "No"] * 100, "Half or more of column 'status'"),
    "no events": ("status", [0] * 200, "There are 0 events"),
    "a few events": ("status", [1] * 9 + [0] * 191, "There are 9 events"),
    "a constant column": ("age", [50.0] * 200, "'age' has one value only"),
    "a column above its bounds": ("age", [5000.0] * 200, "'age' has one value only"),
    "levels in capitals": ("arm", ["A"] * 120 + ["a", "b"] * 40, "Half or more of column 'arm'"),
    "decimal commas": ("age", ["54,5"] * 150 + ["54.5"] * 50, "Half or more of column 'age'"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_file_that_gives_no_useful_model_is_told(name):
    column, values, words = MISTAKES[name]
    found = ds.check(with_column(column, values), schema())
    assert found.verdict == "no useful model"
    assert found.exit_status == 6
    assert any(words in item.text for item in found.obstacles)
    assert words in " ".join(str(found).split())


def test_one_person_is_no_cohort():
    assert ds.check(TABLE.slice(0, 1), schema()).exit_status == 6


def test_a_file_that_fits_says_how_many_people_and_events_there_are():
    found = ds.check(TABLE, schema())
    assert (found.verdict, found.exit_status, found.obstacles) == ("fits", 0, ())
    status = TABLE["status"].to_numpy()
    assert found.picture.events == np.count_nonzero(status)
    assert found.picture.at_risk == 200
    assert f"200 persons, {np.count_nonzero(status):,} events" in str(found)
    assert "Exits by tenth of the time grid" in str(found)


def test_time_at_risk_is_that_of_whole_intervals():
    public = schema()
    width = HORIZON / public.time.intervals
    time = TABLE["time"].to_numpy()
    intervals = np.minimum(np.floor(time / width) + 1, public.time.intervals)
    found = ds.check(TABLE, public).picture
    assert found.time_at_risk == pytest.approx(width * intervals.sum())
    assert found.exits == Counter(intervals.astype(int).tolist())


def test_repairs_are_shown_with_their_first_values_and_the_nearest_level():
    levels = list(TABLE["arm"].to_pylist())
    levels[:3] = ["placebo ", "C", "zzz"]
    found = ds.check(with_column("arm", levels), schema())
    assert (found.verdict, found.exit_status) == ("repairs", 0)
    assert found.picture.examples["arm", "unknown level"][-2:] == ("C", "zzz")
    assert "'C' in column 'arm' is near the level 'c'." in str(found)


def test_dates_in_another_form_are_told_with_an_example():
    declared = dated(date_format="%d/%m/%Y", texts=True)
    assert "[time] says that dates are written as %d/%m/%Y" in declared
    table = pa.table({"from": ["31.12.2019"] * 9, "to": ["31.12.2020"] * 9, "died": [1] * 9})
    axis = {"start": "from", "end": "to", "event": "died", "horizon": 200, "intervals": 20}
    found = " ".join(str(ds.check(table, {"time": axis})).split())
    assert 'such as date_format = "%d.%m.%Y"' in found


def test_events_coded_1_and_2_are_asked_about():
    """Also where 1s, who are censored, are taken for events after the horizon."""
    hint = "Are events coded 1 and 2? Then say event_values = [2] in [time]"
    status, long = [1] * 60 + [2] * 140, [2 * HORIZON] * 60 + [5.0] * 140
    table = with_column("status", status)
    table = table.set_column(table.column_names.index("time"), "time", pa.array(long))
    for kind in (pa.int64(), pa.float64(), pa.string()):
        place = table.column_names.index("status")
        coded = table.set_column(place, "status", pa.array(status).cast(kind))
        found = " ".join(str(ds.check(coded, schema())).split())
        assert hint in found
        assert "is the horizon in [time] in the unit of the file?" not in found
    mapping = schema().to_mapping()
    mapping["time"] = {**mapping["time"], "event_values": [2]}
    said = ds.check(table, mapping)
    assert said.picture.events == 140
    assert hint not in " ".join(str(said).split())


@pytest.mark.parametrize("status", [[0, 1, 2, 2], [1, 1, 1, 1], [2, 2, 2, 2], [1, 2, 3, 3]])
def test_other_codes_of_events_are_not_taken_for_1_and_2(status):
    found = ds.check(with_column("status", status * 50), schema())
    assert "Are events coded 1 and 2?" not in " ".join(str(found).split())


def persons_of(number, *, entry=False):
    """What `check` says where so many names stand in the column of the person."""
    names = pa.array([f"p{place % number}" for place in range(200)])
    table, mapping = TABLE.append_column("id", names), {**schema().to_mapping(), "person": "id"}
    if entry:
        table = table.append_column("entry", pa.array([0.0] * 200))
        mapping["time"] = {**mapping["time"], "entry": "entry"}
    return ds.check(table, mapping)


def test_rows_that_cover_each_other_are_asked_about():
    hint, dropped = (
        "Several rows of one person need entry in [time]",
        "of the rows are dropped",
    )
    few, many, begun = persons_of(150), persons_of(50), persons_of(50, entry=True)
    shown = [" ".join(str(found).split()) for found in (few, many, begun)]
    assert [hint in text for text in shown] == [True, True, False]
    assert [dropped in text for text in shown] == [True, True, True]
    assert (few.exit_status, many.exit_status) == (6, 6)
    assert dropped not in str(persons_of(195))
    assert hint not in str(persons_of(200))


def test_a_word_that_no_row_has_is_named():
    """Capitals count: without a word said every row is censored."""
    words = ["Yes" if event else "No" for event in TABLE["status"].to_pylist()]
    public = schema().to_mapping()
    public["time"]["event_values"] = ["yes"]
    found = " ".join(str(ds.check(with_column("status", words), public)).split())
    assert "Not one person at risk has one of event_values, 'yes', in column 'status'" in found
    assert "event_values, 'yes'" not in str(ds.check(TABLE, schema()))


def test_a_code_for_missing_values_is_asked_about_until_it_is_declared():
    ages = [999.0] * 30 + TABLE["age"].to_pylist()[30:]
    found = ds.check(with_column("age", ages), schema())
    said = " ".join(str(found).split())
    assert [item.name for item in found.obstacles] == ["missing-codes"]
    assert "'999' is in column 'age' 30 times" in said
    assert "missing_values = [999] for that covariate" in said
    assert "widen it" not in said
    mapping = schema().to_mapping()
    mapping["missing_values"] = [999, "unknown"]
    declared = ds.check(with_column("age", ages), mapping)
    assert (declared.exit_status, declared.report.total) == (0, 30)
    assert declared.report.repairs[0].problem == "missing"


def test_many_missing_levels_are_no_reference_level_unasked():
    for missing in (None, "9"):
        arms = [missing] * 20 + TABLE["arm"].to_pylist()[20:]
        mapping = schema().to_mapping()
        mapping["missing_values"] = ["9"]
        table = with_column("arm", arms)
        found = ds.check(table, mapping)
        assert [item.name for item in found.obstacles] == ["missing-levels"]
        assert "would count as 'a', its reference level" in found.obstacles[0].text
        assert ds.check(table, mapping, accept=["missing-levels"]).exit_status == 0
    few = with_column("arm", [None] * 4 + TABLE["arm"].to_pylist()[4:])
    assert not ds.check(few, schema()).obstacles


def test_single_values_far_outside_are_no_code():
    ages = [999.0] * 4 + TABLE["age"].to_pylist()[4:]
    assert not ds.check(with_column("age", ages), schema()).obstacles


def test_codes_among_levels_and_times():
    arms = ["9"] * 20 + TABLE["arm"].to_pylist()[20:]
    found = ds.check(with_column("arm", arms), schema())
    assert [item.name for item in found.obstacles] == ["missing-codes"]
    assert "for that covariate, or, better, declare it as one more level" in found.obstacles[0].text
    times = [-9.0] * 20 + TABLE["time"].to_pylist()[20:]
    found = ds.check(with_column("time", times), schema())
    assert "missing_values = [-9] in [time]" in found.obstacles[0].text
    times = [1826.0] * 20 + TABLE["time"].to_pylist()[20:]  # where follow-up ended for many
    assert not ds.check(with_column("time", times), schema()).obstacles


WRONG = {
    "event-codes": ("status", [1] * 110 + [2] * 90),
    "unknown-levels": ("arm", ["A"] * 40 + ["b", "c"] * 80),
    "unreadable": ("age", ["54,5"] * 20 + ["54.5", "64.5"] * 90),
    "negative-times": ("time", [-3.5 - place / 100 for place in range(20)] + [4.5, 5.5] * 90),
    "unfit-column": ("age", [None] * 100 + [40.0, 50.0] * 50),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_would_give_a_wrong_model_is_accepted_by_name_alone(name):
    column, values = WRONG[name]
    table = with_column(column, values)
    found = ds.check(table, schema())
    assert name in [item.name for item in found.obstacles]
    assert f"({name})" in str(found)
    names = {item.name for item in found.obstacles}
    assert ds.check(table, schema(), accept=names).exit_status == 0
    assert f"Accepted: {', '.join(sorted(names))}." in str(ds.check(table, schema(), accept=names))
    assert ds.check(table, schema(), accept=["one-interval"]).exit_status == 6


def test_two_endpoints_in_one_file_are_half_of_the_rows():
    table = pa.concat_tables([TABLE, TABLE])
    names = pa.array([f"p{place % 200}" for place in range(400)])
    found = ds.check(table.append_column("id", names), {**schema().to_mapping(), "person": "id"})
    assert [item.name for item in found.obstacles] == ["dropped-rows"]
    assert "Half or more of the rows" in str(found)


def test_ids_that_repeat_without_a_person_in_the_schema_are_asked_about(tmp_path):
    """Both eyes of a patient are two rows; without `person` each eye would be protected alone."""
    ids = pa.array([place // 2 for place in range(200)])
    table = TABLE.append_column("id", ids)
    parquet.write_table(table, tmp_path / "eyes.parquet")
    for data in (table, tmp_path / "eyes.parquet", table.to_pandas()):
        (found,) = ds.check(data, schema()).obstacles
        assert (found.name, 'person = "id"' in found.text) == ("no-person", True)
    single = TABLE.append_column("id", pa.array(range(200)))
    assert ds.check(single, schema()).exit_status == 0
    assert ds.check(TABLE.append_column("clinic", ids), schema()).exit_status == 0
    assert ds.check(table, schema(), accept=["no-person"]).exit_status == 0


def test_events_that_recur_are_asked_about():
    """Three infections of a person are one event here, which is not a matter of a few rows."""
    table = {
        "id": np.repeat(range(100), 3),
        "start": np.tile([0.0, 0.3, 0.6], 100) * HORIZON,
        "time": (np.tile([0.0, 0.3, 0.6], 100) + np.repeat(range(1, 101), 3) / 400) * HORIZON,
        "status": np.tile([1, 1, 0], 100),
        "age": 20.0 + np.repeat(range(100), 3) % 70,
        "arm": [["a", "b", "c"][place // 3 % 3] for place in range(300)],
    }
    found = ds.check(pa.table(table), schema(person=True, entry=True))
    (obstacle,) = found.obstacles
    assert obstacle.name == "dropped-rows"
    assert obstacle.text.startswith("100 events come after the first one of the same 'id'")
    assert ds.check(pa.table(table), found.schema, accept=["dropped-rows"]).exit_status == 0


def test_each_cause_needs_events(tmp_path):
    mapping = schema().to_mapping()
    mapping["time"]["causes"] = {"cancer": [1], "heart": [2], "other": [3]}
    table = with_column("status", [1] * 60 + [2] * 9 + [0] * 131)
    found = ds.check(table, mapping)
    assert "69 events (cancer 60, heart 9, other 0)" in str(found)
    assert [item.text.split(";")[0] for item in found.obstacles] == [
        "Cause 'heart' has 9 events",
        "Cause 'other' has 0 events",
    ]
    for part in range(2):
        parquet.write_table(table.slice(100 * part, 100), tmp_path / f"{part}.parquet")
    streamed = ds.check(str(tmp_path / "*.parquet"), mapping)
    assert streamed.picture.cause_events == {"cancer": 60, "heart": 9, "other": 0}


def test_a_horizon_longer_than_a_life_is_asked_about():
    mapping = schema().to_mapping()
    said = "years: is the horizon in the unit that [time] says"
    for unit, horizon, asked in (("months", 3650, True), ("days", 3650, False), (None, 1e6, False)):
        mapping["time"] |= {"unit": unit, "horizon": horizon}
        if unit is None:
            del mapping["time"]["unit"]
        assert (said in " ".join(str(ds.check(TABLE, mapping)).split())) == asked


def moved(persons, rows=2):
    """200 persons of several rows, so many of whom change their arm; the rest miss it once."""
    who = np.arange(200 * rows) // rows
    row = np.arange(200 * rows) % rows
    last = row == rows - 1
    arm = np.array(["a", "b", "c"], dtype=object)[who % 3]
    arm[last & (who < persons)] = np.array(["b", "c", "a"])[who[last & (who < persons)] % 3]
    arm[last & (who >= persons)] = None
    step = HORIZON / rows
    table = {
        "id": who,
        "start": row * step,
        "time": (row + 0.1 + 0.8 * (who % 7) / 7) * step,
        "status": last.astype(int) * (who % 2),
        "age": 20.0 + who % 70,
        "arm": list(arm),
    }
    mapping = schema(person=True, entry=True).to_mapping()
    mapping["covariate"][1]["fixed"] = True
    return pa.table(table), mapping


def test_a_covariate_that_is_declared_fixed_and_changes_is_refused(tmp_path):
    table, mapping = moved(11)
    found = ds.check(table, mapping, accept=["missing-levels"])  # of half of the rows
    assert [item.name for item in found.obstacles] == ["not-fixed"]
    assert "Add a column that has the value at the person's start" in found.obstacles[0].text
    assert found.picture.changing == {"arm": 11}
    for part in range(4):
        parquet.write_table(
            table.slice(4 * part, 4 if part < 3 else None), tmp_path / f"{part}.parquet"
        )
    assert ds.check(tmp_path, mapping).picture.changing == {"arm": 11}


def test_a_few_who_change_are_counted_and_a_gap_is_no_change():
    found = ds.check(*moved(10, rows=3))
    assert not [item for item in found.obstacles if item.name == "not-fixed"]
    assert "changes within 10 persons: curves take the first row" in " ".join(str(found).split())
    assert ds.check(*moved(0)).picture.changing == {}


def test_many_coefficients_are_counted_aloud():
    mapping = schema().to_mapping()
    levels = [*mapping["covariate"][1]["levels"], *(f"x{place}" for place in range(40))]
    mapping["covariate"][1]["levels"] = levels
    said = " ".join(str(ds.check(TABLE, mapping)).split())
    assert (
        "The covariates have 43 coefficients. A private fit of 200 persons takes a few sec" in said
    )
    assert "more accurate release" in said
    said = " ".join(str(ds.check(TABLE, schema())).split())
    assert (
        "The covariates have 3 coefficients. A private fit of 200 persons takes a few sec" in said
    )
    assert "more accurate release" not in said
    mapping["covariate"][1]["levels"] += [f"y{place}" for place in range(200)]
    said = " ".join(str(ds.check(TABLE, mapping)).split())
    assert "have 243 coefficients. A private fit takes at most 200 and refuses more: group" in said


def test_a_person_that_is_not_needed_is_said_to_cost_accuracy():
    rows = TABLE.append_column("id", pa.array(range(len(TABLE))))
    mapping = {"person": "id", **schema().to_mapping()}
    words = 'delete person = "id" from the schema: a private release is then more accurate'
    assert words in " ".join(str(ds.check(rows, mapping)).split())
    assert words not in " ".join(str(ds.check(TABLE, schema())).split())
    twice = TABLE.append_column("id", pa.array([place // 2 for place in range(len(TABLE))]))
    assert words not in " ".join(str(ds.check(twice, mapping)).split())


def test_a_name_that_does_not_exist_is_not_accepted():
    with pytest.raises(SettingsError, match="the names are no-risk"):
        ds.check(TABLE, schema(), accept=["everything"])


SPREAD = np.linspace(0.1, HORIZON, 200)


def grid_of(times, events):
    """What `check` says of these people, in one line."""
    table = pa.table({"time": times, "status": events, "age": TABLE["age"], "arm": TABLE["arm"]})
    return " ".join(str(ds.check(table, schema())).split())


def test_events_are_looked_at_where_exits_look_fine():
    """People are followed over the whole grid, and events come in a part of it only."""
    rare = np.arange(200) % 4 == 0
    assert "in the guide" not in grid_of(SPREAD, rare)
    soon = np.where(rare, SPREAD / 5, SPREAD)
    found = grid_of(soon, rare)
    assert "Nearly all events are in 3 of the 12 intervals" in found
    assert "Hardly any event comes in the last third of the time grid" in found
    assert re.search(r"Events by tenth of the time grid: .*? 0 0 0 0 0 0 0 %\)", found)
    early = grid_of(np.where(rare, SPREAD / 2, SPREAD), rare)
    assert "Nearly all events" not in early
    assert "Hardly any event comes in the last third of the time grid" in early


def test_most_events_may_be_early_where_most_people_are_not():
    late = {**schema().to_mapping()["time"], "intervals": 100}
    public = ds.Schema.from_mapping({**schema().to_mapping(), "time": late})
    rare = np.arange(200) % 4 == 0
    times = np.where(rare & (SPREAD < 16), SPREAD / 10, SPREAD)
    table = pa.table({"time": times, "status": rare, "age": TABLE["age"], "arm": TABLE["arm"]})
    found = " ".join(str(ds.check(table, public)).split())
    assert "Most events come within the first tenth of the time grid" in found


def test_a_horizon_before_most_events_is_told():
    found = grid_of(SPREAD * 10, np.ones(200, dtype=bool))
    assert "More events come after the horizon than before it" in found
    assert "More events come after" not in grid_of(SPREAD, np.ones(200, dtype=bool))


def test_all_events_in_one_interval_give_no_useful_model():
    rare = np.arange(200) % 4 == 0
    table = with_column("time", np.where(rare, 3.0, SPREAD))
    found = ds.check(table.set_column(1, "status", pa.array(rare)), schema())
    assert (found.exit_status, len(found.obstacles)) == (6, 1)
    assert "All events are in one of the 12 intervals" in found.obstacles[0].text


def dated(*, texts=False, **time):
    """Two hundred people with dates, of whom every fourth has the event."""
    days = np.datetime64("2019-01-01") + np.arange(200)
    days = days.astype(str) if texts else days
    table = {"from": np.repeat(days[:1], 200), "to": days, "died": np.arange(200) % 4 == 0}
    axis = {"start": "from", "end": "to", "event": "died", "horizon": 200, "intervals": 20}
    return " ".join(str(ds.check(pa.table(table), {"time": axis | time})).split())


def test_dates_without_a_unit_are_days_and_it_is_said():
    found = dated()
    assert "counted in days and the horizon is 200 days" in found
    assert 'Write unit = "days" in [time]' in found
    assert "days at risk" in found
    assert "has no unit" not in dated(unit="days")
    assert "units of time at risk" in str(ds.check(TABLE, schema()))


def test_ids_are_never_shown():
    table = episodic(people=40)
    ids = ["secret-id"] * table.num_rows
    ids[::7] = [None] * len(ids[::7])
    place = table.column_names.index("id")
    found = ds.check(table.set_column(place, "id", pa.array(ids)), schema(person=True, entry=True))
    assert "secret-id" not in str(found)


def test_parts_add_up_to_the_picture_of_the_whole(tmp_path):
    values = TABLE["age"].to_pylist()
    values[5], values[150] = 1e6, -1e6
    table = with_column("age", values)
    for part in range(4):
        parquet.write_table(table.slice(50 * part, 50), tmp_path / f"{part}.parquet")
    assert ds.check(tmp_path, schema()).picture == ds.check(table, schema()).picture


def test_the_estimators_warning_names_no_value():
    with pytest.warns(ds.warnings.RepairWarning) as caught:
        ds.SurvivalRegression(schema(), link="logit").fit(
            with_column("age", [987654.0, *[50.0] * 100, *[60.0] * 99])
        )
    assert "987654" not in str(caught[0].message)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("unit", "said"), [(4.0, True), (3.0, True), (2.0, False), (0.0, False)])
def test_times_in_longer_units_than_intervals_are_told(unit, said):
    times = np.linspace(0.01, HORIZON - 0.01, 400)
    times = unit * np.floor(times / unit) if unit else times
    table = pa.table({"time": times, "status": [1, 1, 1, 0] * 100, "age": TABLE["age"].to_pylist() * 2,
                      "arm": TABLE["arm"].to_pylist() * 2})  # fmt: skip
    text = " ".join(str(ds.check(table, schema())).split())  # intervals of two
    assert ("recorded in longer units than an interval" in text) is said


def test_few_events_leave_holes_and_that_is_no_unit():
    random = np.random.default_rng(5)
    for _ in range(20):
        times = np.minimum(random.exponential(4.0, 200), HORIZON - 0.01)
        assert "longer units" not in grid_of(times, [1, 1, 0, 1] * 50)


def test_an_earlier_release_proposes_the_grid(tmp_path):
    model = ds.SurvivalRegression(schema(), link="logit")
    earlier = model.publish(TABLE, mechanism=ds.PrivateNewton(4.0), ledger=ds.NO_LEDGER).release_
    earlier.save(tmp_path / "earlier.json")
    said = str(ds.check(TABLE, schema(), like=tmp_path / "earlier.json"))
    assert earlier.release_id in said
    assert "half of the events" in said.replace("\n", " ")
    model.fit(TABLE).save(tmp_path / "plain.json")
    with pytest.raises(ArtefactError, match="no private life table"):
        ds.check(TABLE, schema(), like=tmp_path / "plain.json")


def test_the_proposed_grid_has_half_of_the_events_in_each_half():
    edges = np.linspace(0.0, 1826.0, 61)
    died = np.diff(-np.exp(-edges / 200.0))
    rows = np.column_stack([np.arange(1, 61), np.arange(1, 61), 0 * died, 5000 * died])
    table = LifeTable.of(rows, 5000, edges)
    assert table.half_time == pytest.approx(200 * np.log(2), rel=0.02)
    for intervals in (20, 100, 1000):
        grid = TimeGrid(1826.0, intervals, first=table.proposed_first(intervals))
        assert grid.edges[intervals // 2] == pytest.approx(table.half_time, rel=0.15)
    steady = LifeTable.of(rows * [1, 1, 1, 0] + [0, 0, 0, 50], 5000, edges)
    assert steady.proposed_first(100) is None
