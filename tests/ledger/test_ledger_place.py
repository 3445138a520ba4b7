"""A copy of a ledger is refused, also where it has the inode of the original."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from discreet.errors import BudgetError, LedgerError
from discreet.ledger import Ledger, ReleaseRequest, sqlite, systems
from discreet.ledger.book import place_parts, place_text
from discreet.privacy.guarantee import Guarantee
from tests.ledger.other_file_system import MEGABYTES

ROOT = Path(__file__).parents[2]
FILES = ("budget.db", "budget.db-head")
FULL = {"inode": "12", "birth": "1700000000000000000", "file system": "a1b2", "machine": "c3d4"}


def request(name):
    return ReleaseRequest(name, Guarantee(1.0))


@pytest.fixture
def path(tmp_path):
    """A ledger whose budget pays for two releases."""
    found = tmp_path / "budget.db"
    Ledger(found).initialise("registry", 2)
    return found


@pytest.mark.parametrize("kind", MEGABYTES)
def test_a_backup_on_a_fresh_file_system_is_a_copy(tmp_path, kind):
    unshare = shutil.which("unshare")
    if unshare is None or os.geteuid() != 0:
        pytest.skip("needs the right to mount a file system, in a mount namespace of its own")
    if kind != "tmpfs" and shutil.which(f"mkfs.{kind}") is None:
        pytest.skip(f"needs mkfs.{kind}")
    command = [unshare, "--mount", sys.executable, "-m", "tests.ledger.other_file_system"]
    done = subprocess.run(
        [*command, kind, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if "CalledProcessError" in done.stderr and "mount" in done.stderr:
        pytest.skip(f"a file system of type {kind} cannot be mounted here")
    found = json.loads(done.stdout)
    assert found["same inode"]
    assert found["first"] == "charged"
    assert "this is a copy" in found["second"]
    assert "this is a copy" in found["problems"][0]


def test_a_backup_restored_with_the_inode_of_the_deleted_ledger_is_a_copy(path):
    """ext4 gives the inode of a deleted file to the next one."""
    inode = path.stat().st_ino
    contents = {name: path.with_name(name).read_bytes() for name in FILES}
    Ledger(path).reserve(request("one"))
    for name in FILES:
        path.with_name(name).unlink()
    for number in range(300):  # on a busy disk others may take it first
        found = path.with_name(f"restored-{number}")
        found.write_bytes(contents["budget.db"])
        if found.stat().st_ino == inode:
            break
    else:
        pytest.skip("this file system does not give an inode again at once")
    found.rename(path)
    path.with_name("budget.db-head").write_bytes(contents["budget.db-head"])
    assert "this is a copy" in Ledger(path).verify().problems[0]
    with pytest.raises(LedgerError, match="this is a copy"):
        Ledger(path).reserve(request("two"))


@pytest.mark.skipif(sys.platform != "linux", reason="the parts that Linux knows")
def test_this_system_knows_every_part(path, monkeypatch, tmp_path):
    kind = systems._mounted_type(os.path.realpath(tmp_path))
    identity = tmp_path / "machine-id"
    identity.write_text("0123456789abcdef0123456789abcdef\n")
    monkeypatch.setattr(systems, "MACHINE_IDS", (tmp_path / "missing", identity))
    found = systems.place_of(path)
    known = kind in systems.UUID_FILE_SYSTEMS
    assert list(found) == [name for name in FULL if known or name != "file system"]
    assert "0123456789abcdef" not in place_text(found)


@pytest.mark.skipif(sys.platform == "linux", reason="the parts that other systems know")
def test_another_system_knows_every_part(path):
    assert list(systems.place_of(path)) == list(FULL)


def test_the_place_is_the_same_in_every_process_and_after_a_rename(path):
    code = "import sys; from pathlib import Path; from discreet.ledger import systems\n"
    code += "print(sorted(systems.place_of(Path(sys.argv[1])).items()))"
    before = systems.place_of(path)
    other = path.rename(path.with_name("renamed"))
    done = subprocess.run(
        [sys.executable, "-c", code, str(other)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == str(sorted(before.items()))


@pytest.mark.parametrize("text", ["uninitialized", "", "0123", "not hexadecimal"])
def test_a_machine_without_an_identity_has_none(path, monkeypatch, text):
    identity = path.with_name("machine-id")
    identity.write_text(text)
    monkeypatch.setattr(systems, "MACHINE_IDS", (identity,))
    assert "machine" not in systems.place_of(path)


def test_a_place_is_written_and_read():
    assert place_parts(place_text(FULL)) == FULL
    assert place_parts("inode 12") == {"inode": "12"}
    assert place_parts("cluster 7, timeline 00000001, database 5")["timeline"] == "00000001"


def test_another_machine_is_another_place(tmp_path, monkeypatch):
    path = tmp_path / "budget.db"
    monkeypatch.setattr(systems, "_machine", lambda: "first")
    Ledger(path).initialise("registry", 2)
    monkeypatch.setattr(systems, "_machine", lambda: "another")
    with pytest.raises(LedgerError, match="this is a copy"):
        Ledger(path).show()
    monkeypatch.setattr(systems, "_machine", lambda: "")
    Ledger(path).reserve(request("in-a-container"))


@pytest.fixture
def old(tmp_path, monkeypatch):
    """A ledger as version 0.2 left it: its place is the inode, its format is 1."""
    path = tmp_path / "budget.db"
    with monkeypatch.context() as patch:
        whole = systems.place_of
        patch.setattr(systems, "place_of", lambda file: {"inode": whole(file)["inode"]})
        patch.setattr(sqlite, "FORMAT", 1)
        Ledger(path).initialise("registry", 2)
        Ledger(path).settle(Ledger(path).reserve(request("one")), "ab" * 32)
    assert version_of(path) == 1
    return path


def version_of(path):
    connection = sqlite3.connect(path)
    (found,) = connection.execute("PRAGMA user_version").fetchone()
    connection.close()
    return found


def test_a_ledger_of_0_2_records_its_fuller_place_with_the_next_charge(old):
    ledger = Ledger(old)
    head = ledger.show().head
    assert ledger.verify().sound
    assert "its inode alone" in ledger.verify().notes[0]
    assert ledger.show().head == head  # reading records nothing
    reservation = ledger.reserve(request("two"))
    found = Ledger(old).verify()
    assert found.sound
    assert found.head.sequence == head.sequence + 2
    assert str(found.head) == reservation.head
    assert "entry 4 added parts to the recorded place" in found.notes[0]
    assert version_of(old) == 2  # which says to version 0.2 that it cannot read this
    ledger.settle(reservation, "ab" * 32)
    assert Ledger(old).verify().head.sequence == head.sequence + 3


def test_a_charge_that_is_refused_records_no_place(old):
    with pytest.raises(BudgetError):
        Ledger(old).reserve(ReleaseRequest("three", Guarantee(3.0)))
    assert version_of(old) == 1


def test_a_copy_of_a_completed_ledger_is_refused(old, monkeypatch):
    Ledger(old).reserve(request("two"))
    found = systems.place_of(old)
    elsewhere = {**found, "birth": "1"}
    monkeypatch.setattr(systems, "place_of", lambda _path: elsewhere)
    with pytest.raises(LedgerError, match="this is a copy"):
        Ledger(old).show()


def test_a_copy_from_before_the_completion_passes_and_a_release_tells(old, monkeypatch):
    """The proof page says so: only a release made since can tell."""
    contents = {name: old.with_name(name).read_bytes() for name in FILES}
    head = Ledger(old).reserve(request("two")).head
    for name in FILES:
        old.with_name(name).write_bytes(contents[name])
    restored = Ledger(old)
    assert restored.verify().sound
    restored.reserve(request("other"))
    with pytest.raises(LedgerError, match="was promised and is not in this ledger"):
        restored.adopt(sqlite.Head.parse(head))
