"""Normal intervals, estimate +- z standard errors, and tests that follow from them."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import special

from discreet.errors import SettingsError
from discreet.types import Array


def normal_quantile(confidence: float) -> float:
    """Return the z of a two-sided normal interval at this level."""
    if not 0 < confidence < 1:
        raise SettingsError("confidence must lie strictly between 0 and 1.")
    return float(special.ndtri(0.5 + confidence / 2))


def standard_errors(covariance: Array) -> Array:
    """Return the square roots of a covariance's diagonal; rounding below 0 counts as 0."""
    return np.asarray(np.sqrt(np.maximum(np.diag(covariance), 0.0)))


@dataclass(frozen=True)
class ChiSquaredTest:
    """A statistic that is chi-squared under the hypothesis."""

    digits: ClassVar[int] = 4
    """Digits of a printed p value."""

    statistic: float
    degrees: int
    p_value: float

    @property
    def freedom(self) -> str:
        """The degrees of freedom in words."""
        return f"{self.degrees} degree{'s' * (self.degrees != 1)} of freedom"

    @property
    def words(self) -> str:
        """The p value, as far as it is worth printing."""
        least = 10.0**-self.digits
        return f"p < {least:g}" if self.p_value < least else f"p = {self.p_value:.{self.digits}f}"
