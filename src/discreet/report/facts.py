"""What a page knows of a release, as plain JSON for its script: released numbers and public facts."""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.design.link import get_link
from discreet.design.schema import Categorical, Numeric, PageWords, Schema
from discreet.documents.causes import CausesRelease
from discreet.documents.caution import Caution
from discreet.documents.curves import BANDS, CurvesRelease
from discreet.documents.model import Promised, Release
from discreet.results.description import change_test
from discreet.results.group_curves import Band, GroupCurve, incidence_of
from discreet.types import Array

NO_INFORMATION = ("at-risk", "events")
"""Cautions that speak of the whole release; so does ``noise`` where it names no coefficient."""


def page_facts(release: Release, words: dict[str, str]) -> dict[str, Any]:
    """Coefficients on the user's scale, their covariance if released, and the public axes."""
    covariance, schema = release.covariance, release.public_schema
    time = schema.time
    unit = time.counted_in
    return {
        "link": release.link,
        "ratio": get_link(release.link).effect.removeprefix("log "),
        "baseline": {
            "kind": release.design.declared.kind,
            "dimension": release.design.declared.dimension,
            "steps": list(release.design.steps),
        },
        "periods": {
            "ends": list(release.design.periods.ends[1:]),
            "places": release.design.periods.places.tolist(),
        },
        "edges": release.curves.grid.edges.tolist(),
        "horizon": time.horizon,
        "intervals": time.intervals,
        "time_label": words["time"] if unit is None else f"{words['time']} ({unit})",
        "unit": unit,
        "parts": [part_facts(release, None)],
        "covariance": None if covariance is None else np.asarray(covariance).tolist(),
        "covariates": _covariates(release, words["unknown"]),
        "coefficients": _coefficients(schema),
        "changing": _changing(release),
        "interactions": _interactions(schema),
        "strata": _strata(release),
        "life_table": _life_table(release),
        "release_id": release.release_id,
        "citation": _citation(release),
        "words": words,
    }


def part_facts(release: Release, cause: str | None) -> dict[str, Any]:
    """The coefficients of one event, or of one cause."""
    return {
        "cause": cause,
        "alpha": [list(part) for part in release.coefficients.baselines],
        "beta": list(release.coefficients.covariates.values()),
    }


def change_tests(release: Release, words: dict[str, str]) -> list[str]:
    """The test of one effect for all time, of every covariate that changes."""
    if release.covariance is None:
        return []
    titles = {item.name: item.label or item.name for item in release.public_schema.covariates}
    found = []
    for name in release.public_schema.changing:
        test = change_test(release, name)
        freedom = "1 degree" if test.degrees == 1 else f"{test.degrees} degrees"
        p = "p < 0.0001" if test.p_value < 1e-4 else f"p = {test.p_value:.4f}"
        statistic, degrees = f"{test.statistic:.2f}", f"{freedom} of freedom"
        said = words["changes_test"]
        found.append(said.format(name=titles[name], statistic=statistic, degrees=degrees, p=p))
    return found


def lasting_facts(release: Release, cause: str | None = None) -> list[dict[str, Any]]:
    """Every effect early and late as texts, those that are furthest apart first."""
    found = release.proportionality or ()
    show = float if get_link(release.link).name == "probit" else np.exp
    with np.errstate(over="ignore"):
        return [
            {
                "title": one.title if cause is None else f"{cause}: {one.title}",
                "early": f"{show(one.early):.3g}",
                "late": f"{show(one.late):.3g}",
                "distance": f"{one.distance:.1f}{' *' if one.stands_out else ''}",
                "stands_out": one.stands_out,
            }
            for one in sorted(found, key=lambda one: -abs(one.distance))
        ]


def _citation(release: Release) -> dict[str, str | None]:
    page = release.public_schema.page or PageWords()
    return {"title": page.title, "text": page.citation, "contact": page.contact}


@dataclass(frozen=True)
class Quality:
    """How far to trust a release: ``good``, ``care``, ``none`` or ``unknown``, with reasons."""

    level: str
    sentence: str
    reasons: tuple[str, ...]


def quality_of(release: Promised, words: dict[str, str], *, known: bool) -> Quality:
    """What the release says against its own numbers; cautions of the promise stand elsewhere.

    ``known`` is whether the release says how uncertain its numbers are.
    """
    found = [item for item in release.warnings if not item.of_the_promise]
    if any(_is_fatal(item) for item in found):
        level = "none"
    elif found:
        level = "care"
    else:
        level = "good" if known else "unknown"
    reasons = tuple(_for_readers(str(item), words["the_baseline"]) for item in found)
    return Quality(level, words[f"quality_{level}"], reasons)


def _for_readers(text: str, baseline: str) -> str:
    """A caution without the numbers of the baseline's coefficients, which no reader knows."""
    one = r"'?\bbaseline\[[^\]]*\]'?"
    return re.sub(rf"{one}(?:(?:, | and )(?:{one}))*", baseline, text)


def _is_fatal(caution: Caution) -> bool:
    return caution.code in NO_INFORMATION or (caution.code == "noise" and not caution.coefficients)


def curves_facts(release: CurvesRelease, words: dict[str, str]) -> dict[str, Any]:
    """One row per group and time: survival with both bands, and the number at risk."""
    return {
        "groups": list(release.titles),
        "time_label": release.axis[1],
        "unit": release.axis[0],
        "times": release.times.tolist(),
        "hidden": [
            name
            for name, curve in zip(release.titles, release.estimates, strict=True)
            if not curve.reach
        ],
        "rows": [
            row
            for name, curve in zip(release.titles, release.estimates, strict=True)
            for row in _curve_rows(name, curve, release)
        ],
        "causes": list(release.causes) if len(release.causes) > 1 else [],
        "release_id": release.release_id,
        "words": words,
    }


def _curve_rows(name: str, curve: GroupCurve, release: CurvesRelease) -> list[dict[str, Any]]:
    """Survival, and with competing risks every cause's incidence, by time."""
    bands = {"": curve.survival}
    if len(release.causes) > 1:
        bands |= dict(zip(release.causes, curve.incidence, strict=True))
    return [
        row
        for cause, band in bands.items()
        for row in _band_rows(name, cause, band, curve, release.times)
    ]


def _band_rows(
    name: str, cause: str, band: Band, curve: GroupCurve, times: Array
) -> list[dict[str, Any]]:
    head = {"group": name, "cause": cause, "known_until": curve.known_until}
    start = {"time": float(times[0]), "at_risk": float(curve.at_risk[0])}
    rows = [{**head, **start, **dict.fromkeys(BANDS, 0.0 if cause else 1.0)}]
    for index, time in enumerate(times[1:]):
        values = {key: float(getattr(band, key)[index]) for key in BANDS}
        present = float(curve.at_risk[min(index + 1, len(curve.at_risk) - 1)])
        rows.append({**head, "time": float(time), "at_risk": present, **values})
    return rows


def _life_table(release: Release) -> dict[str, list[float]] | None:
    """The private life table, and the model's survival of the same people where it is known.

    As far as those still at risk stand out of the noise.
    """
    if release.life_table is None:
        return None
    found = release.life_table.columns()
    if release.calibration is None:
        return found
    found["expected"] = [1.0, *release.calibration.survival.tolist()]
    known = release.calibration.supported
    return {name: column[: known + 1] for name, column in found.items()}


def _covariates(release: Release, unknown: str) -> list[dict[str, Any]]:
    """Sliders for numbers, menus for levels; each says how its columns are made of the value."""
    return [
        {"name": item.name, "title": item.title, "start": start, **_kind(item, unknown)}
        for item, start in zip(release.public_schema.covariates, _starts(release), strict=True)
    ]


def _starts(release: Release) -> list[float]:
    """Where the controls begin: as declared, else the released distribution's middle, else public."""
    covariates = release.public_schema.covariates
    middles = release.typical or [item.start for item in covariates]
    return [
        middle if item.typical is None else item.start
        for item, middle in zip(covariates, middles, strict=True)
    ]


def _kind(item: Numeric | Categorical, unknown: str) -> dict[str, Any]:
    if isinstance(item, Categorical):
        missing = [unknown] if item.indicated else []
        return {"levels": [*item.level_titles, *missing], "declared": len(item.levels)}
    low, high = item.bounds
    return {
        "low": low,
        "high": high,
        "scale": "spline" if item.knots is not None else (item.scale or "linear"),
        "knots": item.knots,
        "fill": item.fill,
        "indicator": item.indicated,
    }


def _coefficients(schema: Schema) -> list[dict[str, Any]]:
    """Titles; the number whose step a coefficient is per; whether it is part of a curve."""
    unit = schema.time.counted_in
    return [
        {**column, "title": title}
        for term, column in zip(schema.terms, _columns(schema), strict=True)
        for title in term._replace(title=column["title"]).titles(unit)
    ]


def _columns(schema: Schema) -> list[dict[str, Any]]:
    """Title, number, curve and reference of every column, whatever periods its effect has."""
    found: list[dict[str, Any]] = [
        {"title": term.title, "number": None, "curve": False, "reference": None}
        for term in schema.terms
    ]
    place = 0
    for index, item in enumerate(schema.covariates):
        if isinstance(item, Numeric):
            linear = item.value_names == (item.name,)
            found[place]["number"] = index if linear else None
            for column in range(place, place + len(item.value_names)):
                found[column]["curve"] = item.knots is not None
        else:
            for column, level in enumerate(item.level_titles[1:], place):
                found[column]["title"] = f"{item.title}: {level}"
                found[column]["reference"] = item.level_titles[0]
        place += len(item.coefficient_names)
    return found


def _changing(release: Release) -> list[dict[str, Any]]:
    """Covariates' effects that change and are single numbers: their coefficients, and the times between."""
    periods, schema, found = release.design.periods, release.public_schema, []
    edges = release.curves.grid.edges
    own = sum(len(item.coefficient_names) for item in schema.covariates)  # products come after them
    for column, (term, facts) in enumerate(zip(schema.terms, _columns(schema), strict=True)):
        if term.cuts and not facts["curve"] and column < own:
            places = np.flatnonzero(periods.column_of == column)
            begun = [int(np.argmax(periods.places[:, column] == place)) for place in places]
            times = edges[[*(periods.ends[period] for period in begun), periods.ends[-1]]]
            found.append({**facts, "places": places.tolist(), "times": times.tolist()})
    return found


def _interactions(schema: Schema) -> list[list[int]]:
    """Pairs of covariates by their places."""
    names = [item.name for item in schema.covariates]
    return [[names.index(name) for name in item.of] for item in schema.interactions]


def _strata(release: Release) -> dict[str, Any] | None:
    """Title, levels, and the one that most people are in, with which the page begins."""
    declared = release.public_schema.strata
    if declared is None:
        return None
    sizes = [float(table.at_risk[0]) for table in release.life_tables.values()]
    start = sizes.index(max(sizes)) if sizes else 0
    return {"title": declared.title, "levels": list(declared.level_titles), "start": start}


def causes_facts(release: CausesRelease, words: dict[str, str]) -> dict[str, Any]:
    """What one cause's page knows, a part for each, one covariance of all, and the counts."""
    parts = {cause: release.of_cause(cause) for cause in release.causes}
    return {
        **page_facts(next(iter(parts.values())), words),
        "parts": [part_facts(part, cause) for cause, part in parts.items()],
        "covariance": None if release.covariance is None else release.covariance.tolist(),
        "life_table": _causes_counts(release),
    }


def _causes_counts(release: CausesRelease) -> dict[str, Any]:
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
    # as in the curves: who is censored within a stretch misses half of it on average
    exposed = release.aalen_johansen.at_risk - np.maximum(release.exits[:, 2], 0.0) / 2.0
    hazards = np.clip(expected / np.maximum(exposed, 1.0), 0.0, 1.0)
    return np.asarray(hazards / np.maximum(hazards.sum(axis=0), 1.0))
