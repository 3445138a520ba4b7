"""All questions of a draw, asked of simulated people with noise from a seed."""

from dataclasses import replace

import numpy as np
import pytest

from discreet.core.ask import Ask
from discreet.design.baseline import parse_baseline
from discreet.design.design import Design
from discreet.design.link import get_link
from discreet.design.schema import Schema
from discreet.engine.local import LocalEngine
from discreet.estimator.asking import predicted
from discreet.mechanisms import PrivateNewton
from discreet.mechanisms.contract import Facts
from discreet.mechanisms.newton.layout import Layout
from discreet.mechanisms.newton.sequence import Sequence
from discreet.people.episodes import Episodes
from discreet.privacy.testing import SeededNoise

INTERVALS = 20


def people_of(design, persons, seed, *, causes=1, late=False, changing=False):
    """Lives with hazard 0.05 a cause, effects 1 and -1 of the first two columns."""
    random = np.random.default_rng(seed)
    x = random.uniform(-1, 1, (persons, len(design.covariates.names))) * design.covariates.ranges
    entry = np.where(random.random(persons) < 0.3, random.integers(1, 8, persons), 0) * late
    stratum = random.integers(0, design.strata, persons)
    eta = get_link("logit").predictor(0.05 / causes) + x[:, 0] / x[:, 0].std() * 0.5 + 0.4 * stratum
    hazard = 1.0 / (1.0 + np.exp(-eta))
    draws = random.random((persons, INTERVALS))
    outcome = np.where(draws < causes * hazard[:, None], 1 + (draws // hazard[:, None]), 0)
    outcome[np.arange(INTERVALS) < entry[:, None]] = 0
    cut = np.where(random.random(persons) < 0.4, random.integers(9, INTERVALS, persons), INTERVALS)
    first = np.where(outcome.any(axis=1), (outcome > 0).argmax(axis=1) + 1, INTERVALS + 1)
    exits = np.minimum(first, cut)
    cause = np.where(first <= cut, outcome[np.arange(persons), np.minimum(first, INTERVALS) - 1], 0)
    order = np.argsort(exits, kind="stable")
    offsets = None
    rows = order
    entries, leaves, events = entry[order], exits[order], cause[order] > 0
    if changing:  # every person in two rows, the second with other covariates
        middle = np.minimum(np.maximum(entries + 1, 5), leaves - 1)
        two = (leaves - entries > 1).astype(int)
        offsets = np.concatenate([[0], np.cumsum(1 + two)]).astype(np.int64)
        rows = np.repeat(order, 1 + two)
        begins = np.repeat(entries, 1 + two)
        ends = np.repeat(leaves, 1 + two)
        second = np.zeros(len(rows), dtype=bool)
        second[offsets[1:][two > 0] - 1] = True
        firsts = np.zeros(len(rows), dtype=bool)
        firsts[offsets[:-1][two > 0]] = True
        middles = np.repeat(middle, 1 + two)
        begins, ends = np.where(second, middles, begins), np.where(firsts, middles, ends)
        events = np.repeat(events, 1 + two) & ~firsts
        x = x * 1.0
        columns = np.where(second[:, None], 0.9 * x[rows], x[rows])
        entries, leaves = begins, ends
    else:
        columns = x[rows]
        if late:
            offsets = np.arange(persons + 1, dtype=np.int64)
    return Episodes(
        np.ascontiguousarray(columns),
        entries.astype(np.int32),
        leaves.astype(np.int32),
        np.asarray(events),
        offsets,
        persons,
        stratum[rows].astype(np.int16) if design.strata > 1 else None,
        np.where(events, cause[rows], 0).astype(np.int16) if causes > 1 else None,
    )


def sequence_of(
    epsilon,
    delta,
    persons=2000,
    *,
    strata=1,
    causes=1,
    late=False,
    changing=False,
    score="ball",
    seed=1,
):
    time = {"duration": "t", "event": "e", "horizon": 1.0, "intervals": INTERVALS}
    if causes > 1:
        time["causes"] = {f"c{k}": [k] for k in range(1, causes + 1)}
    if late or changing:
        time["entry"] = "in"
    facts = {
        "time": time,
        "covariate": [{"name": "x", "low": -1, "high": 1}, {"name": "z", "low": -1, "high": 1}],
    }
    if changing:
        facts["person"] = "id"
    if strata > 1:
        facts["strata"] = {"name": "s", "levels": [str(k) for k in range(strata)]}
    design = Design(Schema.from_mapping(facts), parse_baseline("natural-spline:2"))
    people = people_of(design, persons, seed, causes=causes, late=late, changing=changing)
    link = get_link("logit")
    mechanism = PrivateNewton(epsilon, delta, score=score)
    layout = Layout.read(mechanism.plan(Facts(persons, design, link)))
    ask = Ask(LocalEngine(people, threads=1), SeededNoise(seed), layout.budget)
    return Sequence(ask, design, link, layout, clipped=score == "clip"), layout


CASES = [
    {},
    {"causes": 2},
    {"strata": 2, "late": True},
    {"late": True},
    {"changing": True},
    {"score": "clip"},
]


@pytest.mark.parametrize(("delta", "facts"), [(0.0, {}), *((1e-6, facts) for facts in CASES)])
def test_a_draw_asks_all_and_ends_near_what_much_budget_gives(facts, delta):
    """With little noise as with hardly any, in units of what the first one states."""
    sequence, layout = sequence_of(8.0, delta, **facts)
    found = sequence.run()
    assert len(found.transcript.steps) == len(layout.budget.steps)
    assert (found.transcript.information is None) == (layout.budget.share("information") == 0)
    exact = sequence_of(100.0, delta, **facts)[0].run().estimate
    stated = np.sqrt(np.diag(found.estimate.covariance)).reshape(found.estimate.f.shape)
    assert np.max(np.abs(found.estimate.f - exact.f) / stated) < 4.0
    assert np.all(np.diag(found.estimate.covariance) >= 0.99 * np.diag(found.estimate.sampling))


@pytest.mark.parametrize("facts", CASES)
def test_an_answer_comes_whatever_the_noise(facts):
    """The budget is spent by then: an estimate is made of any numbers."""
    for seed, (epsilon, persons) in enumerate([(1e-3, 60), (0.05, 300)]):
        sequence, _ = sequence_of(epsilon, 1e-6, persons, seed=seed, **facts)
        found = sequence.run().estimate
        assert np.all(np.isfinite(found.f))
        assert np.all(np.isfinite(found.covariance))
        assert np.all(np.linalg.eigvalsh(found.covariance) > 0.0)


@pytest.mark.parametrize("facts", [{}, {"causes": 2}])
def test_standard_errors_are_predicted_before_scores_are_asked_for(facts):
    """At the picture where a draw ends, without its scores and its information: within a quarter."""
    sequence, layout = sequence_of(2.0, 1e-6, **facts)
    ended = sequence.run()
    size = ended.field.layout.size
    noises = [
        (layout.later_noise(k, size), layout.step_noise(share, size))
        for k, share in enumerate(layout.budget.steps)
    ]
    known = ended.field.transcript.having(information=None)
    field = replace(ended.field, transcript=known)
    known = field, ended.prior, ended.estimate.phi, ended.estimate.f
    found = sum(predicted(*known, noises))
    stated = ended.estimate.covariance / max(1.0, ended.estimate.misfit)
    ratio = np.sqrt(np.diag(found) / np.diag(stated))
    assert np.all((ratio > 0.8) & (ratio < 1.25))
    more = [(one / 4.0, own / 4.0) for one, own in noises]
    assert np.trace(predicted(*known, more)[1]) < np.trace(predicted(*known, noises)[1])
