"""The narrow seam between the mathematics and wherever the people are."""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Arrays = tuple[NDArray[Any], ...]
BlockFunction = Callable[..., Arrays]


class Engine(Protocol):
    """Adds up what a function says of each block of people; nothing else leaves a block."""

    @property
    def persons(self) -> int:
        """n, the number of people."""

    def reduce(self, function: BlockFunction, *arguments: Any) -> Arrays:
        """``sum over blocks of function(block, *arguments)``, in a fixed order."""

    def sample(self) -> "Engine":
        """An engine over a part of the people: enough for a starting value."""


def add(left: Arrays, right: Arrays) -> Arrays:
    """Add array by array."""
    return tuple(np.add(a, b) for a, b in zip(left, right, strict=True))
