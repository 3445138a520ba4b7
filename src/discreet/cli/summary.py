"""`discreet summary`: the coefficient table of a model or release."""

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.output import say, wrapped
from discreet.text import aligned


def summary(
    model: Annotated[Path, typer.Argument(help="A model or release, as `fit` wrote it.")],
    confidence: Annotated[float, typer.Option(help="Level of the intervals.")] = 0.95,
) -> None:
    """Show the coefficients, on the data's own scale, and what is promised about them."""
    from discreet.fitted import load  # noqa: PLC0415 - numpy and scipy

    table = load(model).summary(confidence)
    for line in table.heading:
        say(wrapped(line))
    say("\n" + aligned(table.rows()))
