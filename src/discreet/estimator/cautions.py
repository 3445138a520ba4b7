"""What a reader should not believe, from a release's own numbers.

Everything is a function of released numbers and of public facts, so a caution costs no budget and can be
computed again from the release.

    at-risk      few persons at risk: exits fall short of the number of persons
    events       few events for the number of coefficients
    unreached    directions that the data do not reach: the prior speaks
    noise        intervals that are privacy noise
    life-table   the model's expected events against the released ones
    stratum      strata of which hardly anything was counted: the prior speaks
    varying      effects that change with time
    tail         numbers much of whose spread is that of few people far away
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from discreet.documents.caution import Caution
from discreet.estimator.constants import (
    CLEAR,
    EVENTS_PER_COEFFICIENT,
    HALF,
    HEAVY,
    MISFIT,
    NEGLIGIBLE,
    WIDEST,
)
from discreet.estimator.estimate import precisions
from discreet.estimator.field import Field
from discreet.estimator.published import Ended, changes_with_time
from discreet.estimator.reach import hidden_shares, hidden_strata
from discreet.results.proportionality import EffectOverTime, effects_over_time
from discreet.text import with_unit
from discreet.types import Flags


@np.errstate(all="ignore")
def cautions(ended: Ended) -> tuple[Caution, ...]:
    """Everything that a reader should know before believing the numbers."""
    schema = ended.transcript.design.schema
    found = [*few_at_risk(ended)]
    for cause, name in enumerate(schema.time.causes or [""]):
        own = [
            *few_events(ended, cause),
            *about_coefficients(ended, cause),
            *against_life_table(ended, cause),
            *few_in_strata(ended),
            *varying(ended, cause),
        ]
        found += [_of_cause(one, name) for one in own] if name else own
    return (*found, *tailed(ended.field))


def _of_cause(caution: Caution, name: str) -> Caution:
    coefficients = tuple(f"{name}: {item}" for item in caution.coefficients)
    message = f"Cause {name}: {caution.message}"
    return Caution.about(caution.code, message, coefficients, caution.remedy)


def few_at_risk(ended: Ended) -> Iterator[Caution]:
    """Exits fall short of n by more than their noise."""
    t = ended.transcript
    exits, noise = float(t.exits.values.sum()), t.exits.deviation * math.sqrt(t.exits.values.size)
    if exits + CLEAR * noise >= (1.0 - NEGLIGIBLE) * t.persons:
        return
    yield Caution.about(
        "at-risk",
        f"Only about {_whole(exits)} of {t.persons:,} persons were ever at risk (give or take "
        f"{_whole(2 * noise)}): durations that are missing or not numbers, or entries after the exit. "
        "The model describes those few.",
    )


def few_events(ended: Ended, cause: int) -> Iterator[Caution]:
    """Too few events for the coefficients, or not clearly more than noise."""
    counts, coefficients = ended.transcript.exits.values[:, cause + 1], ended.field.layout.size
    events = float(counts.sum())
    noise = ended.transcript.exits.deviation * math.sqrt(counts.size)
    if events >= max(EVENTS_PER_COEFFICIENT * coefficients, CLEAR * noise):
        return
    yield Caution.about(
        "events",
        f"About {_whole(events)} events were released (give or take {_whole(2 * noise)}) for "
        f"{coefficients} coefficients: too few to say much about any of them.",
    )


def about_coefficients(ended: Ended, cause: int) -> Iterator[Caution]:
    """Coefficients of which the release knows little more than the prior, or whose interval is noise.

    With the covariance C and the prior's precision P the prior pulls an estimate by N(0, C P C).
    """
    design, size = ended.transcript.design, ended.field.layout.size
    own, turn = slice(cause * size, (cause + 1) * size), design.to_user
    whole, held = ended.covariance[own, own], precisions(ended.field, ended.prior)[cause]
    parts = whole, whole @ held @ whole, ended.estimate.sampling[own, own], ended.missing[own, own]
    total, pull, sampling, missing = (
        np.maximum(np.diag(turn @ part @ turn.T), 1e-300) for part in parts
    )
    names = *design.baseline_names, *design.schema.coefficient_names
    titles = *design.baseline_names, *design.schema.coefficient_titles
    absent = missing > HALF * total
    unknown = absent | (np.sqrt(pull) > HALF * np.sqrt(total))
    time = np.arange(len(names)) < design.time_dimension
    reasons = (
        (
            unknown & time,
            "events are few in part of the time",
            "fewer knots, wider intervals or a shorter horizon help",
        ),
        (
            unknown & ~time & absent,
            "few people have these values, columns repeat each other, or bounds are far too wide",
            "join small levels, drop a column that repeats another, or narrow the bounds",
        ),
        (
            unknown & ~time & ~absent,
            "privacy noise hides them",
            "a larger epsilon, more people or fewer covariates help",
        ),
    )
    if unknown.any():
        there = [item for item in reasons if item[0].any()]
        said = (f"{_listed(titles, flags)}: {cause}." for flags, cause, _ in there)
        helps = (f"Where {cause}, {remedy}." for _, cause, remedy in there)
        yield Caution.about(
            "unreached",
            "The release knows hardly more than its prior about some coefficients. "
            f"{' '.join(said)} Do not interpret them.",
            _chosen(names, unknown),
            " ".join(helps),
        )
    noisy = (np.sqrt(sampling) < HALF * np.sqrt(total)) & ~unknown
    if noisy.any():
        yield Caution.about(
            "noise",
            f"The intervals of {_listed(titles, noisy)} are mostly privacy noise, more than "
            f"{1.0 / HALF:g} times as wide as sampling alone would make them.",
            _chosen(names, noisy),
            "More people or a larger epsilon would narrow them.",
        )


def against_life_table(ended: Ended, cause: int) -> Iterator[Caution]:
    """The bin in which the model is furthest from the released events, if far."""
    t = ended.transcript
    observed, expected = t.exits.values[:, cause + 1].sum(axis=0), ended.expected_events[cause]
    noise = t.exits.deviation**2 * t.design.strata
    spread = np.sqrt(noise + np.maximum(expected, 1.0))
    gap = np.abs(observed - expected)
    far = (gap > MISFIT * np.maximum(expected, observed)) & (gap > CLEAR * spread)
    if not far.any():
        return
    worst = int(np.argmax(np.where(far, gap / spread, 0.0)))
    axis = t.design.schema.time
    begin, end = (axis.grid.edges[t.edges[worst + side]] for side in (0, 1))
    yield Caution.about(
        "life-table",
        f"The model does not follow the life table: from time {begin:.4g} to "
        f"{with_unit(f'{end:.4g}', axis.counted_in)} it expects about {_whole(expected[worst])} events, "
        f"and {_whole(observed[worst])} were released (give or take {_whole(2 * spread[worst])}).",
        tuple(t.design.baseline_names),
        "Another baseline may fit better: more knots (natural-spline:5), log-time:3 where the "
        "hazard changes most at first, or shorter first intervals (`first` in [time]).",
    )


def few_in_strata(ended: Ended) -> Iterator[Caution]:
    """Strata whose exits may be noise."""
    design, hidden = ended.transcript.design, hidden_strata(ended.transcript)
    strata = design.schema.strata
    if strata is None or not hidden.any():
        return
    yield Caution.about(
        "stratum",
        f"Hardly anybody was counted in {strata.title} {_listed(strata.level_titles, hidden)}, at most "
        "as many as noise hides: what is printed of the baseline there is the prior, which is that of all "
        "strata together, and noise; do not interpret it.",
        _chosen(design.baseline_names, np.repeat(hidden, design.baseline.dimension)),
    )


def varying(ended: Ended, cause: int) -> Iterator[Caution]:
    """Effects whose change with time exceeds its noise."""
    found = effects_over_time(changes_with_time(ended, cause), ended.transcript.design.schema)
    clear = [one for one in found if one.stands_out]
    if clear:
        yield Caution.about(
            "varying",
            f"Effects that change with time: {'; '.join(map(_change, clear))}. The model has one number "
            "for each, an average over time that weighs early and late as events and privacy noise "
            "have it.",
            tuple(one.name for one in clear),
            "`discreet summary --proportionality` shows all of them; `changes_at` in the schema gives an "
            "effect a number for each period.",
        )


def _change(effect: EffectOverTime) -> str:
    kind = "fades" if abs(effect.late) < abs(effect.early) else "grows"
    if effect.early * effect.late <= 0.0:
        kind = "changes its sign"
    change = effect.late - effect.early
    return (
        f"{effect.title} {kind} with time (coefficient about {effect.early:.2g} at first, "
        f"{effect.late:.2g} at the end; they differ by {abs(change):.2g}, give or take "
        f"{abs(2.0 * change / effect.distance):.2g})"
    )


def tailed(field: Field) -> Iterator[Caution]:
    """Numbers of whose variance much is, or may be, far from everything else."""
    design, weights = field.transcript.design, field.members.weights
    x = field.members.columns
    squares = (x - np.einsum("m,mkc->c", weights, x) / x.shape[1]) ** 2
    variance = np.maximum(np.einsum("m,mkc->c", weights, squares), 1e-300) / x.shape[1]
    far = np.where(squares > WIDEST**2 * variance, squares, 0.0)
    parts = np.einsum("m,mkc->c", weights, far) / x.shape[1] / variance
    covariates, schema = design.covariates, design.schema
    own = np.isin(np.arange(len(parts)), covariates.leads) & covariates.numbers
    heavy = own & (np.maximum(parts, hidden_shares(field)) > HEAVY)
    titles = [term.title for term in schema.terms]
    if heavy.any():
        yield Caution.about(
            "tail",
            f"Much of the spread of {_listed(titles, heavy)} comes from few people "
            "far from all others, or noise may hide such people. A private fit cannot follow them as an exact one does: if the effect "
            "is not a straight line out there, estimates and intervals may be off.",
            _chosen(schema.coefficient_names, heavy[design.periods.column_of]),
            '`scale = "log"`, a spline or narrower bounds in the schema help.',
        )


def _chosen(names: Sequence[str], flags: Flags) -> tuple[str, ...]:
    return tuple(name for name, flag in zip(names, flags, strict=True) if flag)


def _listed(names: Sequence[str], flags: Flags) -> str:
    """At most six names."""
    chosen = _chosen(names, flags)
    shown = ", ".join(chosen[:6])
    return shown if len(chosen) <= 6 else f"{shown} and {len(chosen) - 6} more"


def _whole(value: float) -> str:
    return f"{max(value, 0.0):,.0f}"
