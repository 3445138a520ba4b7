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
from discreet.audit.findings import Effort, Finding, Subject, judged
from discreet.core.optimum import Optimum
from discreet.mechanisms import Draw, Facts, Mechanism, Plan
from discreet.mechanisms.newton.mechanism import PrivateNewton
from discreet.mechanisms.perturbation import Perturbation
from discreet.privacy.noise import SystemNoise

FAMILY = "lattice"
LOW_BITS = 8
FINEST_GRID = -60
SLOWER = 200
"""A draw that reads people costs this many times one of a plug-in loss."""


def check_lattice(subject: Subject, effort: Effort) -> list[Finding]:
    """Grid membership and last bits of two neighbours' releases, and the control."""
    facts = make_constants(50, 5, 0, 1, strata=subject.strata, causes=subject.causes)
    mechanism = subject.mechanism()
    plan = mechanism.plan(facts)
    return seen_through(_two_sides(mechanism, facts, plan, effort), plan)


def seen_through(sides: tuple[list[Draw], list[Draw]], plan: Plan) -> list[Finding]:
    """Numbers off the grid, what the last bits show, and the control."""
    count = len(sides[0])
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


def _two_sides(
    mechanism: Mechanism, facts: Facts, plan: Plan, effort: Effort
) -> tuple[list[Draw], list[Draw]]:
    """Draws of two neighbours; where a loss can be plugged in, many more."""
    if isinstance(mechanism, Perturbation):
        slope = np.full(plan.dimension, plan.number("gradient_sensitivity") / 3)
        count = range(effort.attacks // 2)
        up, down = LinearLoss(slope), LinearLoss(-slope)
        return (
            [mechanism.perturb(plan, Optimum(up, SystemNoise())) for _ in count],
            [mechanism.perturb(plan, Optimum(down, SystemNoise())) for _ in count],
        )
    one, other = corner_people(facts)[1:3]
    count = range(slow_draws(effort))
    crowd = [one] * (plan.persons - 1)
    same, replaced = loss_of([*crowd, one], facts), loss_of([*crowd, other], facts)
    # only the point is looked at
    draw = mechanism.bare_draw if isinstance(mechanism, PrivateNewton) else mechanism.draw
    return (
        [draw(plan, same, SystemNoise()) for _ in count],
        [draw(plan, replaced, SystemNoise()) for _ in count],
    )


def slow_draws(effort: Effort) -> int:
    """Draws a side where each reads people."""
    return max(8, effort.attacks // (2 * SLOWER))


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
