"""`discreet check`: what does not fit the schema, in counts; for the custodian's eyes."""

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.output import progress, say, wrapped
from discreet.text import aligned


def check(
    data: Annotated[
        Path,
        typer.Argument(help="A .csv or .parquet file, or a quoted pattern of Parquet files."),
    ],
    schema: Annotated[Path, typer.Option(help="The public schema, a TOML file.")],
) -> None:
    """Count what does not fit the schema. For the custodian: the counts are not private."""
    from discreet.design.schema import Schema  # noqa: PLC0415
    from discreet.people.hints import grid_hints, hints, quote_hints  # noqa: PLC0415 - loads pyarrow
    from discreet.people.source import People  # noqa: PLC0415

    public = Schema.from_toml(schema)
    with progress("Checking"):
        report = People(data).repairs(public)
    say(f"{report.rows:,} rows, {report.persons:,} persons.")
    if report.never_at_risk:
        say(f"{report.never_at_risk:,} persons are never at risk and add nothing to a fit.")
    if public.unbounded:
        listed = ", ".join(f"'{name}'" for name in public.unbounded)
        say(wrapped(f"A private fit also needs public bounds, low and high, for {listed}."))
    if report.repairs:
        say("These values do not fit the schema; every fit repairs them as shown:")
        say(aligned([("column", "problem", "rows", "becomes"), *report.table()], left=(0, 1, 3)))
    else:
        say("Every value fits the schema.")
    notes = (*hints(report, public), *grid_hints(report, public), *quote_hints(data, report.rows))
    for text in notes:
        say(wrapped(text))
