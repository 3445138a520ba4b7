"""Convert the faults of disks, files and servers into one typed error that says what to do.

Every fault fails closed: the error leaves `reserve` before a draw is permitted, so whatever the
disk did there is no release.  The operation that a fault interrupts adds what it means for the
release.  Texts of the database libraries are not passed on: they may quote a connection string.
"""

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from discreet.errors import LedgerError


class LedgerFaultError(LedgerError):
    """A fault of disk, file, lock or server."""


_DISK_FULL = "the disk (or the file size limit) is full: make room, then try again"
_READ_ONLY = (
    "the ledger cannot be written: the file, its folder or the file system is read-only for this "
    "user. Spending needs write permission on both"
)
_MISSING = (
    "there is no ledger at this path. `discreet budget init`, or ds.Ledger(path).initialise(...), "
    "makes one; if there was one, restore it, because a new one would forget what is spent"
)
_DAMAGED = (
    "the ledger file is damaged (truncated, torn or overwritten). Restore the newest undamaged "
    "copy and check it with `discreet budget verify --release` and the newest release"
)
_NOT_A_LEDGER = "the file is not a ledger (not an SQLite database): check the path"
_DISK_FAILED = (
    "the disk failed while the ledger was read or written, or it is full: check its free space, "
    "then its health"
)

_BY_ERRNO = {
    errno.ENOSPC: _DISK_FULL,
    getattr(errno, "EDQUOT", errno.ENOSPC): _DISK_FULL,  # not on Windows
    errno.EFBIG: _DISK_FULL,
    errno.EROFS: _READ_ONLY,
    errno.EACCES: _READ_ONLY,
    errno.EPERM: _READ_ONLY,
    errno.ENOENT: _MISSING,
    errno.EEXIST: "a file of that name appeared meanwhile; nothing was overwritten",
    errno.ELOOP: "there is a symbolic link where the ledger or its witness file should be",
}

_BY_SQLITE_CODE = {
    sqlite3.SQLITE_FULL: _DISK_FULL,
    sqlite3.SQLITE_READONLY: _READ_ONLY,
    sqlite3.SQLITE_PERM: _READ_ONLY,
    sqlite3.SQLITE_CANTOPEN: _READ_ONLY,
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_NOTADB: _NOT_A_LEDGER,
    sqlite3.SQLITE_IOERR: _DISK_FAILED,
    sqlite3.SQLITE_CONSTRAINT: "the ledger refused an entry that contradicts those it holds",
}

_LOCKED_CODES = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL)

_SERVER_FAILED = "the ledger's server reported an error: read the server's log"
_LOST = (
    "the connection to the ledger's server was lost; once it is back, `discreet budget show` says "
    "what was recorded"
)

# by SQLSTATE, or its class in the first two characters
_BY_SQLSTATE = {
    "53100": _DISK_FULL,
    "25006": "the ledger's server takes only read-only transactions: ask who runs it",
    "42501": "the user of the ledger URL has no permission to spend: grant it on the schema "
    "discreet_ledger",
    "23": _BY_SQLITE_CODE[sqlite3.SQLITE_CONSTRAINT],
    "42": "the ledger's tables are not those this version of discreet made: check the database",
    "08": _LOST,
    "57": _LOST,
}


@contextmanager
def typed_faults(lock_timeout: float) -> Iterator[None]:
    """Turn every fault of file or database inside into a `LedgerError`."""
    try:
        yield
    except sqlite3.Error as fault:
        text = _BY_SQLITE_CODE.get(_primary_code(fault), _DAMAGED)
        raise _error(locked_text(lock_timeout) if is_locked(fault) else text) from None
    except OSError as fault:
        raise _error(_BY_ERRNO.get(fault.errno or 0, _DISK_FAILED)) from None


def locked_text(lock_timeout: float) -> str:
    """Return the message for a lock that another process kept too long."""
    return (
        f"the ledger was locked by another process for {lock_timeout:g} s. Find the process that "
        "holds it (a backup, a stopped fit), then try again"
    )


@contextmanager
def with_consequence(sentence: str) -> Iterator[None]:
    """Add to a fault the sentence on what it means for the release."""
    try:
        yield
    except LedgerFaultError as fault:
        raise LedgerError(f"{fault} {sentence}") from None


def _error(text: str) -> LedgerFaultError:
    return LedgerFaultError(f"{text}.")


def is_locked(fault: sqlite3.Error) -> bool:
    """Return whether another process holds the lock."""
    return _primary_code(fault) in _LOCKED_CODES


def _primary_code(fault: sqlite3.Error) -> int:
    # extended result codes carry the primary code in their low byte
    return int(getattr(fault, "sqlite_errorcode", sqlite3.SQLITE_ERROR)) & 0xFF


@contextmanager
def postgres_faults(lock_timeout: float) -> Iterator[None]:
    """Turn every fault of the server or the connection inside into a `LedgerError`."""
    import psycopg  # noqa: PLC0415  # an optional dependency

    try:
        yield
    except psycopg.errors.LockNotAvailable:
        raise _error(locked_text(lock_timeout)) from None
    except psycopg.Error as fault:
        state = fault.sqlstate or "08"
        text = _BY_SQLSTATE.get(state) or _BY_SQLSTATE.get(state[:2], _SERVER_FAILED)
        raise _error(text) from None
