"""The contract that every registered mechanism keeps, asked of each of them unasked."""

import dataclasses
import json
import logging
import math
import warnings
from pathlib import Path

import numpy as np
import pytest

import discreet.mechanisms
from discreet.design.baseline import NaturalSpline
from discreet.design.design import Design
from discreet.design.schema import Schema
from discreet.errors import SchemaError, SettingsError
from discreet.mechanisms.contract import (
    Draw,
    Facts,
    Mechanism,
    Plan,
    get_mechanism,
    mechanism_from_settings,
    registered,
    settings_of,
)
from discreet.paper import SanitizedExponential
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.noise import SystemNoise
from discreet.privacy.testing import SeededNoise
from discreet.solve import minimise
from tests.mechanisms.cases import (
    FrozenNoise,
    corner_people,
    loss_of,
    make_constants,
    random_person,
)

PAGES = Path(__file__).parents[2] / "docs" / "proofs"
NOT_POSITIVE = [0, 0.0, -1.0, math.inf, -math.inf, math.nan, None, "1", True]

each_mechanism = pytest.mark.parametrize("name", sorted({*registered(), SanitizedExponential.name}))


def make(name, epsilon=1.0):
    """The mechanism with its defaults and what it must be given."""
    kind = get_mechanism(name)
    known = {item.name for item in dataclasses.fields(kind)}
    return kind(epsilon=epsilon, **({"delta": 1e-6} if "delta" in known else {}))


def neighbours(constants, persons, seed=3):
    random = np.random.default_rng(seed)
    people = [random_person(random, constants) for _ in range(persons)]
    return people, [*people[:-1], corner_people(constants)[1]]


def test_every_mechanism_of_the_folder_is_known_to_the_package():
    folder = Path(discreet.mechanisms.__file__).parent
    imports = (folder / "__init__.py").read_text()
    for path in folder.glob("*.py"):
        if "\n@register\n" in path.read_text():
            assert f"from discreet.mechanisms.{path.stem} import" in imports


@each_mechanism
def test_it_is_a_frozen_dataclass_of_settings_with_a_proof_page(name):
    mechanism = make(name)
    assert isinstance(mechanism, Mechanism)
    assert mechanism.name == name
    assert (PAGES / f"{mechanism.proof}.md").is_file()
    with pytest.raises(dataclasses.FrozenInstanceError):
        mechanism.epsilon = 2.0


@each_mechanism
def test_settings_survive_json_and_nothing_else_does(name):
    mechanism = make(name)
    mapping = json.loads(json.dumps(settings_of(mechanism), allow_nan=False))
    assert mechanism_from_settings(mapping) == mechanism
    with pytest.raises(SettingsError):
        mechanism_from_settings({**mapping, "extra": 1})
    with pytest.raises(SettingsError):
        mechanism_from_settings({key: value for key, value in mapping.items() if key != "epsilon"})
    with pytest.raises(SettingsError):
        mechanism_from_settings({**mapping, "name": "no such mechanism"})
    with pytest.raises(SettingsError):
        mechanism_from_settings({**mapping, "name": 3})


@each_mechanism
@pytest.mark.parametrize("epsilon", NOT_POSITIVE)
def test_an_epsilon_that_promises_nothing_is_refused(name, epsilon):
    with pytest.raises(SettingsError, match="epsilon"):
        make(name, epsilon)


@each_mechanism
def test_a_missing_epsilon_is_refused(name):
    with pytest.raises(SettingsError, match="epsilon"):
        get_mechanism(name)()


@each_mechanism
def test_a_delta_that_is_no_probability_is_refused(name):
    kind = get_mechanism(name)
    if "delta" not in {item.name for item in dataclasses.fields(kind)}:
        pytest.skip("the mechanism is pure")
    (default,) = [item.default for item in dataclasses.fields(kind) if item.name == "delta"]
    refused = [-1.0, 1.0, math.inf, math.nan, "0"] + ([] if default is None else [None])
    for delta in refused:
        with pytest.raises(SettingsError, match="delta"):
            kind(epsilon=1.0, delta=delta)


@each_mechanism
def test_covariates_without_bounds_are_refused_before_any_plan(name):
    schema = Schema.from_mapping(
        {
            "time": {"duration": "t", "event": "e", "horizon": 1.0, "intervals": 10},
            "covariate": [{"name": "age"}],
        }
    )
    with pytest.raises(SchemaError, match="age"):
        make(name).plan(Facts(10, Design(schema, NaturalSpline(3)), make_constants().link))


@each_mechanism
def test_a_plan_is_a_function_of_public_facts_alone(name):
    mechanism = make(name)
    constants = make_constants(persons=40, coordinates=mechanism.coordinates)
    first, second = mechanism.plan(constants), mechanism.plan(constants)
    assert first.public() == second.public()
    assert first.guarantee == second.guarantee
    json.dumps(first.public(), allow_nan=False)


@each_mechanism
def test_the_guarantee_is_what_was_asked_for_and_survives_json(name):
    mechanism = make(name, 0.7)
    plan = mechanism.plan(make_constants(persons=40, coordinates=mechanism.coordinates))
    guarantee = plan.guarantee
    assert guarantee.epsilon <= 0.7
    assert guarantee.unit == "person"
    assert plan.guarantee.relation in {"replace-one", "add-remove"}
    assert Guarantee.from_mapping(json.loads(json.dumps(guarantee.to_mapping()))) == guarantee


@each_mechanism
def test_smaller_epsilon_means_more_noise(name):
    mechanism = make(name)
    constants = make_constants(persons=400, coordinates=mechanism.coordinates)
    ridge = {"ridge": 0.5} if "ridge" in settings_of(mechanism) else {}
    scales = [
        dataclasses.replace(make(name, epsilon), **ridge).plan(constants).noise_scale
        for epsilon in (0.5, 1.0, 2.0)
    ]
    assert scales[0] > scales[1] > scales[2]


@each_mechanism
def test_a_draw_lies_on_its_grid_and_says_whether_it_is_private(name):
    mechanism = make(name)
    constants = make_constants(persons=60, coordinates=mechanism.coordinates)
    plan = mechanism.plan(constants)
    people, _ = neighbours(constants, 60)
    loss = loss_of(people, constants)
    draw = mechanism.draw(plan, loss, SeededNoise(0))
    steps = np.ldexp(draw.point, -plan.grid_exponent)
    assert draw.grid_exponent == plan.grid_exponent
    assert np.array_equal(steps, np.rint(steps))
    assert draw.point.shape == (constants.dimension,)
    assert draw.private is False
    assert all(np.all(np.isfinite(values)) for values in draw.extras.values())
    again = mechanism.draw(plan, loss, SystemNoise()), mechanism.draw(plan, loss, SystemNoise())
    assert again[0].private is True
    assert not np.array_equal(again[0].point, again[1].point)


@each_mechanism
def test_control_flow_does_not_depend_on_the_data(name, capfd, caplog):
    mechanism = make(name)
    constants = make_constants(persons=30, coordinates=mechanism.coordinates)
    plan = mechanism.plan(constants)
    traces = []
    for people in neighbours(constants, 30):
        noise = FrozenNoise()
        with (
            warnings.catch_warnings(record=True) as caught,
            caplog.at_level(logging.DEBUG, "discreet"),
        ):
            draw = mechanism.draw(plan, loss_of(people, constants), noise)
        shapes = {key: values.shape for key, values in draw.extras.items()}
        traces.append((noise.calls, [str(w.message) for w in caught], shapes, draw.point.shape))
    assert traces[0] == traces[1]
    assert capfd.readouterr() == ("", "")
    assert caplog.text == ""


@each_mechanism
def test_hostile_people_never_stop_a_draw(name):
    mechanism = make(name)
    constants = make_constants(persons=6, intervals=7, coordinates=mechanism.coordinates)
    plan = mechanism.plan(constants)
    corners = corner_people(constants)
    everybody = {
        "nobody at risk": [corners[0]] * 6,
        "all censored": [corners[1]] * 6,
        "all die at once": [corners[4]] * 6,
        "all alike": [corners[2]] * 6,
    }
    for people in everybody.values():
        draw = mechanism.draw(plan, loss_of(people, constants), SeededNoise(2))
        assert np.all(np.isfinite(draw.point))


@each_mechanism
def test_a_huge_epsilon_recovers_the_fit(name):
    mechanism = make(name, 1e9)
    # the people enter late, so the schema has to allow for it: a picture of them does
    constants = make_constants(persons=400, coordinates=mechanism.coordinates, late_entry=True)
    plan = mechanism.plan(constants)
    if plan.guarantee.status == "ideal-draw-only":
        pytest.skip("a chain stands in for the draw")
    people, _ = neighbours(constants, 400)
    loss = loss_of(people, constants)
    fit = minimise(loss, np.zeros(constants.dimension), tolerance=1e-7)
    gap = mechanism.draw(plan, loss, SeededNoise(1)).point - fit.point
    assert math.sqrt(gap @ fit.evaluation.hessian @ gap / constants.dimension) < 1.0


def test_an_unknown_mechanism_is_refused():
    with pytest.raises(SettingsError, match="known mechanisms"):
        get_mechanism("magic")


def test_a_draw_off_the_grid_cannot_be_made():
    with pytest.raises(SettingsError, match="grid"):
        Draw(np.array([0.1]), -3, private=True)
    with pytest.raises(SettingsError, match="grid"):
        Draw(np.array([math.nan]), -3, private=True)
    assert Draw.from_integers([3, -1], -2, private=True).point.tolist() == [0.75, -0.25]


def test_a_plan_cannot_be_changed_after_it_was_made():
    plan = Plan("x", {"a": 1}, Guarantee(1.0), 3, 2, 1.0, -3, {"ridge": 2.0, "word": "no"})
    with pytest.raises(TypeError):
        plan.details["ridge"] = 0.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        plan.noise_scale = 0.0
    assert plan.grid_exponent == -3
    with pytest.raises(SettingsError, match="not a number"):
        plan.number("word")


@pytest.mark.parametrize("persons", [0, -1, 2.5, True, "3"])
def test_constants_need_a_number_of_persons(persons):
    with pytest.raises(SettingsError, match="persons"):
        make_constants(persons=persons)
