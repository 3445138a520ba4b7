"""Regression on competing risks: statsmodels' glm per cause, incidence, files, commands."""

import csv
import json

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy.linalg import block_diag
from sklearn.base import clone

import discreet as ds
from discreet.design.baseline import parse_baseline
from discreet.design.link import Logit
from discreet.errors import SettingsError
from discreet.metrics import log_likelihood
from discreet.people.encode import to_episodes
from discreet.results.prediction import Person
from discreet.results.survival import CausesCurves, Curves
from tests.test_causes import mapping, people

LINKS = {
    "logit": sm.families.links.Logit(),
    "cloglog": sm.families.links.CLogLog(),
    "probit": sm.families.links.Probit(),
}


def expanded(table, wanted):
    """Person-period rows of one cause, as plainly as the definition: others' last rows removed."""
    rows = []
    for row in table.to_pylist():
        last = int(np.ceil(row["time"]))
        for step in range(1, last + 1):
            ends = step == last and row["cause"] != "alive"
            if ends and row["cause"] != wanted:
                continue
            rows.append((step, row["age"], row["arm"] == "b", ends))
    return pd.DataFrame(rows, columns=["step", "age", "arm", "event"])


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize(("cause", "value"), [("cancer", "C"), ("other", "O")])
def test_each_cause_is_statsmodels_glm_on_its_table(link, cause, value):
    table = people(700)
    model = ds.SurvivalRegression(mapping(), link=link).fit(table).model_
    frame = expanded(table, value)
    basis = parse_baseline("natural-spline:3").basis(20)[frame.step - 1]
    design = np.column_stack([basis, frame.age, frame.arm.astype(float)])
    other = sm.GLM(frame.event.astype(float), design, sm.families.Binomial(LINKS[link])).fit(
        tol=1e-12
    )
    found = model.models[cause]
    np.testing.assert_allclose(found.coefficients.vector, other.params, rtol=1e-5, atol=1e-6)
    errors = found.uncertainty.standard_errors.vector
    np.testing.assert_allclose(errors, other.bse, rtol=1e-5)


def test_incidence_follows_the_definition():
    model = ds.SurvivalRegression(mapping(), link="logit").fit(people(700))
    new = people(1, seed=9)
    hazards = [
        part.curves.hazard(_internal(model, new), np.arange(20) + 0.5)[0]
        for part in model.model_.models.values()
    ]
    odds = [h / (1 - h) for h in hazards]
    none = 1 / (1 + sum(odds))
    before = np.concatenate([[1.0], np.cumprod(none)[:-1]])
    expected = np.cumsum(before * odds[0] * none)
    found = model.predict_incidence(new, "cancer", np.arange(1, 21))[0]
    np.testing.assert_allclose(found, expected, atol=1e-12)


def _internal(model, table):
    part = model.model_.models["cancer"]
    return to_episodes(table, part.public_schema).covariates


def test_a_saturated_model_is_aalen_johansen():
    """Without covariates and with one parameter per interval, non-parametric incidence comes out."""
    given = {**mapping(), "covariate": []}
    table = people(2000)
    model = ds.SurvivalRegression(given, baseline="piecewise-constant:20", link="logit").fit(table)
    exact = ds.simulate(
        ds.GroupCurves(mapping(), by="arm"), table, mechanism=ds.GroupCounts(1e9), seed=0
    ).model_
    events = exact.counts.events.sum(axis=0)
    left = events.sum(axis=0) + exact.counts.censored[:, :-1].sum(axis=0)
    at_risk = len(table) - np.cumsum(left) + left
    hazards = events / at_risk
    before = np.concatenate([[1.0], np.cumprod(1 - hazards.sum(axis=0))[:-1]])
    found = model.predict_incidence(table.slice(0, 1), "other", np.arange(1, 21))[0]
    np.testing.assert_allclose(found, np.cumsum(before * hazards[1]), atol=2e-4)


def test_intervals_of_incidence_cover():
    """The joint covariance: 95 % limits hold the truth about that often."""
    truth = _true_incidence(65.0, 1)
    new = pd.DataFrame({"age": [65.0], "arm": ["b"]})
    held = []
    for seed in range(60):
        model = ds.SurvivalRegression(mapping(), baseline="natural-spline:1", link="logit").fit(
            people(600, seed=seed)
        )
        found = model.predict_incidence(new, "cancer", [10.0], interval=True)
        held.append(found.lower[0, 0] <= truth <= found.upper[0, 0])
    assert np.mean(held) > 0.85  # 7 misses of 60 or fewer: 1 % where the level is right


def _true_incidence(age, arm):
    first = np.exp(-3.2 + 0.03 * (age - 65) + 0.5 * arm)
    second = np.exp(-3.6 + 0.01 * (age - 65) - 0.4 * arm)
    stay = 1 / (1 + first + second)
    return sum(stay**step * first * stay for step in range(10))


def test_a_file_gives_the_same_predictions(tmp_path):
    path = tmp_path / "model.json"
    model = ds.SurvivalRegression(mapping(), link="logit").fit(people(400))
    model.save(path)
    read = ds.load(path)
    new = people(3, seed=4)
    np.testing.assert_array_equal(read.predict_survival(new, [5]), model.predict_survival(new, [5]))
    assert set(read.coefficients_) == {"cancer", "other"}
    assert "Cause: cancer" in str(model.summary())


def test_a_summary_says_once_what_all_causes_share():
    model = ds.SurvivalRegression(mapping(), link="logit").fit(people(400))
    shown = str(model.summary())
    for words in ("Not private", "400 persons", "Survival regression", "Cause: cancer"):
        assert shown.count(words) == 1
    events = [fit.events for fit in model.model_.fit.values()]
    assert f"400 persons, {sum(events)} events." in shown
    assert f"Cause: other\n{events[1]} events; log-likelihood" in shown


def test_a_summary_is_a_table():
    table = ds.SurvivalRegression(mapping(), link="logit").fit(people(400)).summary(confidence=0.5)
    frame = table.to_pandas()
    assert frame.loc[frame.cause == "other"].index.tolist() == list(table.tables["other"].names)
    assert table.tables["cancer"].confidence == 0.5
    assert "Cause: other" in repr(table)


def test_a_summary_has_the_formats_of_a_model_of_one_event(tmp_path, printed):
    path = tmp_path / "model.json"
    model = ds.SurvivalRegression(mapping(), link="logit").fit(people(400))
    model.save(path)
    records = json.loads(printed("summary", path, "--format", "json"))
    assert records == model.summary().records()
    rows = list(csv.DictReader(printed("summary", path, "--format", "csv").splitlines()))
    names = [(record["cause"], record["name"]) for record in records]
    assert [(row["cause"], row["name"]) for row in rows] == names
    assert {cause for cause, _ in names} == {"cancer", "other"}
    latex = printed("summary", path, "--format", "latex")
    assert latex.count(r"\begin{tabular}") == latex.count(r"{Cause: cancer} \\") == 1
    html = printed("summary", path, "--format", "html")
    assert html.count("<table>") == html.count("<p>Cause: ") == 2
    assert "80% interval" in printed("summary", path, "--confidence", "0.8")


def test_a_cause_that_is_not_there_is_named():
    with pytest.raises(SettingsError, match="no cause 'nothing'"):
        ds.SurvivalRegression(mapping(), link="logit").fit(people(200)).predict_incidence(
            people(1), "nothing", [1]
        )


def test_commands(tmp_path, printed, command):
    people(400).to_pandas().to_csv(tmp_path / "registry.csv", index=False)
    (tmp_path / "schema.toml").write_text(
        '[time]\nduration = "time"\nevent = "cause"\nhorizon = 20\nintervals = 20\n'
        'causes = { cancer = ["C", 1], other = ["O", 2] }\n'
        '[[covariate]]\nname = "age"\nlow = 40\nhigh = 90\n'
        '[[covariate]]\nname = "arm"\nlevels = ["a", "b"]\n'
    )

    model, out = tmp_path / "model.json", tmp_path / "out.csv"
    asked = (tmp_path / "registry.csv", "--schema", tmp_path / "schema.toml")
    printed("fit", *asked, "--mechanism", "none", "--out", model)
    assert "Cause: other" in printed("summary", model)
    wanted = ("--times", "5,20", "--incidence", "cancer", "--intervals", "--out", out)
    printed("predict", model, tmp_path / "registry.csv", *wanted)
    assert out.read_text().splitlines()[0] == (
        "row,incidence_cancer_5,incidence_cancer_5_lower,incidence_cancer_5_upper,"
        "incidence_cancer_20,incidence_cancer_20_lower,incidence_cancer_20_upper,repaired"
    )
    hazard = ("--times", 5, "--quantity", "hazard", "--out", tmp_path / "hazard.csv")
    said = command("predict", model, tmp_path / "registry.csv", *hazard, "--incidence", "cancer")
    assert said.status == 2
    assert "drop one" in said.err


@pytest.fixture(scope="module")
def fitted():
    return ds.SurvivalRegression(mapping(), link="logit").fit(people(700))


@pytest.mark.parametrize("quantity", ["survival", "incidence"])
def test_slopes_are_derivatives(fitted, quantity):
    """Against central differences in the internal coefficients."""
    document, new = fitted.model_, people(1, seed=9)
    encoded, design = fitted._rows(new)[0], document.design
    person = Person.of(document, design.covariates.raw(encoded)[0])
    values, slopes = person.incidence(1)
    if quantity == "survival":
        values, slopes = person.survival, -person.survival[:, None] * person.slopes
    parts = list(document.models.values())
    point = np.concatenate([part.internal.vector for part in parts])
    edges = document.curves.grid.edges

    def at(vector):
        halves = np.split(vector, len(parts))
        curves = CausesCurves(
            tuple(Curves.of(design, Logit(), own) for own in halves),
        )
        if quantity == "survival":
            return curves.survival(encoded, edges)[0]
        return curves.incidence(encoded, 1, edges)[0]

    np.testing.assert_allclose(values, at(point), atol=1e-12)
    turn = block_diag(*(part.design.to_user for part in parts))
    for place, step in enumerate(np.eye(len(point)) * 1e-6):
        difference = (at(point + step) - at(point - step)) / 2e-6
        np.testing.assert_allclose(slopes @ turn[:, place], difference, atol=1e-7)


def test_every_prediction_is_there(fitted):
    new = people(5, seed=9)
    survival = fitted.predict_survival(new, [20.0])[:, 0]
    medians = fitted.predict_median(new)
    assert np.array_equal(np.isinf(medians), survival > 0.5)
    found = fitted.predict_rmst(new, interval=True, confidence=0.5)
    wide = fitted.predict_rmst(new, interval=True)
    assert np.all(wide.upper - wide.lower > found.upper - found.lower)
    steps = fitted.predict_survival(new, np.arange(20.0))
    np.testing.assert_allclose(found.estimate, steps.sum(axis=1))
    hazard = fitted.predict_hazard(new, np.arange(20) + 0.5)
    np.testing.assert_allclose(np.prod(1 - hazard, axis=1), survival)
    gap = fitted.predict_difference(new.slice(0, 1), new.slice(1, 1), [10.0])
    one, other = fitted.predict_survival(new, [10.0])[:2, 0]
    assert gap.estimate[0] == pytest.approx(one - other)
    frame = fitted.predict_incidence(new, "cancer", [5, 10], interval=True, frame=True)
    assert "incidence_cancer_10_upper" in frame.columns
    assert np.array_equal(np.argsort(fitted.predict_risk(new)), np.argsort(-survival))
    assert fitted.score(people(700)) > 0.55
    np.testing.assert_array_equal(fitted.of_cause("cancer").coef_, fitted.coef_[0])


def test_covariances_and_tests_are_of_all_causes(fitted):
    covariance = fitted.vcov(frame=True)
    limits = fitted.confint(frame=True)
    assert list(covariance.index) == list(limits.index)
    errors = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose(limits.upper - limits.lower, 2 * 1.959964 * errors, rtol=1e-6)
    table = fitted.tidy()
    assert table["cause"].tolist() == ["cancer"] * 2 + ["other"] * 2
    assert fitted.standard_errors_["other"].covariates["age"] == pytest.approx(
        covariance.loc["other: age", "other: age"] ** 0.5
    )
    one, both = fitted.wald_test("cancer: age"), fitted.wald_test("age")
    assert (one.degrees, both.degrees) == (1, 2)
    assert both.statistic > one.statistic


def test_the_likelihood_is_multinomial(fitted):
    """Against the sum over persons and intervals of the log probability of what happened."""
    table = people(60, seed=3)
    parts = fitted.model_.models.values()
    total = 0.0
    for number, row in enumerate(table.to_pylist()):
        encoded = fitted._rows(table.slice(number, 1))[0]
        last = int(np.ceil(row["time"]))
        hazards = np.array(
            [part.curves.hazard(encoded, np.arange(last) + 0.5)[0] for part in parts]
        )
        odds = hazards / (1 - hazards)
        total -= np.log1p(odds.sum(axis=0)).sum()
        if row["cause"] in "CO":
            total += np.log(odds["CO".index(row["cause"]), -1])
    assert log_likelihood(fitted, table) == pytest.approx(total)


def test_scikit_learn_clones_it_and_pictures_are_drawn(fitted):
    again = clone(fitted)
    assert not hasattr(again, "model_")
    assert again.get_params() == fitted.get_params()
    assert len(fitted.plot().axes) == 6
    with pytest.raises(SettingsError, match="private life table"):
        fitted.plot_fit()
    stratified = {**mapping(), "covariate": mapping()["covariate"][:1]}
    stratified["strata"] = {"name": "arm", "levels": ["a", "b"]}
    with pytest.raises(SettingsError, match="strata do not go with causes"):
        ds.SurvivalRegression(stratified).fit(people(50))
