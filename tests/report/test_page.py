"""The published page in a real browser: the library's numbers, nobody's code, no complaint."""

import html
import json
from html.parser import HTMLParser

import numpy as np
import pytest
from cohorts import cohort, schema

import discreet as ds
from discreet.design.baseline import BASELINES
from discreet.design.link import LINKS
from discreet.design.schema import Schema
from discreet.design.terms import user_columns
from discreet.documents.caution import Caution
from discreet.documents.read import document_of
from discreet.errors import ArtefactError, SettingsError
from discreet.privacy.shares import NoiseShares
from discreet.report import make_page, write_page
from discreet.report.card import make_card
from tests.report.conftest import HOSTILE, make_covariance, make_release, make_schema
from tests.support import survival_band

PROFILES = [(26.0, 0), (35.0, 1), (41.25, 2), (49.0, 1)]


def _in_page(page, profile):
    found = page.evaluate(
        "profile => discreet.survival.curve(discreet.facts, profile)", list(profile)
    )
    return {key: [point[key] for point in found] for key in ("survival", "lower", "upper")}


def _raw(profile):
    age, level = profile
    return np.array([age, float(level == 1), float(level == 2)])


@pytest.mark.parametrize(
    ("link", "baseline"),
    [
        *((link, "natural-spline:4") for link in sorted(LINKS)),
        *(("logit", f"{kind}:{count}") for kind in sorted(BASELINES) for count in (1, 4)),
    ],
)
def test_predictions_and_bands_equal_the_library(visit, link, baseline):
    size = int(baseline[-1]) + 3
    release = make_release(link, baseline, make_covariance(size))
    page = visit(release)
    for profile in PROFILES:
        found = _in_page(page, profile)
        band = survival_band(release, _raw(profile))
        public = release.design.covariates
        encoded = ((_raw(profile) - public.centre) * public.scale)[None, :]
        curve = release.curves.survival(encoded, release.curves.grid.edges)[0]
        np.testing.assert_allclose(found["survival"], curve, atol=1e-9)
        np.testing.assert_allclose(found["survival"], band.estimate, atol=1e-9)
        np.testing.assert_allclose(found["lower"], band.lower, atol=1e-9)
        np.testing.assert_allclose(found["upper"], band.upper, atol=1e-9)


def test_the_page_knows_unequal_grids(visit):
    time = {"origin": 60.0, "first": 0.5, "horizon": 100.0, "intervals": 80, "unit": "years"}
    release = make_release(covariance=make_covariance(7), schema=make_schema(**time))
    page = visit(release)
    found = page.evaluate("discreet.survival.curve(discreet.facts, [30, 1])")
    band = survival_band(release, np.array([30.0, 1.0, 0.0]))
    np.testing.assert_allclose([p["time"] for p in found], release.curves.grid.edges, rtol=1e-15)
    np.testing.assert_allclose([p["survival"] for p in found], band.estimate, atol=1e-9)
    assert page.inner_text("#answers").split()[0] == "70"
    assert "from 60 to 100 years, the first 0.5 long" in page.content()


def test_the_page_speaks_the_schemas_words(visit):
    mapping = make_schema().to_mapping()
    mapping["covariate"][0] |= {"label": "Age at entry", "unit": "years", "typical": 44}
    mapping["covariate"][1] |= {"labels": ["women", "men", "other"], "typical": "M"}
    release = make_release(schema=Schema.from_mapping(mapping))
    page = visit(release)
    assert "Age at entry (years)" in page.inner_text("#profile-a")
    assert page.evaluate("discreet.state.a") == [44, 1]
    assert "men" in page.inner_text("#a-1")


def test_terms_and_strata_are_drawn_from_raw_values(visit):
    mapping = make_schema().to_mapping()
    mapping["covariate"] = [
        {"name": "crea", "low": 0.3, "high": 15, "scale": "log", "missing": "indicator"},
        {"name": "age", "low": 20, "high": 90, "scale": "spline:4"},
        {"name": "stage", "levels": ["I", "II", "III"], "missing": "indicator"},
    ]
    mapping["interaction"] = [{"of": ["crea", "stage"]}, {"of": ["age", "stage"]}]
    mapping["strata"] = {"name": "hospital", "levels": ["A", "B"]}
    schema = Schema.from_mapping(mapping)
    size = 2 * 4 + len(schema.coefficient_names)
    release = make_release(covariance=make_covariance(size), schema=schema)
    page = visit(release)
    for profile in ([1.3, 47.0, 0, 0], [14.0, 25.0, 2, 1]):
        found = page.evaluate("p => discreet.survival.curve(discreet.facts, p)", profile)
        raw = user_columns(schema, profile[:3])
        band = survival_band(release, raw, stratum=profile[3])
        np.testing.assert_allclose([p["survival"] for p in found], band.estimate, atol=1e-9)
        np.testing.assert_allclose([p["lower"] for p in found], band.lower, atol=1e-9)
    rows = page.evaluate("discreet.facts.coefficients.map(item => item.curve)")
    assert rows == ["spline" in name and ":" not in name for name in schema.coefficient_names]
    assert page.locator("#profile-a .field").count() == 4


def test_the_page_begins_in_the_stratum_with_most_people(visit):
    mapping = make_schema().to_mapping()
    mapping["strata"] = {"name": "hospital", "levels": ["A", "B", "C"]}
    schema = Schema.from_mapping(mapping)
    size = 3 * 4 + len(schema.coefficient_names)
    release = make_release(covariance=make_covariance(size), schema=schema)
    last = schema.time.intervals
    tables = [[number, 1, last, people, 5.0] for number, people in enumerate((-2.0, 400.0, 90.0))]
    counted = release.to_mapping()
    counted["released"]["life_tables"] = tables
    assert visit(document_of(counted)).evaluate("discreet.state.a").pop() == 1
    assert visit(release).evaluate("discreet.state.a").pop() == 0


def test_controls_move_the_answers_by_keyboard_alone(visit):
    page = visit(make_release())
    before = page.inner_text("#answers")
    page.focus("#profile-a input[type=range]")
    for _ in range(40):
        page.keyboard.press("ArrowRight")
    after = page.inner_text("#answers")
    assert after != before
    assert "Person B" in page.inner_text("#answers-head")
    page.focus("#compare")
    page.keyboard.press("Space")
    assert not page.is_visible("#profile-b")
    assert "Person B" not in page.inner_text("#answers-head")


def test_persons_differ_and_both_are_drawn(visit):
    page = visit(make_release(covariance=make_covariance(7)))
    assert page.evaluate("discreet.state.a") != page.evaluate("discreet.state.b")
    assert page.locator("#survival-chart path[aria-roledescription='line mark']").count() == 2


@pytest.mark.parametrize("unit", ["days", "months"])
def test_times_are_in_the_unit_of_the_schema_everywhere(visit, unit):
    schema = make_schema(horizon=2190.0, intervals=80, unit=unit)
    release = make_release(schema=schema, covariance=make_covariance(7))
    page = visit(release)
    assert page.inner_text("#answers-head").split()[:2] == ["time", f"({unit})"]
    whole = {"days": [365, 730, 1095, 1461, 1826, 2190], "months": [600, 1200, 1800, 2190]}
    assert page.evaluate("discreet.state.times") == whole[unit]
    text = page.inner_text("body")
    assert f"Numbers from 0 to 2190, separated by commas, in {unit}." in text
    assert f"beyond 2190 {unit}" in text
    assert "years" not in text
    page.fill("#times", "365, 1826")
    assert page.evaluate("discreet.state.times") == [365, 1826]
    shown = float(page.inner_text("#answers").split()[1])
    expected = survival_band(release, _raw((35, 0))).estimate[13]
    assert shown == pytest.approx(expected, abs=5e-4)
    assert f"2190 {unit}" in make_card(release)


def test_dates_without_a_unit_are_days_on_the_page():
    mapping = make_schema(horizon=2190.0, intervals=80).to_mapping()
    del mapping["time"]["duration"]
    mapping["time"] |= {"start": "diagnosed", "end": "seen"}
    page = make_page(make_release(schema=Schema.from_mapping(mapping)))
    assert "beyond 2190 days" in page
    assert "80 intervals up to 2190 days" in page


def test_interactions_are_listed_by_label():
    mapping = make_schema().to_mapping()
    mapping["covariate"][0] |= {"label": "Age at entry"}
    mapping["interaction"] = [{"of": ["age", "sex"]}]
    page = make_page(make_release(schema=Schema.from_mapping(mapping)))
    assert "Interaction of Age at entry and sex." in page


def test_the_pages_own_words_stand_on_it(visit):
    mapping = make_schema().to_mapping()
    mapping["page"] = {
        "title": "Survival after a heart attack", "description": "All of them.\n\nAnd their heirs.",
        "event": "death", "contact": "registry@example.org", "citation": "Doe 2026",
        "licence": "CC BY 4.0",
    }  # fmt: skip
    page = visit(make_release(schema=Schema.from_mapping(mapping)))
    assert page.title() == page.inner_text("h1") == "Survival after a heart attack"
    assert page.locator("header .lead").all_inner_texts()[:2] == [
        "All of them.",
        "And their heirs.",
    ]
    text = page.inner_text("body")
    for words in ("All of them.", "that death has not happened", "registry@example.org", "CC BY"):
        assert words in text


@pytest.mark.parametrize(
    ("code", "coefficients", "level"),
    [("life-table", (), "care"), ("events", (), "none"), ("noise", ("age",), "care")],
)
def test_what_a_release_says_against_itself_stands_on_top(code, coefficients, level):
    release = make_release(covariance=make_covariance(7))
    caution = Caution.about(code, "Something is wrong.", coefficients, "Take more knots.")
    page = make_page(release.model_copy(update={"warnings": (caution,)}))
    shown, document = page.split('id="document"')
    assert "Take more knots" in document  # the release itself
    assert "Take more knots" not in shown
    assert f'class="quality {level}"' in page
    assert "Something is wrong." in page.split('id="explore"')[0]
    assert 'class="quality good"' in make_page(release)


def test_a_language_without_texts_is_refused():
    mapping = {**make_schema().to_mapping(), "page": {"language": "da"}}
    with pytest.raises(SettingsError, match="no texts in 'da'"):
        make_page(make_release(schema=Schema.from_mapping(mapping)))


def test_a_page_may_be_read_by_everybody(tmp_path):
    write_page(make_release(), tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_mode & 0o777 == 0o644


def test_every_control_has_a_name(visit):
    page = visit(make_release())
    unnamed = page.evaluate(
        """() => [...document.querySelectorAll('input, select, button')]
        .filter(e => !(e.labels?.length || e.getAttribute('aria-label') || e.textContent.trim()))
        .map(e => e.outerHTML)"""
    )
    assert unnamed == []


def test_numbers_are_kept_within_the_public_bounds(visit):
    page = visit(make_release())
    page.fill("#a-0", "1000")
    assert page.evaluate("discreet.state.a[0]") == 49
    page.fill("#times", "10, x, 99999, 20")
    assert page.get_attribute("#times", "aria-invalid") == "true"
    assert page.evaluate("discreet.state.times") == [10, 20]


def test_without_a_covariance_there_is_no_band_and_the_page_says_why(visit):
    page = visit(make_release(), color_scheme="dark", viewport={"width": 390, "height": 800})
    assert "releases no standard errors" in page.inner_text("#band-note")
    assert _in_page(page, PROFILES[0])["lower"] == [None] * 81
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= 390, "the page scrolls sideways on a phone"


def test_hostile_names_are_only_names(visit):
    release = make_release(schema=make_schema(HOSTILE, f"{HOSTILE}'\"="))
    page = visit(release)
    assert HOSTILE in page.inner_text("#profile-a")
    assert page.locator("img").count() == 0


def _elements(page):
    """Every element with its attributes, as a browser would read them."""
    found = []
    reader = HTMLParser()
    reader.handle_starttag = lambda tag, attributes: found.append((tag, attributes))
    reader.feed(page)
    return found


def _spoken(release, text):
    """The release with the text wherever a release has words of its own."""
    mapping = release.to_mapping()
    mapping["schema"]["time"] |= {"duration": f"{text}1", "event": f"{text}2"}
    mapping |= dict.fromkeys(("release_id", "ledger", "library_version"), text)
    mapping |= {"warnings": [text], "mechanism": {"name": text}}
    return document_of(mapping)


def test_no_text_of_a_release_becomes_an_element():
    hostile = f"\"'>]]>-->{HOSTILE}{{{{ 7 * 7 }}}}"
    named = make_release(schema=make_schema(hostile, hostile))
    page = make_page(_spoken(named, hostile))
    assert _elements(page) == _elements(make_page(_spoken(make_release(), "word")))
    assert "{{ 7 * 7 }}" in page


def test_several_registries_are_named_with_what_it_means(visit):
    shares = NoiseShares.among(5)
    release = make_release().model_copy(update={"details": shares.details()})
    page = visit(release)
    assert "Made by 5 registries together" in page.inner_text("#trust")
    assert "up to 2 of the registries" in page.inner_text("#trust")
    assert "registries" not in make_page(make_release()).split('id="facts"')[0]


def test_curves_by_group_have_the_same_page_around_them(visit, curves_release):
    page = visit(curves_release)
    assert page.title() == "Survival by arm"
    assert page.locator("#curves-chart path[aria-roledescription='line mark']").count() == 3
    assert page.locator("#numbers tr").count() == 1 + 3 * len(curves_release.times)
    for button, check in {
        "#save-release": lambda text: json.loads(text) == curves_release.to_mapping(),
        "#save-curve": lambda text: text.startswith("group,time,at_risk"),
    }.items():
        with page.expect_download() as waiting:
            page.click(button)
        assert check(waiting.value.path().read_text(encoding="utf-8")), button


def test_a_curve_is_drawn_to_where_its_group_ends(visit):
    """Its line is shorter than the others; a box that asks for care."""
    table = cohort(3000).to_pandas()
    cut = (table.arm == "c") & (table.time > 10)
    table.loc[cut, ["status", "time"]] = False, 10.0
    page = visit(
        ds.GroupCurves(schema(), by="arm")
        .publish(table, mechanism=ds.GroupCounts(2.0), ledger=ds.NO_LEDGER)
        .release_
    )
    lines = page.locator("#curves-chart path[aria-roledescription='line mark']")
    widths = sorted(lines.evaluate_all("all => all.map((one) => one.getBBox().width)"))
    assert len(widths) == 3
    assert widths[0] < 0.6 * widths[1]
    assert page.locator("#quality.care").count() == 1
    assert "The curve of 'c' is known until" in page.inner_text("#quality")


def test_a_reader_chooses_whose_band_of_many_groups_is_drawn(visit):
    table, mapping = cohort(3000).to_pandas(), schema().to_mapping()
    names = [f"arm{k}" for k in range(8)]
    table["arm"] = np.resize(names, len(table))
    mapping["covariate"][1]["levels"] = names
    made = ds.GroupCurves(mapping, by="arm")
    release = made.publish(table, mechanism=ds.GroupCounts(8.0), ledger=ds.NO_LEDGER).release_
    assert all(curve.reach for curve in release.estimates)
    page = visit(release)
    bands = page.locator("#curves-chart path[aria-roledescription='area mark']")
    lines = page.locator("#curves-chart path[aria-roledescription='line mark']")
    assert (bands.count(), lines.count()) == (1, 8)
    first = bands.first.get_attribute("d")
    page.select_option("#band", "arm5")
    page.wait_for_function(
        "path => document.querySelector(\"#curves-chart path[aria-roledescription='area mark']\")"
        "?.getAttribute('d') !== path",
        arg=first,
    )
    assert (bands.count(), lines.count()) == (1, 8)


def test_downloads_hold_the_release_and_the_curve(visit):
    release = make_release()
    page = visit(release)
    for button, check in {
        "#save-release": lambda text: json.loads(text) == release.to_mapping(),
        "#save-curve": lambda text: len(text.splitlines()) == 163,
        "#save-table": lambda text: len(text.splitlines()) == 4 and "odds_ratio" in text,
        "#save-latex": lambda text: text.startswith("\\begin{tabular}"),
        "#save-citation": lambda text: text.startswith("@misc{"),
        "#save-picture": lambda text: text.startswith("<svg"),
    }.items():
        with page.expect_download() as waiting:
            page.click(button)
        assert check(waiting.value.path().read_text(encoding="utf-8")), button


def test_a_title_with_braces_does_not_end_its_field_of_a_citation(visit):
    mapping = make_schema().to_mapping()
    mapping["page"] = {"title": "Odd } and { too"}
    page = visit(make_release(schema=Schema.from_mapping(mapping)))
    with page.expect_download() as waiting:
        page.click("#save-citation")
    text = waiting.value.path().read_text(encoding="utf-8")
    assert "title = {Odd \\textbraceright{} and \\textbraceleft{} too}," in text


def test_the_page_is_one_small_file_with_a_strict_policy():
    page = make_page(make_release())
    assert len(page.encode()) < 1_500_000
    assert "unsafe-eval" not in page.split("</head>")[0]
    assert "default-src 'none'" in html.unescape(page.split("</head>")[0])
    assert '<script src="' not in page
    assert "<link" not in page.split("<script")[0]


def test_what_is_not_private_is_refused():
    with pytest.raises(ArtefactError, match="only a private release becomes a page"):
        make_page(make_release(private=False))
