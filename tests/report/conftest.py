"""Releases to make pages of, and visits to them in a real browser."""

import numpy as np
import pyarrow as pa
import pytest
from cohorts import cohort, schema

import discreet as ds
from discreet.design.baseline import parse_baseline
from discreet.design.design import Design
from discreet.design.link import get_link
from discreet.design.schema import Schema
from discreet.documents.causes import CausesRelease
from discreet.documents.model import Release
from discreet.privacy.guarantee import Guarantee
from discreet.report import make_page

HOSTILE = "<img src=x onerror=alert(1)></script>"


def make_schema(name="age", level="M", **time):
    """A slider and a menu, under any names."""
    grid = time or {"horizon": 2190.0, "intervals": 80}
    return Schema.from_mapping(
        {
            "time": {"duration": "days", "event": "status", **grid},
            "covariate": [
                {"name": name, "low": 26, "high": 49, "missing": 35},
                {"name": "sex", "levels": ["F", level, "other"]},
            ],
        }
    )


def make_release(
    link="logit", baseline="natural-spline:4", covariance=None, schema=None, private=True
):
    """A release with round numbers on a grid of 2^-20."""
    design = Design(schema or make_schema(), parse_baseline(baseline))
    point = np.random.default_rng(7).normal(size=design.dimension)
    point[: design.baseline.dimension] *= 0.4
    point[0] -= 2.0 if link == "probit" else 4.0
    point = np.rint(np.ldexp(point, 20)) / 2**20
    guarantee = Guarantee(1.0, 1e-6, rho=0.0244)
    return Release.model_validate(
        {
            **Release.shared_facts(design, get_link(link), point),
            "private": private,
            "persons": 12345,
            "mechanism": {"name": "newton"},
            "guarantee": guarantee,
            "noise_scale": 1.0,
            "grid_exponent": -20,
            "details": {},
            "released": {} if covariance is None else _released(covariance),
            "release_id": "r0123456789abcdef0123",
            "ledger": "no ledger",
            "promise": guarantee.sentence(),
        }
    )


def _released(covariance):
    life_table = [[1, 40, 500.0, 1000.0], [41, 80, 300.0, 800.0]]
    calibration = [[1, 40, 1000.0, 930.0, 20.0], [41, 80, 800.0, 850.0, 20.0]]
    return {
        "covariance": covariance.tolist(),
        "life_table": life_table,
        "calibration": calibration,
    }


def make_covariance(size):
    """A covariance that is not diagonal."""
    half = np.random.default_rng(3).normal(size=(size, size))
    return 0.02 * (half @ half.T / size + np.eye(size))


def make_causes(link="logit", baseline="natural-spline:4", first="cancer", schema=None):
    """A release of two causes, with round numbers on a grid of 2^-20."""
    mapping = make_schema().to_mapping() if schema is None else schema
    mapping["time"]["causes"] = {first: ["C"], "other causes": ["O", "1"]}
    declared = Schema.from_mapping(mapping)
    designs = {
        cause: Design(declared.of_cause(cause), parse_baseline(baseline))
        for cause in declared.time.causes
    }
    release = make_release(link, baseline, schema=next(iter(designs.values())).schema)
    size = release.design.dimension
    point = np.concatenate([release.internal.vector, release.internal.vector[::-1]])
    point[[0, size]] = -5.0
    parts = {
        cause: Release.shared_facts(design, get_link(link), own)
        for (cause, design), own in zip(designs.items(), np.split(point, 2), strict=True)
    }
    counts = [[1, 40, 500.0, 600.0, 400.0], [41, 80, 300.0, 500.0, 300.0]]
    calibration = [[1, 40, 600.0, 580.0, 20.0], [41, 80, 500.0, 520.0, 20.0]]
    facts = {key: getattr(release, key) for key in (
        "persons", "mechanism", "guarantee", "noise_scale", "grid_exponent", "details",
        "release_id", "ledger", "promise", "private",
    )}  # fmt: skip
    return CausesRelease.model_validate(
        {
            **CausesRelease.joined(declared, parts),
            **facts,
            "released": {
                "covariance": make_covariance(2 * size).tolist(),
                "life_table": counts,
                "calibration": [calibration, calibration],
            },
        }
    )


@pytest.fixture(scope="session")
def curves_release():
    """Curves of three groups."""
    return (
        ds.GroupCurves(schema(), by="arm")
        .publish(cohort(3000), mechanism=ds.GroupCounts(2.0), ledger=ds.NO_LEDGER)
        .release_
    )


@pytest.fixture(scope="session")
def causes_release():
    """Curves of two causes by group."""
    table = cohort(2000)
    draw = np.random.default_rng(1).random(len(table))
    events = np.array(table["status"].to_pylist())
    causes = np.where(events, np.where(draw < 0.6, "cancer", "other"), "alive")
    place = table.schema.get_field_index("status")
    mapping = schema().to_mapping()
    mapping["time"]["causes"] = {"cancer": ["cancer"], "other causes": ["other"]}
    data = table.set_column(place, "status", pa.array(causes))
    return (
        ds.GroupCurves(mapping, by="arm")
        .publish(data, mechanism=ds.GroupCounts(2.0), ledger=ds.NO_LEDGER)
        .release_
    )


@pytest.fixture
def visit(browser, tmp_path):
    """Open a release's page; whatever the console says fails the test."""
    complaints = []
    opened = []

    def open_page(release, **context):
        file = tmp_path / "page.html"
        file.write_text(make_page(release), encoding="utf-8")
        page = browser.new_context(**context).new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: _local_only(request.url, complaints))
        page.goto(file.as_uri(), timeout=120_000)
        page.wait_for_selector("html[data-ready=yes]", timeout=120_000)
        opened.append(page)
        return page

    yield open_page
    for page in opened:
        page.context.close()
    assert complaints == []


def _local_only(url, complaints):
    if not url.startswith(("file:", "data:", "blob:")):
        complaints.append(f"asked for {url}")
