"""People whose effects change at declared times, with the truth of every period.

Symbols: s an interval with edges a_{s-1}, a_s; cuts c_1 < ... < c_K of the time axis; the period of s is
the number of cuts <= a_{s-1}; beta_jk the effect of column j in period k.

    logit of the hazard in interval s   level + trend u + sum_j x_j beta_j,period(s)

Censoring comes at the end of an interval, after its events. Cuts are edges, so a fit with
`changes_at` is a right model and its intervals should hold the truth.
"""

from itertools import pairwise

import numpy as np
import pandas as pd

from fresh.family import Registry

HORIZON, INTERVALS, CUTS = 2190.0, 72, (365.0, 1095.0)
STAGES = {"II": (1.2, 0.7, 0.2), "III": (2.0, 1.0, 0.1)}
"""Log odds ratios against stage I until the first cut, between the cuts, after."""
AGE, SEX, MIDDLE = 0.03, 0.3, 65.0


def fading(
    seed: int, people: int = 6_000, level: float = -5.0, *, declared: bool = True
) -> Registry:
    """A cancer registry whose effects of stage fade while those of age and sex do not."""
    random = np.random.default_rng([seed, people])
    age = np.clip(random.normal(MIDDLE, 12.0, people), 20.0, 100.0)
    sex, stage = random.integers(0, 2, people), random.choice(3, people, p=[0.5, 0.3, 0.2])
    edges = HORIZON * np.arange(INTERVALS + 1) / INTERVALS
    period = np.searchsorted(CUTS, edges[:-1], side="right")
    effects = np.array([[0.0] * (len(CUTS) + 1), *STAGES.values()])
    steady = level + AGE * (age - MIDDLE) + SEX * sex
    end = random.integers(INTERVALS // 3, INTERVALS + 12, people)
    last, event = np.minimum(end, INTERVALS - 1), np.zeros(people, dtype=int)
    alive = np.ones(people, dtype=bool)
    for s in range(INTERVALS):
        predictor = steady - 0.3 * s / INTERVALS + effects[stage, period[s]]
        hit = alive & (s <= end) & (random.random(people) < 1.0 / (1.0 + np.exp(-predictor)))
        last[hit], event[hit] = s, 1
        alive &= ~hit
    frame = pd.DataFrame({"time": (edges[last] + edges[last + 1]) / 2, "event": event, "age": age})
    frame["sex"], frame["stage"] = np.array(["f", "m"])[sex], np.array(["I", *STAGES])[stage]
    time = {"duration": "time", "event": "event", "horizon": HORIZON, "intervals": INTERVALS}
    stages = {"name": "stage", "levels": ["I", *STAGES]}
    if declared:
        stages["changes_at"] = list(CUTS)
    covariates = [
        {"name": "age", "low": 20, "high": 100},
        {"name": "sex", "levels": ["f", "m"]},
        stages,
    ]
    ends = [*(f"{cut:g}" for cut in CUTS)]
    spans = [f"until {ends[0]}", *(f"{a} to {b}" for a, b in pairwise(ends))]
    spans.append(f"from {ends[-1]}")
    truth = {"age": AGE, "sex[m]": SEX} | {
        f"stage[{name}] {span}": effect
        for name, values in STAGES.items()
        for span, effect in zip(spans, values, strict=True)
    }
    model = {"link": "logit", "baseline": "natural-spline:3"}
    return Registry(
        f"fading {seed}", frame, {"time": time, "covariate": covariates}, model, (), truth
    )
