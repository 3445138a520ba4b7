"""What a backend must do, and no more: keep rows in order, one writer at a time, durably."""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Protocol

from discreet.ledger.chain import Entry, Head, Row


class Session(Protocol):
    """An open connection; between `writing()` and `commit` no other process can append."""

    @property
    def place(self) -> str:
        """Where the rows live; a copy of them lives elsewhere."""
        ...

    def promised(self) -> Head | None:
        """The newest head the witness remembers; None where the backend has no witness."""
        ...

    def rows(self, after: int) -> Iterable[Row]:
        """Stored rows with a sequence number above `after`, in order."""
        ...

    def append(self, entry: Entry) -> None:
        """Insert the entry; visible to others after `commit`."""
        ...

    def commit(self) -> None:
        """Make what was appended durable: it survives a crash of process, server and machine."""
        ...

    def promise(self, head: Head) -> None:
        """Remember the head outside the database, where the backend has such a place."""
        ...

    def adopt(self, head: Head) -> None:
        """Make `head` the promise of this copy, whatever was promised elsewhere."""
        ...

    def inspect(self) -> list[str]:
        """What is wrong with the tables themselves (damage, a changed schema); [] when sound."""
        ...


class Store(Protocol):
    """A backend: creates the tables once, then hands out sessions.

    Sessions are short: one connection for one operation.  Nothing is held open while a fit runs
    for hours, nothing is inherited by a forked child, and a restarted server is no special case.
    """

    @property
    def name(self) -> str:
        """The location as it may be printed: never a password."""
        ...

    def create(self, population: str, first: Callable[[str], Entry]) -> Entry:
        """Create the tables exclusively and store the entry `first(place)`, durably."""
        ...

    def reading(self) -> AbstractContextManager[Session]:
        """A session that only reads, from one consistent state."""
        ...

    def writing(self) -> AbstractContextManager[Session]:
        """A session that holds the write lock; leaving it without `commit` changes nothing."""
        ...
