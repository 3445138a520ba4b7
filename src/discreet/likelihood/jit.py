"""Compiled functions with a cache that cannot be stale.

numba's file cache depends on the time stamp of a function's file, not on the modules which that file
imports. Here the name of the cache folder is a digest of all source files that compiled code is made
of and of the versions of Python, numpy and numba.
"""

import hashlib
import os
import platform
import sys
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba.core import config, event
from numba.core.caching import FunctionCache
from numba.core.runtime.nrt import rtsys

SOURCES = (
    "core/covariate_sums.py",
    "core/information.py",
    "core/people.py",
    "core/slopes.py",
    "core/walk.py",
    "likelihood/jit.py",
    "likelihood/kernels.py",
    "likelihood/sums.py",
    "paper/kernel.py",
    "paper/sampler.py",
)
"""Files with compiled code, or with what it takes from elsewhere, in the package's folder."""

Function = TypeVar("Function", bound=Callable[..., object])

# fastmath and forceinline are set explicitly: otherwise a function inherits its caller's setting.
# Without the unused wrapper for C, compiling is faster by an eighth.
_compile = partial(
    numba.njit,
    nogil=True,
    error_model="numpy",
    fastmath=False,
    forceinline=False,
    no_cfunc_wrapper=True,
)


def compiled(function: Function) -> Function:
    """Compile without the interpreter lock, without fast-math, and cache by content.

    Division follows numpy: Python's tests every divisor, which prevents vectorisation.
    """
    return _cached(function, _compile)


def compiled_reassociative(function: Function) -> Function:
    """Compile a sum whose terms may be added in any order; nothing else is relaxed."""
    return _cached(function, partial(_compile, fastmath={"reassoc", "contract", "nsz"}))


def compiled_into_callers(function: Function) -> Function:
    """Compile as a part of every caller: calls in an inner loop would count references to arrays."""
    return _cached(function, partial(_compile, forceinline=True))


def _cached(function: Function, compiler: Callable[[Function], object]) -> Function:
    before = str(getattr(config, "CACHE_DIR", ""))
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    _set_folder(str(base / "discreet" / _digest()))
    try:
        # The folder is fixed at decoration, so that other packages keep their own setting.
        made = cast("Any", compiler(function))
        store = cast("Any", _Stored)
        made._cache = store(function)  # noqa: SLF001 - numba has no other way
        return cast("Function", made)
    finally:
        _set_folder(before)


class _Stored(FunctionCache):
    """Compiled code in files; reading it does not load the compiler.

    numba loads all that it could compile before it reads what is compiled: half a second.
    """

    def load_overload(self, sig: object, target_context: Any) -> object:
        """Read the code for these types, or return None."""
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            load: Callable[..., object] = self._load_overload
            return load(sig, target_context)


def _set_folder(folder: str) -> None:
    # numba makes its settings at import, so a type checker does not know them
    vars(config)["CACHE_DIR"] = folder


class _Announcement(event.Listener):
    """Writes once to a terminal that a fit waits for the compiler; loading has no event."""

    written = False

    def on_start(self, event: event.Event) -> None:
        home = getattr(event.data["dispatcher"].py_func, "__module__", None) or ""
        if self.written or not home.startswith("discreet.") or not sys.stderr.isatty():
            return
        self.written = True
        sys.stderr.write(
            "discreet: compiling for this machine, once after an installation; it can take a minute\n"
        )

    def on_end(self, event: event.Event) -> None:
        pass


_announcement = _Announcement()
event.register("numba:compile", _announcement)  # type: ignore[no-untyped-call]


@lru_cache(maxsize=1)
def _digest() -> str:
    digest = hashlib.sha256()
    package = Path(__file__).parents[1]
    for name in SOURCES:
        digest.update(name.encode() + b"\0" + (package / name).read_bytes() + b"\0")
    versions = (platform.python_version(), np.__version__, numba.__version__)
    digest.update(repr(versions).encode())
    return digest.hexdigest()[:32]
