"""The attack on low bits: what the last digits of a release tell of two neighbours.

Noise in floating point leaves holes: some numbers can only come from one of two data sets (Mironov
2012).  Here every number must be a multiple of the declared grid, and what the last bits of those
multiples show must stay below epsilon.  The same look at ordinary floating-point noise is the
control: it must be seen through.
"""

import numpy as np

from discreet.audit.cases import (
    LinearLoss,
    corner_people,
    loss_of,
    make_constants,
)
from discreet.audit.end_to_end import shown
from discreet.audit.findings import Finding, judged
from discreet.audit.subject import Effort, Subject
from discreet.mechanisms import Draw, Facts, Mechanism, Plan
from discreet.mechanisms.contract import Loss
from discreet.privacy.noise import SystemNoise

FAMILY = "lattice"
LOW_BITS = 8
FINEST_GRID = -60
SLOWER = 200
"""A draw that reads people costs this many times one of a plug-in loss."""


def check_lattice(subject: Subject, effort: Effort) -> list[Finding]:
    """Grid membership and last bits of two neighbours' releases, and the control."""
    constants = make_constants(50, 5, 0, 1)
    mechanism = subject.mechanism()
    plan = mechanism.plan(constants)
    losses, count = _losses(subject, constants, plan, effort)
    sides = [_draws(mechanism, plan, loss, count) for loss in losses]
    off = sum(_off_grid(draw, plan) for side in sides for draw in side)
    first, second = (np.array([_low_bits(draw) for draw in side]) for side in sides)
    note = f"{2 * count} draws with system entropy, two neighbours"
    return [
        judged(
            FAMILY,
            "numbers off the grid",
            "0",
            f"{off}",
            sound=off == 0,
            note=note,
            numbers={"hits": float(off), "draws": 2.0 * count},
        ),
        shown(FAMILY, "epsilon in the last bits", (first, second), plan.guarantee, note),
        _control(count, plan),
    ]


def _losses(
    subject: Subject, constants: Facts, plan: Plan, effort: Effort
) -> tuple[list[Loss], int]:
    """Two neighbours and how many draws of each: a plug-in loss where the mechanism takes one."""
    if subject.name in {"output", "objective"}:
        gap = plan.number("gradient_sensitivity")
        slopes = [np.full(plan.dimension, sign * gap / 3) for sign in (1.0, -1.0)]
        return [LinearLoss(slope) for slope in slopes], effort.attacks // 2
    one, other = corner_people(constants)[1:3]
    count = max(8, effort.attacks // (2 * SLOWER))
    crowd = [one] * (plan.persons - 1)
    return [loss_of([*crowd, last], constants) for last in (one, other)], count


def _draws(mechanism: Mechanism, plan: Plan, loss: Loss, count: int) -> list[Draw]:
    return [mechanism.draw(plan, loss, SystemNoise()) for _ in range(count)]


def _off_grid(draw: Draw, plan: Plan) -> int:
    """How many numbers of a release are no multiples of the grid that the plan declared."""
    steps = np.ldexp(draw.point, -plan.grid_exponent)
    wrong_grid = draw.grid_exponent != plan.grid_exponent or plan.grid_exponent < FINEST_GRID
    return draw.point.size if wrong_grid else int(np.count_nonzero(steps != np.rint(steps)))


def _low_bits(draw: Draw) -> float:
    """The last bits of the first number, as a number."""
    return float(int(np.ldexp(draw.point[0], -draw.grid_exponent)) % 2**LOW_BITS)


def _control(count: int, plan: Plan) -> Finding:
    """Ordinary floating-point Laplace noise: nearly every number is off the grid."""
    random = np.random.default_rng(3)
    noisy = 1.0 / 3.0 + random.laplace(0.0, 1.0, count)
    steps = np.ldexp(noisy, -min(plan.grid_exponent, -20))
    caught = int(np.count_nonzero(steps != np.rint(steps)))
    return judged(
        FAMILY,
        "control: floating-point noise",
        "caught",
        f"{caught} of {count} caught",
        sound=caught > 0.5 * count,
        note="the same test on noise that is not on the grid",
        numbers={"caught": caught / count},
    )
