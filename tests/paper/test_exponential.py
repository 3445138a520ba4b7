"""The sanitized exponential mechanism: its density keeps epsilon, its chain approaches it."""

import dataclasses
import math

import numpy as np
import pytest

from discreet.design.link import LINKS
from discreet.engine.local import LocalEngine
from discreet.errors import SettingsError
from discreet.forecast import outlook_for
from discreet.likelihood.problem import Problem
from discreet.mechanisms.contract import mechanism_from_settings, settings_of
from discreet.paper.diagnostics import compare
from discreet.paper.exponential import SanitizedExponential, fresh_key, sanitized_records
from discreet.paper.kernel import sanitized_sums
from discreet.paper.metropolis import metropolis
from discreet.paper.sampler import PSGLD
from discreet.privacy.testing import SeededNoise
from discreet.solve import minimise
from discreet.watch import Watcher, watching
from tests.conftest import FALSE_ALARM
from tests.mechanisms.cases import (
    FrozenNoise,
    corner_people,
    hostile_points,
    loss_of,
    make_constants,
    random_person,
)
from tests.support import make_episodes


def plan_of(mechanism, persons=40, **facts):
    return mechanism.plan(make_constants(persons=persons, **facts))


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_the_energy_of_a_person_moves_the_log_density_by_at_most_epsilon(relation):
    epsilon = 0.8
    mechanism = SanitizedExponential(epsilon=epsilon, v=7.0, relation=relation)
    plan = plan_of(mechanism)
    assert plan.guarantee.relation == relation
    # the witness of the proof: losses 0 or huge on opposite sets, the smaller of mass mu
    mu, a, top = 1e-9, plan.number("energy_scale"), 7.0
    first = [math.exp(-a * top), 1.0]  # D loses on the small set S, not elsewhere
    second = [1.0, math.exp(-a * top)] if relation == "replace-one" else [1.0, 1.0]
    ratio = math.log(density_on(second, mu) / density_on(first, mu))
    assert ratio == pytest.approx(epsilon, rel=1e-6)


def density_on(weights, mu):
    return weights[0] / (mu * weights[0] + (1 - mu) * weights[1])


@pytest.mark.parametrize("link", sorted(LINKS))
def test_a_persons_sanitized_loss_lies_between_zero_and_v(link):
    random = np.random.default_rng(2)
    constants = make_constants(persons=2, intervals=9, link=link, time_varying=True)
    corners = corner_people(constants)[::9]
    for point in hostile_points(random, constants, 12):
        for person in (random_person(random, constants, time_varying=True), *corners):
            records = sanitized_records(loss_of([person], constants), 3.0)
            gradient = np.zeros(constants.dimension)
            value = sanitized_sums(records.context(), point, np.array([0]), gradient)
            assert 0.0 <= value <= 3.0
            assert np.all(np.isfinite(gradient))


def test_what_is_charged_is_twice_epsilon_for_the_printed_chain():
    corrected = plan_of(SanitizedExponential(epsilon=0.5))
    printed = SanitizedExponential(epsilon=0.5, sampler=PSGLD(variant="printed"))
    assert corrected.guarantee.epsilon == 0.5
    assert plan_of(printed, coordinates="paper").guarantee.epsilon == 1.0
    assert printed.coordinates == "paper"
    for plan in (corrected, plan_of(printed, coordinates="paper")):
        assert plan.guarantee.status == "ideal-draw-only"
        assert plan.guarantee.delta == 0.0
        assert plan.number("rho_of_an_exact_draw") == plan.guarantee.epsilon**2 / 8


def test_the_papers_defaults():
    plan = plan_of(SanitizedExponential(epsilon=2.0), persons=100)
    bound = 2 * math.log(100)
    assert plan.number("bound") == pytest.approx(bound)
    assert plan.number("energy_scale") == pytest.approx(2.0 / (2 * bound))
    # sigma = 10^-2 2v/epsilon, so that a sigma = 10^-2
    assert plan.number("prior_precision") == 1e-2
    sampler = SanitizedExponential(epsilon=2.0).sampler
    assert (sampler.batch, sampler.tau, sampler.damping) == (200, 0.51, 1e-5)
    assert (sampler.memory, sampler.epochs) == (0.99, 250)


@pytest.mark.parametrize(
    "wrong",
    [
        {"v": 0.0},
        {"sigma": -1.0},
        {"radius": math.inf},
        {"prior": "flat"},
        {"relation": "both"},
        {"relation": "add-remove"},
        {"sampler": 3},
        {"sampler": {"epochs": 0}},
    ],
)
def test_wrong_settings_are_refused(wrong):
    with pytest.raises(SettingsError):
        SanitizedExponential(epsilon=1.0, **wrong)


def test_settings_of_the_chain_survive_json():
    mechanism = SanitizedExponential(epsilon=1.0, sampler=PSGLD(epochs=3, step=0.5))
    settings = settings_of(mechanism)
    assert mechanism_from_settings(settings) == mechanism
    before = {**settings, "sampler": {**settings["sampler"], "chains": 3}}  # 0.2 wrote the number
    assert mechanism_from_settings(before) == mechanism


def test_people_elsewhere_are_refused():
    mechanism, facts = SanitizedExponential(epsilon=1.0), make_constants()
    elsewhere = Problem(object(), facts.design, facts.link)
    with pytest.raises(SettingsError, match="one process"):
        mechanism.draw(plan_of(mechanism), elsewhere, SeededNoise(0))


def test_its_error_is_off_by_the_known_factor():
    outlook = outlook_for(make_constants(covariates=2).design.schema, 20_000, 2000)
    mechanism = SanitizedExponential(epsilon=1.0)
    plan = mechanism.plan(outlook.facts)
    error = outlook.error(mechanism.variance(plan, outlook))
    assert error == pytest.approx(math.sqrt(4 * math.log(20_000)), rel=0.01)


def test_a_key_is_never_zero():
    assert fresh_key(FrozenNoise()) == 1


def people_and_loss(persons=600):
    random = np.random.default_rng(12)
    constants = make_constants(persons=persons, intervals=30, covariates=2)
    engine = LocalEngine(make_episodes(random, persons, 30, 2), threads=1)
    return constants, Problem(engine, constants.design, constants.link)


def test_the_chain_approaches_the_density_and_the_printed_one_does_not():
    constants, loss = people_and_loss()
    mechanism = SanitizedExponential(epsilon=4.0)
    plan = mechanism.plan(constants)
    reference = reference_draws(plan, loss)
    samples = {
        variant: chain_draws(mechanism, plan, loss, variant) for variant in ("corrected", "printed")
    }
    found = {name: compare(states, reference, FALSE_ALARM) for name, states in samples.items()}
    assert found["corrected"].accepted, found["corrected"].scores
    assert not found["printed"].accepted
    ratio = samples["printed"].var(axis=(0, 1)) / reference.var(axis=(0, 1))
    assert np.all(ratio < 0.9)


def chain_draws(mechanism, plan, loss, variant):
    records = sanitized_records(loss, plan.number("bound"))
    sampler = PSGLD(variant=variant, batch=100, step=5e-4, burn_in=8000)
    chosen = dataclasses.replace(mechanism, sampler=sampler)
    found = []
    for seed in range(2):
        chain = sampler.start(chosen.density(plan, records), fresh_key(SeededNoise(seed)))
        chain.advance(30_000, 30_000)
        found.append(chain.advance(90_000, 30))
    return np.stack(found)


def reference_draws(plan, loss):
    """Metropolis-adjusted chains on the same density."""
    records = sanitized_records(loss, plan.number("bound"))
    scale, precision = plan.number("energy_scale"), plan.number("prior_precision")

    def energy(point):
        value, gradient = records.total(point)
        prior = 0.5 * precision * float(point @ point)
        return scale * value + prior, scale * gradient + precision * point

    fit = minimise(loss, np.zeros(plan.dimension))
    covariance = np.linalg.inv(scale * fit.evaluation.hessian + precision * np.eye(plan.dimension))
    found = [
        metropolis(
            energy, fit.point, covariance, np.random.default_rng(seed), draws=2500, burn_in=200
        )
        for seed in range(2)
    ]
    return np.stack(found)


def test_every_step_of_a_draw_is_counted():
    class Count(Watcher):
        total = done = 0

        def begin(self, total):
            self.total += total

        def advance(self, units):
            self.done += units

    constants, loss = people_and_loss(60)
    mechanism = SanitizedExponential(epsilon=1.0, sampler=PSGLD(epochs=5, batch=20, burn_in=50))
    with watching(count := Count()):
        mechanism.draw(mechanism.plan(constants), loss, SeededNoise(4))
    assert count.total == count.done == 5 * 60


def test_a_uniform_prior_stays_in_its_ball():
    constants, loss = people_and_loss(60)
    mechanism = SanitizedExponential(epsilon=0.05, prior="uniform", radius=3.0)
    draws = [
        mechanism.draw(mechanism.plan(constants), loss, SeededNoise(seed)).point
        for seed in range(5)
    ]
    norms = [np.linalg.norm(draw) for draw in draws]
    assert max(norms) <= 3.0 + 1e-8
    assert max(norms) > 0.5
