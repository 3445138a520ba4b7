"""Checks through what users call: a table, a schema, SurvivalRegression, a release."""

import json
import math
from functools import partial

import numpy as np
import pandas as pd

from discreet.audit import cases
from discreet.base import simulate
from discreet.design.baseline import NaturalSpline
from discreet.design.design import Design
from discreet.design.link import get_link
from discreet.design.schema import Schema
from discreet.engine.local import LocalEngine
from discreet.errors import SchemaError, SettingsError
from discreet.likelihood.problem import Problem
from discreet.mechanisms import ObjectivePerturbation, OutputPerturbation
from discreet.paper.printed import PrintedObjective, PrintedOutput
from discreet.people.encode import to_episodes
from discreet.regression import SurvivalRegression
from discreet.release import NO_LEDGER
from tests.mechanisms.cases import FrozenNoise
from tests.mechanisms.checks import lattice_scale

INTERVALS = 6


def make_schema(*, person=False):
    mapping = {
        "time": {"duration": "time", "event": "dead", "horizon": 6.0, "intervals": INTERVALS},
        "covariate": [
            {"name": "age", "low": 10.0, "high": 30.0},
            {"name": "arm", "levels": ["a", "b", "c", "d"]},
        ],
    }
    if person:
        mapping["person"] = "id"
        mapping["time"]["entry"] = "start"
    return Schema.from_mapping(mapping)


def make_frame(rows):
    return pd.DataFrame(rows, columns=list(cases.NAMES))


BASE = make_frame(cases.BASE)


def fit(frame, mechanism, noise, *, schema=None, **settings):
    """A release made as users make one, under known noise."""
    settings = {"link": "logit", "baseline": "natural-spline:2", **settings}
    model = SurvivalRegression(schema or make_schema(), **settings)
    return simulate(model, frame, mechanism=mechanism, seed=noise).model_


def publish(model, data, mechanism, **terms):
    """A release that nobody pays for."""
    model.publish(data, mechanism=mechanism, ledger=NO_LEDGER, **terms)
    return model.release_


def released_point(release):
    return np.array([*release.internal.baseline, *release.internal.covariates])


def in_steps(release):
    """The release in coordinates w, in steps of the grid on which noise was added."""
    details = release.details
    shift = np.where(np.arange(6) < 2, 2.0 ** details["baseline_shift"], 1.0)
    w = (released_point(release) - np.array(details["centre"])) / shift
    return np.ldexp(w, -details["step_exponent"])


def with_first(row):
    return pd.concat([make_frame([row]), BASE.iloc[1:]], ignore_index=True)


def check_neighbouring_tables_move_within_the_noise():
    """Replace one person by hostile rows: movement <= epsilon * scale of the noise drawn."""
    for ridge in (0.1, 20.0):
        mechanism = OutputPerturbation(epsilon=1.0, ridge=ridge)
        noise = FrozenNoise()
        points = [in_steps(fit(BASE, mechanism, noise))]
        claimed = float(lattice_scale(noise))
        points += [
            in_steps(fit(with_first(row), mechanism, FrozenNoise())) for row in cases.HOSTILE
        ]
        gaps = [np.linalg.norm(a - b) for a in points for b in points]
        assert max(gaps) <= claimed


def check_every_record_lies_in_the_ball():
    """Whatever the table holds, internal covariates are finite and of norm at most one."""
    for row in cases.HOSTILE:
        norms = np.linalg.norm(to_episodes(with_first(row), make_schema()).covariates, axis=1)
        assert np.all(norms <= 1.0)


def check_terms_lie_in_the_ball():
    """The same with a spline, a column for missing values and an interaction."""
    mapping = make_schema().to_mapping()
    mapping["covariate"][0] |= {"scale": "spline:4", "missing": "indicator"}
    mapping["covariate"][1] |= {"missing": "indicator"}
    mapping["interaction"] = [{"of": ["age", "arm"]}]
    schema = Schema.from_mapping(mapping)
    ends = [("end", 0.0, 6.0, 1, age, arm) for age in (10.0, 30.0) for arm in "abcd"]
    rows = [*cases.HOSTILE, *(row[-len(cases.NAMES) :] for row in ends)]
    for row in rows:
        norms = np.linalg.norm(to_episodes(with_first(row), schema).covariates, axis=1)
        assert np.all(norms <= 1.0)


def check_one_person_counts_once():
    """Overlapping rows and repeated events of one person: at risk once an interval, one event."""
    rows = [(1, 0.0, 6.0, 1, 10.0, "b"), (1, 0.0, 6.0, 1, 30.0, "c"), (1, 2.0, 5.0, 1, 30.0, "d")]
    frame = pd.DataFrame(rows, columns=["id", "start", "time", "dead", "age", "arm"])
    episodes = to_episodes(frame, make_schema(person=True))
    assert episodes.persons == 1
    assert np.sum(episodes.event) <= 1
    assert np.all(episodes.entry[1:] >= episodes.exit[:-1])
    assert not np.any(episodes.event[:-1])


def check_release_lies_on_the_grid():
    """No low bits: every released coordinate is an integer times 2^k."""
    for mechanism in (OutputPerturbation(epsilon=1.0), ObjectivePerturbation(epsilon=1.0)):
        release = fit(BASE, mechanism, FrozenNoise(tilt=0.3, shift=7))
        steps = np.ldexp(released_point(release), -release.grid_exponent)
        assert np.array_equal(steps, np.rint(steps))
        assert release.grid_exponent >= -60


def check_noise_is_in_the_release():
    """Shifting the lattice noise by 2^20 steps moves the release by exactly that."""
    for mechanism in (OutputPerturbation(epsilon=1.0), ObjectivePerturbation(epsilon=1.0)):
        plain = in_steps(fit(BASE, mechanism, FrozenNoise()))
        moved = in_steps(fit(BASE, mechanism, FrozenNoise(shift=2**20)))
        assert np.allclose(moved - plain, 2**20, atol=1e-3)


def check_tilt_is_in_the_release():
    """An enormous tilt drives the release to the edge of the ball, against the tilt."""
    mechanism = ObjectivePerturbation(epsilon=1.0)
    release = fit(BASE, mechanism, FrozenNoise(tilt=1e7))
    w = np.ldexp(in_steps(release), release.details["step_exponent"])
    assert np.allclose(w, -256.0 / math.sqrt(6), rtol=0.05)


def check_release_minimises_the_planned_objective():
    """Without noise the release is the minimiser of the loss with the ridge of the plan."""
    design = Design(make_schema(), NaturalSpline(2))
    loss = Problem(LocalEngine(to_episodes(BASE, make_schema())), design, get_link("logit"))
    for mechanism in (OutputPerturbation(epsilon=1.0), ObjectivePerturbation(epsilon=1.0)):
        release = fit(BASE, mechanism, FrozenNoise())
        w = np.ldexp(in_steps(release), release.details["step_exponent"])
        shift = np.where(np.arange(6) < 2, 2.0 ** release.details["baseline_shift"], 1.0)
        gradient = shift * loss(released_point(release)).gradient
        rest = gradient + release.details["total_ridge"] * w
        assert np.linalg.norm(rest) <= 1e-5 * np.linalg.norm(gradient)


def check_noise_is_fresh():
    """Two public fits of the same table differ in every coordinate, and say they are private."""
    for mechanism in (OutputPerturbation(epsilon=1.0), ObjectivePerturbation(epsilon=1.0)):
        model = SurvivalRegression(make_schema(), baseline="natural-spline:2", link="logit")
        first, second = publish(model, BASE, mechanism), publish(model, BASE, mechanism)
        assert first.private
        assert second.private
        assert np.all(released_point(first) != released_point(second))


def check_seeded_fits_are_not_private():
    """What a known source made says so."""
    for mechanism in (OutputPerturbation(epsilon=1.0), ObjectivePerturbation(epsilon=1.0)):
        assert not fit(BASE, mechanism, FrozenNoise()).private


def check_replay():
    """Neighbours under frozen noise: same noise calls, same keys, nothing else in the file."""
    for mechanism in (OutputPerturbation(epsilon=1.0), ObjectivePerturbation(epsilon=1.0)):
        traces = []
        for frame in (BASE, with_first(cases.HOSTILE[0]), with_first(cases.HOSTILE[2])):
            noise = FrozenNoise()
            release = fit(frame, mechanism, noise)
            mapping = json.loads(release.model_dump_json())
            for key in ("coefficients", "internal", "release_id"):
                mapping.pop(key)
            traces.append((noise.calls, mapping))
        assert traces[0] == traces[1] == traces[2]


def refused(error, action):
    """The action ends with that error, not with another one and not with success."""
    caught = None
    try:
        action()
    except Exception as raised:  # noqa: BLE001  # anything else is a failure of the check
        caught = raised
    assert isinstance(caught, error)


def check_refusals():
    """Settings that promise nothing, links without a proof, missing bounds: before any data."""
    unread = object()
    for epsilon in (0.0, -1.0, math.inf, math.nan, None):
        for kind in (OutputPerturbation, ObjectivePerturbation):
            refused(SettingsError, lambda kind=kind, epsilon=epsilon: kind(epsilon=epsilon))
    without_proof = [
        (ObjectivePerturbation(epsilon=1.0), "probit"),
        (ObjectivePerturbation(epsilon=1.0), "cloglog"),
        (OutputPerturbation(epsilon=1.0), "cloglog"),
    ]
    for mechanism, link in without_proof:
        model = SurvivalRegression(make_schema(), link=link)
        refused(SettingsError, partial(publish, model, unread, mechanism, persons=4))
    open_ended = make_schema().to_mapping()
    del open_ended["covariate"][0]["high"]
    model, mechanism = SurvivalRegression(open_ended, link="logit"), OutputPerturbation(epsilon=1.0)
    refused(SchemaError, lambda: publish(model, unread, mechanism))


def check_printed_variants_stay_home():
    """The paper's own algorithms are never published."""
    for kind in (PrintedOutput, PrintedObjective):
        mechanism = kind(epsilon=1.0, ridge=0.1)
        model = SurvivalRegression(make_schema(), link="logit")
        for accept in (False, True):
            refused(
                SettingsError,
                partial(publish, model, BASE, mechanism, accept_approximate=accept),
            )
