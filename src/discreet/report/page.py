"""Assemble the page: template, style, script and chart library in one file.

Names come from the release and are escaped; scripts and styles come from this package and from the
chart library, and a content security policy admits exactly those, by digest. The release rides
along as inert JSON.
"""

import base64
import hashlib
import json
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from discreet.design.schema import PageWords
from discreet.errors import ArtefactError
from discreet.models.curves_release import CurvesRelease
from discreet.models.model import File, Release
from discreet.models.strict import write_new
from discreet.report.facts import curves_facts, page_facts, quality_of, reader_unit
from discreet.report.texts import DEFAULT, page_texts

PUBLIC = 0o644
"""A page is there to be read by everybody; releases stay their owner's."""


def make_page(model: File) -> str:
    """The page of a release or of curves by group; what is not private is refused."""
    if isinstance(model, CurvesRelease) and model.private:
        return _curves_page(model)
    if not isinstance(model, Release) or not model.private:
        raise ArtefactError(
            "only a private release becomes a page: fit again with --epsilon and publish that."
        )
    scripts = [_charts(), _asset("survival.js") + _asset("page.js")]
    style = _asset("page.css")
    own = model.public_schema.page or PageWords()
    words = page_texts(own.language)
    page: str = _template("page.html").render(
        release=model,
        facts=_inert(page_facts(model, words)),
        document=_inert(model.to_mapping()),
        scripts=[Markup(script) for script in scripts],  # noqa: S704 - ours and the library's
        style=Markup(style),  # noqa: S704
        policy=_policy(scripts, style),
        guarantee=model.guarantee,
        time=model.public_schema.time,
        words=words,
        language=own.language or DEFAULT,
        page=own,
        paragraphs=[text for text in (own.description or "").split("\n\n") if text.strip()],
        event=own.event or f"{words['event']} (“{model.public_schema.time.event}”)",
        quality=quality_of(model, words),
        **_time_words(model, words),
    )
    return page


def _time_words(model: Release, words: dict[str, str]) -> dict[str, str]:
    """The ends of the axis in the reader's unit, and whether model and counts agree."""
    time = model.public_schema.time
    unit, size = reader_unit(time)
    first, last = f"{time.zero / size:.4g}", f"{time.horizon / size:.4g}"
    help_text = words["times_help"].format(
        first=first, horizon=last, unit=unit or words["own_unit"]
    )
    told = [str(item) for item in model.warnings if item.code == "life-table"]
    calibrated = "calibration" in model.released
    return {
        "times_help": help_text,
        "horizon": last if unit is None else f"{last} {unit}",
        "calibration": " ".join(told) or (words["life_agrees"] if calibrated else ""),
    }


def _curves_page(release: CurvesRelease) -> str:
    scripts = [_charts(), _asset("curves.js")]
    style = _asset("page.css")
    page: str = _template("curves.html").render(
        release=release,
        table=release.table(),
        facts=_inert(curves_facts(release)),
        document=_inert(release.to_mapping()),
        scripts=[Markup(script) for script in scripts],  # noqa: S704 - ours and the library's
        style=Markup(style),  # noqa: S704
        policy=_policy(scripts, style),
        guarantee=release.guarantee,
        time=release.public_schema.time,
    )
    return page


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
    text = json.dumps(content, allow_nan=False, ensure_ascii=True, separators=(",", ":"))
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


@lru_cache(maxsize=2)
def _template(name: str) -> Any:
    environment = Environment(
        loader=PackageLoader("discreet.report"),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)
