"""What commands print: lines, warnings, and a bar for whoever waits at a terminal."""

import csv
import io
import sys
import textwrap
import threading
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from shutil import get_terminal_size

# A spreadsheet takes a text that begins with one of these for a formula.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
PATIENCE = 1.0


def say(text: str) -> None:
    """A line on stdout."""
    sys.stdout.write(f"{text}\n")


def wrapped(text: str) -> str:
    """A paragraph as wide as the terminal, 100 at most."""
    width = min(get_terminal_size().columns, 100)
    return textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)


@contextmanager
def warnings_as_lines() -> Iterator[None]:
    """Print what the library warns of as one line each, without Python's decoration."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            yield
        finally:
            for item in caught:
                sys.stderr.write(f"warning: {item.message}\n")


@contextmanager
def progress(text: str) -> Iterator[None]:
    """A moving bar on work over a second, on a terminal only."""
    if not sys.stderr.isatty():
        yield
        return
    done = threading.Event()
    watcher = threading.Thread(target=_show_progress, args=(text, done), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


def _show_progress(text: str, done: threading.Event) -> None:
    if done.wait(PATIENCE):
        return
    from rich.console import Console  # noqa: PLC0415 - short work never needs it
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        bar.add_task(text, total=None)
        done.wait()


def csv_bytes(rows: Iterable[Sequence[object]]) -> bytes:
    """A CSV file; no text in it is a formula."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows([_cell(item) for item in row] for row in rows)
    return buffer.getvalue().encode()


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.10g}"
    text = str(value)
    return f"'{text}" if text.startswith(FORMULA_STARTS) and not _is_number(text) else text


def _is_number(text: str) -> bool:
    from discreet.schema import parse_number  # noqa: PLC0415 - pydantic

    return parse_number(text) is not None
