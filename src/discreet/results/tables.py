"""Tables as text, HTML, LaTeX, or a data frame of the reader's own library, imported on demand."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import chain
from typing import Any, Generic, TypeVar

import numpy as np

from discreet.text import filled, fitted
from discreet.types import Array

WIDTH = 80
"""Columns of a terminal that a printed table, and the text around it, should not exceed."""
LARGE = 1e5
"""From here on numbers have four digits and an exponent: nothing so large is known to a decimal."""


class Tabular(ABC):
    """A table with a name for each column and, if `row_names` has any, for each row."""

    @abstractmethod
    def columns(self) -> Mapping[str, Array | Sequence[object]]:
        """Values by heading."""

    @property
    def row_names(self) -> tuple[str, ...]:
        """Names of the rows; empty if they have none."""
        return ()

    def to_pandas(self) -> object:
        """A pandas DataFrame, indexed by the names of the rows."""
        import pandas as pd  # type: ignore[import-untyped]  # noqa: PLC0415 - the user's, not ours

        return pd.DataFrame(dict(self.columns()), index=list(self.row_names) or None)

    def to_polars(self) -> object:
        """A polars DataFrame, whose first column ``name`` has the names of the rows."""
        import polars as pl  # noqa: PLC0415 - the user's, not ours

        names = {"name": list(self.row_names)} if self.row_names else {}
        return pl.DataFrame({**names, **self.columns()})

    @property
    def row_texts(self) -> Mapping[str, Sequence[str | None]]:
        """Texts of the rows that `records` begin with, by heading."""
        return {"name": self.row_names} if self.row_names else {}

    def records(self) -> list[dict[str, float | str | None]]:
        """One mapping per row, with every number in full; None where there is none."""
        columns = {**self.row_texts, **self.columns()}
        rows = zip(*columns.values(), strict=True)
        return [dict(zip(columns, map(_recorded, row), strict=True)) for row in rows]


class TextTable(Tabular):
    """A table that is printed, with lines above it and below it."""

    heading: tuple[str, ...] = ()
    footer: tuple[str, ...] = ()

    def rows(self) -> Iterable[Sequence[str]]:
        """Cells as text, the heading first; none where a table has blocks of its own."""
        return ()

    def blocks(self, width: int) -> Iterator[str]:
        """The table as text for a terminal of that width."""
        yield fitted(self.rows(), width)

    def to_html(self) -> str:
        """The table as HTML; every text is escaped."""
        head, *body = ([escape(cell) for cell in row] for row in self.rows())
        headings = "".join(f'<th style="text-align:right">{cell}</th>' for cell in head)
        lines = "".join(
            f'<tr><th style="text-align:left">{name}</th>'
            + "".join(f'<td style="text-align:right">{cell}</td>' for cell in cells)
            + "</tr>"
            for name, *cells in body
        )
        table = f"<table><thead><tr>{headings}</tr></thead><tbody>{lines}</tbody></table>"
        return paragraphs(self.heading) + table + paragraphs(self.footer)

    def _repr_html_(self) -> str:
        return self.to_html()

    def to_latex(self) -> str:
        """The table as a LaTeX tabular with rules of the package booktabs."""
        head, *body = self.rows()
        return latex_table(head, [map(latex_row, body)])

    def __str__(self) -> str:
        above, below = (
            "\n".join(filled(line, WIDTH) for line in part) for part in (self.heading, self.footer)
        )
        return "\n\n".join(part for part in (above, *self.blocks(WIDTH), below) if part)

    def __repr__(self) -> str:
        return str(self)


Part = TypeVar("Part", bound=TextTable)


@dataclass(frozen=True, eq=False, repr=False)
class ByCause(TextTable, Generic[Part]):
    """Tables of one kind for the causes of competing risks; a column says whose row it is.

    The ``heading`` and ``footer`` of a cause's own table are about this cause alone.
    """

    tables: Mapping[str, Part]
    heading: tuple[str, ...] = ()
    footer: tuple[str, ...] = ()

    @property
    def row_names(self) -> tuple[str, ...]:
        """Names of the rows of each cause."""
        return tuple(name for table in self.tables.values() for name in table.row_names)

    def columns(self) -> dict[str, Array | Sequence[object]]:
        """The cause of each row, then the columns of one cause."""
        causes = [cause for cause, table in self.tables.items() for _ in table.row_names]
        parts = [table.columns() for table in self.tables.values()]
        numbers = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        return {"cause": causes, **numbers}

    def records(self) -> list[dict[str, float | str | None]]:
        """One mapping per cause and row, with every number in full."""
        own = ([(cause, row) for row in part.records()] for cause, part in self.tables.items())
        return [{"cause": cause, **row} for cause, row in chain.from_iterable(own)]

    def to_html(self) -> str:
        """The tables as HTML; every text is escaped."""
        tables = (table.to_html() for table in self.tables.values())
        return paragraphs(self.heading) + "".join(tables) + paragraphs(self.footer)

    def to_latex(self) -> str:
        """One LaTeX tabular with a line above the rows of each cause."""
        blocks = []
        for cause, table in self.tables.items():
            head, *body = table.rows()
            title = rf"\multicolumn{{{len(head)}}}{{l}}{{{latex_text(f'Cause: {cause}')}}} \\"
            blocks.append([title, *map(latex_row, body)])
        return latex_table(head, blocks)

    def blocks(self, width: int) -> Iterator[str]:
        """A text for each cause, for a terminal of that width."""
        for table in self.tables.values():
            above, below = (
                [filled(line, width) for line in part] for part in (table.heading, table.footer)
            )
            yield "\n".join([*above, *table.blocks(width), *below])


def paragraphs(texts: Sequence[str]) -> str:
    """Texts as HTML, escaped."""
    return "".join(f"<p>{escape(text)}</p>" for text in texts)


def latex_table(head: Sequence[str], blocks: Sequence[Iterable[str]]) -> str:
    """A LaTeX tabular: the heading and blocks of lines, with a rule above each."""
    columns = "l" + "r" * (len(head) - 1)
    ruled = (line for block in blocks for line in (r"\midrule", *block))
    begin, top = rf"\begin{{tabular}}{{{columns}}}", r"\toprule"
    return "\n".join([begin, top, latex_row(head), *ruled, r"\bottomrule", r"\end{tabular}"])


def latex_row(cells: Sequence[str]) -> str:
    """A line of a LaTeX table, escaped."""
    return " & ".join(map(latex_text, cells)) + r" \\"


def _recorded(value: Any) -> float | str | None:
    if value is None or isinstance(value, str):
        return value
    return float(value) if np.isfinite(value) else None


_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"$<$",
}  # fmt: skip


def latex_text(text: str) -> str:
    """A text without signs that LaTeX interprets."""
    return "".join(_LATEX.get(character, character) for character in text)


def cell_text(heading: str, value: float) -> str:
    """A number as a table shows it; that of a p value and a z differ."""
    if np.isnan(value):
        return ""
    if heading == "p":
        return "<0.0001" if value < 1e-4 else f"{value:.4f}"
    if heading == "z":
        return f"{value:.2f}"
    small, large = abs(value) < 1e-3 and value != 0, abs(value) >= LARGE
    return f"{value:.4g}" if small or large else f"{value:.4f}"
