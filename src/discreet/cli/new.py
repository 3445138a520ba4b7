"""`discreet new`: a schema to be filled in, from the names of the columns and nothing else."""

import re
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.output import say
from discreet.errors import DataFormError

SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}
DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}")


def new(
    data: Annotated[Path, typer.Argument(help="The file whose columns are to be described.")],
) -> None:
    """Print a schema with empty places; no record is looked at. `check` says what is missing.

    Columns of dates, the time, the event and the person are guessed from names.
    """
    from discreet.design.draft import skeleton  # noqa: PLC0415 - the command alone needs it
    from discreet.people.files import column_names, date_names  # noqa: PLC0415 - loads pyarrow

    names = column_names(data)
    mark = next((mark for mark in SEPARATORS if len(names) == 1 and mark in names[0]), None)
    if mark is not None:
        raise DataFormError(
            f"the columns of '{data}' seem to be separated by {SEPARATORS[mark]}; save the file with "
            "commas between columns and a point in decimals."
        )
    names = tuple(name for name in names if name.strip())  # a data frame's index has no name
    if 2 * sum(_is_value(name) for name in names) >= len(names):
        raise DataFormError(
            f"the first line of '{data}' is made of values, so it may be a record: give the file a "
            "line with the names of its columns, because a schema is public."
        )
    say("\n".join(skeleton(data.name, names, date_names(data))))


def _is_value(text: str) -> bool:
    """Whether it is a number or a date, as a record has and a name is not."""
    try:
        float(text)
    except ValueError:
        return DATE.match(text.strip()) is not None
    return True
