"""`discreet page`: a release as one self-contained file."""

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import options
from discreet.cli.output import say, wrapped
from discreet.errors import SettingsError


def page(
    release: options.ReleaseFile,
    out: Annotated[Path, typer.Option(help="The page to write, an .html file.")],
    *,
    words: options.WordsFile = None,
    title: options.NoTitle = None,  # noqa: ARG001 - its callback says what to write
    overwrite: options.Overwrite = False,
) -> None:
    """Turn a release into a page that works in any browser, from disk, without a network.

    A words file has [page] with title, description, event, curator, contact, citation, sources,
    licence and language, and labels and units of covariates: they change no number.
    """
    from discreet.documents.read import read_document
    from discreet.documents.strict import require_free
    from discreet.report import write_page

    if out.suffix.lower() not in {".html", ".htm"}:
        raise SettingsError(f"a page is HTML; name it '{out.with_suffix('.html')}'.")
    require_free(out, overwrite=overwrite)
    write_page(read_document(release), out, words=options.read_words(words), overwrite=overwrite)
    say(wrapped(f"The page is in '{out}': one file, to be opened in a browser or published."))
