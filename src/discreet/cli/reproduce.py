"""`discreet reproduce`: the paper's tables and figures."""

from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.output import progress
from discreet.errors import SettingsError

SAMPLER = "sampler"


def reproduce(
    what: Annotated[
        str, typer.Argument(help="all, table-1 ... table-3, figure-1 ... figure-5, remarks, page.")
    ] = "all",
    *,
    quick: Annotated[bool, typer.Option("--quick", help="A small run of everything.")] = False,
    epochs: Annotated[int, typer.Option(help="Epochs of a chain; the paper's are 250.")] = 250,
    draws: Annotated[int, typer.Option(help="Draws of the perturbations in Figure 5.")] = 20,
    out: Annotated[Path, typer.Option(help="Folder that holds studies/results and docs.")] = Path(),
) -> None:
    """Regenerate the paper from the data in the folder DISCREET_DATA. Nothing here is private."""
    from discreet.paper.config import Options
    from discreet.paper.run import reproduce as run

    options = Options(
        results=out / "studies" / "results" / "paper",
        docs=out / "docs",
        epochs=epochs,
        perturbation_draws=draws,
    )
    if quick:
        folder = out / "studies" / "quick"
        options = replace(options.quick(), results=folder, docs=folder)
    try:
        with progress("Reproducing"):
            run(what, options, lambda line: typer.echo(line, err=True))
    except ModuleNotFoundError as error:  # what the reproduction alone needs is not installed
        raise SettingsError(
            f"the reproduction needs {error.name}, which is not installed; run it in the "
            "project's own environment, which 'make demo' sets up."
        ) from None


def load_mechanism(name: str | None) -> None:
    """Register the paper's sampler as a mechanism, if it is asked for."""
    if name == SAMPLER:
        import_module("discreet.paper.audit")
