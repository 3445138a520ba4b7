"""What the page's script needs to know of a release, as plain JSON."""

from typing import Any

import numpy as np

from discreet.design.link import get_link
from discreet.design.schema import Numeric
from discreet.models.curves_release import BANDS, CurvesRelease
from discreet.models.group_curves import GroupCurve
from discreet.models.model import Release
from discreet.types import Array


def page_facts(release: Release) -> dict[str, Any]:
    """Coefficients on the user's scale, their covariance if released, and the public axes."""
    covariance = release.covariance
    return {
        "link": release.link,
        "ratio": get_link(release.link).effect.removeprefix("log "),
        "baseline": {
            "kind": release.design.baseline.kind,
            "dimension": release.design.baseline.dimension,
        },
        "edges": release.curves.grid.edges.tolist(),
        "horizon": release.public_schema.time.horizon,
        "intervals": release.public_schema.time.intervals,
        "time_label": release.public_schema.time.axis_label,
        "alpha": list(release.coefficients.baseline),
        "beta": list(release.coefficients.covariates.values()),
        "covariance": None if covariance is None else np.asarray(covariance).tolist(),
        "covariates": _covariates(release),
        "life_table": _life_table(release),
        "release_id": release.release_id,
    }


def curves_facts(release: CurvesRelease) -> dict[str, Any]:
    """One row per group and time: survival with both bands, and the number at risk."""
    return {
        "groups": list(release.names),
        "time_label": release.public_schema.time.axis_label,
        "times": release.times.tolist(),
        "rows": [
            row
            for name, curve in zip(release.names, release.estimates, strict=True)
            for row in _curve_rows(name, curve, release.times)
        ],
        "release_id": release.release_id,
    }


def _curve_rows(name: str, curve: GroupCurve, times: Array) -> list[dict[str, Any]]:
    band = curve.survival
    start = {"group": name, "time": float(times[0]), "at_risk": float(curve.at_risk[0])}
    rows = [{**start, **dict.fromkeys(BANDS, 1.0)}]
    for index, time in enumerate(times[1:]):
        values = {key: float(getattr(band, key)[index]) for key in BANDS}
        present = float(curve.at_risk[min(index + 1, len(curve.at_risk) - 1)])
        rows.append({"group": name, "time": float(time), "at_risk": present, **values})
    return rows


def _life_table(release: Release) -> dict[str, list[float]] | None:
    """The private life table, and the model's survival of the same people where it is known."""
    if release.life_table is None:
        return None
    found = release.life_table.to_mapping()
    if release.calibration is not None:
        found["expected"] = [1.0, *release.calibration.survival.tolist()]
    return found


def _covariates(release: Release) -> list[dict[str, Any]]:
    """Sliders for numbers, menus for levels."""
    found: list[dict[str, Any]] = []
    for item in release.public_schema.covariates:
        if isinstance(item, Numeric):
            low, high = item.bounds
            found.append(
                {
                    "name": item.name,
                    "title": item.title,
                    "low": low,
                    "high": high,
                    "start": item.start,
                }
            )
        else:
            found.append(
                {
                    "name": item.name,
                    "title": item.title,
                    "levels": list(item.level_titles),
                    "start": item.start,
                }
            )
    return found
