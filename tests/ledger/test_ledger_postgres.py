"""A team's ledger on a real server that is killed, filled, copied and tampered with."""

import contextlib
import traceback
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from discreet.errors import DiscreetError, LedgerError, SettingsError
from discreet.ledger import Ledger
from tests.ledger.ledger_scenes import RECOVERS, attempt, check_story, request
from tests.ledger.ledger_server_faults import PAID_FOR, STORIES, ServerScene


@pytest.fixture
def scene(server, tmp_path):
    return ServerScene(tmp_path / "scene", lock_timeout=3, server=server)


# each of these starts the server again, and another story that runs always is much like it
SLOW = {"server killed, reserve locked", "server killed, settle appended"}


def stories(names):
    return [pytest.param(n, marks=pytest.mark.evidence) if n in SLOW else n for n in names]


@pytest.mark.parametrize("name", stories(STORIES))
def test_a_fault_stops_the_release_and_says_what_is_wrong(scene, name):
    check_story(scene, STORIES[name])


@pytest.mark.parametrize("name", stories(PAID_FOR))
def test_a_release_whose_server_dies_after_the_charge_is_paid_for(scene, name):
    found = PAID_FOR[name](scene)
    assert found.released
    assert found.afterwards == RECOVERS
    assert [line.request.release_id for line in scene.ledger.show().unsettled] == ["release-2"]


def test_populations_have_budgets_of_their_own(scene):
    scene.begin()
    Ledger(scene.url).initialise("sweden-births", 1)
    with pytest.raises(SettingsError, match="several populations"):
        scene.ledger.show()
    chosen = {
        name: Ledger(scene.server.url("postgres", population=name))
        for name in ("norway-births", "sweden-births")
    }
    assert attempt(chosen["sweden-births"], scene.folder, request(2)) is None
    assert {name: ledger.show().left_pure for name, ledger in chosen.items()} == {
        "norway-births": 3,
        "sweden-births": 0.75,
    }
    with pytest.raises(LedgerError, match="no ledger of that population"):
        Ledger(scene.server.url("postgres", population="x")).show()
    with pytest.raises(SettingsError, match="another population than the command"):
        chosen["norway-births"].initialise("denmark", 1)


@pytest.mark.parametrize("table", ["entry", "population", "format"])
def test_the_database_itself_keeps_entries(scene, table):
    scene.begin()
    for statement in ("DELETE FROM {}", "TRUNCATE {} CASCADE"):
        with pytest.raises(psycopg.errors.RaiseException, match="never changed"):
            scene.execute(statement.format(f"discreet_ledger.{table}"))


def test_missing_guards_and_changed_tables_are_found(scene):
    scene.begin()
    scene.execute("ALTER TABLE discreet_ledger.entry DISABLE TRIGGER never_changed")
    assert "trigger" in scene.ledger.verify().problems[0]
    scene.execute("ALTER TABLE discreet_ledger.entry ADD COLUMN x text")
    assert "changed schema" in scene.ledger.verify().problems[0]


def test_a_restored_database_is_adopted_with_its_newest_head(scene):
    scene.begin()
    head = scene.ledger.verify().head
    with psycopg.connect(scene.server.url("template1"), autocommit=True) as owner:
        owner.execute("DROP DATABASE IF EXISTS copy")
        owner.execute("CREATE DATABASE copy TEMPLATE postgres")
    restored = Ledger(scene.server.url("copy"))
    restored.adopt(head)
    assert restored.verify().sound
    assert attempt(restored, scene.folder, request(2)) is None
    assert "this is a copy" not in str(attempt(scene.ledger, scene.folder, request(3)))


@pytest.mark.parametrize(
    "change",
    [
        lambda url: url.replace("canary", "wrong-canary"),
        lambda url: url.replace("postgres?", "nosuch?"),
        lambda url: url.replace("postgresql://", "postgresql://us er:canary@x:"),
        lambda url: url.replace("@/", "@host:canary/"),
        lambda url: url + "&canary=1",
        lambda url: url + "&population=a&population=b",
    ],
)
def test_a_password_is_never_shown(scene, change):
    url = change(scene.url)
    texts = []
    with contextlib.suppress(DiscreetError):
        texts.append(repr(Ledger(url)) + Ledger(url).name)
    try:
        Ledger(url, 3).show()
    except DiscreetError as error:
        chain = "".join(traceback.format_exception(error, chain=True))
        texts += [str(error), repr(error), chain]
    assert len(texts) > 1
    assert not any("canary" in line for text in texts for line in text.splitlines())


def test_first_initialisations_at_once_wait_for_each_other(scene):
    scene.server.forget_ledgers()
    names = [f"population-{number}" for number in range(6)]
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda name: Ledger(scene.url, 60).initialise(name, 1), names))
    shown = [Ledger(scene.server.url("postgres", population=n)).show() for n in names]
    assert [statement.population for statement in shown] == names
