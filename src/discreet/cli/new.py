"""`discreet new`: a schema to be filled in, from the names of the columns and nothing else."""

import re
from typing import Annotated

import typer

from discreet.cli import options
from discreet.cli.output import say
from discreet.errors import DataFormError

SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}
DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}")


def new(
    data: Annotated[
        str,
        typer.Argument(help="The file or database (--query) whose columns the schema describes."),
    ],
    query: options.Select = None,
) -> None:
    """Print a schema with empty places; no record is looked at. `check` says what is missing.

    Columns of dates, the time, the event and the person are guessed from names.
    """
    import pyarrow as pa

    from discreet.design.draft import skeleton
    from discreet.people.databases import Query
    from discreet.people.files import file_columns

    source = options.people(data, query)
    found = source.schema() if isinstance(source, Query) else file_columns(source)
    names = tuple(found.names)
    mark = next((mark for mark in SEPARATORS if len(names) == 1 and mark in names[0]), None)
    if mark is not None:
        raise DataFormError(
            f"the columns of '{data}' seem to be separated by {SEPARATORS[mark]}; save the file with "
            "commas between columns and a point in decimals."
        )
    names = tuple(name for name in names if name.strip())  # a data frame's index has no name
    if 2 * sum(_is_value(name) for name in names) >= len(names):
        raise DataFormError(
            f"the first line of '{source.name}' has values for names, so it may be a record: give the file a "
            "line with the names of its columns, because a schema is public."
        )
    dates = [item.name for item in found if pa.types.is_temporal(item.type)]
    texts = [
        item.name
        for item in found
        if pa.types.is_dictionary(item.type)
        or pa.types.is_string(item.type)
        or pa.types.is_large_string(item.type)
    ]
    if len(texts) == len(found):  # as of a CSV file, which declares no types
        texts = []
    say("\n".join(skeleton(source.name, names, dates, texts)))


def _is_value(text: str) -> bool:
    """Return whether the text is a number or a date, which a record has and a name is not."""
    try:
        float(text)
    except ValueError:
        return DATE.match(text.strip()) is not None
    return True
