"""A model or release for other programs: R, spreadsheets, PMML, a table as JSON.

An export is a function of a file, as the page is: it sees neither people nor fits. `Content` is what
every format is written from; each format is one module.
"""

from discreet.documents.causes import CausesFile
from discreet.documents.curves import CurvesRelease
from discreet.documents.model import Model
from discreet.errors import SettingsError
from discreet.export.content import Content

FORMATS = ("r", "excel", "pmml", "json-table")


def export_bytes(found: Model | CausesFile | CurvesRelease, kind: str) -> bytes:
    """The file of a format; a `SettingsError` says in one sentence what it cannot express.

    Parameters
    ----------
    found
        The content of a file of discreet.
    kind
        "r", "excel", "pmml" or "json-table".
    """
    if kind == "r":
        from discreet.export.r import write  # noqa: PLC0415 - one format at a time
    elif kind == "excel":
        try:
            from discreet.export.excel import write  # noqa: PLC0415
        except ModuleNotFoundError:
            raise SettingsError(
                "an Excel workbook needs openpyxl; install it with pip install 'discreet[files]'."
            ) from None
    elif kind == "pmml":
        from discreet.export.pmml import write  # noqa: PLC0415
    elif kind == "json-table":
        from discreet.export.table import write  # noqa: PLC0415
    else:
        raise SettingsError(f"unknown format '{kind}': write {', '.join(FORMATS)}.")
    return write(Content.of(found))
