"""Does the noise in a release have the law that was planned?  Kolmogorov-Smirnov, with controls.

Perturbations are drawn with a loss of zero, so that a release is nothing but noise.  Other
mechanisms name the laws they ask for, and the source is tested at those.  The same draws are also
held against a scale 20% lower and higher: both must be rejected, or the test shows nothing.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.audit.cases import LinearLoss, corner_people, loss_of, make_constants
from discreet.audit.findings import FALSE_ALARM, Effort, Finding, Subject, judged, not_applicable
from discreet.audit.noise import (
    CONTINUOUS,
    GAUSSIAN,
    L1,
    LATTICE,
    Call,
    KnownNoise,
    direction_p_value,
    l1_laplace_p_value,
    lattice_p_value,
    normal_p_value,
    radius_p_value,
)
from discreet.audit.orders import published, tables_of, tables_order
from discreet.audit.witness import steps_of
from discreet.core.optimum import Optimum
from discreet.documents.causes import CausesRelease
from discreet.documents.curves import CurvesRelease
from discreet.mechanisms import Facts, Plan
from discreet.mechanisms.output import OutputPerturbation
from discreet.mechanisms.perturbation import Perturbation, PerturbationSettings
from discreet.privacy.noise import SystemNoise
from discreet.release import AbstractOrder
from discreet.types import Array

FAMILY = "law"
CONTROLS = (0.8, 1.2)
FEWEST_ROWS = 500
FEW_STEPS = 16
"""Up to this scale Laplace noise is tested integer by integer: a continuous law is too far away."""


@dataclass(frozen=True)
class Sample:
    """Draws, one a row, and the scale they are said to have."""

    name: str
    draws: Array
    scale: float
    p_value: Callable[[Array, float], float]


def check_law(subject: Subject, effort: Effort) -> list[Finding]:
    """The laws of everything random, and that no two fits share their noise."""
    people = tables_of(subject)[0]
    return [*laws(subject.mechanism(), subject, effort), fresh(tables_order(subject), people)]


@singledispatch
def laws(mechanism: object, subject: Subject, effort: Effort) -> list[Finding]:  # noqa: ARG001 - the default
    """The laws that a draw asks its source for; a mechanism may register others by its class."""
    if subject.mechanism().plan(make_constants()).guarantee.status == "ideal-draw-only":
        reason = "its randomness is a Markov chain's, which approaches its law (ideal-draw-only)"
        return [not_applicable(FAMILY, "law of the noise", reason)]
    return [judge(asked(call, effort.draws)) for call in _requests(subject)]


@laws.register(PerturbationSettings)
def _perturbed(mechanism: Perturbation, _: Subject, effort: Effort) -> list[Finding]:
    designs = [make_constants(500, 5, 0, 1), make_constants(500)]
    return [judge(_released(mechanism, item, effort.draws)) for item in designs]


def judge(sample: Sample) -> Finding:
    """Accepted at the claimed scale, rejected at 0.8 and 1.2 times."""
    found = sample.p_value(sample.draws, sample.scale)
    controls = [sample.p_value(sample.draws, sample.scale * factor) for factor in CONTROLS]
    count, dimension = sample.draws.shape
    return judged(
        FAMILY,
        f"{sample.name}, d = {dimension}",
        f"scale {sample.scale:.4g}",
        f"p = {found:.2g}; controls {max(controls):.1g}",
        sound=found > FALSE_ALARM and max(controls) < FALSE_ALARM,
        note=f"{count} draws with system entropy; scales 20% off are rejected",
        numbers={"p_value": found, "control": max(controls), "draws": float(count)},
    )


def _sphere(draws: Array, scale: float) -> float:
    """Radius and direction."""
    return min(1.0, 2.0 * min(radius_p_value(draws, scale), direction_p_value(draws)))


def _rows(count: int, dimension: int) -> int:
    """A wide vector shows its scale in fewer rows."""
    if dimension <= 5:
        return count if dimension == 1 else count // 2
    return max(FEWEST_ROWS, 2 * count // dimension)


def _released(mechanism: Perturbation, facts: Facts, count: int) -> Sample:
    """Noise as it is found in a release of a loss that is zero."""
    plan, noise = mechanism.plan(facts), SystemNoise()
    nothing = LinearLoss(np.zeros(plan.dimension))
    rows = range(_rows(count, plan.dimension))
    draws = np.array(
        [steps_of(plan, mechanism.perturb(plan, Optimum(nothing, noise))) for _ in rows]
    )
    grid = 2.0 ** plan.number("step_exponent")
    return Sample("noise in the release", draws * grid, _claimed_scale(mechanism, plan), _sphere)


def _claimed_scale(mechanism: Perturbation, plan: Plan) -> float:
    """sensitivity / epsilon, or that of the tilt, (Delta / epsilon_b) / k."""
    if isinstance(mechanism, OutputPerturbation):
        return plan.number("sensitivity") / plan.guarantee.epsilon
    tilt = plan.number("gradient_sensitivity") / plan.number("epsilon_tilt")
    return tilt / plan.number("total_ridge")


def _requests(subject: Subject) -> list[Call]:
    """One request of every law and dimension that a draw asks the source for."""
    facts = make_constants(persons=4000, strata=subject.strata, causes=subject.causes)
    mechanism, noise = subject.mechanism(), KnownNoise()
    loss = loss_of(corner_people(facts)[:5], facts)
    mechanism.draw(mechanism.plan(facts), loss, noise)
    laws = {CONTINUOUS, GAUSSIAN, L1, LATTICE}
    calls = {(call.law, call.dimension): call for call in noise.calls if call.law in laws}
    return list(calls.values())


def asked(call: Call, count: int) -> Sample:
    """Draws of the system's source under a law that the mechanism asked for."""
    noise = SystemNoise()
    rows = _rows(count, call.dimension)
    size, zeros = (rows, call.dimension), np.zeros(rows * call.dimension, dtype=np.int64)
    if call.law == GAUSSIAN:
        drawn = noise.discrete_gaussian(zeros, call.scale).astype(float).reshape(size)
        return Sample("discrete Gaussian", drawn, float(call.scale), _spread_normal)
    if call.law == L1:
        drawn = noise.l1_laplace(zeros, call.scale).astype(float).reshape(size)
        test = _spread_laplace if call.scale > FEW_STEPS else _few_steps
        return Sample("discrete Laplace", drawn, float(call.scale), test)
    if call.law == LATTICE:
        steps = [noise.lattice_laplace(call.dimension, call.scale) for _ in range(rows)]
        return Sample("lattice Laplace", np.array(steps, float), float(call.scale), _sphere)
    tilts = [noise.continuous_laplace(call.dimension, call.scale).vector for _ in range(rows)]
    return Sample("tilt", np.array(tilts), float(call.scale), _sphere)


def _few_steps(draws: Array, scale: float) -> float:
    """Every integer within three scales by its own probability."""
    return lattice_p_value(draws.reshape(-1, 1), Fraction(scale), math.ceil(3 * scale))


def _spread_laplace(draws: Array, scale: float) -> float:
    return l1_laplace_p_value(_spread(draws), scale)


def _spread_normal(draws: Array, scale: float) -> float:
    return normal_p_value(_spread(draws), scale)


def _spread(draws: Array) -> Array:
    """Integers spread over their cells by uniform numbers.

    Noise of counts is a few dozen steps wide: a continuous law's test would see the steps.  The
    variance grows by 1/12, far below what the test can tell.
    """
    return draws + np.random.default_rng(5).uniform(-0.5, 0.5, draws.shape)


def fresh(order: AbstractOrder[Any], people: pa.Table) -> Finding:
    """Two public fits of one table: every number differs, and both say that they are private."""
    first, second = (published(order.changed(release_id=name), people) for name in ("r1", "r2"))
    numbers = list(zip(*map(_numbers, (first, second)), strict=True))
    same = sum(one == other for one, other in numbers)
    # sums under noise of a few steps are the same now and then, of which half never are
    most = (len(numbers) - 1) // 2 if isinstance(first, CurvesRelease) else 0
    return judged(
        FAMILY,
        "fresh noise in every fit",
        f"at most {most} of {len(numbers)} numbers twice",
        f"{same} numbers the same",
        sound=same <= most and first.private and second.private,
        numbers={"same": float(same)},
        note="two public fits of one table",
    )


def _numbers(release: Any) -> list[float]:
    """The released numbers: coefficients of a model or of every cause, or sums of curves."""
    if isinstance(release, CurvesRelease):
        return list(release.released["sums"])
    parts = release.internal.values() if isinstance(release, CausesRelease) else [release.internal]
    return [float(number) for part in parts for number in part.vector]
