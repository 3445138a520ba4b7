"""The page of competing risks: stacked incidence, one cause with its band, counts beside the model."""

from typing import Any

import numpy as np
from scipy.linalg import block_diag

from discreet.design.schema import PageWords
from discreet.models.causes import CausesRelease
from discreet.models.group_curves import incidence_of
from discreet.models.model import Release
from discreet.report.card import ratios
from discreet.report.page import page_facts, quality_of, render
from discreet.report.texts import page_texts


def causes_page(release: CausesRelease) -> str:
    """The page of a private model of competing risks."""
    own = release.public_schema.page or PageWords()
    words = page_texts(own.language)
    return render(
        "causes.html",
        release,
        ("survival.js", "causes.js"),
        causes_facts(release, words),
        title=own.title or words["default_title"],
        lead=words["lead"],
        start="explore",
        quality=quality_of(release, words, known=True),
        tables=[_ratio_rows(cause, release.of_cause(cause)) for cause in release.causes],
    )


def _ratio_rows(cause: str, release: Release) -> dict[str, Any]:
    """The coefficients of one cause as cells."""
    rows = []
    for item in ratios(release):
        ends = "-"
        if item.ratio is not None and item.lower is not None and item.upper is not None:
            ends = f"{item.ratio:.3g} ({item.lower:.3g} to {item.upper:.3g})"
        error = "-" if item.error is None else f"{item.error:.3g}"
        rows.append({"name": item.name, "cells": [f"{item.coefficient:.4g}", error, ends]})
    return {"cause": cause, "rows": rows}


def causes_facts(release: CausesRelease, words: dict[str, str]) -> dict[str, Any]:
    """What one cause's page knows, the coefficients of all, and the counts beside the model."""
    parts = {cause: release.of_cause(cause) for cause in release.causes}
    turn = block_diag(*(part.design.to_user for part in parts.values()))
    return {
        **page_facts(next(iter(parts.values())), words),
        "causes": [
            {
                "name": cause,
                "alpha": [list(item) for item in part.coefficients.baselines],
                "beta": list(part.coefficients.covariates.values()),
            }
            for cause, part in parts.items()
        ],
        "joint": (turn @ release.covariance @ turn.T).tolist(),
        "counts": _counts_by_cause(release),
    }


def _counts_by_cause(release: CausesRelease) -> list[dict[str, list[float]]]:
    """Aalen-Johansen of everybody from the released counts, and the model's of the same people."""
    curve = release.aalen_johansen
    tables = [release.of_cause(cause).calibration for cause in release.causes]
    expected = np.array([table.expected for table in tables if table is not None])
    widths, censored = release.exits[:, 1] - release.exits[:, 0] + 1.0, release.exits[:, 2]
    # as in the counts: of those censored within a stretch half were there in its other intervals
    exposed = curve.at_risk - (widths - 1.0) / (2.0 * widths) * np.maximum(censored, 0.0)
    hazards = np.clip(expected / np.maximum(exposed, 1.0), 0.0, 1.0)
    hazards = hazards / np.maximum(hazards.sum(axis=0), 1.0)
    return [
        {
            "time": release.times.tolist(),
            "estimate": [0.0, *band.estimate.tolist()],
            "lower": [0.0, *band.lower.tolist()],
            "upper": [0.0, *band.upper.tolist()],
            "model": [0.0, *model.tolist()],
        }
        for band, model in zip(curve.incidence, incidence_of(hazards), strict=True)
    ]
