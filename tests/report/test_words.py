"""Words that are set after the release: they reach page and card, and change no number."""

import json
import re

import pytest

from discreet.design.schema import Schema
from discreet.design.words import Words
from discreet.documents.read import document_of
from discreet.errors import SchemaError
from discreet.report import make_page
from discreet.report.card import make_card
from discreet.report.page import with_words
from tests.report.conftest import make_covariance, make_release, make_schema

TOML = """
[page]
title = "Survival after stroke"
event = "death"
curator = "The Stroke Registry"
sources = "Hospitals of two counties"

[time]
unit = "days"

[[covariate]]
name = "age"
label = "Age at stroke"
unit = "years"
typical = 40.0

[[covariate]]
name = "sex"
labels = ["women", "men", "others"]
"""


@pytest.fixture
def release():
    return make_release(covariance=make_covariance(7))


@pytest.fixture
def words(tmp_path):
    (tmp_path / "words.toml").write_text(TOML)
    return Words.from_toml(tmp_path / "words.toml")


def embedded(page, name):
    found = re.search(rf'<script type="application/json" id="{name}">(.*?)</script>', page)
    return json.loads(found.group(1))


def test_words_reach_the_page_and_the_release_stays_as_it_is(release, words):
    page, before = make_page(release, words), make_page(release)
    for text in ("Survival after stroke", "Age at stroke (years)", "The Stroke Registry", "death"):
        assert text in page
        assert text not in before
    assert embedded(page, "document") == release.to_mapping() == embedded(before, "document")
    assert document_of(embedded(page, "document")).digest == release.digest
    assert release.digest in page
    assert words.digest in page
    assert words.digest not in before


def test_words_change_no_number_of_the_page(release, words):
    shown, before = (embedded(make_page(release, item), "facts") for item in (words, None))
    for key in ("parts", "covariance", "edges", "horizon", "baseline", "link"):
        assert shown[key] == before[key]
    assert [item["start"] for item in shown["covariates"]] == [40.0, 0]


def test_the_page_shows_which_level_a_label_stands_for(release):
    levels = release.public_schema.to_mapping()["covariate"]
    (sex,) = (item["levels"] for item in levels if item["name"] == "sex")
    turned = Words.from_mapping({"covariate": [{"name": "sex", "labels": sex[::-1]}]})
    page = make_page(release, turned)
    assert f"{sex[2]} (“{sex[0]}”), {sex[1]}, {sex[0]} (“{sex[2]}”)" in page
    assert f"sex: {', '.join(sex)}" in make_page(release)


def test_words_reach_the_card(release, words):
    card = make_card(with_words(release, words))
    assert "Model card: Survival after stroke" in card
    assert "Age at stroke" in card


def test_the_digest_is_that_of_the_words(words):
    other = Words.from_mapping({**words.to_mapping(), "time": {}})
    assert Words.from_mapping(words.to_mapping()).digest == words.digest != other.digest


WRONG = {
    "have [[covariate]] 'age' twice": {"covariate": [{"name": "age"}, {"name": "age"}]},
    "no covariate 'agee'. Did you mean 'age'?": {"covariate": [{"name": "agee", "label": "x"}]},
    "needs one of the labels for each of its 3 levels": {
        "covariate": [{"name": "sex", "labels": ["a"]}]
    },
    "unknown key 'low'": {"covariate": [{"name": "age", "low": 3.0}]},
    "unknown key 'horizon'": {"time": {"horizon": 3.0}},
    "the release has none": {"strata": {"label": "Region"}},
    "did you mean 'title'": {"page": {"titel": "x"}},
    "unknown key 'epsilon'": {"epsilon": 1.0},
}


@pytest.mark.parametrize("text", WRONG)
def test_what_words_cannot_say_is_refused(release, text):
    with pytest.raises(SchemaError) as caught:
        with_words(release, Words.from_mapping(WRONG[text]))
    assert text in str(caught.value)


def test_a_unit_that_was_released_stays():
    release = make_release(schema=make_schema(horizon=24.0, intervals=12, unit="months"))
    words = Words.from_mapping({"time": {"unit": "months"}})
    assert with_words(release, words).public_schema.time == release.public_schema.time
    with pytest.raises(SchemaError, match="are in months"):
        with_words(release, Words.from_mapping({"time": {"unit": "days"}}))


def test_a_unit_of_a_covariate_that_was_released_stays(release):
    """Its coefficients are in that unit."""
    mapping = release.public_schema.to_mapping()
    (age,) = (item for item in mapping["covariate"] if item["name"] == "age")
    age["unit"] = "years"
    schema = Schema.from_mapping(mapping)
    for unit in ({"unit": "years"}, {}):
        words = Words.from_mapping({"covariate": [{"name": "age", **unit}]})
        assert words.applied(schema).covariates == schema.covariates
    words = Words.from_mapping({"covariate": [{"name": "age", "unit": "decades"}]})
    with pytest.raises(SchemaError, match="'age' of this release is in years"):
        words.applied(schema)
