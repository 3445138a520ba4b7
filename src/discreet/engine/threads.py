"""Work in threads, and one thread for BLAS while blocks are summed.

The blocks are the only threads: those of BLAS would wait for each other, on a busy machine many
times longer than they work, and the last bit would depend on how many there are.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from threading import Lock
from typing import TypeVar

from threadpoolctl import ThreadpoolController

# The limit belongs to the process: whoever sets it lifts it, and others leave it alone meanwhile.
_setting = Lock()

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_threads(
    function: Callable[[Item], Result], items: Sequence[Item], threads: int | None = None
) -> list[Result]:
    """What the function says of every item, in the items' order; a thread for each core, or so many.

    Compiled functions run beside each other, everything else takes turns.
    """
    wanted = min(len(items), threads or os.cpu_count() or 1)
    if wanted < 2:
        return [function(item) for item in items]
    with ThreadPoolExecutor(wanted) as pool:
        return list(pool.map(function, items))


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to the calling threads, unless a fit that is under way already does."""
    if not _setting.acquire(blocking=False):
        yield
        return
    try:
        with _libraries().limit(limits=1, user_api="blas"):
            yield
    finally:
        _setting.release()


@lru_cache(maxsize=1)
def _libraries() -> ThreadpoolController:
    """The numerical libraries of this process, looked up once."""
    return ThreadpoolController()
