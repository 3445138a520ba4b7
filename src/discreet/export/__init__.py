"""A model or release for other programs: R, spreadsheets, PMML, a table as JSON.

An export is a function of a file, as the page is: it sees neither people nor fits. `Content` is what
every format is written from; each format is one module.
"""

from importlib import import_module

from discreet.documents.causes import Fitted
from discreet.documents.curves import CurvesRelease
from discreet.errors import SettingsError
from discreet.export.content import Content

HOMES = {"r": "r", "excel": "excel", "pmml": "pmml", "json-table": "table"}
"""The module of each format."""
FORMATS = tuple(HOMES)


def export_bytes(found: Fitted | CurvesRelease, kind: str) -> bytes:
    """The file of a format; a `SettingsError` says in one sentence what it cannot express."""
    if kind not in HOMES:
        raise SettingsError(f"unknown format '{kind}': write {', '.join(FORMATS)}.")
    try:
        home = import_module(f"discreet.export.{HOMES[kind]}")
    except ModuleNotFoundError:
        raise SettingsError(
            "an Excel workbook needs openpyxl; install it with pip install 'discreet[files]'."
        ) from None
    content: bytes = home.write(Content.of(found))
    return content
