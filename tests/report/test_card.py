"""The model card: every number is the release's, nobody's text becomes markup."""

import re

import numpy as np
import pytest

import discreet as ds
from discreet.design.baseline import BASELINES, parse_baseline
from discreet.design.schema import Schema
from discreet.errors import ArtefactError
from discreet.report.card import BASES, make_card
from discreet.results.description import coefficient_table
from tests.cohorts import cohort
from tests.cohorts import schema as cohort_schema
from tests.report.conftest import (
    HOSTILE,
    make_causes,
    make_covariance,
    make_release,
    make_schema,
)


def test_the_equation_and_the_table_have_the_releases_numbers():
    release = make_release("cloglog", covariance=make_covariance(7))
    card = make_card(release)
    for value in release.coefficients.vector:
        assert f"{value:.6g}" in card
    value = release.coefficients.covariates["age"]
    place = coefficient_table(release).names.index("age")
    margin = 1.959964 * np.sqrt(release.covariance[place, place])
    assert f"| {np.exp(value - margin):.4g} to {np.exp(value + margin):.4g} |" in card
    assert "hazard ratio" in card
    assert release.promise in card
    assert "12,345" in card


def test_the_card_speaks_in_labels():
    mapping = make_schema().to_mapping()
    mapping["covariate"][0] |= {"label": "Age at entry", "unit": "years"}
    mapping["covariate"][1] |= {"label": "Sex", "labels": ["women", "men", "not known"]}
    release = make_release("cloglog", schema=Schema.from_mapping(mapping))
    card = make_card(release)
    for title in ("Age at entry (years)", "Sex: men", "Sex: not known"):
        assert f"* [{title}]" in card
        assert f"| {title} |" in card
    assert "sex[" not in card


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_counts_of_the_card_say_that_they_need_not_add_up():
    model = ds.SurvivalRegression(cohort_schema(), link="logit")
    release = model.publish(cohort(), mechanism=ds.PrivateNewton(1.0), ledger=ds.NO_LEDGER).release_
    card = make_card(release)
    events = max(0.0, float(np.array(release.released["life_table"])[:, 3].sum()))
    assert re.search(rf"Events: about {events:,.0f} ± \d+\. Censored: about ", card)
    assert "need not add up to the number of persons" in card


def test_without_intervals_the_card_says_so():
    rows = [
        line for line in make_card(make_release("probit")).splitlines() if "not released" in line
    ]
    assert len(rows) == len(make_release().coefficients.covariates)
    assert all(line.endswith("| not released |  |  |") for line in rows)


def test_open_items_are_named():
    assert make_card(make_release()).count("to be filled in") > 15


def test_texts_are_only_texts():
    mapping = make_schema(HOSTILE).to_mapping()
    mapping["page"] = {"title": f"{HOSTILE} [link](x) `code` | *star*"}
    card = make_card(make_release(schema=Schema.from_mapping(mapping)))
    code = [line for line in card.splitlines() if line.startswith("    ")]
    assert all("<img" not in line for line in card.splitlines() if line not in code)
    assert sum("<img" in line for line in code) == 1  # indented: a name in a formula, as text
    assert not re.search(r"(?<!\\)\[link", card)


def test_what_is_not_private_has_no_card():
    with pytest.raises(ArtefactError, match="model card"):
        make_card(make_release(private=False))


def test_the_card_of_competing_risks_has_the_numbers_of_every_cause():
    release = make_causes()
    card = make_card(release)
    for part in release.models.values():
        for value in part.coefficients.vector:
            assert f"{value:.6g}" in card
    assert card.count("# Cause: ") == len(release.causes)
    assert card.count(release.promise) == 1


def test_events_have_the_range_of_their_noise_and_the_basis_is_written_out():
    """The sum is that of the released counts; those below 0 count as they are."""
    release = make_release(covariance=make_covariance(7))
    rows = np.array(release.released["life_table"])
    card = make_card(release)
    spread = 1.959964 * np.sqrt(np.sum(release.calibration.deviation**2))
    assert f"Events: about {max(rows[:, 3].sum(), 0):,.0f} ± {spread:,.0f}." in card
    assert "d_j(t) = (max(t - k_j, 0)^3 - max(t - 1, 0)^3) / (1 - k_j)" in card


@pytest.mark.parametrize("spelling", ["natural-spline:5", "piecewise-constant:4", "log-time:3"])
def test_the_written_basis_is_that_of_the_code(spelling):
    """By the formulas of the card, in plain loops."""
    baseline, times = parse_baseline(spelling), np.array([0.1, 0.37, 0.5, 0.93, 1.0])
    size = baseline.dimension

    def spline(t):
        knots = [(j - 1) / (size - 1) for j in range(1, size)]
        d = [(max(t - k, 0) ** 3 - max(t - 1, 0) ** 3) / (1 - k) for k in knots]
        return [1, t, *(item - d[-1] for item in d[:-1])]

    formulas = {
        "natural-spline": spline,
        "piecewise-constant": lambda t: [
            float((j - 1) / size < t <= j / size) for j in range(1, size + 1)
        ],
        "log-time": lambda t: [np.log(t) ** j for j in range(size)],
    }
    assert set(BASES) == set(BASELINES) == set(formulas)
    expected = [formulas[baseline.kind](t) for t in times]
    np.testing.assert_allclose(baseline.evaluate(times), expected, atol=1e-12)
