"""The search for neighbours that move a release by more than its noise was scaled to.

Pairs are random or made by hand: corners of the ball, short and long stays, everybody censored,
values of 1e308, subnormal, infinite or missing.  A failure is a counterexample to the guarantee.
"""

from collections.abc import Callable, Sequence
from functools import singledispatch
from itertools import pairwise
from typing import Any

import numpy as np

from discreet.audit.cases import (
    BASE,
    CasePerson,
    corner_people,
    hostile_points,
    known_release,
    loss_of,
    make_constants,
    neighbours,
    random_person,
    steps_in,
    user_schema,
)
from discreet.audit.findings import Effort, Finding, Subject, at_most, not_applicable
from discreet.audit.noise import LATTICE, ForcedNoise, KnownNoise, privacy_loss
from discreet.audit.orders import simulated, tables_of, tables_order
from discreet.audit.witness import steps_of
from discreet.core.optimum import SCORE_EXPONENT, clipped_score
from discreet.mechanisms import Facts
from discreet.mechanisms.contract import Plan
from discreet.mechanisms.newton.mechanism import PrivateNewton
from discreet.mechanisms.objective import ObjectivePerturbation, Shape
from discreet.mechanisms.outlook import public_guess
from discreet.mechanisms.output import OutputPerturbation
from discreet.mechanisms.selected import SelectedRidge
from discreet.people.encode import to_episodes
from discreet.types import Array

FAMILY = "neighbours"
SHIFTS = (-4, 0, 2)
RIDGES = (0.05, 1.0, 30.0)


def check_neighbours(subject: Subject, effort: Effort) -> list[Finding]:
    """Movement against what was claimed: of records, of sums, of releases."""
    return [_records(), *search(subject.mechanism(), subject, effort)]


@singledispatch
def search(mechanism: object, subject: Subject, effort: Effort) -> list[Finding]:  # noqa: ARG001 - the default
    """The largest movement against the claim; a mechanism registers its own by its class."""
    return [not_applicable(FAMILY, "movement", "no search for this mechanism")]


def _records() -> Finding:
    """Whatever a table holds, internal covariates have norm at most 1."""
    norms = [
        np.linalg.norm(to_episodes(people, user_schema()).covariates, axis=1)
        for people in neighbours()
    ]
    worst = np.max(np.concatenate(norms))
    note = "hostile rows: 1e308, infinite, missing, subnormal, unknown levels"
    return at_most(FAMILY, "norm of a record", 1.0, float(worst), note)


def some_people(random: np.random.Generator, facts: Facts, count: int) -> list[CasePerson]:
    """Half random, half made by hand."""
    corners = corner_people(facts)
    return [
        corners[int(random.integers(len(corners)))]
        if random.random() < 0.5
        else random_person(random, facts)
        for _ in range(count)
    ]


@search.register(OutputPerturbation)
def _output(_: OutputPerturbation, subject: Subject, effort: Effort) -> list[Finding]:
    moved, confined = _movement(subject, effort, "logit")
    probit, probit_confined = _movement(subject, effort, "probit")
    note = f"in units of epsilon times the scale drawn; {2 * effort.pairs} pairs, two links"
    return [
        at_most(FAMILY, "movement of the minimiser", 1.0, max(moved, probit), note),
        at_most(
            FAMILY,
            "distance of the minimiser",
            1.0,
            max(confined, probit_confined),
            "in units of the public radius on which slopes are bounded",
        ),
        _tables(subject),
        *_gradients(),
    ]


def _movement(subject: Subject, effort: Effort, link: str) -> tuple[float, float]:
    """The largest movement over the claimed one, and |w| over the public radius."""
    random = np.random.default_rng(8)
    facts = make_constants(persons=2, intervals=8, covariates=1, link=link, knots=2)
    moved, confined = 0.0, 0.0
    for trial in range(effort.pairs):
        mechanism = subject.mechanism(ridge=RIDGES[trial % len(RIDGES)])
        plan, noise = mechanism.plan(facts), KnownNoise()
        one, other, third = some_people(random, facts, 3)
        points = [
            steps_of(plan, mechanism.draw(plan, loss_of([one, who], facts), noise))
            for who in (other, third)
        ]
        claimed = float(noise.scales(LATTICE)[0]) * subject.epsilon
        moved = max(moved, float(np.linalg.norm(points[0] - points[1])) / claimed)
        grid = 2.0 ** plan.number("step_exponent")
        length = max(float(np.linalg.norm(point)) for point in points) * grid
        confined = max(confined, length / plan.number("confinement"))
    return moved, confined


def _tables(subject: Subject) -> Finding:
    """Replace one person of a table by hostile rows, through the public estimator."""
    worst = 0.0
    for ridge in (0.1, 20.0):
        noise = KnownNoise()
        mechanism = subject.mechanism(ridge=ridge)
        points = [steps_in(known_release(people, mechanism, noise)) for people in neighbours()]
        claimed = float(noise.scales(LATTICE)[0]) * subject.epsilon
        gaps = [float(np.linalg.norm(a - b)) for a in points for b in points]
        worst = max(worst, max(gaps) / claimed)
    return at_most(FAMILY, "movement of a release", 1.0, worst, "hostile rows of a user's table")


def _gradients() -> list[Finding]:
    """Hand-made persons at hostile points, in every scale of the baseline a plan may choose."""
    worst = max(
        _gradient_ratio(make_constants(intervals=12)),
        _gradient_ratio(make_constants(intervals=12, coordinates="paper")),
        _one_interval_ratio(),
    )
    note = "all pairs of hand-made persons at hostile points; orthonormal and paper's basis"
    return [
        at_most(FAMILY, "gradients of two persons", 1.0, worst, note),
        at_most(FAMILY, "log determinants", 1.0, _determinant_ratio(), "at risk all the time"),
    ]


def _gradient_ratio(facts: Facts) -> float:
    points = hostile_points(np.random.default_rng(6), facts, 16)
    people = corner_people(facts)
    gradients = np.array([[who.derivatives(facts, at)[0] for who in people] for at in points])
    worst = 0.0
    for shift in SHIFTS:
        gaps = (gradients[:, :, None] - gradients[:, None, :]) * _scale(facts, shift)
        claimed = Shape.make(facts, public_guess(facts, 0.5), shift).sensitivity
        worst = max(worst, float(np.linalg.norm(gaps, axis=-1).max()) / claimed)
    return worst


def _one_interval_ratio() -> float:
    """One interval, an event and a survival on either side of a steep slope: nearly 2r."""
    facts = make_constants(intervals=1, covariates=1, knots=1)
    first, last = np.array([0]), np.array([1])
    dies = CasePerson(np.array([[0.98]]), first, last, event=True)
    lives = CasePerson(np.array([[1.0]]), first, last, event=False)
    point = np.array([-0.99e4, 1e4])
    gap = dies.derivatives(facts, point)[0] - lives.derivatives(facts, point)[0]
    claimed = Shape.make(facts, public_guess(facts, 0.5), 0).sensitivity
    return float(np.linalg.norm(gap)) / claimed


def _determinant_ratio() -> float:
    """The Hessian of somebody at risk all the time at f = 0, where the curvature is largest."""
    facts = make_constants(intervals=12)
    hessian = corner_people(facts)[1].derivatives(facts, np.zeros(5))[1]
    ratios = []
    for shift in SHIFTS:
        shape = Shape.make(facts, public_guess(facts, 0.5), shift)
        scale = _scale(facts, shift)
        bend = scale[:, None] * hessian * scale
        for ridge in (0.5, 20.0):
            determinant = np.linalg.slogdet(np.eye(5) + bend / ridge)[1]
            ratios.append(float(determinant / max(shape.jacobian(ridge), 1e-300)))
    return max(ratios)


def _scale(facts: Facts, shift: int) -> Array:
    size = facts.design.basis.shape[1]
    return np.where(np.arange(facts.dimension) < size, 2.0**shift, 1.0)


@search.register(ObjectivePerturbation)
def _objective(mechanism: ObjectivePerturbation, _: Subject, effort: Effort) -> list[Finding]:
    """Gradients through the code that fits run, at hostile points, and by plain summation."""
    random = np.random.default_rng(9)
    facts = make_constants(persons=2, intervals=8, covariates=1, knots=2)
    plan = mechanism.plan(facts)
    claimed = plan.number("gradient_sensitivity")
    scale = _scale(facts, int(plan.number("baseline_shift")))
    worst = 0.0
    for point in hostile_points(random, facts, effort.pairs):
        one, other = some_people(random, facts, 2)
        gap = loss_of([one], facts)(point).gradient - loss_of([other], facts)(point).gradient
        worst = max(worst, float(np.linalg.norm(scale * gap)) / claimed)
    note = f"{effort.pairs} pairs at hostile points, through the code of fits"
    return [at_most(FAMILY, "gradients, compiled", 1.0, worst, note), *_gradients()]


@search.register(SelectedRidge)
def _selected(mechanism: SelectedRidge, subject: Subject, effort: Effort) -> list[Finding]:
    """The score of a person, and the search on the mechanism that trials run."""
    facts = make_constants(persons=2, intervals=9)
    plan = mechanism.plan(facts)
    bound, corners = plan.number("score_bound"), corner_people(facts)
    spreads = []
    for point in hostile_points(np.random.default_rng(1), facts, min(effort.pairs, 50)):
        pairs = [[first, corners[1]] for first in corners]
        scores = [clipped_score(loss_of(pair, facts), point, bound) for pair in pairs]
        spreads.append(max(scores) - min(scores))
    score = at_most(
        FAMILY,
        "movement of the score",
        1.0,
        max(spreads) * 2.0**SCORE_EXPONENT / bound,
        "in units of the bound that its noise is scaled to",
    )
    base = Subject(mechanism.base, subject.epsilon)
    return [score, *check_neighbours(base, effort)[1:]]


@search.register(PrivateNewton)
def _newton(mechanism: PrivateNewton, subject: Subject, effort: Effort) -> list[Finding]:
    """Two neighbours' sums at the same outcome of every release before them."""
    kinds = [(subject.strata, subject.causes)]
    if kinds == [(1, 1)]:
        kinds += [(3, 1), (1, 3)]
    worst = _newton_tables(subject)
    return [
        *(_newton_kind(mechanism, subject, effort, *kind) for kind in kinds),
        at_most(FAMILY, "loss of a release", 1.0, worst, "hostile rows of a table"),
    ]


def _newton_kind(
    mechanism: PrivateNewton, subject: Subject, effort: Effort, strata: int, causes: int
) -> Finding:
    name, note = "loss of the sums", "all sums of both runs at the same outcomes"
    if strata > 1:
        name, note = "loss with strata", f"{strata} strata, neighbours in one or in two of them"
    if causes > 1:
        name, note = "loss with causes", f"{causes} causes, neighbours of one or of two of them"
    worst = _newton_sums(mechanism, subject, effort, strata, causes)
    return at_most(FAMILY, name, 1.0, worst, f"privacy loss over the claim: {note}")


def _newton_sums(
    mechanism: PrivateNewton, subject: Subject, effort: Effort, strata: int = 1, causes: int = 1
) -> float:
    """The worst over people whose covariates change, and over those with one row each.

    Only of the latter second moments say how late events came, where there are enough of them.
    """
    worst = 0.0
    for persons, changing in ((4000, True), (20_000, False)):
        facts = make_constants(
            persons=persons, intervals=10, strata=strata, causes=causes, time_varying=changing
        )
        plan, random = mechanism.plan(facts), np.random.default_rng(10)
        for _ in range(max(4, effort.pairs // 16)):
            people = some_people(random, facts, 3)
            worst = max(worst, _newton_loss(mechanism, subject, plan, facts, people))
    return worst


def _newton_loss(
    mechanism: PrivateNewton, subject: Subject, plan: Plan, facts: Facts, people: list[Any]
) -> float:
    """The loss between two tables, which the second of two people tells apart.

    Up to the last sum: what a draw tells beside its point is made of released numbers.
    """
    one, other, third = people
    runs = forced(
        lambda noise, who: mechanism.bare_draw(plan, loss_of(who, facts), noise),
        [[one, other], [one, third]],
    )
    return share(runs, subject.epsilon, plan.guarantee.rho)


def _newton_tables(subject: Subject) -> float:
    order, tables = tables_order(subject), tables_of(subject)
    runs = forced(lambda noise, people: simulated(order, people, noise), tables)
    return share(runs, subject.epsilon, order.mechanism.promise(len(BASE)).rho)


def forced(draw: Callable[[KnownNoise, Any], object], people: Sequence[Any]) -> list[KnownNoise]:
    """Run on all of them, every one with the noisy numbers of the first."""
    first = KnownNoise()
    draw(first, people[0])
    runs = [first]
    for other in people[1:]:
        runs.append(ForcedNoise(first=first))
        draw(runs[-1], other)
    return runs


def share(runs: Sequence[KnownNoise], epsilon: float, rho: float | None) -> float:
    """The largest privacy loss between the first and any other, over what is claimed."""
    losses = [privacy_loss(runs[0], other) for other in runs[1:]]
    losses += [privacy_loss(one, other) for one, other in pairwise(runs)]
    return max(pure / epsilon + (spent / rho if rho else spent) for pure, spent in losses)
