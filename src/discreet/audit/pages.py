"""The formulas of the proof pages, computed a second time and compared with what plans hold."""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import singledispatch

import numpy as np

from discreet.audit.cases import LinearLoss, make_constants
from discreet.audit.findings import Effort, Finding, Subject, at_most, judged, not_applicable
from discreet.audit.noise import GAUSSIAN, LATTICE, KnownNoise
from discreet.core.optimum import Optimum
from discreet.mechanisms import Facts, Plan
from discreet.mechanisms.objective import ObjectivePerturbation
from discreet.mechanisms.output import OutputPerturbation
from discreet.mechanisms.perturbation import Perturbation
from discreet.privacy.exact import continuous_error
from discreet.types import Array

FAMILY = "constants"
LARGEST_SCORE, LARGEST_FACTOR = 2**26, 2**13
MOMENT_UNIT, MOMENT_WEIGHT = 2**10, 128


def check_constants(subject: Subject, _: Effort) -> list[Finding]:
    """The plan's constants against the proof page's."""
    return formulas(subject.mechanism(), subject)


@singledispatch
def formulas(mechanism: object, subject: Subject) -> list[Finding]:  # noqa: ARG001 - the default
    """The plan's constants against the page's; a mechanism registers its own by its class."""
    reason = "its constants are integers, counted by the witness and the neighbour search"
    return [not_applicable(FAMILY, "formulas of the proof page", reason)]


@formulas.register(OutputPerturbation)
def _output(mechanism: OutputPerturbation, subject: Subject) -> list[Finding]:
    pages = [_page(subject, link) for link in ("logit", "probit")]
    return [_inexact(mechanism, tilted=False), *pages]


@formulas.register(ObjectivePerturbation)
def _objective(mechanism: ObjectivePerturbation, subject: Subject) -> list[Finding]:
    parts = [_parts(subject, time_varying=varying) for varying in (False, True)]
    return [_inexact(mechanism, tilted=True), *parts]


def newton_squares(
    covariates: int,
    trace: Sequence[tuple[str, int, Fraction]],
    strata: int = 1,
    causes: int = 1,
) -> list[int]:
    """Squared L2 sensitivities of private Newton's sums in their order (L1 of counts the same).

    For numbers that do not change, p of them: exits 2, ranges 2 p, marginals 2 p (with Gaussian noise
    256 times that, in 16ths of a person), second moments 2 (w R^2)^2 where they are released, scores
    (2 L)^2, the information 2 (w Q^2)^2. Second moments may have the strata but the first as further
    columns; nothing else changes with strata, and with several causes only the dimensions do.
    """
    fine = 256 if trace[0][0] == GAUSSIAN else 1
    first = [2 * fine, 2 * fine * covariates, 2 * fine * covariates]
    for columns in sorted({covariates, covariates + strata - 1}):
        limit = 7 * columns * MOMENT_UNIT**2 // 10
        if len(trace) > 3 and trace[3][1] == columns * (columns + 1) // 2:
            first.append(2 * (MOMENT_WEIGHT * limit) ** 2)
    score, information = (2 * LARGEST_SCORE) ** 2, 2 * (MOMENT_WEIGHT * LARGEST_FACTOR**2) ** 2
    size = trace[-1][1] // causes
    half = causes * (size * (size + 1) // 2)
    return first + [information if item[1] == half else score for item in trace[len(first) :]]


def solver_tolerance(plan: Plan, tilt_scale: float) -> float:
    """tau' from the formula of the proof page."""
    ridge, gradient = plan.number("total_ridge"), plan.number("gradient_bound")
    reach = 2 * 256.0
    rounding = gradient * (1 + 2.0**-6 * plan.number("record_norm") * reach)
    rounding = 2.0**-40 * (rounding + ridge * reach + (reach * ridge + gradient))
    error = continuous_error(Fraction(tilt_scale)) if tilt_scale else 0.0
    return 4 * rounding + error


def _inexact(mechanism: Perturbation, *, tilted: bool) -> Finding:
    """The lattice noise holds 2 tau'/k and sqrt(d) grid besides the movement."""
    plan, noise = mechanism.plan(make_constants(persons=500)), KnownNoise()
    mechanism.perturb(plan, Optimum(LinearLoss(np.zeros(plan.dimension)), noise))
    grid = 2.0 ** plan.number("step_exponent")
    tolerance = solver_tolerance(plan, plan.noise_scale if tilted else 0.0)
    moved = 0.0 if tilted else plan.number("gradient_sensitivity")
    movement = (moved + 2 * tolerance) / plan.number("total_ridge")
    needed = movement + math.sqrt(plan.dimension) * grid
    budget = plan.number("epsilon_output") if tilted else plan.guarantee.epsilon
    scale = float(noise.scales(LATTICE)[0]) * grid
    sound = needed / budget <= scale * (1 + 1e-14) and scale <= needed / budget * (1 + 1e-9)
    return judged(
        FAMILY,
        "noise for solver and grid",
        f"scale {needed / budget:.10g}",
        f"{scale:.10g}",
        sound=sound,
        note="(movement + 2 tau'/k + sqrt(d) grid) / epsilon, to 1e-9",
    )


def _parts(subject: Subject, *, time_varying: bool) -> Finding:
    """epsilon_b + J + epsilon_o = epsilon."""
    facts = make_constants(persons=500, covariates=3, time_varying=time_varying)
    plan = subject.mechanism().plan(facts)
    parts = [plan.number(f"epsilon_{name}") for name in ("tilt", "jacobian", "output")]
    note = "tilt + Jacobian + output" + (", covariates in time" if time_varying else "")
    claimed = subject.epsilon * (1 + 1e-12)
    return at_most(FAMILY, "parts of epsilon", claimed, sum(parts), note)


def _page(subject: Subject, link: str) -> Finding:
    """Radius and sensitivity of plans with small and large ridges."""
    worst = 0.0
    for ridge in (0.01, 1.0, 50.0):
        facts = make_constants(persons=40, link=link)
        plan = subject.mechanism(ridge=ridge).plan(facts)
        radius, sensitivity = page_sensitivity(facts, plan)
        worst = max(worst, abs(plan.number("confinement") / radius - 1))
        claimed = plan.number("gradient_sensitivity") / sensitivity
        worst = max(worst, 1 - claimed, claimed - 1.01)
    return judged(
        FAMILY,
        f"radius and sensitivity, {link}",
        "those of the page",
        f"off by {max(worst, 0.0):.2g}",
        sound=worst <= 1e-9,
        numbers={"off": worst},
        note="ridges 0.01, 1 and 50 a person; the grid of angles may add 1%",
    )


def page_sensitivity(facts: Facts, plan: Plan) -> tuple[float, float]:
    """(rho, Delta) of output perturbation, interval by interval."""
    link = facts.link
    size = facts.design.basis.shape[1]
    centre = np.array(plan.details["centre"], dtype=float)
    eta = facts.design.basis @ centre[:size]
    rows = facts.design.basis * 2.0 ** plan.number("baseline_shift")
    r = np.array([math.sqrt(row @ row + 1) for row in rows])
    radius = _page_radius(facts, eta, r, facts.persons / plan.number("total_ridge"))
    u = link.survival_loss_derivative(eta + radius * r)
    v = np.maximum(u, -link.event_loss_derivative(eta - radius * r))
    widest = np.maximum(r, 2)
    extra = ((u + v) * r - u * widest).clip(0).max() + (v * r - u * widest).clip(0).max()
    vertex = (u * widest).sum() + max(extra, ((v - u) * widest).max())
    return radius, min(float(vertex), _page_direction(rows, float(u.max()), float(v.max())))


def _page_radius(facts: Facts, eta: Array, r: Array, share: float) -> float:
    link = facts.link
    up, down = link.survival_loss_derivative(eta), -link.event_loss_derivative(eta)
    down = np.maximum(up, down)
    loss = link.survival_loss(eta).sum() + link.event_loss(eta).max()
    return min(math.sqrt(share * loss), float(share * ((up * r).sum() + (down * r).max())))


def _page_direction(rows: Array, u: float, v: float) -> float:
    """Lemma 4 at many angles: never above its maximum."""
    count = len(rows)
    spread = np.linalg.eigvalsh(rows.T @ rows / count).max()
    angle = np.linspace(0, math.pi / 2, 10001)
    y, c = np.linalg.norm(rows, axis=1).max() * np.sin(angle), np.cos(angle)
    one = v * (y + c) - u * (c - y).clip(0)
    alone = (one - u * (y + c)).clip(0)
    both = (v - u) * (c + np.maximum(y, c))
    ordinary = u * count * (c + np.sqrt(spread * np.sin(angle) ** 2 + c**2))
    return float((ordinary + np.maximum(both, one + alone)).max())
