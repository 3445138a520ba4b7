"""The embedded ledger: one SQLite file, with its witness beside it.

Write-ahead log with `synchronous=FULL`: a commit returns after the log is forced to disk.  Writers
take `BEGIN IMMEDIATE`, so between reading what is spent and appending there is no other writer;
who is next is decided by `queue`.
References: SQLite, "Write-Ahead Logging" and "How To Corrupt An SQLite Database File".

Whose turn it is: the processes that wait to write to an SQLite ledger, in order of arrival.

SQLite has no queue.  A process that finds the file locked tries again, and whoever happens to try
first has the lock next, so that waiting times have a long tail however short the lock is held: among
sixteen processes on an overloaded machine somebody waits for many times the average.

So a writer first takes a place here: it locks one byte of the empty file `<ledger>-queue`, at the
offset of its arrival on the machine's monotonic clock, and waits until no earlier byte is locked.
The kernel gives back the bytes of a process that dies.  Nothing but fairness rests on this: SQLite's
own lock admits one writer, whatever happens to the queue.

The witness: a small file beside an SQLite ledger that remembers the last head it promised.

SQLite cannot tell that its write-ahead log was deleted, torn or left behind by a copy: it opens
the older state without a word, and what was charged since would be free again.  So `reserve` and
`settle` return only after the head they committed is also in `<ledger>-head`, forced to disk.
Every later use compares: a ledger that does not contain the witnessed head has lost entries.

The file holds two slots in two disk blocks.  A new head overwrites the older slot, so a write that
is torn by a crash leaves the newest completed promise readable.
"""

import fcntl
import hashlib
import os
import re
import sqlite3
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import quote

from discreet.errors import LedgerError, SettingsError
from discreet.ledger.book import FORMAT, Entry, Head, Row
from discreet.ledger.faults import is_locked, typed_faults

_TURN_PAUSE = 0.004
_TAKEN = (BlockingIOError, PermissionError)  # POSIX allows either


class Queue:
    """The writers of the ledger file of the same name."""

    def __init__(self, ledger: Path) -> None:
        self.path = ledger.with_name(ledger.name + "-queue")
        self._ledger = ledger

    @contextmanager
    def turn(self, deadline: float) -> Iterator[None]:
        """Everybody who came earlier has had a turn; `BlockingIOError` if the deadline is first."""
        descriptor = self._open()
        try:
            arrival = _take_place(descriptor)
            while not _is_first(descriptor, arrival):
                if time.monotonic() > deadline:
                    raise BlockingIOError
                time.sleep(_TURN_PAUSE)
            yield
        finally:
            os.close(descriptor)

    def _open(self) -> int:
        flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            return os.open(self.path, flags)
        except FileNotFoundError:
            descriptor = os.open(self.path, flags | os.O_CREAT, 0o600)
            # who may write to the ledger may wait for it
            os.fchmod(descriptor, stat.S_IMODE(self._ledger.stat().st_mode))
            return descriptor


def _take_place(descriptor: int) -> int:
    """Lock the byte of this moment; two processes in the same nanosecond try again."""
    while True:
        arrival = time.monotonic_ns()
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, arrival)
        except _TAKEN:
            continue
        return arrival


def _is_first(descriptor: int, arrival: int) -> bool:
    """Whether nobody holds an earlier byte."""
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB, arrival, 0)
    except _TAKEN:
        return False
    return True


_BLOCK = 4096
_READ_PAUSE = 0.002


class Witness:
    """The heads promised by the ledger file of the same name."""

    def __init__(self, ledger: Path, lock_timeout: float) -> None:
        self.path = ledger.with_name(ledger.name + "-head")
        self._lock_timeout = lock_timeout

    def create(self, head: Head) -> None:
        """Make the file exclusively (mode 0600, no link followed) with its first promise."""
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(self.path, flags, 0o600)
        try:
            os.pwrite(descriptor, _slot(head), 0)
            os.pwrite(descriptor, b"\n" * _BLOCK, _BLOCK)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def read(self) -> Head:
        """The newest completed promise."""
        with self._opened(os.O_RDONLY) as descriptor:
            self._lock(descriptor, fcntl.LOCK_SH)
            return self._newest(descriptor)[0]

    def promise(self, head: Head) -> None:
        """Remember `head` durably, unless a later head is remembered already.

        A later head of the same chain commits to this one, so nothing is lost by keeping it.
        """
        with self._opened(os.O_RDWR) as descriptor:
            self._lock(descriptor, fcntl.LOCK_EX)
            newest, slot = self._newest(descriptor)
            if newest.sequence < head.sequence:
                os.pwrite(descriptor, _slot(head), (1 - slot) * _BLOCK)
            os.fsync(descriptor)

    def replace(self, head: Head) -> None:
        """Start afresh at `head`, when a custodian adopts a copy; see `StoredLedger.adopt`."""
        self.path.unlink(missing_ok=True)
        self.create(head)

    @contextmanager
    def _opened(self, mode: int) -> Iterator[int]:
        try:
            descriptor = os.open(self.path, mode | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            raise LedgerError(
                "the ledger's witness file (its name with -head) is missing, so nobody can tell "
                "whether this is the newest copy. Put it back beside the ledger, or take the "
                "ledger over with `discreet budget adopt` and its newest release."
            ) from None
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def _lock(self, descriptor: int, kind: int) -> None:
        deadline = time.monotonic() + self._lock_timeout
        while True:
            try:
                fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(_READ_PAUSE)
            else:
                return

    def _newest(self, descriptor: int) -> tuple[Head, int]:
        slots = [(_read_slot(os.pread(descriptor, _BLOCK, i * _BLOCK)), i) for i in (0, 1)]
        complete = [(head, i) for head, i in slots if head is not None]
        if not complete:
            raise LedgerError(
                "the ledger's witness file (its name with -head) is damaged, so nobody can tell "
                "whether this is the newest copy. Restore it, or take the ledger over with "
                "`discreet budget adopt` and its newest release."
            )
        return max(complete, key=lambda pair: pair[0].sequence)


def _slot(head: Head) -> bytes:
    text = str(head).encode("ascii")
    return (text + b" " + _checksum(text) + b"\n").ljust(_BLOCK, b"\n")


def _read_slot(block: bytes) -> Head | None:
    text, _, rest = block.partition(b" ")
    if not rest or rest.rstrip(b"\n") != _checksum(text):
        return None
    return Head.parse(text.decode("ascii"))


def _checksum(text: bytes) -> bytes:
    return hashlib.sha256(b"discreet witness 1\n" + text).hexdigest().encode("ascii")


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

NETWORK_FILE_SYSTEMS = frozenset(
    [
        *("afs", "beegfs", "ceph", "cifs", "davfs", "davfs2", "gcsfuse", "glusterfs", "gpfs"),
        *("lustre", "ncpfs", "nfs", "nfs4", "orangefs", "rclone", "s3fs", "smb3", "smbfs", "sshfs"),
    ]
)
"""As Linux names them, without its prefix "fuse."."""

_MOUNTS = Path("/proc/self/mountinfo")
_PAUSE_SECONDS = 0.002
_SIDE_FILES = ("-wal", "-shm", "-journal", "-head")


@dataclass(frozen=True)
class SqliteSession:
    """One connection, used for one operation."""

    connection: sqlite3.Connection
    witness: Witness
    place: str

    def promised(self) -> Head | None:
        """The newest promise of the witness file."""
        return self.witness.read()

    def rows(self, after: int) -> Iterable[Row]:
        """Rows above `after`, in order."""
        query = "SELECT sequence, content, hash FROM entry WHERE sequence > ? ORDER BY sequence"
        return [Row(*values) for values in self.connection.execute(query, (after,))]

    def append(self, entry: Entry) -> None:
        """Insert the entry within the open transaction."""
        row = entry.row
        self.connection.execute(
            "INSERT INTO entry (sequence, kind, release_id, content, hash) VALUES (?, ?, ?, ?, ?)",
            (row.sequence, entry.kind, entry.release_id, row.content, row.hash),
        )

    def commit(self) -> None:
        """Force the write-ahead log to disk."""
        self.connection.execute("COMMIT")

    def promise(self, head: Head) -> None:
        """Remember the head in the witness file, forced to disk."""
        self.witness.promise(head)

    def adopt(self, head: Head) -> None:
        """Give this copy a witness of its own."""
        self.witness.replace(head)

    def inspect(self) -> list[str]:
        """SQLite's own integrity check, and the schema against the one we create."""
        problems = [
            f"SQLite's integrity check says: {text}"
            for (text,) in self.connection.execute("PRAGMA integrity_check(5)")
            if text != "ok"
        ]
        found = {text for (text,) in self.connection.execute(_SCHEMA_QUERY)}
        if found != set(_SCHEMA):
            problems.append("the tables are not those a ledger has (a changed schema)")
        return problems


_SCHEMA_QUERY = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL"


class SqliteStore:
    """A ledger in one file."""

    def __init__(self, path: Path, lock_timeout: float) -> None:
        self._path = Path(os.path.abspath(path))  # noqa: PTH100  # resolve() would follow links
        self._lock_timeout = lock_timeout
        self._witness = Witness(self._path, lock_timeout)
        self._queue = Queue(self._path)

    @property
    def name(self) -> str:
        """The path as it was given."""
        return str(self._path)

    def create(self, population: str, first: Callable[[str], Entry]) -> Entry:  # noqa: ARG002
        """Create file, tables, first entry and witness; nothing that exists is overwritten."""
        with typed_faults(self._lock_timeout):
            self._refuse_leftovers()
            _require_local(self._path.parent)
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            os.close(os.open(self._path, flags, 0o600))
            try:
                entry = first(self._place())
                self._fill(entry)
                self._witness.create(entry.head)
            except BaseException:
                # nobody can have spent: without its witness no ledger is used
                for ending in ("", *_SIDE_FILES):
                    Path(f"{self._path}{ending}").unlink(missing_ok=True)
                raise
            self._force_folder()
            return entry

    @contextmanager
    def reading(self) -> Iterator[SqliteSession]:
        """A session in one read transaction."""
        with typed_faults(self._lock_timeout), self._session("BEGIN", _no_turn) as session:
            yield session

    @contextmanager
    def writing(self) -> Iterator[SqliteSession]:
        """A session in one write transaction, which holds the only write lock."""
        turn = self._queue.turn
        with typed_faults(self._lock_timeout), self._session("BEGIN IMMEDIATE", turn) as session:
            yield session

    @contextmanager
    def _session(self, begin: str, turn: "_Turn") -> Iterator[SqliteSession]:
        place = self._place()
        _require_local(self._path.parent)
        deadline = time.monotonic() + self._lock_timeout
        with self._connected(deadline) as connection:
            _patiently(deadline, partial(_require_ledger, connection))
            with turn(deadline):  # the next in line tries while this one writes
                _patiently(deadline, partial(connection.execute, begin))
            # from here on only the recovery after a crash can be in the way, and briefly
            connection.execute(f"PRAGMA busy_timeout={round(1000 * self._lock_timeout)}")
            if self._place() != place:
                raise LedgerError("the ledger file was replaced while it was being opened.")
            yield SqliteSession(connection, self._witness, place)

    @contextmanager
    def _connected(self, deadline: float) -> Iterator[sqlite3.Connection]:
        uri = f"file:{quote(str(self._path))}?mode=rw"
        connection = sqlite3.connect(
            uri, uri=True, timeout=0, isolation_level=None, check_same_thread=False
        )
        with closing(connection):
            for pragma in ("synchronous=FULL", "fullfsync=ON", "trusted_schema=OFF"):
                _patiently(deadline, partial(connection.execute, f"PRAGMA {pragma}"))
            yield connection

    def _fill(self, entry: Entry) -> None:
        with self._connected(time.monotonic() + self._lock_timeout) as connection:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version={FORMAT}")
            for statement in _SCHEMA:
                connection.execute(statement)
            session = SqliteSession(connection, self._witness, self._place())
            session.append(entry)
            session.commit()

    def _place(self) -> str:
        """The file's inode: it stays on a rename, and a copy has another.

        A second hard link or a symbolic link would give the same file a second write-ahead log
        under another name, which SQLite does not notice; both are refused.
        """
        status = os.lstat(self._path)
        if stat.S_ISLNK(status.st_mode):
            raise LedgerError("the ledger path is a symbolic link; give the file's own path.")
        if not stat.S_ISREG(status.st_mode):
            raise LedgerError("the ledger path is not a regular file.")
        if status.st_nlink != 1:
            raise LedgerError("the ledger file has a second name (a hard link); remove that name.")
        return f"inode {status.st_ino}"

    def _refuse_leftovers(self) -> None:
        if not self._path.parent.is_dir():
            raise SettingsError("the folder of the new ledger does not exist; make it first.")
        if os.path.lexists(self._path):
            raise LedgerError("there is a file at this path already; it is kept as it is.")
        for ending in _SIDE_FILES:
            if os.path.lexists(f"{self._path}{ending}"):
                raise LedgerError(
                    f"a file with the new ledger's name and the ending {ending} is left from an "
                    "earlier ledger. If that ledger made releases, restore it: its budget is "
                    "spent. If it made none, remove the file and initialise again."
                )

    def _force_folder(self) -> None:
        descriptor = os.open(self._path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _require_local(folder: Path) -> None:
    """Refuse a network file system: locks and the log's shared memory do not reach other machines."""
    kind = _file_system(os.path.realpath(folder))
    if kind.removeprefix("fuse.") in NETWORK_FILE_SYSTEMS:
        raise LedgerError(
            f"the ledger lies on a network file system ({kind}), where two machines could spend "
            "the same budget: keep it on a local disk, or in PostgreSQL "
            "('discreet budget init postgresql://...'). Nothing was charged."
        )


def _file_system(folder: str) -> str:
    """The type of the file system that holds a folder, by Linux' table; elsewhere not known."""
    try:
        lines = _MOUNTS.read_text(errors="surrogateescape").splitlines()
    except OSError:
        return ""
    found = "", ""
    for line in lines:
        before, _, after = line.partition(" - ")
        point = _unescaped(before.split()[4])
        inside = folder == point or folder.startswith(f"{point.rstrip('/')}/")
        if inside and len(point) >= len(found[0]):  # the last of equal ones is on top
            found = point, after.split()[0]
    return found[1]


def _unescaped(point: str) -> str:
    """Blanks and the like stand in the table as octal numbers."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), point)


_Turn = Callable[[float], AbstractContextManager[None]]


def _no_turn(_deadline: float) -> AbstractContextManager[None]:
    """Readers wait for nobody."""
    return nullcontext()


def _patiently(deadline: float, action: Callable[[], object]) -> None:
    """Try until the file is free: the writer before, a recovery, the close of the last connection."""
    while True:
        try:
            action()
        except sqlite3.OperationalError as fault:
            if not is_locked(fault) or time.monotonic() > deadline:
                raise
            time.sleep(_PAUSE_SECONDS)
        else:
            return


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
    if version != FORMAT:
        raise LedgerError(
            f"the ledger has format {version}, this version of discreet reads format {FORMAT}: "
            "use the version of discreet that wrote it, or a newer one."
        )
    if journal != "wal":
        raise LedgerError("the ledger's journal mode was changed; it must be WAL.")
