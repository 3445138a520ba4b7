"""What a fitted model offers, whether it is private or not, from a fit or from a file."""

import csv
import json

import numpy as np
import pandas as pd
import pytest

import discreet as ds
from discreet.errors import ArtefactError, SettingsError
from discreet.mechanisms import OutputPerturbation
from discreet.results.summary import WaldTest
from discreet.text import aligned, fitted
from tests.cohorts import HORIZON, cohort, schema
from tests.support import survival_band

TABLE = cohort(people=300)
NEW = TABLE.slice(0, 3).select(["age", "arm"]).to_pandas().assign(name=["x", "y", "z"])
PLAIN = ds.SurvivalRegression(schema(), link="cloglog").fit(TABLE)


@pytest.fixture(scope="module")
def private(tmp_path_factory):
    path = tmp_path_factory.mktemp("private") / "release.json"
    model = ds.SurvivalRegression(schema(), link="cloglog")
    model.publish(TABLE, mechanism=ds.PrivateNewton(epsilon=4), ledger=ds.NO_LEDGER, path=path)
    return model, ds.load(path)


def test_private_models_have_what_plain_ones_have(private):
    names = (
        "coef_",
        "coefficients_",
        "standard_errors_",
        "schema_",
        "model_",
        "summary",
        "predict_rmst",
    )
    for model in (PLAIN, *private):
        for name in names:
            assert getattr(model, name) is not None, name
        covariates = model.standard_errors_.covariates
        assert list(covariates) == list(model.coefficients_.covariates)
        assert model.coef_.shape == (len(covariates),)
        assert model.coef_.tolist() == list(model.coefficients_.covariates.values())
        frame = model.summary().to_pandas()
        assert list(frame.index[-3:]) == list(covariates)[-3:]
        assert "<table>" in model._repr_html_()
    model, loaded = private
    assert loaded.coef_.tolist() == model.coef_.tolist()
    assert loaded.standard_errors_ == model.standard_errors_


def test_a_tidy_frame_is_that_of_the_summary_by_name(private):
    for model in (PLAIN, *private):
        found, table = model.tidy(), model.summary()
        assert list(found.index) == ["age", "arm[b]", "arm[c]"]
        assert found["estimate"].tolist() == table.coefficients[-3:].tolist()
        assert found["conf_high"].tolist() == model.confint(frame=True)["upper"][-3:].tolist()
        assert found["reference"].tolist() == [None, "a", "a"]
        ratios = model.tidy(exponentiate=True)
        np.testing.assert_allclose(ratios["conf_low"], np.exp(found["conf_low"]))
        assert ratios["std_error"].tolist() == found["std_error"].tolist()
        np.testing.assert_allclose(
            np.sqrt(np.diag(model.vcov())), model.standard_errors_.vector, rtol=1e-9
        )
        assert np.array_equal(model.vcov(), model.vcov(frame=True).to_numpy())
        assert "Reference levels: arm a." in str(table)
        assert str(model.wald_test("arm")).startswith("Wald test of arm[b], arm[c]: ")


def test_what_cannot_be_tested_is_said():
    for names, words in (((), "name a covariate"), (("agee",), "Did you mean 'age'")):
        with pytest.raises(SettingsError, match=words):
            PLAIN.wald_test(*names)
    probit = ds.SurvivalRegression(schema(), link="probit").fit(TABLE)
    with pytest.raises(SettingsError, match="not logarithms"):
        probit.tidy(exponentiate=True)
    assert probit.tidy().shape == (3, 7)


def test_a_column_that_repeats_another_takes_no_degree_of_freedom():

    whole = WaldTest.of(("a",), np.array([0.3]), np.array([[0.01]]))
    twice = WaldTest.of(("a", "a"), np.array([0.3, 0.3]), np.full((2, 2), 0.01))
    assert twice.degrees == whole.degrees == 1
    assert twice.statistic == pytest.approx(whole.statistic) == pytest.approx(9.0)


def test_without_a_covariance_there_are_no_standard_errors():
    model = ds.SurvivalRegression(schema(), link="logit")
    model.publish(TABLE, mechanism=OutputPerturbation(epsilon=1), ledger=ds.NO_LEDGER)
    assert model.standard_errors_ is None
    found = model.predict_survival(NEW, [6.0], interval=True)
    assert (found.lower, found.upper) == (None, None)
    assert list(model.tidy().columns) == ["estimate", "reference"]
    with pytest.raises(SettingsError, match="no covariance"):
        model.vcov()


@pytest.mark.parametrize(("link", "word"), [("cloglog", "hazard ratio"), ("logit", "odds ratio")])
def test_ratios_stand_beside_the_coefficients(link, word):
    table = ds.SurvivalRegression(schema(), link=link).fit(TABLE).summary()
    columns = table.columns()
    assert np.allclose(columns[word][3:], np.exp(columns["coefficient"][3:]))
    assert np.allclose(columns[f"{word} lower"][3:], np.exp(columns["lower"][3:]))
    assert np.all(np.isnan(columns[word][:3]))
    text = str(table)
    assert word in text
    assert "95% interval" in text


def test_probit_has_no_ratio():
    table = ds.SurvivalRegression(schema(), link="probit").fit(TABLE).summary()
    assert "ratio" not in str(table)
    assert set(table.columns()) == {"coefficient", "standard error", "z", "p", "lower", "upper"}


def test_labels_and_units_name_the_rows():
    mapping = schema().to_mapping()
    mapping["covariate"][0] |= {"label": "Age at entry", "unit": "years"}
    table = ds.SurvivalRegression(mapping, link="logit").fit(TABLE).summary()
    assert "Age at entry" in str(table)
    assert "age" in table.names


def test_names_break_after_signs_and_within_words_where_they_must():
    rows = [("", "p"), ("treatment_arm[new treatment]", "0.5"), ("x" * 30, "0.1"), ("age", "1")]
    lines = fitted(rows, 25).splitlines()
    assert [line[:20].rstrip() for line in lines[2:]] == [
        "treatment_arm[new", "  treatment]", "x" * 18, "  " + "x" * 12, "age",
    ]  # fmt: skip
    assert fitted(rows, 10) == aligned(rows)  # no room for any name


def test_other_formats(private, tmp_path, printed):
    private[1].model_.save(tmp_path / "r.json")

    def written(form):
        return printed("summary", tmp_path / "r.json", "--format", form)

    rows = list(csv.DictReader(written("csv").splitlines()))
    records = json.loads(written("json"))
    assert [row["name"] for row in rows] == [record["name"] for record in records]
    assert records[0]["hazard ratio"] is None
    age = next(record for record in records if record["name"] == "age")
    assert age["hazard ratio"] == pytest.approx(np.exp(age["coefficient"]))
    assert written("latex").startswith(r"\\begin{tabular}{lrrrrr}".replace("\\\\", "\\"))
    assert "<td" in written("html")


# --- predictions


def test_intervals_of_survival_are_the_bands(private):
    for model in (PLAIN, private[0]):
        found = model.predict_survival(NEW, interval=True)
        assert np.allclose(found.estimate, model.predict_survival(NEW))
        design = model.model_.design
        for row, encoded in enumerate(model._rows(NEW)[0]):
            raw = design.covariates.raw(encoded[None, :])[0]
            band = survival_band(model.model_, raw)
            assert np.allclose(found.lower[row], band.lower, atol=1e-9)
            assert np.allclose(found.upper[row], band.upper, atol=1e-9)


def test_tables_keep_what_identifies_people(tmp_path):
    NEW.to_csv(tmp_path / "new.csv", index=False)
    for data in (NEW, tmp_path / "new.csv"):
        frame = PLAIN.predict_survival(data, [6, 12], interval=True, frame=True)
        assert frame["name"].tolist() == ["x", "y", "z"]
        assert list(frame) == [
            "name", "survival_6", "survival_6_lower", "survival_6_upper",
            "survival_12", "survival_12_lower", "survival_12_upper", "repaired",
        ]  # fmt: skip
        assert (frame["survival_12_lower"] <= frame["survival_12"]).all()
        assert list(PLAIN.predict_rmst(data, 12, frame=True)) == ["name", "rmst", "repaired"]
        assert list(PLAIN.predict_median(data, frame=True)) == ["name", "median", "repaired"]


def test_the_restricted_mean_is_the_area_under_the_curve():
    for until in (HORIZON, 7.3):
        edges = PLAIN.model_.curves.grid.edges
        fine = np.linspace(0, until, 200_001)[:-1]
        expected = PLAIN.predict_survival(NEW, fine).mean(axis=1) * until
        assert np.allclose(PLAIN.predict_rmst(NEW, until), expected, rtol=1e-4)
    assert len(edges) > 2


def test_delta_method_by_simulation():
    """Draw coefficients from the stated normal law and look at what is predicted."""
    random = np.random.default_rng(3)
    model = PLAIN.model_
    points = random.multivariate_normal(model.coefficients.vector, model.covariance, 4000)
    internal = np.linalg.solve(model.design.to_user, points.T).T
    one, other = PLAIN._rows(NEW.iloc[:1])[0][0], PLAIN._rows(NEW.iloc[1:2])[0][0]
    size = model.design.baseline.dimension
    edges = model.curves.grid.edges

    def mean(point, encoded):
        eta = model.design.basis @ point[:size] + encoded @ point[size:]
        survival = np.exp(-np.concatenate([[0], np.cumsum(np.exp(eta))]))
        return survival, survival[:-1] @ np.diff(edges)

    draws = [(mean(point, one), mean(point, other)) for point in internal]
    found = PLAIN.predict_rmst(NEW.iloc[:1], interval=True)
    spread = np.std([first[1] for first, _ in draws])
    assert found.upper[0] - found.estimate[0] == pytest.approx(1.96 * spread, rel=0.1)
    for of, pick in {"rmst": lambda pair: pair[1], "survival": lambda pair: pair[0][-1]}.items():
        gap = PLAIN.predict_difference(NEW.iloc[:1], NEW.iloc[1:2], [HORIZON], of=of)
        spread = np.std([pick(first) - pick(second) for first, second in draws])
        assert gap.upper[0] - gap.estimate[0] == pytest.approx(1.96 * spread, rel=0.1)


def test_a_person_does_not_differ_from_itself():
    found = PLAIN.predict_difference(NEW.iloc[:1], NEW.iloc[:1], [6.0, 12.0])
    assert np.allclose(found, 0.0)
    with pytest.raises(SettingsError, match="one row for each"):
        PLAIN.predict_difference(NEW, NEW.iloc[:1])


def test_the_median_and_its_limits_are_grid_points():
    found = PLAIN.predict_median(NEW, interval=True)
    assert np.array_equal(found.estimate, PLAIN.predict_median(NEW))
    assert np.array_equal(found.estimate, PLAIN.predict_quantile(NEW))
    assert np.all(found.lower <= found.estimate)
    assert np.all(found.estimate <= found.upper)


def test_a_release_makes_its_page_and_its_audit(private, tmp_path):
    for model in private:
        assert model.audit().sound
        model.page(tmp_path / "page.html", overwrite=True)
        assert "<!DOCTYPE html>" in (tmp_path / "page.html").read_text()
    with pytest.raises(ArtefactError):
        PLAIN.page(tmp_path / "other.html")
    with pytest.raises(ArtefactError, match="not private"):
        PLAIN.audit()


def test_predictions_of_nobody_are_an_error():
    with pytest.raises(ValueError, match="no rows"):
        PLAIN.predict_rmst(pd.DataFrame({"age": [], "arm": []}))
