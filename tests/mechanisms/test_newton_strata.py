"""Private strata: every sum moves as the page says, one baseline each, nobody in a stratum is no error."""

import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet import PrivateNewton, SurvivalRegression
from discreet.base import simulate
from discreet.core.information import Informations
from discreet.core.people import Levels
from discreet.core.scores import (
    LARGEST,
    Whitened,
    alone,
    block_information,
    block_scores,
    information_tables,
    score_tables,
)
from discreet.design.baseline import NaturalSpline
from discreet.design.design import Design
from discreet.design.link import LINKS
from discreet.design.schema import Schema
from discreet.documents.read import document_of
from discreet.engine.local import LocalEngine
from discreet.errors import ArtefactError
from discreet.forecast import forecasts, outlook_for
from discreet.likelihood.problem import Problem
from discreet.mechanisms.contract import Facts
from discreet.mechanisms.newton.layout import Layout
from discreet.people.encode import to_episodes
from discreet.privacy.testing import SeededNoise
from discreet.solve import minimise

LEVELS = ("A", "B", "C")


def schema_of(levels=LEVELS):
    mapping = {
        "time": {"duration": "t", "event": "e", "horizon": 20, "intervals": 20},
        "covariate": [
            {"name": "age", "low": 20, "high": 100},
            {"name": "arm", "levels": ["a", "b", "c"]},
        ],
    }
    if levels:
        mapping["strata"] = {"name": "site", "levels": list(levels)}
    return Schema.from_mapping(mapping)


def people(count, seed=0, mix=0.7):
    """Sites with other baselines, one rising, and with other people: older from A to C."""
    random = np.random.default_rng(seed)
    site, arm = random.integers(0, 3, count), random.integers(0, 3, count)
    age = np.clip(random.normal(60 + 10 * mix * (site - 1), 10, count), 20, 100)
    level = -3.5 + 0.5 * (site - 1) + 0.04 * (age - 60) + 0.6 * (arm == 1) - 0.4 * (arm == 2)
    steps = np.arange(20)
    rising = 0.06 * (steps - 10) * (site[:, None] == 2)
    hits = random.random((count, 20)) < 1 / (1 + np.exp(-(level[:, None] + rising)))
    time = np.where(hits.any(1), hits.argmax(1) + 0.5, 99.0)
    end = random.uniform(2, 30, count)
    named = np.array(["A", "B", "C"])[site], np.array(["a", "b", "c"])[arm]
    return pa.table(
        {
            "t": np.minimum(time, end),
            "e": time <= end,
            "age": age,
            "site": named[0],
            "arm": named[1],
        }
    )


def problem_of(table, schema, link="logit"):
    engine = LocalEngine(to_episodes(table, schema))
    return Problem(engine, Design(schema, NaturalSpline(3)), LINKS[link])


@pytest.mark.parametrize("link", sorted(LINKS))
def test_scores_of_strata_are_the_gradient(link):
    """A ball that holds everybody: the sums are those of the plain likelihood, tables or not."""
    schema = schema_of()
    loss = problem_of(people(3000), schema, link)
    random, size = np.random.default_rng(3), loss.dimension
    point = np.concatenate([np.tile([-3.0, 0.2, 0.1], 3), random.normal(size=size - 9) / 3])
    frame, bound = np.eye(size) / 100.0, 10.0
    scores = Whitened(loss.design, loss.link, point, frame, bound)
    gradient = frame.T @ loss(point).gradient
    for levels in ([Levels()] * 3, score_tables(alone(scores), 10**9)):
        (sums,) = loss.engine.reduce(block_scores, alone(scores), *levels)
        assert sums * (bound / LARGEST) == pytest.approx(gradient, abs=3000 * bound / LARGEST)
    exact = frame.T @ loss.information(point) @ frame
    rows, columns = np.tril_indices(size)
    for tables in ([Informations()] * 3, information_tables(alone(scores), 10**9)):
        (half,) = loss.engine.reduce(block_information, alone(scores), 0.01, *tables)
        assert half * (0.01 / 2**26) == pytest.approx(exact[rows, columns], abs=0.05 * exact.max())


@pytest.mark.parametrize("delta", [1e-6, 0])
def test_a_huge_epsilon_recovers_the_fit_with_strata(delta):
    loss = problem_of(people(4000), schema_of())
    fit = minimise(loss, np.concatenate([np.tile([-3.5, 0.0, 0.0], 3), np.zeros(3)]))
    mechanism = PrivateNewton(1e6, delta)
    plan = mechanism.plan(Facts(loss.persons, loss.design, loss.link))
    gap = mechanism.draw(plan, loss, SeededNoise(1)).point - fit.point
    assert math.sqrt(gap @ fit.evaluation.hessian @ gap / len(gap)) < 0.05


def test_private_strata_are_about_as_accurate_as_their_size_says():
    """d = 12 against d = 6 without strata: noise in a ball grows with the root of d."""
    table, errors = people(8000), {}
    for levels in ((), LEVELS):
        schema = schema_of(levels)
        plain = SurvivalRegression(schema, link="logit").fit(table)
        precision = np.linalg.inv(plain.model_.covariance)
        found = []
        for seed in range(8):
            model = SurvivalRegression(schema, link="logit")
            drawn = simulate(model, table, mechanism=PrivateNewton(epsilon=2.0), seed=seed)
            gap = drawn.coefficients_.vector - plain.coefficients_.vector
            found.append(math.sqrt(gap @ precision @ gap / len(gap)))
        errors[levels] = np.median(found)
    assert errors[LEVELS] < 2.2 * errors[()]


def test_a_stratum_that_nobody_has_is_fitted_from_the_prior_and_named():
    table, levels = people(6000), (*LEVELS, "D")
    model = SurvivalRegression(schema_of(levels), link="logit")
    drawn = simulate(model, table, mechanism=PrivateNewton(epsilon=4.0), seed=1).model_
    told = {caution.code: caution for caution in drawn.warnings}
    assert "in site D, at most" in told["stratum"].message
    assert told["stratum"].coefficients == tuple(f"baseline[site=D][{k}]" for k in (1, 2, 3))
    assert set(told["stratum"].coefficients) <= set(told["unreached"].coefficients)
    assert not any("site=A" in name for name in told["unreached"].coefficients)
    tables = np.array(drawn.released["life_tables"])
    rows = tables.shape[0] // 4
    assert np.array_equal(tables[:, 0], np.repeat(np.arange(4), rows))
    whole = np.array(drawn.released["life_table"])
    assert np.array_equal(whole[:, 2:], tables[:, 3:].reshape(4, rows, -1).sum(axis=0))
    read = document_of(drawn.to_mapping())
    assert list(read.life_tables) == list(levels)
    assert read.life_tables["C"].survival[-1] < read.life_tables["A"].survival[-1]
    broken = drawn.to_mapping()
    broken["released"]["life_tables"] = tables[:-1].tolist()
    with pytest.raises(ArtefactError, match="not one for each stratum"):
        document_of(broken)
    assert list(read.to_mapping()["coefficients"]["baseline"]) == list(levels)
    errors = np.sqrt(np.diag(read.covariance))
    assert errors[9] > 5 * errors[0]  # the level of D against that of A


def test_streams_and_blocks_draw_the_same_numbers(tmp_path):
    table = people(900, 4)
    for start in range(0, 900, 300):
        pq.write_table(table.slice(start, 300), tmp_path / f"part{start}.parquet")
    model = SurvivalRegression(schema_of(), link="logit")
    found = [
        simulate(model, data, mechanism=PrivateNewton(epsilon=1.0), seed=5).model_.internal
        for data in (table, str(tmp_path / "*.parquet"))
    ]
    assert found[0] == found[1]
    loss = problem_of(table, schema_of())
    mechanism = PrivateNewton(1.0, 0)
    plan = mechanism.plan(Facts(loss.persons, loss.design, loss.link))
    points = [
        mechanism.draw(
            plan, replace(loss, engine=LocalEngine(loss.engine.episodes, threads)), SeededNoise(3)
        ).point
        for threads in (1, 3)
    ]
    assert np.array_equal(*points)


def test_strata_alone_without_a_covariate():
    schema = schema_of().model_copy(update={"covariates": ()})
    plain = SurvivalRegression(schema, link="logit").fit(people(3000))
    drawn = simulate(
        SurvivalRegression(schema, link="logit"),
        people(3000),
        mechanism=PrivateNewton(epsilon=50.0),
        seed=1,
    )
    gap = drawn.coefficients_.vector - plain.coefficients_.vector
    precision = np.linalg.inv(plain.model_.covariance)
    assert math.sqrt(gap @ precision @ gap / len(gap)) < 0.3


def test_a_plan_knows_strata():
    found = forecasts(outlook_for(schema_of(), 8000, 2500), 2.0)
    said = {item.mechanism: item for item in found}
    assert 0 < said["newton"].error < 3
    assert len(said["newton"].standard_errors) == 3
    assert "no proof for strata" in said["output"].note
    alone = forecasts(outlook_for(schema_of(()), 8000, 2500), 2.0)
    fewer = next(item for item in alone if item.mechanism == "newton")
    assert 1.0 < said["newton"].error / fewer.error < 3.0


def test_many_strata_leave_the_moments_to_the_covariates():
    layouts = []
    for levels in (LEVELS, [f"s{k}" for k in range(60)]):
        design = Design(schema_of(levels), NaturalSpline(3))
        plan = PrivateNewton(1.0, 1e-6).plan(Facts(8000, design, LINKS["logit"]))
        layouts.append(Layout.read(plan))
    assert [layout.mixed for layout in layouts] == [True, False]
    assert [layout.strata for layout in layouts] == [3, 60]
    assert all(layout.budget.share("moments") > 0 for layout in layouts)
    assert layouts[1].time_bins <= layouts[0].time_bins
