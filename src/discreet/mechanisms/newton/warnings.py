"""When a release should not be believed, from its own numbers: post-processing alone.

Everything here is a function of released counts with known noise, of the estimate with its
covariance, and of public facts (n, the prior, the time grid). So a caution costs no budget, and
whoever reads the release could compute it again.

    at-risk      hardly anybody at risk: exits fall short of the number of persons
    events       few events for so many coefficients
    unreached    directions that the data do not reach: the prior speaks
    noise        intervals that are privacy noise
    stratum      strata in which hardly anybody was counted: the prior speaks
    life-table   the model's expected events against the released ones
    varying      effects that change with time, where a mechanism released them
    tail         numbers much of whose spread is that of few people far away
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.documents.caution import Caution
from discreet.mechanisms.newton.varying import Change
from discreet.text import with_unit
from discreet.types import Array, Flags

UNREACHED = "unreached"

EXITS_DUE = 0.95
"""Everybody at risk leaves once, by an event or by censoring; a twentieth may be missing."""
EVENTS_PER_COEFFICIENT = 10.0
"""Below this many events per coefficient maximum likelihood itself is a poor guide (Peduzzi 1996)."""
CLEAR = 3.0
"""Standard deviations of noise that a number must exceed to be taken for one."""
CLEARLY = 3.5
"""The same of the moment that shows a change of an effect: every covariate has one, and the largest of
ten that are noise alone exceeds it once in two hundred releases."""
MISSING = 0.5
"""A coefficient of whose variance more than this part comes from unreached directions is flagged."""
LEARNED = 0.5
"""A standard deviation above this part of the prior's: the data have hardly spoken."""
DOMINATED = 2.5
"""Private over sampling standard error from which an interval is called privacy noise."""
MISFIT = 0.15
"""How far expected events may be from released ones, as a share, without a word."""


@dataclass(frozen=True)
class Counts:
    """Released exits: rows (first interval, last, censored, events[, entered]) and their noise."""

    rows: Array
    deviation: float
    persons: int

    @property
    def exits(self) -> float:
        """How many people left, so how many were ever at risk."""
        return float(self.rows[:, 2:4].sum())

    @property
    def events(self) -> float:
        """How many left by an event."""
        return float(self.rows[:, 3].sum())

    def noise_of(self, cells: int) -> float:
        """Standard deviation of the noise in a sum of so many counts."""
        return self.deviation * math.sqrt(cells)


@dataclass(frozen=True)
class HiddenStrata:
    """Which strata have released exits that are not told from noise.

    `coefficients` are the names of the baselines', stratum after stratum.
    """

    name: str
    levels: tuple[str, ...]
    coefficients: tuple[str, ...]
    hidden: Flags


@dataclass(frozen=True)
class Estimate:
    """Covariances on the user's scale: of the estimate, of its sampling alone, and of the prior.

    `missing` is the part of the first that was added along directions which the data do not reach.
    Sentences call coefficients by their `titles`, as tables and pages do, or else by their names.
    """

    names: tuple[str, ...]
    covariance: Array
    sampling: Array
    prior: Array
    missing: Array
    titles: tuple[str, ...] = ()

    def told(self, flags: Flags) -> str:
        """The flagged coefficients in words."""
        return _listed(_chosen(self.titles or self.names, flags))

    @property
    def reached(self) -> Flags:
        """Whether the data speak: neither an unreached direction nor the prior is most of it."""
        total = np.maximum(np.diag(self.covariance), 1e-300)
        prior = np.maximum(np.diag(self.prior), 1e-300)
        return np.asarray(~self.absent & (np.sqrt(total / prior) <= LEARNED))

    @property
    def absent(self) -> Flags:
        """Whether most of the variance was added along directions that the data do not reach."""
        total = np.maximum(np.diag(self.covariance), 1e-300)
        return np.asarray(np.diag(self.missing) / total > MISSING)

    @property
    def noisiness(self) -> Array:
        """Private standard error over that of sampling alone."""
        ratio = np.diag(self.covariance) / np.maximum(np.diag(self.sampling), 1e-300)
        return np.asarray(np.sqrt(np.maximum(ratio, 0.0)))


def cautions(
    counts: Counts, estimate: Estimate, expected: Array, times: Array, unit: str | None = None
) -> tuple[Caution, ...]:
    """Everything that a reader should know before believing the numbers.

    `expected` has the model's events in each row of the counts, `times` the edges of the grid in the
    unit.
    """
    return (
        *few_at_risk(counts),
        *few_events(counts, len(estimate.names)),
        *unreached(estimate),
        *dominated(estimate),
        *against_life_table(counts, expected, times, unit),
    )


def few_at_risk(counts: Counts) -> Iterator[Caution]:
    """Exits fall short of n by more than their noise."""
    noise = counts.noise_of(2 * len(counts.rows))
    if counts.exits + CLEAR * noise >= EXITS_DUE * counts.persons:
        return
    yield Caution.about(
        "at-risk",
        f"Only about {_whole(counts.exits)} of {counts.persons:,} persons were ever at risk (give "
        f"or take {_whole(2 * noise)}): durations that are missing or not numbers, or entries "
        "after the exit. The model describes those few.",
    )


def few_in_strata(strata: HiddenStrata) -> Iterator[Caution]:
    """Strata in which hardly anybody was counted."""
    flagged = _chosen(strata.levels, strata.hidden)
    each = len(strata.coefficients) // len(strata.levels)
    if flagged:
        yield Caution.about(
            "stratum",
            f"Hardly anybody was counted in {strata.name} {_listed(flagged)}, at most as many as "
            "noise hides: what is printed of the baseline there is that of all strata together, "
            "assumed beforehand, and noise; do not interpret it.",
            _chosen(strata.coefficients, np.repeat(strata.hidden, each)),
        )


def few_events(counts: Counts, coefficients: int) -> Iterator[Caution]:
    """Too few events for the coefficients, or not clearly more than noise."""
    noise = counts.noise_of(len(counts.rows))
    if counts.events >= max(EVENTS_PER_COEFFICIENT * coefficients, CLEAR * noise):
        return
    yield Caution.about(
        "events",
        f"About {_whole(counts.events)} events were released (give or take {_whole(2 * noise)}) "
        f"for {coefficients} coefficients: too few to say much about any of them.",
    )


def unreached(estimate: Estimate) -> Iterator[Caution]:
    """Coefficients of which the release knows hardly more than the prior."""
    unknown = ~estimate.reached
    flagged = _chosen(estimate.names, unknown)
    if not flagged:
        return
    time = np.array([name.startswith("baseline[") for name in estimate.names])
    causes = (
        (
            unknown & time,
            "too few events in part of the time; fewer knots, wider intervals or a shorter horizon help",
        ),
        (
            unknown & ~time & estimate.absent,
            (
                "few people have these values, columns repeat each other, or bounds are far too wide; "
                "join small levels, drop a column that repeats another, or narrow the bounds"
            ),
        ),
        (
            unknown & ~time & ~estimate.absent,
            "privacy noise hides them; a larger epsilon, more people or fewer covariates help",
        ),
    )
    said = (f"{estimate.told(flags)}: {text}." for flags, text in causes if flags.any())
    yield Caution.about(
        UNREACHED,
        f"The release knows hardly more than its prior about some coefficients. {' '.join(said)} Do not "
        "interpret them.",
        flagged,
    )


def dominated(estimate: Estimate) -> Iterator[Caution]:
    """Coefficients whose interval is wider for privacy than for sampling."""
    noisy = (estimate.noisiness > DOMINATED) & estimate.reached
    flagged = _chosen(estimate.names, noisy)
    if flagged:
        yield Caution.about(
            "noise",
            f"The intervals of {estimate.told(noisy)} are mostly privacy noise, more than "
            f"{DOMINATED:g} times as wide as sampling alone would make them. More people or a "
            "larger epsilon would narrow them.",
            flagged,
        )


def against_life_table(
    counts: Counts, expected: Array, times: Array, unit: str | None = None
) -> Iterator[Caution]:
    """The stretch of time in which the model is furthest from the released events, if far."""
    observed = counts.rows[:, 3]
    spread = np.sqrt(counts.deviation**2 + np.maximum(expected, 1.0))
    gap = np.abs(observed - expected)
    far = (gap > MISFIT * np.maximum(expected, observed)) & (gap > (CLEAR + 1.0) * spread)
    if not far.any():
        return
    worst = int(np.argmax(np.where(far, gap / spread, 0.0)))
    first, last = (int(value) for value in counts.rows[worst, :2])
    yield Caution.about(
        "life-table",
        f"The model does not follow the life table: from time {times[first - 1]:.4g} to "
        f"{with_unit(f'{times[last]:.4g}', unit)} it expects about {_whole(expected[worst])} events, "
        f"and {_whole(observed[worst])} were released (give or take {_whole(2 * spread[worst])}). "
        "Another baseline may fit better: more knots (natural-spline:5), log-time:3 where the "
        "hazard changes most at first, or shorter first intervals (`first` in [time]).",
    )


def varying(
    names: Sequence[str], effects: Array, change: Change, titles: Sequence[str] = ()
) -> Iterator[Caution]:
    """Effects whose change over time, where it was released, exceeds its noise.

    `effects` are the estimates, averages over time, and 0 where an effect is no single number.
    """
    clear = (np.abs(change.theta) > CLEAR * change.deviation) & (change.distance > CLEARLY)
    flagged = _chosen(names, clear)
    if flagged:
        trends = np.sign(effects * change.theta)[clear]
        pairs = zip(_chosen(titles or names, clear), trends, strict=True)
        told = [f"{title}{_trend(sign)}" for title, sign in pairs]
        yield Caution.about(
            "varying",
            f"Effects that seem to change with time: {_listed(told)}. The model takes every effect "
            "for constant; what is printed of these is an average over time.",
            flagged,
        )


def tailed(
    names: Sequence[str], parts: Array, heavy: float, titles: Sequence[str] = ()
) -> Iterator[Caution]:
    """Numbers of whose variance more than a part is far from everybody else."""
    flagged, told = (_chosen(one, parts > heavy) for one in (names, titles or names))
    if flagged:
        yield Caution.about(
            "tail",
            f"Much of the spread of {_listed(told)} comes from few people far from all others. "
            "A private fit cannot follow them as an exact one does: if the effect is not a straight "
            'line out there, estimates and intervals may be off. `scale = "log"`, a spline or '
            "narrower bounds in the schema help.",
            flagged,
        )


def _trend(sign: float) -> str:
    """What an effect does whose change has the sign of its average, or the other one."""
    return "" if sign == 0.0 else " (grows)" if sign > 0.0 else " (fades)"


def _chosen(names: Sequence[str], flags: Flags) -> tuple[str, ...]:
    return tuple(name for name, flag in zip(names, flags, strict=True) if flag)


def _listed(names: Sequence[str]) -> str:
    """At most six names."""
    shown = ", ".join(names[:6])
    return shown if len(names) <= 6 else f"{shown} and {len(names) - 6} more"


def _whole(value: float) -> str:
    return f"{max(value, 0.0):,.0f}"
