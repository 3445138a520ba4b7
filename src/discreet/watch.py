"""Progress of long work: the work counts its units, a watcher such as the terminal shows them."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class Watcher:
    """A receiver of progress; this one ignores it. Threads may call `advance`."""

    def begin(self, total: int) -> None:
        """Add `total` units of work to those ahead."""

    def advance(self, units: int) -> None:
        """Add `units` to those done."""


_WATCHER: ContextVar[Watcher] = ContextVar("watcher", default=Watcher())  # noqa: B039 - has no state


def watcher() -> Watcher:
    """Return the current watcher; hand it to threads, which do not inherit it."""
    return _WATCHER.get()


@contextmanager
def watching(chosen: Watcher) -> Iterator[None]:
    """Make `chosen` the watcher of the work inside."""
    token = _WATCHER.set(chosen)
    try:
        yield
    finally:
        _WATCHER.reset(token)
