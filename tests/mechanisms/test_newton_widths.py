"""How wide a number is: counts that noise fills, second moments that tell, and what nobody can know."""

import numpy as np
import pandas as pd
import pytest

import discreet as ds
from discreet.core.bins import UNIT, Marginal, Stretches, exit_edges
from discreet.core.question import moment_limit
from discreet.core.released import Released
from discreet.design.baseline import NaturalSpline
from discreet.design.design import Design
from discreet.estimator.tails import all_within, occupied, people_in_bins
from discreet.mechanisms.newton.cohort import INNER, LAST, released_shares
from discreet.mechanisms.newton.layout import moment_part
from discreet.mechanisms.newton.picture import spreads_of
from discreet.mechanisms.newton.releases import Releases
from discreet.mechanisms.newton.widths import weighed_shares

PEOPLE, NOISE = 2_000, 40.0
TIME = {"duration": "t", "event": "e", "horizon": 10.0, "intervals": 40}


def schema(times, *names):
    """Numbers of unit width in bounds so many times wider than three standard deviations."""
    numbers = [{"name": name, "low": -3.0 * times, "high": 3.0 * times} for name in names]
    return ds.Schema.from_mapping({"time": TIME, "covariate": numbers})


def normal_counts(edges, centre=0.0):
    """People of a normal number between the edges."""
    many = np.sort(np.random.default_rng(1).normal(centre, 1.0, 400_000))
    return np.diff(np.searchsorted(many, edges)) * PEOPLE / len(many)


def test_people_on_both_sides_of_the_middle_are_found():
    """Neither half of them stands out alone: the run that does may begin anywhere."""
    counts = np.where(np.isin(np.arange(64), (31, 32)), 120.0, 0.0)
    assert occupied(counts, NOISE) == (31, 33)
    assert occupied(np.roll(counts, 7), NOISE) == (38, 40)


def test_bins_are_added_until_they_hold_everybody_but_a_few():
    counts = np.zeros(64)
    counts[28:36] = [9.0, 9.0, 9.0, 900.0, 900.0, 9.0, 9.0, 100.0]
    assert occupied(counts, 5.0) == (31, 36)
    assert occupied(counts, 5.0, mass=1900.0) == (31, 36)  # a twentieth may be elsewhere
    assert occupied(counts, 5.0, mass=2400.0) == (0, 64)
    spike = np.where(np.arange(64) == 20, 1000.0, 0.0)
    assert occupied(spike, 5.0, mass=1000.0) == (20, 21)
    assert occupied(spike + np.where(abs(np.arange(64) - 20) == 1, 9.0, 0.0), 3.0, 1100.0)[0] == 0


def test_noise_alone_does_not_add_bins():
    """With one standard deviation to spare the whole range was returned in three of a hundred draws."""
    random, people = np.random.default_rng(3), np.zeros(32)
    people[12:20] = PEOPLE / 8
    runs = [occupied(people + 46.0 * random.normal(size=32), 46.0, PEOPLE) for _ in range(600)]
    assert np.mean([last - first >= 16 for first, last in runs]) < 0.02


def test_everybody_may_be_in_a_bin_or_two():
    spike = np.where(np.arange(8) == 3, 500.0, 0.0)
    assert all_within(spike, NOISE, 1)
    pair = spike + np.roll(spike, 1)
    assert not all_within(pair, NOISE, 1)
    assert all_within(pair, NOISE, 2)
    assert not all_within(np.full(8, 100.0), NOISE, 2)
    assert all_within(np.full(1, 100.0), NOISE, 1)


FINE = Marginal((0,), 18, (-30.0, *np.linspace(-7.5, 7.5, 17), 30.0))
"""Sixteen bins for people in the middle six of them, and a wide one on either side."""


def width(counts, *, narrow=False):
    found = people_in_bins(FINE, counts, PEOPLE, NOISE, narrow=narrow)
    assert found.min() >= 0.0
    assert found.sum() == pytest.approx(PEOPLE)
    return float(np.sqrt(found @ (FINE.middles) ** 2 / PEOPLE))


def test_noise_in_empty_bins_is_taken_for_people_by_one_reading_and_not_by_the_other():
    random, counted, narrow = np.random.default_rng(2), [], []
    for _ in range(40):
        counts = normal_counts(FINE.edges) + NOISE * random.normal(size=FINE.bins)
        counted.append(width(counts))
        narrow.append(width(counts, narrow=True))
    assert np.median(counted) > 1.2 * np.median(narrow)
    assert 0.9 < np.median(narrow) < 1.3


def test_a_wide_bin_is_compared_with_the_bins_before_it_not_with_everybody():
    """Half of the people were on that side: an eighth of these was expected in an empty bin."""
    counts = normal_counts(FINE.edges)
    counts[-1] = 1.5 * NOISE
    found = people_in_bins(FINE, counts, PEOPLE, NOISE)
    assert found[-1] < 2.0
    counts[-6:-1] = 5.0 * NOISE  # a tail that leads there
    assert people_in_bins(FINE, counts, PEOPLE, NOISE)[-1] > 20.0


def test_people_of_a_wide_bin_are_near_the_others():
    design = Design(schema(1, "x"), NaturalSpline(2))
    edges = tuple(float(design.covariates.ranges[0]) * edge / 30.0 for edge in FINE.edges)
    marginal = Marginal((0,), FINE.bins, (edges[0], 2 * edges[1], *edges[1:]))
    marginal = Marginal((0,), 19, marginal.edges)
    (item,) = released_shares(design, (marginal,), np.full(19, 100.0), 1900, 1.0)
    last, inner = item.centres[:2, 0]
    assert inner == pytest.approx(edges[1] * (1.0 + INNER / 2.0))
    assert last == pytest.approx(2 * edges[1] + (edges[0] - 2 * edges[1]) * LAST / 2.0)
    assert item.half_width[1] == pytest.approx(abs(edges[1]) * INNER / 2.0)


def pictured(squares):
    """The spread of a number whose counts are noisy and whose second moment is this, times its own."""
    design = Design(schema(10, "x", "y"), NaturalSpline(2))
    scale = float(design.covariates.scale[0])
    marginals = tuple(
        Marginal((place,), FINE.bins, tuple(edge * scale for edge in FINE.edges))
        for place in (0, 1)
    )
    counts = normal_counts(FINE.edges)
    counts[[2, 3, 14, 15]] += 2.0 * NOISE
    edges = exit_edges(40, 5)
    exits = Released(np.full(2 * len(edges) - 2, PEOPLE / (2 * len(edges) - 2)), 1.0)
    first = Releases(PEOPLE, edges, exits, Stretches((0, 40)))
    releases = first.having(marginals=marginals, counts=Released(np.tile(counts, 2), NOISE))
    wide, narrow = (releases.shares(design, narrow=flag) for flag in (False, True))
    spreads = spreads_of(wide)
    assert spreads[0] > 1.4 * spreads_of(narrow)[0]
    half = np.array([squares, 0.0, squares]) * PEOPLE * moment_part(2)
    moments = Released(half, 0.01 * PEOPLE)
    found = weighed_shares(design, releases.having(moments=moments), spreads)
    return [float(item[0].spread[0]) for item in (wide, narrow, found)]


def test_second_moments_tell_people_far_away_from_noise():
    assert moment_limit(2) < 2 * UNIT**2  # vectors are shortened: what is left is asked of a cohort
    wide, narrow, little = pictured(0.3)
    assert little == pytest.approx(narrow)
    assert pictured(1.0)[2] == pytest.approx(wide)


def unreached(found):
    """What the release says that the data do not reach."""
    told = [item for item in found.model.warnings if item.code == "unreached"]
    return {name for item in told for name in item.coefficients}


@pytest.mark.parametrize("names", [("value",), ("value", "b", "c", "d")])
def test_intervals_hold_with_few_people_in_bounds_ten_times_too_wide(names):
    """They never did: noise far away was taken for people, and effects were held back."""
    random, held, flagged, draws = np.random.default_rng(4), 0, 0, 12
    x = random.normal(size=(PEOPLE, len(names)))
    chance = 1.0 / (1.0 + np.exp(5.2 - 0.6 * x[:, 0]))
    time = random.geometric(chance)
    table = pd.DataFrame(x, columns=list(names))
    table = table.assign(t=np.minimum(time, 40) / 4.0 - 0.1, e=time <= 40)
    model = ds.SurvivalRegression(schema(10, *names), baseline="natural-spline:2", link="logit")
    exact = model.fit(table).coefficients_.covariates["value"]
    for seed in range(draws):
        found = ds.simulate(model, table, mechanism=ds.PrivateNewton(1.0, delta=1e-6), seed=seed)
        gap = abs(found.coefficients_.covariates["value"] - exact)
        held += gap < 1.96 * found.standard_errors_.covariates["value"]
        flagged += "value" in unreached(found)
    assert held >= draws - 2
    assert flagged <= draws // 2


@pytest.mark.parametrize(("middle", "people"), [(0.0, 1_000), (15.0, 1_000), (0.0, 500)])
def test_a_number_whose_width_nobody_knows_is_not_reached(middle, people):
    """Bounds ten times too wide for six numbers: intervals were half of the exact ones and less.

    Wherever within the bounds the people are, and without second moments (500 people) too.
    """
    random, names = np.random.default_rng(6), list("uvwxyz")
    table = pd.DataFrame(random.normal(middle, 1.0, size=(people, 6)), columns=names)
    table = table.assign(t=random.uniform(0.0, 9.9, people), e=random.random(people) < 0.5)
    model = ds.SurvivalRegression(schema(10, *names), baseline="natural-spline:2", link="logit")
    exact, told, held = model.fit(table), [], []
    for seed in range(6):
        found = ds.simulate(model, table, mechanism=ds.PrivateNewton(1.0, delta=1e-6), seed=seed)
        named = unreached(found)
        for name in names:
            gap = found.coefficients_.covariates[name] - exact.coefficients_.covariates[name]
            told.append(name in named)
            held.append(abs(gap) < 1.96 * found.standard_errors_.covariates[name])
    assert np.mean(told) > 0.7
    assert np.mean(held) > 0.8


def test_a_number_that_most_do_not_have_is_not_taken_for_a_narrow_one():
    """A missing number adds nothing to its second moment, as a narrow one would not."""
    random, people = np.random.default_rng(8), 3_000
    table = pd.DataFrame(random.normal(size=(people, 2)), columns=["x", "y"]).clip(-3.0, 3.0)
    table["x"] = table["x"].where(random.random(people) > 0.7)
    table = table.assign(t=random.uniform(0.0, 9.9, people), e=random.random(people) < 0.5)
    numbers = [{"name": name, "low": -3.0, "high": 3.0} for name in ("x", "y")]
    numbers[0]["missing"] = "indicator"
    declared = ds.Schema.from_mapping({"time": TIME, "covariate": numbers})
    model, named = ds.SurvivalRegression(declared, baseline="natural-spline:2", link="logit"), []
    for seed in range(6):
        found = ds.simulate(model, table, mechanism=ds.PrivateNewton(1.0, delta=1e-6), seed=seed)
        named.append("x" in unreached(found))
    assert sum(named) <= 1


def test_what_is_made_of_a_number_of_unknown_width_is_not_reached_either():
    """A spline and a product of it hang on where its people are, as its own effect does."""
    random, people, names = np.random.default_rng(6), 500, list("uvwxyz")
    table = pd.DataFrame(random.normal(0.0, 1.0, size=(people, 6)), columns=names)
    table = table.assign(s=np.where(random.random(people) < 0.5, "a", "b"))
    table = table.assign(t=random.uniform(0.0, 9.9, people), e=random.random(people) < 0.5)
    numbers = [{"name": name, "low": -30.0, "high": 30.0} for name in names]
    numbers[0]["scale"] = "spline:4"
    covariates = [*numbers, {"name": "s", "levels": ["a", "b"]}]
    mapping = {"time": TIME, "covariate": covariates, "interaction": [{"of": ["v", "s"]}]}
    model = ds.SurvivalRegression(
        ds.Schema.from_mapping(mapping), baseline="natural-spline:2", link="logit"
    )
    made, told = {"u": [], "v": []}, 0
    for seed in range(4):
        found = ds.simulate(model, table, mechanism=ds.PrivateNewton(1.0, delta=1e-6), seed=seed)
        named = unreached(found)
        every = list(found.coefficients_.covariates)
        for lead, rest in made.items():
            rest[:] = [name for name in every if name.startswith(lead)]
            if lead in named or rest[0] in named:
                told += 1
                assert set(rest) <= named
    assert len(made["u"]) > 1
    assert len(made["v"]) > 1
    assert told > 3
