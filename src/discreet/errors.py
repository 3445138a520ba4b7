"""The errors a user can meet.

Texts name columns, keys and settings, never a value read from the data: an exception that reached
a log would otherwise release what the mechanism protects.  ``exit_status`` is what the command
line returns.  Names of files, columns and keys come from outside, so a text is made printable, cut
to a length that fits a log, and repeats no address, which may hold a password.  It ends with a full
stop, because others may follow it.

Warnings are issued by `warn`, which points at the user's own line.
"""

import inspect
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from discreet.text import printable, without_addresses

LONGEST_TEXT = 1000


class DiscreetError(Exception):
    """Base class of every error this package raises on purpose."""

    exit_status = 1

    def __init__(self, text: str = "") -> None:
        shown = printable(without_addresses(text[: 4 * LONGEST_TEXT]))
        if len(shown) > LONGEST_TEXT:
            shown = f"{shown[:LONGEST_TEXT]} ..."
        super().__init__(shown if shown.endswith((".", "?")) or not shown else f"{shown}.")


class InputError(DiscreetError, ValueError):
    """Something the user can fix: a schema, the form of a file, a setting, an artefact."""

    exit_status = 2


class SchemaError(InputError):
    """The public schema is incomplete or contradicts itself."""


class DataFormError(InputError):
    """The form of the data (columns, types, file format) does not match the schema."""


class SettingsError(InputError):
    """A setting of the model or of a command is not one of those offered."""


class ArtefactError(InputError):
    """A stored model or release is not what it claims to be."""


class BudgetError(DiscreetError):
    """The privacy budget does not allow the release."""

    exit_status = 3


class LedgerError(DiscreetError):
    """The ledger of the privacy budget cannot be trusted or written."""

    exit_status = 4


class RefusedError(DiscreetError):
    """A file that would give no useful model, or a wrong one, was refused before a charge."""

    exit_status = 6


class FederationError(DiscreetError):
    """A joint fit cannot go on: another site is absent, differs, or has gone."""

    exit_status = 6


class NotFittedError(DiscreetError, ValueError, AttributeError):
    """A model is asked for results before it is fitted, as scikit-learn's error of that name."""

    exit_status = 2


class EntropyError(DiscreetError):
    """The operating system gave no entropy, so no noise can be drawn."""


@contextmanager
def of_extra(extra: str, lacking: str) -> Iterator[None]:
    """Raise a `SettingsError` that names an extra where one of its libraries cannot be imported."""
    try:
        yield
    except ImportError:
        raise SettingsError(f"{lacking}; install this package with its extra '{extra}'.") from None


def warn(text: str, category: type[Warning]) -> None:
    """Warn of the first line outside this package, however deep inside the reason was found."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and str(frame.f_globals.get("__name__")).startswith("discreet."):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)
