"""A file of this package as the object that works with it."""

from pathlib import Path
from typing import Any

from discreet.competing import CompetingRisks
from discreet.errors import ArtefactError
from discreet.fitted import FittedModel
from discreet.models.causes import CausesFile
from discreet.models.curves_release import CurvesRelease, read_file


def load(path: str | Path) -> FittedModel | Any:
    """Read a model or a release from its file.

    Parameters
    ----------
    path
        A file that ``save`` or ``publish`` wrote.

    Returns
    -------
    FittedModel or CompetingRisks
        With predictions and a summary; a file of competing risks gives `CompetingRisks`, for type
        checkers ``ds.CompetingRisks.load`` says so.

    Raises
    ------
    ArtefactError
        The file is not one of ours, or was damaged.

    Examples
    --------
    >>> load("model.json").predict_survival("patients.csv", times=[12])  # doctest: +SKIP
    """
    found = read_file(path)
    if isinstance(found, CausesFile):
        return CompetingRisks.of(found)
    if isinstance(found, CurvesRelease):
        raise ArtefactError(f"'{path}': this file holds curves by group, not a model.")
    return FittedModel(found)
