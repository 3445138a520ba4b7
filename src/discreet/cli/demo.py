"""`discreet demo`: the main job on people who do not exist."""

from pathlib import Path
from typing import Annotated

import typer


def demo(
    out: Annotated[Path, typer.Option(help="The folder to write to.")] = Path("demo"),
) -> None:
    """Show a private release from beginning to end: a registry, its budget, its page.

    The patients do not exist, so the private fit can be compared with the exact one and the truth.
    """
    from discreet.cli.demonstration import show

    show(out)
