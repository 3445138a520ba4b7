# ruff: noqa: INP001, scripts beside each other, no package
"""Simulated people for measuring: tables and public schemas, nothing of the package itself.

Every design is a function of a seed. Right ones come from the model that is fitted (their truth is
known), wrong ones do not; the others are what registries look like: years of entry, treatments that
begin after entry, measurements that change, generous bounds, missing durations, levels that nobody
has, columns that repeat each other, no information at all.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Array = NDArray[np.float64]
Covariates = tuple[Array, tuple[int, ...]]
NEVER = np.iinfo(np.int32).max


@dataclass(frozen=True)
class Sample:
    """A table and its schema; `truth` by coefficient; `unreached`, what no data could tell."""

    frame: pd.DataFrame
    schema: dict[str, Any]
    truth: dict[str, float] = field(default_factory=dict)
    unreached: tuple[str, ...] = ()


Maker = Callable[[int], Sample]


@dataclass(frozen=True)
class Cohort:
    """Values in [-1, 1] (columns in `binary` are -1 or 1), last intervals and events.

    `effects` are the truth per unit of a value, where the model is right.
    """

    values: Array
    binary: tuple[int, ...]
    exits: NDArray[np.int64]
    events: NDArray[np.bool_]
    intervals: int
    effects: Array | None = None

    def sample(self) -> Sample:
        """The table and its schema."""
        width = self.values.shape[1]
        columns: dict[str, Any] = {
            f"x{j}": np.where(self.values[:, j] > 0, "b", "a")
            if j in self.binary
            else self.values[:, j]
            for j in range(width)
        }
        frame = pd.DataFrame({**columns, "t": (self.exits - 0.5) / self.intervals})
        frame["e"] = self.events.astype(int)
        schema = schema_for(width, self.binary, self.intervals)
        return Sample(frame, schema, self.truth)

    @property
    def truth(self) -> dict[str, float]:
        """By coefficient; a binary's level b is two units away from a."""
        return {
            f"x{j}[b]" if j in self.binary else f"x{j}": effect * (2 if j in self.binary else 1)
            for j, effect in enumerate(() if self.effects is None else self.effects)
        }


def schema_for(width: int, binary: tuple[int, ...], intervals: int) -> dict[str, Any]:
    """Numbers in [-1, 1] and two-level categories."""
    covariates: list[dict[str, object]] = [
        {"name": f"x{j}", "levels": ["a", "b"]}
        if j in binary
        else {"name": f"x{j}", "low": -1.0, "high": 1.0}
        for j in range(width)
    ]
    time = {"duration": "t", "event": "e", "horizon": 1.0, "intervals": intervals}
    return {"time": time, "covariate": covariates}


def simulate(
    covariates: Covariates, effect: Array, shape: Array, rate: float, censored: float, seed: int
) -> Cohort:
    """People with log-odds level + shape(t) + effect (n or n x q), the level set for the rate."""
    random = np.random.default_rng(seed)
    values, binary = covariates
    effect = effect if effect.ndim == 2 else effect[:, None]
    level = _level(effect[:1500] + shape, rate, censored)
    first = _first_events(level + shape + effect, random)
    last = np.where(
        random.random(len(values)) < censored,
        random.integers(1, len(shape) + 1, len(values)),
        len(shape),
    )
    return Cohort(values, binary, np.minimum(first, last), first <= last, len(shape))


def _first_events(predictor: Array, random: np.random.Generator) -> NDArray[np.int64]:
    """The interval of the first event, `NEVER` without one; one row of log-odds per person."""
    hits = random.random(predictor.shape) < _expit(predictor)
    return np.where(hits.any(axis=1), hits.argmax(axis=1) + 1, NEVER)


def _level(predictor: Array, rate: float, censored: float) -> float:
    low, high = -25.0, 5.0
    for _ in range(40):
        middle = (low + high) / 2
        gone = 1 - np.cumprod(1 - _expit(middle + predictor), axis=1)
        reached = ((1 - censored) * gone[:, -1] + censored * gone.mean(axis=1)).mean()
        low, high = (low, middle) if reached > rate else (middle, high)
    return middle


def _expit(eta: Array) -> Array:
    return 1 / (1 + np.exp(-eta))


def _times(intervals: int) -> Array:
    return np.arange(1, intervals + 1) / intervals


def _normal(random: np.random.Generator, size: int | tuple[int, int], spread: float) -> Array:
    return random.normal(0, spread, size).clip(-1, 1)


def _simple(random: np.random.Generator, n: int) -> Covariates:
    columns = random.uniform(-1, 1, n), _normal(random, n, 0.25), random.choice([-1.0, 1.0], n)
    return np.column_stack(columns), (2,)


def _heavy(random: np.random.Generator, n: int) -> tuple[Covariates, Array]:
    latent = random.normal(size=(n, 8))
    latent[:, 4] = 0.8 * latent[:, 3] + 0.6 * latent[:, 4]
    latent[:, 5] = 0.7 * latent[:, 3] + 0.7 * latent[:, 5]
    columns = (
        latent[:, 0] * 0.4 - 0.2,
        np.where(latent[:, 1] > 0, 1, -1),
        latent[:, 2] * 0.5,
        np.exp(0.5 * latent[:, 3]) / 6 - 1,
        np.exp(0.6 * latent[:, 4]) / 8 - 1,
        latent[:, 5] * 0.5,
        np.exp(0.4 * latent[:, 6]) / 8 - 1,
        np.where(latent[:, 7] > 2.2, 1, -1),
    )
    return (np.column_stack(columns).clip(-1, 1), (1, 7)), latent


def _long_tails(random: np.random.Generator, n: int) -> tuple[Covariates, Array]:
    """A normal, a binary, two correlated lognormal columns in a wide public range, a uniform."""
    latent = random.normal(size=(n, 2)) @ np.array([[1.0, 0.7], [0.0, 0.7]])
    columns = (
        _normal(random, n, 0.4),
        random.choice([-1.0, 1.0], n),
        *(np.exp(0.9 * latent).clip(0, 40) / 20 - 1).T,
        random.uniform(-1, 1, n),
    )
    return (np.column_stack(columns), (1,)), latent


def _smooth(intervals: int) -> Array:
    t = _times(intervals)
    return 3 * t - 3 * t**2


def _late(intervals: int) -> Array:
    t = _times(intervals)
    return -6 * np.exp(-8 * t)


def _bumpy(intervals: int) -> Array:
    t = _times(intervals)
    early, late = np.where((t > 0.1) & (t < 0.2), 1.2, 0), np.where(t > 0.6, -0.8, 0)
    return early + late + np.sin(14 * t) / 2


INTERVALS = 200


def _from_model(
    covariates: Covariates,
    effects: list[float],
    shape: Array,
    rates: tuple[float, float],
    seed: int,
) -> Sample:
    """A right model: linear effects; `rates` are those of events and of censoring."""
    weights = np.array(effects)
    made = simulate(covariates, covariates[0] @ weights, shape, *rates, seed)
    return replace(made, effects=weights)


# The designs on which the constants of 0.1.0 were chosen: 2% to 90% events, right and wrong models.


def right10(seed: int, intervals: int = INTERVALS) -> Cohort:
    """A uniform, a normal, a binary; 10% events."""
    covariates = _simple(np.random.default_rng(seed + 1), 15_000)
    return _from_model(covariates, [0.2, -1, -0.3], _smooth(intervals), (0.10, 0.5), seed)


def late10wrong(seed: int, intervals: int = INTERVALS) -> Cohort:
    """Late events, and an effect with a bend."""
    covariates = _simple(np.random.default_rng(seed + 2), 15_000)
    x = covariates[0]
    effect = x @ [0.2, -1, -0.3] - 1.5 * np.maximum(x[:, 1], 0)
    return simulate(covariates, effect, _late(intervals), 0.11, 0.3, seed)


def bump85wrong(seed: int, intervals: int = INTERVALS) -> Cohort:
    """A baseline that no spline of three knots follows; 85% events."""
    random = np.random.default_rng(seed + 3)
    n = 20_000
    wage = (random.lognormal(-2, 0.6, n) - 1).clip(-1, 1)
    x = np.column_stack([random.choice([-1.0, 1.0], n), _normal(random, n, 0.35), wage])
    return simulate((x, (0,)), x @ [-0.1, -0.4, 0.6], _bumpy(intervals), 0.85, 0.3, seed)


def heavy28wrong(seed: int, intervals: int = INTERVALS) -> Cohort:
    """Skewed, correlated covariates with bends."""
    covariates, latent = _heavy(np.random.default_rng(seed + 4), 8000)
    x = covariates[0]
    effect = 1.5 * x[:, 0] + 0.15 * x[:, 1] - 0.2 * x[:, 2] + 0.25 * latent[:, 3].clip(-3, 3)
    effect += 0.2 * np.maximum(latent[:, 4], 0) + 0.1 * latent[:, 5] + 0.1 * latent[:, 6]
    return simulate(covariates, effect, _smooth(intervals), 0.28, 0.3, seed)


def heavy28right(seed: int, intervals: int = INTERVALS) -> Cohort:
    """The same covariates, linear effects."""
    covariates, _ = _heavy(np.random.default_rng(seed + 5), 8000)
    effects = [1.5, 0.15, -0.2, 0.8, 0.5, 0.2, 0, 0]
    return _from_model(covariates, effects, _smooth(intervals), (0.28, 0.3), seed)


def rare5(seed: int, intervals: int = INTERVALS) -> Cohort:
    """Rare binaries; 5% events."""
    random = np.random.default_rng(seed + 6)
    flags = np.where(random.random((20_000, 3)) < [0.02, 0.05, 0.3], 1.0, -1.0)
    x = np.hstack([flags, random.uniform(-1, 1, (20_000, 2))])
    return _from_model(
        (x, (0, 1, 2)), [0.4, -0.3, 0.2, 0.5, 0.5], _smooth(intervals), (0.05, 0.5), seed
    )


def strong50(seed: int, intervals: int = INTERVALS) -> Cohort:
    """Strong effects; half have the event."""
    x = np.random.default_rng(seed + 7).uniform(-1, 1, (5000, 4))
    return _from_model((x, ()), [1.5, -1.5, 1, 0.5], -_smooth(intervals), (0.5, 0.3), seed)


def varying90wrong(seed: int, intervals: int = INTERVALS) -> Cohort:
    """An effect that changes with time; 90% events."""
    x = np.random.default_rng(seed + 8).uniform(-1, 1, (5000, 4))
    effect = (x @ [0.5, -0.5, 0.3, 0.2])[:, None] + np.outer(
        x[:, 0], 2 * _times(intervals) - 1
    ) * 1.2
    return simulate((x, ()), effect, _bumpy(intervals), 0.9, 0.1, seed)


def many2(seed: int, intervals: int = INTERVALS) -> Cohort:
    """Ten covariates, 50,000 people, 2% events."""
    random = np.random.default_rng(seed + 9)
    flags = np.where(random.random((50_000, 4)) < 0.4, 1.0, -1.0)
    x = np.hstack([_normal(random, (50_000, 6), 0.3), flags])
    effects = [0.5, -0.5, 0.3, 0.2, 0, 0, 0.2, -0.2, 0.1, 0]
    return _from_model((x, (6, 7, 8, 9)), effects, _late(intervals), (0.02, 0.4), seed)


def small30(seed: int, intervals: int = INTERVALS) -> Cohort:
    """One covariate, 4,000 people."""
    x = _normal(np.random.default_rng(seed + 10), (4000, 1), 0.3)
    return _from_model((x, ()), [1.0], _smooth(intervals), (0.3, 0.4), seed)


def tail20wrong(seed: int, intervals: int = INTERVALS) -> Cohort:
    """Few people carry much of the information; effects on the logarithm."""
    covariates, latent = _long_tails(np.random.default_rng(seed + 11), 8000)
    effect = covariates[0] @ [1, 0.2, 0, 0, 0.3] + latent @ [0.3, 0.2]
    return simulate(covariates, effect, _smooth(intervals), 0.2, 0.4, seed)


def tail20right(seed: int, intervals: int = INTERVALS) -> Cohort:
    """The same covariates, linear effects."""
    covariates, _ = _long_tails(np.random.default_rng(seed + 12), 8000)
    return _from_model(covariates, [1, 0.2, 1.5, 1, 0.3], _smooth(intervals), (0.2, 0.4), seed)


def tail5wrong(seed: int, intervals: int = INTERVALS) -> Cohort:
    """40,000 people, 5% events, effects with a bend."""
    covariates, latent = _long_tails(np.random.default_rng(seed + 13), 40_000)
    effect = covariates[0] @ [1, 0.2, 0, 0, 0.3] + np.maximum(latent, 0) @ [0.4, -0.2]
    return simulate(covariates, effect, _smooth(intervals), 0.05, 0.3, seed)


def outlier40wrong(seed: int, intervals: int = INTERVALS) -> Cohort:
    """One value in a hundred is not the person's."""
    random = np.random.default_rng(seed + 14)
    x = _normal(random, (6000, 4), 0.12)
    seen = np.where(random.random(x.shape) < 0.01, random.uniform(-1, 1, x.shape), x)
    return simulate((seen, ()), x @ [4, -3, 2, 0], _smooth(intervals), 0.4, 0.3, seed)


def step70wrong(seed: int, intervals: int = INTERVALS) -> Cohort:
    """Heavy tails and effects that are steps."""
    x = np.random.default_rng(seed + 15).standard_t(3, (10_000, 5)).clip(-20, 20) / 20
    effect = (x > 0.05) @ [0.8, -0.5, 0.3, 0, 0] + x @ [0, 0, 0, 3, -3]
    return simulate((x, ()), effect, _smooth(intervals), 0.7, 0.2, seed)


def line30(seed: int, intervals: int = 100) -> Cohort:
    """The model exactly, 5,000 people: the log-odds are a line in time, which every spline has."""
    random = np.random.default_rng(seed + 16)
    columns = (
        random.uniform(-1, 1, 5000),
        _normal(random, 5000, 0.3),
        random.choice([-1.0, 1], 5000),
    )
    covariates = np.column_stack(columns), (2,)
    return _from_model(covariates, [1.0, -0.8, 0.2], 0.8 * _times(intervals), (0.3, 0.4), seed)


# What registries look like.


def _registry(seed: int, n: int) -> tuple[np.random.Generator, pd.DataFrame]:
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": random.normal(60, 12, n).clip(20, 100),
            "sex": np.where(random.random(n) < 0.5, "f", "m"),
        }
    )
    return random, frame


AGE = {"name": "age", "low": 20.0, "high": 100.0}
SEX = {"name": "sex", "levels": ["f", "m"]}
AGE_EFFECT, SEX_EFFECT = 0.03, 0.3


def _base_effect(frame: pd.DataFrame) -> Array:
    effect = AGE_EFFECT * (frame["age"] - 60) + SEX_EFFECT * (frame["sex"] == "m")
    return np.asarray(effect, dtype=np.float64)


def _schema(horizon: float, intervals: int, *covariates: dict[str, Any], **more: Any) -> dict:
    time = {"duration": "t", "event": "e", "horizon": horizon, "intervals": intervals}
    time.update({key: value for key, value in more.items() if key == "entry"})
    own = {"person": more["person"]} if "person" in more else {}
    return {**own, "time": time, "covariate": list(covariates)}


def _observed(
    frame: pd.DataFrame, predictor: Array, last: Array, horizon: float, random: np.random.Generator
) -> pd.DataFrame:
    """Exits in the middles of intervals; `last` is the last interval of observation."""
    intervals = predictor.shape[1]
    first = _first_events(predictor, random)
    exits = np.minimum(first, last)
    return frame.assign(
        t=(exits - 0.5) * horizon / intervals, e=((first <= last) & (first < NEVER)).astype(int)
    )


def calendar(seed: int) -> Sample:
    """The year of entry has an effect, and everybody is censored at 2021."""
    random, frame = _registry(seed, 6000)
    frame["year"] = random.uniform(2005, 2020, 6000)
    predictor = (-6.0 + _base_effect(frame) - 0.06 * (frame["year"] - 2012)).to_numpy()
    last = np.maximum(1, np.floor((2021 - frame["year"]) / 16 * 100)).to_numpy()
    frame = _observed(frame, np.repeat(predictor[:, None], 100, axis=1), last, 16.0, random)
    schema = _schema(16.0, 100, AGE, SEX, {"name": "year", "low": 2005.0, "high": 2020.0})
    return Sample(frame, schema, {"age": AGE_EFFECT, "sex[m]": SEX_EFFECT, "year": -0.06})


TREATMENT = {"name": "treated", "levels": ["no", "yes"]}
TREATMENT_EFFECT = float(np.log(2.2))


def treatment(seed: int) -> Sample:
    """A treatment that nobody has at entry and that begins after an exponential time."""
    return _treatment(seed, late=False)


def treatment_late(seed: int) -> Sample:
    """The same with late entry: some are treated when they come under observation."""
    return _treatment(seed, late=True)


def _treatment(seed: int, *, late: bool) -> Sample:
    intervals = 50
    random, frame = _registry(seed, 6000)
    n = len(frame)
    begins = np.ceil(random.exponential(20.0, n)).astype(int)  # treated after so many intervals
    treated = np.arange(intervals)[None, :] >= begins[:, None]
    predictor = -4.5 + _base_effect(frame)[:, None] + TREATMENT_EFFECT * treated
    first = _first_events(predictor, random)
    last = np.where(random.random(n) < 0.3, random.integers(1, intervals + 1, n), intervals)
    entered = np.where(random.random(n) < 0.5, random.integers(0, 20, n), 0) if late else 0 * last
    exits, event = np.minimum(first, last), first <= last
    kept = exits > entered
    rows = _two_rows(frame[kept], entered[kept], begins[kept], exits[kept], event[kept])
    schema = _schema(float(intervals), intervals, AGE, SEX, TREATMENT, entry="entry", person="id")
    truth = {"age": AGE_EFFECT, "sex[m]": SEX_EFFECT, "treated[yes]": TREATMENT_EFFECT}
    return Sample(rows, schema, truth)


def _two_rows(
    frame: pd.DataFrame, entered: Array, begins: Array, exits: Array, event: Array
) -> pd.DataFrame:
    """A row until the treatment begins, and one from then on."""
    who = frame.reset_index(drop=True).assign(id=np.arange(len(frame)))
    change = np.clip(begins, entered, exits)
    before = who.assign(treated="no", entry=entered, t=change - 0.5, e=(event & (change == exits)))
    after = who.assign(treated="yes", entry=change, t=exits - 0.5, e=event)
    both = pd.concat([before[change > entered], after[change < exits]])
    return both.assign(e=both["e"].astype(int)).sort_values(["id", "entry"], ignore_index=True)


def measured(seed: int) -> Sample:
    """A measurement that changes slowly: five rows per person, a random walk."""
    intervals, visits = 50, 5
    random, frame = _registry(seed, 5000)
    n = len(frame)
    walk = random.normal(0, 0.8, (n, 1)) + np.cumsum(random.normal(0, 0.25, (n, visits)), axis=1)
    walk = walk.clip(-4, 4)
    predictor = -5.2 + _base_effect(frame)[:, None] + 0.5 * np.repeat(walk, 10, axis=1)
    first = _first_events(predictor, random)
    last = np.where(random.random(n) < 0.3, random.integers(1, intervals + 1, n), intervals)
    exits, event = np.minimum(first, last), first <= last
    parts = []
    for visit in range(visits):
        there = exits > 10 * visit
        stop = np.minimum(exits, 10 * (visit + 1))[there]
        part = frame[there].assign(id=np.flatnonzero(there), marker=walk[there, visit])
        parts.append(
            part.assign(
                entry=10 * visit, t=stop - 0.5, e=(event & (exits <= 10 * (visit + 1)))[there]
            )
        )
    rows = pd.concat(parts).sort_values(["id", "entry"], ignore_index=True)
    marker = {"name": "marker", "low": -4.0, "high": 4.0}
    schema = _schema(float(intervals), intervals, AGE, SEX, marker, entry="entry", person="id")
    truth = {"age": AGE_EFFECT, "sex[m]": SEX_EFFECT, "marker": 0.5}
    return Sample(rows.assign(e=rows["e"].astype(int)), schema, truth)


def _laboratory(seed: int, value: str, low: float, high: float, n: int = 10_000) -> Sample:
    """10,000 people or fewer, a fifth with the event, a laboratory value and the sex."""
    random, frame = _registry(seed, n)
    normal = random.normal(0, 1, n)
    frame["value"] = normal if value == "normal" else np.exp(0.6 * normal).clip(0, 10)
    effect = 0.6 * normal if value == "normal" else 0.4 * frame["value"].to_numpy()
    level = -6.2 if value == "normal" else -6.6
    predictor = level + effect + SEX_EFFECT * (frame["sex"] == "m").to_numpy()
    last = np.where(random.random(n) < 0.3, random.integers(1, 101, n), 100)
    frame = _observed(frame, np.repeat(predictor[:, None], 100, axis=1), last, 10.0, random)
    schema = _schema(10.0, 100, SEX, {"name": "value", "low": low, "high": high})
    truth = {"sex[m]": SEX_EFFECT, "value": 0.6 if value == "normal" else 0.4}
    return Sample(frame.drop(columns="age"), schema, truth)


def _wide(times: int, n: int = 10_000) -> Maker:
    def made(seed: int) -> Sample:
        return _laboratory(seed, "normal", -3.0 * times, 3.0 * times, n)

    return made


def _labs(times: int, n: int) -> Maker:
    """Six laboratory values, normal, skewed or a half of nobody's, in bounds that are all too wide."""

    def made(seed: int) -> Sample:
        random, frame = _registry(seed, n)
        effects = (0.5, -0.3, 0.2, 0.4, 0.0, -0.5)
        values = random.normal(0, 1, (n, len(effects)))
        values[:, 3:5] = np.exp(values[:, 3:5] * 0.7) - 1.0
        values[:, 5] = np.where(random.random(n) < 0.5, 1.5, -1.5) + 0.4 * values[:, 5]
        names = [f"lab{number}" for number in range(1, len(effects) + 1)]
        frame[names] = values
        last = np.where(random.random(n) < 0.3, random.integers(1, 101, n), 100)
        predictor = -5.8 + values @ np.array(effects)
        frame = _observed(frame, np.repeat(predictor[:, None], 100, axis=1), last, 10.0, random)
        bounds = [{"name": name, "low": -3.0 * times, "high": 3.0 * times} for name in names]
        truth = dict(zip(names, effects, strict=True))
        return Sample(frame[["t", "e", *names]], _schema(10.0, 100, *bounds), truth)

    return made


def _lognormal(high: float) -> Maker:
    def made(seed: int) -> Sample:
        return _laboratory(seed, "lognormal", 0.0, high)

    return made


def _plain(seed: int, n: int = 6000) -> tuple[np.random.Generator, pd.DataFrame]:
    """Age and sex, a third with the event within 10 years."""
    random, frame = _registry(seed, n)
    predictor = -5.7 + _base_effect(frame)
    last = np.where(random.random(n) < 0.4, random.integers(1, 101, n), 100)
    return random, _observed(frame, np.repeat(predictor[:, None], 100, axis=1), last, 10.0, random)


PLAIN_TRUTH = {"age": AGE_EFFECT, "sex[m]": SEX_EFFECT}


def missing20(seed: int) -> Sample:
    """One duration in five is missing: these people are never at risk."""
    random, frame = _plain(seed)
    frame["t"] = frame["t"].where(random.random(len(frame)) >= 0.2)
    return Sample(frame, _schema(10.0, 100, AGE, SEX), PLAIN_TRUTH)


def no_information(seed: int) -> Sample:
    """No duration can be read, as in a file of dates."""
    _, frame = _plain(seed)
    names = (*(f"baseline[{k}]" for k in (1, 2, 3)), *PLAIN_TRUTH)
    return Sample(frame.assign(t=np.nan), _schema(10.0, 100, AGE, SEX), unreached=names)


def empty_level(seed: int) -> Sample:
    """A declared level that nobody has."""
    random, frame = _plain(seed)
    frame["group"] = np.where(random.random(len(frame)) < 0.5, "a", "b")
    group = {"name": "group", "levels": ["a", "b", "c"]}
    truth = {**PLAIN_TRUTH, "group[b]": 0.0}
    return Sample(frame, _schema(10.0, 100, AGE, SEX, group), truth, ("group[c]",))


def collinear(seed: int) -> Sample:
    """A column twice, in other units."""
    _, frame = _plain(seed)
    frame["months"] = 12 * frame["age"]
    months = {"name": "months", "low": 240.0, "high": 1200.0}
    schema = _schema(10.0, 100, AGE, SEX, months)
    return Sample(frame, schema, {"sex[m]": SEX_EFFECT}, ("age", "months"))


CohortMaker = Callable[..., Cohort]
"""Of a seed and a number of intervals."""
FIRST: tuple[CohortMaker, ...] = (
    right10, late10wrong, bump85wrong, heavy28wrong, heavy28right, rare5, strong50, varying90wrong,
    many2, small30,
)  # fmt: skip
TAILS: tuple[CohortMaker, ...] = (
    tail20wrong, tail20right, tail5wrong, outlier40wrong, step70wrong,
)  # fmt: skip
"""A few people carry much of the information on some coefficients."""
REGISTRIES: tuple[Maker, ...] = (
    calendar, treatment, treatment_late, measured, missing20, empty_level, collinear, no_information,
)  # fmt: skip


def _sampled(maker: CohortMaker) -> Maker:
    def made(seed: int) -> Sample:
        return maker(seed).sample()

    return made


FEW = 2_000
DESIGNS: dict[str, Maker] = {
    **{maker.__name__: maker for maker in REGISTRIES},
    **{maker.__name__: _sampled(maker) for maker in (*FIRST, *TAILS, line30)},
    **{f"bounds_{times}": _wide(times) for times in (1, 3, 10, 30)},
    **{f"bounds_{times}_few": _wide(times, FEW) for times in (3, 10)},
    **{f"labs_{times}_few": _labs(times, FEW) for times in (1, 3, 10)},
    "labs_10_1000": _labs(10, 1000),
    **{f"lognormal_{high:g}": _lognormal(high) for high in (10.0, 30.0, 100.0)},
}
RIGHT = (
    "right10", "heavy28right", "rare5", "strong50", "many2", "small30", "tail20right", "line30",
)  # fmt: skip
"""The designs of 0.1.0 whose model is right: no worse than before is asked of them."""
