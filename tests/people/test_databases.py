"""Queries as data: SQLite, DuckDB and a real PostgreSQL server, in Python and in every command."""

import json
import sqlite3
import sys
from contextlib import ExitStack, closing
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import psycopg
import pyarrow as pa
import pytest
from adbc_driver_postgresql import dbapi

import discreet as ds
from discreet.errors import DataFormError, SettingsError
from discreet.people.databases import Query
from discreet.people.source import People
from discreet.people.tables import check_form, open_table, read_table
from tests.cohorts import cohort, episodic, schema
from tests.ledger.conftest import server  # noqa: F401 - the fixture
from tests.people import metamorphic as world
from tests.test_cli import SCHEMA

TIED = {
    "person": "id",
    "time": {"duration": "time", "event": "event", "horizon": 4, "intervals": 4},
    "covariate": [
        {"name": "age", "low": 0, "high": 120},
        {"name": "arm", "levels": ["a", "b", "c"]},
    ],
}
CANARY = "canary-of-a-record"
KINDS = ["sqlite", "duckdb", "postgresql"]


def write(kind, place, table, name="people"):
    """The table in a database; columns have the types that a careful owner gives them."""
    rows = [tuple(row.values()) for row in table.to_pylist()]
    names, marks = ", ".join(table.column_names), ", ".join("?" for _ in table.column_names)
    if kind == "sqlite":
        with closing(sqlite3.connect(place)) as database, database:
            database.execute(f"CREATE TABLE {name} ({names})")
            database.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)
    elif kind == "duckdb":
        with duckdb.connect(place) as database:
            database.from_arrow(table).create(name)
    else:
        types = {"int64": "int8", "double": "float8", "bool": "bool", "string": "text"}
        types |= dict.fromkeys(("uint64", "decimal128"), "numeric")
        types |= {"int32": "int4", "date32[day]": "date"}
        kinds = [types[str(item.type).partition("(")[0]] for item in table.schema]
        typed = ", ".join(map(" ".join, zip(table.column_names, kinds, strict=True)))
        with psycopg.connect(place) as connection, connection.cursor() as cursor:
            cursor.execute(f"DROP TABLE IF EXISTS {name}")
            cursor.execute(f"CREATE TABLE {name} ({typed})")
            cursor.executemany(f"INSERT INTO {name} VALUES ({marks.replace('?', '%s')})", rows)


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture
def address(kind, tmp_path, request):
    """An empty database's address, and where `write` finds it."""
    if kind != "postgresql":
        return f"{kind}:///{tmp_path}/registry.db", str(tmp_path / "registry.db")
    url = request.getfixturevalue("server").url("postgres")
    return url, url


@pytest.fixture
def registry(kind, address):
    """A cohort with one row a person, in the table `people`."""
    write(kind, address[1], cohort())
    return address[0]


def test_a_query_gives_the_people_of_the_table(registry):
    query = Query(registry, "SELECT time, status, age, arm, 'note' AS note FROM people;")
    check_form(query, schema())
    data = People.of(query)
    assert data.count(schema()) == 400
    found, expected = data.open(schema()).episodes, People.of(cohort()).open(schema()).episodes
    assert found.stamp(b"") == expected.stamp(b"")


def test_the_rows_of_a_person_need_not_lie_together(kind, address):
    table = episodic()
    order = np.random.default_rng(3).permutation(table.num_rows)
    write(kind, address[1], table.take(order))
    data = People.of(Query(address[0], "SELECT * FROM people"))
    public = schema(person=True, entry=True)
    seed = {"mechanism": ds.PrivateNewton(2.0), "seed": 3}
    found = ds.simulate(ds.SurvivalRegression(public), data, **seed)
    expected = ds.simulate(ds.SurvivalRegression(public), table, **seed)
    assert np.array_equal(found.coef_, expected.coef_)


def test_every_command_that_takes_a_file_takes_a_query(registry, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "schema.toml").write_text(SCHEMA)
    select = ("--query", "SELECT * FROM people")
    status, out, err = command("new", registry, *select)
    assert (status, err) == (0, "")
    assert out.startswith("# What is public about ")
    values = 'low = ""' if registry.startswith("sqlite") else 'levels = ["", ""]'
    assert f'name = "arm"\n{values}' in out  # SQLite declares no types
    assert 'name = "age"\nlow = ""' in out
    status, out, err = command("check", registry, *select, "--schema", "schema.toml")
    assert (status, err) == (0, "")
    assert "400 persons" in out
    fit = ("--schema", "schema.toml", "--no-ledger", "--epsilon", "2")
    status, _, err = command("fit", registry, *select, *fit, "--out", "release.json")
    assert status == 0, err
    assert json.loads((tmp_path / "release.json").read_text())["persons"] == 400
    plain = ("--schema", "schema.toml", "--mechanism", "none", "--out", "model.json")
    status, _, err = command("fit", registry, *select, *plain)
    assert status == 0, err
    status, _, err = command(
        "curves", registry, *select, *fit, "--by", "arm", "--out", "curves.json"
    )
    assert status == 0, err
    status, _, err = command(
        "predict", "model.json", registry, *select, "--times", "6", "--out", "predicted.csv"
    )
    assert status == 0, err
    assert len((tmp_path / "predicted.csv").read_text().splitlines()) == 401


def test_a_password_is_in_no_file_log_or_error(server, command, tmp_path, monkeypatch):  # noqa: F811
    """The server's password is a canary; so is the word in each broken address."""
    monkeypatch.chdir(tmp_path)
    url = server.url("postgres")
    write("postgresql", url, cohort())
    (tmp_path / "schema.toml").write_text(SCHEMA)
    assert command("budget", "init", "budget.db", "--epsilon", "4", "--population", "p")[0] == 0
    said = []
    select, fit = "SELECT * FROM people", ("--schema", "schema.toml", "--epsilon", "1")
    paid = ("--ledger", "budget.db", "--yes", "--out", "release.json")
    said.append(command("fit", url, "--query", select, *fit, *paid))
    assert said[0][0] == 0, said
    word = server.password
    broken = [
        (url, ()),
        (url, ("--query", "SELECT * FORM people")),
        (url, ("--query", "SELECT nothing FROM people")),
        (url, ("--query", "SELECT CAST(arm AS int) AS age, time, status, arm FROM people")),
        (url.replace(word, f"{word}x"), ("--query", select)),
        (url.replace(word, f"p@{word}"), ("--query", select)),
        (f"postgresql://u:{word}@localhost:1/x", ("--query", select)),
        (f"postgresql://u:{word}@localhost:{word}/x", ("--query", select)),
        (f"postgres://{word}", ("--query", select)),
        (f"postgresql://u:{word}@localhost", ()),
        (f"mysql://u:{word}@localhost/x", ("--query", select)),
        (f"mysql://u:{word}@localhost", ()),
    ]
    for place, options in broken:
        for line in (
            ("check", place, *options, "--schema", "schema.toml"),
            ("fit", place, *options, *fit, *paid, "--overwrite"),
            ("predict", "release.json", place, *options, "--times", "6", "--out", "p.csv"),
        ):
            said.append(command(*line))
            assert said[-1][0] not in {0, 1}, line
    for line in (  # an address where another word belongs
        (url, "--query", select),
        ("summary", url),
        ("export", url, "--to", "r", "--out", "x.r"),
        ("predict", url, "p.csv", "--times", "6", "--out", "x.csv"),
        ("check", "p.csv", "--schema", url),
        ("fit", "p.csv", *fit[:2], "--mechanism", "none", "--out", url),
        ("plan", *fit[:2], "--persons", "400", "--events", "200", url),
        ("plan", *fit[:2], "--persons", url, "--events", "200"),
    ):
        said.append(command(*line))
        assert said[-1][0] == 2, line
    for options in (), ("--query", select):
        said.append(command("new", f"postgresql://u:{word}@localhost:1/x", *options))
        assert said[-1][0] not in {0, 1}
    said.append(command("budget", "show", "budget.db"))
    said.append(command("summary", "release.json"))
    texts = [text for _, *texts in said for text in texts]
    assert not [text for text in texts if word in text]
    assert not [path for path in tmp_path.iterdir() if word.encode() in path.read_bytes()]
    assert word not in repr(Query(url, select))


def test_the_question_at_a_terminal_names_a_server_without_its_password(
    server,  # noqa: F811
    command,
    tmp_path,
    monkeypatch,
):
    monkeypatch.chdir(tmp_path)
    server.forget_ledgers()
    url, asked = server.url("postgres"), []
    write("postgresql", url, cohort())
    (tmp_path / "schema.toml").write_text(SCHEMA)
    assert command("budget", "init", url, "--epsilon", "4", "--population", "p")[0] == 0
    monkeypatch.setattr("typer.confirm", lambda text, **_: asked.append(text))
    people = (url, "--query", "SELECT * FROM people", "--schema", "schema.toml")
    paid = ("--epsilon", "1", "--ledger", f"{url}population=p", "--out", "out.json")
    for words in (("fit", *people), ("curves", *people, "--by", "arm")):
        monkeypatch.setattr("discreet.cli.charge.at_terminal", lambda: True)
        status, *texts = command(*words, *paid)
        assert status == 1, texts
        assert server.password not in "".join([*texts, *asked])
        assert " to PostgreSQL at " in asked.pop()


def test_an_address_without_a_query_is_one_sentence(command):
    for place in ("postgresql://localhost/x", "postgres:/x", "sqlite:///x.db", "duckdb:///x.db"):
        status, _, err = command("check", place, "--schema", "schema.toml")
        assert (status, err.count("\n")) == (2, 1)
        assert '--query "SELECT' in err
        with pytest.raises(SettingsError, match="needs a query"):
            ds.check(place, schema())
        with pytest.raises(SettingsError, match="needs a query"):
            read_table(place, schema())


@pytest.mark.parametrize("place", ["mysql://localhost/x", "https://example.org/people.csv"])
def test_an_address_of_another_kind_says_what_there_is(place, command):
    status, _, err = command("check", place, "--schema", "schema.toml")
    assert (status, err.count("\n")) == (2, 1)
    assert "rows of a database at postgresql://..., sqlite:///FILE or duckdb:///FILE" in err
    with pytest.raises(SettingsError, match="data are files of this machine"):
        read_table(Path(place), schema())


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("'postgresql:/u:it's@h/d' is not there", "'postgresql:/...' is not there"),
        ("no (postgresql://h/d?password=x).", "no (postgresql://...)."),
        (r"'postgresql:\u:p@h\d' is", r"'postgresql:\...' is"),
        (r"'C:\people@home\a.csv' is", r"'C:\people@home\a.csv' is"),
        ("give postgresql://... or sqlite:///FILE, not x@y", None),
        ("'postgresql:/u:p q@h/d' is not there", "'postgresql:/...' is not there"),
        ("'postgresql://u:p' q@h/d' is 'it'", "'postgresql://...'"),
        ("no postgresql://u:p q r@h/d here", "no postgresql://... here"),
        ("'postgresql://h/d?password=p q' is", "'postgresql://...' is"),
        ("no postgresql://h/d?sslpassword=p q", "no postgresql://..."),
        ("'sqlite:///a b.db' is no file. Is it 'a.db'?", None),
        ("no 'host=h password=p dbname=d'", "no 'host=h password=... dbname=d'"),
        ("no 'host=h password=p'. Or?", "no 'host=h password=...'. Or?"),
        ("no sslpassword = 'p \\' q' x", "no sslpassword = ... x"),
        ("covariate 'passengers=5' is", None),
    ],
)
def test_no_error_repeats_an_address(text, shown):
    assert str(SettingsError(text)).removesuffix(".") == (shown or text).removesuffix(".")


def test_the_rest_of_a_password_with_a_blank_is_not_repeated(command):
    """A shell makes two words of it, and the second is no address."""
    for place in ("postgresql://u:p", "postgresql://h/d?password=p", "host=h password=p"):
        for rest in (("canary@h/d",), ("q", "canary", "r@h/d"), ("-canary@h/d",)):
            for options in (
                (),
                ("--schema", "schema.toml", "--mechanism", "none", "--out", "o.json"),
            ):
                status, *texts = command("fit", place, *rest, *options)
                assert status == 2
                assert "canary" not in "".join(texts), texts


def test_settings_of_libpq_in_a_wrong_place_are_not_repeated(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "schema.toml").write_text(SCHEMA)
    place, schema = "host=127.0.0.1 port=1 password=canary dbname=d", ("--schema", "schema.toml")
    for line in (
        (place,),
        ("new", place),
        ("check", place, *schema),
        ("check", "people.csv", "--schema", place),
        ("fit", place, *schema, "--mechanism", "none", "--out", "o.json"),
        ("page", place, "--out", "page.html"),
        ("summary", place),
        ("audit", place),
    ):
        status, *texts = command(*line)
        assert status == 2, (line, texts)
        assert "canary" not in "".join(texts), line


def test_a_query_is_refused_in_words_that_quote_no_record(kind, address):
    table = cohort().set_column(3, "arm", pa.array([CANARY] * 400))
    write(kind, address[1], table)
    refused: dict[str, str | None] = {
        "SELECT * FORM people": "syntax error",
        "SELECT nothing FROM people": "nothing",
        "SELECT * FROM nowhere": "nowhere",
        "SELECT age FROM people": "no column 'time'",
        "SELECT *, age FROM people": "two columns 'age'",
        "DROP TABLE people": None,
        "DELETE FROM people": None,
        "DELETE FROM people RETURNING *": "SELECT|syntax error",
        "CHECKPOINT": None,
        "SELECT 1; SELECT 2": None,
        "": None,
    }
    for sql, text in refused.items():
        with pytest.raises((DataFormError, SettingsError), match=text) as caught:
            read_table(Query(address[0], sql), schema())
        assert CANARY not in str(caught.value)
    if kind != "sqlite":  # which casts every text to a number
        query = Query(address[0], "SELECT CAST(arm AS int) AS age, time, status, arm FROM people")
        check_form(query, schema())
        with pytest.raises(DataFormError, match="a record stopped it") as caught:
            read_table(query, schema())
        assert CANARY not in str(caught.value)
    assert read_table(Query(address[0], "SELECT * FROM people"), schema()).rows == 400


@pytest.mark.parametrize(
    "sql",
    [
        "COPY people TO 'leak.csv'",
        "COPY people TO 'leak.csv'; SELECT * FROM people",
        "SELECT * FROM people; COPY people TO 'leak.csv'",
        "SELECT * FROM people) AS a; COPY people TO 'leak.csv'; SELECT * FROM (SELECT * FROM people",
        "EXPORT DATABASE 'leak'",
        "ATTACH 'leak.db' AS other",
        "SET threads = 1",
        "SET threads = 1; SELECT * FROM people",
        "WITH a AS (SELECT 1) COPY people TO 'leak.csv'",
        "EXPLAIN ANALYZE COPY people TO 'leak.csv'",
    ],
)
def test_a_query_writes_no_file(kind, address, tmp_path, monkeypatch, sql):
    write(kind, address[1], cohort())
    before = set(tmp_path.iterdir())
    monkeypatch.chdir(tmp_path)
    for use in (check_form, read_table):
        with pytest.raises(DataFormError, match=r"the query to|one SELECT"):
            use(Query(address[0], sql), schema())
    assert set(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM people ORDER BY age DESC, time, status, arm;",
        "WITH a AS (SELECT * FROM people) SELECT * FROM a ORDER BY age DESC, time, status, arm ; ",
    ],
)
def test_a_query_keeps_its_order(kind, address, sql):
    write(kind, address[1], cohort())
    ages = [float(age) for age in cohort()["age"].to_pylist()]
    found = Query(address[0], sql).read(["age"])
    read = found.columns["age"] if kind == "sqlite" else found["age"].to_pylist()
    assert [float(age) for age in read] == sorted(ages, reverse=True)


def test_databases_that_are_not_there_are_one_sentence(tmp_path):
    (tmp_path / "junk.db").write_text(CANARY)
    for kind in ("sqlite", "duckdb"):
        with pytest.raises(DataFormError, match=r"there is no database 'nowhere\.db'"):
            check_form(Query(f"{kind}:///{tmp_path}/nowhere.db", "SELECT 1"), schema())
        with pytest.raises(DataFormError, match=r"junk\.db'") as caught:
            check_form(Query(f"{kind}:///{tmp_path}/junk.db", "SELECT * FROM people"), schema())
        assert CANARY not in str(caught.value)
        with pytest.raises(SettingsError, match="four slashes"):
            check_form(Query(f"{kind}://junk.db", "SELECT 1"), schema())
    with pytest.raises(SettingsError, match="read in this process"):
        People.of(Query("sqlite:///x", "SELECT 1"), engine="dask")


def test_a_missing_driver_says_what_to_install(tmp_path, monkeypatch):
    for library in ("duckdb", "adbc_driver_postgresql"):
        monkeypatch.setitem(sys.modules, library, None)
    (tmp_path / "x.db").touch()
    for place in (f"duckdb:///{tmp_path}/x.db", "postgresql://localhost/x"):
        with pytest.raises(SettingsError, match="install this package with its extra 'databases'"):
            check_form(Query(place, "SELECT 1"), schema())


def test_bytes_that_are_not_utf_8_stop_nobody(tmp_path):
    """sqlite3 would refuse the table, and quote the value."""
    with closing(sqlite3.connect(tmp_path / "x.db")) as database, database:
        database.execute("CREATE TABLE people (id, arm)")
        database.execute("INSERT INTO people VALUES (CAST(x'61ff' AS TEXT), 'a'), ('b', 'b')")
    found = open_table(Query(f"sqlite:///{tmp_path}/x.db", "SELECT * FROM people").read())
    assert found.ids("id").codes()[1] == 2


def test_numerics_of_postgresql_are_numbers_and_7_00_is_7(server):  # noqa: F811
    url = server.url("postgres")
    with psycopg.connect(url) as connection:
        connection.execute("DROP TABLE IF EXISTS exact")
        connection.execute("CREATE TABLE exact (id numeric, age numeric(9, 3), tag uuid)")
        connection.execute(
            "INSERT INTO exact VALUES (7, 30.5, '00000000-0000-0000-0000-000000000001'), "
            "(7.00, 31, NULL), (36893488147419103232, 'NaN', NULL), (36893488147419103233, NULL, NULL)"
        )
    found = open_table(Query(url, "SELECT * FROM exact").read())
    assert found.ids("id").codes()[0].tolist() == [0, 0, 1, 2]
    assert found.column("age").numbers().tolist()[:2] == [30.5, 31.0]
    assert np.isnan(found.column("age").numbers()[2:]).all()
    assert found.column("tag").coded()[1] == ["00000000-0000-0000-0000-000000000001"]


def test_infinite_dates_of_postgresql_lie_at_the_ends_of_the_calendar(server):  # noqa: F811
    """The driver by itself makes a date millions of years ago of infinity."""
    days = "'infinity'::{0}), ('-infinity'::{0}), (NULL), ('2020-02-29'::{0}), ('99999-01-01'::{0}"
    first, last, leap = -719162.0, 2932896.0, 18321.0
    for kind in ("date", "timestamp", "timestamptz"):
        sql = f"SELECT * FROM (VALUES ({days.format(kind)})) AS t (day)"
        found = open_table(Query(server.url("postgres"), sql).read()).column("day").days(None)
        np.testing.assert_allclose(found, [last, first, np.nan, leap, last], atol=1.0)


@pytest.mark.parametrize("ids", [kind for kind in world.IDS if kind != "mixed"])
@pytest.mark.parametrize("way", ["query", "cursor"])
def test_replacing_a_person_on_a_server_moves_nobody_else(server, way, ids, tmp_path):  # noqa: F811
    *names, free = world.IDS[ids]
    people, url = world.make_people(names), server.url("postgres")

    def container(people, folder):
        held = world.arrow(people, folder)
        if any("\x00" in str(value) for value in held.ids):
            raise world.NotHeld  # PostgreSQL's texts have no zero byte
        table = held.data
        for at, item in enumerate(table.schema):
            if pa.types.is_null(item.type):
                table = table.set_column(at, item.name, table.column(at).cast(pa.string()))
        write("postgresql", url, table)
        if way == "query":
            return world.Held(Query(url, "SELECT * FROM people"), held.ids)
        cursor = opened.enter_context(connection.cursor())
        cursor.execute("SELECT * FROM people")
        return world.Held(cursor.fetch_record_batch(), held.ids)

    with ExitStack() as opened:
        connection = opened.enter_context(dbapi.connect(url, autocommit=True))
        try:
            world.check_replacements(
                "in memory", container, people, list(world.replacements(names[2], free)), tmp_path
            )
        except world.NotHeld:
            pytest.skip("this database does not hold such ids")


@pytest.mark.parametrize("way", ["query", "relation", "lazy"])
def test_the_order_of_rows_in_a_database_changes_nobody(kind, address, way):
    """Rows that begin and end together, of which one counts: which is a function of their values."""
    address, place = address
    if (way == "relation" and kind != "duckdb") or (way == "lazy" and kind != "sqlite"):
        pytest.skip("one kind of database is enough")
    random = np.random.default_rng(5)
    table = pa.table(
        {
            "id": np.repeat(np.arange(40), 3),
            "time": np.repeat(random.integers(1, 4, 40), 3).astype(float),
            "event": random.integers(0, 2, 120),
            "age": random.permutation(120).astype(float),
            "arm": random.choice(["a", "b", "c"], 120),
        }
    )
    read = ds.Schema.from_mapping(TIED)
    found = []
    for number in range(3):
        rows = table.take(random.permutation(120))
        data = Query(address, f"SELECT * FROM people{number}")
        write(kind, place, rows, f"people{number}")
        if way == "relation":
            data = duckdb.from_arrow(rows)
        elif way == "lazy":
            data = pl.from_arrow(rows).lazy()
        block = People.of(data).open(read).episodes
        assert block.rows == 40
        found.append(sorted(zip(block.covariates.tolist(), block.exit, block.event, strict=True)))
    assert found[0] == found[1] == found[2]
