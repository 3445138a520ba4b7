"""`discreet curves`: private survival curves by group."""

from typing import Annotated

import typer

from discreet.cli import options
from discreet.cli.charge import Terms, publishing
from discreet.cli.output import say, wrapped


@publishing
def curves(
    data: options.Data,
    *,
    schema: options.SchemaFile,
    by: Annotated[
        str, typer.Option(help="A covariate with declared levels, or two separated by a comma.")
    ],
    epsilon: Annotated[
        float,
        typer.Option(help="Privacy: the smaller, the stronger.", parser=options.number),
    ],
    delta: Annotated[
        float | None,
        typer.Option(help="1e-6, or less if people are many, unless given; 0 for none."),
    ] = None,
    query: options.Select = None,
    terms: Terms,
) -> None:
    """Publish survival curves by group, with bands that include the privacy noise."""
    names = [name.strip() for name in by.split(",")]
    from discreet.curves import GroupCurves
    from discreet.mechanisms.group_counts import GroupCounts
    from discreet.people.source import People

    wanted, source = GroupCurves(schema, names), People.of(options.people(data, query))
    charge, out = f"epsilon {epsilon:g} (curves by {by})", terms.out
    terms.publish(wanted, source, schema, GroupCounts(epsilon, delta), charge)
    draws = f"'discreet page {out} --out page.html' draws them."
    say(wrapped(f"'discreet summary {out}' shows them, {draws}"))
