"""Tables and names as plain text."""

import textwrap
from collections.abc import Collection, Iterable, Sequence
from decimal import ROUND_DOWN, Context, Decimal


def aligned(rows: Iterable[Sequence[str]], left: Collection[int] = (0,)) -> str:
    """Columns of equal width under a ruled heading; those not named are set to the right."""
    cells = [list(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        "  ".join(
            cell.ljust(width) if index in left else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]
    rule = "─" * (sum(widths) + 2 * (len(widths) - 1))
    return "\n".join([lines[0], rule, *lines[1:]])


def filled(text: str, width: int) -> str:
    """A paragraph of at most that width, no word cut in two."""
    return textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)


def at_most(value: float, digits: int = 4) -> str:
    """A number that somebody may ask for, in so many digits and never above it."""
    short = Context(prec=digits, rounding=ROUND_DOWN).create_decimal(Decimal(repr(value)))
    return f"{float(short):.15g}"


def printable(text: str) -> str:
    """The text with everything that could steer a terminal (controls, bidi marks) escaped."""
    return text if text.isprintable() else "".join(map(_shown, text))


def _shown(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode()
