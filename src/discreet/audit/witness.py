"""Tight witnesses: pairs of neighbours at which the privacy loss is epsilon, in closed form.

The loss is plugged in, the noise that a draw asks for is read off, and the log probability ratio
of the worst outcome is computed.  Above epsilon: privacy is broken.  Below: noise is wasted.
"""

import math
from dataclasses import replace
from fractions import Fraction
from functools import singledispatch

import numpy as np

from discreet.audit.cases import (
    LinearLoss,
    QuadraticLoss,
    StuckLoss,
    corner_people,
    loss_of,
    make_constants,
)
from discreet.audit.findings import (
    Effort,
    Finding,
    Subject,
    at_most,
    equal_to,
    judged,
    not_applicable,
)
from discreet.audit.noise import (
    CONTINUOUS,
    GAUSSIAN,
    L1,
    LATTICE,
    KnownNoise,
    gaussian_cost,
)
from discreet.audit.pages import newton_squares, solver_tolerance
from discreet.core.optimum import SCORE_EXPONENT, Optimum
from discreet.mechanisms import Draw, Facts, Plan
from discreet.mechanisms.newton.layout import Layout
from discreet.mechanisms.newton.mechanism import PrivateNewton
from discreet.mechanisms.objective import ObjectivePerturbation
from discreet.mechanisms.output import OutputPerturbation
from discreet.mechanisms.perturbation import Perturbation, basis_of, coordinates_from
from discreet.mechanisms.selected import SelectedRidge
from discreet.privacy.accountant import epsilon_of
from discreet.types import Array

FAMILY = "witness"


def check_witness(subject: Subject, _: Effort) -> list[Finding]:
    """The privacy loss at the worst pair."""
    return witness(subject.mechanism(), subject)


@singledispatch
def witness(mechanism: object, subject: Subject) -> list[Finding]:  # noqa: ARG001 - the default
    """The privacy loss at the worst pair; a mechanism registers its own by its class."""
    return [not_applicable(FAMILY, "tight witness", "no worst pair is known in closed form")]


def steps_of(plan: Plan, draw: Draw) -> Array:
    """The released point in coordinates w, in steps of the grid on which noise was added."""
    coordinates = coordinates_from(plan.details)
    w = (draw.point - coordinates.centre) / coordinates.scale
    return np.asarray(np.ldexp(w, -int(plan.number("step_exponent"))))


def output_loss(mechanism: Perturbation, facts: Facts) -> float:
    """|i - i'| / scale for two linear losses whose slopes differ by Delta + 2 tau'.

    The outcome lies beyond both minimisers on the line through them; no loss does more.
    """
    plan = mechanism.plan(facts)
    gap = plan.number("gradient_sensitivity") + 2 * solver_tolerance(plan, 0.0)
    axis = np.eye(plan.dimension)[-1] / coordinates_from(plan.details).scale
    centres, noise = [], KnownNoise()
    for sign in (0.5, -0.5):
        noise = KnownNoise()
        draw = mechanism.perturb(plan, Optimum(LinearLoss(sign * gap * axis), noise))
        centres.append(steps_of(plan, draw))
    return float(np.linalg.norm(centres[0] - centres[1]) / float(noise.scales(LATTICE)[0]))


def objective_loss(mechanism: Perturbation, facts: Facts) -> float:
    """Delta / tilt scale + log det(I + E/k) + sensitivity / output scale.

    D has the loss g'w + w'Ew/2 with the worst Hessian of a person, D' has none.
    """
    plan, noise = mechanism.plan(facts), KnownNoise()
    coordinates = coordinates_from(plan.details)
    bend = _worst_bend(facts, plan)
    mechanism.perturb(plan, Optimum(QuadraticLoss(bend, coordinates.centre), noise))
    scaled = coordinates.scale[:, None] * bend * coordinates.scale
    ridge = plan.number("total_ridge")
    determinant = np.linalg.slogdet(np.eye(plan.dimension) + scaled / ridge)[1]
    grid = Fraction(2) ** int(plan.number("step_exponent"))
    tilt = plan.number("gradient_sensitivity") / float(noise.scales(CONTINUOUS)[0])
    return float(
        tilt + determinant + plan.number("sensitivity") / float(noise.scales(LATTICE)[0] * grid)
    )


def _worst_bend(facts: Facts, plan: Plan) -> Array:
    """A person's Hessian that attains the plan's bound, in coordinates f."""
    basis, width = facts.design.basis, facts.covariates
    if not facts.time_varying:
        corner = np.eye(width)[0] if width else np.zeros(0)
        z = np.column_stack([basis, np.tile(corner, (len(basis), 1))])
        return np.asarray(0.25 * z.T @ z)
    rows = basis_of(facts, int(plan.number("baseline_shift"))).rows
    size = basis.shape[1]
    blocks = np.zeros((plan.dimension, plan.dimension))
    blocks[:size, :size] = 0.25 * rows.T @ rows
    blocks[size:, size:] = 0.25 * len(rows) / width * np.eye(width)
    scale = coordinates_from(plan.details).scale
    return np.asarray(blocks / scale[:, None] / scale)


def _certificate(mechanism: Perturbation) -> Finding:
    """A point that no certificate covers is not released: the public centre is."""
    plan = mechanism.plan(make_constants())
    draw = mechanism.perturb(plan, Optimum(StuckLoss(), KnownNoise()))
    moved = float(np.linalg.norm(draw.point - coordinates_from(plan.details).centre))
    return judged(
        FAMILY,
        "a minimiser without certificate",
        "public centre",
        f"{moved:.3g} away from it",
        sound=moved == 0.0,
        note="a loss whose gradient is never right",
        numbers={"moved": moved},
    )


@witness.register(OutputPerturbation)
def _output(mechanism: OutputPerturbation, subject: Subject) -> list[Finding]:
    loss = output_loss(mechanism, make_constants(persons=7))
    note = "linear loss, slopes at the claimed sensitivity"
    return [equal_to(FAMILY, "tight witness", subject.epsilon, loss, note), _certificate(mechanism)]


@witness.register(ObjectivePerturbation)
def _objective(mechanism: ObjectivePerturbation, subject: Subject) -> list[Finding]:
    fixed = objective_loss(mechanism, make_constants(persons=1))
    varying = make_constants(persons=1, covariates=4, time_varying=True)
    varied = objective_loss(mechanism, varying)
    note = "quadratic loss at the claimed sensitivity and Jacobian"
    return [
        equal_to(FAMILY, "tight witness", subject.epsilon, fixed, note),
        equal_to(FAMILY, "tight witness, covariates in time", subject.epsilon, varied, note),
        _certificate(mechanism),
    ]


@witness.register(SelectedRidge)
def _selected(mechanism: SelectedRidge, subject: Subject) -> list[Finding]:
    """Twice what one trial and its score spend, at the scales that the draw asked for."""
    facts = make_constants(persons=7)
    mechanism = replace(mechanism, ridges=(2.0,), base="output")
    plan, noise = mechanism.plan(facts), KnownNoise()
    mechanism.draw(plan, loss_of(corner_people(facts)[:7], facts), noise)
    candidate = plan.candidates[0]
    step = Fraction(2) ** int(candidate.number("step_exponent"))
    trial = candidate.number("sensitivity") / float(noise.scales(LATTICE)[0] * step)
    score = math.ldexp(plan.number("score_bound"), -SCORE_EXPONENT) / float(noise.scales(L1)[0])
    spent = 2.0 * (trial + score)
    note = "twice (trial + score): random stopping; budgets are whole billionths"
    # a budget in whole billionths, rounded down, loses up to four of them
    tolerance = 1e-9 + 4e-9 / subject.epsilon
    return [equal_to(FAMILY, "parts at the drawn scales", subject.epsilon, spent, note, tolerance)]


@witness.register(PrivateNewton)
def _newton(mechanism: PrivateNewton, subject: Subject) -> list[Finding]:
    """The parts compose to the whole, without strata and with them, and with several causes."""
    own = _newton_parts(mechanism, subject, subject.strata, subject.causes)
    if subject.strata * subject.causes > 1:
        return own
    return [
        *own,
        *_newton_parts(mechanism, subject, strata=3)[:1],
        *_newton_parts(mechanism, subject, causes=3)[:1],
    ]


def _newton_parts(
    mechanism: PrivateNewton, subject: Subject, strata: int = 1, causes: int = 1
) -> list[Finding]:
    """Squared sensitivities of the proof at the drawn scales."""
    facts = make_constants(persons=20_000, strata=strata, causes=causes)
    plan, noise = mechanism.plan(facts), KnownNoise()
    mechanism.draw(plan, loss_of(corner_people(facts)[:7], facts), noise)
    squares = newton_squares(facts.covariates, noise.trace, strata, causes)
    calls = list(zip(noise.calls, squares, strict=True))
    pure = plan.guarantee.rho is None
    spent = sum(
        (square if call.law == L1 else math.sqrt(square)) / float(call.scale)
        if pure
        else gaussian_cost(square, float(call.scale))
        for call, square in calls
    )
    claimed = subject.epsilon if pure else float(Layout.read(plan).budget.total)
    laws = {call.law for call in noise.calls} <= ({L1, LATTICE} if pure else {GAUSSIAN})
    name = "epsilon of all sums together" if pure else "rho of all sums together"
    name += "" if strata == 1 else f", {strata} strata"
    name += "" if causes == 1 else f", {causes} causes"
    note = f"{len(calls)} noisy sums, sensitivities of the proof page at the drawn scales"
    found = [equal_to(FAMILY, name, claimed, spent if laws else math.inf, note)]
    if not pure:
        paid = math.isfinite(spent)
        shown = epsilon_of(spent, plan.guarantee.delta) if paid else math.inf
        text = f"epsilon of that rho at delta {plan.guarantee.delta:g}"
        found.append(at_most(FAMILY, text, subject.epsilon, shown, "the curve of Gaussian noise"))
    return found
