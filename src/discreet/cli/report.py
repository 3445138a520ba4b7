"""`discreet report`: a model card for a journal."""

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import options
from discreet.cli.output import say, wrapped
from discreet.errors import SettingsError


def report(
    release: Annotated[
        Path, typer.Argument(help="A private release of a model, as `fit --epsilon` wrote it.")
    ],
    out: Annotated[Path, typer.Option(help="The card to write, a .md file.")],
    *,
    words: options.WordsFile = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Write a model card: the equation, the table of ratios, the promise, and what is left to say."""
    from discreet.documents.read import read_document
    from discreet.documents.strict import require_free, write_new
    from discreet.report.card import make_card
    from discreet.report.page import with_words

    if out.suffix.lower() != ".md":
        raise SettingsError(f"a card is Markdown; name it '{out.with_suffix('.md')}'.")
    require_free(out, overwrite=overwrite)
    model, found = read_document(release), options.read_words(words)
    shown = model if found is None else with_words(model, found)
    write_new(out, make_card(shown).encode(), overwrite=overwrite)
    say(wrapped(f"The model card is in '{out}'; fields marked 'to be filled in' are yours."))
