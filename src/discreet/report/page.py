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
from typing import Any, TypeVar

from markupsafe import Markup

from discreet import templates
from discreet.design.schema import PageWords
from discreet.design.words import Words
from discreet.documents.causes import CausesRelease, ModelRelease
from discreet.documents.curves import CurvesRelease
from discreet.documents.model import File, Promised, Release
from discreet.documents.strict import write_new
from discreet.errors import ArtefactError
from discreet.privacy.shares import NoiseShares
from discreet.report.facts import (
    change_tests,
    curves_facts,
    lasting_facts,
    page_facts,
    parts_of,
    quality_of,
)
from discreet.report.texts import DEFAULT, page_texts
from discreet.results.description import ratio_of
from discreet.results.group_table import GroupTable
from discreet.text import with_unit

Document = TypeVar("Document", bound=File)

PUBLIC = 0o644
"""Mode of the file: a page is public; a release is its owner's."""


def make_page(model: File, words: Words | None = None) -> str:
    """Return the page of a private release or of curves by group.

    The file that a reader can download is the release as it is, whatever words the page has.
    """
    shown = model if words is None else with_words(model, words)
    more = {"original": model, "words_digest": None if words is None else words.digest}
    if isinstance(shown, CurvesRelease) and shown.private:
        return _curves_page(shown, **more)
    if not isinstance(shown, ModelRelease) or not shown.private:
        raise ArtefactError(
            "only a private release becomes a page: fit again with --epsilon and publish that."
        )
    return _explorable(shown, **more)


def with_words(model: Document, words: Words) -> Document:
    """Return the release with other words in its schema: to be shown, not to be written."""
    mapping = model.to_mapping()
    mapping["schema"] = words.applied(model.public_schema).to_mapping()
    mapping.pop("joint_digest", None)  # that of the file as it was released
    return type(model).model_validate(mapping, by_alias=True, by_name=False)


def _explorable(release: ModelRelease, **more: Any) -> str:
    """Return the page on which a reader chooses persons."""
    own, schema = release.public_schema.page or PageWords(), release.public_schema
    words = page_texts(own.language)
    parts = parts_of(release)
    more |= time_words(next(iter(parts.values())), words)
    event = own.event or f"{words['event']} (“{schema.time.event}”)"
    choose = words["choose"].format(event=event)
    if isinstance(release, CausesRelease):
        agrees = " ".join(item.message for item in release.warnings if item.code == "life-table")
        more["calibration"], choose = agrees, words["choose_causes"]
    tests = [
        f"{cause}: {line}" if cause else line
        for cause, part in parts.items()
        for line in change_tests(part, words)
    ]
    return render(
        "page.html",
        release,
        ("survival.js", "page.js"),
        page_facts(release, words),
        change_tests=tests,
        proportionality=[
            row for cause, part in parts.items() for row in lasting_facts(part, cause, words)
        ],
        change=words["late_to_early" if ratio_of(release.link) else "late_less_early"],
        changes={
            item.name: ", ".join(f"{cut:.10g}" for cut in item.changes_at or ())
            for item in schema.covariates
        },
        title=own.title or words["default_title"],
        lead=words["lead"],
        start="explore",
        choose=choose,
        quality=quality_of(release, words, known=release.covariance is not None),
        **more,
    )


def render(
    name: str,
    release: Promised,
    scripts: tuple[str, ...],
    facts: dict[str, Any],
    *,
    original: File,
    **more: Any,
) -> str:
    """Return a page from its template: the values of all pages, and the further ones of this."""
    own = release.public_schema.page or PageWords()
    code = [_asset("charts.js"), "".join(map(_asset, ("shared.js", *scripts)))]
    style, details = _asset("page.css"), release.details
    # details of a file can be anything
    joint = all(type(details.get(name)) is int for name in ("sites", "colluding"))
    page: str = template(name).render(
        release=release,
        facts=_inert(facts),
        document=_inert(original.to_mapping()),
        digest=original.digest,
        scripts=[Markup(script) for script in code],  # noqa: S704 - ours and the library's
        style=Markup(style),  # noqa: S704
        policy=(  # nothing from anywhere; the scripts and the style by digest; no eval
            f"default-src 'none'; script-src {' '.join(map(_digest, code))}; "
            f"style-src {_digest(style)}; style-src-attr 'unsafe-inline'; img-src data:; "
            "base-uri 'none'; form-action 'none'"
        ),
        guarantee=release.guarantee,
        time=release.public_schema.time,
        words=page_texts(own.language),
        language=own.language or DEFAULT,
        page=own,
        paragraphs=own.description or (),
        sites=NoiseShares.read(details) if joint else None,
        **more,
    )
    return page


def time_words(model: Release, words: dict[str, str]) -> dict[str, str]:
    """Return the ends of the axis in the schema's unit, and whether model and counts agree."""
    time = model.public_schema.time
    unit = time.counted_in
    first, last = f"{time.zero:.4g}", f"{time.horizon:.4g}"  # as the page's script shows them
    help_text = words["times_help"].format(
        first=first, horizon=last, unit=unit or words["own_unit"]
    )
    lines = [item.message for item in model.warnings if item.code == "life-table"]
    found = model.calibration
    if found is not None and found.supported < len(found.table.time):
        end = f"{found.edges[found.supported]:.4g} {unit or words['own_unit']}"
        lines = [*(lines or [words["life_agrees"]]), words["life_ends"].format(time=end)]
    calibrated = found is not None
    return {
        "times_help": help_text,
        "horizon": with_unit(last, unit),
        "calibration": " ".join(lines) or (words["life_agrees"] if calibrated else ""),
    }


def _curves_page(release: CurvesRelease, **more: Any) -> str:
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
        table=GroupTable(release).rows(),
        **more,
    )


def write_page(
    model: File, path: str | Path, *, words: Words | None = None, overwrite: bool = False
) -> None:
    """Write the page, whole or not at all."""
    write_new(path, make_page(model, words).encode(), overwrite=overwrite, mode=PUBLIC)


def _digest(content: str) -> str:
    raw = hashlib.sha256(content.encode()).digest()
    return f"'sha256-{base64.b64encode(raw).decode()}'"


def _inert(content: dict[str, Any]) -> Markup:
    """Return JSON that cannot end the element that contains it."""
    try:
        text = json.dumps(content, allow_nan=False, ensure_ascii=True, separators=(",", ":"))
    except ValueError:  # a file may hold numbers whose products are none
        raise ArtefactError("the release has numbers that are too large to be shown.") from None
    safe = text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return Markup(safe)  # noqa: S704 - no character that HTML knows is left


@lru_cache(maxsize=8)
def _asset(name: str) -> str:
    return (resources.files("discreet.report") / "templates" / name).read_text(encoding="utf-8")


@lru_cache(maxsize=4)
def template(name: str) -> Any:
    """Return a template of this folder, by its name; kept, as pages are written again and again."""
    return templates.template("discreet.report", name, plain=plain_markdown)


def plain_markdown(text: str) -> str:
    """Return the text with the signs of Markdown and HTML escaped."""
    escaped = text.replace("\\", "\\\\")
    for sign in "`*_{}[]<>#|":
        escaped = escaped.replace(sign, f"\\{sign}")
    return escaped.replace("\\<", "&lt;").replace("\\>", "&gt;")
