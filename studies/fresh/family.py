"""A wide family of registries; each is a function of (seed, number) and of nothing else.

Symbols: n people, p covariates, q intervals with edges a_0 < ... < a_q, u = middle of an interval /
horizon, z an (n, K) array of a covariate's standardised values in the K stretches of a person.

    predictor of cause r   level_r + base_r(u) + log(width) + sum_j z_j effect_rj lean_rj(u) + bends
    hazard                 the inverse link of the predictor; with causes P(r) = o_r / (1 + sum o)
    censoring              1 - exp(-rate width exp(gamma'z)) after an interval without an event, and for
                           some registries an end of the study that is uniform for every person

==================  ===============================================================================
people              500 to 50,000, log-uniform
covariates          2 to 12, correlated: normal, uniform, skewed, heavy-tailed (t with 1.5 to 3 degrees of
                    freedom), counts, 2 to 8 levels, 0/1 as levels or as a number; levels as rare as 0.3 %
near-collinear      a copy of a number with correlation 0.95 to 0.995, or the same number in bands
bounds              1 to 30 times as wide as the people, on both sides or one; some cut 3 % off
missing             up to 20 % of a column, filled or with an indicator
scales              linear, some log and spline:4
effects             constant, fading, growing, crossing; some bend
baselines           smooth, a spike at first, late, a bump with waves, steps, anniversaries
event shares        3 % to 95 %, log-uniform; what is reached is reported
censoring           random, also by covariates; end of study
late entry          uniform over half of the horizon, or later for large predictors
several rows        up to three stretches per person between which covariates change
strata              2 to 4, each with a level and a trend of its own
causes              2 or 3, each with effects and a baseline of its own
grids               12 to 200 intervals, equal or growing
models              logit, cloglog, probit; natural-spline:3, :5, log-time:3
==================  ===============================================================================
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import optimize, special

Array = NDArray[np.float64]
Random = np.random.Generator

PEOPLE, COVARIATES, SHARES, WIDEST = (500, 50_000), (2, 12), (0.03, 0.95), 30.0
FEWEST = 0.003
"""Share of the rarest level."""
FURTHEST, STRONGEST = 5.0, 1.5
"""Limits on a standardised value in the predictor, and on the standard deviation of all effects."""
STRETCHES, SAMPLE = 3, 2_000
NUMBERS = ("normal", "uniform", "skewed", "heavy", "count")
ORDINARY = ("normal", "uniform", "skewed", "count", "levels")
"""Kinds of columns that are no trait of a registry."""
LINKS: dict[str, Callable[[Array], Array]] = {
    "logit": special.expit,
    "cloglog": lambda eta: -np.expm1(-np.exp(eta)),
    "probit": special.ndtr,
}


@dataclass(frozen=True)
class Registry:
    """A table, its public schema, the model to fit, and what is special about the people."""

    name: str
    frame: pd.DataFrame
    schema: dict[str, Any]
    model: dict[str, str]
    traits: tuple[str, ...] = ()
    truth: dict[str, float] = field(default_factory=dict)

    @property
    def people(self) -> int:
        """n."""
        person = self.schema.get("person")
        return int(self.frame[person].nunique()) if person else len(self.frame)

    @property
    def event_share(self) -> float:
        """Share of the people with an event, of any cause."""
        causes = self.schema["time"].get("causes", {"": ["1"]})
        values = [value for values in causes.values() for value in values]
        return float(self.frame["event"].astype(str).isin(values).sum() / self.people)

    @property
    def digest(self) -> str:
        """Names these people: equal only if every value is."""
        rows = pd.util.hash_pandas_object(self.frame, index=False).to_numpy()
        return hashlib.blake2b(rows.tobytes(), digest_size=6).hexdigest()


@dataclass(frozen=True)
class Column:
    """A covariate: its declaration, the values people write, the standardised ones that act."""

    declared: dict[str, Any]
    raw: NDArray[Any]
    z: Array
    kind: str


@dataclass(frozen=True)
class Hazard:
    """One cause: base (strata, q), effects and leans (p, q), bends (p,), all in the link's units."""

    base: Array
    effects: Array
    bends: Array
    link: str

    def predictor(self, z: Array, stratum: NDArray[np.int64], interval: int) -> Array:
        """The predictor of each person in one interval; z is (n, p)."""
        return (
            self.base[stratum, interval]
            + z @ self.effects[:, interval]
            + (np.clip(z, -3.0, 3.0) ** 2 - 1.0) @ self.bends
        )


@dataclass(frozen=True)
class Lives:
    """Entry, last interval (both count from 0), cause (0 if censored), and cuts between stretches."""

    entry: NDArray[np.int64]
    last: NDArray[np.int64]
    cause: NDArray[np.int64]


def registry(seed: int, number: int) -> Registry:
    """The registry with this number among those of the seed."""
    random = np.random.default_rng([seed, number])
    people = int(np.exp(random.uniform(*np.log(PEOPLE))))
    special_form = random.random()
    with_strata, with_causes = special_form < 0.15, special_form > 0.85
    with_rows, late = random.random() < 0.15, random.random() < 0.25
    traits = [
        word
        for word, there in (
            ("strata", with_strata), ("causes", with_causes), ("rows", with_rows), ("late", late),
        )
        if there
    ]  # fmt: skip
    link = str(random.choice(list(LINKS), p=[0.6, 0.25, 0.15]))
    axis, edges = _grid(random)
    columns = _columns(random, people, STRETCHES if with_rows else 1)
    traits += sorted({column.kind for column in columns if column.kind not in ORDINARY})
    z = np.stack([column.z for column in columns], axis=-1)
    strata = int(random.integers(2, 5)) if with_strata else 1
    stratum = random.choice(strata, people, p=random.dirichlet(np.full(strata, 3.0)))
    causes = int(random.integers(2, 4)) if with_causes else 1
    hazards, marks = _hazards(random, z[:, 0], edges, (causes, strata), link)
    traits += marks
    entry = _entries(random, z[:, 0], len(edges) - 1) if late else np.zeros(people, dtype=np.int64)
    cuts = _cuts(random, entry, len(edges) - 1, z.shape[1])
    rates = _censoring(random, z[:, 0], edges)
    if np.ptp(rates) > 0:
        traits.append("informed censoring")
    share = float(np.exp(random.uniform(*np.log(SHARES))))
    end = np.full(people, len(edges) - 2)
    if random.random() < 0.5:
        end = random.integers(len(edges) // 3, len(edges) - 1, people)
        traits.append("end of study")
    world = _World(z, stratum, hazards, entry, cuts, rates, end)
    world = world.shifted(_level(world, share))
    frame, schema = _table(random, columns, world.live(random), (entry, cuts), axis, edges)
    if with_strata:
        names = [f"site {place}" for place in range(strata)]
        frame["site"] = np.array(names)[stratum[frame["id"]]]
        schema["strata"] = {"name": "site", "levels": names}
    if with_causes:
        schema["time"]["causes"] = {f"cause{r}": [str(r)] for r in range(1, causes + 1)}
    if not with_rows:
        frame = frame.drop(columns="id")
        del schema["person"]
        if not late:
            del schema["time"]["entry"]
    baseline = random.choice(
        ["natural-spline:3", "natural-spline:5", "log-time:3"], p=[0.7, 0.15, 0.15]
    )
    model = {"link": link, "baseline": str(baseline)}
    return Registry(f"{number:04d}", frame, schema, model, tuple(dict.fromkeys(traits)))


# Time


def _grid(random: Random) -> tuple[dict[str, Any], Array]:
    """The time axis without its columns, and the edges."""
    intervals = int(random.choice([12, 20, 40, 60, 100, 200]))
    horizon = float(random.choice([1.0, 10.0, 60.0, 3650.0]))
    axis: dict[str, Any] = {"horizon": horizon, "intervals": intervals}
    if random.random() < 0.75:
        return axis, horizon * np.arange(intervals + 1) / intervals
    first = horizon / intervals / float(np.exp(random.uniform(np.log(2), np.log(30))))
    steps = np.arange(intervals)
    factor = optimize.brentq(lambda r: first * (r**steps).sum() - horizon, 1.0, 10.0)
    edges = np.concatenate([[0.0], np.cumsum(first * factor**steps)])
    return {**axis, "first": first}, edges * horizon / edges[-1]


def _entries(random: Random, z: Array, intervals: int) -> NDArray[np.int64]:
    """Edges at which people come under observation; some are there from the beginning."""
    early = random.uniform(0.1, 0.7)
    when = random.random(len(z))
    if random.random() < 0.5:  # who is late goes with the first covariate, as with age for time
        when = special.ndtr(0.8 * special.ndtri(np.clip(when, 1e-9, 1 - 1e-9)) + 0.6 * z[:, 0])
    late = random.random(len(z)) >= early
    return np.where(late, (when * (intervals // 2)).astype(np.int64), 0)


def _cuts(random: Random, entry: Array, intervals: int, stretches: int) -> NDArray[np.int64]:
    """Edges between the stretches of each person, (n, K - 1), never decreasing."""
    places = random.random((len(entry), stretches - 1)) * (intervals - entry)[:, None] * 0.8
    return np.sort(entry[:, None] + 1 + places.astype(np.int64), axis=1)


# Covariates


def _columns(random: Random, people: int, stretches: int) -> list[Column]:
    """Correlated covariates, changing from stretch to stretch; perhaps one that repeats another."""
    size = int(random.integers(COVARIATES[0], COVARIATES[1] + 1))
    root = np.eye(size) + 0.5 * random.normal(size=(size, size)) / np.sqrt(size / 3)
    root /= np.linalg.norm(root, axis=0)
    latent = np.empty((people, stretches, size))
    latent[:, 0] = random.normal(size=(people, size)) @ root
    steady = random.random(size) < 0.5
    for k in range(1, stretches):
        moved = 0.9 * latent[:, k - 1] + np.sqrt(1 - 0.81) * random.normal(size=(people, size))
        latent[:, k] = np.where(steady, latent[:, 0], moved)
    repeats = size > 2 and random.random() < 0.3
    columns: list[Column] = []
    for j in range(size - repeats):
        number = random.random() < 0.55
        columns.append((_number if number else _category)(random, f"x{j}", latent[..., j]))
    if repeats:
        columns.append(_repeat(random, columns, latent[..., -1]))
    return columns


def _number(random: Random, name: str, latent: Array) -> Column:
    """A number with its law, bounds and scale."""
    kind = str(random.choice(NUMBERS, p=[0.3, 0.15, 0.25, 0.15, 0.15]))
    if kind == "normal":
        raw = random.uniform(-50, 50) + random.uniform(0.5, 20) * latent
    elif kind == "uniform":
        raw = random.uniform(1, 100) * special.ndtr(latent)
    elif kind == "skewed":
        raw = random.uniform(0.5, 50) * np.exp(random.uniform(0.4, 1.2) * latent)
    elif kind == "heavy":
        freedom = random.uniform(1.5, 3.0)
        raw = special.stdtrit(freedom, np.clip(special.ndtr(latent), 1e-6, 1 - 1e-6))
    else:
        mean = random.uniform(0.3, 6)
        raw = np.floor(mean * -np.log(np.clip(special.ndtr(-latent), 1e-12, 1.0)))
    return _declare(random, name, raw, kind)


def _declare(random: Random, name: str, raw: Array, kind: str) -> Column:
    """Bounds as a person would set them beforehand, a scale, and gaps."""
    cut = 0.03 if random.random() < 0.1 else 0.002
    low, high = (float(value) for value in np.quantile(raw, [cut, 1 - cut]))
    high = max(high, low + 1e-6 * max(abs(low), 1.0))
    wide = (
        np.exp(random.uniform(0, np.log(WIDEST)))
        if random.random() < 0.4
        else random.uniform(1, 1.5)
    )
    positive = float(raw.min()) >= 0
    below = 0.0 if positive else random.choice([0.0, 0.5, 1.0])
    extra = (high - low) * (wide - 1.0)
    step = 10.0 ** (np.floor(np.log10((high - low) * wide)) - 1)  # two digits of the width, outward
    low = float(f"{np.floor((low - below * extra) / step) * step:.6g}")
    high = float(f"{np.ceil((high + (1.0 - below) * extra) / step) * step:.6g}")
    if positive:
        low = max(low, 0.0)
    declared: dict[str, Any] = {"name": name, "low": low, "high": high}
    seen = np.clip(raw, low, high)
    chance = random.random()
    if kind == "skewed" and low > 0 and chance < 0.3:
        declared["scale"], seen = "log", np.log(seen)
    elif chance > 0.92:
        declared["scale"] = "spline:4"
    written = raw.copy()
    if random.random() < 0.1:
        gone = random.random(raw.shape) < random.uniform(0.01, 0.2)
        written[gone] = np.nan
        if random.random() < 0.5:
            declared["missing"] = "indicator"
    return Column(
        declared,
        written,
        _standard(seen),
        "wide bounds" if wide > 5 else "heavy tails" if kind == "heavy" else kind,
    )


def _category(random: Random, name: str, latent: Array) -> Column:
    """Levels with shares of which some are rare, or a 0/1 column that is declared as a number."""
    size = 2 if random.random() < 0.5 else int(random.integers(3, 9))
    shares = random.dirichlet(np.full(size, random.choice([0.4, 2.0])))
    shares = np.maximum(shares, FEWEST)
    shares /= shares.sum()
    code = np.searchsorted(np.cumsum(shares)[:-1], special.ndtr(latent))
    kind = "rare level" if shares.min() < 0.03 else "levels"
    if size == 2 and random.random() < 0.3:
        declared = {"name": name, "low": 0.0, "high": 1.0}
        return Column(declared, code.astype(float), _standard(code), "0/1 as a number")
    names = np.array([chr(ord("a") + place) for place in range(size)])
    effect = random.normal(size=size)[code]
    return Column({"name": name, "levels": names.tolist()}, names[code], _standard(effect), kind)


def _repeat(random: Random, columns: list[Column], latent: Array) -> Column:
    """A column that nearly repeats the first number: a noisy copy, or its bands."""
    first = next((column for column in columns if column.raw.dtype.kind == "f"), columns[0])
    name, z = f"x{len(columns)}", first.z
    if random.random() < 0.5:
        bands = np.searchsorted(np.quantile(z, [0.25, 0.5, 0.75]), z)
        names = np.array(["a", "b", "c", "d"])
        used = np.unique(bands)
        return Column(
            {"name": name, "levels": names[used].tolist()} if len(used) > 1 else
            {"name": name, "levels": ["a", "b"]},
            names[bands], _standard(bands), "near-collinear",
        )  # fmt: skip
    close = random.uniform(0.95, 0.995)
    made = _declare(random, name, close * z + np.sqrt(1 - close**2) * latent, "near-collinear")
    return Column(made.declared, made.raw, made.z, "near-collinear")


def _standard(values: NDArray[Any]) -> Array:
    """Mean 0 and deviation 1 over the first stretches, no further than FURTHEST."""
    first = np.asarray(values, dtype=float)[:, 0]
    scale = first.std()
    shifted = np.asarray(values, dtype=float) - first.mean()
    return np.clip(shifted / scale if scale > 0 else shifted * 0.0, -FURTHEST, FURTHEST)


# Hazards


def _hazards(
    random: Random, z: Array, edges: Array, sizes: tuple[int, int], link: str
) -> tuple[list[Hazard], list[str]]:
    """One for each cause, and words for what no model with constant effects follows."""
    middle = (edges[1:] + edges[:-1]) / 2 / edges[-1]
    exposure = np.log(np.diff(edges) / np.diff(edges).mean())
    slopes = 0.5 if link == "probit" else 1.0
    hazards, traits = [], []
    for _ in range(sizes[0]):
        shape = str(random.choice(["smooth", "early", "late", "bump", "steps", "yearly"]))
        base = _baseline(random, shape, middle) + exposure
        own = random.normal(0, 0.4, (sizes[1], 1)) + random.normal(0, 0.5, (sizes[1], 1)) * middle
        effects = random.normal(size=z.shape[1]) * random.choice([0.0, 0.1, 0.3, 0.6], z.shape[1])
        spread = float((z @ effects).std())
        effects *= min(1.0, STRONGEST / max(spread, 1e-9))
        leans = np.ones((z.shape[1], len(middle)))
        if random.random() < 0.5:
            for j in np.flatnonzero(random.random(z.shape[1]) < 0.4):
                kind = str(random.choice(["fading", "growing", "crossing"]))
                leans[j] = _lean(kind, middle, random.uniform(0.1, 0.6))
                if effects[j] != 0.0:
                    traits.append(kind)
        bends = random.normal(0, 0.1, z.shape[1]) * (random.random() < 0.4)
        if bends.any():
            traits.append("bends")
        traits.append(f"{shape} baseline")
        strata = own if sizes[1] > 1 else own[:, :1] * 0.0
        scaled = slopes * effects[:, None] * leans
        hazards.append(Hazard(slopes * (base + strata), scaled, slopes * bends, link))
    return hazards, traits


def _lean(kind: str, u: Array, scale: float) -> Array:
    """The factor of an effect over time; 1 is the constant effect."""
    if kind == "fading":
        return np.exp(-u / scale)
    return np.minimum(u / scale, 1.0) if kind == "growing" else np.clip(1.0 - u / scale, -1.0, 1.0)


def _baseline(random: Random, shape: str, u: Array) -> Array:
    """A log-hazard over time; only the first is one that splines follow."""
    if shape == "smooth":
        return random.normal() * u + random.normal() * u**2
    if shape == "early":
        return random.uniform(1, 3) * np.exp(-u * random.uniform(10, 40))
    if shape == "late":
        return -random.uniform(2, 6) * np.exp(-u * random.uniform(4, 10))
    if shape == "bump":
        return 1.2 * ((u > 0.1) & (u < 0.2)) - 0.8 * (u > 0.6) + 0.5 * np.sin(14 * u)
    if shape == "steps":
        return random.normal(0, 0.7, 6)[np.minimum((u * 6).astype(int), 5)]
    return 1.5 * (np.mod(u * 5.0, 1.0) > 0.85)


def _censoring(random: Random, z: Array, edges: Array) -> Array:
    """Rates (n, 1) per interval of mean length; by covariates in half of the registries."""
    rate = np.exp(random.uniform(np.log(0.05), np.log(2.0))) / (len(edges) - 1)
    gamma = random.normal(0, 0.3, z.shape[1]) * (random.random() < 0.5)
    return np.asarray(rate * np.exp(np.clip(z @ gamma, -2.0, 2.0)))[:, None]


# Lives


@dataclass(frozen=True)
class _World:
    z: Array
    stratum: NDArray[np.int64]
    hazards: list[Hazard]
    entry: NDArray[np.int64]
    cuts: NDArray[np.int64]
    rates: Array
    end: NDArray[np.int64]

    def shifted(self, level: float) -> "_World":
        """A world in which every predictor is higher by the level."""
        moved = [Hazard(h.base + level, h.effects, h.bends, h.link) for h in self.hazards]
        return _World(self.z, self.stratum, moved, self.entry, self.cuts, self.rates, self.end)

    def first(self, count: int) -> "_World":
        """A part of the people."""
        return _World(
            self.z[:count], self.stratum[:count], self.hazards, self.entry[:count],
            self.cuts[:count], self.rates[:count], self.end[:count],
        )  # fmt: skip

    def chances(self, interval: int) -> tuple[Array, Array]:
        """P(cause r) (R, n) and P(censored, if no event) (n,) of those who are at risk."""
        stretch = (self.cuts <= interval).sum(axis=1)
        z = self.z[np.arange(len(self.z)), stretch]
        odds = []
        for hazard in self.hazards:
            predictor = np.clip(hazard.predictor(z, self.stratum, interval), -30.0, 3.0)
            chance = np.clip(LINKS[hazard.link](predictor), 1e-12, 0.98)
            odds.append(chance / (1.0 - chance))
        events = np.array(odds) / (1.0 + np.sum(odds, axis=0))
        leaving = -np.expm1(-self.rates[:, 0])
        return events, np.where(self.end <= interval, 1.0, leaving)

    def event_share(self) -> float:
        """Expected share of people with an event."""
        alive, events = np.ones(len(self.z)), np.zeros(len(self.z))
        for interval in range(self.hazards[0].base.shape[1]):
            chances, leaving = self.chances(interval)
            total, under = chances.sum(axis=0), self.entry <= interval
            events += np.where(under, alive * total, 0.0)
            alive = np.where(under, alive * (1.0 - total) * (1.0 - leaving), alive)
        return float(events.mean())

    def live(self, random: Random) -> Lives:
        """Draw the last interval and the cause of each person."""
        size, intervals = len(self.z), self.hazards[0].base.shape[1]
        last, cause = np.full(size, intervals - 1), np.zeros(size, dtype=np.int64)
        alive = np.ones(size, dtype=bool)
        for interval in range(intervals):
            chances, leaving = self.chances(interval)
            under = alive & (self.entry <= interval)
            drawn = random.random(size)
            which = (drawn[None] >= np.cumsum(chances, axis=0)).sum(axis=0)
            ended = under & (which < len(chances))
            gone = under & ~ended & (random.random(size) < leaving)
            cause[ended] = which[ended] + 1
            last[ended | gone] = interval
            alive &= ~(ended | gone)
        return Lives(self.entry, last, cause)


def _level(world: _World, share: float) -> float:
    """The shift of all predictors with this share of events, among a part of the people."""
    part = world.first(SAMPLE)
    low, high = -16.0, 6.0
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (low, middle) if part.shifted(middle).event_share() > share else (middle, high)
    return (low + high) / 2


def _table(
    random: Random, columns: list[Column], lives: Lives,
    begins: tuple[NDArray[np.int64], NDArray[np.int64]], axis: dict[str, Any], edges: Array,
) -> tuple[pd.DataFrame, dict[str, Any]]:  # fmt: skip
    """A row for every stretch that was lived, with its covariates."""
    entry, cuts = begins
    inside = edges[lives.last] + random.uniform(0.05, 0.95, len(entry)) * np.diff(edges)[lives.last]
    starts = np.column_stack([entry, cuts])
    lived = starts <= lives.last[:, None]
    people, stretch = np.nonzero(lived)
    final = np.append(people[1:] != people[:-1], True)
    following = np.append(starts[people[1:], stretch[1:]], 0)
    stop = np.where(final, inside[people], edges[following])
    frame = pd.DataFrame({"id": people, "entry": edges[starts[people, stretch]], "time": stop})
    frame["event"] = np.where(final, lives.cause[people], 0)
    for column in columns:
        frame[column.declared["name"]] = column.raw[people, stretch]
    frame = frame[frame["time"] > frame["entry"]].reset_index(drop=True)
    time = {"duration": "time", "event": "event", "entry": "entry", **axis}
    return frame, {"person": "id", "time": time, "covariate": [c.declared for c in columns]}
