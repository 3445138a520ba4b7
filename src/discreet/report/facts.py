"""The data of a page, as plain JSON for its script: released numbers and public facts."""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.design.link import get_link
from discreet.design.schema import Categorical, Numeric, PageWords, Schema
from discreet.documents.causes import CausesRelease, ModelRelease
from discreet.documents.curves import BANDS, CurvesRelease
from discreet.documents.model import Promised, Release
from discreet.results.description import change_test, ratio_of, round_step
from discreet.results.group_curves import incidence_of
from discreet.results.proportionality import effect_cells

NO_INFORMATION = ("at-risk", "events")
"""Cautions about the whole release; ``noise`` is one too if it names no coefficient."""


def parts_of(release: ModelRelease) -> dict[str, Release]:
    """Return the release of each cause; of one event it is the release itself, without a name."""
    return {name: part for name, part in release.models.items() if isinstance(part, Release)}


def page_facts(whole: ModelRelease, words: dict[str, str]) -> dict[str, Any]:
    """Coefficients on the user's scale, their covariance if released, and the public axes.

    Of several causes all but coefficients, covariance and counts is that of the first.
    """
    parts = parts_of(whole)
    release = next(iter(parts.values()))
    covariance, schema = whole.covariance, release.public_schema
    time = schema.time
    unit, names = time.counted_in, [item.name for item in schema.covariates]
    page = schema.page or PageWords()
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
        "parts": [
            {
                "cause": cause or None,
                "alpha": [list(baseline) for baseline in part.coefficients.baselines],
                "beta": list(part.coefficients.covariates.values()),
            }
            for cause, part in parts.items()
        ],
        "covariance": None if covariance is None else np.asarray(covariance).tolist(),
        "covariates": _covariates(release, words["unknown"]),
        "coefficients": _coefficients(schema),
        "changing": _changing(release),
        "interactions": [[names.index(name) for name in item.of] for item in schema.interactions],
        "strata": _strata(release),
        "life_table": _incidences(whole)
        if isinstance(whole, CausesRelease)
        else _life_table(whole),
        "release_id": release.release_id,
        "citation": {"title": page.title, "text": page.citation, "contact": page.contact},
        "words": words,
    }


def change_tests(release: Release, words: dict[str, str]) -> list[str]:
    """Return the test of an effect that lasts, for every covariate whose effect changes."""
    if release.covariance is None:
        return []
    titles = {item.name: item.label or item.name for item in release.public_schema.covariates}
    found = []
    for name in release.public_schema.changing:
        test = change_test(release, name)
        values = {"statistic": f"{test.statistic:.2f}", "degrees": test.freedom, "p": test.words}
        found.append(words["changes_test"].format(name=titles[name], **values))
    return found


def lasting_facts(release: Release, cause: str, words: dict[str, str]) -> list[dict[str, Any]]:
    """Return every effect early and late as texts, those that are furthest apart first."""
    schema = release.public_schema
    names = schema.coefficient_names
    numbers = [item["number"] for item in _coefficients(schema)]
    found = []
    for one in sorted(release.proportionality or (), key=lambda one: -abs(one.distance)):
        number = numbers[names.index(one.name)]
        item = None if number is None else schema.covariates[number]
        step = round_step(item) if isinstance(item, Numeric) else 1.0
        scaled = one._replace(early=one.early * step, late=one.late * step)
        early, late, change, interval = effect_cells(scaled, ratio=bool(ratio_of(release.link)))
        per = "" if step == 1 else f", {words['per'].format(step=f'{step:g}')}"
        found.append(
            {
                "title": f"{cause}: {one.title}{per}" if cause else f"{one.title}{per}",
                "early": early,
                "late": late,
                "change": f"{change}{' *' if one.stands_out else ''}",
                "interval": interval,
                "stands_out": one.stands_out,
            }
        )
    return found


@dataclass(frozen=True)
class Quality:
    """The quality of a release: ``good``, ``care``, ``none`` or ``unknown``, with reasons."""

    level: str
    sentence: str
    reasons: tuple[str, ...]


def quality_of(release: Promised, words: dict[str, str], *, known: bool) -> Quality:
    """Return the release's cautions about its numbers (those of the promise are shown elsewhere).

    ``known`` is whether the release says how uncertain its numbers are.
    """
    found = [item for item in release.warnings if not item.of_the_promise]
    if any(
        item.code in NO_INFORMATION or (item.code == "noise" and not item.coefficients)
        for item in found
    ):
        level = "none"
    elif found:
        level = "care"
    else:
        level = "good" if known else "unknown"
    # readers do not know the coefficients of the baseline by their numbers
    one = r"'?\bbaseline\[[^\]]*\]'?"
    several = rf"(\. )?{one}(?:(?:, | and )(?:{one}))*"
    text = words["the_baseline"]

    def replaced(match: re.Match[str]) -> str:
        return f". {text[:1].upper()}{text[1:]}" if match[1] else text

    reasons = tuple(re.sub(several, replaced, item.message) for item in found)
    return Quality(level, words[f"quality_{level}"], reasons)


def curves_facts(release: CurvesRelease, words: dict[str, str]) -> dict[str, Any]:
    """Return one row per group, cause and time: a curve with both bands, and the number at risk."""
    rows = []
    for name, curve in zip(release.titles, release.estimates, strict=True):
        bands = {"": curve.survival}
        if len(release.causes) > 1:
            bands |= dict(zip(release.causes, curve.incidence, strict=True))
        for cause, band in bands.items():
            head = {"group": name, "cause": cause, "known_until": curve.known_until}
            start = {"time": float(release.times[0]), "at_risk": float(curve.at_risk[0])}
            rows.append({**head, **start, **dict.fromkeys(BANDS, 0.0 if cause else 1.0)})
            for index, time in enumerate(release.times[1:]):
                values = {key: float(getattr(band, key)[index]) for key in BANDS}
                present = float(curve.at_risk[min(index + 1, len(curve.at_risk) - 1)])
                rows.append({**head, "time": float(time), "at_risk": present, **values})
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
        "rows": rows,
        "causes": list(release.causes) if len(release.causes) > 1 else [],
        "release_id": release.release_id,
        "words": words,
    }


def _life_table(release: Release) -> dict[str, list[float]] | None:
    """Return the private life table, and the model's survival of the same people.

    It ends where the number at risk is no longer distinguishable from the noise.
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
    """Return sliders for numbers and menus for levels, with what their columns are made of.

    They start at the declared value, else at the middle of the released distribution.
    """
    covariates = release.public_schema.covariates
    middles = release.typical or [item.typical_value for item in covariates]
    return [
        {
            "name": item.name,
            "title": item.title,
            "start": middle if item.typical is None else item.typical_value,
            **(
                {
                    "levels": [*item.level_titles, *([unknown] if item.indicated else [])],
                    "declared": len(item.levels),
                }
                if isinstance(item, Categorical)
                else {
                    "low": item.bounds[0],
                    "high": item.bounds[1],
                    "scale": "spline" if item.knots is not None else (item.scale or "linear"),
                    "knots": item.knots,
                    "fill": item.fill,
                    "indicator": item.indicated,
                }
            ),
        }
        for item, middle in zip(covariates, middles, strict=True)
    ]


def _coefficients(schema: Schema) -> list[dict[str, Any]]:
    """Return titles, the number whose step a coefficient is per, whether it is part of a curve."""
    unit = schema.time.counted_in
    return [
        {**column, "title": title}
        for term, column in zip(schema.terms, _columns(schema), strict=True)
        for title in term._replace(title=column["title"]).titles(unit)
    ]


def _columns(schema: Schema) -> list[dict[str, Any]]:
    """Return title, number, curve and reference of every column, whatever its effect's periods."""
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
    """Return changing effects that are single numbers: their coefficients, and the times between."""
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


def _strata(release: Release) -> dict[str, Any] | None:
    """Return title, levels, and the largest stratum, with which the page begins."""
    declared = release.public_schema.strata
    if declared is None:
        return None
    sizes = [float(table.at_risk[0]) for table in release.life_tables.values()]
    start = sizes.index(max(sizes)) if sizes else 0
    return {"title": declared.title, "levels": list(declared.level_titles), "start": start}


def _incidences(release: CausesRelease) -> dict[str, Any]:
    """Return survival and the incidence of each cause, from released counts and by the model.

    The model's are of the same people: its events of each cause over those exposed, stretch by stretch.
    As in the curves, a person who is censored within a stretch misses half of it on average.
    """
    curve = release.aalen_johansen
    tables = [part.calibration for part in parts_of(release).values()]
    expected = np.array([table.expected for table in tables if table is not None])
    exposed = curve.at_risk - np.maximum(release.exits[:, 2], 0.0) / 2.0
    hazards = np.clip(expected / np.maximum(exposed, 1.0), 0.0, 1.0)
    model = incidence_of(hazards / np.maximum(hazards.sum(axis=0), 1.0))
    return {
        "time": release.times.tolist(),
        "survival": [1.0, *curve.survival.estimate.tolist()],
        "expected": [1.0, *(1.0 - model.sum(axis=0)).tolist()],
        "incidence": [[0.0, *band.estimate.tolist()] for band in curve.incidence],
        "expected_incidence": [[0.0, *row.tolist()] for row in model],
    }
