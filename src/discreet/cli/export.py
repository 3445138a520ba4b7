"""`discreet export`: a model or release for other programs."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import options
from discreet.cli.output import say, wrapped


class ExportFormat(StrEnum):
    """For which program."""

    R = "r"
    EXCEL = "excel"
    PMML = "pmml"
    JSON_TABLE = "json-table"


def export(
    model: options.ModelFile,
    *,
    to: Annotated[ExportFormat, typer.Option(help=", ".join(ExportFormat) + ".", metavar="FORMAT")],
    out: Annotated[Path, typer.Option(help="The file to write.")],
    overwrite: options.Overwrite = False,
) -> None:
    """Write a model for R, a spreadsheet or a PMML engine, or its coefficients as a JSON table.

    It costs no budget: an export is computed from the file alone.
    """
    from discreet.documents.read import read_document
    from discreet.documents.strict import require_free, write_new
    from discreet.export import export_bytes

    require_free(out, overwrite=overwrite)
    write_new(out, export_bytes(read_document(model), to.value), overwrite=overwrite)
    say(wrapped(f"The model is in '{out}'."))
