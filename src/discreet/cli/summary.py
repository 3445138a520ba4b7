"""`discreet summary`: the coefficient table of a model or release."""

import json
from enum import StrEnum
from typing import Annotated, Any

import typer

from discreet.cli import options
from discreet.cli.output import csv_bytes, say, width, wrapped


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
    table: Any
    if isinstance(found, CurvesRelease):
        table = GroupTable(found)
    else:
        table = (
            summarise_proportionality(found) if proportionality else summarise(found, confidence)
        )
    if form is TableFormat.TEXT:
        for line in table.heading:
            say(wrapped(line))
        for block in table.blocks(width()):
            say("\n" + block)
        for line in table.footer:
            say("\n" + wrapped(line))
    elif form is TableFormat.LATEX:
        say(table.to_latex())
    elif form is TableFormat.HTML:
        say(table.to_html())
    elif form is TableFormat.JSON:
        say(json.dumps(table.records(), indent=2))
    else:
        records = table.records()
        cells = [["" if value is None else value for value in row.values()] for row in records]
        say(csv_bytes([list(records[0]), *cells]).decode().rstrip("\n"))
