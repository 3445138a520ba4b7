"""`discreet new`: a schema to be filled in, from the names of the columns and nothing else."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.output import say
from discreet.errors import DataFormError


def new(
    data: Annotated[Path, typer.Argument(help="The file whose columns are to be described.")],
) -> None:
    """Print a schema with empty places; no record is looked at. `check` says what is missing."""
    from discreet.people.tables import column_names  # noqa: PLC0415 - loads pyarrow

    names = column_names(data)
    if 2 * sum(_is_number(name) for name in names) >= len(names):
        raise DataFormError(
            f"the first line of '{data}' is made of numbers, so it may be a record: give the file a "
            "line with the names of its columns, because a schema is public."
        )
    say("\n".join(skeleton(data.name, names)))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return not text.strip()
    return True


def skeleton(name: str, columns: Sequence[str]) -> Iterator[str]:
    """The lines of the schema: every bound and level an empty place that says where to look."""
    yield f"# What is public about {_quoted(name)}, from the names of its columns alone."
    yield '# Fill in every "" and delete what does not apply. Take numbers and words from the code'
    yield "# book, the study protocol or general knowledge, never from the records."
    yield ""
    yield '# person = ""     # the column that says whose row it is, if a person may have several'
    yield ""
    yield "[time]"
    yield 'duration = ""     # the column with the time to the event or to the end of follow-up'
    yield 'event = ""        # the column that is 1 where the event happened and 0 where it did not'
    yield '# entry = ""      # the column with the time of a late entry, if there is one'
    yield '# unit = "days"   # what the times are counted in'
    yield 'horizon = ""      # how far the model goes, a number: from the protocol'
    yield "intervals = 60    # as many as there are months, or whatever is fine enough"
    for column in columns:
        yield ""
        yield "[[covariate]]     # delete it if this column is no covariate"
        yield f"name = {_quoted(column)}"
        yield 'low = ""          # a number: the least that is plausible, from the code book'
        yield 'high = ""         # a number: the most that is plausible'
        yield '# levels = [""]   # instead of low and high: the categories, the reference first'


def _quoted(text: str) -> str:
    """A TOML string of any text."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    shown = "".join(
        character if character.isprintable() else f"\\U{ord(character):08X}"
        for character in escaped
    )
    return f'"{shown}"'
