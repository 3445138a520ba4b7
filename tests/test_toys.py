"""A link, a baseline, a mechanism and an engine added as `docs/architecture.md` says.

Each does what the page promises after its first step, and what is left out is said, not guessed.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pytest

import discreet as ds
from discreet.audit.findings import Effort, Subject
from discreet.audit.run import run_family
from discreet.design.baseline import BASELINES, NaturalSpline
from discreet.design.link import LINKS, CLogLog, Link, get_link
from discreet.engine.engine import add
from discreet.engine.local import LocalEngine
from discreet.errors import SettingsError
from discreet.forecast import NO_PREDICTION, forecasts, outlook_for
from discreet.likelihood.problem import Problem, block_totals
from discreet.mechanisms import OutputPerturbation, contract
from discreet.mechanisms.contract import Draw, Plan, require_positive, settings_of
from discreet.people.encode import to_episodes
from discreet.privacy.guarantee import Guarantee
from tests.baselines import Cut
from tests.cohorts import cohort, schema

MIRROR = CLogLog()


@dataclass(frozen=True)
class LogLog(Link):
    """h = exp(-e^-eta): the complementary log-log in a mirror."""

    name: ClassVar[str] = "loglog"
    reach: ClassVar[float] = 1.4
    cells: ClassVar[tuple] = ((0.125, 14), (0.25, 18), (0.5, 23))
    effect: ClassVar[str] = "log of minus log hazard ratio"

    def predictor(self, hazard):
        return -math.log(-math.log(hazard))

    def hazard(self, eta):
        return np.exp(-np.exp(-eta))

    def survival_loss(self, eta):
        return MIRROR.event_loss(-eta)

    def survival_loss_derivative(self, eta):
        return -MIRROR.event_loss_derivative(-eta)

    def survival_loss_curvature(self, eta):
        return MIRROR.event_loss_curvature(-eta)

    def event_loss(self, eta):
        return MIRROR.survival_loss(-eta)

    def event_loss_derivative(self, eta):
        return -MIRROR.survival_loss_derivative(-eta)

    def event_loss_curvature(self, eta):
        return MIRROR.survival_loss_curvature(-eta)

    def information(self, eta):
        return MIRROR.information(-eta)


def test_a_link_fits_saves_loads_and_is_refused_where_it_is_not_written(monkeypatch, tmp_path):
    monkeypatch.setitem(LINKS, "loglog", LogLog())
    model = ds.SurvivalRegression(schema(), link="loglog").fit(cohort())
    model.save(tmp_path / "model.json")
    again = ds.load(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict_risk(cohort()), model.predict_risk(cohort()))
    model = ds.SurvivalRegression(schema(), link="loglog")
    unread = {"ledger": ds.NO_LEDGER, "persons": 9}
    with pytest.raises(SettingsError, match="slopes of the link loglog"):
        model.publish(object(), mechanism=ds.PrivateNewton(epsilon=1.0), **unread)
    with pytest.raises(SettingsError, match="does not support the link loglog"):
        model.publish(object(), mechanism=OutputPerturbation(epsilon=1.0), **unread)


def test_a_baseline_fits_saves_and_loads(monkeypatch, tmp_path):
    @dataclass(frozen=True)
    class Doubling(Cut):
        @property
        def spelling(self):
            return f"doubling:{self.dimension}"

    def make(count):
        return Doubling(tuple(Fraction(1, 2**power) for power in range(count - 1, 0, -1)))

    monkeypatch.setitem(BASELINES, "doubling", make)
    model = ds.SurvivalRegression(schema(48), baseline="doubling:4", link="logit").fit(cohort())
    model.save(tmp_path / "model.json")
    again = ds.load(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict_risk(cohort()), model.predict_risk(cohort()))


@dataclass(frozen=True)
class ConstantHazard(contract.Mechanism):
    """The events, with noise, as a constant hazard: epsilon-DP, since one person has one event."""

    epsilon: float = contract.NOT_GIVEN
    name: ClassVar[str] = "constant"
    proof: ClassVar[str] = "none"

    def __post_init__(self):
        require_positive("epsilon", self.epsilon)

    def promise(self, persons):  # noqa: ARG002
        return Guarantee(self.epsilon)

    def plan(self, facts):
        return Plan(
            self.name, settings_of(self), self.promise(facts.persons), facts.persons,
            facts.dimension, 1.0 / self.epsilon, -20,
        )  # fmt: skip

    def draw(self, plan, problem, noise):
        events = [problem.totals()[0]]
        noisy = int(noise.l1_laplace(events, Fraction(1) / Fraction(self.epsilon))[0])
        risk = plan.persons * problem.design.intervals
        level = problem.link.predictor(min(max(noisy, 1), risk - 1) / risk)
        point = np.zeros(plan.dimension)
        constant = np.linalg.lstsq(problem.design.basis, np.ones(problem.design.intervals))[0]
        point[: len(constant)] = np.rint(level * constant * 2**20) / 2**20
        return Draw(point, -20, noise.private)


def test_a_mechanism_publishes_and_what_it_has_no_hook_for_is_not_applicable(monkeypatch):
    monkeypatch.setitem(contract._REGISTRY, "constant", ConstantHazard)
    mechanism = ConstantHazard(epsilon=1.0)
    model = ds.SurvivalRegression(schema(), link="logit")
    model.publish(cohort(), mechanism=mechanism, ledger=ds.NO_LEDGER)
    assert model.release_.private
    forecast = {item.mechanism: item for item in forecasts(outlook_for(schema(), 900, 90), 1.0)}
    assert forecast["constant"].note == NO_PREDICTION
    subject = Subject("constant", 1.0)
    for family in ("witness", "constants"):
        verdicts = {item.verdict for item in run_family(family, subject, Effort.quick())}
        assert verdicts == {"not applicable"}
    assert not any(item.failed for item in run_family("neighbours", subject, Effort.quick()))


class Halves:
    """People in two blocks."""

    def __init__(self, episodes):
        middle = episodes.persons // 2
        parts = ((0, middle), (middle, episodes.persons))
        self._blocks = [LocalEngine(episodes.slice(*part), threads=1) for part in parts]
        self.persons = episodes.persons

    def reduce(self, function, *arguments):
        first, second = (block.reduce(function, *arguments) for block in self._blocks)
        return add(first, second)

    def sample(self):
        return self._blocks[0]


def test_an_engine_gives_the_sums_of_memory():
    episodes = to_episodes(cohort(), schema())
    design = ds.SurvivalRegression(schema(), link="logit").fit(cohort()).model_.design
    there, here = Halves(episodes), LocalEngine(episodes)
    np.testing.assert_array_equal(there.reduce(block_totals)[0], here.reduce(block_totals)[0])
    f = np.linspace(-2.0, 0.3, design.dimension)
    halves, whole = (Problem(engine, design, get_link("logit"))(f) for engine in (there, here))
    np.testing.assert_allclose(halves.gradient, whole.gradient, rtol=1e-12, atol=1e-9)
    assert NaturalSpline(3) == design.baseline
