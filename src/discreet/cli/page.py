"""`discreet page` and `discreet report`: a release as a page, and as a model card for a journal."""

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import options
from discreet.cli.output import say, wrapped
from discreet.errors import SettingsError

WordsFile = Annotated[
    Path | None,
    typer.Option(help="Title, labels, units and contact in place of the release's: a TOML file."),
]
NO_TITLE = "the words of a page are in a file: --words words.toml, with title and others in [page]."


def page(
    release: options.ReleaseFile,
    out: Annotated[Path, typer.Option(help="The page to write, an .html file.")],
    *,
    words: WordsFile = None,
    title: Annotated[str | None, options.refused("--title", NO_TITLE)] = None,  # noqa: ARG001
    overwrite: options.Overwrite = False,
) -> None:
    """Turn a release into a page that works in any browser, from disk, without a network.

    A words file has [page] with title, description, event, curator, contact, citation, sources,
    licence and language, and labels and units of covariates: they change no number.
    """
    _write(release, out, words, overwrite=overwrite, card=False)
    say(wrapped(f"The page is in '{out}': one file, to be opened in a browser or published."))


def report(
    release: Annotated[
        Path, typer.Argument(help="A private release of a model, as `fit --epsilon` wrote it.")
    ],
    out: Annotated[Path, typer.Option(help="The card to write, a .md file.")],
    *,
    words: WordsFile = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Write a model card: the equation, the table of ratios, the promise, and what is left to say."""
    _write(release, out, words, overwrite=overwrite, card=True)
    say(wrapped(f"The model card is in '{out}'; fields marked 'to be filled in' are yours."))


def _write(release: Path, out: Path, words: Path | None, *, overwrite: bool, card: bool) -> None:
    """Write a page, or a card, with the words of a file if there is one."""
    from discreet.design.words import Words
    from discreet.documents.read import read_document
    from discreet.documents.strict import require_free, write_new
    from discreet.report.card import make_card
    from discreet.report.page import write_page

    kind, *endings = ("a card is Markdown", ".md") if card else ("a page is HTML", ".html", ".htm")
    if out.suffix.lower() not in endings:
        raise SettingsError(f"{kind}; name it '{out.with_suffix(endings[0])}'.")
    require_free(out, overwrite=overwrite)
    model, own = read_document(release), None if words is None else Words.from_toml(words)
    if card:
        write_new(out, make_card(model, own).encode(), overwrite=overwrite)
    else:
        write_page(model, out, words=own, overwrite=overwrite)
