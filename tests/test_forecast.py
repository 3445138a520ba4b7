"""The planner: public facts in, predicted errors out; near what a fit then gives."""

import math
from functools import cache

import numpy as np
import pytest
from typer.testing import CliRunner

import discreet as ds
from discreet.cli.app import app
from discreet.design.baseline import NaturalSpline
from discreet.design.schema import Schema
from discreet.engine.local import LocalEngine
from discreet.errors import SchemaError, SettingsError
from discreet.forecast import forecasts, needed_epsilon, outlook_for
from discreet.likelihood.problem import Problem
from discreet.mechanisms import PrivateNewton
from discreet.mechanisms.contract import registered
from discreet.mechanisms.newton.duration import expected_time
from discreet.mechanisms.outlook import CovariateSpread
from discreet.people.episodes import Episodes
from discreet.privacy.testing import SeededNoise

TIME = {"duration": "t", "event": "e", "horizon": 10.0, "intervals": 20}
AGE = {"name": "age", "low": 20.0, "high": 90.0}
SITE = {"name": "site", "levels": ["a", "b", "c"]}
SCHEMA = Schema.from_mapping({"time": TIME, "covariate": [AGE, SITE]})
TOML = """
[time]
duration = "t"
event = "e"
horizon = 10
intervals = 20
[[covariate]]
name = "age"
low = 20
high = 90
[[covariate]]
name = "site"
levels = ["a", "b", "c"]
"""


@cache  # a rehearsal takes seconds
def errors(persons=20_000, events=2000, epsilon=1.0, **settings):
    """err by mechanism."""
    outlook = outlook_for(SCHEMA, persons, events, link="logit")
    return {item.mechanism: item.error for item in forecasts(outlook, epsilon, **settings)}


def test_every_registered_mechanism_has_a_prediction():
    found = errors()
    assert set(found) == set(registered())
    assert all(error is not None and 0 < error < 1000 for error in found.values())


@pytest.mark.parametrize("name", ["newton", "objective", "output"])
def test_more_privacy_costs_accuracy(name):
    found = [errors(epsilon=epsilon)[name] for epsilon in (0.1, 0.5, 2.0, 8.0)]
    assert found == sorted(found, reverse=True)


def test_noise_relative_to_sampling_falls_with_the_number_of_people():
    found = [errors(persons, persons // 10)["newton"] for persons in (2000, 20_000, 200_000)]
    assert found == sorted(found, reverse=True)
    assert found[1] > errors(epsilon=1.0, delta=4e-5)["newton"]


def test_the_cohort_has_the_stated_events_and_textbook_standard_errors(monkeypatch):
    monkeypatch.setattr("discreet.mechanisms.outlook.CORRELATION", 0.0)
    outlook = outlook_for(SCHEMA, 5000, 1000, link="logit")
    exits = outlook.transcript(np.array([0, 3, outlook.design.intervals]), 4).exits.values
    assert exits[0, 1].sum() == pytest.approx(1000)
    assert exits.sum() == pytest.approx(5000)
    # grouped exponential survival: information of a coefficient is events times variance
    age = 1 / (math.sqrt(1000) * 70 / math.sqrt(12))
    level = math.sqrt(2 / (1000 / 3))
    expected = [age, level, level]
    assert np.allclose(outlook.sampling_errors, expected, rtol=0.03)


def test_covariates_that_go_together_are_known_less_well(monkeypatch):
    together = outlook_for(SCHEMA, 5000, 1000, link="logit").sampling_errors
    monkeypatch.setattr("discreet.mechanisms.outlook.CORRELATION", 0.0)
    alone = outlook_for(SCHEMA, 5000, 1000, link="logit").sampling_errors
    assert all(1.02 < one / other < 1.5 for one, other in zip(together, alone, strict=True))


def test_what_is_known_of_covariates_is_used():
    """Half the deviation doubles the standard error; a rare level is known less well."""
    plain = outlook_for(SCHEMA, 20_000, 2000, link="logit")
    uniform = 70 / math.sqrt(12)
    told = CovariateSpread(sd={"age": uniform / 2}, shares={"site": [0.8, 0.15, 0.05]})
    known = outlook_for(SCHEMA, 20_000, 2000, known=told, link="logit")
    ratio = np.array(known.sampling_errors) / np.array(plain.sampling_errors)
    assert ratio[0] == pytest.approx(2.0, rel=0.1)
    assert ratio[2] > 1.5
    same = outlook_for(
        SCHEMA, 20_000, 2000, known=CovariateSpread(sd={"age": uniform}), link="logit"
    )
    assert np.allclose(same.sampling_errors, plain.sampling_errors, rtol=0.05)


@pytest.mark.parametrize(
    ("known", "says"),
    [
        (CovariateSpread(sd={"bmi": 4.0}), "no covariate 'bmi'"),
        (CovariateSpread(sd={"site": 4.0}), "'site' is not a number"),
        (CovariateSpread(sd={"age": 40.0}), "between 0 and 35"),
        (CovariateSpread(shares={"site": [0.5, 0.5]}), "one share for each"),
        (CovariateSpread(shares={"age": [0.5, 0.5]}), "one share for each"),
        (CovariateSpread(shares={"site": [1.0, 0.0, 0.0]}), "must be positive"),
    ],
)
def test_what_cannot_be_known_is_refused(known, says):
    with pytest.raises(SettingsError, match=says):
        outlook_for(SCHEMA, 20_000, 2000, known=known, link="logit")


def test_the_command_takes_what_is_known(tmp_path):
    (tmp_path / "schema.toml").write_text(TOML)
    base = ["plan", "--schema", str(tmp_path / "schema.toml"), "--persons", "20000"]
    base += ["--events", "2000", "--epsilon", "1"]
    told = CliRunner().invoke(app, [*base, "--sd", "age: 10", "--shares", "site: 0.8, 0.1, 0.1"])
    assert told.exit_code == 0
    assert told.output != CliRunner().invoke(app, base).output
    refused = CliRunner().invoke(app, [*base, "--sd", "age: wide"])
    assert "--sd takes a covariate and numbers" in str(refused.exception)


def test_private_standard_errors_include_sampling():
    outlook = outlook_for(SCHEMA, 20_000, 2000, link="logit")
    for item in forecasts(outlook, 1.0):
        assert np.all(np.array(item.standard_errors) > outlook.sampling_errors)


@pytest.mark.parametrize(("persons", "events"), [(5_000, 2_000), (200_000, 20_000)])
def test_a_large_budget_leads_near_the_standard_errors_without_privacy(persons, events):
    """It said 1.2 times at any epsilon: made-up people are not those of the sampling variance."""
    outlook = outlook_for(SCHEMA, persons, events, link="logit")
    (plan,) = (item for item in forecasts(outlook, 1000.0) if item.mechanism == "newton")
    times = np.array(plan.standard_errors) / np.array(outlook.sampling_errors)
    assert np.all(times < 1.15)
    assert np.all(times > 1.0)


def test_a_mechanism_that_refuses_the_link_says_why():
    outlook = outlook_for(SCHEMA, 20_000, 2000, link="cloglog")
    found = {item.mechanism: item for item in forecasts(outlook, 1.0)}
    assert found["newton"].error is not None
    assert found["objective"].error is None
    assert "does not support the link cloglog" in found["objective"].note


def test_newton_errs_as_predicted_on_the_cohort_that_was_assumed():
    outlook = outlook_for(SCHEMA, 20_000, 4000, link="logit")
    loss = simulated(outlook)
    best = loss_minimum(loss, np.zeros(outlook.design.dimension))
    hessian = loss(best).hessian
    mechanism = PrivateNewton(1.0)
    plan = mechanism.plan(outlook.facts)
    gaps = [mechanism.draw(plan, loss, SeededNoise(seed)).point - best for seed in range(9)]
    measured = np.median([math.sqrt(gap @ hessian @ gap / len(gap)) for gap in gaps])
    assert 1 / 1.5 < errors(events=4000)["newton"] / measured < 1.5


def simulated(outlook):
    """People from the planner's assumptions."""
    random, persons = np.random.default_rng(3), outlook.persons
    leads, weights = outlook.leads
    x = outlook.design.complete(leads)[random.choice(len(weights), persons, p=weights)]
    intervals = outlook.design.intervals
    hits = random.random((persons, intervals)) < outlook.hazard
    some = hits.any(axis=1)
    exits = np.where(some, hits.argmax(axis=1) + 1, intervals).astype(np.int32)
    order = np.argsort(exits)
    people = Episodes(
        np.ascontiguousarray(x[order]), exits * 0, exits[order], some[order], None, persons
    )
    return Problem(LocalEngine(people), outlook.design, outlook.link)


def loss_minimum(loss, point):
    """A few Newton steps from the truth."""
    for _ in range(8):
        here = loss(point)
        point = point - np.linalg.solve(here.hessian, here.gradient)
    return point


@pytest.mark.parametrize(
    ("persons", "events", "epsilon", "delta", "named"),
    [
        (0, 1, 1.0, None, "n must be"),
        (-5, 1, 1.0, None, "n must be"),
        (10**10 + 1, 1, 1.0, None, "n must be"),
        (100, 101, 1.0, None, "events must be"),
        (100, 0, 1.0, None, "events must be"),
        (100, 10, 0.0, None, "epsilon must be"),
        (100, 10, math.nan, None, "epsilon must be"),
        (100, 10, 1.0, -0.1, "delta must be"),
        (100, 10, 1.0, 1.0, "delta must be"),
        (100, 10, 1.0, 0.02, "Delta is above one divided by the number"),
    ],
)
def test_settings_that_no_fit_has_are_refused(persons, events, epsilon, delta, named):
    with pytest.raises(SettingsError, match=named):
        forecasts(outlook_for(SCHEMA, persons, events, link="logit"), epsilon, delta)


def test_a_schema_without_bounds_is_refused():
    free = Schema.from_mapping({"time": TIME, "covariate": [{"name": "age"}]})
    with pytest.raises(SchemaError, match="age"):
        outlook_for(free, 1000, 100, link="logit")


def test_no_covariates_and_everybody_with_an_event():
    bare = Schema.from_mapping({"time": TIME, "covariate": []})
    outlook = outlook_for(bare, 1000, 1000, baseline=NaturalSpline(3).spelling, link="logit")
    assert all(np.isfinite(item.error) for item in forecasts(outlook, 1.0))


def test_the_command_prints_mechanisms_and_coefficients(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    file = tmp_path / "schema.toml"
    file.write_text(TOML.replace('"site"', '"treatment_site"'))
    asked = f"plan --schema {file} --persons 20000 --events 2000 --epsilon 1".split()
    result = CliRunner().invoke(app, asked)
    assert result.exit_code == 0
    for expected in (*registered(), "treatment_site[b]", "err", "proved"):
        assert expected in result.stdout
    assert "…" not in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_the_command_refuses_in_one_sentence(tmp_path):
    file = tmp_path / "schema.toml"
    file.write_text(TOML)
    asked = f"plan --schema {file} --persons 100 --events 200 --epsilon 1"
    result = CliRunner().invoke(app, asked.split())
    assert isinstance(result.exception, SettingsError)
    assert "events" in str(result.exception)


# --- several epsilons, targets, words


@cache
def compared(**settings):
    return ds.plan(SCHEMA, 20_000, 2_000, **settings)


def test_several_epsilons_are_one_table():
    found = compared(epsilon=(0.5, 1, 4))
    frame = found.to_pandas()
    assert list(frame) == ["not private", "epsilon 0.5", "epsilon 1", "epsilon 4"]
    assert list(frame.index) == ["age", "site[b]", "site[c]"]
    assert (np.diff(frame.to_numpy()[:, 1:], axis=1) < 0).all()
    assert (frame["epsilon 4"] > frame["not private"]).all()
    assert found.widening(0.5) > found.widening(4) >= 1
    assert "times as wide as without privacy" in str(found)
    assert len(found.plot().axes[0].lines) == 4


def test_many_epsilons_fit_a_terminal(monkeypatch):
    """No number is cut: what does not fit stands below, with the names again."""
    epsilons = (0.25, 0.5, 0.75, 1, 2, 4)
    found = compared(epsilon=epsilons)
    for width in (50, 40):
        lines = found.table(width).splitlines()
        assert max(map(len, lines)) <= width
        headings = [line.split()[1:] for line in lines if line.startswith("epsilon ")]
        shown = [word for heading in headings for word in heading]
        assert shown == ["not", "private", *(f"{epsilon:g}" for epsilon in epsilons)]
        rows = [line.split()[1:] for line in lines if line.startswith("age ")]
        values = [found.columns()[name][0] for name in found.columns()]
        assert [word for row in rows for word in row] == [f"{value:.3g}" for value in values]
        assert len(rows) == len(headings) > 1
    assert found.table() in str(found)


def test_the_needed_epsilon_is_enough_and_hardly_more(monkeypatch):
    outlook = compared(epsilon=1).outlook
    margin = 1.96 * compared(epsilon=1).best(1.0).standard_errors[1]
    assert needed_epsilon(outlook, "site[b]", margin) == pytest.approx(1.0, rel=0.05)
    assert needed_epsilon(outlook, "site", margin) >= needed_epsilon(outlook, "site[b]", margin)
    assert needed_epsilon(outlook, "site", 1e-9) is None
    with pytest.raises(SettingsError, match="no coefficient 'sex'"):
        needed_epsilon(outlook, "sex", 0.1)


def test_the_recommendation_says_when_privacy_costs_much():
    assert "costs much" in compared(epsilon=0.001).recommendation()
    assert "dear" not in compared(epsilon=4.0).recommendation()


def test_the_command_answers_targets_and_draws(tmp_path, monkeypatch, printed, command):
    (tmp_path / "schema.toml").write_text(TOML)
    monkeypatch.chdir(tmp_path)
    asked = "plan --schema schema.toml --persons 20000 --events 2000 --epsilon 0.5,1,2"
    shown = printed(*asked.split(), "--target", "age: 0.01", "--picture", "plan.png")
    words = " ".join(shown.split())
    assert "epsilon not private 0.5 1 2" in words
    assert "age known to +- 0.01 (95 %) needs epsilon" in words
    assert "times as wide" in words
    assert (tmp_path / "plan.png").read_bytes().startswith(b"\x89PNG")
    for wrong in ("0.2", "age", "age: -1", "age: nan"):  # said before the minute of planning
        said = command(*asked.split(), "--target", wrong)
        assert (said.status, "takes a coefficient and half the width" in said.err) == (2, True)


def wide(levels):
    """A schema with a category of so many levels."""
    mapping = SCHEMA.to_mapping()
    hospital = {"name": "hospital", "levels": [f"h{place}" for place in range(levels)]}
    return ds.Schema.from_mapping(mapping | {"covariate": [*mapping["covariate"], hospital]})


def test_too_many_levels_are_refused_before_a_plan_or_a_charge():
    words = r"coefficients, 299 of them of 'hospital'; a private fit takes at most 200. Group the"
    with pytest.raises(SettingsError, match=words):
        outlook_for(wide(300), 20_000, 2000)
    with pytest.raises(SettingsError, match=words):
        ds.SurvivalRegression(wide(300)).publish(
            "nowhere.csv", mechanism=ds.PrivateNewton(epsilon=1), ledger=ds.NO_LEDGER
        )
    assert outlook_for(wide(100), 20_000, 2000).schema.coefficient_names


@pytest.mark.parametrize(
    ("persons", "levels", "words"),
    [
        (20_000, 5, "a few seconds"),
        (20_000, 190, "about 10 seconds"),
        (200_000, 150, "about 40 seconds"),
        (1_000_000, 190, "about 5 minutes"),
    ],
)
def test_the_time_of_a_private_fit_is_said_beforehand(persons, levels, words):
    said = expected_time(wide(levels), persons, 3)
    assert f"A private fit of {persons:,} persons takes {words}, the first one after" in said


def test_a_plan_says_how_many_coefficients_there_are_and_how_long_a_fit_takes(tmp_path):
    size = outlook_for(SCHEMA, 20_000, 2_000).design.dimension
    words = f"The model has {size} coefficients, the baseline's included. A private fit of 20,000"
    assert words in " ".join(str(ds.plan(SCHEMA, 20_000, 2_000, 1.0)).split())
    (tmp_path / "s.toml").write_text(TOML)
    given = ["plan", "--schema", str(tmp_path / "s.toml"), "--persons", "20000", "--events", "2000"]
    assert words in " ".join(CliRunner().invoke(app, given).output.split())
