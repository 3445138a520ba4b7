"""Whose turn it is: the processes that wait to write to an SQLite ledger, in order of arrival.

SQLite has no queue.  A process that finds the file locked tries again, and whoever happens to try
first has the lock next, so that waiting times have a long tail however short the lock is held: among
sixteen processes on an overloaded machine somebody waits for many times the average.

So a writer first takes a place here: it locks one byte of the empty file `<ledger>-queue`, at the
offset of its arrival on the machine's monotonic clock, and waits until no earlier byte is locked.
The kernel gives back the bytes of a process that dies.  Nothing but fairness rests on this: SQLite's
own lock admits one writer, whatever happens to the queue.
"""

import fcntl
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PAUSE_SECONDS = 0.004
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
                time.sleep(_PAUSE_SECONDS)
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
