"""A model's coefficients as a table, with the sentences above and below it, and tests of them.

With competing risks the coefficients of all causes are in one vector, cause after cause, and a name
begins with that of its cause: ``cancer: age``.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from discreet.design.link import get_link
from discreet.design.periods import period_words
from discreet.design.schema import Categorical, Schema
from discreet.design.wording import nearest
from discreet.documents.causes import CausesFile, CausesModel, CausesRelease
from discreet.documents.model import Coefficients, Model, PlainModel, Promised, Release
from discreet.errors import ArtefactError, SettingsError
from discreet.results.normal import standard_errors
from discreet.results.proportionality import NOT_KNOWN, ProportionalityTable
from discreet.results.summary import CausesTable, CoefficientTable, WaldTest
from discreet.types import Array

NOT_PRIVATE = "Not private: do not publish without checking who could recognise whom."


Fitted = Model | CausesFile


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


def reference_levels(schema: Schema) -> dict[str, str]:
    """By coefficient, the level that its level is compared with."""
    levels = {
        name: item.level_titles[0]
        for item in schema.covariates
        if isinstance(item, Categorical)
        for name in item.value_names
    }
    return {
        name: levels[term.name]
        for term in schema.terms
        if term.name in levels
        for name in term.names
    }


def summarise(model: Fitted, confidence: float = 0.95) -> CoefficientTable | CausesTable:
    """The coefficient table of a model; with competing risks one for each cause."""
    if isinstance(model, Model):
        return _table(model, confidence)
    whole = {name: _table(part, confidence) for name, part in model.models.items()}
    first = next(iter(whole.values())).heading[0]
    tables = {
        name: replace(table, heading=tuple(_own_words(model, name)), footer=())
        for name, table in whole.items()
    }
    lines, footer = _shared_words(model)
    return CausesTable(tables, (first, *lines), footer)


def _table(model: Model, confidence: float) -> CoefficientTable:
    known = errors_of(model)
    errors = None if known is None else known.vector
    baseline = model.design.baseline_names
    heading, footer = _words(model)
    return CoefficientTable(
        names=coefficient_names(model),
        coefficients=model.coefficients.vector,
        standard_errors=errors,
        confidence=confidence,
        heading=heading,
        footer=footer,
        ratio=_ratio(model),
        baseline=len(baseline),
        labels=(*baseline, *model.public_schema.coefficient_titles),
        references=reference_levels(model.public_schema),
        groups=_groups(model.public_schema),
    )


def _groups(schema: Schema) -> dict[str, tuple[str, str]]:
    """By coefficient of an effect that changes, its title and the words of its period."""
    return {
        name: (term.title, words)
        for term in schema.terms
        if term.cuts
        for name, words in zip(term.names, period_words(term.cuts), strict=True)
    }


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
        prefix + item: tuple(prefix + name for name in names)
        for item, names in columns.items()
        for prefix in prefixes
    }
    for item, names in columns.items():
        by_covariate[item] = tuple(prefix + name for prefix in prefixes for name in names)
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
    """
    schema = model.public_schema
    found = {item.name: item.coefficient_names for item in schema.covariates if item.changes_at}
    if covariate not in found:
        known = f"that of {', '.join(found)} does" if found else "no covariate has 'changes_at'"
        raise SettingsError(f"the effect of '{covariate}' does not change with time; {known}.")
    covariance = covariance_of(model)
    places = {name: place for place, name in enumerate(coefficient_names(model))}
    changing = [
        [prefix + name for name in term.names]
        for prefix in _prefixed(model)
        for term in schema.terms
        if term.name in found[covariate]
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


def _words(model: Model) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What the numbers are, in at most four lines, and what must be said of them below."""
    time = model.public_schema.time
    compared = (*reference_words(model.public_schema), *change_lines(model))
    first = f"Survival regression, {model.link} link, {model.baseline} baseline, {time.words}."
    if isinstance(model, PlainModel):
        notes = (f"Note: {note}" for note in model.fit.notes)
        return (first, *_plain_lines(model)), (*compared, *notes)
    if isinstance(model, Release):
        lines, footer = release_words(model)
        return (first, *lines), (*compared, *footer)
    return (first,), compared


def reference_words(schema: Schema) -> tuple[str, ...]:
    """A sentence with the reference level of every category, if there is one."""
    found = [
        f"{item.title} {item.level_titles[0]}"
        for item in schema.covariates
        if isinstance(item, Categorical)
    ]
    return (f"Reference levels: {', '.join(found)}.",) if found else ()


def _plain_lines(model: PlainModel) -> tuple[str, str]:
    fit = model.fit
    counts = (
        f"{fit.persons:,} persons, {fit.events:,} events; log-likelihood {fit.log_likelihood:,.2f}."
    )
    return counts, NOT_PRIVATE


def release_words(model: Promised) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What is promised of a release, above its table and below it."""
    return (_release_line(model), *_told(model)), _release_footer(model)


def _release_line(model: Promised) -> str:
    guarantee = model.guarantee
    kind = "Private release" if model.private else "Simulated release, not private,"
    numbers = f"epsilon = {guarantee.epsilon:g}, delta = {guarantee.delta:g}"
    name = model.mechanism.get("name", "")
    return f"{kind} ({name}): {numbers}, {guarantee.status}; {model.persons:,} persons."


def _told(model: Promised) -> Iterator[str]:
    count = len(model.warnings)
    if count:
        yield (
            "Read the warning below the table."
            if count == 1
            else f"Read the {count} warnings below the table."
        )


def _release_footer(model: Promised) -> tuple[str, ...]:
    warnings = (f"Warning: {caution}" for caution in model.warnings)
    where = f"Release {model.release_id}; {model.guarantee.relation}, per {model.guarantee.unit}; ledger: {model.ledger}."
    return (*warnings, model.promise, where)


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
        raise ArtefactError(NOT_KNOWN)
    return ProportionalityTable.of(effects, _ratio(next(iter(model.models.values()))), tests)


def _ratio(model: Model) -> str:
    """The name of exp(coefficient), "" where it means nothing."""
    effect = get_link(model.link).effect
    return effect.removeprefix("log ") if effect.startswith("log ") else ""


def _own_words(model: CausesFile, cause: str) -> Iterator[str]:
    """Return the lines above the table of one cause."""
    yield f"Cause: {cause}"
    if isinstance(model, CausesModel):
        fit = model.fit[cause]
        yield f"{fit.events:,} events; log-likelihood {fit.log_likelihood:,.2f}."
    yield from change_lines(model.models[cause])


def _shared_words(model: CausesFile) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the lines above the tables of all causes, and those below them."""
    compared = reference_words(model.public_schema)
    if isinstance(model, CausesRelease):
        lines, footer = release_words(model)
        return lines, (*compared, *footer)
    if not isinstance(model, CausesModel):
        return (), ()
    persons = next(iter(model.fit.values())).persons
    events = sum(fit.events for fit in model.fit.values())
    notes = (f"Note: {cause}: {note}" for cause, fit in model.fit.items() for note in fit.notes)
    return (f"{persons:,} persons, {events:,} events.", NOT_PRIVATE), (*compared, *notes)


def number_of(model: Fitted, cause: str) -> int:
    """Return the place of a cause; a `SettingsError` names those that there are."""
    if cause not in model.causes:
        listed = f"causes are {', '.join(model.causes)}" if model.causes else "the schema has none"
        raise SettingsError(f"there is no cause '{cause}'; {listed}.")
    return model.causes.index(cause)
