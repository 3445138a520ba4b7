"""Pages of many shapes in a real browser: wide and on a phone, light and dark, on paper, by keyboard."""

import re
from itertools import pairwise

import numpy as np
import pytest

from discreet.design.schema import Schema
from discreet.design.terms import user_columns
from discreet.documents.caution import Caution
from discreet.report import make_page
from tests.report.conftest import HOSTILE, make_causes, make_covariance, make_release, make_schema
from tests.report.test_changes_page import with_rows
from tests.support import survival_band

LONG = "A label that holds the whole question of the questionnaire, and what was left out of it"
WORD = "Donaudampfschifffahrtsgesellschaftskapitänswitwenrentenauszahlungsstelle"
TIME = {"duration": "days", "event": "status", "unit": "days", "horizon": 2190.0, "intervals": 80}
WIDE, PHONE = {"width": 1180, "height": 900}, {"width": 390, "height": 844}
MOST_BYTES = 1_500_000

TEN = [
    {"name": "age", "low": 26, "high": 90, "label": "Age", "unit": "years", "scale": "spline:4"},
    {"name": "sex", "levels": ["F", "M"], "label": "Sex", "labels": ["women", "men"]},
    {"name": "sbp", "low": 80, "high": 220, "unit": "mmHg", "missing": "indicator"},
    {"name": "crea", "low": 0.3, "high": 15, "scale": "log", "missing": "indicator"},
    {"name": "bmi", "low": 15, "high": 50, "label": "Body mass index", "unit": "kg/m²"},
    {"name": "smoke", "levels": ["never", "former", "current"], "missing": "indicator"},
    {"name": "diabetes", "levels": ["0", "1"], "labels": ["no", "yes"]},
    {"name": "killip", "levels": ["I", "II", "III", "IV"], "label": "Killip class"},
    {"name": "lvef", "low": 10, "high": 75, "label": "Ejection fraction", "unit": "%"},
    {"name": "year", "low": 2010, "high": 2020, "label": "Year of admission"},
]
STRATA = {"name": "hospital", "levels": ["A", "B", "C"], "label": "Hospital"}
ARABIC = [
    {"name": "عمر", "low": 20, "high": 90, "label": "العمر عند الدخول", "unit": "سنة"},
    {"name": "sex", "levels": ["ذكر", "أنثى"], "label": "الجنس"},
]
LENGTHY = [
    {"name": "x", "low": 0, "high": 1, "label": LONG},
    {"name": "y", "levels": ["a", "b", "c"], "label": f"{LONG} (2)", "labels": [LONG, WORD, "c"]},
]
SHOUTED = [{"name": HOSTILE, "low": 0, "high": 1}, {"name": "y", "levels": ["a", f"{HOSTILE}'\"="]}]
MAPPINGS = {
    "ten": {"covariate": TEN, "page": {"title": "Survival", "description": "One.\n\nTwo."}},
    "strata": {"covariate": TEN[:2], "strata": STRATA},
    "right-to-left": {"covariate": ARABIC, "page": {"title": "البقاء بعد النوبة القلبية"}},
    "long": {"covariate": LENGTHY, "page": {"title": f"{WORD} {WORD}"}},
    "hostile": {"covariate": SHOUTED, "page": {"title": HOSTILE, "citation": HOSTILE}},
}


def _release(name):
    schema = Schema.from_mapping({"time": TIME, **MAPPINGS[name]})
    strata = 1 if schema.strata is None else len(schema.strata.levels)
    size = 4 * strata + len(schema.coefficient_names)
    return make_release("cloglog", covariance=make_covariance(size), schema=schema)


@pytest.fixture(scope="module")
def releases(curves_release, causes_release):
    return {
        **{name: _release(name) for name in MAPPINGS},
        "curves": curves_release,
        "causes": causes_release,
        "model of causes": make_causes(),
    }


NAMES = [*MAPPINGS, "curves", "causes", "model of causes"]


LOOKS = [
    *((name, *look) for name in NAMES for look in ((WIDE, "light"), (PHONE, "dark"))),
    ("ten", WIDE, "dark"),
    ("ten", PHONE, "light"),
]


@pytest.mark.parametrize(("name", "viewport", "scheme"), LOOKS)
def test_a_page_fits_its_screen_and_can_be_read_by_everybody(
    visit, releases, name, viewport, scheme
):
    page = visit(releases[name], viewport=viewport, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
    assert page.evaluate(CUT) == []
    assert page.evaluate(FAINT) == []
    assert page.evaluate(NAMELESS) == []
    assert page.evaluate(HEADLESS) == []
    if viewport is WIDE:  # and on paper it is two pages
        assert len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4"))) in {1, 2}


# Small tables of which a part is beyond the edge of their panel.
CUT = """() => [...document.querySelectorAll('#life-risk, .lasting table')]
  .filter((table) => table.offsetWidth > table.parentElement.clientWidth).map((table) => table.outerHTML)"""


# Texts whose contrast with what is behind them is below 4.5 (WCAG 2.1, level AA).
FAINT = """() => {
  const part = (value) => { const s = value / 255; return s <= 0.03928 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4; };
  const numbers = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = (text) => { const [r, g, b] = numbers(text).map(part); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const found = getComputedStyle(at).backgroundColor;
      if (numbers(found)[3] !== 0) return found;
    }
    return "rgb(255, 255, 255)";
  };
  const seen = [...document.querySelectorAll("h1, h2, h3, p, li, label, legend, td, th, dt, dd, figcaption, summary, button, a, caption, output, select")]
    .filter((element) => element.offsetParent && element.textContent.trim() && !element.closest(".skip"));
  return seen.map((element) => {
    const [one, other] = [light(getComputedStyle(element).color), light(behind(element))].sort((a, b) => b - a);
    return [(one + 0.05) / (other + 0.05), element.outerHTML.slice(0, 80)];
  }).filter(([ratio]) => ratio < 4.5);
}"""


# Charts without a name, or without a table that has the same numbers.
NAMELESS = """() => [...document.querySelectorAll('.chart')].filter((chart) => chart.offsetParent)
  .filter((chart) => !chart.getAttribute('aria-label') || chart.getAttribute('role') !== 'img'
    || !(chart.closest('.explore') ?? chart.closest('.panel') ?? chart.closest('section'))
        .querySelector('table tbody tr'))
  .map((chart) => chart.id)"""

# Tables whose rows or columns have no heading.
HEADLESS = """() => [...document.querySelectorAll('table')].filter((table) => table.rows.length)
  .filter((table) => !table.querySelector('th[scope=col]') || !table.querySelector('th[scope=row]'))
  .map((table) => table.outerHTML.slice(0, 200))"""


def test_no_picture_moves_while_a_slider_does(visit, releases):
    for viewport in (WIDE, PHONE):
        page = visit(releases["ten"], viewport=viewport)
        places = """() => [...document.querySelectorAll('.chart, figure, table, fieldset')]
            .map((item) => { const box = item.getBoundingClientRect();
                             const top = item.closest('.curve') ? 0 : box.top + scrollY;
                             return [box.width, box.height, top].map(Math.round); })"""
        before = page.evaluate(places)
        page.focus("#profile-a input[type=range]")
        for key in ("End", "Home", "PageUp"):
            page.keyboard.press(key)
        page.uncheck("#compare")
        page.check("#compare")
        page.wait_for_timeout(200)
        assert page.evaluate(places) == before


def test_the_curve_stays_in_view_on_a_phone(visit, releases):
    page = visit(releases["ten"], viewport=PHONE)
    page.locator("#b-9").scroll_into_view_if_needed()
    box = page.locator("#survival-chart").bounding_box()
    assert box["y"] >= 0
    assert box["y"] + box["height"] < PHONE["height"]


def test_a_keyboard_reaches_every_control_in_order(visit, releases):
    page = visit(releases["strata"])
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    seen = []
    for _ in range(60):
        page.keyboard.press("Tab")
        seen.append(page.evaluate("document.activeElement.id || document.activeElement.type"))
    wanted = ["a-0", "a-1", "a-2", "compare", "b-0", "b-1", "b-2", "times", "save-release"]
    assert [seen.index(name) for name in wanted] == sorted(seen.index(name) for name in wanted)


def test_strata_have_a_menu_and_move_the_curve(visit, releases):
    page = visit(releases["strata"])
    before = page.inner_text("#answers")
    page.locator("#a-2").select_option(index=2)
    assert page.inner_text("#answers") != before
    assert "Hospital" in page.inner_text("#profile-a")


def test_a_number_may_be_unknown_where_that_has_a_coefficient(visit, releases):
    release = releases["ten"]
    schema = release.public_schema
    page = visit(release)
    assert page.locator("#profile-a .unknown").count() == 2
    page.check("#a-3-unknown")
    assert page.is_disabled("#a-3")
    profile = page.evaluate("discreet.state.a")
    assert profile[3] is None
    found = page.evaluate("p => discreet.survival.curve(discreet.facts, p)", profile)
    filled = [schema.covariates[3].fill if value is None else value for value in profile]
    raw = user_columns(schema, filled)
    raw[schema.coefficient_names.index("crea[missing]")] = 1.0
    band = survival_band(release, raw)
    np.testing.assert_allclose([point["survival"] for point in found], band.estimate, atol=1e-9)
    np.testing.assert_allclose([point["upper"] for point in found], band.upper, atol=1e-9)
    page.uncheck("#a-3-unknown")
    assert page.evaluate("discreet.state.a[3]") == pytest.approx(filled[3])


def test_right_to_left_texts_run_from_the_right(visit, releases):
    page = visit(releases["right-to-left"])
    for place in ("h1", "#profile-a label"):
        style = page.evaluate(f"getComputedStyle(document.querySelector('{place}')).direction")
        assert style == "rtl"


def test_causes_have_a_menu_and_a_curve_each(visit, releases):
    page = visit(releases["causes"])
    before = page.locator("#curves-chart svg").inner_html()
    page.locator("#cause").select_option("cancer")
    changed = "before => document.querySelector('#curves-chart svg').innerHTML !== before"
    page.wait_for_function(changed, arg=before)
    assert "cancer" in page.inner_text("#curves-chart")


@pytest.mark.parametrize("name", NAMES)
def test_pages_are_small_and_ask_for_nothing(releases, name):
    page = make_page(releases[name])
    assert len(page.encode()) < MOST_BYTES
    assert "default-src &#39;none&#39;" in page
    assert not re.search(r"<(?:link|iframe|object|embed)\b", page.split("<script")[0])


def test_levels_name_their_reference_and_the_baseline_has_no_numbers(visit):
    release = make_release(covariance=make_covariance(7))
    text = "The data say little about baseline[1] and baseline[3]. baseline[2]: few events."
    caution = Caution.about("unreached", text, ["baseline[1]"])
    page = visit(release.model_copy(update={"warnings": (caution,)}))
    shown = "The data say little about the baseline. The baseline: few events."
    assert shown in page.inner_text("#quality")
    labels = page.locator("#forest-chart svg").text_content()
    assert "sex: M vs F" in labels
    assert "sex: other vs F" in labels
    assert page.evaluate("discreet.state.a") != page.evaluate("discreet.state.b")


def test_tables_fit_a_phone(visit, releases):
    """Those that are open at first, with ratios as large as noise makes them."""
    release = make_release(covariance=make_covariance(7))
    far = with_rows(release, [[0, 8.1, -7.5, -3.2], [1, 0.01, 0.03, 1.2]])
    assert "<td>&gt;1000</td>" in make_page(far)
    assert "<td>&lt;0.001</td>" in make_page(far)
    for shown in (far, releases["curves"]):
        page = visit(shown, viewport=PHONE)
        cut = page.evaluate(
            """() => [...document.querySelectorAll(".scroll")].filter((box) => !box.closest("details")
                 && box.scrollWidth > box.clientWidth + 1).map((box) => box.textContent)"""
        )
        assert cut == []
    assert "restricted mean" in page.locator(".cards").evaluate(
        "table => table.querySelectorAll('td')[2].dataset.label"
    )


def test_no_label_of_an_axis_lies_on_another(visit):
    """At three widths: labels of one axis, by their boxes."""
    release = make_release(
        covariance=make_covariance(7), schema=make_schema(horizon=1826.0, intervals=80, unit="days")
    )
    for width in (1280, 768, 390):
        page = visit(release, viewport={"width": width, "height": 900})
        axes = page.evaluate(
            """() => [...document.querySelectorAll(".role-axis-label")].map((axis) =>
              [...axis.querySelectorAll("text")].filter((text) => Number(text.getAttribute("opacity") ?? 1) > 0)
                .map((text) => { const box = text.getBoundingClientRect(); return [box.left, box.right, box.top, box.bottom]; }))"""
        )
        assert len(axes) > 4
        for boxes in axes:
            for one, other in pairwise(boxes):
                beside = one[1] <= other[0] + 1 or other[1] <= one[0] + 1
                above = one[3] <= other[2] + 1 or other[3] <= one[2] + 1
                assert beside or above, (width, boxes)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
