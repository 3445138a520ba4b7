"""`discreet curves`: private survival curves by group."""

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import options
from discreet.cli.fit import Seen, conclude, joint_sites, payer, require_json
from discreet.cli.output import at_terminal, progress, say, warnings_as_lines, wrapped
from discreet.documents.strict import require_free


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
    require_json(out)
    require_free(out, overwrite=overwrite)
    names = [name.strip() for name in by.split(",")]
    from discreet.curves import GroupCurves  # noqa: PLC0415 - numpy and scipy
    from discreet.mechanisms.group_counts import GroupCounts  # noqa: PLC0415
    from discreet.people.source import People  # noqa: PLC0415 - loads pyarrow
    from discreet.release import require_affordable  # noqa: PLC0415

    wanted, source = GroupCurves(schema, names), People.of(options.people(data, query))
    pays = payer(ledger, no_ledger=no_ledger)
    mechanism = GroupCounts(epsilon, delta)
    seen = Seen(source, schema, frozenset(accept or ()))
    if ledger is not None and (at_terminal() or seen.first(persons, federation, yes=yes)):
        require_affordable(mechanism, ledger, persons=persons, release_id=release_id)
    if ledger is not None and at_terminal():
        seen.ask(f"epsilon {epsilon:g} (curves by {by})", ledger, yes=yes)
    elif seen.first(persons, federation, yes=yes):
        seen.refuse()
    with warnings_as_lines(), progress("Counting"):
        wanted.publish(
            source,
            mechanism=mechanism,
            ledger=pays,
            path=out,
            persons=persons,
            release_id=release_id,
            overwrite=overwrite,
            federation=joint_sites(federation, party, wait, release_id),
        )
    conclude(wanted.release_, out, "curves")
    say(
        wrapped(
            f"'discreet summary {out}' shows them, 'discreet page {out} --out page.html' draws them."
        )
    )
