"""One site's people in a joint fit: n counts the persons of all sites, sums are over this site's own.

A sum never leaves this process without noise: the mechanism passes it to a noise source that adds this
site's share of the noise and opens the sum over all sites (`discreet.privacy.shares`).  Before any sum
is computed, the sites compare the question: the function and its public arguments, which every site
computes from the same opened integers.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np

from discreet.engine.engine import Arrays, BlockFunction, Engine
from discreet.errors import SettingsError

_INTEGERS_ONLY = (
    "across sites only integers are summed: private Newton does so, fits that are not private and "
    "other mechanisms do not."
)


@dataclass(frozen=True, eq=False)
class FederatedEngine:
    """Sums over one site's `people`, where n counts the `persons` of all sites.

    `compare` is called with the digest of a question before its sums are computed; it raises if the
    sites differ.
    """

    people: Engine
    persons: int
    compare: Callable[[bytes], None]

    def reduce(self, function: BlockFunction, *arguments: Any) -> Arrays:
        """Return this site's sums, which are integers, after comparing the question with all sites."""
        self.compare(question(function, arguments))
        sums = self.people.reduce(function, *arguments)
        if not all(np.issubdtype(item.dtype, np.integer) for item in sums):
            raise SettingsError(_INTEGERS_ONLY)
        return sums

    def sample(self) -> NoReturn:
        """Raise `SettingsError`: a starting value of some people would be a number without noise."""
        raise SettingsError(_INTEGERS_ONLY)


def question(function: BlockFunction, arguments: tuple[Any, ...]) -> bytes:
    """Return SHA-256 of a question: the function's name and every bit of its public arguments."""
    hashed = hashlib.sha256(f"{function.__module__}.{function.__qualname__}".encode())
    for part in _parts(arguments):
        hashed.update(len(part).to_bytes(8, "little") + part)
    return hashed.digest()


def _parts(value: Any) -> Iterator[bytes]:
    """Yield the bytes of a public value; an unknown kind is an error."""
    if value is None or isinstance(value, bool | int | float | str | Fraction):
        yield repr(value).encode()
    elif isinstance(value, np.generic | np.ndarray):
        array = np.asarray(value)
        yield f"{array.dtype.str}{array.shape}".encode()
        yield array.tobytes()
    else:
        if isinstance(value, tuple | list):
            items = list(value)
        elif isinstance(value, Mapping):
            items = list(value.items())
        elif hasattr(value, "to_mapping"):
            items = [value.to_mapping()]
        elif is_dataclass(value):
            items = [getattr(value, item.name) for item in fields(value)]
        else:
            raise TypeError(f"a question has an argument of the kind {type(value).__name__}")
        yield f"{type(value).__qualname__} of {len(items)}".encode()
        for item in items:
            yield from _parts(item)
