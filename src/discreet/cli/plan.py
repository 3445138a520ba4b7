"""`discreet plan`: what each mechanism would cost in accuracy, before any data is touched."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import options
from discreet.cli.output import progress, say, width, wrapped
from discreet.documents.strict import require_free, write_new
from discreet.errors import SettingsError
from discreet.text import aligned, in_blocks

if TYPE_CHECKING:
    from discreet.forecast import Comparison, Forecast
    from discreet.mechanisms.outlook import Outlook


def plan(  # noqa: PLR0913 - one parameter an option
    *,
    schema: options.SchemaFile,
    n: Annotated[int, typer.Option("--persons", help="Number of persons.")],
    events: Annotated[
        str,
        typer.Option(
            help="About how many of them have the event; of each cause: cancer=900,other=300."
        ),
    ],
    epsilon: Annotated[
        str, typer.Option(help="Privacy: the smaller, the stronger. Several: 0.5,1,2,4.")
    ] = "1",
    delta: Annotated[float | None, typer.Option(help="As in fit; 0 for none.")] = None,
    link: options.Link = options.DEFAULT_LINK,
    baseline: options.Baseline = "natural-spline:3",
    target: Annotated[
        list[str] | None,
        typer.Option(help="A coefficient and its 95 % interval's half width: 'sex: 0.1'."),
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(help="A PNG or SVG of standard errors against epsilon.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the picture.")] = False,
    sd: Annotated[
        list[str] | None,
        typer.Option(help="The public standard deviation of a number: 'bmi: 4'; once for each."),
    ] = None,
    shares: Annotated[
        list[str] | None,
        typer.Option(
            help="Public shares of a category's levels, in order: 'stage: 0.5, 0.3, 0.2'."
        ),
    ] = None,
    sites: Annotated[
        int | None, typer.Option(help="Sites of a joint fit, if it is one: their noise adds up.")
    ] = None,
    colluding: Annotated[
        int | None, typer.Option(help="How many of the sites may collude, as in sites.toml.")
    ] = None,
) -> None:
    """Predict the error of every mechanism from public facts: no data is read.

    Several epsilons make one table; --target asks for the smallest epsilon that is enough. What is
    publicly known of covariates, --sd and --shares, makes the prediction better.
    """
    from discreet.design.schema import Schema  # noqa: PLC0415 - pydantic
    from discreet.forecast import (  # noqa: PLC0415 - loads the mechanisms
        CausesComparison,
        compare,
        outlook_for,
        outlooks_by_cause,
    )
    from discreet.mechanisms.outlook import Known  # noqa: PLC0415 - numpy
    from discreet.privacy.shares import ALONE, NoiseShares  # noqa: PLC0415 - numpy

    noise = ALONE if sites is None else NoiseShares.among(sites, colluding)
    known = Known(
        {name: values[0] for name, values in _facts("sd", sd, 1)},
        dict(_facts("shares", shares, None)),
    )
    declared, settings = Schema.from_toml(schema), (link, baseline, noise, known)
    if declared.time.causes is not None:
        outlooks = outlooks_by_cause(declared, n, _by_cause(events), *settings)
        with progress("Planning"):
            found = {
                cause: compare(one, _epsilons(epsilon), delta) for cause, one in outlooks.items()
            }
        for cause, part in found.items():
            say(f"Cause: {cause}")
            _show(part)
            for text in target or ():
                say(wrapped(_answer(part.outlook, text, delta)))
        for text in CausesComparison(found).rare():
            say(wrapped(text))
        say(wrapped(EXPLANATION))
        return
    outlook = outlook_for(declared, n, _count(events), *settings)
    if picture is not None:
        require_free(picture, overwrite=overwrite)
    epsilons = _epsilons(epsilon)
    with progress("Planning"):
        comparison = compare(outlook, epsilons, delta)
    _show(comparison)
    for text in target or ():
        say(wrapped(_answer(outlook, text, delta)))
    say(wrapped(EXPLANATION))
    if picture is not None:
        _draw(comparison, picture, overwrite=overwrite)


def _show(comparison: "Comparison") -> None:
    """The tables of one kind of event, and what to do."""
    if len(comparison.found) == 1:
        (found,) = comparison.found.values()
        say(f"Predicted error\n\n{_errors(found)}\n")
        say(wrapped(DISTANCE))
        for item in found:
            if item.note:
                say(wrapped(f"{item.mechanism}: {item.note}"))
        say(f"\n{ERRORS}\n\n{_coefficients(comparison.outlook, found)}\n")
    else:
        say(f"{ERRORS}\n\n{comparison.table(width())}\n")
    say(wrapped(comparison.recommendation()))


def _count(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise SettingsError("--events takes a whole number.") from None


def _by_cause(text: str) -> dict[str, int]:
    """Numbers of events by the name of the cause."""
    pairs = (part.partition("=") for part in text.split(","))
    try:
        return {name.strip(): int(number) for name, _, number in pairs}
    except ValueError:
        raise SettingsError(
            "the schema has causes: say --events of each, such as cancer=900,other=300."
        ) from None


def _facts(
    option: str, texts: list[str] | None, number: int | None
) -> Iterator[tuple[str, list[float]]]:
    """A covariate and what is known of it, of every text."""
    for text in texts or ():
        name, _, values = text.replace("=", ":").rpartition(":")
        try:
            found = [float(part) for part in values.split(",")]
        except ValueError:
            found = []
        if not name.strip() or not found or number not in {None, len(found)}:
            example = "'bmi: 4'" if option == "sd" else "'stage: 0.5, 0.3, 0.2'"
            raise SettingsError(f"--{option} takes a covariate and numbers, such as {example}.")
        yield name.strip(), found


def _epsilons(text: str) -> list[float]:
    try:
        found = [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        found = []
    if not found:
        raise SettingsError("--epsilon takes a number, or several with commas between them.")
    return found


def _answer(outlook: "Outlook", text: str, delta: float | None) -> str:
    """The smallest epsilon at which a coefficient is known as narrowly as is wished."""
    from discreet.forecast import needed_epsilon  # noqa: PLC0415 - loads the mechanisms

    name, _, width = text.replace("=", ":").rpartition(":")
    try:
        margin = float(width)
    except ValueError:
        raise SettingsError("--target takes a name and a width, such as 'sex: 0.1'.") from None
    wanted = f"{name.strip()} known to +- {margin:g} (95 %)"
    with progress("Planning"):
        needed = needed_epsilon(outlook, name.strip(), margin, delta)
    if needed is None:
        return f"{wanted}: no epsilon is enough, because {outlook.persons:,} persons are too few."
    return f"{wanted} needs epsilon {needed:.2g}."


def _draw(comparison: "Comparison", path: Path, *, overwrite: bool) -> None:
    import io  # noqa: PLC0415 - with the picture

    content = io.BytesIO()
    comparison.plot().savefig(content, format=path.suffix.lstrip(".") or "png", dpi=150)
    write_new(path, content.getvalue(), overwrite=overwrite)
    say(f"The picture is in '{path}'.")


ERRORS = "Predicted standard errors, sampling included"
DISTANCE = (
    "err is the distance from the fit without privacy in its own standard errors: 1 is as much as "
    "sampling error."
)
EXPLANATION = (
    "Covariates are taken to be spread evenly over the schema's ranges, unless --sd and --shares "
    "say otherwise; where real data are less even, standard errors are larger. Those of newton come "
    "from simulated people with these facts."
)


def _errors(found: list["Forecast"]) -> str:
    """Every mechanism's error in one number, and what it promises."""
    rows = (
        (item.mechanism, "-" if item.error is None else f"{item.error:.2f}", item.promise)
        for item in found
    )
    return aligned([("mechanism", "err", "promise"), *rows], left=(0, 2))


def _coefficients(outlook: "Outlook", found: list["Forecast"]) -> str:
    """Every coefficient's standard error by each mechanism that predicts one."""
    predicted = [item for item in found if item.standard_errors]
    columns = (outlook.sampling_errors, *(item.standard_errors for item in predicted))
    rows = (
        (title, *(f"{value:.3g}" for value in values))
        for title, *values in zip(outlook.schema.coefficient_titles, *columns, strict=True)
    )
    heading = ("coefficient", "not private", *(item.mechanism for item in predicted))
    return in_blocks([heading, *rows], width())
