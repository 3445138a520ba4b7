"""Effects that change with time on the page: the library's numbers, steps, tests, a card for others."""

import numpy as np
import pandas as pd
import pytest

import discreet as ds
from discreet.design.baseline import parse_baseline
from discreet.design.design import Design
from discreet.design.schema import Schema
from discreet.design.terms import user_columns
from discreet.documents.read import document_of
from discreet.errors import ArtefactError
from discreet.report import make_page
from discreet.report.card import make_card
from discreet.results.description import change_test
from tests.report.conftest import (
    HOSTILE,
    make_causes,
    make_covariance,
    make_release,
    make_schema,
)
from tests.support import survival_band

BASELINES = ["natural-spline:4", "piecewise-constant:4", "log-time:2"]


def changing_schema(**more):
    mapping = make_schema().to_mapping()
    mapping["time"]["unit"] = "days"
    mapping["covariate"] = [
        {"name": "age", "low": 26, "high": 49, "missing": 35, "changes_at": [730]},
        {"name": "sex", "levels": ["F", "M", "other"], "changes_at": [365, 1095]},
        {"name": "nodes", "low": 0, "high": 30, "scale": "spline:3", "missing": "indicator"},
    ]
    mapping["covariate"][2]["changes_at"] = [365]
    mapping["interaction"] = [{"of": ["age", "sex"]}, {"of": ["sex", "nodes"]}]
    return Schema.from_mapping({**mapping, **more})


def release_of(link="logit", baseline="natural-spline:4", **more):
    schema = changing_schema(**more)
    size = Design(schema, parse_baseline(baseline)).dimension
    return make_release(link, baseline, make_covariance(size), schema=schema)


@pytest.mark.parametrize("link", ["logit", "cloglog", "probit"])
@pytest.mark.parametrize("baseline", BASELINES)
def test_predictions_and_bands_equal_the_library(visit, link, baseline):
    release = release_of(link, baseline)
    page = visit(release)
    for profile in ([26.0, 0, 3.0], [41.25, 2, 17.5], [49.0, 1, 30.0]):
        found = page.evaluate("p => discreet.survival.curve(discreet.facts, p)", profile)
        band = survival_band(release, user_columns(release.public_schema, profile))
        for name, expected in zip(("survival", "lower", "upper"), band, strict=True):
            np.testing.assert_allclose([point[name] for point in found], expected, atol=1e-9)


def test_strata_have_the_steps_in_their_own_baseline(visit):
    release = release_of(strata={"name": "hospital", "levels": ["A", "B"]})
    page = visit(release)
    for stratum in (0, 1):
        found = page.evaluate(
            "p => discreet.survival.curve(discreet.facts, p)", [41.25, 2, 17.5, stratum]
        )
        raw = user_columns(release.public_schema, [41.25, 2, 17.5])
        band = survival_band(release, raw, stratum=stratum)
        np.testing.assert_allclose([p["survival"] for p in found], band.estimate, atol=1e-9)


def test_the_ratio_is_drawn_as_steps_over_time_with_its_band(visit):
    release = release_of()
    page = visit(release)
    rows = page.evaluate(
        "discreet.facts.changing.map(item => discreet.survival.steps(discreet.facts, 0, {...item, step: 1}))"
    )
    titles = page.evaluate("discreet.facts.changing.map(item => item.title)")
    assert titles[:3] == ["age", "sex: M", "sex: other"]
    assert "nodes, missing" in titles
    assert not any("spline" in title for title in titles)
    beta, errors = release.coefficients.covariates, np.sqrt(np.diag(release.covariance))
    names = list(beta)
    middle = rows[1]
    assert [item["start"] for item in middle] == [0, 383.25, 1095]
    assert [item["end"] for item in middle] == [383.25, 1095, 2190]
    for item, name in zip(middle, names[2:5], strict=True):
        error = errors[release.design.time_dimension + names.index(name)]
        assert item["ratio"] == pytest.approx(np.exp(beta[name]))
        assert item["lower"] == pytest.approx(np.exp(beta[name] - 1.959963984540054 * error))
    assert page.locator("#changes-chart svg").count() == 1
    assert "sex: M vs F" in page.inner_text("#changes-chart")
    table = page.locator("#changes-table").text_content()
    assert "383.3 to 1095" in table
    assert "until 365 days" in page.locator("#coefficients").text_content()
    assert "its effect changes at 365, 1095" in page.content()


def test_the_page_says_the_tests_of_the_library():
    release = release_of()
    test = change_test(release, "sex")
    assert test.degrees == 8  # two columns twice, and four products with nodes once
    content = make_page(release)
    assert f"Wald test {test.statistic:.2f} on 8 degrees of freedom" in content
    assert "One effect of age for all time?" in content
    assert "as steps over time (days)." in content


def test_a_second_person_is_chosen_by_the_largest_difference_of_any_period(visit):
    page = visit(release_of())
    assert page.evaluate(
        "discreet.state.a.some((value, index) => value !== discreet.state.b[index])"
    )


def test_causes_have_their_own_steps(visit):
    release = make_causes(schema=_with_causes())
    page = visit(release)
    text = page.inner_text("#changes-chart")
    assert "cancer: sex: M vs F" in " ".join(text.split())
    assert "cancer: One effect of sex for all time?" in page.content()
    parts = [part.curves for part in release.models.values()]
    encoded = np.zeros((1, release.of_cause("cancer").design.covariates.dimension))
    assert len(parts[0].slopes) == 3
    assert release.curves.survival(encoded, [2190.0])[0, 0] > 0


def _with_causes():
    mapping = make_schema().to_mapping()
    mapping["covariate"][1]["changes_at"] = [365, 1095]
    return mapping


def with_rows(release, rows):
    mapping = release.to_mapping()
    mapping["released"]["proportionality"] = rows
    return document_of(mapping)


def test_a_card_shows_which_effects_seem_to_change():
    release = with_rows(
        make_release(covariance=make_covariance(7)), [[0, 0.01, 0.03, 1.2], [2, 0.9, 0.2, -4.56]]
    )
    content = make_page(release)
    assert "<h3>Do effects change with time?</h3>" in content
    # 0.9 and 0.2 as ratios; their difference -0.7 is 4.56 standard deviations
    cells = ("2.46", "1.22", '0.497 * <span class="interval">(0.368 to 0.671)</span>')
    assert "".join(f"<td>{cell}</td>" for cell in cells) in content
    # ages of 26 to 49 have ratios per 5, as in the other pictures
    assert "age, per 5</th><td>1.05</td><td>1.16</td>" in content
    assert "differ early and late by more than three" in content
    calm = with_rows(release, [[0, 0.01, 0.03, 1.2]])
    assert "No effect differs early and late" in make_page(calm)
    assert "<h3>Do effects change" not in make_page(make_release())


@pytest.mark.parametrize("rows", [[[7, 0.1, 0.2, 1.0]], [[0, 0.1]], [[0.5, 1, 1, 1]], "x", [["a"]]])
def test_rows_that_do_not_go_with_the_schema_are_refused(rows):
    with pytest.raises(ArtefactError, match="proportionality"):
        with_rows(make_release(covariance=make_covariance(7)), rows)


def test_hostile_names_stay_text(visit):
    mapping = make_schema().to_mapping()
    mapping["covariate"][0] |= {"changes_at": [365], "label": HOSTILE}
    schema = Schema.from_mapping(mapping)
    release = make_release(covariance=make_covariance(9), schema=schema)
    page = visit(with_rows(release, [[0, 0.1, 0.2, 5.0]]))
    assert "<img src=x" not in page.locator("#understand").inner_html()


def test_the_card_for_a_journal_has_every_period():
    card = make_card(release_of())
    assert "until 365 days" in card
    assert "changes at 365, 1095" in card
    assert "Wald test of one effect of sex for all time" in card


@pytest.mark.parametrize(("low", "high"), [(0.3, 0.7), (0.2, 0.6), (1.0, 1.4), (3.0, 3.4)])
def test_bounds_that_are_a_little_nearer_than_written_have_a_step(visit, low, high):
    """0.7 - 0.3 is less than 0.4 in doubles: no step of 1, 2 or 5 was at most a quarter of it."""
    random = np.random.default_rng(0)
    x = random.uniform(low, high, 3_000)
    time = random.geometric(1.0 / (1.0 + np.exp(4.0 - 3.0 * (x - low))))
    table = pd.DataFrame({"x": x, "t": np.minimum(time, 40) / 4.0 - 0.1, "e": time <= 40})
    axis = {"duration": "t", "event": "e", "horizon": 10.0, "intervals": 40}
    model = ds.SurvivalRegression(
        {"time": axis, "covariate": [{"name": "x", "low": low, "high": high}]}
    )
    mechanism = ds.PrivateNewton(4.0, delta=1e-6)
    release = model.publish(table, mechanism=mechanism, ledger=ds.NO_LEDGER).release_
    assert "x, per 0.1</th>" in make_page(release)
    assert "per 0.1" in visit(release).locator("body").inner_text()
