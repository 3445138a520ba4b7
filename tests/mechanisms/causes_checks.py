"""What must hold of the private model of competing risks; seeded bugs must make the checks fail."""

import math

import numpy as np
import pyarrow as pa

from discreet.core import walk
from discreet.core.people import Levels
from discreet.core.scores import (
    LARGEST,
    JointScores,
    Whitened,
    block_scores,
)
from discreet.design.baseline import NaturalSpline
from discreet.design.design import Design
from discreet.design.link import get_link
from discreet.design.schema import Schema
from discreet.engine.local import LocalEngine
from discreet.likelihood.problem import Problem
from discreet.mechanisms import PrivateNewton
from discreet.mechanisms.contract import Facts
from discreet.mechanisms.newton.layout import Layout, informed_step
from discreet.people.encode import to_episodes
from tests.mechanisms.cases import FrozenNoise
from tests.mechanisms.newton_checks import page_sensitivities, part_of

CAUSES = {"cancer": ["C"], "heart": ["H"], "other": ["O"]}


def schema_of(*, late=False, persons=False, causes=2):
    """Twelve intervals, two numbers and so many causes."""
    time = {"duration": "time", "event": "cause", "horizon": 12.0, "intervals": 12}
    names = list(CAUSES)[:causes]
    mapping = {
        "time": {**time, "causes": {name: CAUSES[name] for name in names}},
        "covariate": [{"name": "x", "low": -1, "high": 1}, {"name": "y", "low": -1, "high": 1}],
    }
    if late:
        mapping["time"]["entry"] = "start"
    return Schema.from_mapping({"person": "id", **mapping} if persons else mapping)


def facts_of(persons=40, **schema):
    """Public facts of such a cohort."""
    design = Design(schema_of(**schema), NaturalSpline(3))
    return Facts(persons, design, get_link("logit"))


def raw_people():
    """Raw rows of single persons: every outcome, ends, ties, several events, and what is no number."""
    odd = [math.nan, math.inf, -math.inf, 1e308, 5e-324, -0.0]
    rows = [
        {"id": [1], "start": [0.0], "time": [time], "cause": [cause], "x": [x], "y": [y]}
        for time in (0.5, 6.5, 11.5, 30.0)
        for cause in ("C", "H", "alive")
        for x, y in ((1.0, 1.0), (-1.0, -1.0), (1.0, -1.0), (0.0, 0.0))
    ]
    rows += [
        {"id": [1], "start": [0.0], "time": [value], "cause": ["H"], "x": [value], "y": [-value]}
        for value in odd
    ]
    rows += [
        {"id": [1], "start": [5.0], "time": [9.5], "cause": [cause], "x": [0.5], "y": [0.5]}
        for cause in ("C", "H", "alive")
    ]
    one, two = [1.0, -1.0], [-1.0, 1.0]
    pairs = [("C", "H"), ("H", "C"), ("alive", "C"), ("C", "C")]
    rows += [
        {"id": [1, 1], "start": [0.0, 4.0], "time": times, "cause": list(pair), "x": one, "y": two}
        for pair in pairs
        for times in ([4.0, 9.5], [4.5, 4.5], [9.5, 4.0])
    ]
    return rows


def blocks(**schema):
    """Every raw person alone, encoded."""
    declared = schema_of(persons=True, **schema)
    return [to_episodes(pa.table(row), declared) for row in raw_people()]


def moved(function, people, *arguments):
    """The largest (squared L2, L1) distance between two persons' integers."""
    rows = [function(block, *arguments)[0].astype(object) for block in people]
    gaps = [one - other for one in rows for other in rows]
    return max(int((gap * gap).sum()) for gap in gaps), max(int(np.abs(gap).sum()) for gap in gaps)


def hostile(random, design, clipped):
    """Points and frames of every size."""
    size = design.dimension
    points = random.normal(size=(2, size)) * 10.0 ** random.uniform(-2, 3, (2, 1))
    frames = random.normal(size=(2, size, size)) * 10.0 ** random.uniform(-3, 3, (2, 1, 1))
    units, link = 10.0 ** random.uniform(-3, 3, 2), get_link("logit")
    triples = zip(points, frames, units, strict=True)
    return JointScores(tuple(Whitened(design, link, *triple, clipped) for triple in triples))


def check_scores_of_all_causes_share_one_ball():
    """Any two persons' integers are at most 2 L apart, from raw rows, with the ball and clipped."""
    random, people = np.random.default_rng(31), blocks()
    design = Design(schema_of(persons=True), NaturalSpline(3))
    for clipped in (False, True):
        largest = 0
        for _ in range(15):
            made = hostile(random, design, clipped)
            largest = max(largest, moved(block_scores, people, made, Levels())[0])
        assert largest <= (2 * LARGEST) ** 2
        assert largest > 0.95 * (2 * LARGEST) ** 2


def weighted(random, causes, size, count):
    """Weights of people in one interval at random places, and how far every outcome leads."""
    total = random.normal(size=(causes, size, count))
    total *= random.uniform(0, 1, count) / np.sqrt(np.sum(total**2, axis=(0, 1)))
    images = random.normal(size=total.shape) * 10.0 ** random.uniform(-2, 1, (causes, 1, count))
    survive, happen = 10.0 ** random.uniform(-3, 1, (2, causes, 1, count))
    ones, room = np.ones((1, count)), np.zeros((2, count))
    lanes = walk.Lanes(total, images, survive[:, 0], survive, happen, ones, room[0])
    square = np.sum(total**2, axis=(0, 1))
    inner, norm = np.sum(total * images, axis=1), np.sum(images**2, axis=1)
    reached = walk.Reached((walk.LOGIT,) * causes, inner, norm, square, np.ones(count), *room)
    walk.write_weights(reached, 0, 1.0, lanes)
    own = np.eye(causes)[:, :, None, None] * happen[:, 0][:, None] * images
    steps = np.concatenate([(survive * images)[None], -own])
    ends = np.sqrt(np.sum((total + lanes.weight * steps) ** 2, axis=(1, 2)))
    return lanes.weight[0], ends


def check_the_weight_keeps_all_outcomes():
    """No event, cause 1, 2 or 3: each is the tight one somewhere, and none leaves the ball."""
    random = np.random.default_rng(33)
    for causes in (1, 2, 3):
        weight, ends = weighted(random, causes, 4, 2000)
        assert weight.min() >= 0
        assert weight.max() <= 1
        assert ends.max() <= 1 + 1e-9
        tight = weight < 1
        assert np.allclose(ends.max(axis=0)[tight], 1.0, rtol=1e-7)
        assert np.bincount(ends.argmax(axis=0)[tight], minlength=causes + 1).min() > 50


def cohort(facts, seed, count=None):
    """Encoded people of the facts' schema, as a problem."""
    random = np.random.default_rng(seed)
    count = facts.persons if count is None else count
    table = {
        "start": random.uniform(0, 3, count),
        "time": random.uniform(3, 14, count),
        "cause": random.choice(["C", "H", "alive"], count),
        "x": random.uniform(-1, 1, count),
        "y": random.uniform(-1, 1, count),
        "id": np.arange(count),
    }
    engine = LocalEngine(to_episodes(pa.table(table), facts.design.schema), threads=1)
    return Problem(engine, facts.design, facts.link)


def spent(facts, delta, epsilon, count=None):
    """Rho (epsilon when pure) of all noisy sums at the scales that a draw asked for, and allowed."""
    mechanism, noise = PrivateNewton(epsilon, delta), FrozenNoise()
    plan = mechanism.plan(facts)
    layout = Layout.read(plan)
    mechanism.draw(plan, cohort(facts, 1, count), noise)
    sizes = page_sensitivities(layout, facts.covariates)
    return sum(part_of(*pair) for pair in zip(noise.calls, sizes, strict=True)), layout, noise.calls


def check_information_of_causes_is_paid_for():
    """With people enough for their information to be released, of every cause one half-vector."""
    facts = facts_of(20_000)
    found, layout, calls = spent(facts, 1e-6, 4.0, 40)
    assert informed_step(layout.budget) is not None
    size = facts.dimension
    assert 2 * (size * (size + 1) // 2) in [call[1] for call in calls]
    assert calls[-1][1] == 2 * size
    assert 0.999 * layout.budget.total < found <= layout.budget.total
