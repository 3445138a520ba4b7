"""A run looked at from its end: the model against the life table, and what not to believe.

Post-processing of released numbers; no record is seen here.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from discreet.design.design import Design
from discreet.design.grid import TimeGrid
from discreet.design.link import Link
from discreet.documents.caution import Caution
from discreet.mechanisms.newton.bound import HEAVY
from discreet.mechanisms.newton.foreseen import Expected
from discreet.mechanisms.newton.shape import tails_of
from discreet.mechanisms.newton.varying import NO_CHANGE, Change
from discreet.mechanisms.newton.warnings import (
    Counts,
    Estimate,
    HiddenStrata,
    cautions,
    few_in_strata,
    tailed,
    varying,
)
from discreet.types import Array

CHUNK = 1 << 12
"""Intervals at a time: a cohort of 256 stays within a few MiB."""


@dataclass(frozen=True)
class Ending:
    """The released numbers at the end of a run, in internal coordinates.

    `at_risk` is the released risk set by interval, with strata a row for each; `missing` the part of
    the covariance that was added along directions which the data do not reach; `prior` the covariance
    of the prior; `change` that of effects with time, no numbers where nothing was released of it.
    """

    design: Design
    link: Link
    point: Array
    people: Expected
    at_risk: Array
    counts: Counts
    covariance: Array
    sampling: Array
    prior: Array
    missing: Array
    strata: HiddenStrata | None = None
    change: Change = NO_CHANGE

    @property
    @np.errstate(all="ignore")
    def expected(self) -> Array:
        """The model's events in each stretch of the life table: numbers, whatever came before.

        The budget is spent by now: nothing here may stop a release.
        """
        point = np.nan_to_num(self.point, posinf=0.0, neginf=0.0)
        return np.nan_to_num(sum(self._expected_of(point), np.zeros(len(self.counts.rows))))

    def _expected_of(self, point: Array) -> Iterator[Array]:
        """The same of each stratum."""
        design, rows = self.design, self.counts.rows
        if design.strata == 1:
            hazard = mean_hazard(design, self.link, point, self.people)
            yield expected_events(hazard, self.at_risk, rows)
            return
        for number, at_risk in enumerate(self.at_risk):
            own, people = point[design.columns(number)], self.people.of_stratum(number)
            yield expected_events(mean_hazard(design, self.link, own, people), at_risk, rows)

    def calibration(self) -> Array:
        """Rows (first interval, last interval, released events, expected events, noise)."""
        rows = self.counts.rows
        noise = np.full(len(rows), self.counts.deviation)
        return np.column_stack([rows[:, :2], rows[:, 3], self.expected, noise])

    @np.errstate(all="ignore")
    def cautions(self) -> tuple[Caution, ...]:
        """What a reader should not believe."""
        design, turn = self.design, self.design.to_user
        parts = (self.covariance, self.sampling, self.prior, self.missing)
        covariance, sampling, prior, missing = (turn @ part @ turn.T for part in parts)
        names, titles = design.schema.coefficient_names, design.schema.coefficient_titles
        baseline = design.baseline_names
        user = (*baseline, *names), covariance, sampling, prior, missing
        estimate = Estimate(*user, titles=(*baseline, *titles))
        axis = design.schema.time
        edges, unit = TimeGrid.of(axis).edges, axis.counted_in
        empty = () if self.strata is None else tuple(few_in_strata(self.strata))
        told = cautions(self.counts, estimate, self.expected, edges, unit)
        tails, _ = tails_of(design, self.people.cohort, self.people.counts)
        far = tailed(names, tails, HEAVY, titles)
        return (*told, *empty, *self._varying(), *far)

    def _varying(self) -> Iterator[Caution]:
        """Effects that change with time; signs are the same in internal coordinates.

        Which way an effect goes is said where it is one column: not with splines or products.
        """
        if len(self.change.theta) == 0:
            return
        covariates, schema = self.design.covariates, self.design.schema
        effects = np.nan_to_num(self.point[self.design.time_dimension :])
        whole = np.ones(len(effects)) if len(covariates.leads) == len(effects) else 0.0
        told = schema.coefficient_titles
        yield from varying(schema.coefficient_names, effects * whole, self.change, told)


def expected_events(hazard: Array, at_risk: Array, rows: Array) -> Array:
    """The model's events in every stretch, from its mean hazard by interval among those at risk."""
    whole = np.concatenate([[0.0], np.cumsum(hazard * at_risk)])
    first, last = rows[:, 0].astype(np.int64), rows[:, 1].astype(np.int64)
    return np.asarray(whole[last] - whole[first - 1])


def mean_hazard(design: Design, link: Link, point: Array, people: Expected) -> Array:
    """By interval, over the members without an event so far: those at high risk leave first.

    A stretch's counts are of those who come into it, so everybody begins it alive. The point is
    (alpha, beta) of one baseline.
    """
    basis, time = design.basis, design.basis.shape[1]
    found = np.empty(len(basis))
    for stretch in range(people.cohort.shape[1]):
        alive = np.ones(len(people.cohort))
        level = people.cohort[:, stretch] @ point[time:]
        for start in range(int(people.edges[stretch]), int(people.edges[stretch + 1]), CHUNK):
            part = slice(start, min(start + CHUNK, int(people.edges[stretch + 1])))
            hazard = link.hazard(np.clip(level[:, None] + basis[part] @ point[:time], -700, 700))
            left = alive[:, None] * np.cumprod(1.0 - hazard, axis=1)
            before = np.hstack([alive[:, None], left[:, :-1]]) * people.counts[:, [stretch]]
            if people.remaining is not None:
                before = before * people.remaining[:, part]
            found[part] = (before * hazard).sum(axis=0) / np.maximum(before.sum(axis=0), 1e-300)
            alive = left[:, -1]
    return found
