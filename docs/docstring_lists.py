"""Docstrings explain settings in two columns, name and text; on the site these become lists.

A paragraph is two columns if each of its lines is a name, two blanks or more and a text, or goes
on, indented, with the text before it.
"""

import re
from typing import Any

import griffe

ENTRY = re.compile(r"^(?P<names>\w[\w, ]*?)(?: {2,}|: )(?P<text>\S.*)$")
COLUMNS = re.compile(r"^\w[\w, ]*? {2,}\S")


class DocstringLists(griffe.Extension):
    """Rewrite the paragraphs of docstrings that are two columns."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Each object once, when it is loaded."""
        if obj.docstring is not None:
            paragraphs = obj.docstring.value.split("\n\n")
            obj.docstring.value = "\n\n".join(map(as_list, paragraphs))


def as_list(paragraph: str) -> str:
    """A list if the paragraph is two columns; otherwise the paragraph itself."""
    lines = paragraph.strip("\n").split("\n")
    starts = [line for line in lines if not line.startswith(" ")]
    if not starts or not all(COLUMNS.match(line) for line in starts) or lines[0].startswith(" "):
        return paragraph
    return "\n".join(_item(line) for line in lines)


def _item(line: str) -> str:
    entry = ENTRY.match(line)
    if entry is None:
        return f"  {line.strip()}"
    return f"- `{entry['names']}`: {entry['text']}"
