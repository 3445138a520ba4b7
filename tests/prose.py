"""Which lines of a Markdown page are prose, and how long they may be."""

import re

LONGEST = 100
FENCE = re.compile(r"^\s*(```|~~~)")
# tables, headings, comments, pictures, indented code, definitions of links, names of the reference
OTHER = re.compile(r"^\s*(\||#|<|!\[|:::|\[[^\]]+\]: )|^ {4,}")
SPAN = re.compile(r"\[[^\]\n]+\]\([^)\s]+\)|`[^`\n]+`")


def prose(text):
    """Number and text of the lines that a person wrote as sentences; not what a program fills in."""
    fenced = filled = False
    for number, line in enumerate(text.splitlines(), 1):
        filled = "begin -->" in line or (filled and "end -->" not in line)
        if FENCE.match(line):
            fenced = not fenced
        elif not fenced and not filled and not OTHER.match(line):
            yield number, line


def too_long(text):
    """Lines of prose beyond the limit that could have been broken: links and code are one word."""
    return [
        number
        for number, line in prose(text)
        if len(line) > LONGEST and " " in SPAN.sub("x", line.strip()[2:])
    ]
