"""A lower bound on epsilon from outcomes alone: fits of two tables through the public estimator.

One person, one coefficient (of the first stratum or cause), entropy of the operating system.
Half-lines S are chosen on a third of the fits; on the rest  log (low(P(S)) - delta) / high(P'(S))
with Clopper and Pearson's bounds is above the true epsilon with probability at most 1e-6.

A public fit of private Newton spends up to two thirds of its time on a covariance and cautions, which
are made of released numbers.  `Effort.bare` leaves these out: the same plan and people, and the same
code from the first release to the last (`PrivateNewton.bare_draw`, of which `draw` tells more).
"""

import math
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from scipy import stats

from discreet.audit.findings import FALSE_ALARM, Effort, Finding, Subject, judged, not_applicable
from discreet.audit.orders import causes_of, order_of, published
from discreet.design.schema import Schema
from discreet.documents.causes import CausesRelease
from discreet.likelihood.problem import Problem
from discreet.mechanisms.newton.mechanism import PrivateNewton
from discreet.mechanisms.perturbation import PerturbationSettings
from discreet.people.source import People
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.noise import SystemNoise
from discreet.release import Order
from discreet.types import Array

FAMILY = "end to end"
TAILS = np.linspace(0.02, 0.98, 49)

TIME = {"duration": "t", "event": "e", "horizon": 5.0, "intervals": 5}
ALIVE, DEAD = (5.0, 0), (0.5, 1)
SIDES = (ALIVE, DEAD)


class HalfLine(NamedTuple):
    """Outcomes on one side of a cut, as likely as possible under the one or the other table."""

    cut: float
    side: int
    swapped: bool


def check_end_to_end(subject: Subject, effort: Effort) -> list[Finding]:
    """Alive to the end against dead at once, in a table of one person."""
    fits = fits_of(subject, effort)
    first, second = (outcomes(subject, row, fits, bare=effort.bare) for row in SIDES)
    return told(subject, (first, second), bare=effort.bare)


def fits_of(subject: Subject, effort: Effort) -> int:
    """How many of each table; fewer where a fit is slow."""
    return effort.fits if issubclass(subject.kind, PerturbationSettings) else effort.slow_fits


def told(subject: Subject, sides: tuple[Array, Array], *, bare: bool = False) -> list[Finding]:
    """What the outcomes of both tables show."""
    bare = bare and issubclass(subject.kind, PrivateNewton)
    kind = "draws of the mechanism alone" if bare else "public fits"
    note = f"{len(sides[0])} {kind} a side, one person, one coefficient"
    claim = one_person(subject).promise
    return [shown(FAMILY, "lower bound on epsilon", sides, claim, note)]


def one_person(subject: Subject) -> Order:
    """A release of one person, without covariates."""
    mapping: dict[str, Any] = {"time": dict(TIME)}
    if subject.causes > 1:
        mapping["time"]["causes"] = causes_of(subject)
    if subject.strata > 1:
        levels = [f"s{number}" for number in range(subject.strata)]
        mapping["strata"] = {"name": "s", "levels": levels}
    return order_of(subject, Schema.from_mapping(mapping), "natural-spline:1", persons=1)


def shown(
    family: str, check: str, sides: tuple[Array, Array], claim: Guarantee, note: str
) -> Finding:
    """The bound against the claim; too few outcomes to contradict the claim are no check."""
    runs = len(sides[0]) - len(sides[0]) // 3
    most = _bound(runs, 0, runs, claim.delta)
    if most <= claim.epsilon:
        return not_applicable(family, check, f"{note}: too few to show more than {most:.2g}")
    found = shown_epsilon(*sides, claim.delta)
    return judged(
        family,
        check,
        f"at most {claim.epsilon:g}",
        f"{found:.3g}",
        sound=found <= claim.epsilon,
        note=f"{note}; could show {most:.2g}, false alarm 1e-6",
        numbers={"claimed": claim.epsilon, "measured": found, "could_show": most},
    )


def outcomes(subject: Subject, row: tuple[float, int], fits: int, *, bare: bool = False) -> Array:
    """The released coefficient of as many fits of a table of one person."""
    people, order = pa.table({"t": [row[0]], "e": [row[1]], "s": ["s0"]}), one_person(subject)
    if bare and isinstance(order.mechanism, PrivateNewton):
        return drawn(order.mechanism, order, People.of(people), fits)
    return np.array([_first(published(order, people)) for _ in range(fits)])


def drawn(mechanism: PrivateNewton, order: Order, people: People, fits: int) -> Array:
    """The same without what a release tells beside its numbers: the draw's first coefficient."""
    plan = order.plan(1)
    problem = Problem(people.open(order.schema), order.design, order.link)
    return np.array(
        [mechanism.bare_draw(plan, problem, SystemNoise()).point[0] for _ in range(fits)]
    )


def _first(release: Any) -> float:
    """The first coefficient of the baseline, of the first cause if there are several."""
    internal = release.internal
    if isinstance(release, CausesRelease):
        internal = next(iter(release.internal.values()))
    return float(internal.baseline[0])


def shown_epsilon(first: Array, second: Array, delta: float = 0.0) -> float:
    """The lower confidence bound; it is not above the true epsilon but with chance 1e-6."""
    third = len(first) // 3
    chosen = _choose(first[:third], second[:third], len(first) - third)
    one, other = (second, first) if chosen.swapped else (first, second)
    hits, others = (_hits(side[third:], chosen) for side in (one, other))
    return _bound(hits, others, len(first) - third, delta)


def _choose(first: Array, second: Array, runs: int) -> HalfLine:
    """The half-line whose bound would be best, were the rest of the fits like these."""
    cuts = np.quantile(np.concatenate([first, second]), TAILS)
    lines = [
        HalfLine(float(cut), side, swapped)
        for cut in cuts for side in (1, -1) for swapped in (False, True)
    ]  # fmt: skip
    scale = runs / len(first)

    def promise(line: HalfLine) -> float:
        one, other = (second, first) if line.swapped else (first, second)
        return _bound(round(scale * _hits(one, line)), round(scale * _hits(other, line)), runs, 0.0)

    return max(lines, key=promise)


def _hits(outcomes: Array, line: HalfLine) -> int:
    return int(np.count_nonzero(line.side * outcomes > line.side * line.cut))


def _bound(hits: int, others: int, runs: int, delta: float) -> float:
    """log (low - delta) / high, each bound at half the false-alarm rate."""
    level = FALSE_ALARM / 2
    low = float(stats.beta.ppf(level, hits, runs - hits + 1)) if hits else 0.0
    high = float(stats.beta.ppf(1 - level, others + 1, runs - others)) if others < runs else 1.0
    return max(math.log((low - delta) / high), 0.0) if low > delta else 0.0
