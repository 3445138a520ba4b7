"""The output of commands: lines, warnings, progress, CSV files."""

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
    """Write a line to stdout."""
    sys.stdout.write(f"{text}\n")


def at_terminal() -> bool:
    """Return whether a person can be asked."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def width() -> int:
    """Return the width of a text: that of the terminal, at most 100."""
    return min(get_terminal_size().columns, 100)


def wrapped(text: str) -> str:
    """Return a paragraph of that width."""
    return filled(text, width())


def complain(text: str) -> None:
    """Write a line to stderr: wrapped on a terminal, in one piece in a log."""
    sys.stderr.write(f"{wrapped(text) if sys.stderr.isatty() else text}\n")


@contextmanager
def warnings_as_lines() -> Iterator[None]:
    """Print each warning of the library as one line."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            yield
        finally:
            for item in caught:
                complain(f"warning: {item.message}")


@contextmanager
def progress(text: str) -> Iterator[None]:
    """Show the progress of the work inside.

    On a terminal a bar appears after a second, with the time left if the work counts its units.
    Elsewhere a line is written to stderr every few seconds, later every few minutes: a job that
    runs looks different from one that hangs.
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
    from rich.console import Console
    from rich.progress import (
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
    """Write a line after a few seconds, then after twice as many, up to one in five minutes."""
    start, wait = time.monotonic(), FIRST_LINE
    while not done.wait(wait):
        share = f", {count.done / count.total:.0%} done" if count.total else ""
        complain(f"{text}: {time.monotonic() - start:.0f} s{share} ...")
        wait = min(2.0 * wait, LONGEST_WAIT)


def csv_bytes(rows: Iterable[Sequence[object]]) -> bytes:
    """Return a CSV file in which no text is a formula."""
    return "".join(",".join(map(_cell, row)) + "\n" for row in rows).encode()


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.10g}"
    text = str(value)
    if text.startswith(FORMULA_STARTS):
        from discreet.design.schema import parse_number

        if parse_number(text) is None:
            text = f"'{text}"
    quoted = text.replace('"', '""')
    return f'"{quoted}"' if any(mark in text for mark in CELL_ENDS) else text
