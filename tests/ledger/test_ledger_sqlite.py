"""Files, disks and people: whatever they do to an SQLite ledger, nothing is released unpaid."""

import os
import sqlite3
import stat

import pytest

from discreet.errors import LedgerError, SettingsError
from discreet.ledger import Head, Ledger, systems
from discreet.ledger.interface import ReleaseRequest
from discreet.ledger.sqlite import Witness
from discreet.ledger.stored import ReleaseClaim
from discreet.privacy.guarantee import Guarantee
from tests.ledger.ledger_faults import HARMLESS, STORIES, Scene
from tests.ledger.ledger_scenes import FIRST, RECOVERS, attempt, check_story, request


@pytest.fixture
def scene(tmp_path):
    return Scene(tmp_path / "scene", lock_timeout=0.2)


@pytest.mark.parametrize("name", STORIES)
def test_a_fault_stops_the_release_and_says_what_is_wrong(scene, name):
    check_story(scene, STORIES[name])


@pytest.mark.parametrize("name", HARMLESS)
def test_what_the_ledger_mends_by_itself(scene, name):
    found = HARMLESS[name](scene)
    assert (found.released, found.afterwards) == (True, RECOVERS)


def test_files_are_private_and_at_rest_there_is_no_log(scene):
    scene.begin()
    found = {path.name: stat.S_IMODE(path.stat().st_mode) for path in scene.folder.glob("reg*")}
    names = ("registry.ledger", "registry.ledger-head")
    mode = 0o600 if os.name == "posix" else 0o666  # Windows has no owner and group in a mode
    assert found == dict.fromkeys(names, mode)


def test_the_file_is_a_write_ahead_log_database_of_ours(scene):
    scene.begin()
    connection = sqlite3.connect(scene.path)
    found = [
        connection.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("journal_mode", "application_id", "user_version")
    ]
    connection.close()
    assert found == ["wal", 0x44504C31, 2]


@pytest.mark.parametrize("statement", ["UPDATE entry SET content = ''", "DELETE FROM entry"])
def test_the_database_itself_keeps_entries(scene, statement):
    scene.begin()
    connection = sqlite3.connect(scene.path)
    with pytest.raises(sqlite3.IntegrityError, match="never"):
        connection.execute(statement)
    connection.close()


@pytest.mark.parametrize("ending", ["-wal", "-head", "-journal", "-shm"])
def test_a_deleted_ledger_is_not_made_anew(scene, ending):
    scene.folder.mkdir()
    scene.beside(ending).touch()
    with pytest.raises(LedgerError, match=f"ending {ending} is left from an earlier ledger"):
        scene.ledger.initialise("p", 1)
    assert not scene.path.exists()


def test_a_dangling_link_is_not_followed(scene):
    scene.folder.mkdir()
    scene.path.symlink_to(scene.folder / "elsewhere")
    with pytest.raises(LedgerError, match="already"):
        scene.ledger.initialise("p", 1)
    assert not (scene.folder / "elsewhere").exists()


def tamper(path, *statements):
    """Change the file the way somebody with SQL at hand would, triggers taken away."""
    with sqlite3.connect(path) as connection:
        for trigger in ("entry_is_never_changed", "entry_is_never_deleted"):
            connection.execute(f"DROP TRIGGER {trigger}")
        for statement in statements:
            connection.execute(statement)
    connection.close()


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("UPDATE entry SET content = replace(content, '1.0', '0.1') WHERE sequence = 2", "hash"),
        ("UPDATE entry SET content = 'x' WHERE sequence = 2", "cannot be read"),
        ("UPDATE entry SET content = '[]' WHERE sequence = 2", "not in the form"),
        ("UPDATE entry SET content = '{\"a\":1}' WHERE sequence = 2", "not in the form"),
        ("DELETE FROM entry WHERE sequence = 2", "is missing"),
        ("DELETE FROM entry WHERE sequence = 3", "was promised"),
        ("DELETE FROM entry", "no entries"),
    ],
)
def test_verify_names_every_kind_of_tampering(scene, statement, problem):
    scene.begin()
    tamper(scene.path, statement)
    problems = scene.ledger.verify().problems
    assert any(problem in text for text in problems)
    assert any("changed schema" in text for text in problems)
    assert attempt(scene.ledger, scene.folder, request(2)) is not None


def test_whoever_writes_the_files_can_forge_a_past_and_only_a_release_tells(tmp_path):
    """The chain has no key: `docs/threat-model.md` says so."""
    path = tmp_path / "ledger"
    ledger = Ledger(path)
    first = ledger.initialise("everybody", 1)
    spent = ledger.reserve(ReleaseRequest("one", Guarantee(1.0)))
    with sqlite3.connect(path) as connection:
        query = "SELECT sql FROM sqlite_master WHERE type = 'trigger'"
        triggers = [text for (text,) in connection.execute(query)]
    connection.close()
    tamper(path, "DELETE FROM entry WHERE sequence > 1", *triggers)
    Witness(path).replace(first)
    forged = Ledger(path)
    assert forged.verify().sound
    assert forged.show().left_pure == 1
    claim = ReleaseClaim("one", Head.parse(spent.head), Guarantee(1.0))
    assert any("was promised" in text for text in forged.verify(claim).problems)


def test_a_rollback_below_a_running_process_is_noticed_without_a_witness(scene):
    scene.begin()
    running = scene.ledger
    running.show()
    tamper(scene.path, "DELETE FROM entry WHERE sequence = 3")
    with pytest.raises(LedgerError, match="was promised"):
        running.reserve(request(2))


def test_a_moved_ledger_is_the_same_ledger(scene):
    scene.begin()
    for path in scene.folder.glob("registry.ledger*"):
        path.rename(path.with_name(path.name.replace("registry", "renamed")))
    moved = Ledger(scene.folder / "renamed.ledger")
    assert moved.verify().sound
    assert attempt(moved, scene.folder, request(2)) is None


def move_to_a_copy(scene):
    """What a restore from a backup does: the same bytes in other files."""
    for path in list(scene.folder.glob("registry.ledger*")):
        content = path.read_bytes()
        path.rename(path.with_name(f"old-{path.name}"))
        path.write_bytes(content)


def test_a_restored_copy_is_adopted_with_its_newest_head(scene):
    head = scene.begin()
    move_to_a_copy(scene)
    assert "this is a copy" in scene.ledger.verify().problems[0]
    adopted = scene.ledger.adopt(head)
    assert adopted.sequence == head.sequence + 1
    assert scene.ledger.verify().sound
    assert attempt(scene.ledger, scene.folder, request(2)) is None
    assert scene.ledger.show().left_pure == 2.75


def test_a_ledger_without_its_witness_is_adopted_with_its_newest_head(scene):
    head = scene.begin()
    scene.beside("-head").unlink()
    scene.ledger.adopt(head)
    assert attempt(scene.ledger, scene.folder, request(2)) is None


def test_an_old_copy_is_not_adopted(scene):
    scene.begin()
    older = scene.path.read_bytes()
    attempt(scene.ledger, scene.folder, request(2))
    newest = scene.ledger.verify().head
    scene.path.unlink()
    scene.path.write_bytes(older)
    with pytest.raises(LedgerError, match="was promised"):
        scene.ledger.adopt(newest)


def test_an_old_copy_is_not_adopted_when_its_witness_knows_better(scene):
    first = scene.begin()
    older = scene.path.read_bytes()
    attempt(scene.ledger, scene.folder, request(2))
    scene.path.unlink()
    scene.path.write_bytes(older)
    with pytest.raises(LedgerError, match="was promised"):
        scene.ledger.adopt(first)


def test_a_diverged_copy_is_told_by_the_release_of_the_other(scene):
    """Two copies each spend the rest; the head each release prints fits one of them only."""
    head = scene.begin()
    copy = Scene(scene.folder / "copy", 1)
    copy.folder.mkdir()
    for path in scene.folder.glob("registry.ledger*"):
        (copy.folder / path.name).write_bytes(path.read_bytes())
    copy.ledger.adopt(head)
    with pytest.raises(LedgerError, match="not in this ledger"):
        scene.ledger.adopt(Head.parse(copy.ledger.reserve(request(2)).head))


def test_an_initialisation_that_was_killed_is_told(scene):
    scene.folder.mkdir()
    scene.path.touch(0o600)
    assert "interrupted" in attempt(scene.ledger, scene.folder, FIRST)
    scene.path.unlink()
    scene.begin()


def test_an_initialisation_that_fails_leaves_nothing(scene, monkeypatch):
    scene.folder.mkdir()
    monkeypatch.setattr(Witness, "create", interrupted)
    with pytest.raises(KeyboardInterrupt):
        scene.ledger.initialise("p", 1)
    assert not list(scene.folder.iterdir())


def interrupted(*_arguments):
    raise KeyboardInterrupt


def test_a_folder_that_is_not_there_is_a_setting_to_mend(scene):
    with pytest.raises(SettingsError, match="folder"):
        scene.ledger.initialise("p", 1)


def test_a_fault_while_settling_says_that_the_release_stands(scene):
    scene.begin()
    reservation = scene.ledger.reserve(request(2))
    reservation.authorise_draw()
    other = sqlite3.connect(scene.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerError, match="The release stands and is charged"):
        scene.ledger.settle(reservation, "ab" * 32)
    other.close()
    scene.ledger.settle(reservation, "ab" * 32)


MOUNTS = """22 1 8:1 / / rw - ext4 /dev/sda1 rw
30 22 0:40 / {point} rw,relatime shared:1 - {kind} server:/export rw
31 22 0:41 / /proc rw - proc proc rw
"""


@pytest.mark.parametrize("kind", ["nfs4", "cifs", "fuse.sshfs"])
def test_a_network_file_system_is_refused(tmp_path, monkeypatch, kind):
    folder = tmp_path / "a shared drive"
    folder.mkdir()
    path = folder / "registry.ledger"
    ledger = Ledger(path)
    ledger.initialise("registry", 3, "1e-6")
    table = tmp_path / "mountinfo"
    table.write_text(MOUNTS.format(point=str(folder).replace(" ", r"\040"), kind=kind))
    monkeypatch.setattr(systems, "MOUNTS", table)
    with pytest.raises(LedgerError, match=f"network file system .{kind}.*PostgreSQL"):
        Ledger(path).show()
    with pytest.raises(LedgerError, match="network file system"):
        Ledger(folder / "other.ledger").initialise("registry", 3, "1e-6")
    assert not (folder / "other.ledger").exists()
    table.write_text(MOUNTS.format(point=str(folder), kind="ext4"))
    Ledger(path).show()
    monkeypatch.setattr(systems, "MOUNTS", tmp_path / "no such table")
    Ledger(path).show()
