# ruff: noqa: INP001  # a script, no package
"""The perturbation mechanisms at full counts: audits, neighbours, densities, certificates, low bits.

Every row of results/perturbation.csv is one check; a run continues where an earlier one stopped,
and `--fresh` starts over. `statistic` is compared with `limit`; the last column says whether the
row came out as it must. The audits run through SurvivalRegression, table by table, with noise of
the operating system's laws from a seed; the rest goes through plan and draw.
"""

import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from checks import run_missing

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.mechanisms.cases import (  # noqa: E402
    corner_people,
    hostile_points,
    linear_loss,
    loss_of,
    make_constants,
    random_person,
)
from tests.mechanisms.test_audit import audit, user_audit  # noqa: E402

from discreet.audit.instruments import LATTICE, KnownNoise  # noqa: E402
from discreet.audit.output import steps_of  # noqa: E402
from discreet.mechanisms import (  # noqa: E402
    ObjectivePerturbation,
    OutputPerturbation,
    solve,
)
from discreet.mechanisms.bounds import Slopes, gradient_sensitivity, jacobian_bound  # noqa: E402
from discreet.mechanisms.contract import Facts  # noqa: E402
from discreet.mechanisms.perturbation import basis_of, coordinates_from  # noqa: E402
from discreet.mechanisms.solve import CentredObjective  # noqa: E402
from discreet.paper.results import Results  # noqa: E402
from discreet.privacy.testing import SeededNoise  # noqa: E402

COLUMNS = ["check", "mechanism", "count", "statistic", "limit", "seconds", "as_it_must"]
RESULTS = Results(Path(__file__).parent / "results" / "perturbation.csv", COLUMNS, COLUMNS[:3])
AUDITS = 13_000
ATTACKS = {"output": 200_000, "objective": 20_000}
EPSILON = 1.0
KINDS = {"output": OutputPerturbation, "objective": ObjectivePerturbation}


@dataclass(frozen=True)
class Check:
    """One row: what is counted, and the limit that its statistic must not exceed."""

    name: str
    mechanism: str
    count: int
    limit: float
    run: Callable[[], float]

    @property
    def key(self) -> tuple[str, ...]:
        """What identifies the row in the results file."""
        return (self.name, self.mechanism, str(self.count))

    @property
    def facts(self) -> dict[str, object]:
        """The limit."""
        return {"limit": self.limit}

    def accepts(self, statistic: float) -> bool:
        """Whether the claim holds."""
        return statistic <= self.limit


def all_checks() -> Iterator[Check]:
    """All rows, in the order they are run."""
    yield Check("gradient over claim", "both", 30_000, 1.0, partial(gradients, 30_000))
    yield Check("log determinant over claim", "objective", 20_000, 1.0, partial(jacobians, 20_000))
    yield Check("log density over claim", "objective", 500, 1.0, partial(densities, 500))
    yield Check("movement over claim", "output", 2_000, 1.0, partial(movements, 2_000))
    for name, kind in KINDS.items():
        mechanism = kind(epsilon=EPSILON)
        canary = partial(audit, mechanism, AUDITS, 7)
        yield Check("audit, canary at the bound", name, AUDITS, EPSILON, canary)
        failures = partial(failed_certificates, mechanism, 2_000)
        yield Check("draws without certificate", name, 2_000, 0.0, failures)
        user = partial(user_audit, mechanism, AUDITS)
        yield Check("audit through the public API", name, AUDITS, EPSILON, user)
        attack = partial(low_bits, mechanism, ATTACKS[name])
        yield Check("draws off the grid", name, ATTACKS[name], 0.0, attack)


def failed_certificates(mechanism: OutputPerturbation | ObjectivePerturbation, draws: int) -> float:
    """How often the public centre stood in, over random and hostile cohorts."""
    random, noise, failed = np.random.default_rng(1), SeededNoise(2), 0
    constants = make_constants(persons=25, intervals=30)
    plan, corners = mechanism.plan(constants), corner_people(constants)
    certified = solve._certified  # noqa: SLF001
    for trial in range(draws):
        people = [random_person(random, constants, extreme=bool(trial % 2)) for _ in range(25)]
        if trial % 4 == 3:
            people = [corners[i] for i in random.integers(0, len(corners), 25)]
        answers: list[bool] = []
        solve._certified = lambda *given, to=answers: to.append(certified(*given)) or to[-1]  # noqa: SLF001
        mechanism.draw(plan, loss_of(people, constants), noise)
        failed += not any(answers)
    solve._certified = certified  # noqa: SLF001
    return float(failed)


def low_bits(mechanism: OutputPerturbation | ObjectivePerturbation, draws: int) -> float:
    """How many released coordinates are no multiple of the grid, or need more than 53 bits of it."""
    constants = make_constants(persons=3, covariates=1, knots=1)
    plan, noise = mechanism.plan(constants), SeededNoise(3)
    loss = linear_loss(np.array([0.1, -0.3]))
    hits = 0
    for _ in range(draws):
        steps = np.ldexp(mechanism.draw(plan, loss, noise).point, -plan.grid_exponent)
        hits += int(np.any(steps != np.rint(steps)))
    return float(hits)


def gradients(pairs: int) -> float:
    """Largest gradient difference of random neighbours over the claim, in three baseline scales."""
    random, worst = np.random.default_rng(4), 0.0
    for trial in range(pairs // 30):
        constants = make_constants(intervals=12, time_varying=bool(trial % 2))
        (point,) = hostile_points(random, constants, 1)
        people = [
            random_person(random, constants, time_varying=bool(trial % 2), extreme=True)
            for _ in range(6)
        ]
        found = np.array([person.derivatives(constants, point)[0] for person in people])
        worst = max(worst, *(scaled_gap(constants, found, shift) for shift in (-2, 0, 2)))
    return worst


def scaled_gap(constants: Facts, found: np.ndarray, shift: int) -> float:
    """Largest distance between the gradients over the claimed sensitivity."""
    scale = np.array([2.0**shift] * 3 + [1.0] * 2)
    claimed = gradient_sensitivity(
        basis_of(constants, shift), Slopes.constant(constants.design.intervals, 1.0)
    )
    gaps = np.linalg.norm((found[:, None] - found[None, :]) * scale, axis=-1)
    return float(gaps.max()) / claimed


def jacobians(pairs: int) -> float:
    """Largest log ratio of determinants of random neighbours over the claim."""
    random, worst = np.random.default_rng(5), 0.0
    for trial in range(pairs // 20):
        varying = bool(trial % 2)
        constants = make_constants(intervals=12, time_varying=varying)
        ridge = 10.0 ** random.uniform(-2, 3)
        claimed = jacobian_bound(basis_of(constants), 2, 0.25, ridge, time_varying=varying)
        (point,) = hostile_points(random, constants, 1) * random.choice([0.0, 1e-3, 1.0])
        people = [
            random_person(random, constants, time_varying=varying, extreme=True) for _ in range(5)
        ]
        matrices = [
            ridge * np.eye(5) + person.derivatives(constants, point)[1] for person in people
        ]
        logs = [np.linalg.slogdet(matrix)[1] for matrix in matrices] + [5 * math.log(ridge)]
        worst = max(worst, (max(logs) - min(logs)) / claimed)
    return worst


def densities(points: int) -> float:
    """Largest log density ratio of the exact minimiser over epsilon_b + J."""
    random, worst = np.random.default_rng(6), 0.0
    constants = make_constants(persons=4, intervals=10)
    plan = ObjectivePerturbation(epsilon=EPSILON).plan(constants)
    coordinates, ridge = coordinates_from(plan.details), plan.number("total_ridge")
    allowed = plan.number("epsilon_tilt") + plan.number("epsilon_jacobian")
    corners = corner_people(constants)
    for w in hostile_points(random, constants, points) * 10.0 ** random.uniform(-2, 0, (points, 1)):
        others = [corners[i] for i in random.integers(0, len(corners), 3)]
        logs = []
        for first in (corners[i] for i in random.integers(0, len(corners), 3)):
            loss = loss_of([first, *others], constants)
            here = CentredObjective(loss, coordinates, ridge, np.zeros(5))(w)
            tilt = float(np.linalg.norm(here.gradient))
            logs.append(-tilt / plan.noise_scale + np.linalg.slogdet(here.hessian)[1])
        worst = max(worst, (max(logs) - min(logs)) / allowed)
    return worst


def movements(pairs: int) -> float:
    """Largest movement of output perturbation's centre over the claimed sensitivity."""
    random, worst = np.random.default_rng(7), 0.0
    for trial in range(pairs):
        link = ("logit", "probit")[trial % 2]
        constants = make_constants(persons=3, intervals=8, covariates=1, link=link, knots=2)
        corners = corner_people(constants)
        mechanism = OutputPerturbation(epsilon=1.0, ridge=(0.05, 1.0, 30.0)[trial % 3])
        people = [corners[i] for i in random.integers(0, len(corners), 3)]
        other = corners[int(random.integers(0, len(corners)))]
        plan, noise, points = mechanism.plan(constants), KnownNoise(), []
        for crowd in (people, [*people[1:], other]):
            draw = mechanism.draw(plan, loss_of(crowd, constants), noise)
            points.append(steps_of(plan, draw))
        claimed = float(noise.scales(LATTICE)[0]) * mechanism.epsilon
        worst = max(worst, float(np.linalg.norm(points[0] - points[1])) / claimed)
    return worst


if __name__ == "__main__":
    sys.exit(run_missing(__doc__, RESULTS, all_checks()))
