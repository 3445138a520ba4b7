"""A model's coefficients as a table, with what must be said above and below it."""

from collections.abc import Iterator

import numpy as np

from discreet.design.link import get_link
from discreet.design.schema import Categorical, Schema
from discreet.models.model import Coefficients, Model, PlainModel, Promised, Release
from discreet.models.summary import CoefficientTable

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
    return {
        name: item.level_titles[0]
        for item in schema.covariates
        if isinstance(item, Categorical)
        for name in item.value_names
    }


def summarise(model: Model, confidence: float = 0.95) -> CoefficientTable:
    """The coefficient table of a model."""
    known = standard_errors(model)
    errors = None if known is None else known.vector
    baseline = model.design.baseline_names
    effect = get_link(model.link).effect
    heading, footer = _words(model)
    return CoefficientTable(
        names=coefficient_names(model),
        coefficients=model.coefficients.vector,
        standard_errors=errors,
        confidence=confidence,
        heading=heading,
        footer=footer,
        ratio=effect.removeprefix("log ") if effect.startswith("log ") else "",
        baseline=len(baseline),
        labels=(*baseline, *model.public_schema.coefficient_titles),
        references=reference_levels(model.public_schema),
    )


def _words(model: Model) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What the numbers are, in at most four lines, and what must be said of them below."""
    time, compared = model.public_schema.time, reference_words(model.public_schema)
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
