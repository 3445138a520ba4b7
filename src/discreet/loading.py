"""A file of this package as the object that works with it."""

from pathlib import Path
from typing import Any

from discreet.competing import CompetingRisks
from discreet.documents.causes import CausesFile
from discreet.documents.curves import CurvesRelease
from discreet.documents.read import read_document
from discreet.fitted import FittedModel


def load(path: str | Path) -> FittedModel | Any:
    """Read a model, a release or curves by group from its file.

    Parameters
    ----------
    path
        A file that ``save`` or ``publish`` wrote.

    Returns
    -------
    FittedModel, CompetingRisks or CurvesRelease
        With what follows from its numbers: predictions, a summary, pictures.

    Raises
    ------
    ArtefactError
        The file is not one of ours, or was damaged.

    Examples
    --------
    >>> load("model.json").predict_survival("patients.csv", times=[12])  # doctest: +SKIP
    """
    found = read_document(path)
    if isinstance(found, CausesFile):
        return CompetingRisks.of(found)
    return found if isinstance(found, CurvesRelease) else FittedModel(found)
