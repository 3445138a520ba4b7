"""The command `discreet`: a sentence on stderr and an exit status for whatever goes wrong."""

import gc
import os
import sys
from io import TextIOWrapper

from discreet.errors import DiscreetError


def main() -> None:
    """Run the command; errors that this package raises on purpose never show a traceback."""
    # imports make hundreds of thousands of objects that stay: a tenth of the time went into counting them
    gc.set_threshold(100_000, 20, 100)
    from discreet.cli.app import app

    # a file or pipe of Windows has an encoding without the rules of a table; a schema is UTF-8
    if isinstance(sys.stdout, TextIOWrapper):
        lasting = os.name == "nt" and not sys.stdout.isatty()
        sys.stdout.reconfigure(encoding="utf-8" if lasting else None, errors="replace")
    try:
        app(prog_name="discreet")  # however it was started: completion goes by this name
    except DiscreetError as error:
        from discreet.cli.output import complain

        complain(f"discreet: {error}")
        sys.exit(error.exit_status)
