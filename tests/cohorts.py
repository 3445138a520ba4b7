"""Simulated cohorts and their person-period expansion, written as plainly as the definition."""

import numpy as np
import pyarrow as pa
from scipy.optimize import brentq

from discreet.design.schema import Schema

HORIZON = 24.0


def schema(intervals=12, *, person=False, entry=False, bounded=True, grid=None):
    bounds = {"low": 20, "high": 90} if bounded else {}
    mapping = {
        "time": {
            "duration": "time",
            "event": "status",
            **(grid or {"horizon": HORIZON, "intervals": intervals}),
            **({"entry": "start"} if entry else {}),
        },
        "covariate": [{"name": "age", **bounds}, {"name": "arm", "levels": ["a", "b", "c"]}],
    }
    return Schema.from_mapping({**({"person": "id"} if person else {}), **mapping})


def cohort(people=400, seed=1):
    """One row a person: exponential times that depend on age and arm, uniform censoring."""
    random = np.random.default_rng(seed)
    age = random.uniform(20, 90, people).round(1)
    arm = random.choice(["a", "b", "c"], people)
    rate = 0.03 * np.exp(0.02 * (age - 55) + 0.5 * (arm == "b") - 0.4 * (arm == "c"))
    survival = random.exponential(1 / rate)
    censoring = np.minimum(random.uniform(1, 30, people), HORIZON)
    time = np.minimum(survival, censoring).round(3)
    return pa.table({"time": time, "status": survival <= censoring, "age": age, "arm": arm})


def episodic(people=250, seed=2):
    """Several rows a person: late entries, gaps, and an arm that changes on the way."""
    random = np.random.default_rng(seed)
    rows = []
    for person in range(people):
        start, age = float(random.choice([0.0, 0.0, random.uniform(0, 8)])), random.uniform(20, 90)
        for _ in range(random.integers(1, 4)):
            stop = start + random.uniform(0.5, 9)
            event = bool(random.random() < 0.25 and stop < HORIZON)
            rows.append((person, round(start, 3), round(stop, 3), event, round(age, 1),
                         str(random.choice(["a", "b", "c"]))))  # fmt: skip
            if event:
                break
            start = round(stop, 3) + float(random.choice([0.0, 0.0, 1.7]))
    names = ("id", "start", "time", "status", "age", "arm")
    return pa.table(
        dict(zip(names, (list(column) for column in zip(*rows, strict=True)), strict=True))
    )


def points(time):
    """a_0, ..., a_q from the definition; the factor of a growing grid by a root finder."""
    if time.edges is not None:
        return list(time.edges)
    q, zero = time.intervals, time.origin or 0.0
    if time.first is None:
        return [zero + s * (time.horizon - zero) / q for s in range(q + 1)]
    widths = lambda r: time.first * np.power(r, np.arange(q))  # noqa: E731
    ratio = brentq(lambda r: widths(r).sum() - (time.horizon - zero), 1.0, 1e6, xtol=1e-15)
    return [zero, *(zero + np.cumsum(widths(ratio))).tolist()]


def at_risk(table, public):
    """(row in force, interval, event) of each person and interval at risk, from the definition."""
    edges, q = points(public.time), public.time.intervals
    edges[-1] = public.time.horizon
    people = {}
    for place, row in enumerate(table.to_pylist()):
        people.setdefault(row.get("id", place), []).append(row)
    for rows in people.values():
        times = [(max(row.get("start", edges[0]), edges[0]), row["time"], row) for row in rows]
        happened = min((row["time"] for row in rows if row["status"]), default=np.inf)
        for s in range(q):
            begins, ends, last = edges[s], edges[s + 1], s == q - 1
            if happened < begins:
                break
            force = [item for item in times if item[0] <= begins <= item[1]]
            if force:
                row = max(force, key=lambda item: item[:2])[2]
                yield row, s, begins <= happened < ends or (last and happened == ends)


def expand(table, public, baseline):
    """(A_s, age, arm[b], arm[c]) and the outcome for each person and interval at risk."""
    basis = baseline.basis(public.time.intervals)
    design, outcome = [], []
    for row, s, event in at_risk(table, public):
        design.append([*basis[s], row["age"], row["arm"] == "b", row["arm"] == "c"])
        outcome.append(event)
    return np.array(design, dtype=float), np.array(outcome, dtype=float)
