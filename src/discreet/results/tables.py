"""Tables as text, HTML, LaTeX, or a data frame of the reader's own library, imported on demand."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape

import numpy as np

from discreet.text import filled, fitted
from discreet.types import Array

WIDTH = 80
"""Of the text above and below a printed table, which has about this width itself."""


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
        return paragraphs(self.heading) + html_table(self.rows()) + paragraphs(self.footer)

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


def paragraphs(texts: Sequence[str]) -> str:
    """Texts as HTML, escaped."""
    return "".join(f"<p>{escape(text)}</p>" for text in texts)


def html_table(rows: Iterable[Sequence[str]]) -> str:
    """An HTML table of such rows, the heading first."""
    head, *body = ([escape(cell) for cell in row] for row in rows)
    headings = "".join(f'<th style="text-align:right">{cell}</th>' for cell in head)
    lines = "".join(
        f'<tr><th style="text-align:left">{row[0]}</th>'
        + "".join(f'<td style="text-align:right">{cell}</td>' for cell in row[1:])
        + "</tr>"
        for row in body
    )
    return f"<table><thead><tr>{headings}</tr></thead><tbody>{lines}</tbody></table>"


def latex_table(head: Sequence[str], blocks: Sequence[Iterable[str]]) -> str:
    """A LaTeX tabular: the heading and blocks of lines, with a rule above each."""
    columns = "l" + "r" * (len(head) - 1)
    ruled = (line for block in blocks for line in (r"\midrule", *block))
    begin, top = rf"\begin{{tabular}}{{{columns}}}", r"\toprule"
    return "\n".join([begin, top, latex_row(head), *ruled, r"\bottomrule", r"\end{tabular}"])


def latex_row(cells: Sequence[str]) -> str:
    """A line of a LaTeX table, escaped."""
    return " & ".join(map(latex_text, cells)) + r" \\"


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
    return f"{value:.4g}" if abs(value) < 1e-3 and value != 0 else f"{value:.4f}"
