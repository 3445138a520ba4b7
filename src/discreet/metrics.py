"""Scores of predictions: concordance, Brier score, log-likelihood, calibration.

The functions of a model and data read the data by the same rules as a fit.  They look at the
records, so their results are not private.

Harrell's concordance index takes O(n log n).

References: Harrell, Lee and Mark (1996); Graf, Schmoor, Sauerbrei and Schumacher (1999).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.design.link import get_link
from discreet.design.schema import Schema
from discreet.documents.causes import Fitted
from discreet.documents.model import Model
from discreet.engine.local import LocalEngine
from discreet.errors import DataFormError, SettingsError
from discreet.likelihood.problem import Problem
from discreet.people.encode import encode, read_levels, repair_spells, to_episodes
from discreet.people.tables import read_table
from discreet.results.tables import TextTable
from discreet.types import Array, Flags, Integers

__all__ = [
    "CalibrationTable",
    "brier_score",
    "calibration",
    "concordance",
    "concordance_index",
    "integrated_brier_score",
    "log_likelihood",
]


def concordance_index(
    event: ArrayLike, time: ArrayLike, risk: ArrayLike, entry: ArrayLike | None = None
) -> float:
    """P(higher risk has the event first) over comparable pairs; ties in risk count one half.

    A pair is comparable if one has the event while the other is still under observation: a later
    time, or the same time without an event; with ``entry``, who entered at or after the event's time
    is not compared.  One half where no pair is comparable.
    """
    events = np.asarray(event, dtype=np.bool_)
    times, risks = np.asarray(time, dtype=np.float64), np.asarray(risk, dtype=np.float64)
    if not events.shape == times.shape == risks.shape or events.ndim != 1:
        raise DataFormError("event, time and risk must be one-dimensional and of one length.")
    # order of leaving: by time, events before the censored of the same time
    key = np.lexsort((~events, times))
    new = (np.diff(times[key]) != 0) | (np.diff(events[key].astype(np.int8)) != 0)
    left = np.empty(len(times), dtype=np.int64)
    left[key] = np.concatenate([[0], np.cumsum(new)])[: len(times)]
    counts = _count(left, risks, left[events], risks[events]) if len(times) else np.zeros(3)
    if entry is not None:
        # less the pairs in which the other one entered at or after the event, not at the origin
        entries = np.asarray(entry, dtype=np.float64)
        late = entries > 0
        both = np.concatenate([entries[late], times[events]])
        order = np.unique(both, return_inverse=True)[1]
        entered, happened = order[: int(late.sum())], order[int(late.sum()) :]
        counts = counts - _count(entered, risks[late], happened - 1, risks[events])
    lower, tied, total = counts
    return float((lower + 0.5 * tied) / total) if total else 0.5


def _count(position: Integers, risks: Array, asked: Integers, asked_risks: Array) -> Array:
    """(lower risk, same risk, all) over questions: items with position > asked."""
    distinct, ranks = np.unique(np.concatenate([risks, asked_risks]), return_inverse=True)
    own, wanted = ranks[: len(risks)], ranks[len(risks) :]
    below = up_to = _dominance(position, own, asked, wanted)
    if len(distinct) < len(risks):
        up_to = _dominance(position, own, asked, wanted + 1)
    ordered = np.sort(position)
    total = len(ordered) - np.searchsorted(ordered, asked, side="right")
    return np.array([below, up_to - below, total.sum()], dtype=np.float64)


def _dominance(position: Integers, rank: Integers, asked: Integers, limit: Integers) -> int:
    """Number of (item, question) with position > asked and rank < limit.

    Items and questions in one sequence by falling position; then one pass for each binary digit
    of the rank: among those that agree in all higher digits, an item with digit 0 lies below a
    later question with digit 1.  Every pass is a sort of integers: O(n log n) in vector steps.
    """
    is_item = np.arange(len(position) + len(asked)) < len(position)
    # at equal positions questions come first: the item must lie strictly later
    order = np.lexsort((is_item, -np.concatenate([position, asked])))
    value, is_item = np.concatenate([rank, limit])[order], is_item[order]
    bits, found = len(value).bit_length(), 0
    for digit in range(int(value.max(initial=0)).bit_length()):
        # sorting (group, place) as one integer keeps the sequence within a group
        keys = np.sort(((value >> (digit + 1)) << bits) | np.arange(len(value)))
        place, group = keys & ((1 << bits) - 1), keys >> bits
        low, item = ((value >> digit) & 1 == 0)[place], is_item[place]
        before = np.cumsum(low & item)
        head = np.append(True, group[1:] != group[:-1])
        start = np.maximum.accumulate(np.where(head, before - (low & item), 0))
        found += int(np.sum((before - start)[~low & ~item]))
    return found


@dataclass(frozen=True)
class Observed:
    """People with one row each: times, events, entries and covariates, repaired."""

    time: Array
    event: Flags
    entry: Array | None
    encoded: Array
    stratum: NDArray[np.int16] | None


def concordance(model: Any, data: Any, outcome: Any = None) -> float:
    """Harrell's C: how often, of two people, the one at higher risk has the event first.

    With competing risks an event is that of any cause; of one cause ask ``model.of_cause(cause)``.
    With one row a person exact times are compared; with several rows a person (time-varying
    covariates) or effects that change, the people at risk in the interval of each event, by their
    covariates and effects then.
    """
    fitted = _document(model)
    periods = fitted.design.periods
    observed = _observed(data, fitted.public_schema, outcome) if periods.number == 1 else None
    if observed is not None:
        (risk,) = fitted.curves.risks(observed.encoded).T
        return concordance_index(observed.event, observed.time, risk, observed.entry)
    episodes = to_episodes(data, fitted.public_schema, outcome)
    risks, exits = fitted.curves.risks(episodes.covariates), episodes.exit
    parts = []
    for period, (first, last) in enumerate(pairwise(periods.ends)):
        rows = np.flatnonzero((episodes.entry < last) & (exits > first))
        event = episodes.event[rows] & (exits[rows] <= last)
        times, entries = np.minimum(exits[rows], last), np.maximum(episodes.entry[rows], first)
        parts.append((event, times.astype(float), risks[rows, period], entries.astype(float)))
    return concordance_index(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def log_likelihood(model: Any, data: Any, outcome: Any = None) -> float:
    """The log-likelihood of the data, on the model's time grid."""
    fitted = _document(model)
    episodes = to_episodes(data, fitted.public_schema, outcome)
    if isinstance(fitted, Model):
        total = Problem(LocalEngine(episodes), fitted.design, get_link(fitted.link))
        return -total(fitted.internal.vector).value
    # log P(no event) in every interval at risk; an event of a cause has its odds on top
    curves, encoded, rows = fitted.curves, episodes.covariates, np.arange(episodes.rows)
    losses = np.cumsum(curves.losses(encoded, len(curves.grid.edges) - 1), axis=1)
    total_at = np.column_stack([np.zeros(len(losses)), losses])
    found = total_at[rows, episodes.entry] - total_at[rows, episodes.exit]
    for cause in range(len(fitted.causes)):
        ends = np.flatnonzero(episodes.cause == cause + 1)
        odds = curves.odds(encoded[ends], cause)
        found[ends] += np.log(odds[np.arange(len(ends)), episodes.exit[ends] - 1])
    return float(found.sum())


def brier_score(
    model: Any, data: Any, times: ArrayLike, outcome: Any = None, *, reference: Any = None
) -> Array:
    """The mean squared error of S(u) at each time, weighted for censoring.

        BS(u) = mean of S(u)^2 [event by u] / G(t) + (1 - S(u))^2 [alive after u] / G(u)

    G is the Kaplan-Meier estimate of not being censored, from ``reference`` (the training data)
    or the data themselves.  One row a person, no late entry.
    """
    fitted = _document(model)
    observed = _single(data, fitted.public_schema, outcome)
    source = observed if reference is None else _single(reference, fitted.public_schema, None)
    wanted = fitted.curves.checked_times(times)
    survival = fitted.curves.survival(observed.encoded, wanted, observed.stratum)
    censoring = KaplanMeier.of(source.time, source.event, censoring=True)
    by_then = (observed.time[:, None] <= wanted) & observed.event[:, None]
    after = observed.time[:, None] > wanted
    dead = survival**2 * by_then * _weights(censoring(observed.time))[:, None]
    alive = (1.0 - survival) ** 2 * after * _weights(censoring(wanted))
    return np.asarray((dead + alive).mean(axis=0))


def integrated_brier_score(
    model: Any,
    data: Any,
    times: ArrayLike | None = None,
    outcome: Any = None,
    *,
    reference: Any = None,
) -> float:
    """The Brier score averaged over time (trapezoids); smaller is better.

    Without times: 100 points from the 5th to the 95th percentile of the observed times.
    """
    if times is None:
        observed = _single(data, _document(model).public_schema, outcome)
        first, last = np.quantile(observed.time, (0.05, 0.95))
        times = np.linspace(float(first), float(last), 100)
    wanted = np.asarray(times, dtype=np.float64)
    if wanted.ndim != 1 or len(wanted) < 2 or np.any(np.diff(wanted) <= 0):
        raise SettingsError("integrating needs at least two times in ascending order.")
    scores = brier_score(model, data, wanted, outcome, reference=reference)
    return float(np.trapezoid(scores, wanted) / (wanted[-1] - wanted[0]))


@dataclass(frozen=True, eq=False, repr=False)
class CalibrationTable(TextTable):
    """Groups of people by predicted survival at one time: predicted against Kaplan-Meier."""

    time: float
    persons: NDArray[np.int64]
    predicted: Array
    observed: Array
    standard_error: Array

    def columns(self) -> dict[str, Array | Sequence[object]]:
        """Groups from 1, the lowest predicted survival first."""
        return {
            "group": list(range(1, len(self.persons) + 1)),
            "persons": self.persons.tolist(),
            "predicted": self.predicted,
            "observed": self.observed,
            "standard error": self.standard_error,
        }

    @property
    def heading(self) -> tuple[str, ...]:  # type: ignore[override]  # a property here
        """The time."""
        return (f"Survival at {self.time:g}",)

    def rows(self) -> Iterator[tuple[str, ...]]:
        """Cells as text, the heading first."""
        columns = self.columns()
        yield tuple(columns)
        for group, count, *values in zip(*columns.values(), strict=True):
            yield (str(group), f"{count:,}", *(f"{value:.4f}" for value in values))


def calibration(
    model: Any, data: Any, time: float, outcome: Any = None, *, groups: int = 10
) -> CalibrationTable:
    """Compare predicted and observed survival at a time, in groups of equal size."""
    fitted = _document(model)
    observed = _single(data, fitted.public_schema, outcome)
    if groups < 1:
        raise SettingsError("groups must be a whole number of at least 1.")
    survival = fitted.curves.survival(observed.encoded, [time], observed.stratum)[:, 0]
    parts = [
        part for part in np.array_split(np.argsort(survival, kind="stable"), groups) if len(part)
    ]
    curves = [KaplanMeier.of(observed.time[part], observed.event[part]) for part in parts]
    point = np.array([time], dtype=np.float64)
    return CalibrationTable(
        time=float(time),
        persons=np.array([len(part) for part in parts]),
        predicted=np.array([survival[part].mean() for part in parts]),
        observed=np.array([curve(point)[0] for curve in curves]),
        standard_error=np.array([curve.standard_error(point)[0] for curve in curves]),
    )


@dataclass(frozen=True, eq=False)
class KaplanMeier:
    """The product-limit estimate, right-continuous."""

    times: Array
    values: Array
    variances: Array

    @classmethod
    def of(cls, time: Array, event: Flags, *, censoring: bool = False) -> "KaplanMeier":
        """S(t) = prod over times of 1 - d/r; Greenwood's variance sum d / (r (r - d)).

        With ``censoring`` that of not being censored: who has an event then is gone already.
        """
        times, place = np.unique(time, return_inverse=True)
        died = np.bincount(place, event, len(times))
        leaving = np.bincount(place, minlength=len(times))
        at_risk = len(time) - np.cumsum(leaving) + leaving
        if censoring:
            at_risk, died = np.maximum(at_risk - died, 1.0), leaving - died
        left = at_risk - died
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = np.where(left > 0, died / (at_risk * left), 0.0)
        return cls(times, np.cumprod(left / at_risk, dtype=np.float64), np.cumsum(terms))

    def __call__(self, points: Array) -> Array:
        return np.append(1.0, self.values)[self._index(points)]

    def standard_error(self, points: Array) -> Array:
        """Greenwood's standard error at each point."""
        spread = np.sqrt(np.append(0.0, self.variances)[self._index(points)])
        return np.asarray(self(points) * spread)

    def _index(self, points: Array) -> NDArray[np.int64]:
        return np.searchsorted(self.times, points, side="right")


def _document(model: Any) -> Fitted:
    """The document of an estimator, or the document itself."""
    if isinstance(model, Fitted):
        return model
    return cast("Fitted", model._model)  # noqa: SLF001 - the estimator's own model


def _observed(data: Any, schema: Schema, outcome: Any) -> Observed | None:
    """People with one row each; None where a person has several."""
    table = read_table(data, schema, outcome)
    if schema.person is not None and table.ids(schema.person).codes()[1] < table.rows:
        return None
    spells = repair_spells(table, schema)
    rows = np.flatnonzero(spells.timed & (spells.stop >= schema.time.zero))
    return Observed(
        np.minimum(spells.stop[rows], schema.time.horizon),
        spells.event[rows],
        None if spells.start is None else spells.start[rows],
        encode(table, schema, rows),
        None
        if schema.strata is None
        else read_levels(table.column(schema.strata.name), schema.strata)[rows],
    )


def _single(data: Any, schema: Schema, outcome: Any) -> Observed:
    observed = _observed(data, schema, outcome)
    if observed is None or (
        observed.entry is not None and np.any(observed.entry > schema.time.zero)
    ):
        raise SettingsError("this score needs one row a person and no late entries.")
    return observed


def _weights(probabilities: Array) -> Array:
    """1 / G; 0 where G is 0, since no person could be observed then."""
    safe = np.where(probabilities > 0, probabilities, 1.0)
    return np.asarray(np.where(probabilities > 0, 1.0 / safe, 0.0))
