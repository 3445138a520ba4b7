"""How far long work is, for whoever waits: the work counts, the terminal draws.

Nothing is shown and nothing is kept unless somebody watches.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol


class Watcher(Protocol):
    """Somebody who waits. Threads may call `advance`."""

    def begin(self, total: int) -> None:
        """So many units of work are ahead."""

    def advance(self, units: int) -> None:
        """So many more are done."""

    def note(self, text: str) -> None:
        """A sentence for the person at the terminal and nobody else."""


class Nobody:
    """Watches nothing."""

    def begin(self, total: int) -> None:
        """Ignored."""

    def advance(self, units: int) -> None:
        """Ignored."""

    def note(self, text: str) -> None:
        """Ignored."""


_WATCHER: ContextVar[Watcher] = ContextVar("watcher", default=Nobody())  # noqa: B039 - has no state


def watcher() -> Watcher:
    """Who watches; hand it to threads, which do not inherit it."""
    return _WATCHER.get()


@contextmanager
def watching(somebody: Watcher) -> Iterator[None]:
    """Let somebody watch the work inside."""
    token = _WATCHER.set(somebody)
    try:
        yield
    finally:
        _WATCHER.reset(token)
