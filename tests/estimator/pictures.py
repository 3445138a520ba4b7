"""Small pictures with all that the model can have, for tests of the estimator."""

import numpy as np

from discreet.core.bins import Marginal
from discreet.core.released import Released
from discreet.design.baseline import parse_baseline
from discreet.design.design import Design
from discreet.design.link import get_link
from discreet.design.schema import Schema
from discreet.estimator.picture import picture_of
from discreet.estimator.transcript import Information, Moments, ScoreSum, Transcript

INTERVALS = 8
EDGES = np.array([0, 1, 2, 4, 7, 8])


def design_of(
    *, strata=1, causes=1, changes=False, intervals=INTERVALS, baseline="natural-spline:2"
):
    """A number, a category of three levels; strata, causes and periods where there are several."""
    time = {"duration": "t", "event": "e", "horizon": 1.0, "intervals": intervals}
    if causes > 1:
        time["causes"] = {f"c{k}": [k] for k in range(1, causes + 1)}
    facts = {
        "time": time,
        "covariate": [
            {"name": "x", "low": -2, "high": 2},
            {"name": "g", "levels": ["a", "b", "c"]},
        ],
    }
    if changes:
        facts["covariate"][0]["changes_at"] = [0.3]
        facts["covariate"][1]["changes_at"] = [0.3, 0.7]
    if strata > 1:
        facts["strata"] = {"name": "s", "levels": [str(k) for k in range(strata)]}
    return Design(Schema.from_mapping(facts), parse_baseline(baseline))


def transcript_of(
    link="logit",
    *,
    strata=1,
    causes=1,
    late=False,
    changes=False,
    stretches=1,
    steps=2,
    clipped=False,
    seed=3,
):
    """Made-up releases that fit people somewhere; every kind of released sum is there."""
    random, persons, bins = np.random.default_rng(seed), 4000, len(EDGES) - 1
    design = design_of(strata=strata, causes=causes, changes=changes)
    each = persons / strata
    exits = np.full((strata, causes + 1, bins), 0.3 * each / (causes * bins))
    exits[:, 0] = 0.0
    exits[:, 0, :-1] = 0.2 * each / (bins - 1)
    exits[:, 0, -1] = 0.5 * each
    entries = np.zeros((strata, bins))
    entries[:, 0], entries[:, 2] = 0.7 * each, 0.3 * each
    edges = tuple(np.linspace(-design.covariates.ranges[0], design.covariates.ranges[0], 9))
    marginals = (Marginal((0,), 8, edges), Marginal((1, 2), 3))
    counts = np.concatenate(
        [np.tile(persons * np.array([1, 3, 8, 20, 30, 20, 12, 6]) / 100.0, stretches),
         np.tile(persons * np.array([0.5, 0.3, 0.2]), stretches)]
    )  # fmt: skip
    ends = (0, INTERVALS) if stretches == 1 else (0, 4, INTERVALS)
    size, time = design.dimension, design.time_dimension
    points = random.normal(0.0, 0.3, (causes, size))
    level = get_link(link).predictor(0.05 / causes)
    points[:, :time] += np.tile(level * design.constant, strata)
    scores = []
    for _ in range(steps):
        mappings = np.array(
            [0.02 * (np.eye(size) + random.normal(0, 0.1, (size, size))) for _ in points]
        )
        deviations = np.full(causes, 2.0)
        bounds = np.full(causes, 0.03)
        released = random.normal(0.0, 1.0, (causes, size))
        scores.append(ScoreSum(points, mappings, bounds, released, deviations, clipped))
    made = Transcript(
        design, get_link(link), persons, causes, EDGES, Released(exits, 3.0),
        Released(entries, 3.0) if late else None, ends, marginals, Released(counts, 4.0),
    )  # fmt: skip
    mappings = scores[0].mappings
    noise = np.full((size, size), 1.0)
    matrix = np.tile(np.eye(size), (causes, 1, 1))
    leads = len(design.covariates.leads)
    moments = Moments(
        np.zeros(leads), np.full(leads, 0.4), 0.7 * persons * np.eye(leads), np.full((leads, leads), 60.0), 2.1
    )  # fmt: skip
    information = Information(points, mappings, matrix, noise, 0.004)
    return made.having(steps=tuple(scores), moments=moments, information=information)


def field_of(link="logit", **facts):
    """The field of such a transcript, its prior, and a picture somewhere."""
    transcript = transcript_of(link, **facts)
    field, prior, start = picture_of(transcript)
    random = np.random.default_rng(5)
    phi = start + random.normal(0.0, 0.1, len(start))
    lay = field.layout
    for r in range(lay.causes):
        phi[lay.f(r)] = transcript.steps[0].points[r]
    return field, prior, phi


def raw_rows(field):
    """The sum and the multiplier (M, .) of all raw rows of steps, exits and U, in this order."""
    t, causes = field.transcript, field.transcript.causes
    carrier, times = field.score_rows
    steps, width = causes * len(t.steps), field.carried.shape[1]
    scores = [carrier + width * k for k in range(steps + causes)]
    own, number = field.members.indicators, (causes + 1) * t.bins
    exits = np.tile((steps + causes) * width + np.arange(number), field.members.strata)
    place = np.concatenate([*scores[:steps], exits, *scores[steps:]])
    parts = np.tile(times, steps), np.repeat(own, number, axis=1), np.tile(times, causes)
    return place, np.hstack(parts)
