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
from discreet.results.normal import normal_quantile
from discreet.results.tables import (
    TextTable,
    cell_text,
    latex_row,
    latex_table,
    latex_text,
    paragraphs,
)
from discreet.text import filled
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
class WaldTest:
    """Joint test that coefficients are 0: W = b' V^{-1} b, chi-squared with rank V degrees.

    V is the covariance of the coefficients b, of a release with the privacy noise in it; b may be
    differences of coefficients, which ``hypothesis`` says.  Reference: Wald (1943).
    """

    names: tuple[str, ...]
    statistic: float
    degrees: int
    p_value: float
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
        return cls(tuple(names), statistic, degrees, p_value, hypothesis)

    def __str__(self) -> str:
        freedom = "1 degree" if self.degrees == 1 else f"{self.degrees} degrees"
        p = "p < 0.0001" if self.p_value < 1e-4 else f"p = {self.p_value:.4f}"
        what = self.hypothesis or ", ".join(self.names)
        return f"Wald test of {what}: {self.statistic:.2f} on {freedom} of freedom, {p}"


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
        return {name: self._exponential(column) for name, column in values.items()}

    def _exponential(self, values: Array) -> Array:
        with np.errstate(over="ignore"):
            found = np.exp(values)
        found[: self.baseline] = np.nan
        return np.asarray(found)

    def rows(self) -> Iterator[tuple[str, ...]]:
        """Cells as text, the heading first: what fits on 80 columns of a terminal."""
        columns = self.columns()
        shown = [name for name in ("coefficient", "standard error", "p") if name in columns]
        if self.ratio:
            interval = (f"{self.ratio} lower", f"{self.ratio} upper")
        else:
            interval = ("lower", "upper")
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

    def records(self) -> list[dict[str, float | str | None]]:
        """One mapping per coefficient, with every number in full; None where there is none."""
        columns = self.columns()
        return [
            {
                "name": name,
                "label": (self.labels or self.names)[index],
                "reference": self.references.get(name),
                **{
                    key: float(column[index]) if np.isfinite(column[index]) else None
                    for key, column in columns.items()
                },
            }
            for index, name in enumerate(self.names)
        ]

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


@dataclass(frozen=True, eq=False, repr=False)
class CausesTable(TextTable):
    """A table for each cause of competing risks; what is said of all of them is said once.

    The ``heading`` of a cause's own table is about this cause alone.
    """

    tables: Mapping[str, CoefficientTable]
    heading: tuple[str, ...] = ()
    footer: tuple[str, ...] = ()

    def records(self) -> list[dict[str, float | str | None]]:
        """One mapping per cause and coefficient, with every number in full."""
        return [
            {"cause": cause, **record}
            for cause, table in self.tables.items()
            for record in table.records()
        ]

    def to_html(self) -> str:
        """The tables as HTML; every text is escaped."""
        tables = (table.to_html() for table in self.tables.values())
        return paragraphs(self.heading) + "".join(tables) + paragraphs(self.footer)

    def to_latex(self) -> str:
        """One LaTeX tabular with a line above the coefficients of each cause."""
        blocks = []
        for cause, table in self.tables.items():
            head, *body = table.rows()
            title = rf"\multicolumn{{{len(head)}}}{{l}}{{{latex_text(f'Cause: {cause}')}}} \\"
            blocks.append([title, *map(latex_row, body)])
        return latex_table(head, blocks)

    @property
    def row_names(self) -> tuple[str, ...]:
        """The coefficients of each cause."""
        return tuple(name for table in self.tables.values() for name in table.names)

    def columns(self) -> dict[str, Array | list[str]]:
        """The cause of each row, then numbers by heading."""
        parts = {cause: table.columns() for cause, table in self.tables.items()}
        causes = [cause for cause, table in self.tables.items() for _ in table.names]
        headings = next(iter(parts.values()))
        numbers = {
            name: np.concatenate([part[name] for part in parts.values()]) for name in headings
        }
        return {"cause": causes, **numbers}

    def blocks(self, width: int) -> Iterator[str]:
        """A text for each cause, for a terminal of that width."""
        for table in self.tables.values():
            above = (filled(line, width) for line in table.heading)
            yield "\n".join([*above, *table.blocks(width)])
