"""Slopes of the links in compiled code.

With h the hazard and k its logarithmic slope, a = h k is the slope of the survival loss and
b = (1 - h) k that of the event loss, negated: both are at least 0. `design/link.py` has the same
slopes for arrays; a test compares them. Proof: docs/proofs/private-newton.md, section 2.
"""

import math

from discreet.errors import SettingsError
from discreet.likelihood.jit import compiled

LOGIT, CLOGLOG, PROBIT = 0, 1, 2
NUMBERS = {"logit": LOGIT, "cloglog": CLOGLOG, "probit": PROBIT}
"""Compiled code knows links by number; `slopes` has a branch for each."""
LARGEST_PREDICTOR = 40.0
"""Predictors are cut to +-40: beyond, hazards differ from 0 and 1 by less than rounding."""
FAR = 6.0
FRACTIONS = 40
"""Terms of the continued fraction: at 6 more than double precision needs."""


def link_number(name: str) -> int:
    """Return the link's number in compiled code."""
    if name not in NUMBERS:
        raise SettingsError(f"compiled code does not have the slopes of the link {name}.")
    return NUMBERS[name]


@compiled
def mills_ratio(eta: float) -> float:
    """pdf(eta) / Phi(-eta); by its continued fraction where the error function underflows."""
    if eta < FAR:
        tail = math.erfc(eta / math.sqrt(2.0))
        return math.sqrt(2.0 / math.pi) * math.exp(-0.5 * eta * eta) / tail
    value = eta
    for term in range(FRACTIONS, 0, -1):
        value = eta + term / value
    return value


@compiled
def slopes(link: int, predictor: float) -> tuple[float, float]:
    """(a, b) at a predictor, which is cut to +-40."""
    eta = min(max(predictor, -LARGEST_PREDICTOR), LARGEST_PREDICTOR)
    if link == LOGIT:
        if eta > 0.0:
            small = math.exp(-eta)
            return 1.0 / (1.0 + small), small / (1.0 + small)
        small = math.exp(eta)
        return small / (1.0 + small), 1.0 / (1.0 + small)
    if link == CLOGLOG:
        rate = math.exp(eta)
        return rate, rate / math.expm1(rate) if rate < 700.0 else 0.0
    return mills_ratio(eta), mills_ratio(-eta)
