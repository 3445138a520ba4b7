"""A model's coefficients as a table, with what must be said above and below it."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from discreet.design.link import get_link
from discreet.design.periods import period_words
from discreet.design.schema import Categorical, Schema
from discreet.design.wording import nearest
from discreet.documents.model import Coefficients, Model, PlainModel, Promised, Release
from discreet.errors import ArtefactError, SettingsError
from discreet.results.proportionality import NOT_KNOWN, ProportionalityTable
from discreet.results.summary import CoefficientTable, WaldTest
from discreet.types import Array

NOT_PRIVATE = "Not private: do not publish without checking who could recognise whom."


def standard_errors(model: Model) -> Coefficients | None:
    """Standard errors on the user's own scale, where the model has them."""
    if isinstance(model, PlainModel):
        return model.uncertainty.standard_errors
    if model.covariance is None:
        return None
    errors = np.sqrt(np.maximum(np.diag(model.covariance), 0.0))
    return Coefficients.of(errors, model.design)


def coefficient_names(model: Model) -> tuple[str, ...]:
    """The names of all coefficients, the baseline's first."""
    return (*model.design.baseline_names, *model.coefficients.covariates)


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


def summarise(model: Model, confidence: float = 0.95) -> CoefficientTable:
    """The coefficient table of a model."""
    known = standard_errors(model)
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


def wald_test(model: Model, given: Sequence[str]) -> WaldTest:
    """The Wald test of covariates, all columns of each, or of single coefficients."""
    known, schema = coefficient_names(model), model.public_schema
    terms = {term.name: term.names for term in schema.terms}
    by_covariate = {
        item.name: tuple(name for column in item.coefficient_names for name in terms[column])
        for item in schema.covariates
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
    return WaldTest.of(names, model.coefficients.vector[places], covariance)


def covariance_of(model: Model) -> Array:
    """The covariance of all coefficients; a `SettingsError` where the model has none."""
    if model.covariance is None:
        raise SettingsError("this model has no covariance of its coefficients.")
    return model.covariance


def change_test(model: Model, covariate: str) -> WaldTest:
    """The Wald test of one effect for all time of a covariate, in each of its columns.

    Differences of the coefficients of neighbouring periods are 0: of m columns and K periods m (K - 1).
    """
    schema = model.public_schema
    found = {item.name: item.coefficient_names for item in schema.covariates if item.changes_at}
    if covariate not in found:
        known = f"that of {', '.join(found)} does" if found else "no covariate has 'changes_at'"
        raise SettingsError(f"the effect of '{covariate}' does not change with time; {known}.")
    covariance = covariance_of(model)
    places = {name: place for place, name in enumerate(coefficient_names(model))}
    terms = [term for term in schema.terms if term.name in found[covariate]]
    pairs = [pair for term in terms for pair in pairwise(term.names)]
    between = np.zeros((len(pairs), len(places)))
    for row, (one, other) in zip(between, pairs, strict=True):
        row[places[one]], row[places[other]] = 1.0, -1.0
    return WaldTest.of(
        [name for term in terms for name in term.names],
        between @ model.coefficients.vector,
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


def summarise_proportionality(model: Model) -> ProportionalityTable:
    """Which effects seem to change with time; an `ArtefactError` where the file does not say."""
    found = model.proportionality if isinstance(model, Release) else None
    tests = change_lines(model)
    if found is None and not tests:
        raise ArtefactError(NOT_KNOWN)
    return ProportionalityTable.of(found or (), _ratio(model), tests)


def _ratio(model: Model) -> str:
    """The name of exp(coefficient), "" where it means nothing."""
    effect = get_link(model.link).effect
    return effect.removeprefix("log ") if effect.startswith("log ") else ""
