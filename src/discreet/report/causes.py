"""The page of competing risks: the explorable page with a part for each cause, counts beside it."""

from typing import Any

import numpy as np
from scipy.linalg import block_diag

from discreet.design.schema import PageWords
from discreet.models.causes import CausesRelease
from discreet.models.group_curves import incidence_of
from discreet.report.page import explorable, page_facts, part_facts, quality_of, time_words
from discreet.report.texts import page_texts
from discreet.types import Array


def causes_page(release: CausesRelease) -> str:
    """The page of a private model of competing risks."""
    words = page_texts((release.public_schema.page or PageWords()).language)
    told = " ".join(str(item) for item in release.warnings if item.code == "life-table")
    times = time_words(release.of_cause(release.causes[0]), words) | {"calibration": told}
    quality = quality_of(release, words, known=True)
    return explorable(release, causes_facts(release, words), words, quality=quality, **times)


def causes_facts(release: CausesRelease, words: dict[str, str]) -> dict[str, Any]:
    """What one cause's page knows, a part for each, one covariance of all, and the counts."""
    parts = {cause: release.of_cause(cause) for cause in release.causes}
    turn = block_diag(*(part.design.to_user for part in parts.values()))
    return {
        **page_facts(next(iter(parts.values())), words),
        "parts": [part_facts(part, cause) for cause, part in parts.items()],
        "covariance": (turn @ release.covariance @ turn.T).tolist(),
        "life_table": _counts(release),
    }


def _counts(release: CausesRelease) -> dict[str, Any]:
    """Aalen-Johansen of everybody from the released counts, and the model's of the same people."""
    curve, model = release.aalen_johansen, incidence_of(_expected_hazards(release))
    return {
        "time": release.times.tolist(),
        "survival": [1.0, *curve.survival.estimate.tolist()],
        "expected": [1.0, *(1.0 - model.sum(axis=0)).tolist()],
        "incidence": [[0.0, *band.estimate.tolist()] for band in curve.incidence],
        "expected_incidence": [[0.0, *row.tolist()] for row in model],
    }


def _expected_hazards(release: CausesRelease) -> Array:
    """The model's events of each cause over those exposed, stretch by stretch."""
    tables = [release.of_cause(cause).calibration for cause in release.causes]
    expected = np.array([table.expected for table in tables if table is not None])
    widths, censored = release.exits[:, 1] - release.exits[:, 0] + 1.0, release.exits[:, 2]
    # as in the counts: of those censored within a stretch half were there in its other intervals
    at_risk = release.aalen_johansen.at_risk
    exposed = at_risk - (widths - 1.0) / (2.0 * widths) * np.maximum(censored, 0.0)
    hazards = np.clip(expected / np.maximum(exposed, 1.0), 0.0, 1.0)
    return np.asarray(hazards / np.maximum(hazards.sum(axis=0), 1.0))
