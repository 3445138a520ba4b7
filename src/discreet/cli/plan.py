"""`discreet plan`: what each mechanism would cost in accuracy, before any data is touched."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.output import progress, say, wrapped

if TYPE_CHECKING:
    from rich.box import Box
    from rich.table import Table

    from discreet.forecast import Forecast
    from discreet.mechanisms.outlook import Outlook


def plan(  # noqa: PLR0913 - one parameter an option
    *,
    schema: Annotated[Path, typer.Option(help="The public schema, a TOML file.")],
    n: Annotated[int, typer.Option("--n", help="Number of persons.")],
    events: Annotated[int, typer.Option(help="About how many of them have the event.")],
    epsilon: Annotated[float, typer.Option(help="Privacy: the smaller, the stronger.")],
    delta: Annotated[float | None, typer.Option(help="As in fit; 0 for none.")] = None,
    link: Annotated[str, typer.Option(help="logit, cloglog or probit.")] = "logit",
    baseline: Annotated[
        str, typer.Option(help="natural-spline:KNOTS or piecewise-constant:PIECES.")
    ] = "natural-spline:3",
    sites: Annotated[
        int | None, typer.Option(help="Sites of a joint fit, if it is one: their noise adds up.")
    ] = None,
    colluding: Annotated[
        int | None, typer.Option(help="How many of the sites may collude, as in sites.toml.")
    ] = None,
) -> None:
    """Predict the error of every mechanism from public facts: no data is read."""
    from rich.console import Console  # noqa: PLC0415 - loads with the command

    from discreet.design.schema import Schema  # noqa: PLC0415 - pydantic
    from discreet.forecast import forecasts, outlook_for  # noqa: PLC0415 - loads the mechanisms
    from discreet.privacy.shares import ALONE, NoiseShares  # noqa: PLC0415 - numpy

    shares = ALONE if sites is None else NoiseShares.among(sites, colluding)
    outlook = outlook_for(Schema.from_toml(schema), n, events, link, baseline, shares)
    with progress("Planning"):
        found = forecasts(outlook, epsilon, delta)
    console = Console()
    console.print(_errors(found))
    console.print(_coefficients(outlook, found))
    for item in found:
        if item.note:
            say(wrapped(f"{item.mechanism}: {item.note}"))
    say(wrapped(EXPLANATION))


EXPLANATION = (
    "err is the distance from the fit without privacy in its own standard errors: 1 is what "
    "sampling costs anyway. Predicted for covariates spread evenly over the schema's ranges and "
    "nobody lost before the horizon; where real data are less even, standard errors are larger."
)


def _errors(found: list["Forecast"]) -> "Table":
    from rich.table import Table  # noqa: PLC0415

    table = Table(title="Predicted error", title_justify="left", box=_box())
    table.add_column("mechanism", no_wrap=True)
    table.add_column("err", justify="right", no_wrap=True)
    table.add_column("promise")
    for item in found:
        error = "-" if item.error is None else f"{item.error:.2f}"
        table.add_row(item.mechanism, error, item.promise)
    return table


def _box() -> "Box":
    """Rules above and below, no walls: on 80 columns the names need the room."""
    from rich.box import HORIZONTALS  # noqa: PLC0415

    return HORIZONTALS


def _coefficients(outlook: "Outlook", found: list["Forecast"]) -> "Table":
    from rich.markup import escape  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    title = "Predicted standard errors, sampling included"
    table = Table(title=title, title_justify="left", box=_box(), padding=(0, 1, 0, 0))
    table.add_column("coefficient", overflow="fold")
    predicted = [item for item in found if item.standard_errors]
    table.add_column("not private", justify="right", max_width=len("private"))
    for item in predicted:
        table.add_column(item.mechanism, justify="right", no_wrap=True)
    columns = (outlook.sampling_errors, *(item.standard_errors for item in predicted))
    for name, *values in zip(outlook.schema.coefficient_names, *columns, strict=True):
        table.add_row(escape(name), *(f"{value:.3g}" for value in values))
    return table
