"""The model file and the curves that follow from it."""

import copy

import numpy as np
import pytest

import discreet as ds
from discreet.design.design import Design
from discreet.design.link import LINKS, get_link
from discreet.documents.model import PlainModel
from discreet.documents.read import document_of, read_document
from discreet.errors import ArtefactError, SettingsError
from discreet.results.survival import Curves
from tests.cohorts import HORIZON, cohort, schema

MODEL = ds.SurvivalRegression(schema(), link="logit").fit(cohort()).model_


def test_the_file_has_the_promised_keys(tmp_path):
    MODEL.save(tmp_path / "model.json")
    mapping = MODEL.to_mapping()
    assert mapping["private"] is False
    assert list(mapping["coefficients"]["covariates"]) == ["age", "arm[b]", "arm[c]"]
    assert len(mapping["coefficients"]["baseline"]) == 3
    assert set(mapping["internal"]) == {"coordinates", "baseline", "covariates"}
    assert mapping["schema"] == schema().to_mapping()
    assert read_document(tmp_path / "model.json") == MODEL


def test_the_file_is_a_fixed_point(tmp_path):
    MODEL.save(tmp_path / "a.json")
    read_document(tmp_path / "a.json").save(tmp_path / "b.json")
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


def change(path, value):
    def apply(mapping):
        *way, last = path
        place = mapping
        for part in way:
            place = place[part]
        if value is DELETE:
            del place[last]
        else:
            place[last] = value

    return apply


DELETE = object()
MUTATIONS = {
    "unknown key": change(("extra",), 1),
    "unknown nested key": change(("coefficients", "extra"), 1),
    "missing key": change(("link",), DELETE),
    "another format": change(("format",), "pickle"),
    "a later version": change(("version",), 2),
    "claims privacy": change(("private",), True),
    "a link nobody knows": change(("link",), "identity"),
    "a baseline nobody knows": change(("baseline",), "spline"),
    "a number as text": change(("coefficients", "covariates", "age"), "0.1"),
    "a truth value as number": change(("coefficients", "covariates", "age"), True),
    "a changed coefficient": change(("coefficients", "covariates", "age"), 0.5),
    "a changed internal value": change(("internal", "baseline", 0), 0.5),
    "other coordinates": change(("internal", "coordinates"), "paper"),
    "a coefficient too many": change(("coefficients", "covariates", "bmi"), 0.1),
    "a baseline too short": change(("coefficients", "baseline"), [0.1]),
    "a schema that contradicts itself": change(("schema", "covariate", 0, "low"), 95),
    "a schema without bounds": change(("schema", "covariate", 0, "low"), DELETE),
    "an unknown schema key": change(("schema", "covariate", 0, "hihg"), 1),
    "another schema": change(("schema", "covariate", 0, "high"), 91),
    "a covariance of another size": change(("uncertainty", "covariance"), [[1.0]]),
    "standard errors of others": change(("uncertainty", "standard_errors", "covariates"), {}),
    "a negative count": change(("fit", "events"), -1),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_changed_file_is_refused_in_one_sentence(name):
    mapping = copy.deepcopy(MODEL.to_mapping())
    MUTATIONS[name](mapping)
    with pytest.raises(ArtefactError) as caught:
        document_of(mapping)
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith(".")


def test_a_file_that_is_no_model_is_named(tmp_path):
    path = tmp_path / "other.json"
    path.write_text('{"a": 1}')
    with pytest.raises(ArtefactError, match=r"other\.json.*neither a model nor a release"):
        ds.load(path)


def curves(link="logit", intervals=6):
    design = Design(schema(intervals), ds.NaturalSpline(3))
    point = 0.3 * np.random.default_rng(3).normal(size=design.dimension)
    point[0] -= 1.0
    return Curves.of(design, get_link(link), point)


@pytest.mark.parametrize("link", sorted(LINKS))
def test_survival_multiplies_the_intervals_that_have_ended(link):
    model = curves(link)
    encoded = np.random.default_rng(4).uniform(-0.5, 0.5, (5, 3))
    hazards = model.link.hazard((encoded @ model.slopes[0])[:, None] + model.effects)
    step = HORIZON / 6
    for time, ended in [(0, 0), (step - 1e-9, 0), (step, 1), (1.5 * step, 1), (HORIZON, 6)]:
        expected = np.prod(1 - hazards[:, :ended], axis=1)
        np.testing.assert_allclose(model.survival(encoded, time)[:, 0], expected, rtol=1e-12)
        total = model.cumulative_hazard(encoded, [time])[:, 0]
        np.testing.assert_allclose(total, -np.log(expected), rtol=1e-12, atol=1e-14)


def test_the_hazard_is_that_of_the_interval_of_the_time():
    model = curves()
    encoded = np.zeros((1, 3))
    step = HORIZON / 6
    times = [0.0, step - 1e-9, step, HORIZON - 1e-9, HORIZON]
    expected = model.link.hazard(model.effects[0, [0, 0, 1, 5, 5]])
    np.testing.assert_allclose(model.hazard(encoded, times)[0], expected)


def test_quantiles_are_where_survival_first_falls_below():
    model = curves()
    encoded = np.random.default_rng(5).uniform(-0.5, 0.5, (20, 3))
    edges = model.grid.edges
    survival = model.survival(encoded, edges)
    for probability in (0.05, 0.5, 0.9):
        found = model.quantile(encoded, probability)[:, 0]
        for row, time in enumerate(found):
            below = edges[survival[row] <= 1 - probability]
            assert time == (below[0] if len(below) else np.inf)
    assert np.isinf(model.quantile(encoded, 1 - 1e-12)).all()


def test_blocks_do_not_show(monkeypatch):
    model, encoded = curves(), np.random.default_rng(6).uniform(-0.5, 0.5, (50, 3))
    whole = model.survival(encoded, [5.0, 20.0]), model.quantile(encoded, [0.2, 0.5])
    monkeypatch.setattr("discreet.results.survival.BLOCK", 20)
    np.testing.assert_array_equal(model.survival(encoded, [5.0, 20.0]), whole[0])
    np.testing.assert_array_equal(model.quantile(encoded, [0.2, 0.5]), whole[1])


@pytest.mark.parametrize("times", [[-1], [HORIZON * 1.01], [np.nan], ["soon"], [[1.0]]])
def test_times_outside_the_axis_are_refused(times):
    with pytest.raises(SettingsError, match="times must"):
        curves().survival(np.zeros((1, 3)), times)


@pytest.mark.parametrize("probability", [0.0, 1.0, -0.1, np.nan])
def test_probabilities_outside_are_refused(probability):
    with pytest.raises(SettingsError, match="probabilities"):
        curves().quantile(np.zeros((1, 3)), probability)


def test_many_coefficients_keep_their_standard_errors_only(monkeypatch):
    monkeypatch.setattr("discreet.estimate.MOST_COVARIANCE", 2)
    model = ds.SurvivalRegression(schema(), link="logit").fit(cohort()).model_
    assert isinstance(model, PlainModel)
    assert model.covariance is None
    assert model.to_mapping()["uncertainty"]["covariance"] is None
    assert model.uncertainty.standard_errors == MODEL.uncertainty.standard_errors


def test_a_release_is_shown_in_one_line():
    model = ds.SurvivalRegression(schema()).publish(
        cohort(), mechanism=ds.PrivateNewton(epsilon=2), ledger=ds.NO_LEDGER, release_id="first"
    )
    assert repr(model.release_) == "<Release first: epsilon 2, delta 1e-06, 400 persons>"
    assert str(model.release_) == repr(model.release_)
