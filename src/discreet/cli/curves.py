"""`discreet curves`: private survival curves by group."""

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import options
from discreet.cli.charge import Terms, conclude, require_writable
from discreet.cli.output import progress, say, warnings_as_lines, wrapped


def curves(  # noqa: PLR0913 - one parameter an option
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
    out: Annotated[Path, typer.Option(help="The curves to write, a .json file.")],
    delta: Annotated[
        float | None,
        typer.Option(help="1e-6, or less if people are many, unless given; 0 for none."),
    ] = None,
    query: options.Select = None,
    persons: options.Persons = None,
    ledger: options.LedgerPlace = None,
    no_ledger: options.NoLedger = False,
    release_id: options.ReleaseName = None,
    federation: options.SitesFile = None,
    party: options.Party = None,
    wait: options.Wait = 600.0,
    accept: options.Accept = None,
    yes: options.Yes = False,
    overwrite: options.Overwrite = False,
) -> None:
    """Publish survival curves by group, with bands that include the privacy noise."""
    require_writable(out, overwrite=overwrite)
    names = [name.strip() for name in by.split(",")]
    from discreet.curves import GroupCurves
    from discreet.mechanisms.group_counts import GroupCounts
    from discreet.people.source import People

    wanted, source = GroupCurves(schema, names), People.of(options.people(data, query))
    mechanism = GroupCounts(epsilon, delta)
    terms = Terms(
        out, ledger, no_ledger, persons, release_id, federation, party, wait, accept, yes, overwrite
    )
    arguments = terms.arguments()
    terms.agree(source, schema, mechanism, f"epsilon {epsilon:g} (curves by {by})")
    with warnings_as_lines(), progress("Counting"):
        wanted.publish(source, mechanism=mechanism, **arguments)
    conclude(wanted.release_, out, "curves")
    say(
        wrapped(
            f"'discreet summary {out}' shows them, 'discreet page {out} --out page.html' draws them."
        )
    )
