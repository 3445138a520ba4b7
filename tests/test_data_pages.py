"""The pages that bring data run word for word, and their recipes give the rows they promise."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np
import pytest
from pyarrow import parquet

import discreet as ds
from discreet.people.databases import Query
from discreet.people.tables import open_table
from tests.ledger.conftest import server  # noqa: F401 - the fixture
from tests.people.test_databases import write
from tests.test_docs import Page, assert_as_shown

ROOT = Path(__file__).parents[1]

# ibis leaves the file of its own database to the interpreter's end
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


def run(name, folder):
    with pytest.MonkeyPatch.context() as patch:
        session = Page(name).run(folder, patch)
    for command, shown, done in session:
        assert_as_shown(command, shown, done)
    return session


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    return folder, run("data.md", folder)


def test_every_container_gives_the_same_model(ran):
    folder, session = ran
    assert len(session) == 21
    releases = {folder / "release.json", folder / "study.json"}
    models = [json.loads(path.read_text()) for path in {*folder.glob("*.json")} - releases]
    assert len(models) == 8
    for model in models:
        found, first = model["internal"], models[0]["internal"]
        assert np.allclose(found["covariates"], first["covariates"], rtol=1e-8)
        assert np.allclose(found["baseline"], first["baseline"], rtol=1e-8)
    (printed,) = [done.printed for command, _, done in session if "containers.py" in command]
    printed = printed.splitlines()
    assert len({line.split()[-1] for line in printed}) == 1


def test_the_examples_for_postgresql_give_that_model_too(
    ran,
    server,  # noqa: F811
    monkeypatch,
):
    folder, _ = ran
    monkeypatch.chdir(folder)
    url, page = server.url("postgres"), (ROOT / "docs" / "data.md").read_text()
    write("postgresql", url, parquet.read_table("people.parquet"))
    address = re.compile(r"postgresql://registry@db[^\s\"]*")
    fences = re.findall(r"```(sh|python)\n(.*?)```", page, re.DOTALL)
    shell, program = (text for _, text in fences if address.search(text))
    (folder / "people.sql").write_text("SELECT * FROM people")
    shell = shell.replace("\\\n", " ").replace("cohort.sql", "people.sql")
    words = shlex.split(shell.replace("budget.db", "other.db"))
    words = [url if address.match(word) else word for word in words]
    words[words.index("release.json")] = "other.json"
    for command in (
        [*["discreet", "budget", "init", "other.db", "--population", "p", "--epsilon", "4"]],
        words,
    ):
        done = subprocess.run(
            [sys.executable, "-m", *command], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    assert json.loads((folder / "other.json").read_text())["persons"] == 500
    (folder / "cursor.py").write_text(
        f"import discreet as ds\n{address.sub(lambda _: url, program)}\nmodel.save('cursor.json')\n"
    )
    subprocess.run([sys.executable, "cursor.py"], check=True)
    found, first = (
        json.loads((folder / name).read_text())["internal"] for name in ("cursor.json", "csv.json")
    )
    assert np.allclose(found["covariates"], first["covariates"], rtol=1e-8)
    for name in ("cursor.json", "other.json"):
        (folder / name).unlink()


def test_the_omop_recipe_gives_death_or_end_of_observation(ran):
    tmp_path, _ = ran
    release = json.loads((tmp_path / "release.json").read_text())
    assert (release["private"], release["persons"]) == (True, 2700)
    sql = (tmp_path / "cohort.sql").read_text()
    table = Query(f"duckdb:///{tmp_path}/cdm.duckdb", sql).read()
    found = {row["person_id"]: row for row in table.to_pylist()}
    with duckdb.connect(str(tmp_path / "cdm.duckdb"), read_only=True) as database:
        tables = ("person", "cohort", "observation_period", "condition_occurrence", "death")
        cdm = {name: database.sql(f"SELECT * FROM {name}").fetchall() for name in tables}
    deaths, ends = dict(cdm["death"]), {who: end for who, _, end in cdm["observation_period"]}
    people = {who: (sex, born) for who, sex, born in cdm["person"]}
    assert len(found) == len(cdm["cohort"])
    for _, who, entered in cdm["cohort"]:
        row, death = found[who], deaths.get(who)
        died = death is not None and death <= ends[who]
        before = any(p == who and when <= entered for p, _, when in cdm["condition_occurrence"])
        assert (row["entered"], row["died"]) == (entered, died)
        assert row["ended"] == (death if died else ends[who])
        assert row["sex"] == {8507: "male", 8532: "female"}[people[who][0]]
        assert row["age"] == entered.year - people[who][1]
        assert row["diabetes"] == ("yes" if before else "no")


def test_the_omop_query_runs_on_postgresql_with_the_one_change_that_the_page_names(
    ran,
    server,  # noqa: F811
):
    folder, _ = ran
    sql, address = (folder / "cohort.sql").read_text(), f"duckdb:///{folder}/cdm.duckdb"
    url = server.url("postgres")
    for name in ("person", "cohort", "observation_period", "condition_occurrence", "death"):
        write("postgresql", url, Query(address, f"SELECT * FROM {name}").read(), name)
    changed = sql.replace("year(entered)", "extract(year FROM entered)")
    ours, theirs = (
        open_table(Query(place, f"{text} ORDER BY person_id").read())
        for place, text in ((address, sql), (url, changed))
    )
    assert ours.rows == theirs.rows == 2700
    for name in ours.names:
        one, other = ours.column(name), theirs.column(name)
        if name in {"entered", "ended"}:
            assert one.days(None).tolist() == other.days(None).tolist()
        elif name in {"sex", "diabetes"}:
            assert [one.coded()[1][code] for code in one.coded()[0]] == [
                other.coded()[1][code] for code in other.coded()[0]
            ]
        else:
            assert one.numbers().tolist() == other.numbers().tolist()


def test_the_redcap_recipe_joins_the_rows_of_a_record(ran):
    tmp_path, _ = ran
    sql = (tmp_path / "redcap.sql").read_text()
    table = Query(f"duckdb:///{tmp_path}/study.duckdb", sql).read()
    lines = (tmp_path / "export.csv").read_text().splitlines()[1:]
    visits, enrolled = {}, {}
    for record, event, date, age, sex, seen, status in (line.split(",") for line in lines):
        if event == "enrolment_arm_1":
            enrolled[record] = (date, age, sex)
        else:
            visits.setdefault(record, []).append((seen, status))
    assert table.num_rows == len(enrolled) == 400
    for row in table.to_pylist():
        date, age, sex = enrolled[row["record_id"]]
        last = max(visits[row["record_id"]])
        assert (row["enrol_date"], row["age"], row["sex"]) == (date, age, sex)
        assert (row["last_date"], row["died"]) == (last[0], int(last[1] == "2"))
    assert open_table(table).ids("record_id").codes()[1] == 400
    assert ds.load(tmp_path / "study.json").model_.persons == 400


def test_a_query_in_a_file_that_is_not_there_is_one_sentence(command):
    status, _, err = command(
        "check", "duckdb:///x.db", "--query", "@absent.sql", "--schema", "schema.toml"
    )
    assert (status, err.count("\n")) == (2, 1)
    assert "'absent.sql' cannot be read" in err
