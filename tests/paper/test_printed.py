"""The paper's perturbations to the letter, which nobody may publish."""

import numpy as np
import pytest

from discreet.errors import SettingsError
from discreet.mechanisms.contract import mechanism_from_settings, registered
from discreet.mechanisms.perturbation import coordinates_from
from discreet.mechanisms.solve import CentredObjective
from discreet.paper.printed import (
    PrintedObjective,
    PrintedOutput,
    gradient_sensitivity,
    jacobian_bound,
)
from discreet.solve import minimise
from tests.mechanisms.cases import FrozenNoise, make_constants
from tests.mechanisms.test_output import cohort


def test_the_printed_output_is_algorithm_1_and_is_not_published():
    constants = make_constants(persons=200, coordinates="paper")
    mechanism = PrintedOutput(epsilon=2.0, ridge=0.01)
    plan = mechanism.plan(constants)
    printed = gradient_sensitivity(constants.design.norms)
    assert plan.noise_scale == pytest.approx(printed / (200 * 0.01 * 2.0), rel=1e-12)
    assert plan.guarantee.status == "unproved"
    draw = mechanism.draw(plan, cohort(constants, 200), FrozenNoise())
    objective = CentredObjective(
        cohort(constants, 200),
        coordinates_from({"centre": [0.0] * 5, "baseline": 0, "baseline_shift": 0}),
        2.0,
        np.zeros(5),
    )
    exact = minimise(objective, np.zeros(5)).point
    assert draw.point == pytest.approx(exact, abs=1e-6)


def test_they_ask_for_their_ridge_and_their_coordinates():
    with pytest.raises(SettingsError, match="ridge"):
        PrintedOutput(epsilon=1.0)
    mechanism = PrintedOutput(epsilon=1.0, ridge=0.1)
    assert mechanism.coordinates == "paper"
    with pytest.raises(SettingsError, match="coordinates"):
        mechanism.plan(make_constants())


def test_the_printed_objective_is_algorithm_2_and_is_not_published():
    constants = make_constants(persons=200, coordinates="paper")
    norms = constants.design.norms
    roomy = PrintedObjective(epsilon=4.0, ridge=1.0).plan(constants)
    left = 4.0 - jacobian_bound(norms, 200.0)
    assert roomy.noise_scale == pytest.approx(gradient_sensitivity(norms) / left)
    assert roomy.number("total_ridge") == 200.0
    tight = PrintedObjective(epsilon=0.1, ridge=1e-4).plan(constants)
    assert jacobian_bound(norms, tight.number("total_ridge")) == pytest.approx(0.05)
    assert tight.noise_scale == pytest.approx(gradient_sensitivity(norms) / 0.05)
    for plan in (roomy, tight):
        assert plan.guarantee.status == "unproved"


@pytest.mark.parametrize("name", ["output", "objective"])
def test_releases_of_the_first_version_are_read_and_printed_ones_are_not(name):
    old = {"name": name, "epsilon": 1.0, "ridge": None, "survival": 0.5, "variant": "corrected"}
    assert mechanism_from_settings(old) == registered()[name](epsilon=1.0)
    for wrong in (old | {"variant": "printed"}, old | {"other": 1}):
        with pytest.raises(SettingsError, match="exactly those it declares"):
            mechanism_from_settings(wrong)
    with pytest.raises(SettingsError, match="exactly those it declares"):
        mechanism_from_settings({"name": "newton", "epsilon": 1.0, "variant": "corrected"})
