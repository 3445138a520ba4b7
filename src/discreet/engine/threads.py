"""Work in threads, and one thread for BLAS while blocks are summed.

Only blocks run in threads: threads of BLAS would wait for each other, on a busy machine many times
longer than they work, and the last bit would depend on their number.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from threading import Lock
from typing import TypeVar

from threadpoolctl import ThreadpoolController

# The limit is a setting of the process: the call that sets it lifts it, others leave it unchanged.
_setting = Lock()

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_threads(
    function: Callable[[Item], Result], items: Sequence[Item], threads: int | None = None
) -> list[Result]:
    """Apply a function to every item, in their order, with a thread for each core by default.

    Compiled functions run in parallel, all other code takes turns.
    """
    wanted = min(len(items), threads or os.cpu_count() or 1)
    if wanted < 2:
        return [function(item) for item in items]
    with ThreadPoolExecutor(wanted) as pool:
        return list(pool.map(function, items))


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to the calling threads, unless another fit already does."""
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
    return ThreadpoolController()
