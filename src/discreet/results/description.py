"""A model's coefficients as a table, with the sentences above and below it, and tests of them.

With competing risks the coefficients of all causes are in one vector, cause after cause, and a name
begins with that of its cause: ``cancer: age``.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from discreet.design.link import get_link
from discreet.design.periods import period_words
from discreet.design.schema import Categorical, Numeric
from discreet.design.wording import nearest
from discreet.documents.causes import Fitted
from discreet.documents.model import Coefficients, Model, PlainModel, Promised, Release
from discreet.errors import ArtefactError, SettingsError
from discreet.results.normal import standard_errors
from discreet.results.proportionality import NOT_KNOWN, TESTED, ProportionalityTable
from discreet.results.summary import CoefficientTable, WaldTest
from discreet.results.tables import ByCause
from discreet.types import Array

ROUNDED = 1.0 + 1e-9
"""Bounds such as 0.3 and 0.7 are a little nearer to each other than they are written."""
NOT_PRIVATE = "Not private: do not publish without checking who could recognise whom."


def errors_of(model: Model) -> Coefficients | None:
    """Standard errors of one event's coefficients on the user's own scale, where they are known."""
    if isinstance(model, PlainModel):
        return model.uncertainty.standard_errors
    if model.covariance is None:
        return None
    return Coefficients.of(standard_errors(model.covariance), model.design)


def coefficient_names(model: Fitted) -> tuple[str, ...]:
    """The names of all coefficients, the baseline's first."""
    return tuple(
        prefix + name
        for prefix, part in _prefixed(model).items()
        for name in (*part.design.baseline_names, *part.coefficients.covariates)
    )


def _prefixed(model: Fitted) -> Mapping[str, Model]:
    """The model of each cause by what its coefficients' names begin with."""
    return {f"{cause}: " if cause else "": part for cause, part in model.models.items()}


def summarise(
    model: Fitted, confidence: float = 0.95
) -> CoefficientTable | ByCause[CoefficientTable]:
    """The coefficient table of a model; with competing risks one for each cause."""
    above, below = release_words(model) if isinstance(model, Promised) else _plain_words(model)
    above = (model_words(model), *above)
    references = ", ".join(
        f"{item.title} {item.level_titles[0]}"
        for item in model.public_schema.covariates
        if isinstance(item, Categorical)
    )
    compared = (f"Reference levels: {references}.",) if references else ()
    if isinstance(model, Model):
        footer = (*compared, *change_lines(model), *below)
        return coefficient_table(model, confidence, above, footer)
    tables = {}
    for cause, part in model.models.items():
        own = [f"Cause: {cause}"]
        if isinstance(part, PlainModel):
            fit = part.fit
            own.append(f"{fit.events:,} events; log-likelihood {fit.log_likelihood:,.2f}.")
        tables[cause] = coefficient_table(part, confidence, (*own, *change_lines(part)))
    return ByCause(tables, above, (*compared, *below))


def coefficient_table(
    model: Model,
    confidence: float = 0.95,
    heading: tuple[str, ...] = (),
    footer: tuple[str, ...] = (),
) -> CoefficientTable:
    """The table of one event, between these lines."""
    schema, known = model.public_schema, errors_of(model)
    baseline = model.design.baseline_names
    levels = {
        name: item.level_titles[0]
        for item in schema.covariates
        if isinstance(item, Categorical)
        for name in item.value_names
    }
    references: dict[str, str] = {}
    groups: dict[str, tuple[str, str]] = {}
    for term in schema.terms:
        if term.name in levels:
            references |= dict.fromkeys(term.names, levels[term.name])
        if term.cuts:
            periods = zip(term.names, period_words(term.cuts), strict=True)
            groups |= {name: (term.title, words) for name, words in periods}
    return CoefficientTable(
        names=coefficient_names(model),
        coefficients=model.coefficients.vector,
        standard_errors=None if known is None else known.vector,
        confidence=confidence,
        heading=heading,
        footer=footer,
        ratio=ratio_of(model.link),
        baseline=len(baseline),
        labels=(*baseline, *schema.coefficient_titles),
        references=references,
        groups=groups,
    )


def wald_test(model: Fitted, given: Sequence[str]) -> WaldTest:
    """The Wald test of covariates, all columns of each in all causes, or of single coefficients."""
    known, schema = coefficient_names(model), model.public_schema
    terms = {term.name: term.names for term in schema.terms}
    columns = {
        item.name: tuple(name for column in item.coefficient_names for name in terms[column])
        for item in schema.covariates
    }
    prefixes = tuple(_prefixed(model))
    by_covariate = {
        own + item: tuple(prefix + name for prefix in within for name in names)
        for item, names in columns.items()
        for own, within in (*((prefix, (prefix,)) for prefix in prefixes), ("", prefixes))
    }
    chosen = [name for one in given for name in by_covariate.get(one, (one,))]
    if not chosen:
        raise SettingsError("name a covariate or coefficients to be tested.")
    wrong = next((name for name in chosen if name not in known), None)
    if wrong is not None:
        near = nearest(wrong, (*by_covariate, *known))
        hint = "" if near is None else f" Did you mean '{near}'?"
        raise SettingsError(f"there is no coefficient '{wrong}'.{hint}")
    names = tuple(dict.fromkeys(chosen))
    places = [known.index(name) for name in names]
    covariance = covariance_of(model)[np.ix_(places, places)]
    return WaldTest.of(names, model.vector[places], covariance)


def covariance_of(model: Fitted) -> Array:
    """The covariance of all coefficients; a `SettingsError` where the model has none."""
    if model.covariance is None:
        raise SettingsError("this model has no covariance of its coefficients.")
    return model.covariance


def change_test(model: Fitted, covariate: str) -> WaldTest:
    """The Wald test of one effect for all time of a covariate, in each of its columns and causes.

    Differences of the coefficients of neighbouring periods are 0: of m columns and K periods m (K - 1).
    Products with other covariates belong to the effect, so the zeros of those do not matter.
    """
    schema = model.public_schema
    if covariate not in schema.changing:
        others = ", ".join(schema.changing)
        known = f"that of {others} does" if others else "no covariate has 'changes_at'"
        raise SettingsError(f"the effect of '{covariate}' does not change with time; {known}.")
    covariance = covariance_of(model)
    places = {name: place for place, name in enumerate(coefficient_names(model))}
    changing = [
        [prefix + name for name in term.names]
        for prefix in _prefixed(model)
        for term in schema.terms
        if covariate in term.covariates and term.cuts
    ]
    pairs = [pair for names in changing for pair in pairwise(names)]
    between = np.zeros((len(pairs), len(places)))
    for row, (one, other) in zip(between, pairs, strict=True):
        row[places[one]], row[places[other]] = 1.0, -1.0
    return WaldTest.of(
        [name for names in changing for name in names],
        between @ model.vector,
        between @ covariance @ between.T,
        f"one effect of {covariate} for all time",
    )


def change_lines(model: Model) -> tuple[str, ...]:
    """The test of every covariate that changes, as far as the model has a covariance."""
    if model.covariance is None:
        return ()
    noise = ", privacy noise included" if isinstance(model, Release) else ""
    tests = (change_test(model, name) for name in model.public_schema.changing)
    return tuple(f"{test}{noise}." for test in tests)


def model_words(model: Fitted) -> str:
    """A sentence of the model's form."""
    time = model.public_schema.time
    return f"Survival regression, {model.link} link, {model.baseline} baseline, {time.words}."


def _plain_words(model: Fitted) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The counts of a fit that is not private, above its table, and its notes, below it."""
    fits = {cause: part.fit for cause, part in model.models.items() if isinstance(part, PlainModel)}
    first = next(iter(fits.values()))
    counts = f"{first.persons:,} persons, {sum(fit.events for fit in fits.values()):,} events"
    if not model.causes:
        counts += f"; log-likelihood {first.log_likelihood:,.2f}"
    notes = (
        f"Note: {cause}: {note}" if cause else f"Note: {note}"
        for cause, fit in fits.items()
        for note in fit.notes
    )
    return (f"{counts}.", NOT_PRIVATE), tuple(notes)


def release_words(model: Promised) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The promise of a release, above its table, and warnings and ledger, below it."""
    guarantee, count = model.guarantee, len(model.warnings)
    kind = "Private release" if model.private else "Simulated release, not private,"
    name = model.mechanism.get("name", "")
    numbers = f"epsilon = {guarantee.epsilon:g}, delta = {guarantee.delta:g}"
    above = [f"{kind} ({name}): {numbers}, {guarantee.status}; {model.persons:,} persons."]
    if count:
        warned = "the warning" if count == 1 else f"the {count} warnings"
        above.append(f"Read {warned} below the table.")
    warnings = (f"Warning: {caution}" for caution in model.warnings)
    where = (
        f"Release {model.release_id}; {guarantee.relation}, per {guarantee.unit}; ledger: "
        f"{model.ledger}."
    )
    return tuple(above), (*warnings, model.promise, where)


def summarise_proportionality(model: Fitted) -> ProportionalityTable:
    """Which effects seem to change with time; an `ArtefactError` where the file does not say."""
    effects, tests, known = [], [], False
    for prefix, part in _prefixed(model).items():
        found = part.proportionality if isinstance(part, Release) else None
        known = known or found is not None
        effects += [
            item._replace(name=prefix + item.name, title=prefix + item.title)
            for item in found or ()
        ]
        tests += [prefix + line for line in change_lines(part)]
    if not known and not tests:
        raise ArtefactError(NOT_KNOWN if model.covariance is None else NOT_KNOWN + TESTED)
    return ProportionalityTable.of(effects, ratio_of(model.link), tests)


def ratio_of(link: str) -> str:
    """The name of exp(coefficient), "" where it means nothing."""
    effect = get_link(link).effect
    return effect.removeprefix("log ") if effect.startswith("log ") else ""


def round_step(item: Numeric) -> float:
    """A step near a quarter of a number's range, 1, 2 or 5 times a power of ten, as in `page.js`."""
    low, high = item.bounds
    quarter = (high - low) / 4.0 * ROUNDED
    power = 10.0 ** np.floor(np.log10(quarter))
    return float(power * max(factor for factor in (1, 2, 5) if factor * power <= quarter))


def number_of(model: Fitted, cause: str) -> int:
    """Return the place of a cause; a `SettingsError` names those that there are."""
    if cause not in model.causes:
        listed = f"causes are {', '.join(model.causes)}" if model.causes else "the schema has none"
        raise SettingsError(f"there is no cause '{cause}'; {listed}.")
    return model.causes.index(cause)
