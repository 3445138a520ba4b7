"""`discreet summary`: the coefficient table of a model or release."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.output import say, wrapped
from discreet.text import aligned

if TYPE_CHECKING:
    from discreet.models.curves_release import CurvesRelease


def summary(
    model: Annotated[Path, typer.Argument(help="A model or release, as `fit` wrote it.")],
    confidence: Annotated[float, typer.Option(help="Level of the intervals.")] = 0.95,
) -> None:
    """Show the coefficients, on the data's own scale, and what is promised about them."""
    from discreet.competing import summarise_causes  # noqa: PLC0415
    from discreet.fitted import FittedModel  # noqa: PLC0415 - numpy and scipy
    from discreet.models.causes import CausesModel  # noqa: PLC0415
    from discreet.models.curves_release import CurvesRelease, read_file  # noqa: PLC0415

    found = read_file(model)
    if isinstance(found, CurvesRelease):
        _show_curves(found)
        return
    if isinstance(found, CausesModel):
        say(summarise_causes(found))
        return
    table = FittedModel(found).summary(confidence)
    for line in table.heading:
        say(wrapped(line))
    say("\n" + aligned(table.rows()))


def _show_curves(curves: "CurvesRelease") -> None:
    for line in curves.lines:
        say(wrapped(line))
    say("\n" + aligned(curves.table()))
