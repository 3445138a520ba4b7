"""`discreet budget`: make a ledger, look at it, check it, take over a copy."""

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.output import say
from discreet.errors import ArtefactError, LedgerError, SettingsError
from discreet.models.strict import parse_strict, read_content

if TYPE_CHECKING:
    from discreet.ledger import ReleaseClaim

budget_app = typer.Typer(
    name="budget",
    help="The privacy budget of a population: what is spent, what is left, whether to trust it.",
    no_args_is_help=True,
)

Location = Annotated[str, typer.Argument(help="A path, or a postgresql:// URL.", metavar="LEDGER")]
ReleaseFile = Annotated[Path | None, typer.Option(help="A release file, as `fit` wrote it.")]


@budget_app.command("init")
def initialise(
    ledger: Location,
    population: Annotated[str, typer.Option(help="Who the budget protects, in your words.")],
    epsilon: Annotated[str, typer.Option(help="Everything that may ever be spent.")],
    delta: Annotated[
        str, typer.Option(help="The budget's delta; 0 admits releases without one only.")
    ] = "1e-6",
) -> None:
    """Make a ledger; an existing one is never overwritten.

    It counts replace-one guarantees: no release is made under another relation.
    """
    from discreet.ledger import open_ledger  # noqa: PLC0415 - numpy

    head = open_ledger(ledger).initialise(population, epsilon, delta)
    say(f"The ledger is ready: epsilon {epsilon}, delta {delta}. Its head is {head}")


@budget_app.command("show")
def show(ledger: Location) -> None:
    """Show what is spent, what is left, and every release."""
    from rich.console import Console  # noqa: PLC0415 - slow to import

    from discreet.cli.statement import render  # noqa: PLC0415 - slow to import
    from discreet.ledger import open_ledger  # noqa: PLC0415 - numpy

    statement = open_ledger(ledger).show()
    Console().print(render(statement))
    say(f"Head: {statement.head}")


@budget_app.command("verify")
def verify(ledger: Location, release: ReleaseFile = None) -> None:
    """Check chain, tables, place and witness; with --release also that it was charged here."""
    from discreet.ledger import open_ledger  # noqa: PLC0415 - numpy

    claim = None if release is None else read_claim(release)
    found = open_ledger(ledger).verify(claim)
    if not found.sound:
        raise LedgerError("; ".join(found.problems))
    for text in found.notes:
        say(f"{text[:1].upper()}{text[1:]}")
    say(f"The ledger is sound. Its head is {found.head}")


@budget_app.command("adopt")
def adopt(
    ledger: Location,
    release: ReleaseFile = None,
    head: Annotated[str | None, typer.Option(help="The newest head, as it was printed.")] = None,
) -> None:
    """Take over a moved or restored ledger, given its newest release (or head)."""
    from discreet.ledger import Head, open_ledger  # noqa: PLC0415 - numpy

    if release is not None and head is None:
        newest = read_claim(release).head
    elif head is not None and release is None:
        newest = Head.parse(head)
    else:
        raise SettingsError("give either --release or --head: the newest there is.")
    adopted = open_ledger(ledger).adopt(newest)
    say(f"This is the ledger from now on; destroy other copies. Its head is {adopted}")


def read_claim(path: Path) -> "ReleaseClaim":
    """What a release file says of its charge."""
    from discreet.ledger import UNCHARGED, Head, ReleaseClaim  # noqa: PLC0415 - numpy
    from discreet.privacy.guarantee import Guarantee  # noqa: PLC0415 - with the next

    content = read_content(path)
    members = parse_strict(content)
    release_id, head = members.get("release_id"), members.get("ledger")
    guarantee = members.get("guarantee")
    if not isinstance(release_id, str) or not isinstance(head, str):
        raise ArtefactError("this is no release: it lacks the texts release_id and ledger.")
    if head == UNCHARGED:
        raise ArtefactError("the release was charged to no ledger; there is nothing to verify.")
    if not isinstance(guarantee, dict):
        raise ArtefactError("this is no release: it lacks a guarantee.")
    claimed = Guarantee.from_mapping(guarantee)
    return ReleaseClaim(release_id, Head.parse(head), claimed, hashlib.sha256(content).hexdigest())
