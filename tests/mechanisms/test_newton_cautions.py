"""What releases say against themselves: effects that change, numbers of unknown width."""

import numpy as np
import pandas as pd
import pytest

import discreet as ds

FADING = {
    "time": {"duration": "t", "event": "e", "horizon": 40.0, "intervals": 40},
    "covariate": [
        {"name": "a", "low": -4.0, "high": 4.0},
        {"name": "b", "levels": ["no", "yes"]},
    ],
}


def released(schema, frame, seed, epsilon=4.0, baseline="natural-spline:3"):
    model = ds.SurvivalRegression(schema, baseline=baseline, link="logit")
    return ds.simulate(model, frame, mechanism=ds.PrivateNewton(epsilon, delta=1e-6), seed=seed)


def named(found, code):
    """The coefficients that a caution of this code names."""
    told = [item for item in found.model_.warnings if item.code == code]
    return {name for item in told for name in item.coefficients}


def people(change, seed=3, count=20_000):
    """Effects 0.5 and 0.6; that of `a` rises by `change` from the first to the last interval, twice."""
    random = np.random.default_rng(seed)
    a, b = random.normal(size=count).clip(-4.0, 4.0), random.random(count) < 0.4
    lean = np.linspace(-1.0, 1.0, 40)
    predictor = -4.6 + (0.5 * a + 0.6 * b)[:, None] + 0.35 * lean + change * np.outer(a, lean)
    hits = random.random((count, 40)) < 1.0 / (1.0 + np.exp(-predictor))
    time = np.where(hits.any(axis=1), hits.argmax(axis=1) + 0.5, 40.0)
    return pd.DataFrame({"a": a, "b": np.where(b, "yes", "no"), "t": time, "e": hits.any(axis=1)})


def test_an_effect_that_fades_is_told():
    """It is named with its coefficient early and late, and the other one is not."""
    frame = people(-0.4)
    for seed in range(2):
        found = released(FADING, frame, seed, 16.0)
        assert named(found, "varying") == {"a"}
        first, _ = sorted(found.proportionality().records(), key=lambda row: row["name"])
        assert first["early"] == pytest.approx(0.9, abs=0.25)
        assert first["late"] == pytest.approx(0.1, abs=0.25)


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_constant_effects_are_not_told_to_change(epsilon):
    told = [
        named(released(FADING, people(0.0, seed), seed, epsilon), "varying") for seed in range(4)
    ]
    assert told == [set()] * 4


@pytest.mark.parametrize("high", [4.0, 30.0])
def test_a_fading_effect_is_found_however_wide_the_bounds_are(high):
    schema = {**FADING, "covariate": [{"name": "a", "low": -4.0, "high": high}]}
    frame = people(-0.4)
    exact = ds.SurvivalRegression(schema, link="logit").fit(frame)
    found = released(schema, frame, 1)
    own, private = exact.standard_errors_.covariates["a"], found.standard_errors_.covariates["a"]
    gap = found.coefficients_.covariates["a"] - exact.coefficients_.covariates["a"]
    assert abs(gap) < 2.0 * private
    assert named(found, "varying") == {"a"}
    # in bounds seven times too wide noise may hide people far away, and the interval says so
    assert private < (2.0 if high == 4.0 else 5.0) * own
    assert named(found, "noise") == (set() if high == 4.0 else {"a"})


TIME = {"duration": "t", "event": "e", "horizon": 10.0, "intervals": 40}


def wide(*names):
    """Numbers of unit width in bounds ten times wider than three standard deviations."""
    numbers = [{"name": name, "low": -30.0, "high": 30.0} for name in names]
    return ds.Schema.from_mapping({"time": TIME, "covariate": numbers})


@pytest.mark.parametrize("names", [("value",), ("value", "b", "c", "d")])
def test_intervals_hold_with_few_people_in_bounds_ten_times_too_wide(names):
    """They never did: noise far away was taken for people, and effects were held back."""
    random, held, flagged, draws = np.random.default_rng(4), 0, 0, 8
    x = random.normal(size=(2_000, len(names)))
    time = random.geometric(1.0 / (1.0 + np.exp(5.2 - 0.6 * x[:, 0])))
    table = pd.DataFrame(x, columns=list(names))
    table = table.assign(t=np.minimum(time, 40) / 4.0 - 0.1, e=time <= 40)
    model = ds.SurvivalRegression(wide(*names), baseline="natural-spline:2", link="logit")
    exact = model.fit(table).coefficients_.covariates["value"]
    for seed in range(draws):
        found = released(wide(*names), table, seed, 1.0, "natural-spline:2")
        gap = abs(found.coefficients_.covariates["value"] - exact)
        held += gap < 1.96 * found.standard_errors_.covariates["value"]
        flagged += "value" in named(found, "unreached")
    assert held >= draws - 2
    assert flagged <= 3 * draws // 4  # people whom noise may hide widen the interval as well


@pytest.mark.parametrize(("middle", "count"), [(0.0, 1_000), (15.0, 1_000), (0.0, 500)])
def test_a_number_whose_width_no_release_knows_is_not_reached(middle, count):
    """Bounds ten times too wide for six numbers, wherever within them the people are."""
    random, names = np.random.default_rng(6), list("uvwxyz")
    table = pd.DataFrame(random.normal(middle, 1.0, size=(count, 6)), columns=names)
    table = table.assign(t=random.uniform(0.0, 9.9, count), e=random.random(count) < 0.5)
    schema, told, held = wide(*names), [], []
    exact = ds.SurvivalRegression(schema, baseline="natural-spline:2", link="logit").fit(table)
    for seed in range(4):
        found = released(schema, table, seed, 1.0, "natural-spline:2")
        for name in names:
            gap = found.coefficients_.covariates[name] - exact.coefficients_.covariates[name]
            told.append(name in named(found, "unreached"))
            held.append(abs(gap) < 1.96 * found.standard_errors_.covariates[name])
    assert np.mean(told) > 0.7
    assert np.mean(held) > 0.8


def test_a_number_that_most_do_not_have_is_not_taken_for_a_narrow_one():
    """A missing number adds nothing to its second moment, as a narrow one would not."""
    random, count = np.random.default_rng(8), 3_000
    table = pd.DataFrame(random.normal(size=(count, 2)), columns=["x", "y"]).clip(-3.0, 3.0)
    table["x"] = table["x"].where(random.random(count) > 0.7)
    table = table.assign(t=random.uniform(0.0, 9.9, count), e=random.random(count) < 0.5)
    numbers = [{"name": name, "low": -3.0, "high": 3.0} for name in ("x", "y")]
    numbers[0]["missing"] = "indicator"
    schema = ds.Schema.from_mapping({"time": TIME, "covariate": numbers})
    drawn = [released(schema, table, seed, 1.0, "natural-spline:2") for seed in range(5)]
    assert sum("x" in named(found, "unreached") for found in drawn) <= 1
