"""The command, as a new user would type it."""

import csv
import io
import json
import os
import re
import subprocess
import sys
import time
from datetime import date
from types import SimpleNamespace
from unittest.mock import ANY

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import csv as arrow_csv
from pyarrow import parquet
from typer.testing import CliRunner

import discreet as ds
from discreet.cli import options, output
from discreet.cli.app import app
from discreet.cli.charge import REFUSED
from discreet.cli.fit import DEFAULT_MECHANISM
from discreet.design.link import DEFAULT_LINK
from discreet.ledger import Ledger
from discreet.watch import watcher
from tests.cohorts import cohort, schema

SCHEMA = """\
[time]
duration = "time"
event = "status"
horizon = 24.0
intervals = 12

[[covariate]]
name = "age"
low = 20.0
high = 90.0

[[covariate]]
name = "arm"
levels = ["a", "b", "c"]
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "schema.toml").write_text(SCHEMA)
    arrow_csv.write_csv(cohort(), tmp_path / "people.csv")
    (tmp_path / "new.csv").write_text("age,arm\n55,a\n,b\n500,unknown\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def discreet(folder, command):
    return lambda arguments: command(*arguments.split())


FIT = "fit people.csv --schema schema.toml --mechanism none --out model.json"


def test_from_a_table_to_predictions(discreet, folder):
    status, out, err = discreet("check people.csv --schema schema.toml")
    assert (status, err) == (0, "")
    assert "400 rows, 400 persons, 143 events" in out
    assert "Every value fits the schema." in out
    status, out, err = discreet(FIT)
    assert (status, err) == (0, "")
    assert "not private" in out
    status, out, _ = discreet("summary model.json")
    assert status == 0
    assert "arm[c]" in out
    assert "Not private" in out
    status, out, _ = discreet("predict model.json new.csv --times 6,12 --out survival.csv")
    assert status == 0
    rows = list(csv.reader((folder / "survival.csv").read_text().splitlines()))
    assert rows[0] == ["row", "survival_6", "survival_12", "repaired"]
    model = ds.SurvivalRegression(schema()).fit("people.csv")
    expected = model.predict_survival("new.csv", [6, 12])
    assert [float(cell) for cell in rows[2][1:-1]] == pytest.approx(expected[1].tolist(), rel=1e-9)
    assert len(rows) == 4


@pytest.mark.parametrize(
    ("options", "heading"),
    [
        ("--quantity hazard --times 6", "hazard_6"),
        ("--quantity cumulative-hazard --times 6", "cumulative_hazard_6"),
        ("--quantity quantile --probabilities 0.1,0.5", "quantile_0.1,quantile_0.5"),
        ("--quantity risk", "risk"),
        ("--quantity rmst", "rmst"),
        ("--quantity rmst --times 6,12", "rmst_6,rmst_12"),
        ("--quantity rmst --times 6 --intervals", "rmst_6,rmst_6_lower,rmst_6_upper"),
        ("--times 6 --intervals", "survival_6,survival_6_lower,survival_6_upper"),
        ("--quantity rmst --intervals", "rmst,rmst_lower,rmst_upper"),
        (
            "--quantity quantile --intervals",
            "quantile_0.5,quantile_0.5_lower,quantile_0.5_upper",
        ),
    ],
)
def test_other_quantities(discreet, folder, options, heading):
    discreet(FIT)
    status, _, err = discreet(f"predict model.json new.csv --out out.csv {options}")
    assert (status, err) == (0, "")
    assert (folder / "out.csv").read_text().splitlines()[0] == f"row,{heading},repaired"


def test_restricted_means_are_those_up_to_the_times(discreet, folder):
    discreet(FIT)
    discreet("predict model.json new.csv --out out.csv --quantity rmst --times 6,12")
    found = pd.read_csv(folder / "out.csv")
    for until in (6, 12):
        expected = ds.load("model.json").predict_rmst("new.csv", until)
        assert found[f"rmst_{until}"].tolist() == pytest.approx(expected.tolist(), rel=1e-9)


def test_times_beyond_the_horizon_are_told_with_its_unit(discreet, folder):
    text = (folder / "schema.toml").read_text()
    (folder / "schema.toml").write_text(text.replace("[time]", '[time]\nunit = "months"'))
    discreet(FIT)
    for quantity in ("survival", "rmst"):
        asked = f"predict model.json new.csv --out out.csv --quantity {quantity} --times 25"
        status, _, err = discreet(asked)
        assert status == 2
        assert "times must lie between 0 and the horizon, 24 months." in err


def test_intervals_are_those_of_python(discreet, folder):
    discreet(FIT)
    status, _, err = discreet("predict model.json new.csv --times 6,12 --intervals --out out.csv")
    assert (status, err) == (0, "")
    _, *rows = csv.reader((folder / "out.csv").read_text().splitlines())
    found = ds.load("model.json").predict_survival("new.csv", [6, 12], interval=True)
    expected = np.stack(found, axis=2).reshape(len(rows), -1)
    assert np.allclose(np.array([row[1:-1] for row in rows], dtype=float), expected, rtol=1e-9)


def test_columns_that_the_model_does_not_use_are_kept(discreet, folder):
    """Ids without a person column in the schema, names and notes; not what the model was told."""
    discreet(FIT)
    (folder / "new.csv").write_text(
        "name,age,time,note,arm,id,survival_6\nAnna,55,3,,a,7,old\nBo,60,4,=1+1,b,8,old\n"
    )
    assert discreet("predict model.json new.csv --times 6 --out out.csv")[0] == 0
    heading, *rows = csv.reader((folder / "out.csv").read_text().splitlines())
    assert heading == ["name", "note", "id", "survival_6", "repaired"]
    assert [row[:3] for row in rows] == [["Anna", "", "7"], ["Bo", "'=1+1", "8"]]
    assert all(0 < float(row[3]) < 1 for row in rows)


def test_a_column_that_no_text_holds_or_that_is_there_twice_stops_no_prediction(discreet, folder):
    discreet(FIT)
    (folder / "new.csv").write_text("note,age,arm,note,id\nx,55,a,y,7\n")
    assert discreet("predict model.json new.csv --times 6 --out twice.csv")[0] == 0
    assert (folder / "twice.csv").read_text().startswith("id,survival_6,repaired\n7,")
    born = pa.array([date(1960, 5, 1), None])
    odd = {"tags": [[1], [2, 3]], "born": born, "age": [55, 60], "arm": ["a", "b"]}
    parquet.write_table(pa.table(odd), folder / "new.parquet")
    assert discreet("predict model.json new.parquet --times 6 --out odd.csv")[0] == 0
    rows = list(csv.reader((folder / "odd.csv").read_text().splitlines()))
    assert [row[0] for row in rows] == ["born", "1960-05-01", ""]


@pytest.mark.parametrize("ending", ["xlsx", "dta", "parquet"])
def test_ids_are_kept_from_any_kind_of_file(discreet, folder, ending):
    (folder / "schema.toml").write_text('person = "id"\n' + (folder / "schema.toml").read_text())
    for name in ("people", "new"):
        table = pd.read_csv(folder / f"{name}.csv")
        table.insert(0, "id", [f"P{number:03}" for number in range(len(table))])
        table.to_csv(folder / f"{name}.csv", index=False)
    write = {"xlsx": table.to_excel, "parquet": table.to_parquet, "dta": table.to_stata}[ending]
    write(folder / f"new.{ending}", **{"write_index" if ending == "dta" else "index": False})
    discreet(FIT)
    status, _, err = discreet(f"predict model.json new.{ending} --times 6 --out out.csv")
    assert (status, err) == (0, "")
    rows = list(csv.reader((folder / "out.csv").read_text().splitlines()))
    assert [row[0] for row in rows] == ["id", *(f"P{number:03}" for number in range(len(table)))]


def test_new_knows_the_texts_of_a_file_that_declares_them(discreet, folder):
    table = pd.read_csv(folder / "people.csv")
    table.to_parquet(folder / "people.parquet")
    table.astype({"arm": "category"}).to_feather(folder / "people.feather")
    for name in ("people.parquet", "people.feather"):
        _, out, _ = discreet(f"new {name}")
        assert 'name = "arm"\nlevels = ["", ""]' in out
        assert 'name = "age"\nlow = ""\nhigh = ""' in out


def test_check_and_fit_report_counts(discreet, folder):
    text = (folder / "people.csv").read_text().splitlines()
    text[1:4] = ['5.0,true,,"a"', '-2.0,false,30,"a"', '5.0,true,300,"z"']
    (folder / "people.csv").write_text("\n".join(text) + "\n")
    _, out, _ = discreet("check people.csv --schema schema.toml")
    words = [" ".join(line.split()) for line in out.splitlines()]
    assert "age missing 1 the midpoint of the bounds" in words
    assert "age above high 1 high 300" in words
    assert "arm unknown level 1 the reference level z" in words
    assert "time negative 1 0 -2" in words
    status, _, err = discreet(FIT)
    assert status == 0
    assert err.startswith("warning: 4 values do not fit the schema")
    assert err.count("\n") == 1


def test_check_says_what_to_look_at(discreet, folder):
    """A spreadsheet's export: words for events, commas in decimals, a level spelt otherwise."""
    public = SCHEMA + '[[covariate]]\nname = "sex"\nlevels = ["f", "m"]\n'
    (folder / "schema.toml").write_text(public)
    rows = [f'{index % 20},{"yes" if index % 3 else "no"},"54,5",A,' for index in range(90)]
    rows += ["3,1,54,a,f"] * 10
    (folder / "people.csv").write_text("\n".join(["time,status,age,arm,sex", *rows]) + "\n")
    status, out, _ = discreet("check people.csv --schema schema.toml")
    text = " ".join(out.split())
    assert status == 6
    assert "Look at 'status': write events as 1 and 0" in text
    assert "Look at 'age': decimals have a point" in text
    assert "Look at 'arm': compare the schema's levels" in text
    assert "Look at 'sex': to keep people without a value apart" in text
    assert "'time'" not in text
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize(
    ("grid", "says"),
    [
        ("horizon = 1000\nintervals = 100", ["a single one of the 100 intervals", "last third"]),
        ("horizon = 60\nintervals = 60", ["first tenth", "No person leaves in the last third"]),
        ('horizon = 10\nintervals = 20\nunit = "days"', ["shorter than one of the days"]),
        ("horizon = 10\nintervals = 20", []),
    ],
)
def test_check_says_when_the_grid_fits_badly(discreet, folder, grid, says):
    rows = [f"{0.1 + k / 10},{k % 2}" for k in range(100)]
    (folder / "times.csv").write_text("\n".join(["t,e", *rows]))
    (folder / "grid.toml").write_text(f'[time]\nduration = "t"\nevent = "e"\n{grid}\n')
    status, out, _ = discreet("check times.csv --schema grid.toml")
    assert status == 0
    assert out.count("Choosing the time") == bool(says)
    assert all(part in " ".join(out.split()) for part in says)


def test_a_record_is_not_taken_for_names(discreet, folder):
    (folder / "bare.csv").write_text("71,1,345,\n66,0,900,\n")
    status, out, err = discreet("new bare.csv")
    assert (status, out) == (2, "")
    assert "may be a record" in err
    assert "345" not in err
    (folder / "dated.csv").write_text("P1,2019-03-31,01.04.2019,1,x\n")
    assert discreet("new dated.csv")[0] == 2
    (folder / "years.csv").write_text("id,age,2010\n1,66,3\n")
    assert discreet("new years.csv")[0] == 0


def test_a_new_schema_comes_from_names_alone_and_check_says_what_is_empty(discreet, folder):
    people = (folder / "people.csv").read_text()
    _, written, _ = discreet("new people.csv")
    header = people.splitlines()[0]
    (folder / "people.csv").write_text(header + "\n" + "secret,secret,secret,secret\n" * 3)
    assert discreet("new people.csv") == (0, written, "")
    for line in ('duration = "time"', 'event = "status"', 'name = "age"', 'name = "arm"'):
        assert written.count(line) == 1
    (folder / "people.csv").write_text(people)
    (folder / "new.toml").write_text(written)
    status, _, err = discreet("check people.csv --schema new.toml")
    assert status == 2
    assert "fill in unit, horizon in [time]; low and high of 'age', 'arm' (or give levels" in err
    for empty, filled in {
        'unit = ""': 'unit = "months"',
        'horizon = ""': "horizon = 24",
        'low = ""': "low = 20",
        'high = ""': "high = 90",
    }.items():
        written = written.replace(empty, filled, 1)
    (folder / "new.toml").write_text(written[: written.rindex("[[covariate]]")])
    assert discreet("check people.csv --schema new.toml")[0] == 0


def test_a_new_schema_of_a_file_with_typed_dates(discreet, folder):
    days = pd.to_datetime(["2019-01-01", "2019-05-01"])
    pd.DataFrame({"diagnosed": days, "last": days, "sex": ["F", "M"]}).to_parquet("typed.parquet")
    written = discreet("new typed.parquet")[1]
    assert 'start = "diagnosed"' in written
    assert 'end = "last"' in written
    assert "2019-05-01" not in written


def test_check_takes_what_fit_takes(discreet, folder):
    parquet.write_table(cohort(), folder / "part-1.parquet")
    parquet.write_table(cohort(), folder / "part-2.parquet")
    for place in ("part-*.parquet", "."):
        status, out, err = discreet(f"check {place} --schema schema.toml")
        assert (status, err) == (0, "")
        assert "800 rows, 800 persons, " in out


def test_predictions_of_changed_people_say_so(discreet, folder):
    discreet(FIT)
    _, out, _ = discreet("predict model.json new.csv --times 6 --out survival.csv")
    words = " ".join(out.split())
    assert "3 predictions are in 'survival.csv'. 3 values do not fit the schema" in words
    assert "age: 1 above high (now high)" in words
    (folder / "new.csv").write_text("age,arm\n55,a\n")
    _, out, _ = discreet("predict model.json new.csv --times 6 --out survival.csv --overwrite")
    assert out == "1 prediction is in 'survival.csv'.\n"


def test_each_row_says_what_was_repaired_in_it_and_strict_predicts_no_such_row(discreet, folder):
    discreet(FIT)
    status, _, err = discreet("predict model.json new.csv --times 6 --out s.csv --strict")
    assert status == 2
    assert "age: 1 missing; age: 1 above high; arm: 1 unknown level" in err
    assert not (folder / "s.csv").exists()
    assert discreet("predict model.json new.csv --times 6 --out s.csv")[0] == 0
    rows = list(csv.DictReader((folder / "s.csv").read_text().splitlines()))
    assert [row["repaired"] for row in rows] == [
        "",
        "age: missing, now the midpoint of the bounds",
        "age: above high, now high; arm: unknown level, now the reference level",
    ]
    frame = ds.load("model.json").predict_survival("new.csv", [6.0], frame=True)
    assert frame["repaired"].tolist() == [row["repaired"] for row in rows]
    (folder / "new.csv").write_text("age,arm\n55,a\n")
    assert discreet("predict model.json new.csv --times 6 --out t.csv --strict")[0] == 0


def test_nobody_is_a_form_of_the_data(discreet, folder):
    (folder / "people.csv").write_text("time,status,age,arm\n")
    for kind in ("--mechanism none", "--epsilon 1 --no-ledger"):
        status, _, err = discreet(f"fit people.csv --schema schema.toml {kind} --out m.json")
        assert (status, err) == (2, "discreet: the data have no rows: there is no person to fit.\n")


WRONG = {
    "neither none nor epsilon": (FIT.replace("--mechanism none", ""), "--mechanism none"),
    "both": (f"{FIT} --epsilon 1", "takes no --epsilon"),
    "a privacy setting without privacy": (f"{FIT} --delta 0.1", "no privacy settings"),
    "an unknown mechanism": (FIT.replace("none", "magic"), "no mechanism of that name"),
    "no epsilon": (FIT.replace("none", "objective"), "epsilon"),
    "infinite epsilon": (FIT.replace("none", "objective --epsilon inf"), "epsilon"),
    "an unknown setting": (
        FIT.replace("none", "objective --epsilon 1 --setting colour=red"),
        "no setting 'colour'",
    ),
    "a setting without a value": (
        FIT.replace("none", "objective --epsilon 1 --setting ridge"),
        "NAME=VALUE",
    ),
    "cloglog with a private mechanism": (
        FIT.replace("none", "objective --epsilon 1 --no-ledger --link cloglog"),
        "cloglog",
    ),
    "the printed variant": (
        FIT.replace(
            "none", "objective --epsilon 1 --no-ledger --ridge 0.1 --setting variant=printed"
        ),
        "no setting 'variant'",
    ),
    "a name that is nothing to accept": (
        FIT.replace("none", "newton --epsilon 1 --no-ledger --accept everything"),
        "the names are no-risk",
    ),
    "no ledger and not said": (FIT.replace("none", "newton --epsilon 1"), "--no-ledger"),
    "a ledger and none": (
        FIT.replace("none", "newton --epsilon 1 --ledger b.db --no-ledger"),
        "one of the two",
    ),
    "no ledger for a fit that is not private": (f"{FIT} --no-ledger", "no privacy settings"),
    "a link": (f"{FIT} --link log", "unknown link"),
    "a baseline": (f"{FIT} --baseline spline", "unknown baseline"),
    "a missing file": (FIT.replace("people.csv", "nobody.csv"), "nobody.csv"),
    "a missing schema": (FIT.replace("schema.toml", "none.toml"), "none.toml"),
    "a format": (FIT.replace("people.csv", "schema.toml"), "none of .csv, "),
    "a folder that is not there": (FIT.replace("model.json", "no/model.json"), "'no'"),
    "times": ("predict model.json new.csv --out o.csv --times 1,x", "takes numbers"),
    "no times": ("predict model.json new.csv --out o.csv", "--times 30,180,365"),
    "intervals of hazards": (
        "predict model.json new.csv --out o.csv --times 6 --quantity hazard --intervals",
        "--intervals go with survival",
    ),
    "times of a risk": (
        "predict model.json new.csv --out o.csv --times 6 --quantity risk",
        "--times do not go with a risk",
    ),
    "late times": ("predict model.json new.csv --out o.csv --times 99", "horizon, 24"),
    "a page of another kind": ("page model.json --out page.pdf", "name it 'page.html'"),
    "no model": ("summary schema.toml", "not JSON"),
    "confidence": ("summary model.json --confidence 2", "confidence"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said_in_one_sentence(discreet, folder, name):
    command, words = WRONG[name]
    if not command.startswith("fit"):
        discreet(FIT)
    before = sorted(path.name for path in folder.iterdir())
    status, out, err = discreet(command)
    assert status == 2
    assert out == ""
    assert err.startswith("discreet: ")
    assert err.count("\n") == 1
    assert words in err
    assert sorted(path.name for path in folder.iterdir()) == before


def test_an_existing_file_is_refused_before_anything_is_computed(discreet, folder):
    (folder / "model.json").write_text("precious")
    status, _, err = discreet(FIT.replace("people.csv", "nobody.csv"))
    assert status == 2
    assert "model.json" in err
    assert (folder / "model.json").read_text() == "precious"
    assert discreet(f"{FIT} --overwrite")[0] == 0
    assert json.loads((folder / "model.json").read_text())["private"] is False


def test_a_private_fit_is_a_release(discreet, folder):
    status, out, err = discreet(
        FIT.replace("none", "objective --link logit --epsilon 1 --no-ledger")
    )
    assert (status, err) == (0, "")
    assert out.count("\n") <= 3
    assert "epsilon 1, delta 0, 400 persons, charged to no ledger." in " ".join(out.split())
    mapping = json.loads((folder / "model.json").read_text())
    assert mapping["private"] is True
    assert mapping["guarantee"]["epsilon"] == 1.0
    assert mapping["ledger"] == "no ledger"
    assert discreet("summary model.json")[0] == 0
    assert discreet("predict model.json new.csv --times 6 --out survival.csv")[0] == 0


def test_epsilon_alone_takes_the_default_mechanism(discreet, folder):
    asked = "fit people.csv --schema schema.toml --epsilon 2 --no-ledger --persons 400"
    assert discreet(f"{asked} --out r.json")[0] == 0
    mapping = json.loads((folder / "r.json").read_text())
    assert mapping["mechanism"]["name"] == DEFAULT_MECHANISM
    assert mapping["persons"] == 400


PRIVATE = (
    "fit people.csv --schema schema.toml --link logit --mechanism output --epsilon 1 --out r.json"
)


@pytest.fixture
def budget(discreet, folder):
    """A ledger of which 0.5 is spent and 0.75 is left."""
    path = folder / "registry.ledger"
    assert discreet(f"budget init {path} --population p --epsilon 1.25 --delta 0")[0] == 0
    paid = f"{PRIVATE} --ledger {path}".replace("epsilon 1", "epsilon 0.5")
    assert discreet(f"{paid} --overwrite") == (0, ANY, "")
    (folder / "r.json").unlink()
    return path


@pytest.mark.parametrize("persons", ["", "--persons 400"])
def test_a_release_beyond_the_budget_never_looks_for_the_data(discreet, folder, budget, persons):
    (folder / "people.csv").unlink()
    status, out, err = discreet(f"{PRIVATE} --ledger {budget} {persons}")
    assert (status, out) == (3, "")
    assert "Asked: epsilon 1," in err
    assert "Left for one more release: epsilon 0.75 without delta" in err
    assert not (folder / "r.json").exists()


FORMS = {
    "no file": ("people.csv", None, "'people.csv' cannot be read"),
    "no column": ("people.csv", "time,status,age\n1,1,50\n", "no column 'arm'"),
    "a folder without files": ("parts/*.parquet", None, "no file matches"),
    "an unknown kind": ("people.xls", "time", "none of .csv, "),
    "not Parquet": ("people.parquet", "time", "cannot be read"),
}


@pytest.mark.parametrize("name", FORMS)
def test_data_of_another_form_cost_nothing(discreet, folder, budget, name):
    path, content, words = FORMS[name]
    (folder / "people.csv").unlink()
    if content is not None:
        (folder / path).write_text(content)
    command = PRIVATE.replace("people.csv", path).replace("epsilon 1", "epsilon 0.75")
    status, _, err = discreet(f"{command} --persons 400 --ledger {budget}")
    assert status == 2
    assert words in err
    left = "Left for one more release: epsilon 0.75 without delta"
    assert left in discreet(f"budget show {budget}")[1]


@pytest.mark.parametrize(
    ("given", "delta"),
    [
        ("", "by the number of persons (1e-06 unless they are many)"),
        ("--persons 400", "1e-06"),
        ("--delta 2e-6", "2e-06"),
    ],
)
def test_a_refusal_says_what_is_known_of_delta(discreet, folder, given, delta):
    path = folder / "other.ledger"
    discreet(f"budget init {path} --population p --epsilon 1 --delta 1e-6")
    command = PRIVATE.replace("output --epsilon 1", "newton --epsilon 2")
    _, _, err = discreet(f"{command} --ledger {path} {given}")
    assert f"Asked: epsilon 2, delta {delta}. Left for one more release: epsilon 1, with G" in err


@pytest.fixture
def terminal(monkeypatch):
    """A terminal at which questions are answered as proposed, or by ``answer``."""
    found = SimpleNamespace(asked=[], answer=None)

    def confirm(text, default):
        found.asked.append(text)
        return default if found.answer is None else found.answer

    monkeypatch.setattr("discreet.cli.charge.at_terminal", lambda: True)
    monkeypatch.setattr("typer.confirm", confirm)
    return found


QUARTER = PRIVATE.replace("epsilon 1", "epsilon 0.25")
CURVES = "curves people.csv --schema schema.toml --by arm --epsilon 0.25 --delta 0 --out c.json"


@pytest.mark.parametrize("answer", [False, True])
def test_at_a_terminal_a_person_decides(discreet, folder, budget, terminal, answer):
    terminal.answer = answer
    status, out, _ = discreet(f"{QUARTER} --ledger {budget}")
    assert status == (not answer)
    assert "400 persons" in out
    assert terminal.asked == [f"Charge epsilon 0.25 (mechanism output) to '{budget}' and publish?"]
    assert len(Ledger(budget).show().charges) == 1 + answer
    assert discreet(f"{QUARTER} --ledger {budget} --yes --overwrite") == (0, ANY, "")
    assert len(terminal.asked) == 1


@pytest.fixture
def hopeless(folder):
    """The same people, all censored."""
    text = (folder / "people.csv").read_text().replace("true", "false")
    (folder / "people.csv").write_text(text)
    return "fewer than 10 fit no model"


@pytest.mark.parametrize("wanted", [QUARTER, CURVES])
@pytest.mark.parametrize("given", ["--persons 400", "--federation sites.toml --party 0"])
def test_with_persons_or_sites_the_question_comes_before_the_file_is_read(
    discreet, folder, budget, terminal, monkeypatch, wanted, given
):
    """The file is hopeless, and the question does not show it."""
    if "sites" in given:
        monkeypatch.setattr("discreet.joint.Federation.read", lambda *_: None)
    monkeypatch.setattr("discreet.checkup.check", pytest.fail)
    terminal.answer = False
    status, out, _ = discreet(f"{wanted} --ledger {budget} {given}")
    assert (status, out) == (1, "Nothing was charged and nothing was released.\n")
    (question,) = terminal.asked
    assert question.startswith("Charge epsilon 0.25 (")
    assert len(Ledger(budget).show().charges) == 1


def test_a_hopeless_file_is_told_in_the_question_for_which_no_is_proposed(
    discreet, budget, hopeless, terminal
):
    status, out, _ = discreet(f"{QUARTER} --ledger {budget}")
    assert status == 1
    assert hopeless in out
    (question,) = terminal.asked
    assert question.startswith("This file would give no useful model, or a wrong one. Charge ")
    assert question.endswith("and publish all the same?")
    assert len(Ledger(budget).show().charges) == 1


@pytest.mark.parametrize("terminal", [True, False])
def test_a_hopeless_file_is_charged_with_yes_and_told_to_a_terminal_alone(
    discreet, budget, hopeless, monkeypatch, terminal
):
    """With --yes the records decide nothing, and a log says nothing of them."""
    monkeypatch.setattr("discreet.cli.charge.at_terminal", lambda: terminal)
    status, out, err = discreet(f"{QUARTER} --ledger {budget} --yes")
    assert status == 0
    assert ("--yes charges a file" in err) is terminal
    assert (hopeless in err) is terminal
    assert hopeless not in out
    assert len(Ledger(budget).show().charges) == 2


@pytest.mark.parametrize("pays", ["--ledger {budget}", "--no-ledger"])
@pytest.mark.parametrize("wanted", [QUARTER, CURVES])
def test_a_hopeless_file_is_refused_before_the_charge_unless_that_is_accepted(
    discreet, folder, budget, hopeless, wanted, pays
):
    """The text is the same whatever was found, and with a number of persons nothing is compared."""
    wanted = f"{wanted} {pays}".format(budget=budget)
    status, out, err = discreet(wanted)
    assert (status, out) == (6, "")
    assert err == f"discreet: {REFUSED}\n"
    assert not (folder / "c.json").exists()
    assert len(Ledger(budget).show().charges) == 1
    assert discreet(f"{wanted} --accept one-value")[0] == 6
    assert discreet(f"{wanted} --accept few-events")[0] == 0
    assert discreet(f"{wanted} --persons 400 --overwrite")[0] == 0


def test_words_are_set_after_the_fit(discreet, folder):
    (folder / "words.toml").write_text('[page]\ntitle = "After the fit"\n')
    _, out, _ = discreet("check people.csv --schema schema.toml")
    assert "[page] has no title, event, contact, nor labels for 2 of the covariates" in out
    assert discreet(FIT.replace("none", "newton --epsilon 1 --no-ledger"))[0] == 0
    before = (folder / "model.json").read_bytes()
    for command in ("page model.json --out p.html", "report model.json --out p.md"):
        assert discreet(f"{command} --words words.toml")[0] == 0
    assert (folder / "model.json").read_bytes() == before
    assert "After the fit" in (folder / "p.html").read_text()
    assert "After the fit" in (folder / "p.md").read_text()


@pytest.mark.parametrize("yes", ["", "--yes"])
@pytest.mark.parametrize("wanted", [PRIVATE, CURVES.replace("epsilon 0.25", "epsilon 1")])
def test_no_question_is_asked_for_what_the_budget_does_not_cover(
    discreet, folder, budget, terminal, wanted, yes
):
    """Nor is the file looked for: it is not there."""
    (folder / "people.csv").unlink()
    status, out, err = discreet(f"{wanted} --ledger {budget} {yes}")
    assert (status, out) == (3, "")
    assert "the budget does not cover this release" in err
    assert not terminal.asked


def test_curves_ask_before_they_charge_as_a_fit_does(discreet, folder, budget, terminal):
    terminal.answer = False
    assert discreet(f"{CURVES} --ledger {budget}")[0] == 1
    assert terminal.asked == [f"Charge epsilon 0.25 (curves by arm) to '{budget}' and publish?"]
    assert len(Ledger(budget).show().charges) == 1
    status, out, _ = discreet(f"{CURVES} --ledger {budget} --yes")
    assert status == 0
    assert "epsilon 0.25, delta 0, 400 persons, charged to the ledger" in " ".join(out.split())
    assert len(Ledger(budget).show().charges) == 2


def test_a_wrong_number_of_persons_says_that_the_charge_stands(discreet, budget):
    status, _, err = discreet(f"{QUARTER} --ledger {budget} --persons 7")
    assert status == 2
    assert "another number of persons" in err
    assert "The charge stands" in err


def test_without_a_ledger_no_charge_stands(discreet, folder):
    status, _, err = discreet(f"{PRIVATE} --no-ledger --persons 7")
    assert status == 2
    assert "another number of persons than was declared" in err
    assert "charge" not in err


@pytest.mark.parametrize("persons", ["", "--persons 400"])
def test_a_delta_that_protects_nobody_is_refused_before_the_charge(discreet, folder, persons):
    assert discreet("budget init b.db --population p --epsilon 2 --delta 0.1")[0] == 0
    wanted = FIT.replace("none", "newton --epsilon 1 --delta 0.01 --ledger b.db")
    status, _, err = discreet(f"{wanted} --yes {persons}")
    assert status == 2
    assert "Delta is above one divided by the number of persons" in err
    assert not Ledger(folder / "b.db").show().charges


@pytest.mark.parametrize("persons", ["", "--persons 400"])
def test_a_delta_that_protects_nobody_is_refused_before_the_question(discreet, terminal, persons):
    assert discreet("budget init b.db --population p --epsilon 2 --delta 0.1")[0] == 0
    wanted = FIT.replace("none", "newton --epsilon 1 --delta 0.01 --ledger b.db")
    status, out, err = discreet(f"{wanted} {persons}")
    assert (status, out, terminal.asked) == (2, "", [])
    assert "Delta is above one divided by the number of persons" in err


def test_a_weak_promise_is_told_in_terminal_and_release(discreet, folder):
    command = FIT.replace("none", "newton --epsilon 11 --delta 0.002 --no-ledger")
    _, _, err = discreet(command)
    assert "Epsilon is above 8" in err
    assert len(json.loads((folder / "model.json").read_text())["warnings"]) == 1
    assert discreet("audit model.json")[0] == 0
    discreet("page model.json --out page.html")
    assert "Epsilon is above 8" in (folder / "page.html").read_text()


def test_show_says_how_many_more_releases_fit(discreet, folder, budget):
    shown = discreet(f"budget show {budget}")[1]
    assert "1 more release like the last one (epsilon 0.5, delta 0) fits." in shown
    assert "40.0%" in shown
    assert "Left for one more release: epsilon 0.75 without delta" in shown


def test_a_budget_without_further_words_is_one_for_the_default_mechanism(discreet, folder):
    path = folder / "plain.ledger"
    assert "delta 1e-6" in discreet(f"budget init {path} --population p --epsilon 4")[1]
    command = f"fit people.csv --schema schema.toml --epsilon 1 --ledger {path} --out r.json"
    assert discreet(command)[0] == 0


def test_a_release_with_delta_does_not_fit_a_budget_without(discreet, budget):
    command = PRIVATE.replace("output --epsilon 1", "newton --epsilon 0.5")
    status, _, err = discreet(f"{command} --ledger {budget}")
    assert status == 3
    assert "The budget has no delta" in err
    assert discreet(f"{command} --delta 0 --ledger {budget}")[0] == 0


def test_exactly_what_is_left_is_admitted(discreet, budget):
    command = f"{PRIVATE} --ledger {budget}".replace("epsilon 1", "epsilon 0.75")
    assert discreet(command)[0] == 0
    shown = discreet(f"budget show {budget}")[1]
    assert "Left for one more release: nothing" in shown
    assert "output, logit" in shown
    assert discreet(f"budget verify {budget} --release r.json")[0] == 0


def test_ids_are_kept_and_formulas_defused(discreet, folder):
    text = SCHEMA.replace("[time]", 'person = "id"\n[time]', 1)
    (folder / "schema.toml").write_text(text)
    table = cohort().append_column("id", [[str(number) for number in range(400)]])
    arrow_csv.write_csv(table, folder / "people.csv")
    (folder / "new.csv").write_text('id,age,arm\n=HYPERLINK(1),55,a\n"-2+3",40,b\n-7,40,c\n,40,c\n')
    discreet(FIT)
    assert discreet("predict model.json new.csv --times 6 --out survival.csv")[0] == 0
    rows = list(csv.reader((folder / "survival.csv").read_text().splitlines()))
    assert [row[0] for row in rows] == ["id", "'=HYPERLINK(1)", "'-2+3", "-7", ""]


@pytest.mark.parametrize("text", ['a,b"c', "a;=1+1", "a\t=1+1", "a\r\n=1+1", "\n", '"', "plain"])
@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_no_cell_ends_within_a_text_whatever_separates_cells(text, mark):
    written = output.csv_bytes([[text, 1.5], [2, ""]]).decode()
    rows = list(csv.reader(io.StringIO(written, newline=""), delimiter=mark))
    assert rows[0][0].startswith(text)
    assert len(rows) == 2
    if mark == ",":
        assert rows == [[text, "1.5"], ["2", ""]]


def test_separation_is_told_in_one_line(discreet, folder):
    text = (folder / "people.csv").read_text().replace("true", "false")
    (folder / "people.csv").write_text(text)
    status, _, err = discreet(FIT)
    assert status == 0
    assert err.startswith("warning: The data alone determine no finite, unique estimate")
    assert err.count("\n") == 1


def test_version_and_help():
    runner = CliRunner()
    assert runner.invoke(app, ["--version"]).output == f"discreet {ds.__version__}\n"
    for command in ([], ["check"], ["fit"], ["summary"], ["predict"]):
        found = runner.invoke(app, [*command, "--help"])
        assert found.exit_code == 0
        assert "Usage" in found.output


def test_help_loads_nothing_heavy():
    code = (
        "import sys\nfrom discreet.cli.app import app\n"
        "print(*(name for name in sys.modules if '.' not in name))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"numpy", "scipy", "pandas", "pyarrow", "sklearn", "matplotlib", "opendp", "numba"}
    assert not heavy & set(done.stdout.split())


RARE = {"matplotlib", "pandas", "sklearn", "scipy.optimize", "scipy.stats"}
FOR_RELEASES = {"discreet.core", "discreet.ledger", "flint", "numba", "opendp"}


@pytest.mark.parametrize(
    ("arguments", "spared"),
    [
        (FIT, RARE | FOR_RELEASES),
        ("summary model.json", RARE | FOR_RELEASES),
        ("predict model.json new.csv --times 6 --out survival.csv", RARE | FOR_RELEASES),
        (
            "fit people.csv --schema schema.toml --epsilon 1 --no-ledger --yes --out release.json",
            RARE,
        ),
    ],
)
def test_commands_load_what_they_use(discreet, folder, arguments, spared):
    if arguments != FIT:
        discreet(FIT)
    code = (
        "import sys\nfrom discreet.cli import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    words = [sys.executable, "-c", code, *arguments.split()]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert not spared & set(done.stderr.splitlines()[-1].split())


def test_a_terminal_sees_how_much_of_long_work_is_done(monkeypatch, capsys):
    with output.progress("Working"):
        pass
    assert capsys.readouterr().err == ""
    shown = []
    monkeypatch.setattr(output, "PATIENCE", 0.0)
    monkeypatch.setattr(output, "REFRESH", 0.01)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("rich.progress.Progress.update", lambda *_, **facts: shown.append(facts))
    with output.progress("Working"):
        watcher().begin(10)
        watcher().advance(4)
        for _ in range(6000):
            if shown and shown[-1]["completed"]:
                break
            output.threading.Event().wait(0.01)
    assert shown[-1] == {"total": 10, "completed": 4}


def test_without_a_terminal_long_work_writes_lines(monkeypatch):
    heard = []
    monkeypatch.setattr(output, "FIRST_LINE", 0.01)
    monkeypatch.setattr(output, "complain", lambda text: heard.append((time.monotonic(), text)))
    with output.progress("Fitting"):
        watcher().begin(10)
        watcher().advance(4)
        for _ in range(6000):
            if len(heard) > 2 and "40%" in heard[-1][1]:
                break
            output.threading.Event().wait(0.01)
    times, lines = zip(*heard, strict=True)
    assert times[1] - times[0] > 0.018
    assert times[2] - times[1] > 0.036  # each after twice the time
    assert re.fullmatch(r"Fitting: \d+ s, 40% done \.\.\.", lines[-1])


def test_what_an_encoding_lacks_stops_no_command(discreet, folder):
    """The code pages of Windows have no rule for the head of a table."""
    assert discreet(FIT)[0] == 0
    done = subprocess.run(
        [sys.executable, "-m", "discreet", "summary", folder / "model.json"],
        env={**os.environ, "PYTHONIOENCODING": "cp1252:strict"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert b"????????" in done.stdout


def test_the_commands_default_is_that_of_the_library():
    assert options.DEFAULT_LINK == DEFAULT_LINK == ds.SurvivalRegression().link


SLIPS = {
    "a seed": ("fit people.csv --schema schema.toml --out m.json --seed 3", "ds.simulate"),
    "a decimal comma": (
        "fit people.csv --schema schema.toml --out m.json --no-ledger --epsilon 1,5",
        "write 1.5",
    ),
    "thousands": (f"{FIT} --persons 6,000", "write 6000"),
    "an option of R": (f"{FIT} --formula y~x", "are in the schema"),
    "a number of persons": (f"{FIT} --n 400", "is --persons"),
    "a group": (f"{FIT} --group arm", "as --by"),
    "a model that is no JSON": (FIT.replace("model.json", "model.csv"), "name it 'model.json'"),
    "curves that are no JSON": (
        "curves people.csv --schema schema.toml --by arm --epsilon 1 --no-ledger --out c.csv",
        "name it 'c.json'",
    ),
    "a title": ("page r.json --out p.html --title x", "--words words.toml"),
    "the file of a spreadsheet": ("new semicolons.csv", "separated by semicolons"),
    "a misspelt table": ("check people.csv --schema tim.toml", "did you mean 'time'?"),
    "a column of no near name": ("check people.csv --schema far.toml", "It may be one of 'status'"),
    "a misspelt group": (
        "curves people.csv --schema schema.toml --by arn --epsilon 1 --no-ledger --out c.json",
        "Did you mean 'arm'?",
    ),
    "a title above its table": ("check people.csv --schema title.toml", "belongs in [page]"),
    "keys below the causes": ("check people.csv --schema causes.toml", "move it above that line"),
    "a misspelt column": ("check people.csv --schema column.toml", "Did you mean 'status'?"),
}


@pytest.mark.parametrize("name", SLIPS)
def test_slips_of_the_first_hour_say_what_to_write(discreet, folder, name):
    (folder / "semicolons.csv").write_text("time;status;age\n1;1;50\n")
    (folder / "tim.toml").write_text(SCHEMA.replace("[time]", "[tim]"))
    (folder / "column.toml").write_text(SCHEMA.replace('"status"', '"statuss"'))
    (folder / "far.toml").write_text(SCHEMA.replace('"status"', '"dead"'))
    (folder / "title.toml").write_text('title = "Survival"\n' + SCHEMA)
    causes = 'event = "status"\n[time.causes]\none = [1]\nunit = "days"\n'
    (folder / "causes.toml").write_text(SCHEMA.replace('event = "status"\n', causes))
    asked, words = SLIPS[name]
    status, _, err = discreet(asked)
    assert status == 2
    assert words in " ".join(err.replace("│", " ").split())
    assert not (folder / "m.json").exists()


def test_an_index_without_a_name_is_no_covariate(discreet, folder):
    (folder / "index.csv").write_text(",time,status,age\n0,1,1,50\n")
    status, out, _ = discreet("new index.csv")
    assert status == 0
    assert 'name = ""' not in out
    assert 'name = "age"' in out


def test_dates_in_another_order_are_compared_with_the_declared_format():
    axis = {"start": "from", "end": "to", "event": "died", "horizon": 200, "intervals": 20}
    table = pa.table({"from": ["12/31/2019"] * 9, "to": ["12/31/2020"] * 9, "died": [1] * 9})
    said = str(ds.check(table, {"time": axis | {"date_format": "%d.%m.%Y"}}))
    assert "[time] says that dates are written as %d.%m.%Y" in " ".join(said.split())
    assert "dates are read as 2019-03-31" not in said
