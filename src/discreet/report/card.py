"""A model card for a journal: every number from the release, the rest as named empty fields.

The headings of `templates/card.md` follow the items of TRIPOD+AI (Collins et al. 2024, BMJ 385: e078378)
that a release can answer; items that only the authors know are listed by number and left open.
"""

from collections.abc import Iterator

import numpy as np

from discreet.design.link import get_link
from discreet.design.schema import Categorical, PageWords, Schema
from discreet.design.words import Words
from discreet.documents.causes import ModelRelease
from discreet.documents.model import File, Release, numbers_of
from discreet.errors import ArtefactError
from discreet.report.facts import parts_of
from discreet.report.page import plain_markdown, template, with_words
from discreet.results.description import change_lines, coefficient_table
from discreet.results.normal import normal_quantile

HAZARDS = {
    "logit": "h = 1 / (1 + exp(-eta))",
    "cloglog": "h = 1 - exp(-exp(eta))",
    "probit": "h = Phi(eta), the standard normal distribution function",
}
BASES = {
    "natural-spline": "A(t) = (1, t, d_1(t) - d_{e-1}(t), ..., d_{e-2}(t) - d_{e-1}(t)), with knots "
    "k_j = (j-1)/(e-1),\n    e of them, and d_j(t) = (max(t - k_j, 0)^3 - max(t - 1, 0)^3) / (1 - k_j)",
    "piecewise-constant": "A_j(t) = 1 for (j-1)/K < t <= j/K, else 0; the first piece holds t = 0 too",
    "log-time": "A(t) = (1, log t, (log t)^2, ...)",
}
"""The functions of time of each kind of baseline, as `discreet.design.baseline` computes them."""


def make_card(model: File, words: Words | None = None) -> str:
    """Return the card of a private release as Markdown: equation, ratios, promise, open items.

    With competing risks numbers, equation and ratios are those of every cause; words are labels and
    units in place of the release's.
    """
    if not isinstance(model, ModelRelease) or not model.private:
        raise ArtefactError("only a private release of a model has a model card.")
    shown = model if words is None else with_words(model, words)
    parts = parts_of(shown)
    first = next(iter(parts.values()))
    card: str = template("card.md").render(
        release=shown,
        parts=parts,
        first=first,
        schema=first.public_schema,
        page=first.public_schema.page or PageWords(),
        guarantee=shown.guarantee,
        effect=get_link(first.link).effect.removeprefix("log "),
        predictors=list(_predictors(first.public_schema)),
        counts=_counts,
        terms=_terms,
        baselines=_baselines,
        rows=_rows,
        change_lines=change_lines,
        hazards=HAZARDS,
        bases=BASES,
    )
    return card + "\n"


def _counts(release: Release) -> tuple[str, str, str]:
    """Events, censored and their margin, as released: a sum of counts that were cut at 0 is too large."""
    rows = numbers_of("life table", release.released["life_table"])
    censored, events = (f"{max(0.0, float(part)):,.0f}" for part in rows[:, 2:4].sum(axis=0))
    if release.calibration is None:
        return events, censored, ""
    noise = normal_quantile(0.95) * float(np.sqrt(np.sum(release.calibration.deviation**2)))
    return events, censored, f" ± {noise:,.0f}"


def _predictors(schema: Schema) -> Iterator[str]:
    for item in schema.covariates:
        times = ", ".join(f"{cut:.10g}" for cut in item.changes_at or ())
        changes = f" Its effect changes at {times}." if times else ""
        if isinstance(item, Categorical):
            levels = ", ".join(map(plain_markdown, item.level_titles))
            yield f"- {plain_markdown(item.title)}: {levels}.{changes}"
        else:
            low, high = item.bounds
            between = f"{low:g} to {high:g}; outside moved to the edge."
            yield f"- {plain_markdown(item.title)}: {between}{changes}"
    for name, codes in schema.missing_codes.items():
        yield f"- {plain_markdown(name)}: missing where the file has {', '.join(map(plain_markdown, codes))}."


def _terms(release: Release) -> str:
    titles = release.public_schema.coefficient_titles
    named = (f"[{title}]" if " " in title else title for title in titles)
    values = zip(named, release.coefficients.covariates.values(), strict=True)
    return " + ".join(f"({value:.6g}) * {title}" for title, value in values) or "0"


def _baselines(release: Release) -> str:
    parts = [", ".join(f"{value:.6g}" for value in one) for one in release.coefficients.baselines]
    strata = release.public_schema.strata
    if strata is None:
        return parts[0]
    return "; ".join(map(": ".join, zip(strata.level_titles, parts, strict=True)))


def _rows(release: Release) -> Iterator[tuple[str, ...]]:
    """The cells of each covariate's coefficient."""
    table = coefficient_table(release)
    columns = table.columns()
    ratios = (f"{table.ratio}{end}" for end in ("", " lower", " upper"))
    wanted = "standard error", *ratios
    for place, title in enumerate(release.public_schema.coefficient_titles, table.baseline):
        error, ratio, low, high = (
            f"{columns[name][place]:.4g}" if name in columns else "" for name in wanted
        )
        value = f"{columns['coefficient'][place]:.5g}"
        between = f"{low} to {high}" if low else ""
        yield plain_markdown(title), value, error or "not released", ratio, between
