# ruff: noqa: INP001, scripts beside each other
"""Tables that stand between two marks of a page, made again from results."""

import argparse
from collections.abc import Callable
from pathlib import Path


def fill(page: Path, marks: tuple[str, str], content: str) -> None:
    """Replace what stands between the marks."""
    begin, end = marks
    before, rest = page.read_text().split(begin)
    page.write_text(f"{before}{begin}\n{content}\n{end}{rest.split(end)[1]}")


def measure_or_fill(
    what: str | None, measure: Callable[[], None], fill: Callable[[], None]
) -> None:
    """The command of a study: measure, or with --page write what was measured into the page."""
    parser = argparse.ArgumentParser(description=what)
    parser.add_argument("--page", action="store_true")
    fill() if parser.parse_args().page else measure()
