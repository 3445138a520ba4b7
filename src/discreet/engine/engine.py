"""The narrow seam between the mathematics and wherever the people are."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.errors import DataFormError
from discreet.people.episodes import Stamp

Arrays = tuple[NDArray[Any], ...]
BlockFunction = Callable[..., Arrays]


class Engine(Protocol):
    """Adds up what a function says of each block of people; nothing else leaves a block."""

    @property
    def persons(self) -> int:
        """n, the number of people."""

    def reduce(self, function: BlockFunction, *arguments: Any) -> Arrays:
        """``sum over blocks of function(block, *arguments)``, in a fixed order.

        Nobody stands in two blocks, and the people of all blocks are ``persons``: every call
        checks that, and fails before a sum that would break it can be used.
        """

    def sample(self) -> "Engine":
        """An engine over a part of the people: enough for a starting value."""


def require_same_people(found: Sequence[Stamp], counted: Sequence[Stamp]) -> None:
    """Every pass over the people checks itself: block by block those who were counted at first.

    They were then known to stand in one block each; so they do now, and their sum is n.
    """
    if list(found) != list(counted):
        raise DataFormError(
            "a pass over the people found others than were counted: the data changed meanwhile. "
            "Nothing was released; keep the files as they are during a fit."
        )


def add(left: Arrays, right: Arrays) -> Arrays:
    """Add array by array."""
    return tuple(np.add(a, b) for a, b in zip(left, right, strict=True))
