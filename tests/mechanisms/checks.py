"""What must hold of the perturbation mechanisms, as functions: seeded bugs must make them fail.

Every check goes through `plan` and `draw`, the path that a fit takes.
"""

import math
from fractions import Fraction

import numpy as np

from discreet.audit.pages import page_sensitivity, solver_tolerance
from discreet.core import optimum
from discreet.core.optimum import clipped_score
from discreet.mechanisms import (
    ObjectivePerturbation,
    OutputPerturbation,
    SelectedRidge,
)
from discreet.mechanisms.bounds import jacobian_bound
from discreet.mechanisms.objective import Shape
from discreet.mechanisms.outlook import public_guess
from discreet.mechanisms.perturbation import basis_of, coordinates_from
from discreet.mechanisms.selected import score_bound
from tests.mechanisms.cases import (
    FrozenNoise,
    LinearLoss,
    Person,
    QuadraticLoss,
    StuckLoss,
    corner_people,
    episodes_of,
    hostile_points,
    loss_of,
    make_constants,
    random_person,
)

EXACT = 1e-9


def lattice_scale(noise):
    """The scale of the lattice noise that a draw asked for, in grid steps."""
    (scale,) = [call[2] for call in noise.calls if call[0] == "lattice"]
    return scale


def steps_of(plan, draw):
    """The released point in coordinates w, in grid steps."""
    coordinates = coordinates_from(plan.details)
    w = (draw.point - coordinates.centre) / coordinates.scale
    return np.ldexp(w, -int(plan.number("step_exponent")))


def output_witness(epsilon=1.0, **facts):
    """The log probability ratio of two neighbours under a linear loss, at its worst outcome.

    The slopes differ by the claimed sensitivity plus the error tau' that the certificate allows
    to either gradient; the outcome lies beyond both minimisers on the line through them:
    log P/P' = |i - i'| / scale, and no loss does more.
    """
    constants = make_constants(persons=7, **facts)
    mechanism = OutputPerturbation(epsilon=epsilon)
    plan = mechanism.plan(constants)
    gap = plan.number("gradient_sensitivity") + 2 * solver_tolerance(plan, 0.0)
    scale = coordinates_from(plan.details).scale
    axis = np.eye(plan.dimension)[-1] / scale
    centres, noise = [], FrozenNoise()
    for sign in (0.5, -0.5):
        noise = FrozenNoise()
        draw = mechanism.draw(plan, LinearLoss(sign * gap * axis), noise)
        centres.append(steps_of(plan, draw))
    return float(np.linalg.norm(centres[0] - centres[1]) / float(lattice_scale(noise)))


def check_output_witness():
    """The ratio is epsilon: not above (privacy), not below (tightness)."""
    for epsilon in (0.5, 1.0, 3.0):
        ratio = output_witness(epsilon)
        assert ratio <= epsilon
        assert math.isclose(ratio, epsilon, rel_tol=EXACT)


def objective_witness(epsilon=1.0, *, time_varying=False, **facts):
    """epsilon spent by the exact minimiser at its worst point, in closed form, plus epsilon_o.

    D has loss g'w + w'Ew/2 with E = kappa sum z z', D' has none. At w with -k w = R u, where
    u is a unit vector and the gradient of D's loss is Delta u: log ratio = Delta / scale + logdet.
    The tilt's law is read off the draw.
    """
    constants = make_constants(persons=1, time_varying=time_varying, **facts)
    plan = ObjectivePerturbation(epsilon=epsilon).plan(constants)
    noise = FrozenNoise()
    bend = worst_bend(constants, plan)
    scale = coordinates_from(plan.details).scale
    loss = QuadraticLoss(bend, coordinates_from(plan.details).centre)
    ObjectivePerturbation(epsilon=epsilon).draw(plan, loss, noise)
    (tilt_scale,) = [call[2] for call in noise.calls if call[0] == "continuous"]
    scaled = scale[:, None] * bend * scale
    ridge = plan.number("total_ridge")
    log_determinant = np.linalg.slogdet(np.eye(plan.dimension) + scaled / ridge)[1]
    output = plan.number("sensitivity") / float(
        lattice_scale(noise) * Fraction(2) ** int(plan.number("step_exponent"))
    )
    return plan.number("gradient_sensitivity") / float(tilt_scale) + log_determinant + output


def worst_bend(constants, plan):
    """A person's Hessian that attains the plan's bound, in coordinates f."""
    basis = constants.design.basis
    width = constants.covariates
    if constants.time_varying:
        rows = basis_of(constants, int(plan.number("baseline_shift"))).rows
        blocks = np.zeros((plan.dimension, plan.dimension))
        blocks[: basis.shape[1], : basis.shape[1]] = 0.25 * rows.T @ rows
        blocks[basis.shape[1] :, basis.shape[1] :] = 0.25 * len(rows) / width * np.eye(width)
        scale = coordinates_from(plan.details).scale
        return blocks / scale[:, None] / scale
    corner = np.eye(width)[0] if width else np.zeros(0)
    z = np.column_stack([basis, np.tile(corner, (len(basis), 1))])
    return 0.25 * z.T @ z


def check_objective_witness():
    """epsilon_b + J + epsilon_o, each as it acts in a draw, is epsilon."""
    for epsilon in (0.5, 1.0, 4.0):
        spent = objective_witness(epsilon)
        assert spent <= epsilon * (1 + 1e-11)
        assert math.isclose(spent, epsilon, rel_tol=EXACT)


def check_objective_witness_time_varying():
    """The same where covariates may change with time."""
    spent = objective_witness(2.0, time_varying=True, covariates=4)
    assert spent <= 2.0 * (1 + 1e-11)
    assert math.isclose(spent, 2.0, rel_tol=EXACT)


def neighbour_movement(mechanism, constants, people, replacement):
    """How far the release moves, noise frozen, as a multiple of the claimed sensitivity."""
    plan = mechanism.plan(constants)
    noise = FrozenNoise()
    first = mechanism.draw(plan, loss_of(people, constants), noise)
    second = mechanism.draw(plan, loss_of([*people[1:], replacement], constants), FrozenNoise())
    gap = np.linalg.norm(steps_of(plan, first) - steps_of(plan, second))
    claimed = float(lattice_scale(noise)) * mechanism.epsilon
    return gap / claimed


def check_neighbours_move_within_the_noise(link="logit"):
    """Random and hand-made neighbours: movement <= epsilon times the scale of the drawn noise."""
    random = np.random.default_rng(8)
    constants = make_constants(persons=3, intervals=8, covariates=1, link=link, knots=2)
    corners = corner_people(constants)
    for ridge in (0.05, 1.0, 30.0):
        mechanism = OutputPerturbation(epsilon=1.0, ridge=ridge)
        for trial in range(12):
            people = [random_person(random, constants, extreme=True) for _ in range(3)]
            if trial % 2:
                people = [corners[i] for i in random.integers(0, len(corners), 3)]
            other = corners[int(random.integers(0, len(corners)))]
            assert neighbour_movement(mechanism, constants, people, other) <= 1.0


def check_confinement(link="logit"):
    """Every minimiser lies within the public radius the slopes were bounded on."""
    random = np.random.default_rng(4)
    constants = make_constants(persons=2, intervals=8, covariates=1, link=link, knots=2)
    corners = corner_people(constants)
    for ridge in (0.05, 1.0, 30.0):
        mechanism = OutputPerturbation(epsilon=1.0, ridge=ridge)
        plan = mechanism.plan(constants)
        for _ in range(8):
            people = [corners[i] for i in random.integers(0, len(corners), 2)]
            draw = mechanism.draw(plan, loss_of(people, constants), FrozenNoise())
            w = np.ldexp(steps_of(plan, draw), int(plan.number("step_exponent")))
            assert np.linalg.norm(w) <= plan.number("confinement")


def check_inexact_minimisers_are_paid_for():
    """The scale of the lattice noise holds 2 tau'/k and sqrt(d) grid besides the movement."""
    constants = make_constants(persons=500)
    for mechanism in (OutputPerturbation(epsilon=1.0), ObjectivePerturbation(epsilon=1.0)):
        plan, noise = mechanism.plan(constants), FrozenNoise()
        mechanism.draw(plan, LinearLoss(np.zeros(plan.dimension)), noise)
        tilted = mechanism.name == "objective"
        grid = 2.0 ** plan.number("step_exponent")
        tolerance = solver_tolerance(plan, plan.noise_scale if tilted else 0.0)
        moved = 0.0 if tilted else plan.number("gradient_sensitivity")
        needed = (moved + 2 * tolerance) / plan.number("total_ridge") + math.sqrt(5) * grid
        budget = plan.number("epsilon_output") if tilted else 1.0
        scale = float(lattice_scale(noise)) * grid
        assert needed / budget <= scale * (1 + 1e-14)
        assert scale <= needed / budget * (1 + 1e-9)


def check_parts_of_epsilon_add_up():
    """epsilon_b + J + epsilon_o = epsilon, and J is the bound for what the schema allows."""
    for time_varying in (False, True):
        constants = make_constants(persons=500, covariates=3, time_varying=time_varying)
        plan = ObjectivePerturbation(epsilon=1.0).plan(constants)
        parts = [plan.number(f"epsilon_{name}") for name in ("tilt", "jacobian", "output")]
        assert math.isclose(sum(parts), 1.0, rel_tol=1e-12)
        basis = basis_of(constants, int(plan.number("baseline_shift")))
        ridge = plan.number("total_ridge")
        bound = jacobian_bound(basis, 3, 0.25, ridge, time_varying=time_varying)
        assert parts[1] >= bound * (1 - 1e-12)
        assert parts[2] > 0


def check_claimed_sensitivity(coordinates="orthonormal"):
    """Hand-made persons at hostile points, in every scale of the baseline a plan may choose."""
    random = np.random.default_rng(6)
    constants = make_constants(intervals=12, covariates=2, coordinates=coordinates)
    people = corner_people(constants)
    points = hostile_points(random, constants, 16)
    gradients = np.array([[who.gradient(constants, at) for who in people] for at in points])
    for shift in (-4, 0, 2):
        scale = np.array([2.0**shift] * 3 + [1.0] * 2)
        gaps = (gradients[:, :, None] - gradients[:, None, :]) * scale
        claimed = Shape.make(constants, public_guess(constants, 0.5), shift).sensitivity
        assert np.linalg.norm(gaps, axis=-1).max() <= claimed


def check_claimed_sensitivity_of_the_paper_basis():
    """The same in the paper's basis, whose directions are of very different length."""
    check_claimed_sensitivity("paper")


def check_claimed_sensitivity_of_one_interval():
    """One interval, an event and a survival on either side of a steep slope: nearly 2r."""
    constants = make_constants(intervals=1, covariates=1, knots=1)
    first, last = np.array([0]), np.array([1])
    dies = Person(np.array([[0.98]]), first, last, event=True)
    lives = Person(np.array([[1.0]]), first, last, event=False)
    point = np.array([-0.99e4, 1e4])
    gap = np.linalg.norm(dies.gradient(constants, point) - lives.gradient(constants, point))
    claimed = Shape.make(constants, public_guess(constants, 0.5), 0).sensitivity
    assert 0.98 * claimed < gap <= claimed


def check_claimed_jacobian():
    """The Hessian of somebody at risk all the time, at f = 0 where the curvature is largest."""
    constants = make_constants(intervals=12, covariates=2)
    person = corner_people(constants)[1]
    for shift in (-4, 0, 2):
        shape = Shape.make(constants, public_guess(constants, 0.5), shift)
        scale = np.array([2.0**shift] * 3 + [1.0] * 2)
        bend = scale[:, None] * person.hessian(constants, np.zeros(5)) * scale
        for ridge in (0.5, 20.0):
            assert np.linalg.slogdet(np.eye(5) + bend / ridge)[1] <= shape.jacobian(ridge)


def check_certificate_decides():
    """A point that no certificate covers is not released: the public centre is."""
    for mechanism in (OutputPerturbation(epsilon=1.0), ObjectivePerturbation(epsilon=1.0)):
        plan = mechanism.plan(make_constants())
        draw = mechanism.draw(plan, StuckLoss(), FrozenNoise())
        assert np.array_equal(draw.point, coordinates_from(plan.details).centre)


def check_output_constants_are_the_pages():
    """Radius and sensitivity of plans with small and large ridges, for both links."""
    for link in ("logit", "probit"):
        constants = make_constants(persons=40, link=link)
        for ridge in (0.01, 1.0, 50.0):
            plan = OutputPerturbation(epsilon=1.0, ridge=ridge).plan(constants)
            radius, sensitivity = page_sensitivity(constants, plan)
            assert math.isclose(plan.number("confinement"), radius, rel_tol=1e-9)
            claimed = plan.number("gradient_sensitivity")
            assert sensitivity * (1 - 1e-9) <= claimed <= sensitivity * 1.01


def check_selection_is_charged():
    """A trial and its score take half of epsilon, as the noise of the draw shows."""
    constants = make_constants(persons=7)
    mechanism = SelectedRidge(epsilon=1.0, ridges=(2.0,), base="output")
    plan, noise = mechanism.plan(constants), FrozenNoise()
    mechanism.draw(plan, loss_of(corner_people(constants)[:7], constants), noise)
    candidate = plan.candidates[0]
    step = Fraction(2) ** int(candidate.number("step_exponent"))
    trial = candidate.number("sensitivity") / float(lattice_scale(noise) * step)
    (score_scale,) = [call[2] for call in noise.calls if call[0] == "l1"]
    score = plan.number("score_bound") * 2**10 / float(score_scale)
    assert trial + score <= 0.5 * (1 + 1e-9)


def check_selection_score_is_bounded():
    """Nobody moves the score by more than the bound that its noise is scaled to."""
    constants = make_constants(persons=2, intervals=9)
    bound = score_bound(constants, 0.5)
    corners = corner_people(constants)
    for point in hostile_points(np.random.default_rng(1), constants, 10):
        scores = [
            clipped_score(loss_of([first, corners[1]], constants), point, bound)
            for first in corners
        ]
        assert max(scores) - min(scores) <= bound * 2**10


def check_scores_do_not_depend_on_the_company(link="logit"):
    """A person's loss is the same number wherever and among however many people it stands."""
    random = np.random.default_rng(12)
    for trial in range(24):
        covariates = 2 + 3 * (trial % 2)
        constants = make_constants(intervals=3, covariates=covariates, knots=2, link=link)
        person = random_person(random, constants)
        point = random.normal(size=constants.dimension)
        found = set()
        for count in (1, 2, 3, 4, 7):
            block = episodes_of([person] * count, covariates)
            rows = optimum._row_losses(block, constants.design, constants.link, point)
            found |= set(optimum._by_person(rows, block.offsets).tolist())
        assert len(found) == 1


def check_gradient_bound_holds_within_the_reach(link="logit"):
    """g_1 of section 6: the slopes at twice the radius that confines the minimiser, not at it."""
    constants = make_constants(persons=40, link=link)
    for ridge in (0.01, 1.0, 50.0):
        plan = OutputPerturbation(epsilon=1.0, ridge=ridge).plan(constants)
        eta = constants.design.basis @ np.array(plan.details["centre"])[:3]
        rows = constants.design.basis * 2.0 ** plan.number("baseline_shift")
        r = np.sqrt((rows**2).sum(axis=1) + 1)
        reach = 2 * plan.number("confinement")
        u = constants.link.survival_loss_derivative(eta + reach * r)
        v = np.maximum(u, -constants.link.event_loss_derivative(eta - reach * r))
        needed = 40 * ((u * r).sum() + (v * r).max())
        assert plan.number("reach") >= reach
        assert math.isclose(plan.number("gradient_bound"), needed, rel_tol=1e-9)
        assert plan.number("gradient_bound") >= needed * (1 - 1e-12)
