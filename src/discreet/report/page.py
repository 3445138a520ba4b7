"""Assemble the page: template, style, script and chart library in one file.

Names come from the release and are escaped; scripts and styles come from this package and from the
chart library, and a content security policy admits exactly those, by digest. The release rides
along as inert JSON.

What the page's script needs to know of a release, as plain JSON.
"""

import base64
import hashlib
import json
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from discreet.design.axis import TimeAxis
from discreet.design.link import get_link
from discreet.design.schema import Categorical, Numeric, PageWords, Schema
from discreet.errors import ArtefactError
from discreet.models.causes import CausesRelease
from discreet.models.caution import Caution
from discreet.models.curves_release import BANDS, CurvesRelease
from discreet.models.group_curves import Band, GroupCurve
from discreet.models.model import File, Promised, Release
from discreet.models.strict import write_new
from discreet.privacy.shares import NoiseShares
from discreet.report.texts import DEFAULT, page_texts
from discreet.types import Array

# (unit of the schema, unit for readers, how many of the first make one of the second, from how many
# of the second on): long times are read in years, half a year and more in months.
READER_UNITS = (
    ("days", "years", 365.25, 2.0),
    ("days", "months", 30.4375, 6.0),
    ("weeks", "years", 365.25 / 7.0, 2.0),
    ("months", "years", 12.0, 2.0),
)
NO_INFORMATION = ("at-risk", "events")
"""Cautions that speak of the whole release; so does ``noise`` where it names no coefficient."""


def reader_unit(time: TimeAxis) -> tuple[str | None, float]:
    """The unit that a reader thinks in, and how many of the data's units it has."""
    unit = "days" if time.unit is None and time.dated else time.unit
    for own, shown, size, least in READER_UNITS:
        if unit == own and time.length / size >= least:
            return shown, size
    return unit, 1.0


def page_facts(release: Release, words: dict[str, str]) -> dict[str, Any]:
    """Coefficients on the user's scale, their covariance if released, and the public axes."""
    covariance, schema = release.covariance, release.public_schema
    time = schema.time
    unit, size = reader_unit(time)
    return {
        "link": release.link,
        "ratio": get_link(release.link).effect.removeprefix("log "),
        "baseline": {
            "kind": release.design.baseline.kind,
            "dimension": release.design.baseline.dimension,
        },
        "edges": release.curves.grid.edges.tolist(),
        "horizon": time.horizon,
        "intervals": time.intervals,
        "time_label": words["time"] if unit is None else f"{words['time']} ({unit})",
        "unit": unit,
        "unit_size": size,
        "parts": [part_facts(release, None)],
        "covariance": None if covariance is None else np.asarray(covariance).tolist(),
        "covariates": _covariates(release, words["unknown"]),
        "coefficients": _coefficients(schema),
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
    return Quality(level, words[f"quality_{level}"], tuple(map(str, found)))


def _is_fatal(caution: Caution) -> bool:
    return caution.code in NO_INFORMATION or (caution.code == "noise" and not caution.coefficients)


def curves_facts(release: CurvesRelease, words: dict[str, str]) -> dict[str, Any]:
    """One row per group and time: survival with both bands, and the number at risk."""
    return {
        "groups": list(release.names),
        "time_label": release.public_schema.time.axis_label,
        "times": release.times.tolist(),
        "rows": [
            row
            for name, curve in zip(release.names, release.estimates, strict=True)
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
    head = {"group": name, "cause": cause}
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
    found = release.life_table.to_mapping()
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
    found: list[dict[str, Any]] = [
        {"title": title, "number": None, "curve": False} for title in schema.coefficient_titles
    ]
    place = 0
    for index, item in enumerate(schema.covariates):
        if isinstance(item, Numeric):
            linear = item.value_names == (item.name,)
            found[place]["number"] = index if linear else None
            for column in range(place, place + len(item.value_names)):
                found[column]["curve"] = item.knots is not None
        place += len(item.coefficient_names)
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


PUBLIC = 0o644
"""A page is there to be read by everybody; releases stay their owner's."""


def make_page(model: File) -> str:
    """The page of a release or of curves by group; what is not private is refused."""
    if isinstance(model, CurvesRelease) and model.private:
        return _curves_page(model)
    if isinstance(model, CausesRelease) and model.private:
        from discreet.report.causes import causes_page  # noqa: PLC0415 - made of this page's parts

        return causes_page(model)
    if not isinstance(model, Release) or not model.private:
        raise ArtefactError(
            "only a private release becomes a page: fit again with --epsilon and publish that."
        )
    return _model_page(model)


def _model_page(release: Release) -> str:
    words = page_texts((release.public_schema.page or PageWords()).language)
    quality = quality_of(release, words, known=release.covariance is not None)
    times = time_words(release, words)
    return explorable(release, page_facts(release, words), words, quality=quality, **times)


def explorable(
    release: Release | CausesRelease, facts: dict[str, Any], words: dict[str, str], **more: object
) -> str:
    """The page on which a reader chooses persons."""
    own = release.public_schema.page or PageWords()
    return render(
        "page.html",
        release,
        ("survival.js", "page.js"),
        facts,
        title=own.title or words["default_title"],
        lead=words["lead"],
        start="explore",
        event=own.event or f"{words['event']} (“{release.public_schema.time.event}”)",
        **more,
    )


def render(
    template: str,
    release: Promised,
    scripts: tuple[str, ...],
    facts: dict[str, Any],
    **more: object,
) -> str:
    """A page from its template: what all pages have, and what this one adds."""
    own = release.public_schema.page or PageWords()
    code = [_charts(), "".join(map(_asset, ("shared.js", *scripts)))]
    style = _asset("page.css")
    page: str = _template(template).render(
        release=release,
        facts=_inert(facts),
        document=_inert(release.to_mapping()),
        scripts=[Markup(script) for script in code],  # noqa: S704 - ours and the library's
        style=Markup(style),  # noqa: S704
        policy=_policy(code, style),
        guarantee=release.guarantee,
        time=release.public_schema.time,
        words=page_texts(own.language),
        language=own.language or DEFAULT,
        page=own,
        paragraphs=own.description or (),
        sites=_sites(release.details),
        **more,
    )
    return page


def _sites(details: dict[str, Any]) -> NoiseShares | None:
    """Who made the release together, if several did; details of a file can be anything."""
    numbers = details.get("sites"), details.get("colluding")
    if not all(type(number) is int for number in numbers):
        return None
    return NoiseShares.read(details)


def time_words(model: Release, words: dict[str, str]) -> dict[str, str]:
    """The ends of the axis in the reader's unit, and whether model and counts agree."""
    time = model.public_schema.time
    unit, size = reader_unit(time)
    digits = 4 if size == 1 else 3  # as the page's script shows them
    first, last = f"{time.zero / size:.{digits}g}", f"{time.horizon / size:.{digits}g}"
    help_text = words["times_help"].format(
        first=first, horizon=last, unit=unit or words["own_unit"]
    )
    told = [str(item) for item in model.warnings if item.code == "life-table"]
    found = model.calibration
    if found is not None and found.supported < len(found.table.time):
        end = f"{found.edges[found.supported] / size:.4g} {unit or words['own_unit']}"
        told = [*(told or [words["life_agrees"]]), words["life_ends"].format(time=end)]
    calibrated = found is not None
    return {
        "times_help": help_text,
        "horizon": last if unit is None else f"{last} {unit}",
        "calibration": " ".join(told) or (words["life_agrees"] if calibrated else ""),
    }


def _curves_page(release: CurvesRelease) -> str:
    own = release.public_schema.page or PageWords()
    words = page_texts(own.language)
    groups = f" {words['and']} ".join(item.title for item in release.groups.covariates)
    return render(
        "curves.html",
        release,
        ("curves.js",),
        curves_facts(release, words),
        title=own.title or words["curves_title"].format(groups=groups),
        lead=words["curves_lead"],
        start="curves",
        quality=quality_of(release, {**words, "quality_good": words["curves_good"]}, known=True),
        table=release.table(),
    )


def write_page(model: File, path: str | Path, *, overwrite: bool = False) -> None:
    """Write the page, whole or not at all."""
    write_new(path, make_page(model).encode(), overwrite=overwrite, mode=PUBLIC)


def _policy(scripts: list[str], style: str) -> str:
    """Nothing from anywhere; the scripts and the style by digest; no eval."""
    allowed = " ".join(_digest(script) for script in scripts)
    return (
        f"default-src 'none'; script-src {allowed}; style-src {_digest(style)}; "
        "style-src-attr 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
    )


def _digest(content: str) -> str:
    raw = hashlib.sha256(content.encode()).digest()
    return f"'sha256-{base64.b64encode(raw).decode()}'"


def _inert(content: dict[str, Any]) -> Markup:
    """JSON that cannot end the element it stands in."""
    try:
        text = json.dumps(content, allow_nan=False, ensure_ascii=True, separators=(",", ":"))
    except ValueError:  # a file may hold numbers whose products are none
        raise ArtefactError("the release has numbers that are too large to be shown.") from None
    safe = text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return Markup(safe)  # noqa: S704 - no character that HTML knows is left


@lru_cache(maxsize=1)
def _charts() -> str:
    """Vega, Vega-Lite and Vega-Embed as the package vl-convert brings them."""
    import vl_convert  # noqa: PLC0415 - a large library that only this command needs

    bundle: Any = vl_convert.javascript_bundle  # its stub asks for a snippet, the function does not
    return str(bundle())


@lru_cache(maxsize=8)
def _asset(name: str) -> str:
    return (resources.files("discreet.report") / "templates" / name).read_text(encoding="utf-8")


@lru_cache(maxsize=4)
def _template(name: str) -> Any:
    environment = Environment(
        loader=PackageLoader("discreet.report"),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)
