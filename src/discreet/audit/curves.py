"""The audit of curves by group: one vector of noisy sums, docs/proofs/group-curves.md.

Counts are by group, time and outcome, so tables have one cause or two, and late entry or none.
Everything but the sums is computed from them, so most checks draw the sums alone (`drawn`).
"""

import math
from fractions import Fraction
from functools import partial
from itertools import product
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from discreet.audit import end_to_end, lattice, law, neighbours, pages, refusals, replay, witness
from discreet.audit.findings import Effort, Finding, Subject, at_most, judged
from discreet.audit.noise import GAUSSIAN, L1, ROUNDED, KnownNoise, privacy_loss
from discreet.curves import CurvesOrder
from discreet.design.groups import Groups
from discreet.design.schema import Schema
from discreet.mechanisms.contract import Draw
from discreet.mechanisms.group_counts import GroupCounts
from discreet.people.source import People
from discreet.privacy.accountant import epsilon_of
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.noise import NoiseSource, SystemNoise
from discreet.release import draw_from

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Row = tuple[float, float, float, str, str]
NAMES = ("s", "t", "e", "arm", "sex")
"""Entry, exit, event and two covariates with levels."""

LEVELS = {"arm": ["a", "b", "c"], "sex": ["f", "m"]}
TIGHT = 1e-6
"""Scales of Gaussian noise are rounded up by less than this share."""
CAUSES = 2
KINDS = tuple(product((False, True), (1, CAUSES)))
"""Late entry or none, one kind of event or several."""
CROWD: tuple[Row, ...] = (
    (0.0, 1.5, 1, "a", "f"),
    (0.0, 11.0, 0, "b", "m"),
    (2.0, 30.0, 0, "c", "f"),
    (0.0, 5.0, 2, "a", "m"),
)
AT_ONCE: tuple[Row, Row] = ((0.0, 0.1, 0, "b", "f"), (0.0, 0.1, 0, "a", "f"))
"""The worst pair: censored in the first stretch, in two groups."""
HOSTILE: tuple[Row, ...] = (
    *AT_ONCE,
    (0.0, 0.1, 1, "c", "m"),
    (11.9, 12.0, 1, "a", "f"),
    (0.0, 1e308, 0, "nobody", ""),
    (math.nan, math.nan, math.nan, "", "m"),
    (-1e308, math.inf, 7, "b", "nobody"),
    (12.0, 3.0, 1, "c", "f"),
    (5e-324, 12.0, 2, "b", "m"),
)


def order_of(subject: Subject, *, late: bool = False, causes: int = 1) -> CurvesOrder:
    """Curves by two covariates on twelve intervals."""
    time: dict[str, Any] = {"duration": "t", "event": "e", "horizon": 12.0, "intervals": 12}
    if late:
        time["entry"] = "s"
    if causes > 1:
        time["causes"] = {f"cause{number}": [number] for number in range(1, causes + 1)}
    covariates = [{"name": name, "levels": levels} for name, levels in LEVELS.items()]
    schema = Schema.from_mapping({"time": time, "covariate": covariates})
    return CurvesOrder(GroupCounts(subject.epsilon, subject.delta), Groups(schema, tuple(LEVELS)))


def table(*rows: Row) -> pa.Table:
    """The rows as a table."""
    return pa.table(dict(zip(NAMES, map(list, zip(*rows, strict=True)), strict=True)))


def tables() -> list[pa.Table]:
    """The crowd, and those in which a hostile row replaces the first person."""
    return [table(*CROWD), *(table(row, *CROWD[1:]) for row in HOSTILE)]


def drawn(order: CurvesOrder, people: pa.Table, noise: NoiseSource) -> Draw:
    """The sums of a release, without the curves that are computed from them."""
    return draw_from(order, order.plan(people.num_rows), People.of(people), noise)


def claim(order: CurvesOrder, persons: int) -> Guarantee:
    """What is promised of so many persons."""
    return order.mechanism.promise(persons)


def check_witness(subject: Subject, _: Effort) -> list[Finding]:
    """The worst pair spends the whole promise, and not more."""
    return [_worst_pair(order_of(subject, late=late), late=late) for late in (False, True)]


def _worst_pair(order: CurvesOrder, *, late: bool) -> Finding:
    first, second = KnownNoise(), KnownNoise()
    for row, noise in zip(AT_ONCE, (first, second), strict=True):
        drawn(order, table(row, *CROWD), noise)
    promised = claim(order, 1 + len(CROWD))
    spent, concentrated = privacy_loss(first, second)
    claimed = promised.epsilon if promised.rho is None else promised.rho
    measured = spent if promised.rho is None else concentrated
    laws = {call.law for call in first.calls} == {L1 if promised.rho is None else GAUSSIAN}
    return judged(
        witness.FAMILY,
        "tight witness" + (", late entry" if late else ""),
        f"{claimed:.10g}",
        f"{measured:.10g}",
        sound=laws and claimed * (1 - TIGHT) <= measured <= claimed * (1 + 1e-12),
        note="censored in the first stretch, in one group or in another",
        numbers={"claimed": claimed, "measured": measured},
    )


def check_constants(subject: Subject, _: Effort) -> list[Finding]:
    """The scale from the page's formula, and the epsilon of its rho."""
    found = [_scale(order_of(subject, late=late, causes=causes)) for late, causes in KINDS]
    promised = claim(order_of(subject), 1000)
    if promised.rho is None:
        return found
    shown = epsilon_of(promised.rho, promised.delta)
    text = f"epsilon of the rho at delta {promised.delta:g}"
    return [
        *found,
        at_most(pages.FAMILY, text, promised.epsilon, shown, "the curve of Gaussian noise"),
    ]


def _scale(order: CurvesOrder) -> Finding:
    """Delta / epsilon, or sqrt(Delta^2 / (2 rho) + 5), Delta^2 = 2 or 4 times the first column's."""
    plan, promised = order.plan(1000), claim(order, 1000)
    cells = 4 if order.schema.time.entry is not None else 2
    if promised.rho is None:
        needed = cells / promised.epsilon
    else:
        squared = cells * sum(m**2 for m in first_column(int(plan.number("stretches")) + 1))
        needed = math.sqrt(squared / (2 * promised.rho) + ROUNDED)
    scale = float(Fraction(str(plan.details["scale"])))
    return judged(
        pages.FAMILY,
        f"scale of {plan.dimension} sums",
        f"{needed:.10g}",
        f"{scale:.10g}",
        sound=needed * (1 - 1e-12) <= scale <= needed * (1 + TIGHT),
        note="from the sensitivity of the proof page",
    )


def first_column(length: int) -> list[int]:
    """M_1, that is m_j = floor(2^12 (1/2)(3/4) ... (2j-1)/(2j))."""
    weight, column = Fraction(2**12), []
    for j in range(length):
        weight *= Fraction(2 * j - 1, 2 * j) if j else 1
        column.append(math.floor(weight))
    return column


def check_neighbours(subject: Subject, effort: Effort) -> list[Finding]:
    """Everybody against everybody else, and hostile rows of a table."""
    random = np.random.default_rng(12)
    share = max(
        _loss(order_of(subject, late=late, causes=causes), _pairs(random, effort.pairs // 4))
        for late, causes in KINDS
    )
    hostile = max(
        _loss(order_of(subject, late=late, causes=causes), [tables()]) for late, causes in KINDS
    )
    note = "privacy loss over the claim, late entry or none, one or two causes"
    return [
        at_most(neighbours.FAMILY, "loss of the sums", 1.0 + 1e-12, share, note),
        at_most(neighbours.FAMILY, "loss of a release", 1.0 + 1e-12, hostile, "hostile rows"),
    ]


def _pairs(random: np.random.Generator, count: int) -> list[list[pa.Table]]:
    """Tables that differ in one person."""
    return [[table(_anybody(random), *CROWD) for _ in range(2)] for _ in range(max(6, count))]


def _anybody(random: np.random.Generator) -> Row:
    if random.random() < 0.2:
        return HOSTILE[int(random.integers(len(HOSTILE)))]
    start = float(random.choice([0.0, random.uniform(0, 12)]))
    levels = (str(random.choice(names)) for names in LEVELS.values())
    return (start, float(random.uniform(0, 14)), float(random.integers(3)), *levels)  # type: ignore[return-value]


def _loss(order: CurvesOrder, crowds: list[list[pa.Table]]) -> float:
    """The largest share of the promise that neighbours' sums spend."""
    worst = 0.0
    for people in crowds:
        runs = neighbours.forced(lambda noise, one: drawn(order, one, noise), people)
        promised = claim(order, people[0].num_rows)
        worst = max(worst, neighbours.share(runs, promised.epsilon, promised.rho))
    return worst


def check_law(subject: Subject, effort: Effort) -> list[Finding]:
    """The law of the one vector of noise, and that no two releases share it."""
    order, noise = order_of(subject), KnownNoise()
    drawn(order, table(*CROWD), noise)
    samples = [law.asked(call, effort.draws) for call in noise.calls]
    return [*map(law.judge, samples), law.fresh(order, table(*CROWD))]


def check_lattice(subject: Subject, effort: Effort) -> list[Finding]:
    """Released sums are integers; what their last bits show of two neighbours."""
    order = order_of(subject)
    one, other = _sides(order, CROWD, lattice.slow_draws(effort))
    return lattice.seen_through((one, other), order.plan(1 + len(CROWD)))


def _sides(order: CurvesOrder, crowd: tuple[Row, ...], count: int) -> list[list[Draw]]:
    """Draws of the worst pair among the crowd, with system entropy."""
    people = [table(row, *crowd) for row in AT_ONCE]
    return [[drawn(order, one, SystemNoise()) for _ in range(count)] for one in people]


def check_replay(subject: Subject, _: Effort) -> list[Finding]:
    """Neighbouring tables under the same noise."""
    order = order_of(subject, late=True, causes=CAUSES)
    return [replay.traces(order, tables()), replay.says_so(order, tables()[0])]


def check_refusals(subject: Subject, _: Effort) -> list[Finding]:
    """Epsilons and deltas that mean nothing, groups that are not declared."""
    schema = order_of(subject).groups.schema
    deltas = [
        (f"delta {value}", partial(GroupCounts, subject.epsilon, value))
        for value in (-1.0, 1.0, math.nan, math.inf)
    ]
    groups = [(f"by {by}", partial(Groups, schema, by)) for by in ((), ("age",), ("arm", "arm"))]
    return [refusals.refused([*refusals.epsilons(subject), *deltas, *groups])]


def check_end_to_end(subject: Subject, effort: Effort) -> list[Finding]:
    """Draws of the worst pair, along the line on which their sums differ."""
    order = order_of(subject)
    one, other = (drawn(order, table(row), KnownNoise()).point for row in AT_ONCE)
    first, second = (
        np.array([(one - other) @ draw.point for draw in side])
        for side in _sides(order, (), effort.fits)
    )
    note = f"{effort.fits} draws a side, one person, the line of the largest difference"
    check = "lower bound on epsilon"
    return [end_to_end.shown(end_to_end.FAMILY, check, (first, second), claim(order, 1), note)]


CURVES: "Mapping[str, Callable[[Subject, Effort], list[Finding]]]" = MappingProxyType(
    {
        witness.FAMILY: check_witness,
        pages.FAMILY: check_constants,
        neighbours.FAMILY: check_neighbours,
        law.FAMILY: check_law,
        lattice.FAMILY: check_lattice,
        replay.FAMILY: check_replay,
        refusals.FAMILY: check_refusals,
        end_to_end.FAMILY: check_end_to_end,
    }
)
"""The families of `discreet.audit.run`, as curves have them."""
