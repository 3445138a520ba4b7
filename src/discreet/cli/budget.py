"""`discreet budget`: make a ledger, show it, check it, take over a copy.

Names from outside are escaped before they are printed.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer
from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from discreet.cli.output import say
from discreet.documents.strict import parse_strict, read_content
from discreet.errors import ArtefactError, LedgerError, SettingsError
from discreet.text import printable

if TYPE_CHECKING:
    from discreet.ledger import Charge, ReleaseClaim, Statement

BAR_WIDTH = 30
MANY = 1000


TABLES = {
    "proved": "Releases",
    "conditional": "Releases with a conditional promise",
    "ideal-draw-only": "Charged for an ideal draw only: how far the promise holds is not proved",
    "unproved": "Charged without a proof: what they protect is not known",
}
"""Title of the releases of each status."""


def render(statement: "Statement") -> RenderableType:
    """Return budget, what is left, and every release, by how much of its promise is proved.

    The head is not part of it: it is copied, so it must stay in one piece on any terminal.
    """
    from discreet.privacy.guarantee import ASSUMPTION, Status

    # the spent share depends on the noise of later releases, so it is given for some like the last
    row = Table.grid(padding=(0, 1))
    bar = ProgressBar(total=1.0, completed=min(statement.spent, 1.0), width=BAR_WIDTH)
    counted = ", in releases like the last one" if statement.charges else ""
    row.add_row(Text("Spent:"), bar, Text(f"{100 * statement.spent:.1f}%{counted}"))
    parts: list[RenderableType] = [_summary(statement), row]
    status: Status
    for status in get_args(Status):
        if charges := statement.charges_with(status):
            parts.append(_table(TABLES[status], charges))
            if status == "conditional":
                parts.append(Text(ASSUMPTION))
    if not statement.charges:
        parts.append(Text("No release yet."))
    if statement.unsettled:
        parts.append(
            Text(
                f"{len(statement.unsettled)} reserved, never settled: still running, or stopped "
                "before the end. The charge stays, because a release may have been published."
            )
        )
    return Group(*parts)


def _summary(statement: "Statement") -> Text:
    """Return population, budget, and what is left of it for one more release."""
    budget, left = statement.budget, statement.left
    lines = [
        f"Population: {printable(statement.population)} ({budget.relation}, per {budget.unit})",
        f"Budget: epsilon {budget.epsilon:.15g}, delta {budget.delta:g}",
        f"Left for one more release: {left[0]}",
        *(f"              or instead: {text}" for text in left[1:]),
    ]
    if statement.charges:
        guarantee = statement.charges[-1].request.guarantee
        numbers = f"epsilon {guarantee.epsilon:.15g}, delta {guarantee.delta:g}"
        count = statement.more or 0
        known = {0: "No further release", 1: "1 more release", MANY: f"{MANY:,} or more releases"}
        room = known.get(count, f"{count:,} more releases")
        lines.append(f"{room} like the last one ({numbers}) {'fits' if count < 2 else 'fit'}.")
    spent = sum(charge.request.guarantee.exact_epsilon for charge in statement.charges)
    if spent and budget.epsilon - spent < statement.left_gaussian:
        lines.append(
            f"Epsilons do not simply add: after {float(spent):.15g} of {budget.epsilon:.15g} more "
            "is left than the rest, because noise of several releases adds up like variances "
            '(docs/custodians.md, "The budget").'
        )
    return Text("\n".join(lines))


def _table(title: str, charges: "tuple[Charge, ...]") -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column("entry", justify="right", no_wrap=True)
    table.add_column("release", overflow="fold")
    table.add_column("epsilon", justify="right", no_wrap=True)
    table.add_column("delta", justify="right", no_wrap=True)
    table.add_column("state", no_wrap=True)
    table.add_column("description", overflow="fold")
    for charge in charges:
        request = charge.request
        numbers = f"{request.guarantee.epsilon:.15g}", f"{request.guarantee.delta:g}"
        cells = (str(charge.head.sequence), request.release_id, *numbers, charge.state)
        table.add_row(*map(Text, (*cells, printable(request.description))))
    return table


budget_app = typer.Typer(
    name="budget",
    help="The privacy budget of a population: what is spent, what is left, whether to trust it.",
    no_args_is_help=True,
)

Place = Annotated[
    str | None, typer.Argument(help="A path, or a postgresql:// URL.", metavar="LEDGER")
]
Option = Annotated[
    str | None, typer.Option("--ledger", help="The ledger, as the other commands name it.")
]
ReleaseFile = Annotated[Path | None, typer.Option(help="A release file, as `fit` wrote it.")]


def _location(place: str | None, option: str | None) -> str:
    """Return the location, given alone or after --ledger."""
    if (place is None) == (option is None):
        raise SettingsError("name the ledger once: its path or URL, alone or after --ledger.")
    return place or option or ""


@budget_app.command("init")
def initialise(
    place: Place = None,
    *,
    ledger: Option = None,
    population: Annotated[
        str, typer.Option(help="The persons that the budget protects, in your words.")
    ],
    epsilon: Annotated[str, typer.Option(help="The total that may ever be spent.")],
    delta: Annotated[
        str, typer.Option(help="The budget's delta; 0 admits only releases without delta.")
    ] = "1e-6",
) -> None:
    """Make a ledger; an existing one is never overwritten.

    It counts replace-one guarantees: no release is made under another relation.
    """
    from discreet.ledger import Ledger

    head = Ledger(_location(place, ledger)).initialise(population, epsilon, delta)
    say(f"The ledger is ready: epsilon {epsilon}, delta {delta}. Its head is {head}")


@budget_app.command("show")
def show(place: Place = None, *, ledger: Option = None) -> None:
    """Show what is spent, what is left, and every release."""
    from rich.console import Console

    from discreet.ledger import Ledger

    statement = Ledger(_location(place, ledger)).show()
    Console().print(render(statement))
    say(f"Head: {statement.head}")


@budget_app.command("verify")
def verify(place: Place = None, *, ledger: Option = None, release: ReleaseFile = None) -> None:
    """Check chain, tables, place and witness; with --release also that it was charged here."""
    from discreet.ledger import Ledger

    claim = None if release is None else read_claim(release)
    found = Ledger(_location(place, ledger)).verify(claim)
    if not found.sound:
        raise LedgerError("; ".join(found.problems))
    for text in found.notes:
        say(f"{text[:1].upper()}{text[1:]}")
    if claim is None:
        say(
            "Only a release can show whether ledger and witness were both restored; give the newest "
            "with --release."
        )
    say(f"The ledger is sound. Its head is {found.head}")


@budget_app.command("adopt")
def adopt(
    place: Place = None,
    *,
    ledger: Option = None,
    release: ReleaseFile = None,
    head: Annotated[str | None, typer.Option(help="The newest head, as it was printed.")] = None,
) -> None:
    """Take over a moved or restored ledger, given its newest release (or head)."""
    from discreet.ledger import Head, Ledger

    if release is not None and head is None:
        newest = read_claim(release).head
    elif head is not None and release is None:
        newest = Head.parse(head)
    else:
        raise SettingsError("give either --release or --head: the newest there is.")
    adopted = Ledger(_location(place, ledger)).adopt(newest)
    say(f"This is the ledger from now on; destroy other copies. Its head is {adopted}")


def read_claim(path: Path) -> "ReleaseClaim":
    """Return the charge that a release file prints."""
    from hashlib import sha256

    from discreet.ledger import UNCHARGED, Head, ReleaseClaim
    from discreet.privacy.guarantee import Guarantee

    content = read_content(path)
    members = parse_strict(content)
    release_id, head = members.get("release_id"), members.get("ledger")
    guarantee = members.get("guarantee")
    if not isinstance(release_id, str) or not isinstance(head, str):
        raise ArtefactError("this is not a release: it lacks the texts release_id and ledger.")
    if head == UNCHARGED:
        raise ArtefactError("the release was charged to no ledger; there is nothing to verify.")
    if not isinstance(guarantee, dict):
        raise ArtefactError("this is not a release: it lacks a guarantee.")
    claimed = Guarantee.from_mapping(guarantee)
    return ReleaseClaim(release_id, Head.parse(head), claimed, sha256(content).hexdigest())
