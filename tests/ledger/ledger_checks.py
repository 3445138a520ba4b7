"""Checks of a ledger file's place and witness, for `tests/mechanisms/test_seeded_bugs.py`."""

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import pytest

from discreet.errors import LedgerError
from discreet.ledger import Ledger, ReleaseRequest, book, systems
from discreet.ledger.book import Entry
from discreet.ledger.sqlite import SqliteSession, Witness
from discreet.privacy.guarantee import Guarantee

PARTS = {"inode": "1", "birth": "2", "file system": "3", "machine": "4"}


@contextmanager
def ledger_file() -> Iterator[Path]:
    """A ledger with a budget of 3."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "budget.db"
        Ledger(path).initialise("registry", 3)
        yield path


def reserve(path: Path, name: str) -> None:
    Ledger(path).reserve(ReleaseRequest(name, Guarantee(1.0)))


def check_a_restored_file_is_born_again() -> None:
    """A file that replaces a deleted one may have its inode; it has another time of birth."""
    with ledger_file() as path:
        before, content = systems.place_of(path), path.read_bytes()
        path.unlink()
        time.sleep(0.02)
        path.write_bytes(content)
        after = systems.place_of(path)
    assert before.get("birth") != after.get("birth")


def check_a_place_names_file_system_and_machine() -> None:
    """Both are in the place wherever the system says them."""
    with ledger_file() as path:
        identity = path.with_name("machine-id")
        identity.write_text("0123456789abcdef" * 2)
        with patch.object(systems, "MACHINE_IDS", (identity,)):
            place = systems.place_of(path)
        kind = systems._mounted_type(os.path.realpath(path.parent))
    assert "machine" in place
    assert "file system" in place or kind not in systems.UUID_FILE_SYSTEMS


def check_every_part_of_a_place_counts() -> None:
    """Another part makes a copy, and so does an inode or a birth that is not found."""
    for name in PARTS:
        assert not book.same_place(PARTS, {**PARTS, name: "other"})
        missing = {key: value for key, value in PARTS.items() if key != name}
        assert book.same_place(PARTS, missing) == (name in {"file system", "machine"})


def check_an_old_ledger_learns_its_place_once() -> None:
    """A ledger that recorded its inode alone records the rest with its next charge."""
    with ledger_file() as path:
        whole = systems.place_of(path)
    short = {"inode": whole["inode"]}
    places = [short, whole, {**whole, "birth": "1"}]
    with ledger_file() as path, patch.object(systems, "place_of", lambda _path: places[0]):
        old = path.with_name("old.db")
        Ledger(old).initialise("registry", 3)
        del places[0]
        reserve(old, "one")
        del places[0]
        with pytest.raises(LedgerError, match="this is a copy"):
            reserve(old, "two")


def check_a_placed_entry_moves_nothing() -> None:
    """An entry that adds to the place may not change it: only an adoption does."""
    with ledger_file() as path:
        ledger = Ledger(path)
        with ledger._store.session(write=True) as session:
            found = ledger._current(session)
            session.append(Entry("placed", {"place": "inode 1"}, found.head))
            session.commit()
        with pytest.raises(LedgerError, match="makes no sense"):
            Ledger(path).show()


def check_a_torn_promise_leaves_the_one_before() -> None:
    """A promise is written over the older of the two slots."""
    with ledger_file() as path:
        witness = Witness(path)
        heads = [witness.read()]
        for name in ("one", "two"):
            reserve(path, name)
            heads.append(witness.read())
        newest = str(heads[-1]).encode()
        witness.path.write_bytes(
            witness.path.read_bytes().replace(newest, b"torn".ljust(len(newest)))
        )
        with suppress(LedgerError):
            assert witness.read() == heads[-2]
            return
        raise AssertionError("both promises were lost")


def check_a_promise_waits_for_the_write_lock() -> None:
    """Two promises at once would overwrite each other's slot."""
    with ledger_file() as path:
        now = Ledger(path).show().head
        head = book.Head(now.ledger, now.sequence + 1, now.hash)
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as connection:
                session = SqliteSession(connection, Witness(path), {}, 0.05)
                with pytest.raises(sqlite3.OperationalError, match="locked"):
                    session.promise(head)
