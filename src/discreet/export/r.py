"""One file of plain R, without packages: the model's numbers, and functions that predict from them.

`templates/predict.R` has both. Numbers are their shortest decimal form that reads back as the same double.
"""

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import ArrayLike

from discreet.export.content import Content
from discreet.results.description import ratio_of
from discreet.templates import template
from discreet.text import filled

WIDTH = 96


def write(content: Content) -> bytes:
    """The file."""
    filters = {
        "text": _text,
        "texts": _texts,
        "number": _number,
        "numbers": _numbers,
        "matrix": _matrix,
        "listed": _listed,
        "apply": _applied,
    }
    text = template("discreet.export", "predict.R", **filters).render(
        content=content,
        strata=content.schema.strata,
        effect=ratio_of(content.link),
        words=[line for word in content.words for line in filled(word, WIDTH).splitlines()],
    )
    return f"{text}\n".encode()


def _applied(value: object, macro: Callable[[object], str]) -> str:
    return macro(value)


def _listed(values: Iterable[str]) -> str:
    """list(...), an item a line."""
    items = ",".join(f"\n    {value}" for value in values)
    return f"list({items}\n  )" if items else "list()"


def _text(value: str) -> str:
    """A string of R: what is not plain ASCII by its code point, so that no locale changes it."""
    escaped = (
        f"\\{character}"
        if character in '"\\'
        else character
        if " " <= character <= "~"
        else f"\\U{ord(character):08X}"
        for character in value
    )
    return f'"{"".join(escaped)}"'


def _texts(values: Iterable[str]) -> str:
    return f"c({', '.join(map(_text, values))})"


def _number(value: float) -> str:
    return repr(float(value)).removesuffix(".0")


def _numbers(values: ArrayLike) -> str:
    shown = ", ".join(map(_number, np.asarray(values)))
    return f"c({shown})" if shown else "numeric(0)"


def _matrix(values: np.ndarray) -> str:
    rows = ",\n    ".join(", ".join(map(_number, row)) for row in values)
    return f"matrix(c(\n    {rows}), nrow = {len(values)}, byrow = TRUE)"
