"""Tables and names as plain text."""

import re
import textwrap
from collections.abc import Collection, Iterable, Sequence

NARROWEST = 12
"""A column of names narrower than this cannot be read: ``baseline[10]``."""
INDENT = "  "
"""Indent of the further lines of a name."""
_KIND = r"\b[a-z][a-z0-9+.-]+:[/\\]{1,3}(?!\.\.\.)"
ADDRESS = re.compile(
    rf"""
    ('{_KIND}) [^@?]*[@?].* (?=')       # in quotes, up to the last one: a password may have blanks
    | ({_KIND}) (?:
        \S*\?\S*pass\w*=.*? (?=['\")]*[.,:;]*$)     # nothing shows where this password ends
        | (?: [^\s/\\@]*:.*@ | \S*[@?] )            # a user and a password, up to the last @
          \S*? (?=['\")]*[.,:;]*(?:\s|$))
    )
    """,
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
"""The address of a server with a user or settings, also one that `pathlib` shortened."""
PASSWORD = re.compile(
    r"(\b\w*(?:password|passphrase|passwd|pwd)\s*=\s*)"
    r"(?!\.\.\.)(?:'(?:[^'\\]|\\.)+'|\S+?(?=['\")]*[.,:;]*(?:\s|$)))",
    re.IGNORECASE,
)
"""A password among settings as libpq takes them, ``host=h password=p``; in quotes also blanks."""


def with_unit(number: str, unit: str | None) -> str:
    """A number and its unit, where it has one: ``10 years``."""
    return number if unit is None else f"{number} {unit}"


def aligned(rows: Iterable[Sequence[str]], left: Collection[int] = (0,), head: int = 1) -> str:
    """Columns of equal width under a ruled heading of that many lines; others are set to the right."""
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
    return "\n".join([*lines[:head], rule, *lines[head:]])


def in_blocks(rows: Iterable[Sequence[str]], width: int) -> str:
    """A table of names and numbers no wider than that: columns that do not fit follow below.

    Every block begins with the names, and a name longer than half the width goes on below itself.
    """
    cells = [line for row in rows for line in _below(row, width // 2)]
    names, *columns = zip(*cells, strict=True)
    blocks: list[list[tuple[str, ...]]] = [[names]]
    for column in columns:
        if len(blocks[-1]) > 1 and _wide([*blocks[-1], column]) > width:
            blocks.append([names])
        blocks[-1].append(column)
    return "\n\n".join(aligned(zip(*block, strict=True)) for block in blocks)


def fitted(rows: Iterable[Sequence[str]], width: int, left: Collection[int] = (0,)) -> str:
    """A table no wider than that: its headings, and then its names, go on below themselves.

    Numbers are never cut, so where they alone fill the width the table is wider.
    """
    cells, head = [tuple(row) for row in rows], 1
    if _wide(list(zip(*cells, strict=True))) > width:
        top, below = zip(*(cell.partition(" ")[::2] for cell in cells[0]), strict=True)
        if any(below):  # a second line of words leaves more room than it takes
            cells[:1], head = [top, below], 2
    _, *columns = zip(*cells, strict=True)
    room = width - _wide(columns) - 2
    if room < NARROWEST:
        return aligned(cells, left, head)
    return aligned((line for row in cells for line in _below(row, room)), left, head)


def _below(row: Sequence[str], width: int) -> Iterable[tuple[str, ...]]:
    """The row, and one for each further line of its name."""
    if len(row[0]) <= width:
        return [tuple(row)]
    first, *more = _name_lines(row[0], width)
    blank = ("",) * (len(row) - 1)
    return [(first, *row[1:]), *((line, *blank) for line in more)]


def _name_lines(name: str, width: int) -> list[str]:
    """Broken after a blank or a sign, ``arm[`` and ``new drug]``; within a word where it must be."""
    size = width - len(INDENT)
    words = re.split(r"(?<=[\s_:(/\[-])", name)
    pieces = (word[at : at + size] for word in words for at in range(0, len(word), size))
    lines = [""]
    for piece in pieces:
        if lines[-1].strip() and len((lines[-1] + piece).rstrip()) > width:
            lines.append(INDENT)
        lines[-1] += piece
    return [line.rstrip() for line in lines]


def _wide(columns: Sequence[Sequence[str]]) -> int:
    """Width of the columns as `aligned` sets them."""
    return sum(max(map(len, column)) for column in columns) + 2 * (len(columns) - 1)


def filled(text: str, width: int) -> str:
    """A paragraph of at most that width, no word cut in two."""
    return textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)


def at_most(value: float, digits: int = 4) -> str:
    """A number that can be asked for: in this many digits, and never above the value."""
    from decimal import ROUND_DOWN, Context, Decimal  # noqa: PLC0415 - help comes without it

    short = Context(prec=digits, rounding=ROUND_DOWN).create_decimal(Decimal(repr(value)))
    return f"{float(short):.15g}"


def without_addresses(text: str) -> str:
    """The text without what may hold a password: of ``postgresql://u:p@h/d`` is left its kind."""
    return PASSWORD.sub(r"\1...", ADDRESS.sub(r"\1\2...", text))


def printable(text: str) -> str:
    """The text with everything that could steer a terminal (controls, bidi marks) escaped."""
    return text if text.isprintable() else "".join(map(_shown, text))


def _shown(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode()
