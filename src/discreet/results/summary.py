"""Standard errors, z, p and confidence intervals on the user's own scale.

Covariance = T (I + n ridge)^{-1} T' with I the expected information (as glm), or the observed one,
in internal coordinates and f_user = T f_internal.  Intervals are Wald's, coefficient +- z se.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy import linalg, special

from discreet.design.design import Design
from discreet.errors import SettingsError
from discreet.results.normal import ChiSquaredTest, normal_quantile
from discreet.results.tables import TextTable, cell_text
from discreet.types import Array

# Beyond this many coefficients a file keeps standard errors only, not the covariance.
MOST_COVARIANCE = 1_000
RANK = 1e-12
"""Eigenvalues of a correlation matrix below it are rounding."""
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


@dataclass(frozen=True)
class WaldTest(ChiSquaredTest):
    """Joint test that coefficients are 0: W = b' V^{-1} b, chi-squared with rank V degrees.

    V is the covariance of the coefficients b, of a release with the privacy noise in it; b may be
    differences of coefficients, which ``hypothesis`` says.  Reference: Wald (1943).
    """

    names: tuple[str, ...] = ()
    hypothesis: str = ""

    @classmethod
    def of(
        cls, names: Sequence[str], values: Array, covariance: Array, hypothesis: str = ""
    ) -> "WaldTest":
        """The test of these numbers, in the units in which each has variance 1."""
        scale = np.sqrt(np.diag(covariance))
        if not np.all(scale > 0):
            raise SettingsError("a coefficient has no standard error, so there is no test of it.")
        correlation = covariance / np.outer(scale, scale)
        inverse = np.linalg.pinv(correlation, rcond=RANK, hermitian=True)
        degrees = int(np.linalg.matrix_rank(correlation, tol=RANK, hermitian=True))
        statistic = float(values / scale @ inverse @ (values / scale))
        p_value = float(special.chdtrc(degrees, statistic))
        return cls(statistic, degrees, p_value, tuple(names), hypothesis)

    def __str__(self) -> str:
        what = self.hypothesis or ", ".join(self.names)
        return f"Wald test of {what}: {self.statistic:.2f} on {self.freedom}, {self.words}"


@dataclass(frozen=True, eq=False, repr=False)
class CoefficientTable(TextTable):
    """One row per coefficient; without standard errors (some releases) only the coefficients.

    ``ratio`` is what exp(coefficient) is called, "" where it means nothing; the first ``baseline``
    coefficients have none.  ``labels`` are the names for people, ``references`` the level that a
    level is compared with, by coefficient.  ``groups`` are the title and the period of a coefficient
    whose effect changes with time: printed, the periods of one effect are below its title.
    """

    names: tuple[str, ...]
    coefficients: Array
    standard_errors: Array | None = None
    confidence: float = 0.95
    heading: tuple[str, ...] = ()
    footer: tuple[str, ...] = ()
    ratio: str = ""
    baseline: int = 0
    labels: tuple[str, ...] | None = None
    references: Mapping[str, str] = field(default_factory=dict)
    groups: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        normal_quantile(self.confidence)  # an error unless it is a level

    @property
    def tables(self) -> Mapping[str, "CoefficientTable"]:
        """The table of each cause; of one event it is this table."""
        return {"": self}

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
            return {"coefficient": self.coefficients, **self._ratios()}
        values = (self.coefficients, self._errors, self.z, self.p, self.lower, self.upper)
        return {**dict(zip(HEADINGS, values, strict=True)), **self._ratios()}

    def _ratios(self) -> dict[str, Array]:
        """exp(coefficient) with its interval; not a number for the baseline."""
        if not self.ratio:
            return {}
        values = {self.ratio: self.coefficients}
        if self.standard_errors is not None:
            values |= {f"{self.ratio} lower": self.lower, f"{self.ratio} upper": self.upper}
        with np.errstate(over="ignore"):
            found = {name: np.exp(column) for name, column in values.items()}
        for column in found.values():
            column[: self.baseline] = np.nan
        return found

    def rows(self) -> Iterator[tuple[str, ...]]:
        """Cells as text, the heading first: what fits on 80 columns of a terminal."""
        columns = self.columns()
        shown = [name for name in ("coefficient", "standard error", "p") if name in columns]
        interval = (f"{self.ratio} lower".strip(), f"{self.ratio} upper".strip())
        known = self.standard_errors is not None
        ends = [f"{100 * self.confidence:g}% interval"] if known else []
        ratio = [self.ratio] if self.ratio else []
        headings = [name.replace("standard", "std.") for name in shown]
        heading = ("", *headings, *ratio, *ends)
        yield heading
        group = ""
        for index, label in enumerate(self.labels or self.names):
            title, name = self.groups.get(self.names[index], ("", label))
            if title and title != group:
                yield (title, *[""] * (len(heading) - 1))
            group, name = title, f"  {name}" if title else name
            cells = [cell_text(key, columns[key][index]) for key in (*shown, *ratio)]
            if known:
                low, high = (cell_text("", columns[key][index]) for key in interval)
                cells.append(f"{low} to {high}" if low and high else "")
            yield (name, *cells)

    @property
    def row_texts(self) -> Mapping[str, Sequence[str | None]]:
        """Names, names for people, and the level that a level is compared with."""
        references = [self.references.get(name) for name in self.names]
        return {"name": self.names, "label": self.labels or self.names, "reference": references}

    @property
    def row_names(self) -> tuple[str, ...]:
        """The coefficients."""
        return self.names

    @property
    def _errors(self) -> Array:
        if self.standard_errors is None:
            raise SettingsError("this model has no standard errors.")
        return self.standard_errors

    @property
    def _margin(self) -> Array:
        with np.errstate(over="ignore"):
            return np.asarray(normal_quantile(self.confidence) * self._errors)
