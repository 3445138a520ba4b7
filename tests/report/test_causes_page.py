"""The page of competing risks in a real browser: the library's incidence, its bands, the counts."""

import json

import numpy as np
import pandas as pd
import pytest

import discreet as ds
from discreet.report import make_page
from tests.test_causes import mapping, people


@pytest.fixture(scope="module")
def model():
    """A private release of two causes, one with a name that could be markup."""
    given = mapping(causes={"<b>cancer</b>": ["C", 1], "other": ["O", 2]})
    return ds.CompetingRisks(given).publish(
        people(2000), mechanism=ds.PrivateNewton(4.0), ledger=ds.NO_LEDGER
    )


def test_incidence_and_bands_equal_the_library(visit, model):
    page = visit(model.release_)
    times = np.arange(1.0, 21.0)
    for age, level in ((50.0, 0), (82.5, 1)):
        new = pd.DataFrame({"age": [age], "arm": ["ab"[level]]})
        points = page.evaluate(
            "profile => discreet.causes.incidence(discreet.facts, profile)", [age, level]
        )
        for place, cause in enumerate(model.release_.causes):
            ours = model.predict_incidence(new, cause, times, interval=True)
            theirs = [point["incidence"][place] for point in points[1:]]
            np.testing.assert_allclose(theirs, ours.estimate[0], atol=1e-9)
            band = page.evaluate(
                "([profile, cause]) => discreet.causes.band(discreet.facts, profile, cause)",
                [[age, level], place],
            )
            for name in ("lower", "upper"):
                found = [point[name] for point in band[1:]]
                np.testing.assert_allclose(found, getattr(ours, name)[0], atol=1e-6)
        staying = [point["staying"] for point in points[1:]]
        np.testing.assert_allclose(staying, model.predict_survival(new, times)[0], atol=1e-9)


def test_the_reader_chooses_a_cause_and_sees_the_counts_beside_the_model(visit, model):
    page = visit(model.release_)
    assert page.locator("#stacked-chart path[aria-roledescription='area mark']").count() == 2
    assert page.locator("#counts-chart path[aria-roledescription='line mark']").count() == 2
    before = page.inner_html("#counts-chart")
    page.select_option("#cause", "1")
    page.wait_for_function(
        "old => document.getElementById('counts-chart').innerHTML !== old", arg=before
    )
    assert page.locator("#cause option").nth(0).text_content() == "<b>cancer</b>"
    with page.expect_download() as waiting:
        page.click("#save-release")
    text = waiting.value.path().read_text(encoding="utf-8")
    assert json.loads(text) == model.release_.to_mapping()


def test_the_page_holds_a_table_per_cause_and_no_foreign_markup(model):
    page = make_page(model.release_)
    assert "<b>cancer" not in page
    assert page.count("<summary>") == 2
