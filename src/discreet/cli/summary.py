"""`discreet summary`: the coefficient table of a model or release."""

import json
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import options
from discreet.cli.output import csv_bytes, say, width, wrapped

if TYPE_CHECKING:
    from discreet.results.group_table import GroupTable
    from discreet.results.proportionality import ProportionalityTable
    from discreet.results.summary import CausesTable, CoefficientTable

    Table = CoefficientTable | CausesTable | ProportionalityTable
    Shown = Table | GroupTable


class TableFormat(StrEnum):
    """A format of the table."""

    TEXT = "text"
    CSV = "csv"
    JSON = "json"
    LATEX = "latex"
    HTML = "html"


def summary(
    model: options.ModelFile,
    *,
    confidence: Annotated[float, typer.Option(help="Level of the intervals.")] = 0.95,
    form: Annotated[
        TableFormat, typer.Option("--format", help=", ".join(TableFormat) + ".", metavar="NAME")
    ] = TableFormat.TEXT,
    proportionality: Annotated[
        bool,
        typer.Option(
            "--proportionality", help="Show which effects seem to change with time instead."
        ),
    ] = False,
) -> None:
    """Show the coefficients, on the data's own scale, and what is promised about them."""
    from discreet.documents.curves import CurvesRelease
    from discreet.documents.read import read_document
    from discreet.results.description import summarise, summarise_proportionality
    from discreet.results.group_table import GroupTable

    found = read_document(model)
    if isinstance(found, CurvesRelease):
        _show(GroupTable(found))
    elif proportionality:
        _print(summarise_proportionality(found), form)
    else:
        _print(summarise(found, confidence), form)


def _print(table: "Table", form: TableFormat) -> None:
    if form is TableFormat.TEXT:
        _show(table)
    else:
        say(_written(table, form))


def _show(table: "Shown") -> None:
    for line in table.heading:
        say(wrapped(line))
    for block in table.blocks(width()):
        say("\n" + block)
    for line in table.footer:
        say("\n" + wrapped(line))


def _written(table: "Table", form: TableFormat) -> str:
    """Return the table alone, with every digit where a program reads it."""
    if form is TableFormat.LATEX:
        return table.to_latex()
    if form is TableFormat.HTML:
        return table.to_html()
    records = table.records()
    if form is TableFormat.JSON:
        return json.dumps(records, indent=2)
    cells = [["" if value is None else value for value in record.values()] for record in records]
    return csv_bytes([list(records[0]), *cells]).decode().rstrip("\n")
