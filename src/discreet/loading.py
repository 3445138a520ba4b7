"""A file of this package as the object that works with it."""

from pathlib import Path

from discreet.curves import GroupCurves
from discreet.documents.curves import CurvesRelease
from discreet.documents.read import read_document
from discreet.regression import SurvivalRegression


def load(path: str | Path) -> SurvivalRegression | GroupCurves:
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
        return GroupCurves._of(found)  # noqa: SLF001 - an estimator makes itself of its document
    return SurvivalRegression._of(found)  # noqa: SLF001
