"""A file of this package as the object that works with it."""

from pathlib import Path
from typing import TYPE_CHECKING

from discreet.documents.curves import CurvesRelease
from discreet.documents.read import read_document
from discreet.regression import SurvivalRegression

if TYPE_CHECKING:
    from discreet.curves import GroupCurves


def load(path: str | Path) -> "SurvivalRegression | GroupCurves":
    """Read a model, a release or curves by group from its file.

    Parameters
    ----------
    path
        A file that ``save`` or ``publish`` wrote, by this version or an earlier one.

    Returns
    -------
    SurvivalRegression or GroupCurves
        With the settings and the numbers of the file, as after the fit: predictions, a summary,
        pictures.

    Raises
    ------
    ArtefactError
        The file is not one of ours, or was damaged.

    Examples
    --------
    >>> load("model.json").predict_survival("patients.csv", times=[12])  # doctest: +SKIP
    """
    found = read_document(path)
    if isinstance(found, CurvesRelease):
        from discreet.curves import GroupCurves  # noqa: PLC0415 - loads the ledger

        return GroupCurves._of(found)  # noqa: SLF001 - an estimator makes itself of its document
    return SurvivalRegression._of(found)  # noqa: SLF001
