"""What commands print: lines, warnings, and a bar for whoever waits at a terminal."""

import sys
import threading
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from shutil import get_terminal_size

from discreet.text import filled
from discreet.watch import Watcher, watching

# A spreadsheet takes a text that begins with one of these for a formula.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
# In some countries a spreadsheet begins a new cell after a semicolon unless it is quoted.
CELL_ENDS = (",", ";", "\t", '"', "\n", "\r")
PATIENCE = 1.0
REFRESH = 0.5
FIRST_LINE, LONGEST_WAIT = 5.0, 300.0
"""Seconds to the first line of progress without a terminal, and the most between two."""


def say(text: str) -> None:
    """A line on stdout."""
    sys.stdout.write(f"{text}\n")


def at_terminal() -> bool:
    """Whether a person can be asked."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def width() -> int:
    """How wide a text may be: as the terminal, 100 at most."""
    return min(get_terminal_size().columns, 100)


def wrapped(text: str) -> str:
    """A paragraph of that width."""
    return filled(text, width())


def complain(text: str) -> None:
    """A line on stderr; a terminal gets it without words cut in two, a log in one piece."""
    sys.stderr.write(f"{wrapped(text) if sys.stderr.isatty() else text}\n")


@contextmanager
def warnings_as_lines() -> Iterator[None]:
    """Print what the library warns of as one line each, without Python's decoration."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            yield
        finally:
            for item in caught:
                complain(f"warning: {item.message}")


@contextmanager
def progress(text: str) -> Iterator[None]:
    """How far work is: a bar on a terminal, a line every few seconds elsewhere.

    A bar after a second, with the time left where the work counts; lines on stderr, so that a job
    without a terminal can be told from one that hangs.
    """
    done, count = threading.Event(), _Count()
    show = _show_progress if sys.stderr.isatty() else _write_progress
    watcher = threading.Thread(target=show, args=(text, done, count), daemon=True)
    watcher.start()
    try:
        with watching(count):
            yield
    finally:
        done.set()
        watcher.join()


class _Count(Watcher):
    """Units of work announced and done."""

    def __init__(self) -> None:
        self.total, self.done = 0, 0
        self._lock = threading.Lock()

    def begin(self, total: int) -> None:
        with self._lock:
            self.total += total

    def advance(self, units: int) -> None:
        with self._lock:
            self.done += units


def _show_progress(text: str, done: threading.Event, count: _Count) -> None:
    if done.wait(PATIENCE):
        return
    from rich.console import Console  # noqa: PLC0415 - short work never needs it
    from rich.progress import (  # noqa: PLC0415
        BarColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    left = (TextColumn("left"), TimeRemainingColumn(elapsed_when_finished=False))
    with Progress(*columns, *left, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(text, total=None)
        while not done.wait(REFRESH):
            bar.update(task, total=count.total or None, completed=count.done)


def _write_progress(text: str, done: threading.Event, count: _Count) -> None:
    """A line after a few seconds, then after twice as many, up to one in five minutes."""
    start, wait = time.monotonic(), FIRST_LINE
    while not done.wait(wait):
        share = f", {count.done / count.total:.0%} done" if count.total else ""
        complain(f"{text}: {time.monotonic() - start:.0f} s{share} ...")
        wait = min(2.0 * wait, LONGEST_WAIT)


def csv_bytes(rows: Iterable[Sequence[object]]) -> bytes:
    """A CSV file; no text in it is a formula."""
    return "".join(",".join(map(_cell, row)) + "\n" for row in rows).encode()


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.10g}"
    text = str(value)
    if text.startswith(FORMULA_STARTS) and not _is_number(text):
        text = f"'{text}"
    quoted = text.replace('"', '""')
    return f'"{quoted}"' if any(mark in text for mark in CELL_ENDS) else text


def _is_number(text: str) -> bool:
    from discreet.design.schema import parse_number  # noqa: PLC0415 - pydantic

    return parse_number(text) is not None
