"""The interface between the mathematics and the people's records."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.errors import DataFormError
from discreet.people.episodes import Stamp

Arrays = tuple[NDArray[Any], ...]
BlockFunction = Callable[..., Arrays]


class Engine(Protocol):
    """Adds up the values of a function of each block of people; nothing else leaves a block."""

    @property
    def persons(self) -> int:
        """n, the number of people."""

    def reduce(self, function: BlockFunction, *arguments: Any) -> Arrays:
        """Return ``sum over blocks of function(block, *arguments)``, in a fixed order.

        No person is in two blocks, and the people of all blocks are ``persons``: every call checks
        that, and fails before a sum that would break it can be used.
        """

    def sample(self) -> "Engine":
        """Return an engine over a part of the people, enough for a starting value."""


def require_same_people(found: Sequence[Stamp], counted: Sequence[Stamp]) -> None:
    """Raise `DataFormError` unless a pass found, block by block, the people who were counted.

    Counting has checked that each of them is in one block; so the same holds for the pass.
    """
    if list(found) != list(counted):
        raise DataFormError(
            "a pass over the people found others than were counted: the data changed meanwhile. "
            "Nothing was released; keep the files as they are during a fit."
        )


def add(left: Arrays, right: Arrays) -> Arrays:
    """Add array by array."""
    return tuple(np.add(a, b) for a, b in zip(left, right, strict=True))
