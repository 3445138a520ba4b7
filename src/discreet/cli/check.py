"""`discreet check`: what does not fit the schema, in counts; for the custodian's eyes."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import options
from discreet.cli.output import progress, say, wrapped

if TYPE_CHECKING:
    from discreet.checkup import Check


def check(
    data: options.Data,
    schema: options.SchemaFile,
    query: options.Select = None,
    like: Annotated[
        Path | None,
        typer.Option(help="An earlier release, whose life table proposes a time grid."),
    ] = None,
    accept: options.Accept = None,
) -> None:
    """Compare a file with its schema; exit status 6 where no useful model can come of it.

    So it does where a wrong model would. Each reason has a name, and --accept NAME sets it aside.

    For the custodian: the counts and values shown are not private.
    """
    from discreet.checkup import check as compare

    people = options.people(data, query)
    with progress("Checking"):
        found = compare(people, schema, like=like, accept=accept or ())
    show(found)
    if found.exit_status:
        raise typer.Exit(found.exit_status)


def show(found: "Check") -> None:
    """Print what was found, as wide as the terminal."""
    for text in found.lines():
        say(text if "\n" in text else wrapped(text))
