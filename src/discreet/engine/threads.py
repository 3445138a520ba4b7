"""One thread for BLAS while blocks are summed.

The blocks are the only threads: those of BLAS would wait for each other, on a busy machine many
times longer than they work, and the last bit would depend on how many there are.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from threading import Lock

from threadpoolctl import ThreadpoolController

# The limit belongs to the process: whoever sets it lifts it, and others leave it alone meanwhile.
_setting = Lock()


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
