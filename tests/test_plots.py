"""Pictures: what is drawn is what the model says."""

import io

import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

import discreet as ds
from discreet import plots
from discreet.design.schema import Categorical
from tests.cohorts import HORIZON, cohort, schema

MODEL = ds.SurvivalRegression(schema(), link="logit").fit(cohort())


def axes():
    return Figure().subplots()


def png(figure):
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()


def test_the_overview_has_three_panels_and_can_be_saved():
    figure = MODEL.plot()
    assert [panel.get_title(loc="left") for panel in figure.axes] == [
        "Baseline hazard",
        "Coefficients",
        "Survival",
    ]
    assert png(figure).startswith(b"\x89PNG")


def test_the_baseline_is_the_hazard_of_the_reference_person():
    drawn = plots.baseline_hazard(MODEL.model_, axes())
    line, band = drawn.patches
    person = pa.table({"age": [55.0], "arm": ["a"]})
    expected = MODEL.predict_hazard(person, (np.arange(12) + 0.5) * HORIZON / 12)[0]
    np.testing.assert_allclose(line.get_data().values, expected, rtol=1e-9)
    assert np.all(band.get_data().values > expected)
    assert np.all(band.get_data().baseline < expected)


def test_the_band_is_the_confidence_interval_on_the_links_scale():
    model = ds.SurvivalRegression(
        ds.Schema(time=schema().time), baseline=ds.NaturalSpline(1), link="logit"
    )
    model.fit(cohort())
    drawn = plots.baseline_hazard(model.model_, axes(), confidence=0.9)
    table = model.summary(confidence=0.9)
    _, band = drawn.patches
    expected = 1 / (1 + np.exp(-table.upper[0]))
    np.testing.assert_allclose(band.get_data().values, expected, rtol=1e-9)


def test_coefficients_are_drawn_per_round_step():
    drawn = plots.coefficients(MODEL.model_, axes())
    labels = [label.get_text() for label in drawn.get_yticklabels()]
    assert labels == ["age (per 10)", "arm[b]", "arm[c]"]
    points = drawn.lines[0].get_xdata() if len(drawn.lines) == 1 else None
    values = [line.get_xdata() for line in drawn.lines if len(line.get_xdata()) == 3]
    beta = MODEL.coefficients_.covariates
    np.testing.assert_allclose(values[-1], [10 * beta["age"], beta["arm[b]"], beta["arm[c]"]])
    assert points is None


def test_curves_of_given_people_are_their_predictions():
    people = cohort(people=3)
    figure = MODEL.plot(people)
    lines = figure.axes[2].lines
    expected = MODEL.predict_survival(people)
    for line, curve in zip(lines, expected, strict=True):
        np.testing.assert_allclose(line.get_ydata(), curve)


def test_curves_have_their_bands(monkeypatch):
    drawn = plots.survival_curves(MODEL.model_, axes(), confidence=0.9)
    assert len(drawn.collections) == len(drawn.lines) == 3
    for line, shade in zip(drawn.lines, drawn.collections, strict=True):
        heights = shade.get_paths()[0].vertices[:, 1]
        assert heights.min() < line.get_ydata()[-1] < heights.max()
    monkeypatch.setitem(vars(MODEL.model_), "covariance", None)
    assert not plots.survival_curves(MODEL.model_, axes()).collections


def test_typical_people_vary_the_strongest_covariate():
    people = plots.typical(MODEL.model_)
    assert [item.label for item in people] == ["age 20", "age 55", "age 90"]


def test_a_model_without_covariates_has_two_panels():
    model = ds.SurvivalRegression(ds.Schema(time=schema().time), link="logit").fit(cohort())
    assert len(model.plot().axes) == 2


def test_hostile_names_are_drawn_as_they_are():
    public = ds.Schema(
        time=schema().time,
        covariates=(Categorical(name="$\\frac{a$", levels=("<b>", "$x^{", "y")),),
    )
    arm = np.random.default_rng(0).choice(["<b>", "$x^{", "y"], 400)
    model = ds.SurvivalRegression(public, link="logit").fit(
        cohort().append_column("$\\frac{a$", pa.array(arm))
    )
    assert png(model.plot()).startswith(b"\x89PNG")
