"""Control flow does not depend on people: neighbours under the same noise leave the same trace.

Trace: requests for noise, warnings, what is printed or logged, and everything in the release but
the released numbers.  Where the noise is known, a release must also be exactly the planned
minimiser plus that noise.
"""

import contextlib
import io
import logging
import math
import warnings
from functools import singledispatch
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.audit.cases import (
    BASE,
    BASELINE_SIZE,
    known_release,
    steps_in,
    table,
    user_schema,
)
from discreet.audit.findings import Effort, Finding, Subject, judged
from discreet.audit.noise import KnownNoise
from discreet.audit.orders import simulated, tables_of, tables_order
from discreet.design.link import get_link
from discreet.documents.model import Promised, Release
from discreet.engine.local import LocalEngine
from discreet.likelihood.problem import Problem
from discreet.mechanisms.objective import ObjectivePerturbation
from discreet.mechanisms.perturbation import Perturbation, PerturbationSettings
from discreet.people.encode import to_episodes
from discreet.people.source import People
from discreet.release import AbstractOrder, simulate

FAMILY = "replay"
VALUES = ("coefficients", "internal", "release_id", "curves", "test")
SHIFT = 2**20
NOISY = (
    "covariance",
    "life_table",
    "life_tables",
    "calibration",
    "typical",
    "proportionality",
    "sums",
)


def check_replay(subject: Subject, _: Effort) -> list[Finding]:
    """Neighbouring tables under the same noise."""
    order, tables = tables_order(subject), tables_of(subject)
    known_too = known(subject.mechanism(), subject)
    return [traces(order, tables), says_so(order, tables[0]), *known_too]


def traces(order: AbstractOrder[Any], tables: list[pa.Table]) -> Finding:
    """Whether neighbours can be told by anything but the released numbers."""
    order = order.changed(release_id="r1")
    first, *others = (_trace(order, people) for people in tables)
    different = sum(other != first for other in others)
    return judged(
        FAMILY,
        "traces of neighbours",
        "all the same",
        f"{different} of {len(others)} differ",
        sound=different == 0,
        numbers={"different": float(different)},
        note="requests for noise, warnings, output, log, every member but the numbers",
    )


def _trace(order: AbstractOrder[Any], people: pa.Table) -> tuple[Any, ...]:
    """Everything that a fit under known noise shows, but the numbers it releases."""
    noise, printed, log = KnownNoise(), io.StringIO(), io.StringIO()
    handler = logging.StreamHandler(log)
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        with (
            warnings.catch_warnings(record=True) as caught,
            contextlib.redirect_stdout(printed),
            contextlib.redirect_stderr(printed),
        ):
            warnings.simplefilter("always")
            found = simulate(order, People.of(people), noise)
    finally:
        root.removeHandler(handler)
    texts = [str(item.message) for item in caught]
    return (
        noise.trace,
        texts,
        printed.getvalue(),
        log.getvalue(),
        _public(found),
    )


def _public(release: Promised) -> dict[str, Any]:
    """The release without its numbers; of further noisy numbers the names and shapes.

    Anything released besides those is kept: it has had no noise, so it must not differ. Cautions
    about the numbers are computed from released numbers; those about the promise must not differ.
    """
    mapping = {key: item for key, item in release.to_mapping().items() if key not in VALUES}
    mapping["warnings"] = [str(item) for item in release.warnings if item.of_the_promise]
    mapping["released"] = {
        key: np.shape(item) if key in NOISY else item
        for key, item in release.to_mapping()["released"].items()
    }
    return mapping


def says_so(order: AbstractOrder[Any], people: pa.Table) -> Finding:
    """A release of a known source is not private, and says so."""
    release = simulated(order, people, KnownNoise())
    return judged(
        FAMILY,
        "a seeded fit",
        "not private",
        "private" if release.private else "not private",
        sound=not release.private,
        note="what a known source made must say so",
    )


@singledispatch
def known(mechanism: object, subject: Subject) -> list[Finding]:  # noqa: ARG001 - the default
    """Where a release under known noise is known itself; a mechanism registers by its class."""
    return []


@known.register(PerturbationSettings)
def _known(_: Perturbation, subject: Subject) -> list[Finding]:
    """The planned minimiser, moved by exactly the noise that was given."""
    plain = known_release(table(BASE), subject.mechanism(), KnownNoise())
    moved = known_release(table(BASE), subject.mechanism(), KnownNoise(shift=SHIFT))
    off = float(np.max(np.abs(steps_in(moved) - steps_in(plain) - SHIFT)))
    return [
        judged(
            FAMILY,
            "noise moves the release",
            f"{SHIFT} steps",
            f"off by {off:.2g}",
            sound=off <= 1e-3,
            note="lattice noise of 2^20 steps in every coordinate",
        ),
        _minimises(plain),
    ]


@known.register(ObjectivePerturbation)
def _known_tilt(mechanism: ObjectivePerturbation, subject: Subject) -> list[Finding]:
    return [*_known(mechanism, subject), _tilted(subject)]


def _minimises(release: Release) -> Finding:
    """Without noise the release is the minimiser of the loss with the ridge of the plan."""
    details = release.details
    w = np.ldexp(steps_in(release), details["step_exponent"])
    point = release.internal.vector
    shift = np.where(np.arange(len(point)) < BASELINE_SIZE, 2.0 ** details["baseline_shift"], 1.0)
    engine = LocalEngine(to_episodes(table(BASE), user_schema()), threads=1)
    gradient = shift * Problem(engine, release.design, get_link("logit"))(point).gradient
    rest = float(np.linalg.norm(gradient + details["total_ridge"] * w) / np.linalg.norm(gradient))
    return judged(
        FAMILY,
        "the planned objective is minimised",
        "gradient 0",
        f"{rest:.2g}",
        sound=rest <= 1e-5,
        note="relative to the loss's gradient, without noise",
    )


def _tilted(subject: Subject) -> Finding:
    """An enormous tilt drives the release to the edge of the ball, against the tilt."""
    release = known_release(table(BASE), subject.mechanism(), KnownNoise(tilt=1e7))
    w = np.ldexp(steps_in(release), release.details["step_exponent"])
    edge = -256.0 / math.sqrt(len(w))
    off = float(np.max(np.abs(w / edge - 1)))
    return judged(
        FAMILY,
        "the tilt moves the release",
        "to the edge of the ball",
        f"off by {off:.2g}",
        sound=off <= 0.05,
        note="a tilt of ten million scales",
    )
