"""`discreet plan`: the predicted error of each mechanism, from public facts alone."""

import io
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
    from discreet.forecast import Comparison


def plan(  # noqa: PLR0913 - one parameter an option
    *,
    schema: options.SchemaFile,
    n: Annotated[int, typer.Option("--persons", help="Number of persons.", parser=options.whole)],
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

    Several epsilons make one table; --target asks for the smallest epsilon that is enough.
    Public facts about covariates, --sd and --shares, make the prediction better.
    """
    from discreet.design.schema import Schema
    from discreet.forecast import CausesComparison, needed_epsilon
    from discreet.forecast import plan as compare

    declared, targets = Schema.from_toml(schema), [_target(text) for text in target or ()]
    if picture is not None:
        if declared.time.causes is not None:
            raise SettingsError(
                "--picture is of one event, and the schema has causes: leave it out."
            )
        require_free(picture, overwrite=overwrite)
    with progress("Planning"):
        found = compare(
            declared,
            n,
            _events(events, by_cause=declared.time.causes is not None),
            options.numbers("epsilon", epsilon, "a number, or several with commas between them"),
            delta=delta,
            link=link,
            baseline=baseline,
            sd={name: values[0] for name, values in _facts("sd", sd, 1)},
            shares=dict(_facts("shares", shares, None)),
            sites=sites,
            colluding=colluding,
        )
    for part in found.tables.values():
        for line in part.heading:
            say(line)
        _show(part)
        for name, margin in targets:
            with progress("Planning"):
                needed = needed_epsilon(part.outlook, name, margin, delta)
            answer = f"{name} known to +- {margin:g} (95 %)"
            if needed is None:
                answer += f": no epsilon is enough, because {n:,} persons are too few."
            else:
                answer += f" needs epsilon {needed:.2g}."
            say(wrapped(answer))
    if isinstance(found, CausesComparison):
        for text in found.rare():
            say(wrapped(text))
    say(wrapped(found.duration()))
    say(wrapped(EXPLANATION))
    if picture is not None and not isinstance(found, CausesComparison):
        content = io.BytesIO()
        found.plot().savefig(content, format=picture.suffix.lstrip(".") or "png", dpi=150)
        write_new(picture, content.getvalue(), overwrite=overwrite)
        say(f"The picture is in '{picture}'.")


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


def _show(comparison: "Comparison") -> None:
    """Print the tables of one event, and the recommendation."""
    if len(comparison.found) > 1:
        say(f"{ERRORS}\n\n{comparison.table(width())}\n")
    else:
        (found,) = comparison.found.values()
        rows = (
            (item.mechanism, "-" if item.error is None else f"{item.error:.2f}", item.promise)
            for item in found
        )
        errors = aligned([("mechanism", "err", "promise"), *rows], left=(0, 2))
        say(f"Predicted error\n\n{errors}\n")
        say(wrapped(DISTANCE))
        for item in found:
            if item.note:
                say(wrapped(f"{item.mechanism}: {item.note}"))
        predicted = [item for item in found if item.standard_errors]
        outlook = comparison.outlook
        columns = (outlook.sampling_errors, *(item.standard_errors for item in predicted))
        lines = (
            (title, *(f"{value:.3g}" for value in values))
            for title, *values in zip(outlook.schema.coefficient_titles, *columns, strict=True)
        )
        heading = ("coefficient", "not private", *(item.mechanism for item in predicted))
        say(f"\n{ERRORS}\n\n{in_blocks([heading, *lines], width())}\n")
    say(wrapped(comparison.recommendation()))


def _target(text: str) -> tuple[str, float]:
    """A coefficient, or a covariate, and the half width of its interval."""
    name, _, half = (part.strip() for part in text.replace("=", ":").rpartition(":"))
    try:
        margin = float(half)
    except ValueError:
        margin = 0.0
    if not name or not margin > 0:
        raise SettingsError(
            f"--target takes a coefficient and half the width of its interval, such as 'sex: 0.1'; "
            f"this is '{text}'."
        )
    return name, margin


def _events(text: str, *, by_cause: bool) -> int | dict[str, int]:
    try:
        if not by_cause:
            return int(text)
        pairs = (part.partition("=") for part in text.split(","))
        return {name.strip(): int(number) for name, _, number in pairs}
    except ValueError:
        raise SettingsError(
            "the schema has causes: say --events of each, such as cancer=900,other=300."
            if by_cause
            else "--events takes a whole number."
        ) from None


def _facts(
    option: str, texts: list[str] | None, number: int | None
) -> Iterator[tuple[str, list[float]]]:
    """Yield the covariate and the numbers of every text."""
    example = "'bmi: 4'" if option == "sd" else "'stage: 0.5, 0.3, 0.2'"
    for text in texts or ():
        name, _, values = text.replace("=", ":").rpartition(":")
        found = options.numbers(option, values, f"a covariate and numbers, such as {example}")
        if not name.strip() or number not in {None, len(found)}:
            raise SettingsError(f"--{option} takes a covariate and numbers, such as {example}.")
        yield name.strip(), found
