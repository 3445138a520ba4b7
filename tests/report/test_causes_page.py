"""The page of competing risks in a real browser: the library's incidence, its bands, the counts."""

import json

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.design.link import LINKS
from discreet.report import make_page
from tests.report.conftest import HOSTILE, make_causes


@pytest.mark.parametrize("link", sorted(LINKS))
def test_causes_and_their_bands_equal_the_library(visit, link):
    release = make_causes(link)
    page = visit(release)
    times = release.curves.parts[0].grid.edges
    person = pa.table({"age": [41.25], "sex": ["M"]})
    model = ds.SurvivalRegression._of(release)
    bands = [model.predict_survival(person, times, interval=True)]
    bands += [
        model.predict_incidence(person, cause, times, interval=True)
        for cause in model.model_.causes
    ]
    for cause, band in zip((None, 0, 1), bands, strict=True):
        found = page.evaluate(
            "([p, c]) => discreet.survival.curve(discreet.facts, p, c)", [[41.25, 1], cause]
        )
        np.testing.assert_allclose([p["survival"] for p in found], band.estimate[0], atol=1e-9)
        np.testing.assert_allclose([p["lower"] for p in found], band.lower[0], atol=1e-9)
        np.testing.assert_allclose([p["upper"] for p in found], band.upper[0], atol=1e-9)


def test_the_reader_chooses_a_cause_and_sees_the_counts_beside_the_model(visit):
    release = make_causes()
    page = visit(release)
    assert page.locator("#life-chart path[aria-roledescription='line mark']").count() == 2
    before, answers = page.inner_html("#life-chart"), page.inner_text("#answers")
    page.select_option("#shown", "0")
    page.wait_for_function(
        "old => document.getElementById('life-chart').innerHTML !== old", arg=before
    )
    assert "no event of any cause so far" in page.inner_text("#explore")
    assert page.inner_text("#answers") != answers
    assert page.inner_text("#answers-title") == "probability of cancer so far"
    assert "cancer (C); other causes (O, 1)." in page.inner_text("#trust")


def test_causes_are_stacked_for_the_person_whom_the_reader_chooses(visit):
    page = visit(make_causes())
    assert page.locator("#stack-chart path[aria-roledescription='area mark']").count() == 2
    before, drawn = page.text_content("#stack-table"), page.inner_html("#stack-chart")
    page.fill("#a-0", "47")
    page.wait_for_function(
        "old => document.getElementById('stack-chart').innerHTML !== old", arg=drawn
    )
    assert page.text_content("#stack-table") != before


def test_what_is_taken_away_holds_every_cause(visit):
    release = make_causes()
    page = visit(release)
    for button, check in {
        "#save-release": lambda text: json.loads(text) == release.to_mapping(),
        "#save-curve": lambda text: len(text.splitlines()) == 1 + 3 * 2 * 81,
        "#save-table": lambda text: len(text.splitlines()) == 1 + 2 * 3,
    }.items():
        with page.expect_download() as waiting:
            page.click(button)
        assert check(waiting.value.path().read_text(encoding="utf-8")), button


def test_the_page_holds_the_coefficients_of_every_cause_and_no_foreign_markup(visit):
    release = make_causes(first=HOSTILE)
    assert HOSTILE not in make_page(release)
    names = visit(release).locator("#coefficients tbody th").all_text_contents()
    assert sum(name.startswith(f"{HOSTILE}: ") for name in names) == len(names) // 2
