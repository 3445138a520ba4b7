"""Simulated cohorts and their person-period expansion, written as plainly as the definition."""

import numpy as np
import pyarrow as pa

from discreet.design.schema import Schema

HORIZON = 24.0


def schema(intervals=12, *, person=False, entry=False, bounded=True):
    bounds = {"low": 20, "high": 90} if bounded else {}
    mapping = {
        "time": {
            "duration": "time",
            "event": "status",
            "horizon": HORIZON,
            "intervals": intervals,
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


def expand(table, public, baseline):
    """(A_s, age, arm[b], arm[c]) and the outcome for each person and interval at risk."""
    time = public.time
    width = time.horizon / time.intervals
    basis = baseline.basis(time.intervals)
    people = {}
    for place, row in enumerate(table.to_pylist()):
        people.setdefault(row.get("id", place), []).append(row)
    design, outcome = [], []
    for rows in people.values():
        happened = min((row["time"] for row in rows if row["status"]), default=np.inf)
        for s in range(time.intervals):
            begins, last = s * width, s == time.intervals - 1
            ends = time.horizon if last else (s + 1) * width
            if happened < begins:
                break
            force = [row for row in rows if row.get("start", 0.0) <= begins <= row["time"]]
            if not force:
                continue
            row = max(force, key=lambda row: (row.get("start", 0.0), row["time"]))
            arms = [row["arm"] == "b", row["arm"] == "c"]
            design.append([*basis[s], row["age"], *arms])
            outcome.append(begins <= happened < ends or (last and happened == ends))
    return np.array(design, dtype=float), np.array(outcome, dtype=float)
