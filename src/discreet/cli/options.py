"""Options that several commands have: one name, one sentence of help."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.errors import SettingsError

if TYPE_CHECKING:
    from discreet.people.databases import Query

Data = Annotated[
    str,
    typer.Argument(
        help="The people: a file (.csv, .xlsx, .parquet, .dta, ...), a quoted pattern of Parquet files, "
        "or with --query a database: sqlite:///FILE, duckdb:///FILE, postgresql://..."
    ),
]
Select = Annotated[
    str | None,
    typer.Option(
        "--query", help="Of a database: the SELECT statement that gives the rows, or @FILE with it."
    ),
]
SchemaFile = Annotated[Path, typer.Option(help="The public schema, a TOML file.")]
ModelFile = Annotated[Path, typer.Argument(help="A model or release, as `fit` wrote it.")]
ReleaseFile = Annotated[
    Path, typer.Argument(help="A release, as `fit --epsilon` or `curves` wrote it.")
]


def number(text: str | float) -> float:
    """Return a number of the command line; a decimal comma gets a hint."""
    try:
        return float(text)
    except ValueError:
        point = str(text).replace(",", ".")
        hint = f": write {point}" if re.fullmatch(r"\d+,\d+", str(text)) else ""
        raise typer.BadParameter(f"'{text}' is not a number{hint}") from None


def whole(text: str | int) -> int:
    """Return a whole number of the command line; marks between thousands get a hint."""
    try:
        return int(text)
    except ValueError:
        digits = re.sub(r"\D", "", str(text))
        marked = re.fullmatch(r"\d{1,3}([,.' ]\d{3})+", str(text))
        hint = f": write {digits}" if marked else ""
        raise typer.BadParameter(f"'{text}' is not a whole number{hint}") from None


def refused(option: str, text: str) -> Any:
    """Return a hidden option that other programs have: given, it is an error that says what to do."""

    def refuse(given: str | None) -> None:
        if given is not None:
            raise SettingsError(text)

    return typer.Option(option, hidden=True, callback=refuse)


DEFAULT_LINK = "cloglog"
"""As in `discreet.design.link`, which takes longer to load than help may."""
Link = Annotated[str, typer.Option(help="cloglog, logit or probit: cloglog gives hazard ratios.")]
Baseline = Annotated[
    str,
    typer.Option(help="natural-spline:KNOTS, piecewise-constant:PIECES or log-time:POWERS."),
]
Accept = Annotated[
    list[str] | None,
    typer.Option(help="The name of a reason of `check` to set aside; once for each."),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the file.")]


def numbers(option: str, text: str, example: str) -> list[float]:
    """Return the numbers of a text with commas; raise `SettingsError` if it has none."""
    try:
        found = [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        found = []
    if not found:
        raise SettingsError(f"--{option} takes {example}.")
    return found


def people(data: str, query: str | None) -> "Path | Query":
    """Return the source that DATA and --query name together."""
    from discreet.people.databases import ADDRESSES, Query, is_address, require_query

    if query is None:
        require_query(data)
        return Path(data)
    if not is_address(data):
        raise SettingsError(f"--query goes with a database: {ADDRESSES}.")
    if query.startswith("@"):
        file = Path(query[1:])
        try:
            query = file.read_text(encoding="utf-8")
        except (OSError, UnicodeError):
            raise SettingsError(f"--query: '{file.name}' cannot be read as text.") from None
    return Query(data, query)
