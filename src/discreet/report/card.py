"""A model card for a journal: every number from the release, the rest as named empty fields.

The headings follow the items of TRIPOD+AI (Collins et al. 2024, BMJ 385: e078378) that a release can
answer; items that only the authors know are listed by number and left open.
"""

import numpy as np

from discreet.design.link import get_link
from discreet.design.schema import Categorical
from discreet.design.words import Words
from discreet.documents.causes import CausesRelease
from discreet.documents.model import File, Promised, Release, numbers_of
from discreet.errors import ArtefactError
from discreet.report.facts import parts_of
from discreet.report.page import with_words
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
NOISY = (
    "Both are sums of released counts, each with its own privacy noise: they are not the exact numbers "
    "and need not add up to the number of persons; ± is the 95 % range of the noise. "
    "Persons who were never at risk are in neither."
)

OPEN_ITEMS = (
    ("3a", "Health care context and rationale"),
    ("3c", "Known health inequalities between groups"),
    ("5a", "Source of data, and dates of collection"),
    ("6a", "Setting, number and location of centres"),
    ("6b", "Eligibility of the persons"),
    ("6c", "Treatments received, and how they were handled"),
    ("8a", "How and when the outcome was assessed"),
    ("9c", "How and when predictors were measured"),
    ("10", "How the sample size was arrived at"),
    ("14", "Fairness between groups"),
    ("15", "Output of the model and the basis of any classification"),
    ("17", "Ethical approval"),
    ("18a", "Source of funding and role of the funders"),
    ("18b", "Conflicts of interest"),
    ("18c", "Where the study protocol can be found"),
    ("18d", "Registration"),
    ("19", "Involvement of patients and the public"),
    ("25", "Interpretation"),
    ("27", "Usability in current care, and next steps"),
)


TOGETHER = (
    "\nWith o = h / (1 - h) of every cause, the probability of no event in an interval is "
    "1 / (1 + sum of o), and that of a cause is its o / (1 + sum of o)."
)


def make_card(model: File, words: Words | None = None) -> str:
    """Return the card of a private release as Markdown: equation, ratios, promise, open items.

    With competing risks numbers, equation and ratios are those of every cause.

    Parameters
    ----------
    model
        A private release.
    words
        Labels and units in place of the release's.

    Raises
    ------
    ArtefactError
        The file is not a private release of a model.
    """
    if not isinstance(model, Release | CausesRelease) or not model.private:
        raise ArtefactError("only a private release of a model has a model card.")
    shown = model if words is None else with_words(model, words)
    parts = parts_of(shown)
    first = next(iter(parts.values()))
    common = [_outcome(first), _predictors(first)]
    if shown.causes:
        own = [
            f"\n# Cause: {_plain(cause)}\n{_data(part)}\n{_equation(part)}\n{TOGETHER}\n{_table(part)}"
            for cause, part in parts.items()
        ]
    else:
        common = [_data(first), *common]
        own = [_equation(first), _table(first)]
    last = [_performance(shown), _privacy(first), _open_items(), _access(first)]
    return "\n".join([_head(first), *common, *own, *last])


def _head(release: Release) -> str:
    page = release.public_schema.page
    title = (page and page.title) or "A discrete-time survival model"
    given = (page and page.description) or ()
    described = "\n\n".join(map(_plain, given))
    description = described or "_Describe the model in a sentence or two._"
    return (
        f"# Model card: {_plain(title)}\n\n{description}\n\n"
        f"Release `{release.release_id}`, discreet {release.library_version}. Numbered headings are "
        "items of TRIPOD+AI (Collins et al. 2024)."
    )


def _data(release: Release) -> str:
    table = release.life_table
    lines = [f"- Persons (public): {release.persons:,}."]
    if table is not None:
        # as released: a sum of counts that were cut at 0 would be too large
        rows = numbers_of("life table", release.released["life_table"])
        censored, events = (max(0.0, float(part)) for part in rows[:, 2:4].sum(axis=0))
        margin = ""
        if release.calibration is not None:
            noise = normal_quantile(0.95) * float(np.sqrt(np.sum(release.calibration.deviation**2)))
            margin = f" ± {noise:,.0f}"
        lines.append(
            f"- Events: about {events:,.0f}{margin}. Censored: about {censored:,.0f}{margin}. {NOISY}"
        )
    return "\n## 5, 20. Data and participants\n\n" + "\n".join(lines)


def _outcome(release: Release) -> str:
    time, page = release.public_schema.time, release.public_schema.page
    event = (page and page.event) or f"“{time.event}”"
    return f"\n## 8. Outcome\n\nTime to {_plain(event)}, in {time.words}. Later events count as censored."


def _predictors(release: Release) -> str:
    lines = []
    for item in release.public_schema.covariates:
        times = ", ".join(f"{cut:.10g}" for cut in item.changes_at or ())
        changes = f" Its effect changes at {times}." if times else ""
        if isinstance(item, Categorical):
            levels = ", ".join(map(_plain, item.level_titles))
            lines.append(f"- {_plain(item.title)}: {levels}.{changes}")
        else:
            low, high = item.bounds
            between = f"{low:g} to {high:g}; outside moved to the edge."
            lines.append(f"- {_plain(item.title)}: {between}{changes}")
    for name, codes in release.public_schema.missing_codes.items():
        lines.append(
            f"- {_plain(name)}: missing where the file has {', '.join(map(_plain, codes))}."
        )
    shown = "\n".join(lines) or "None."
    return (
        f"\n## 9, 11. Predictors and missing values\n\n{shown}\n\nMissing or unreadable values become "
        "the declared fill, the midpoint of the range or the reference level, one record at a time."
    )


def _equation(release: Release) -> str:
    schema, given = release.public_schema, release.coefficients.covariates
    titles = (f"[{title}]" if " " in title else title for title in schema.coefficient_titles)
    named_values = zip(titles, given.values(), strict=True)
    terms = " + ".join(f"({value:.6g}) * {title}" for title, value in named_values)
    parts = [", ".join(f"{value:.6g}" for value in one) for one in release.coefficients.baselines]
    strata = schema.strata
    named = (
        parts if strata is None else map(": ".join, zip(strata.level_titles, parts, strict=True))
    )
    baseline = "; ".join(named)
    periods = ""
    if schema.changing:
        ends = ", ".join(f"s > {end}" for end in release.design.steps)
        steps = f" After these functions A has steps, 1 for {ends} and 0 before." if ends else ""
        periods = f"A term of a period counts in the intervals that begin in it.{steps} "
    return (
        f"\n## 12, 22. Model, in full\n\n"
        f"In interval s of q = {schema.time.intervals}, given no event before,\n\n"
        f"    eta = alpha'A(s/q) + {terms or '0'}\n    {HAZARDS[release.link]}\n"
        "    S(u) = product of (1 - h) over the intervals that have ended by u\n\n"
        f"with the baseline `{release.baseline}`, alpha = ({baseline}) and, for t from 0 to 1,\n\n"
        f"    {BASES[release.design.declared.kind]}\n\n"
        f"{periods}The release file has all digits and the covariance."
    )


def _table(release: Release) -> str:
    effect = get_link(release.link).effect.removeprefix("log ")
    lines = [
        f"| | coefficient | standard error | {effect} | 95 % interval |",
        "|---|---|---|---|---|",
    ]
    table = coefficient_table(release)
    columns = table.columns()
    for place, title in enumerate(release.public_schema.coefficient_titles, table.baseline):
        error, ratio, low, high = (
            f"{columns[name][place]:.4g}" if name in columns else ""
            for name in (
                "standard error",
                *(f"{table.ratio}{end}" for end in ("", " lower", " upper")),
            )
        )
        between = f"{low} to {high}" if low else ""
        value = f"{columns['coefficient'][place]:.5g}"
        cells = (_plain(title), value, error or "not released", ratio, between)
        lines.append(f"| {' | '.join(cells)} |")
    tests = "".join(f"\n\n{_plain(line)}" for line in change_lines(release))
    return f"\n## 22. {effect[:1].upper() + effect[1:]}s\n\n" + "\n".join(lines) + tests


def _performance(release: Promised) -> str:
    found = [f"- {_plain(item.message)}" for item in release.warnings if not item.of_the_promise]
    text = "\n".join(found) or "The release has no cautions about its numbers."
    return (
        f"\n## 23, 26. Performance and limitations\n\n{text}\n\nIntervals include sampling error and "
        "the noise added for privacy. Discrimination and calibration on other people: _to be filled in_."
    )


def _privacy(release: Release) -> str:
    guarantee = release.guarantee
    return (
        f"\n## Privacy\n\nepsilon = {guarantee.epsilon:g}, delta = {guarantee.delta:g}, "
        f"{guarantee.relation}, per {guarantee.unit}, {guarantee.status}; mechanism "
        f"{release.mechanism['name']}. {release.promise}"
    )


def _open_items() -> str:
    lines = [f"- **{number}** {text}: _to be filled in_" for number, text in OPEN_ITEMS]
    return "\n## To be filled in by the authors\n\n" + "\n".join(lines)


def _access(release: Release) -> str:
    page = release.public_schema.page
    facts = {
        "Contact": page and page.contact,
        "Licence": page and page.licence,
        "How to cite": page and page.citation,
    }
    lines = [
        f"- {name}: {_plain(text) if text else '_to be filled in_'}" for name, text in facts.items()
    ]
    return "\n## 18e, 18f. Access\n\n" + "\n".join(lines) + "\n"


def _plain(text: str) -> str:
    """Return the text with the signs of Markdown and HTML escaped."""
    escaped = text.replace("\\", "\\\\")
    for sign in "`*_{}[]<>#|":
        escaped = escaped.replace(sign, f"\\{sign}")
    return escaped.replace("\\<", "&lt;").replace("\\>", "&gt;")
