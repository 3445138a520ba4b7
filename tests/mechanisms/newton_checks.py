"""What must hold of private Newton, as functions: seeded bugs must make them fail."""

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numba
import numpy as np
from numba.core.registry import CPUDispatcher as Dispatcher

from discreet.core import covariate_sums, walk
from discreet.core.bins import Stretches, marginals_of, stretches_of
from discreet.core.cells import block_marginals
from discreet.core.information import Informations
from discreet.core.scores import LARGEST, Whitened, alone, block_information
from discreet.design.link import LINKS
from discreet.mechanisms import PrivateNewton
from discreet.mechanisms.newton.layout import Layout
from discreet.mechanisms.newton.split import informed_step
from discreet.privacy.noise import LARGEST_VALUE
from discreet.privacy.testing import SeededNoise
from tests.mechanisms.cases import (
    FrozenNoise,
    corner_people,
    episodes_of,
    hostile_points,
    loss_of,
    make_constants,
    random_person,
)


def some_people(constants, seed, count=40):
    random = np.random.default_rng(seed)
    return [random_person(random, constants, extreme=bool(i % 2)) for i in range(count)]


def page_sensitivities(layout, covariates):
    """With strata the same, but that second moments may have further columns."""
    columns = covariates + (layout.strata - 1 if layout.mixed else 0)
    return _page_sensitivities(layout, covariates, columns)


def _page_sensitivities(layout, covariates, columns):
    """(squared L2, L1) of the proof page's table, in the order of the releases; numbers only."""
    shares, cells = dict(layout.budget.shares), 2 * covariates
    entries, pure = 4 if layout.late_entry else 2, layout.budget.pure
    first, weight = [(entries, entries), (cells, cells), (cells, cells)], 1
    if layout.changing:  # weights of 2^10 altogether, in four stretches of time 2^9 (or 2^8) each
        part, weight = 2**8 if pure else 2**9, 64
        first[1:] = [(cells * 2**20, cells * 2**10), (cells * 4 * part**2, cells * 4 * part)]
    if not pure:  # Gaussian noise is added in 16ths of a person
        first = [(256 * squared, absolute) for squared, absolute in first]
    if shares["moments"]:
        first.append((2 * (128 * weight * (7 * columns * 2**20 // 10)) ** 2, None))
    steps = [(4 * LARGEST**2, None)] * len(layout.budget.steps)
    if informed_step(layout.budget) is not None:
        steps.insert(informed_step(layout.budget) + 1, (2 * (128 * 2**26) ** 2, None))
    return first + steps


def part_of(call, sensitivity):
    """What a noisy sum spends: rho of a Gaussian one, epsilon of the others."""
    (law, _, scale), (squared, absolute) = call, sensitivity
    if law == "gaussian":
        return Fraction(squared) / (2 * (Fraction(scale) ** 2 - 5))
    return Fraction(absolute if law == "l1" else math.isqrt(squared)) / Fraction(scale)


def spent(constants, delta, epsilon=1.0):
    """Rho (epsilon when pure) of all noisy sums at the scales that a draw asked for, and allowed."""
    mechanism = PrivateNewton(epsilon, delta)
    plan, noise = mechanism.plan(constants), FrozenNoise()
    layout = Layout.read(plan)
    mechanism.draw(plan, loss_of(some_people(constants, 1), constants), noise)
    sizes = page_sensitivities(layout, constants.covariates)
    total = sum(part_of(*pair) for pair in zip(noise.calls, sizes, strict=True))
    return total, layout.budget.total


def check_all_parts_are_paid_for(delta=1e-6, **facts):
    """The parts add up to the whole: not above (privacy), not far below (accuracy)."""
    found, allowed = spent(make_constants(persons=40, **facts), delta)
    assert found <= allowed
    assert found > 0.999 * allowed


def check_information_is_paid_for(delta=1e-6):
    """With people enough for their information to be released."""
    facts = make_constants(persons=20_000)
    layout = Layout.read(PrivateNewton(4.0, delta).plan(facts))
    assert informed_step(layout.budget) is not None
    found, allowed = spent(facts, delta, 4.0)
    assert 0.999 * allowed < found <= allowed


def check_information_stays_within_the_integers():
    """It is released only where no cohort's sums leave what noise can be added to."""
    released = []
    for persons in (10**7, 10**10):
        plan = PrivateNewton(1.0, 1e-12).plan(make_constants(persons=persons))
        released.append(Fraction(plan.details["shares"]["information"]) > 0)
        assert persons * 181 * 2**26 <= LARGEST_VALUE or not released[-1]
    assert released == [True, False]


def check_informations_move_as_claimed():
    """The information of any two persons, hostile points and frames included."""
    constants = make_constants(intervals=10, time_varying=True)
    random = np.random.default_rng(21)
    people, largest = changing_people(constants, count=30), 0
    for point in hostile_points(random, constants, 12):
        frame = random.normal(size=(5, 5)) * 10.0 ** random.uniform(-3, 3)
        scores = alone(Whitened(constants.design, constants.link, point, frame, 1.0))
        limit = 10.0 ** random.uniform(-6, 2)
        moved, _ = movement(block_information, people, 2, scores, limit, Informations())
        largest = max(largest, moved)
    # the half-vector is weighted by 128 and 181 before noise: below 128 times Frobenius
    assert largest <= 2 * 2**52
    assert largest > 0.5 * 2**52


def check_late_entries_are_paid_for(delta=1e-6):
    """With entries a person is in two cells of the first release."""
    check_all_parts_are_paid_for(delta, late_entry=True)


def check_changing_values_are_paid_for(delta=1e-6):
    """With a person column, weights in stretches of time have the sensitivity of one cell."""
    check_all_parts_are_paid_for(delta, time_varying=True)


def changing_people(constants, seed=4, count=60):
    """Corner cases that flip in every interval, and random people of a few rows."""
    random = np.random.default_rng(seed)
    people = corner_people(constants)
    return people + [
        random_person(random, constants, time_varying=True, extreme=bool(i % 2))
        for i in range(count)
    ]


def movement(function, people, width, *arguments):
    """The largest (squared L2, L1) distance between two persons' integer contributions."""
    rows = [function(episodes_of([p], width), *arguments)[0].astype(object) for p in people]
    pairs = [(a - b) for a in rows for b in rows]
    return max(int((d * d).sum()) for d in pairs), max(int(np.abs(d).sum()) for d in pairs)


def question_movement(question, people, width):
    """The largest squared L2 distance between two persons' weighted contributions."""
    rows = [
        question.block(episodes_of([p], width), *question.arguments)[0].astype(object)
        * question.weights
        for p in people
    ]
    return max(int(((a - b) ** 2).sum()) for a in rows for b in rows)


def check_changing_values_share_a_weight():
    """Whoever changes in every interval moves the counts no more than the page says."""
    constants = make_constants(covariates=3, time_varying=True)
    people, marginals = changing_people(constants), marginals_of(constants.design, 8)
    for stretches, square, mass in (
        (stretches_of(20, 4, pure=False), 4 * 2**18, None),
        (stretches_of(20, 4, pure=True), None, 2**10),
        (Stretches((0, 20), 2**10), 2**20, 2**10),
    ):
        squared, absolute = movement(block_marginals, people, 3, marginals, stretches)
        assert square is None or squared == 2 * 3 * square
        assert mass is None or absolute == 2 * 3 * mass


@dataclass
class Replay(SeededNoise):
    """Released sums of one fit, handed out again in another whatever its own sums are."""

    answers: list = field(default_factory=list)
    replaying: bool = False

    def __post_init__(self):
        super().__init__(5)

    def discrete_gaussian(self, values, scale):
        if self.replaying:
            assert len(self.answers[0]) == len(values)
            return self.answers.pop(0)
        self.answers.append(super().discrete_gaussian(values, scale))
        return self.answers[-1]


def check_nothing_but_noisy_sums_is_used():
    """Two cohorts with the same noisy sums have the same release: all else is post-processing."""
    constants = make_constants(persons=40, late_entry=True)
    mechanism = PrivateNewton(50.0, 1e-6)
    plan, noise = mechanism.plan(constants), Replay()
    first = mechanism.draw(plan, loss_of(some_people(constants, 2), constants), noise)
    noise.replaying = True
    second = mechanism.draw(plan, loss_of(some_people(constants, 3), constants), noise)
    assert not noise.answers
    assert np.array_equal(first.point, second.point)
    for name, values in first.extras.items():
        assert np.array_equal(values, second.extras[name])


class Asked:
    """An engine that writes down what is asked of it besides the people."""

    def __init__(self, engine):
        self.engine, self.asked = engine, []

    def __getattr__(self, name):
        return getattr(self.engine, name)

    def reduce(self, function, *arguments):
        arrays = [item.tolist() for item in arguments if isinstance(item, np.ndarray)]
        others = [repr(item) for item in arguments if isinstance(item, tuple)]
        self.asked.append((function.__name__, arrays, others))
        return self.engine.reduce(function, *arguments)


def check_sums_are_asked_with_released_numbers():
    """Centre and spread of the moments come from noisy counts: the same for both cohorts."""
    constants = make_constants(persons=40)
    mechanism = PrivateNewton(1e6, 1e-6)
    plan, noise = mechanism.plan(constants), Replay()
    assert Layout.read(plan).budget.share("moments") > 0
    asked = []
    for seed, replaying in ((2, False), (3, True)):
        noise.replaying = replaying
        people = some_people(constants, seed)
        if replaying:  # so near each other that their own bins would be elsewhere
            people = [replace(who, covariates=0.01 * who.covariates) for who in people]
        loss = loss_of(people, constants)
        engine = Asked(loss.engine)
        mechanism.draw(plan, replace(loss, engine=engine), noise)
        asked.append(engine.asked)
    assert asked[0] == asked[1]
    names = [name for name, _, _ in asked[0]]
    assert "block_moments" in names
    assert names.count("block_marginals") == 2


def check_slopes_do_not_depend_on_the_company():
    """Beside a person far out other branches are taken; slopes are the same to the bit, of all links."""
    constants = make_constants(intervals=10)
    near = np.linspace(-3.0, 3.0, walk.LANES)
    for link in LINKS.values():
        scores = Whitened(constants.design, link, np.full(5, 0.3), np.eye(5), 1.0)
        grid, found = walk.interval_grid(alone(scores).point), []
        for company in (0.0, 39.5, 100.0, 300.0, -math.inf, math.nan):
            survive, happen = np.zeros((2, 1, 10, len(near)))
            position = np.append(near[:-1], company)[None]
            walk.write_slopes(grid, 0, 10, position, survive, happen)
            found.append((survive[..., :-1].tobytes(), happen[..., :-1].tobytes()))
        assert all(one == found[0] for one in found)


def check_moments_of_what_is_not_a_number():
    """As an integer NaN is -2^63, whose square wraps around and passes a check in integers."""
    values = np.array([[np.nan, 1.0], [3.0, np.inf], [-np.inf, np.nan], [5.0, -6.0]])
    shorten = covariate_sums.shorten
    if not isinstance(shorten, Dispatcher):  # a planted bug, not compiled: Python refuses NaN
        shorten = numba.njit(shorten, error_model="numpy")
    for vector in values:
        found = np.zeros(len(vector), dtype=np.int64)
        shorten(vector, 100, found)
        assert sum(int(part) ** 2 for part in found) <= 100


def check_moments_stay_within_the_integers():
    """They are released only where no cohort's sums leave what noise can be added to."""
    released = []
    for persons in (10**7, 4 * 10**9, 10**10):
        plan = PrivateNewton(1.0, 1e-12).plan(make_constants(persons=persons, covariates=8))
        released.append(Fraction(plan.details["shares"]["moments"]) > 0)
        largest = persons * 181 * (7 * 8 * 2**20 // 10)
        assert largest <= LARGEST_VALUE or not released[-1]
    assert released == [True, True, False]
