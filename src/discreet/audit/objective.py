"""The audit of objective perturbation: docs/proofs/objective-perturbation.md."""

import math
from fractions import Fraction

import numpy as np

from discreet.audit.cases import few, hostile_points, loss_of, make_constants
from discreet.audit.findings import Finding, at_most, equal_to, judged
from discreet.audit.instruments import CONTINUOUS, LATTICE, KnownNoise
from discreet.audit.output import (
    Minimiser,
    perturb,
    scale_of,
    some_people,
    steps_in,
)
from discreet.mechanisms.contract import Facts, Plan
from discreet.mechanisms.perturbation import basis_of, coordinates_from
from discreet.solve import Evaluation
from discreet.types import Array


class ObjectiveAudit(Minimiser):
    """The audit of objective perturbation."""

    unproved_links = ("probit", "cloglog")
    tilted = True

    def witness(self) -> list[Finding]:
        """Delta / tilt scale + log det(I + E/k) + sensitivity / output scale, of a worst Hessian."""
        varying = make_constants(persons=1, covariates=4, time_varying=True)
        changing = make_constants(persons=1, changes=(0.3, 0.6))
        note = "quadratic loss at the claimed sensitivity and Jacobian"
        claimed, name = self.subject.epsilon, "tight witness"
        fixed = self._loss(make_constants(persons=1))
        return [
            equal_to(name, claimed, fixed, note),
            equal_to(f"{name}, covariates in time", claimed, self._loss(varying), note),
            at_most("worst pair, effects in time", claimed * (1 + 1e-9),
                    self._loss(changing), note),
            self.certificate(),
        ]  # fmt: skip

    def _loss(self, facts: Facts) -> float:
        """D has the loss g'w + w'Ew/2 with the worst Hessian of a person, D' has none."""
        mechanism = self.subject.mechanism()
        plan, noise = mechanism.plan(facts), KnownNoise()
        coordinates = coordinates_from(plan.details)
        bend = _worst_bend(facts, plan)

        def quadratic(f: Array) -> Evaluation:
            move = f - coordinates.centre
            return Evaluation(float(0.5 * move @ bend @ move), bend @ move, bend.copy())

        perturb(mechanism, plan, quadratic, noise)
        scaled = coordinates.scale[:, None] * bend * coordinates.scale
        ridge = plan.number("total_ridge")
        determinant = np.linalg.slogdet(np.eye(plan.dimension) + scaled / ridge)[1]
        grid = Fraction(2) ** int(plan.number("step_exponent"))
        tilt = plan.number("gradient_sensitivity") / float(noise.scales(CONTINUOUS)[0])
        output = plan.number("sensitivity") / float(noise.scales(LATTICE)[0] * grid)
        return float(tilt + determinant + output)

    def constants(self) -> list[Finding]:
        """Noise for solver and grid; epsilon_b + J + epsilon_o = epsilon."""
        found = [self.inexact()]
        for varying in (False, True):
            facts = make_constants(persons=500, covariates=3, time_varying=varying)
            plan = self.subject.mechanism().plan(facts)
            parts = [plan.number(f"epsilon_{name}") for name in ("tilt", "jacobian", "output")]
            note = "tilt + Jacobian + output" + (", covariates in time" if varying else "")
            claimed = self.subject.epsilon * (1 + 1e-12)
            found.append(at_most("parts of epsilon", claimed, sum(parts), note))
        return found

    def neighbours(self) -> list[Finding]:
        """Gradients through the code that fits run, at hostile points, and by plain summation."""
        random = np.random.default_rng(9)
        worst = 0.0
        for changes in ((), (0.3, 0.6)):
            facts = make_constants(2, 8, covariates=2 if changes else 1, knots=2, changes=changes)
            plan = self.subject.mechanism().plan(facts)
            claimed = plan.number("gradient_sensitivity")
            scale = scale_of(facts.design, int(plan.number("baseline_shift")))
            for point in hostile_points(random, facts, self.effort.pairs // 2):
                one, other = some_people(random, facts, 2)
                first, second = (loss_of([who], facts)(point).gradient for who in (one, other))
                worst = max(worst, float(np.linalg.norm(scale * (first - second))) / claimed)
        note = f"{self.effort.pairs} pairs at hostile points, through the code of fits"
        compiled = at_most("gradients, compiled", 1.0, worst, note)
        return [self.records(), compiled, *self.gradients()]

    def claimed_scale(self, plan: Plan) -> float:
        """That of the tilt, (Delta / epsilon_b) / k."""
        tilt = plan.number("gradient_sensitivity") / plan.number("epsilon_tilt")
        return tilt / plan.number("total_ridge")

    def replay(self) -> list[Finding]:
        """An enormous tilt drives the release to the edge of the ball, against the tilt."""
        release = self.case.simulated(few(self.case), KnownNoise(tilt=1e7))
        w = np.ldexp(steps_in(release, self.case), release.details["step_exponent"])
        off = float(np.max(np.abs(w / (-256.0 / math.sqrt(len(w))) - 1)))
        note = "a tilt of ten million scales, the same in every coordinate"
        claimed, said = "to the edge of the ball", f"off by {off:.2g}"
        tilt = judged("the tilt moves the release", claimed, said, sound=off <= 0.05, note=note)
        return [*super().replay(), tilt]


def _worst_bend(facts: Facts, plan: Plan) -> Array:
    """A person's Hessian that attains the plan's bound, in coordinates f."""
    basis, width = facts.design.basis, facts.covariates
    if not facts.time_varying and facts.design.periods.number == 1:
        corner = np.eye(width)[0] if width else np.zeros(0)
        z = np.column_stack([basis, np.tile(corner, (len(basis), 1))])
        return np.asarray(0.25 * z.T @ z)
    size = facts.design.time_dimension
    rows = basis_of(facts, int(plan.number("baseline_shift"))).rows
    blocks = np.zeros((plan.dimension, plan.dimension))
    blocks[:size, :size] = 0.25 * rows.T @ rows
    effects = plan.dimension - size
    blocks[size:, size:] = 0.25 * len(rows) / effects * np.eye(effects)
    scale = coordinates_from(plan.details).scale
    return np.asarray(blocks / scale[:, None] / scale)
