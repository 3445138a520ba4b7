"""The answer to a question: numbers with noise, and how much noise they have.

All that is computed from it is post-processing: docs/proofs/private-newton.md, section 4.
"""

from dataclasses import dataclass

import numpy as np

from discreet.types import Array


@dataclass(frozen=True)
class Released:
    """Released numbers and the standard deviation of the noise in each of them.

    `Ask` makes it. All that is computed from it and from public facts is post-processing.
    """

    values: Array
    deviation: float

    def __post_init__(self) -> None:
        """Make the values read-only."""
        values = np.array(self.values, dtype=np.float64, copy=True)
        values.flags.writeable = False
        object.__setattr__(self, "values", values)
