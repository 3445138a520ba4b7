"""`discreet audit`: a measurement of a mechanism's running code, or a check of a release file."""

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli.output import complain, progress, say, wrapped
from discreet.cli.reproduce import SAMPLER, load_mechanism
from discreet.documents.strict import require_free, write_new
from discreet.errors import SettingsError

UNSOUND = 5
MACHINE = Path("machine")
"""The word that asks for the integers of this machine; a file of that name has its folder with it."""


def audit(  # noqa: PLR0913 - one parameter an option
    subject: Annotated[
        Path | None,
        typer.Argument(
            help="A release file to check, or the word machine: this machine's integers against committed ones."
        ),
    ] = None,
    *,
    mechanism: Annotated[
        str | None,
        typer.Option(
            help="A mechanism to measure: curves, newton, objective, output, sampler, selected."
        ),
    ] = None,
    epsilon: Annotated[float | None, typer.Option(help="The claim to measure (1).")] = None,
    delta: Annotated[float | None, typer.Option(help="The same, for mechanisms with one.")] = None,
    strata: Annotated[int, typer.Option(help="Of the models to measure (newton).")] = 1,
    causes: Annotated[int, typer.Option(help="The same, of competing risks.")] = 1,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer draws: faster, with less power.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="A JSON file of all findings.")] = None,
    picture: Annotated[Path | None, typer.Option(help="A PNG: claimed and measured.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the files.")] = False,
) -> None:
    """Check a release or this machine, or measure a mechanism (--mechanism); 5 if a check fails."""
    if (subject is None) == (mechanism is None):
        raise SettingsError("give a release file, the word machine, or --mechanism NAME.")
    claimed = epsilon is not None or delta is not None or strata > 1 or causes > 1
    if subject is not None and (claimed or quick or picture):
        raise SettingsError(
            "a release states its own claim, and a machine has none; give it without further settings."
        )
    if subject == MACHINE:
        if out is not None:
            raise SettingsError("the audit of a machine writes no file; leave out --out.")
        _compare_integers()
        return
    from rich.console import Console

    from discreet.audit import Effort, Subject, audit_mechanism, audit_release
    from discreet.audit.report import content, picture_content, table, words

    for path in (out, picture):
        if path is not None:
            require_free(path, overwrite=overwrite)
    if subject is not None:
        load_mechanism(SAMPLER)  # the release may be one of its
        found = audit_release(subject)
    else:
        load_mechanism(mechanism)
        settings: dict[str, Any] = {"delta": delta, "strata": strata, "causes": causes}
        measured = Subject(str(mechanism), 1.0 if epsilon is None else epsilon, **settings)
        effort = Effort.quick() if quick else Effort.full()
        with progress("Auditing"):
            found = audit_mechanism(measured, effort, lambda name: complain(f"{name} ..."))
    Console().print(table(found))
    for line in words(found).splitlines():
        say(wrapped(line))
    if out is not None:
        write_new(out, content(found), overwrite=overwrite)
    if picture is not None:
        write_new(picture, picture_content(found), overwrite=overwrite)
    if not found.sound:
        raise typer.Exit(UNSOUND)


def _compare_integers() -> None:
    from discreet.audit import machine

    found = machine.compared(machine.integers())
    for row in found:
        say(machine.sentence(*row))
    different = sum(difference > 0 for _, _, difference in found)
    if different:
        say(f"{different} of {len(found)} differ from what x86-64 computes; {machine.MEANING}")
        raise typer.Exit(UNSOUND)
    say("All integers are those that were committed, from x86-64.")
