"""Regression on competing risks: statsmodels' glm per cause, incidence, files, commands."""

import csv
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import statsmodels.api as sm

import discreet as ds
from discreet.competing import predict_survival
from discreet.design.baseline import parse_baseline
from discreet.documents.read import read_document
from discreet.errors import SettingsError
from discreet.people.encode import to_episodes
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
    model = ds.CompetingRisks(mapping(), link=link).fit(table).model_
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


def test_probabilities_add_up():
    model = ds.CompetingRisks(mapping(), link="logit").fit(people(700))
    new = people(5, seed=9)
    times = [3, 10, 20]
    total = model.predict_survival(new, times) + sum(
        model.predict_incidence(new, cause, times) for cause in ("cancer", "other")
    )
    np.testing.assert_allclose(total, 1.0, atol=1e-12)


def test_incidence_follows_the_definition():
    model = ds.CompetingRisks(mapping(), link="logit").fit(people(700))
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
    model = ds.CompetingRisks(given, baseline="piecewise-constant:20", link="logit").fit(table)
    exact = ds.Curves(mapping(), by="arm").simulate(table, epsilon=1e9)
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
        model = ds.CompetingRisks(mapping(), baseline="natural-spline:1", link="logit").fit(
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


def test_correlation_between_causes_is_that_of_the_scores():
    """The cross block against person scores: sum of u_r u_k' over people, up to sampling."""
    table = people(4000)
    model = (
        ds.CompetingRisks(mapping(), baseline="natural-spline:1", link="logit").fit(table).model_
    )
    size = len(model.internal["cancer"].vector)
    cross = model.covariance[:size, size:]
    own = np.sqrt(
        np.outer(*[np.diag(model.covariance)[part] for part in (slice(0, size), slice(size, None))])
    )
    assert np.all(np.abs(cross) < 0.2 * own)
    assert np.all(np.linalg.eigvalsh(model.covariance) > 0)


def test_a_file_gives_the_same_predictions(tmp_path):
    path = tmp_path / "model.json"
    model = ds.CompetingRisks(mapping(), link="logit").fit(people(400))
    model.save(path)
    read = read_document(path)
    new = people(3, seed=4)
    np.testing.assert_array_equal(
        predict_survival(read, new, [5]), model.predict_survival(new, [5])
    )
    assert set(read.coefficients) == {"cancer", "other"}
    assert "Cause: cancer" in str(model.summary())


def test_a_summary_says_once_what_all_causes_share():
    model = ds.CompetingRisks(mapping(), link="logit").fit(people(400))
    shown = str(model.summary())
    for words in ("Not private", "400 persons", "Survival regression", "Cause: cancer"):
        assert shown.count(words) == 1
    events = [fit.events for fit in model.model_.fit.values()]
    assert f"400 persons, {sum(events)} events." in shown
    assert f"Cause: other\n{events[1]} events; log-likelihood" in shown


def test_a_summary_is_a_table():
    table = ds.CompetingRisks(mapping(), link="logit").fit(people(400)).summary(confidence=0.5)
    frame = table.to_pandas()
    assert frame.columns[0] == "cause"
    assert frame.loc[frame.cause == "other"].index.tolist() == list(table.tables["other"].names)
    ages = frame.loc["age"].set_index("cause")["coefficient"]
    assert ages["cancer"] == table.tables["cancer"].records()[-2]["coefficient"] != ages["other"]
    assert table.tables["cancer"].confidence == 0.5
    assert "Cause: other" in repr(table)


def test_a_summary_has_the_formats_of_a_model_of_one_event(tmp_path, printed):
    path = tmp_path / "model.json"
    model = ds.CompetingRisks(mapping(), link="logit").fit(people(400))
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


def test_a_fit_tells_what_it_repaired():
    table = people(400)
    ages = table["age"].to_numpy().copy()
    ages[:3] = 200.0
    changed = table.set_column(table.column_names.index("age"), "age", pa.array(ages))
    model = ds.CompetingRisks(mapping(), link="logit")
    with pytest.warns(ds.RepairWarning, match=r"^3 values .* age: 3 above high \(now high\)\.$"):
        model.fit(changed)


def test_other_models_say_where_to_go():
    with pytest.raises(SettingsError, match="CompetingRisks"):
        ds.SurvivalRegression(mapping(), link="logit").fit(people(50))
    with pytest.raises(SettingsError, match="no cause 'nothing'"):
        ds.CompetingRisks(mapping(), link="logit").fit(people(200)).predict_incidence(
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
    printed(
        "predict",
        model,
        tmp_path / "registry.csv",
        "--times",
        "5,20",
        "--incidence",
        "cancer",
        "--intervals",
        "--out",
        out,
    )
    assert out.read_text().splitlines()[0] == (
        "row,incidence_cancer_5,incidence_cancer_5_lower,incidence_cancer_5_upper,"
        "incidence_cancer_20,incidence_cancer_20_lower,incidence_cancer_20_upper,repaired"
    )
    hazard = ("--times", 5, "--quantity", "hazard", "--out", tmp_path / "hazard.csv")
    said = command("predict", model, tmp_path / "registry.csv", *hazard)
    assert said.status == 2
    assert "--incidence NAME" in said.err
