"""The audit of output perturbation, and what it shares with that of objective perturbation.

Losses are plugged in, so the worst pair is known; gradients, radii and sensitivities of the page,
docs/proofs/output-perturbation.md, are computed a second time.
"""

import math
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from discreet.audit.cases import (
    Case,
    CasePerson,
    cases_of,
    corner_people,
    few,
    hostile_points,
    linear_loss,
    loss_of,
    make_constants,
    neighbours,
    random_person,
    stuck_loss,
)
from discreet.audit.findings import Finding, at_most, equal_to, judged
from discreet.audit.instruments import LATTICE, KnownNoise, judge, rows_of, sphere
from discreet.audit.measured import Measured
from discreet.core.optimum import Optimum
from discreet.design.design import Design
from discreet.likelihood.problem import Problem
from discreet.mechanisms.contract import Draw, Facts, Plan
from discreet.mechanisms.objective import Shape
from discreet.mechanisms.outlook import public_guess
from discreet.mechanisms.perturbation import coordinates_from
from discreet.privacy.exact import continuous_error
from discreet.privacy.noise import SystemNoise
from discreet.types import Array

SHIFTS = (-4, 0, 2)
RIDGES = (0.05, 1.0, 30.0)
SHIFT = 2**20


class Minimiser(Measured):
    """The part shared with objective perturbation: a minimiser, noise on a grid, a certificate."""

    tilted: ClassVar[bool]
    mechanism: Any

    @property
    def fits(self) -> int:
        """A fit is fast."""
        return self.effort.fits

    def inexact(self) -> Finding:
        """The lattice noise holds 2 tau'/k and sqrt(d) grid besides the movement."""
        mechanism = self.subject.mechanism()
        plan, noise = mechanism.plan(make_constants(persons=500)), KnownNoise()
        perturb(mechanism, plan, linear_loss(np.zeros(plan.dimension)), noise)
        grid = 2.0 ** plan.number("step_exponent")
        tolerance = solver_tolerance(plan, plan.noise_scale if self.tilted else 0.0)
        moved = 0.0 if self.tilted else plan.number("gradient_sensitivity")
        movement = (moved + 2 * tolerance) / plan.number("total_ridge")
        needed = movement + math.sqrt(plan.dimension) * grid
        budget = plan.number("epsilon_output") if self.tilted else plan.guarantee.epsilon
        scale = float(noise.scales(LATTICE)[0]) * grid
        sound = needed / budget <= scale * (1 + 1e-14) and scale <= needed / budget * (1 + 1e-9)
        said, note = (
            f"scale {needed / budget:.10g}",
            "(movement + 2 tau'/k + sqrt(d) grid) / epsilon",
        )
        return judged("noise for solver and grid", said, f"{scale:.10g}", sound=sound, note=note)

    def certificate(self) -> Finding:
        """A point that no certificate covers is not released: the public centre is."""
        mechanism = self.subject.mechanism()
        plan = mechanism.plan(make_constants())
        draw = perturb(mechanism, plan, stuck_loss, KnownNoise())
        moved = float(np.linalg.norm(draw.point - coordinates_from(plan.details).centre))
        said, note = f"{moved:.3g} away from it", "a loss whose gradient is never right"
        name = "a minimiser without certificate"
        return judged(name, "public centre", said, sound=moved == 0.0, note=note)

    def gradients(self) -> list[Finding]:
        """Hand-made persons at hostile points, in every scale of the baseline a plan may choose."""
        changing = make_constants(intervals=12, changes=(0.3, 0.6))
        facts = [make_constants(intervals=12), changing]
        paper = make_constants(intervals=12, coordinates="paper")
        worst = max(_one_interval_ratio(), *(_gradient_ratio(one) for one in (paper, *facts)))
        note = "all pairs of hand-made persons at hostile points; also where effects change"
        determinant = max(_determinant_ratio(one) for one in facts)
        at_risk = "at risk all the time, effects that change or not"
        return [
            at_most("gradients of two persons", 1.0, worst, note),
            at_most("log determinants", 1.0, determinant, at_risk),
        ]

    def law(self) -> list[Finding]:
        """Noise as it is found in releases of a loss that is zero."""
        found, mechanism, noise = [], self.subject.mechanism(), SystemNoise()
        for facts in (make_constants(500, 5, 0, 1), make_constants(500)):
            plan = mechanism.plan(facts)
            nothing = linear_loss(np.zeros(plan.dimension))
            rows = range(rows_of(self.effort.draws, plan.dimension))
            draws = [steps_of(plan, perturb(mechanism, plan, nothing, noise)) for _ in rows]
            scale = self.claimed_scale(plan) / 2.0 ** plan.number("step_exponent")
            found.append(judge("noise in the release", np.array(draws), scale, sphere))
        return [*found, self.fresh()]

    def claimed_scale(self, plan: Plan) -> float:
        """The scale of the noise in a release of a loss that is zero."""
        raise NotImplementedError

    def replay(self) -> list[Finding]:
        """A release is exactly the planned minimiser plus the noise that was given."""
        case, people = self.case, few(self.case)
        plain = case.simulated(people, KnownNoise())
        moved = case.simulated(people, KnownNoise(shift=SHIFT))
        off = float(np.max(np.abs(steps_in(moved, case) - steps_in(plain, case) - SHIFT)))
        claimed, note = f"{SHIFT} steps", "lattice noise of 2^20 steps in every coordinate"
        said, sound = f"off by {off:.2g}", off <= 1e-3
        moves = judged("noise moves the release", claimed, said, sound=sound, note=note)
        # without noise a release is the minimiser of the loss with the ridge of the plan
        details, design = plain.details, plain.design
        w = np.ldexp(steps_in(plain, case), details["step_exponent"])
        engine = case.people(people).open(case.schema)
        loss = Problem(engine, design, case.order.link)  # type: ignore[attr-defined]
        gradient = loss(plain.internal.vector).gradient
        gradient = scale_of(design, details["baseline_shift"]) * gradient
        rest = np.linalg.norm(gradient + details["total_ridge"] * w) / np.linalg.norm(gradient)
        note, name = "of the loss's gradient, without noise", "the planned objective is minimised"
        return [*super().replay(), moves, at_most(name, 1e-5, float(rest), note)]


class OutputAudit(Minimiser):
    """The audit of output perturbation."""

    unproved_links = ("cloglog",)
    tilted = False

    def witness(self) -> list[Finding]:
        """|i - i'| / scale for two linear losses whose slopes differ by Delta + 2 tau'.

        The outcome lies beyond both minimisers on the line through them; no loss does more.
        """
        mechanism = self.subject.mechanism()
        plan = mechanism.plan(make_constants(persons=7))
        gap = plan.number("gradient_sensitivity") + 2 * solver_tolerance(plan, 0.0)
        axis = np.eye(plan.dimension)[-1] / coordinates_from(plan.details).scale
        points, noise = [], KnownNoise()
        for sign in (0.5, -0.5):
            noise = KnownNoise()
            draw = perturb(mechanism, plan, linear_loss(sign * gap * axis), noise)
            points.append(steps_of(plan, draw))
        loss = float(np.linalg.norm(points[0] - points[1]) / float(noise.scales(LATTICE)[0]))
        note = "linear loss, slopes at the claimed sensitivity"
        tight = equal_to("tight witness", self.subject.epsilon, loss, note)
        return [tight, self.certificate()]

    def constants(self) -> list[Finding]:
        """Noise for solver and grid; radius, sensitivity and gradient bound of the page."""
        return [self.inexact(), *(self._page(link) for link in ("logit", "probit"))]

    def _page(self, link: str) -> Finding:
        """Plans with small and large ridges."""
        worst = 0.0
        for ridge in (0.01, 1.0, 50.0):
            facts = make_constants(persons=40, link=link)
            plan = self.subject.mechanism(ridge=ridge).plan(facts)
            radius, sensitivity, reached = page_sensitivity(facts, plan)
            worst = max(worst, abs(plan.number("confinement") / radius - 1))
            worst = max(worst, 1 - plan.number("gradient_bound") / reached)
            claimed = plan.number("gradient_sensitivity") / sensitivity
            worst = max(worst, 1 - claimed, claimed - 1.01)
        name = f"radius and sensitivity off the page's, {link}"
        note = "ridges 0.01, 1 and 50 a person; the grid of angles may add 1%"
        return at_most(name, 1e-9, worst, note)

    def neighbours(self) -> list[Finding]:
        """Movement and distance of minimisers, and of releases of hostile tables."""
        moved, confined = self._movement("logit")
        probit, probit_confined = self._movement("probit")
        note = (
            f"in units of epsilon times the scale drawn; {2 * self.effort.pairs} pairs, two links"
        )
        reach = "in units of the public radius on which slopes are bounded"
        apart = max(confined, probit_confined)
        return [
            self.records(),
            at_most("movement of the minimiser", 1.0, max(moved, probit), note),
            at_most("distance of the minimiser", 1.0, apart, reach),
            self._tables(),
            *self.gradients(),
        ]

    def _movement(self, link: str) -> tuple[float, float]:
        """The largest movement over the claimed one, and |w| over the public radius."""
        random = np.random.default_rng(8)
        facts = make_constants(persons=2, intervals=8, covariates=1, link=link, knots=2)
        moved, confined = 0.0, 0.0
        for trial in range(self.effort.pairs):
            mechanism = self.subject.mechanism(ridge=RIDGES[trial % len(RIDGES)])
            plan, noise = mechanism.plan(facts), KnownNoise()
            one, other, third = some_people(random, facts, 3)
            points = [
                steps_of(plan, mechanism.draw(plan, loss_of([one, who], facts), noise))
                for who in (other, third)
            ]
            claimed = float(noise.scales(LATTICE)[0]) * self.subject.epsilon
            moved = max(moved, float(np.linalg.norm(points[0] - points[1])) / claimed)
            grid = 2.0 ** plan.number("step_exponent")
            length = max(float(np.linalg.norm(point)) for point in points) * grid
            confined = max(confined, length / plan.number("confinement"))
        return moved, confined

    def _tables(self) -> Finding:
        """Replace one person of a table by hostile rows, through the public estimator."""
        worst = 0.0
        for case in cases_of(self.subject)[:4]:
            noise = KnownNoise()
            points = [steps_in(case.simulated(people, noise), case) for people in neighbours(case)]
            claimed = float(noise.scales(LATTICE)[0]) * self.subject.epsilon
            gaps = [float(np.linalg.norm(a - b)) for a in points for b in points]
            worst = max(worst, max(gaps) / claimed)
        return at_most("movement of a release", 1.0, worst, "hostile rows of tables")

    def claimed_scale(self, plan: Plan) -> float:
        """Sensitivity / epsilon."""
        return plan.number("sensitivity") / plan.guarantee.epsilon


# ------------------------------------------------------------------- the page, a second time


def perturb(mechanism: Any, plan: Plan, loss: Any, noise: Any) -> Draw:
    """A draw of a loss that is plugged in."""
    draw: Draw = mechanism.perturb(plan, Optimum(loss, noise))
    return draw


def steps_of(plan: Plan, draw: Draw) -> Array:
    """The released point in coordinates w, in steps of the grid on which noise was added."""
    coordinates = coordinates_from(plan.details)
    w = (draw.point - coordinates.centre) / coordinates.scale
    return np.asarray(np.ldexp(w, -int(plan.number("step_exponent"))))


def steps_in(release: Any, case: Case) -> Array:
    """The released point in coordinates w, in steps of the grid, of a release."""
    design: Design = case.order.design  # type: ignore[attr-defined]
    details, move = release.details, release.internal.vector - release.details["centre"]
    w = move / scale_of(design, details["baseline_shift"])
    return np.asarray(np.ldexp(w, -details["step_exponent"]))


def solver_tolerance(plan: Plan, tilt_scale: float) -> float:
    """tau' from the formula of the proof page."""
    ridge, gradient = plan.number("total_ridge"), plan.number("gradient_bound")
    reach = 2 * 256.0
    rounding = gradient * (1 + 2.0**-6 * plan.number("record_norm") * reach)
    rounding = 2.0**-40 * (rounding + ridge * reach + (reach * ridge + gradient))
    error = continuous_error(Fraction(tilt_scale)) if tilt_scale else 0.0
    return 4 * rounding + error


def some_people(random: np.random.Generator, facts: Facts, count: int) -> list[CasePerson]:
    """Half random, half made by hand."""
    corners = corner_people(facts)
    return [
        corners[int(random.integers(len(corners)))]
        if random.random() < 0.5
        else random_person(random, facts)
        for _ in range(count)
    ]


def scale_of(design: Design, shift: int) -> Array:
    """The public scale of every coordinate: 2^shift of the baseline's, 1 of effects."""
    return np.where(np.arange(design.dimension) < design.time_dimension, 2.0**shift, 1.0)


def _gradient_ratio(facts: Facts) -> float:
    points = hostile_points(np.random.default_rng(6), facts, 16)
    people = corner_people(facts)
    gradients = np.array([[who.derivatives(facts, at)[0] for who in people] for at in points])
    compiled = np.array([[loss_of([who], facts)(at).gradient for who in people] for at in points])
    worst = 0.0
    for shift in SHIFTS:
        claimed = Shape.make(facts, public_guess(facts, 0.5), shift).sensitivity
        for found in (gradients, compiled):
            gaps = (found[:, :, None] - found[:, None, :]) * scale_of(facts.design, shift)
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


def _determinant_ratio(facts: Facts) -> float:
    """The Hessian of a person at risk all the time, at f = 0, where the curvature is largest."""
    size = facts.dimension
    hessian = corner_people(facts)[1].derivatives(facts, np.zeros(size))[1]
    ratios = []
    for shift in SHIFTS:
        shape = Shape.make(facts, public_guess(facts, 0.5), shift)
        scale = scale_of(facts.design, shift)
        bend = scale[:, None] * hessian * scale
        for ridge in (0.5, 20.0):
            determinant = np.linalg.slogdet(np.eye(size) + bend / ridge)[1]
            ratios.append(float(determinant / max(shape.jacobian(ridge), 1e-300)))
    return max(ratios)


def page_sensitivity(facts: Facts, plan: Plan) -> tuple[float, float, float]:
    """(rho, Delta, n g_1) of output perturbation, interval by interval."""
    link = facts.link
    size = facts.design.basis.shape[1]
    centre = np.array(plan.details["centre"], dtype=float)
    eta = facts.design.basis @ centre[:size]
    rows = facts.design.basis * 2.0 ** plan.number("baseline_shift")
    r = np.array([math.sqrt(row @ row + 1) for row in rows])
    share, (up, down) = facts.persons / plan.number("total_ridge"), _page_slopes(link, eta, 0 * r)
    loss = link.survival_loss(eta).sum() + link.event_loss(eta).max()
    radius = min(math.sqrt(share * loss), float(share * ((up * r).sum() + (down * r).max())))
    u, v = _page_slopes(link, eta, radius * r)
    widest = np.maximum(r, 2)
    extra = ((u + v) * r - u * widest).clip(0).max() + (v * r - u * widest).clip(0).max()
    vertex = (u * widest).sum() + max(extra, ((v - u) * widest).max())
    wide, high = _page_slopes(link, eta, 2 * radius * r)
    reached = facts.persons * float((wide * r).sum() + (high * r).max())
    direction = _page_direction(rows, float(u.max()), float(v.max()))
    return radius, min(float(vertex), direction), reached


def _page_slopes(link: Any, eta: Array, reach: Array) -> tuple[Array, Array]:
    u = link.survival_loss_derivative(eta + reach)
    return u, np.maximum(u, -link.event_loss_derivative(eta - reach))


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
