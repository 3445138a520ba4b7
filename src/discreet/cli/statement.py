"""A ledger's statement as a bar and tables; names from outside are shown, never interpreted."""

from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from discreet.ledger import Line, Statement
from discreet.privacy.guarantee import ASSUMPTION
from discreet.text import printable

BAR_WIDTH = 50
MANY = 1000


def render(statement: Statement) -> RenderableType:
    """Budget, what is left, every release; those without a proof of their draw apart.

    The head is not here: it is copied, so it must stay in one piece on any terminal.
    """
    parts: list[RenderableType] = [_summary(statement), _bar(statement)]
    if statement.proved:
        parts.append(_table("Releases", statement.proved))
    if statement.conditional:
        parts.append(_table("Releases with a conditional promise", statement.conditional))
        parts.append(Text(ASSUMPTION))
    if not statement.lines:
        parts.append(Text("No release yet."))
    if statement.ideal_draw_only:
        title = "Charged for an ideal draw only: how far the promise holds is not proved"
        parts.append(_table(title, statement.ideal_draw_only))
    if statement.unproved:
        title = "Charged without a proof: what they protect is not known"
        parts.append(_table(title, statement.unproved))
    if statement.unsettled:
        parts.append(_unsettled(statement))
    return Group(*parts)


def _summary(statement: Statement) -> Text:
    budget = statement.budget
    lines = [
        f"Population: {printable(statement.population)} ({budget.relation}, per {budget.unit})",
        f"Budget: epsilon {budget.epsilon:.15g}, delta {budget.delta:g}",
        f"Left: epsilon {statement.left_pure:.15g} for a release without delta",
    ]
    if budget.delta_atto:
        lines.append(
            f"  or: epsilon {statement.left_zcdp:.15g} for one with zCDP noise at the budget's delta"
        )
    if statement.lines:
        lines.append(_room(statement))
    return Text("\n".join(lines))


def _bar(statement: Statement) -> RenderableType:
    row = Table.grid(padding=(0, 1))
    bar = ProgressBar(total=1.0, completed=min(statement.spent, 1.0), width=BAR_WIDTH)
    row.add_row(Text("Spent:"), bar, Text(f"{100 * statement.spent:.1f}%"))
    return row


def _room(statement: Statement) -> str:
    """How many more releases like the last one fit."""
    guarantee = statement.lines[-1].request.guarantee
    numbers = f"epsilon {guarantee.epsilon:.15g}, delta {guarantee.delta:g}"
    counted = {0: "No further release", 1: "1 more release", MANY: f"{MANY:,} or more releases"}
    count = statement.more or 0
    room = counted.get(count, f"{count:,} more releases")
    return f"{room} like the last one ({numbers}) {'fits' if count < 2 else 'fit'}."


def _table(title: str, lines: tuple[Line, ...]) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column("entry", justify="right", no_wrap=True)
    table.add_column("release", overflow="fold")
    table.add_column("epsilon", justify="right", no_wrap=True)
    table.add_column("delta", justify="right", no_wrap=True)
    table.add_column("state", no_wrap=True)
    table.add_column("description", overflow="fold")
    for line in lines:
        table.add_row(*(Text(cell) for cell in _cells(line)))
    return table


def _cells(line: Line) -> tuple[str, ...]:
    guarantee = line.request.guarantee
    numbers = f"{guarantee.epsilon:.15g}", f"{guarantee.delta:g}"
    description = printable(line.request.description)
    return (str(line.sequence), line.request.release_id, *numbers, line.state, description)


def _unsettled(statement: Statement) -> Text:
    return Text(
        f"{len(statement.unsettled)} reserved, never settled: still running, or stopped before "
        "the end. The charge stays, because nobody can know whether a release came out of it."
    )
