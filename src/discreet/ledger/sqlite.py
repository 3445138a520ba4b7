"""The embedded ledger: one SQLite file, with its witness beside it.

Write-ahead log with `synchronous=FULL`: a commit returns after the log is forced to disk.  Writers
take `BEGIN IMMEDIATE`, so between reading what is spent and appending there is no other writer;
SQLite's locks hold on Linux, macOS and Windows, and end with the process that holds them.
References: SQLite, "Write-Ahead Logging" and "How To Corrupt An SQLite Database File".

The witness is a small file beside the ledger with the head of the last promised entry.  SQLite
does not notice that its write-ahead log was deleted, torn or left behind by a copy: it opens the
older state without an error, and later charges would be lost.  So `reserve` and `settle` return
only after the head they committed is also in `<ledger>-head`, forced to disk.  Every later use
compares: a ledger that does not contain the witnessed head has lost entries.

The file holds two slots in two disk blocks.  A new head overwrites the older slot, so a write that
is torn by a crash leaves the newest completed promise readable.  It is written under the write
lock of the ledger, so promises come one at a time.
"""

import errno
import hashlib
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from io import FileIO
from pathlib import Path

from discreet import disk
from discreet.errors import LedgerError, SettingsError
from discreet.ledger import systems
from discreet.ledger.book import ADOPTED, PLACED, Entry, Head, LedgerRow, Place
from discreet.ledger.faults import is_locked, typed_faults

_BLOCK = 4096
_READINGS = 3
_PAUSE_SECONDS = 0.004


class Witness:
    """The heads promised by the ledger file of the same name."""

    def __init__(self, ledger: Path) -> None:
        self.path = ledger.with_name(ledger.name + "-head")

    def create(self, head: Head) -> None:
        """Make the file exclusively (mode 0600, no link followed) with its first promise."""
        with disk.create(self.path) as file:
            _write(file, 0, _slot(head) + b"\n" * _BLOCK)

    def read(self) -> Head:
        """Return the newest completed promise."""
        with self._opened(writable=False) as file:
            return _newest(file)[0]

    def covers(self, head: Head) -> bool:
        """Return whether this head or a later one of the chain is remembered durably."""
        with self._opened(writable=True) as file:
            later = _newest(file)[0].sequence >= head.sequence
            disk.force(file)  # its writer may not have done that yet
            return later

    def promise(self, head: Head) -> None:
        """Remember `head` durably, unless a later head is remembered already.

        The caller holds the write lock of the ledger.  A later head of the same chain commits to
        this one, so nothing is lost by keeping it.
        """
        with self._opened(writable=True) as file:
            newest, slot = _newest(file)
            if newest.sequence < head.sequence:
                _write(file, (1 - slot) * _BLOCK, _slot(head))
            else:
                disk.force(file)

    def replace(self, head: Head) -> None:
        """Make `head` the only promise, when a custodian adopts a copy; see `Ledger.adopt`."""
        self.path.unlink(missing_ok=True)
        self.create(head)

    @contextmanager
    def _opened(self, *, writable: bool) -> Iterator[FileIO]:
        try:
            file = disk.open_existing(self.path, writable=writable)
        except FileNotFoundError:
            raise LedgerError(
                "the ledger's witness file (its name with -head) is missing, so it cannot be known "
                "whether this is the newest copy. Put it back beside the ledger, or take the "
                "ledger over with `discreet budget adopt` and its newest release."
            ) from None
        with file:
            yield file


def _write(file: FileIO, offset: int, content: bytes) -> None:
    file.seek(offset)
    if file.write(content) != len(content):
        raise OSError(errno.ENOSPC, "short write")
    disk.force(file)


def _newest(file: FileIO) -> tuple[Head, int]:
    """Return the newest completed promise and its slot.

    A slot that is being written reads as torn, and readers hold no lock: they read again.
    """
    for _ in range(_READINGS):
        file.seek(0)
        content = file.read(2 * _BLOCK)
        complete = []
        for slot in (0, 1):
            text, _, rest = content[slot * _BLOCK : (slot + 1) * _BLOCK].partition(b" ")
            if rest and rest.rstrip(b"\n") == _checksum(text):
                complete.append((Head.parse(text.decode("ascii")), slot))
        if complete:
            return max(complete, key=lambda pair: pair[0].sequence)
    raise LedgerError(
        "the ledger's witness file (its name with -head) is damaged, so it cannot be known "
        "whether this is the newest copy. Restore it, or take the ledger over with "
        "`discreet budget adopt` and its newest release."
    )


def _slot(head: Head) -> bytes:
    text = str(head).encode("ascii")
    return (text + b" " + _checksum(text) + b"\n").ljust(_BLOCK, b"\n")


def _checksum(text: bytes) -> bytes:
    return hashlib.sha256(b"discreet witness 1\n" + text).hexdigest().encode("ascii")


FORMAT = 2
"""Version of the file: in 2 the place of a ledger has several parts, and `placed` adds parts."""

FORMATS = (1, 2)
APPLICATION_ID = 0x44504C31
"""Marks the file as a ledger of this package ("DPL1"), in SQLite's header."""

_TABLE = """CREATE TABLE entry (
    sequence INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    release_id TEXT,
    content TEXT NOT NULL,
    hash TEXT NOT NULL UNIQUE,
    UNIQUE (kind, release_id)
) STRICT"""
_NO_UPDATE = """CREATE TRIGGER entry_is_never_changed BEFORE UPDATE ON entry
BEGIN SELECT RAISE(ABORT, 'a ledger entry is never changed'); END"""
_NO_DELETE = """CREATE TRIGGER entry_is_never_deleted BEFORE DELETE ON entry
BEGIN SELECT RAISE(ABORT, 'a ledger entry is never deleted'); END"""
_SCHEMA = (_TABLE, _NO_UPDATE, _NO_DELETE)

_SIDE_FILES = ("-wal", "-shm", "-journal", "-head")


@dataclass(frozen=True)
class SqliteSession:
    """One connection for one operation."""

    connection: sqlite3.Connection
    witness: Witness
    place: Place
    lock_timeout: float

    def promised(self) -> Head | None:
        """Return the newest promise of the witness file."""
        return self.witness.read()

    def rows(self, after: int) -> Iterable[LedgerRow]:
        """Return the rows above `after`, in order."""
        query = "SELECT sequence, content, hash FROM entry WHERE sequence > ? ORDER BY sequence"
        return [LedgerRow(*values) for values in self.connection.execute(query, (after,))]

    def append(self, entry: Entry) -> None:
        """Insert the entry within the open transaction."""
        if entry.kind in {PLACED, ADOPTED}:  # earlier versions cannot read these
            self.connection.execute(f"PRAGMA user_version={FORMAT}")
        self.connection.execute(
            "INSERT INTO entry (sequence, kind, release_id, content, hash) VALUES (?, ?, ?, ?, ?)",
            (entry.sequence, entry.kind, entry.release_id, entry.content, entry.head.hash),
        )

    def commit(self) -> None:
        """Force the write-ahead log to disk."""
        self.connection.execute("COMMIT")

    def promise(self, head: Head) -> None:
        """Remember the head in the witness file, forced to disk, under the write lock."""
        if not self.witness.covers(head):
            begin_writing(self.connection, self.lock_timeout)
            self.witness.promise(head)
            self.connection.execute("ROLLBACK")

    def adopt(self, head: Head) -> None:
        """Give this copy its own witness."""
        self.witness.replace(head)

    def inspect(self) -> list[str]:
        """Run SQLite's integrity check, and compare the schema with that of a new ledger."""
        problems = [
            f"SQLite's integrity check says: {text}"
            for (text,) in self.connection.execute("PRAGMA integrity_check(5)")
            if text != "ok"
        ]
        query = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL"
        found = {text for (text,) in self.connection.execute(query)}
        if found != set(_SCHEMA):
            problems.append("the tables are not those a ledger has (a changed schema)")
        return problems


class SqliteStore:
    """A ledger in one file; `name` is its path."""

    def __init__(self, path: Path, lock_timeout: float) -> None:
        self._path = Path(os.path.abspath(path))  # noqa: PTH100  # resolve() would follow links
        self.name = str(self._path)
        self._lock_timeout = lock_timeout
        self._witness = Witness(self._path)

    def create(self, population: str, first: Callable[[Place], Entry]) -> Entry:  # noqa: ARG002
        """Create file, tables, first entry and witness; nothing that exists is overwritten."""
        with typed_faults(self._lock_timeout):
            if not self._path.parent.is_dir():
                raise SettingsError("the folder of the new ledger does not exist; make it first.")
            if os.path.lexists(self._path):
                raise LedgerError("there is a file at this path already; it is kept as it is.")
            for ending in _SIDE_FILES:
                if os.path.lexists(f"{self._path}{ending}"):
                    raise LedgerError(
                        f"a file with the new ledger's name and the ending {ending} is left from "
                        "an earlier ledger. If that ledger made releases, restore it: its budget "
                        "is spent. If it made none, remove the file and initialise again."
                    )
            systems.require_local(self._path.parent)
            disk.create(self._path).close()
            try:
                entry = first(systems.place_of(self._path))
                with self._connected() as connection:
                    connection.execute("PRAGMA journal_mode=WAL")
                    connection.execute("BEGIN IMMEDIATE")
                    connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
                    connection.execute(f"PRAGMA user_version={FORMAT}")
                    for statement in _SCHEMA:
                        connection.execute(statement)
                    session = SqliteSession(connection, self._witness, {}, self._lock_timeout)
                    session.append(entry)
                    session.commit()
                self._witness.create(entry.head)
            except BaseException:
                # nothing can have been spent: without its witness no ledger is used
                for ending in ("", *_SIDE_FILES):
                    Path(f"{self._path}{ending}").unlink(missing_ok=True)
                raise
            disk.force_folder(self._path.parent)
            return entry

    @contextmanager
    def session(self, *, write: bool) -> Iterator[SqliteSession]:
        """Open a session in one transaction; a writing one holds the only write lock."""
        with typed_faults(self._lock_timeout):
            place = systems.place_of(self._path)
            systems.require_local(self._path.parent)
            with self._connected() as connection:
                _require_ledger(connection)
                if write:
                    begin_writing(connection, self._lock_timeout)
                else:
                    connection.execute("BEGIN")
                if systems.place_of(self._path) != place:
                    raise LedgerError("the ledger file was replaced while it was being opened.")
                yield SqliteSession(connection, self._witness, place, self._lock_timeout)

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        uri = f"{self._path.as_uri()}?mode=rw"
        connection = sqlite3.connect(
            uri,
            uri=True,
            timeout=self._lock_timeout,
            isolation_level=None,
            check_same_thread=False,
        )
        with closing(connection):
            for pragma in ("synchronous=FULL", "fullfsync=ON", "trusted_schema=OFF"):
                connection.execute(f"PRAGMA {pragma}")
            yield connection


def begin_writing(connection: sqlite3.Connection, lock_timeout: float) -> None:
    """Take the write lock, or raise SQLite's error that it is taken.

    Every waiting process tries equally often.  SQLite's own handler pauses longer the longer it has
    waited, so newcomers go first: one of sixteen processes did not get the lock within 30 s.
    """
    deadline = time.monotonic() + lock_timeout
    connection.execute("PRAGMA busy_timeout=0")
    while True:
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as fault:
            if not is_locked(fault) or time.monotonic() > deadline:
                raise
            time.sleep(_PAUSE_SECONDS)
        else:
            break
    connection.execute(f"PRAGMA busy_timeout={round(1000 * lock_timeout)}")


def _require_ledger(connection: sqlite3.Connection) -> None:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (journal,) = connection.execute("PRAGMA journal_mode").fetchone()
    if application != APPLICATION_ID:
        raise LedgerError(
            "the file is not a ledger: it is empty, something else, or left by an initialisation "
            "that was interrupted. If it was a ledger once, restore it; if nothing was ever spent, "
            "remove it with its -head file and initialise again."
        )
    if version not in FORMATS:
        raise LedgerError(
            f"the ledger has format {version}, this version of discreet reads format {FORMAT} and "
            "older ones: use the version of discreet that wrote it, or a newer one."
        )
    if journal != "wal":
        raise LedgerError("the ledger's journal mode was changed; it must be WAL.")
