"""The witness: a small file beside an SQLite ledger that remembers the last head it promised.

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
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from discreet.errors import LedgerError
from discreet.ledger.chain import Head

_BLOCK = 4096
_PAUSE_SECONDS = 0.002


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
                time.sleep(_PAUSE_SECONDS)
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
