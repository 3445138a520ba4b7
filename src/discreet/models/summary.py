"""Standard errors, z, p and confidence intervals on the user's own scale.

Covariance = T (I + n ridge)^{-1} T' with I the expected information (as glm), or the observed one,
in internal coordinates and f_user = T f_internal.  Intervals are Wald's, coefficient +- z se.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from scipy import linalg, special

from discreet.design.design import Design
from discreet.errors import SettingsError
from discreet.text import aligned, filled
from discreet.types import Array

# Beyond this many coefficients a file keeps standard errors only, not the covariance.
MOST_COVARIANCE = 1_000
# Of the text above a printed table, which has about this width itself.
WIDTH = 80
HEADINGS = ("coefficient", "standard error", "z", "p", "lower", "upper")


def user_covariance(information: Array, design: Design) -> Array:
    """T I^{-1} T', symmetric; a pseudo-inverse where rounding leaves no inverse."""
    try:
        factor = linalg.cholesky(information, lower=True)
        half = linalg.solve_triangular(factor, design.to_user.T, lower=True)
        return np.asarray(half.T @ half)
    except linalg.LinAlgError:
        inverse = np.linalg.pinv(information, hermitian=True)
        return np.asarray(design.to_user @ inverse @ design.to_user.T)


@dataclass(frozen=True, eq=False)
class CoefficientTable:
    """One row a coefficient; without standard errors (a release) only the coefficients."""

    names: tuple[str, ...]
    coefficients: Array
    standard_errors: Array | None = None
    confidence: float = 0.95
    heading: tuple[str, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if not 0 < self.confidence < 1:
            raise SettingsError("confidence must lie strictly between 0 and 1.")

    @property
    def z(self) -> Array:
        """coefficient / standard error."""
        with np.errstate(all="ignore"):  # a file may state an error of 0
            return np.asarray(self.coefficients / self._errors)

    @property
    def p(self) -> Array:
        """Two-sided p value of coefficient = 0."""
        return np.asarray(special.erfc(np.abs(self.z) / np.sqrt(2.0)))

    @property
    def lower(self) -> Array:
        """Lower end of the interval."""
        return np.asarray(self.coefficients - self._margin)

    @property
    def upper(self) -> Array:
        """Upper end of the interval."""
        return np.asarray(self.coefficients + self._margin)

    def columns(self) -> dict[str, Array]:
        """Numbers by heading: those that are known."""
        if self.standard_errors is None:
            return {"coefficient": self.coefficients}
        values = (self.coefficients, self._errors, self.z, self.p, self.lower, self.upper)
        return dict(zip(HEADINGS, values, strict=True))

    def rows(self) -> Iterator[tuple[str, ...]]:
        """Cells as text, the heading first."""
        columns = self.columns()
        yield ("", *columns)
        for index, name in enumerate(self.names):
            yield (name, *(_cell(key, column[index]) for key, column in columns.items()))

    def to_pandas(self) -> object:
        """A pandas DataFrame indexed by coefficient."""
        import pandas as pd  # type: ignore[import-untyped]  # noqa: PLC0415 - the user's, not ours

        return pd.DataFrame(self.columns(), index=list(self.names))

    def __str__(self) -> str:
        heading = (filled(line, WIDTH) for line in self.heading)
        return "\n".join([*heading, "", aligned(self.rows())]).lstrip()

    __repr__ = __str__

    @property
    def _errors(self) -> Array:
        if self.standard_errors is None:
            raise SettingsError("this model has no standard errors.")
        return self.standard_errors

    @property
    def _margin(self) -> Array:
        with np.errstate(over="ignore"):
            return np.asarray(special.ndtri(0.5 + self.confidence / 2) * self._errors)


def _cell(heading: str, value: float) -> str:
    if heading == "p":
        return "<0.0001" if value < 1e-4 else f"{value:.4f}"
    if heading == "z":
        return f"{value:.2f}"
    return f"{value:.4g}" if abs(value) < 1e-3 and value != 0 else f"{value:.4f}"
