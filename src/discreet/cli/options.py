"""Options that several commands have: one name, one sentence of help."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.errors import SettingsError

if TYPE_CHECKING:
    from discreet.design.words import Words
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


def _refuse(text: str) -> Callable[[str | None], None]:
    """Return a callback that refuses an option which other programs have."""

    def refuse(given: str | None) -> None:
        if given is not None:
            raise SettingsError(text)

    return refuse


NoSeed = Annotated[
    str | None,
    typer.Option(
        "--seed",
        hidden=True,
        callback=_refuse(
            "a release takes no seed: noise that can be repeated can be subtracted. To try a method "
            "on data that need no protection use ds.simulate(..., seed=...) in Python."
        ),
    ),
]
NoTitle = Annotated[
    str | None,
    typer.Option(
        "--title",
        hidden=True,
        callback=_refuse(
            "the words of a page are in a file: --words words.toml, with title and others in [page]."
        ),
    ),
]
WordsFile = Annotated[
    Path | None,
    typer.Option(help="Title, labels, units and contact in place of the release's: a TOML file."),
]
DEFAULT_LINK = "cloglog"
"""As in `discreet.design.link`, which takes longer to load than help may."""
Link = Annotated[str, typer.Option(help="cloglog, logit or probit: cloglog gives hazard ratios.")]
Baseline = Annotated[
    str,
    typer.Option(help="natural-spline:KNOTS, piecewise-constant:PIECES or log-time:POWERS."),
]
Persons = Annotated[
    int | None, typer.Option(help="Number of persons (public): plan and charge before reading.")
]
LedgerPlace = Annotated[
    str | None, typer.Option(help="The budget to charge: a path or postgresql:// URL.")
]
NoLedger = Annotated[
    bool, typer.Option("--no-ledger", help="Publish without a budget: nothing adds it up.")
]
ReleaseName = Annotated[str | None, typer.Option(help="Name of the release.")]
SitesFile = Annotated[
    Path | None,
    typer.Option(help="The sites that make one release together, a sites.toml; see --party."),
]
Party = Annotated[int | None, typer.Option(help="Which of the sites this is, from 0.")]
Wait = Annotated[float, typer.Option(help="Seconds to wait for the other sites.")]
Yes = Annotated[
    bool,
    typer.Option(
        "--yes",
        help="Publish whatever the records hold: no question is asked and no file refused.",
    ),
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


def read_words(path: Path | None) -> "Words | None":
    """Return the words in a file, if one is given."""
    from discreet.design.words import Words

    return None if path is None else Words.from_toml(path)


def people(data: str, query: str | None) -> "Path | Query":
    """Return the source that DATA and --query name together."""
    from discreet.people.databases import Query, is_address, require_query

    if query is None:
        require_query(data)
        return Path(data)
    if not is_address(data):
        raise SettingsError("--query goes with a database: sqlite:///FILE, duckdb:///FILE, ...")
    if query.startswith("@"):
        file = Path(query[1:])
        try:
            query = file.read_text(encoding="utf-8")
        except (OSError, UnicodeError):
            raise SettingsError(f"--query: '{file.name}' cannot be read as text.") from None
    return Query(data, query)
