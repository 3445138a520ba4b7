# ruff: noqa: INP001, T201, scripts beside each other, no package; progress is printed
"""Private curves by group: bands against the truth and the sample, errors beside others.

    python studies/curves.py --draws 200     so many registries, rows of results/curves.csv; it resumes
    python studies/curves.py --page          its part of docs/accuracy.md from these rows

Four parts. Random registries: 2 to 12 groups with shares from 1 % up, 200 to 20,000 people, one to
three causes, hazards of seven kinds, light to heavy censoring, late entry in one of five, epsilon
0.5 to 8, pure in one of four; seeds are drawn from the system. Hard settings, every third draw: groups
of 20 to 16,520 people side by side, waiting lists, late hazards and so on. Fixed designs, every eighth: two groups with one
hazard, for the error beside others' and for the choice of delta.

Real sets come with lifelines and R's survival (`--real 8`, with Rscript): the curve of these people is
known, the population's is not.

Noise is the testing source's, whose laws are those of a release up to rounding. Beside it the method
of Gondara and Wang (2020) on the same people with the same epsilon: Laplace noise of scale 2/epsilon
on the first number at risk and on every count of events and of censored people, interval by
interval, and Kaplan-Meier's product.
"""

import argparse
import csv
import math
import secrets
import statistics
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from marked import fill
from numpy.random import Generator, default_rng

import discreet as ds
from discreet.privacy.accountant import rho_for
from discreet.results.group_curves import GroupCurve

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "curves.csv"
PAGE = HERE.parent / "docs" / "accuracy.md"
MARKS = ("<!-- curves: begin -->", "<!-- curves: end -->")
DELTA = 1e-6
LOWEST, HIGHEST, NUMBERS = 0.93, 0.99, 0.93
"""What is asked of bands, and of intervals of medians and restricted means."""
CLEAR = 1.96
"""Standard errors beyond which chance is no explanation."""
FINE = 4_200
"""Steps of the axis on which a hazard is constant: an interval of any grid here is made of some."""
PRINTED = 5e-4
"""A limit this far away is met: files have six digits, a page draws three."""
KINDS = ("equal", "weibull", "late", "early", "bump", "crossing", "steps")
EQUAL_CHARGE = {0.5: 0.124, 2.0: 0.451}
"""Pure epsilons that take as much of a shared budget as (epsilon, 1e-6): e tanh(e/2) = rho."""
FIXED = [
    (people, epsilon, delta)
    for people in (200, 1_000, 20_000)
    for epsilon in (0.5, 1.0, 2.0)
    for delta in (DELTA, 0.0)
    if people > 200 or epsilon == 1.0
] + [(people, small, 0.0) for people in (1_000, 20_000) for small in EQUAL_CHARGE.values()]
KEYS = ("part", "seed", "draw")
COLUMNS = (
    *KEYS, "kind", "groups", "causes", "late", "people", "epsilon", "delta", "group_people",
    "known", "truth", "own", "whole_truth", "whole_own", "incidence", "median", "mean", "bias",
    "half", "error", "exact_error", "gondara_wang", "p_value",
)  # fmt: skip


@dataclass(frozen=True)
class Registry:
    """Public facts of a registry, and the hazards of its people, (groups, causes + 1, FINE)."""

    kind: str
    people: int
    shares: np.ndarray
    hazards: np.ndarray
    intervals: int
    late: bool
    epsilon: float
    delta: float | None
    exact: bool = False
    """Whether groups have exactly their shares of people."""

    @property
    def causes(self) -> int:
        """How many kinds of events there are."""
        return self.hazards.shape[1] - 1

    @property
    def cumulated(self) -> np.ndarray:
        """Cumulated hazards at the edges of the fine grid."""
        start = np.zeros((*self.hazards.shape[:2], 1))
        return np.concatenate([start, np.cumsum(self.hazards, axis=2) / FINE], axis=2)

    @property
    def schema(self) -> dict[str, Any]:
        """The axis from 0 to 1 and the levels."""
        time: dict[str, Any] = {
            "duration": "time",
            "event": "event",
            "horizon": 1.0,
            "intervals": self.intervals,
        }
        if self.late:
            time["entry"] = "entry"
        if self.causes > 1:
            time["causes"] = {f"cause{r}": [r] for r in range(1, self.causes + 1)}
        levels = [f"g{group}" for group in range(len(self.shares))]
        return {"time": time, "covariate": [{"name": "group", "levels": levels}]}


def log_hazard(kind: str, time: np.ndarray, random: Generator) -> np.ndarray:
    """A shape; groups and causes draw one each."""
    early, gone = (time > 0.1) & (time < 0.25), time > 0.6
    shapes: dict[str, Callable[[], np.ndarray]] = {
        "equal": lambda: 0.0 * time,
        "weibull": lambda: (np.exp(random.normal(0.0, 0.5)) - 1.0) * np.log(time),
        "late": lambda: np.where(time < random.uniform(0.2, 0.7), -4.0, 1.0) + 1.5 * time,
        "early": lambda: 2.5 * np.exp(-time * random.uniform(5.0, 25.0)),
        "bump": lambda: 1.2 * early - 0.8 * gone + 0.5 * np.sin(14.0 * time),
        "crossing": lambda: random.choice([-2.0, 2.0]) * (time - 0.5),
        "steps": lambda: random.normal(0.0, 0.8, 6)[np.minimum((6 * time).astype(int), 5)],
    }
    return shapes[kind]()


def random_registry(seed: int) -> Registry:
    """Public facts and hazards from a seed."""
    random = default_rng([1, seed])
    groups, causes = int(random.choice([2, 3, 4, 6, 9, 12])), int(random.choice([1, 1, 2, 3]))
    shares = np.maximum(random.dirichlet(np.full(groups, 0.7)), 0.01)
    if random.random() < 0.3:
        shares = np.ones(groups)
    kind = str(random.choice(KINDS))
    time = (np.arange(FINE) + 0.5) / FINE
    hazards = np.empty((groups, causes + 1, FINE))
    for group in range(groups):
        for cause in range(causes):
            level = 0.0 if kind == "equal" else random.normal(0.0, 0.5)
            hazards[group, cause] = np.exp(log_hazard(kind, time, random) + level)
    events = math.exp(random.uniform(math.log(0.1), math.log(2.5)))
    hazards[:, :-1] *= events / hazards[:, :-1].mean(axis=2).sum(axis=1).mean()
    censoring = str(random.choice(["equal", "weibull", "early"]))
    total = math.exp(random.uniform(math.log(0.1), math.log(2.5)))
    for group in range(groups):
        shape = np.exp(log_hazard(censoring, time, random) + random.normal(0.0, 0.3))
        hazards[group, -1] = shape * total / shape.mean()
    people = int(math.exp(random.uniform(math.log(200), math.log(20_000))))
    return Registry(
        kind,
        people,
        shares / shares.sum(),
        hazards,
        int(random.choice([40, 60, 100])),
        bool(random.random() < 0.2),
        float(random.choice([0.5, 1.0, 2.0, 4.0, 8.0])),
        0.0 if random.random() < 0.25 else None,
    )


def fixed_registry(people: int, epsilon: float, delta: float) -> Registry:
    """Two groups with one hazard that falls with time; of 200 people all are in the first."""
    time = (np.arange(FINE) + 0.5) / FINE
    hazards = np.empty((2, 2, FINE))
    hazards[:, 0], hazards[:, 1] = 1.2 * np.exp(-3.0 * time) + 0.54, 1.0 / (1.5 - time)
    shares = np.array([1.0, 0.0]) if people == 200 else np.full(2, 0.5)
    return Registry("fixed", people, shares, hazards, 60, late=False, epsilon=epsilon, delta=delta)


def hard_registries() -> dict[str, Registry]:
    """Settings that are hard, each with groups of small and large sizes side by side."""
    time = (np.arange(FINE) + 0.5) / FINE
    flat = np.ones(FINE)
    mixed = (30, 100, 300, 1_000)

    def made(
        sizes: tuple[int, ...],
        hazards: list[list[np.ndarray]],
        epsilon: float,
        *,
        intervals: int = 60,
        late: bool = False,
        delta: float | None = None,
    ) -> Registry:
        number, shares = sum(sizes), np.array(sizes) / sum(sizes)
        values = np.array(hazards)
        return Registry("hard", number, shares, values, intervals, late, epsilon, delta, exact=True)

    def waiting(epsilon: float, causes: int) -> Registry:
        """A waiting list of 815 people: nearly all leave in the first tenth of the axis."""
        hazards = []
        for scale in (0.04, 0.07, 0.1, 0.16):
            first = 0.75 / scale * (time / scale) ** -0.25
            rarer = [0.4 * np.exp(-3.0 * time) + 0.1, 0.25 * flat]
            events = [first] if causes == 1 else [0.85 * first, *rarer]
            hazards.append([*events, 0.15 * flat])
        return made((41, 103, 325, 346), hazards, epsilon, intervals=70)

    def falling(*levels: float) -> list[list[np.ndarray]]:
        return [[1.2 * level * np.exp(-3.0 * time) + 0.5 * level, 0.7 * flat] for level in levels]

    late = [
        [np.where(time < start, np.exp(-4.0), level), 0.6 * flat]
        for start, level in ((0.3, 2.0), (0.5, 4.0), (0.4, 2.0), (0.6, 4.0))
    ]
    early = [
        [6.0 * level * np.exp(-15.0 * time) + 0.2, 0.5 * flat] for level in (1.0, 2.0, 0.5, 1.4)
    ]
    crossing = [[np.exp(slope * (time - 0.5)), 0.7 * flat] for slope in (-3.0, 3.0, 3.0, -3.0)]
    censored = [[level * flat, 8.0 * np.exp(-6.0 * time) + 1.0] for level in (0.7, 1.4, 1.0, 0.8)]
    rising = [[level * (0.5 + time), 0.8 * flat] for level in (0.8, 1.6, 1.2, 1.0)]
    side = (20, 60, 200, 700, 2_500, 16_520)
    twelve = (30,) * 4 + (100,) * 4 + (300,) * 4
    levels = np.geomspace(0.5, 2.0, 12)[[3, 8, 0, 11, 6, 2, 9, 5, 10, 1, 7, 4]]
    many = [[level * (time + 0.3), 0.6 * flat] for level in levels]
    return {
        "waiting list, one event, ε = 2": waiting(2.0, 1),
        "waiting list, three causes, ε = 2": waiting(2.0, 3),
        "waiting list, three causes, ε = 8": waiting(8.0, 3),
        "20 to 16,520 people, ε = 1": made(side, falling(0.6, 1.6, 1.0, 0.7, 1.3, 1.0), 1.0),
        "20 to 16,520 people, ε = 4": made(side, falling(0.6, 1.6, 1.0, 0.7, 1.3, 1.0), 4.0),
        "late hazards, ε = 1": made(mixed, late, 1.0),
        "late hazards, ε = 4": made(mixed, late, 4.0),
        "early hazards, ε = 1": made(mixed, early, 1.0),
        "crossing hazards, ε = 1": made(mixed, crossing, 1.0),
        "crossing hazards, ε = 4": made(mixed, crossing, 4.0),
        "heavy early censoring, ε = 2": made(mixed, censored, 2.0),
        "twelve groups, ε = 1": made(twelve, many, 1.0),
        "twelve groups, ε = 4": made(twelve, many, 4.0),
        "late entry, ε = 2": made(mixed, rising, 2.0, late=True),
        "pure ε = 1": made(mixed, falling(1.0, 2.0, 0.6, 1.0), 1.0, delta=0.0),
        "ε = 0.5": made((100, 300, 1_000, 3_000), falling(1.0, 2.0, 0.6, 1.0), 0.5),
    }


def sample(registry: Registry, random: Generator) -> dict[str, np.ndarray]:
    """People as columns: group, entry, time, and the cause that ended it or 0."""
    number = registry.people
    if registry.exact:
        sizes = np.rint(registry.shares * number).astype(int)
        group = np.repeat(np.arange(len(sizes)), sizes)
    else:
        group = random.choice(len(registry.shares), size=number, p=registry.shares)
    late = random.random(number) < 0.4
    entry = np.where(late, random.uniform(0.0, 0.6, number), 0.0) * registry.late
    edges, wait = np.arange(FINE + 1) / FINE, random.exponential(size=number)
    total, last, cause = registry.cumulated.sum(axis=1), np.empty(number), np.zeros(number, int)
    for index in range(len(registry.shares)):
        chosen = group == index
        begun = np.interp(entry[chosen], edges, total[index])
        time = np.interp(begun + wait[chosen], total[index], edges, right=2.0)
        here = registry.hazards[index][:, np.minimum((time * FINE).astype(int), FINE - 1)]
        draw = random.random(chosen.sum()) * here.sum(axis=0)
        kind = np.minimum(np.sum(draw > np.cumsum(here, axis=0), axis=0), registry.causes)
        cause[chosen] = np.where((time > 1.0) | (kind == registry.causes), 0, kind + 1)
        last[chosen] = np.minimum(time, 1.0)
    return {"group": group, "entry": entry, "time": last, "event": cause}


def kaplan_meier(people: dict[str, np.ndarray], ends: np.ndarray) -> np.ndarray:
    """The curve of these people from their exact times, just before each end: [a, b) is a stretch."""
    times, events = np.unique(people["time"][people["event"] > 0], return_counts=True)
    at_risk = np.searchsorted(np.sort(people["entry"]), times, side="left")
    at_risk = at_risk - np.searchsorted(np.sort(people["time"]), times, side="left")
    curve = np.cumprod(1.0 - events / np.maximum(at_risk, events))
    return np.append(1.0, curve)[np.searchsorted(times, ends, side="left")]


def gondara_wang(
    people: dict[str, np.ndarray], registry: Registry, ends: np.ndarray, random: Generator
) -> np.ndarray:
    """Their partial matrix (first at risk, events, censored) with Laplace noise of scale 2/epsilon."""
    number, scale = registry.intervals, 2.0 / registry.epsilon
    place = np.clip(np.ceil(people["time"] * number).astype(int) - 1, 0, number - 1)
    happened = people["event"] > 0
    events, censored = (
        np.maximum(
            np.bincount(place[chosen], minlength=number) + random.laplace(0, scale, number), 0
        )
        for chosen in (happened, ~happened)
    )
    left = np.cumsum(events + censored)
    at_risk = len(place) + random.laplace(0.0, scale) - left + events + censored
    hazard = np.divide(events, at_risk, out=np.zeros(number), where=at_risk > 0)
    curve = np.cumprod(1.0 - np.clip(hazard, 0.0, 1.0))
    return np.interp(ends, np.arange(number + 1) / number, np.append(1.0, curve))


def measure(registry: Registry, seed: int, keys: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """One row for each group of one simulated release."""
    random = default_rng([2, seed])
    people = sample(registry, random)
    table = pa.table({**people, "group": [f"g{group}" for group in people["group"]]})
    curves = ds.GroupCurves(registry.schema, by="group")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what a seeded draw is
        release = ds.simulate(
            curves,
            table,
            mechanism=ds.GroupCounts(registry.epsilon, registry.delta),
            seed=int(random.integers(2**31)),
        ).model_
    facts = {
        "kind": registry.kind,
        **keys,
        "groups": len(registry.shares),
        "causes": registry.causes,
        "late": registry.late,
        "people": registry.people,
        "epsilon": registry.epsilon,
        "delta": release.guarantee.delta,
    }
    for group, curve in enumerate(release.estimates):
        own = {name: values[people["group"] == group] for name, values in people.items()}
        yield {
            **facts,
            "group_people": len(own["time"]),
            **judged(registry, group, curve, own, release.times, random),
            "p_value": "" if release.log_rank is None else release.log_rank.p_value,
        }


def judged(
    registry: Registry,
    group: int,
    curve: GroupCurve,
    people: dict[str, np.ndarray],
    times: np.ndarray,
    random: Generator,
) -> dict[str, Any]:
    """Coverage and errors of one curve, up to where it is known."""
    ends, band = times[1:], curve.survival
    cumulated = registry.cumulated[group, :-1]
    fine = np.exp(-cumulated.sum(axis=0))
    places = np.rint(ends * FINE).astype(int)
    truth, own = fine[places], kaplan_meier(people, ends)
    known = slice(curve.reach)

    def inside(values: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        return (low - PRINTED <= values) & (values <= high + PRINTED)

    held = {
        "truth": inside(truth, band.lower, band.upper),
        "own": inside(own, band.sample_lower, band.sample_upper),
        "whole_truth": inside(truth, band.lower_simultaneous, band.upper_simultaneous),
        "whole_own": inside(own, band.sample_lower_simultaneous, band.sample_upper_simultaneous),
    }
    found: dict[str, Any] = {"known": curve.known_until}
    if curve.reach:
        for name, flags in held.items():
            reduced: Callable[..., Any] = np.all if name.startswith("whole") else np.mean
            found[name] = float(reduced(flags[known]))
        found["incidence"] = _incidence(fine, cumulated, places, curve, inside)
        found["bias"] = float(np.mean((band.estimate - own)[known]))
        found["half"] = float(np.mean((band.upper - band.lower)[known]) / 2.0)
    # intervals: of the median wherever one is printed, of the restricted mean always
    median = float(np.interp(-0.5, -fine, np.arange(FINE + 1) / FINE, right=math.inf))
    if curve.reach and not math.isnan(curve.median.estimate):
        found["median"] = float(
            curve.median.lower <= median <= curve.median.upper
            or (math.isinf(median) and math.isinf(curve.median.upper))
        )
    area = float(np.trapezoid(fine, dx=1.0 / FINE))
    mean = curve.restricted_mean
    found["mean"] = float(mean.lower - PRINTED <= area <= mean.upper + PRINTED)
    # the time by which four in five have left
    left = 1.0 if not len(people["time"]) else float(np.quantile(people["time"], 0.8))
    until = ends <= max(left, float(ends[0]))
    found["error"] = float(np.sqrt(np.mean((band.estimate - truth)[until] ** 2)))
    if len(people["time"]):
        found["exact_error"] = float(np.sqrt(np.mean((own - truth)[until] ** 2)))
        if not registry.late:
            other = gondara_wang(people, registry, ends, random)
            found["gondara_wang"] = float(np.sqrt(np.mean((other - truth)[until] ** 2)))
    return found


def _incidence(
    fine: np.ndarray,
    cumulated: np.ndarray,
    places: np.ndarray,
    curve: GroupCurve,
    inside: Callable[..., np.ndarray],
) -> float:
    """How often the bands of every cause's incidence hold the truth."""
    steps = np.diff(cumulated, axis=1)
    total = np.maximum(steps.sum(axis=0), 1e-300)
    parts = np.cumsum((fine[:-1] - fine[1:]) * steps / total, axis=1)
    flags = [
        inside(part[places - 1], band.lower, band.upper)[: curve.reach]
        for part, band in zip(parts, curve.incidence, strict=True)
    ]
    return float(np.mean(flags))


def real_sets() -> Iterator[tuple[str, Any, float, int]]:
    """Name, a frame of time, event (0 or a cause) and group, the horizon, and intervals."""
    import lifelines.datasets as sets  # noqa: PLC0415 - needed for real sets alone
    from fresh.real import from_r  # noqa: PLC0415 - Rscript and R's survival

    kidney = sets.load_kidney_transplant()
    race = np.where(kidney.black_male + kidney.black_female > 0, "black", "white")
    sex = np.where(kidney.black_female + (1 - kidney.iloc[:, 3:].sum(axis=1)) > 0, "f", "m")
    kidney["group"] = np.char.add(np.char.add(race, " "), sex)
    yield "kidney transplants", kidney.rename(columns={"death": "event"}), 3_000.0, 60
    larynx = sets.load_larynx()
    stage = 1 + larynx.Stage_II + 2 * larynx.Stage_III + 3 * larynx.Stage_IV
    larynx["group"] = stage.astype(int).astype(str)
    yield "cancer of the larynx", larynx.rename(columns={"death": "event"}), 8.0, 60
    rule = sets.load_dd().rename(columns={"duration": "time", "observed": "event"})
    yield "regimes", rule.assign(group=rule.regime), 30.0, 60
    liver = from_r("survival", "transplant").rename(columns={"futime": "time", "abo": "group"})
    liver = liver[liver.time > 0]  # others are never at risk
    liver["cause"] = liver.event.map({"censored": 0, "death": 1, "ltx": 2, "withdraw": 3})
    any_event = liver.assign(event=(liver.cause > 0).astype(int))
    yield "liver waiting list", any_event, 2_100.0, 70
    yield "liver waiting list, causes", liver.assign(event=liver.cause), 2_100.0, 70
    breast = sets.load_gbsg2().rename(columns={"cens": "event", "tgrade": "group"})
    yield "breast cancer", breast, 2_500.0, 50
    lung = sets.load_lung().rename(columns={"status": "event"})
    lung["group"] = np.where(lung.sex == 1, "m", "f")
    yield "lung cancer", lung, 1_000.0, 50
    flies = sets.load_waltons().rename(columns={"T": "time", "E": "event"})
    yield "fruit flies", flies, 80.0, 16
    arrest = sets.load_rossi().rename(columns={"week": "time", "arrest": "event"})
    yield "arrests", arrest.assign(group=np.where(arrest.fin == 1, "aid", "none")), 52.0, 52


def measure_real(
    name: str, frame: Any, horizon: float, intervals: int, epsilon: float, keys: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """One row for each group of one simulated release of a real set: the sample's curve alone."""
    levels, causes = sorted(frame.group.unique()), int(frame.event.max())
    time: dict[str, Any] = {
        "duration": "time",
        "event": "event",
        "horizon": horizon,
        "intervals": intervals,
    }
    if causes > 1:
        time["causes"] = {f"cause{r}": [r] for r in range(1, causes + 1)}
    schema = {"time": time, "covariate": [{"name": "group", "levels": levels}]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        release = ds.simulate(
            ds.GroupCurves(schema, by="group"),
            frame[["time", "event", "group"]],
            mechanism=ds.GroupCounts(epsilon),
            seed=keys["seed"],
        ).model_
    for level, curve in zip(levels, release.estimates, strict=True):
        chosen = frame[frame.group == level]
        people = {
            "time": chosen.time.to_numpy(float),
            "event": chosen.event.to_numpy(int),
            "entry": np.full(len(chosen), -1.0),
        }
        own, band = kaplan_meier(people, release.times[1:]), curve.survival
        row = {
            **keys,
            "kind": name,
            "groups": len(levels),
            "causes": causes,
            "late": False,
            "people": len(frame),
            "epsilon": epsilon,
            "delta": release.guarantee.delta,
            "group_people": len(chosen),
            "known": curve.known_until / horizon,
        }
        if curve.reach:
            known = slice(curve.reach)
            low, high = band.sample_lower - PRINTED, band.sample_upper + PRINTED
            row["own"] = float(np.mean(((low <= own) & (own <= high))[known]))
            low = band.sample_lower_simultaneous - PRINTED
            high = band.sample_upper_simultaneous + PRINTED
            row["whole_own"] = float(np.all(((low <= own) & (own <= high))[known]))
            row["bias"] = float(np.mean((band.estimate - own)[known]))
            row["half"] = float(np.mean((band.upper - band.lower)[known]) / 2.0)
        if curve.reach and not math.isnan(curve.median.estimate):
            dates = np.unique(people["time"])
            below = dates[kaplan_meier(people, np.nextafter(dates, math.inf)) <= 0.5]
            median = below[0] if len(below) else math.inf
            row["median"] = float(curve.median.lower <= median <= curve.median.upper)
        yield row


def rows() -> list[dict[str, str]]:
    """What was measured so far."""
    if not RESULTS.exists():
        return []
    with RESULTS.open(newline="") as file:
        return list(csv.DictReader(file))


def plans(draws: int) -> Iterator[tuple[Registry, int, dict[str, Any]]]:
    """What is missing: random registries with new seeds, hard settings, the fixed designs."""
    done = {(row["part"], int(row["draw"])) for row in rows()}
    for draw in range(draws):
        if ("random", draw) not in done:
            seed = secrets.randbits(32)
            yield random_registry(seed), seed, {"part": "random", "seed": seed, "draw": draw}
        if ("hard", draw) not in done and draw % 3 == 0:
            for name, registry in hard_registries().items():
                seed = secrets.randbits(32)
                yield registry, seed, {"part": "hard", "seed": seed, "draw": draw, "kind": name}
        if ("fixed", draw) not in done and draw % 8 == 0:
            for design in FIXED:
                seed = secrets.randbits(32)
                yield fixed_registry(*design), seed, {"part": "fixed", "seed": seed, "draw": draw}


def run(draws: int) -> None:
    """Append the rows of every missing draw."""
    new = not RESULTS.exists()
    with RESULTS.open("a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        if new:
            writer.writeheader()
        for registry, seed, keys in plans(draws):
            for row in measure(registry, seed, keys):
                writer.writerow(
                    {
                        name: f"{value:.5g}" if isinstance(value, float) else value
                        for name, value in row.items()
                    }
                )
            file.flush()
            print(*keys.values(), registry.kind, registry.people, flush=True)


def run_real(draws: int) -> None:
    """Append so many draws of every real set."""
    new = not RESULTS.exists()
    with RESULTS.open("a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        if new:
            writer.writeheader()
        for draw in range(draws):
            for name, frame, horizon, intervals in real_sets():
                for epsilon in (2.0, 8.0) if name.startswith("liver") else (1.0, 4.0):
                    keys = {"part": "real", "seed": secrets.randbits(32), "draw": draw}
                    found = measure_real(name, frame, horizon, intervals, epsilon, keys)
                    for row in found:
                        shown = {
                            key: f"{value:.5g}" if isinstance(value, float) else value
                            for key, value in row.items()
                        }
                        writer.writerow(shown)
            file.flush()


BANDS = {
    "truth": "truth, pointwise",
    "own": "sample, pointwise",
    "whole_truth": "truth, whole curve",
    "whole_own": "sample, whole curve",
    "incidence": "incidence",
}
INTERVALS = {"median": "median", "mean": "restricted mean"}


def values(chosen: list[dict[str, str]], name: str) -> list[float]:
    """A column, where there is a number."""
    return [float(row[name]) for row in chosen if row[name] not in {"", "nan"}]


def share(chosen: list[dict[str, str]], name: str) -> str:
    """A mean with its standard error."""
    found = values(chosen, name)
    if len(found) < 2:
        return ""
    error = statistics.stdev(found) / math.sqrt(len(found))
    return f"{statistics.fmean(found):.3f} ± {error:.3f}"


Slice = tuple[str, list[dict[str, str]]]
"""What rows have in common, and the rows."""


SPLIT_BY = {"epsilon": "ε = ", "kind": "hazards: ", "groups": "groups: ", "causes": "causes: "}
SHOWN_BY = ("epsilon", "kind", "causes")


def slices(chosen: list[dict[str, str]], keys: Iterable[str] = tuple(SPLIT_BY)) -> Iterator[Slice]:
    """All groups, then by size and by what makes it hard."""
    yield "all", chosen
    sizes = (0, 50, 150, 500, 2_000, 30_000)
    for low, high in pairwise(sizes):
        name = f"{low:,} to {high - 1:,} people"
        yield name, [row for row in chosen if low <= int(row["group_people"]) < high]
    for key in keys:
        for value in sorted({row[key] for row in chosen}, key=lambda text: (len(text), text)):
            yield f"{SPLIT_BY[key]}{value}", [row for row in chosen if row[key] == value]
    yield "late entry", [row for row in chosen if row["late"] == "True"]
    yield "pure ε", [row for row in chosen if float(row["delta"]) == 0.0]


def settings(chosen: list[dict[str, str]]) -> Iterator[Slice]:
    """The groups of each size of each hard setting."""
    for name in hard_registries():
        part = [row for row in chosen if row["kind"] == name]
        for people in sorted({int(row["group_people"]) for row in part}):
            same = [row for row in part if int(row["group_people"]) == people]
            yield f"{name}: {people:,} people", same


def together(chosen: list[dict[str, str]]) -> Iterator[Slice]:
    """The groups of each hard setting, of all sizes."""
    for name in hard_registries():
        yield name, [row for row in chosen if row["kind"] == name]


SHOWN = ("truth", "own", "whole_truth", "median")


def coverage(parts: Iterable[Slice]) -> list[str]:
    """A line per slice."""
    names = {name: words for name, words in {**BANDS, **INTERVALS}.items() if name in SHOWN}
    head = ["groups", "number", "known", *names.values(), "bias", "half width"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for title, part in parts:
        if part:
            known = [float(row["known"]) for row in part]
            cells = [
                title,
                str(len(part)),
                f"{statistics.fmean(known):.2f}",
                *(share(part, name) for name in names),
                share(part, "bias"),
                f"{statistics.fmean(values(part, 'half')):.3f}" if any(known) else "",
            ]
            lines.append("| " + " | ".join(cells) + " |")
    return lines


def failures(parts: Iterable[Slice]) -> str:
    """What is outside of what is asked by more than chance explains, perhaps, and by less."""
    found: list[tuple[float, str]] = []
    for title, part in parts:
        for name, words in {**BANDS, **INTERVALS}.items():
            numbers = values(part, name)
            if len(numbers) < 5:
                continue
            mean = statistics.fmean(numbers)
            # few numbers that are all 1 are no certainty: at least the error of a share of 0.95
            spread = max(statistics.stdev(numbers), math.sqrt(0.95 * 0.05))
            error = spread / math.sqrt(len(numbers))
            high = HIGHEST if name in BANDS else 1.0
            miss = max((LOWEST if name in BANDS else NUMBERS) - mean, mean - high)
            line = f"- {words}, {title}: {mean:.3f} ± {error:.3f} ({len(numbers)})"
            found.append((miss / error, line))
        bias, half = values(part, "bias"), values(part, "half")
        if len(bias) >= 5:
            ratio = abs(statistics.fmean(bias)) / statistics.fmean(half)
            error = statistics.stdev(bias) / math.sqrt(len(bias)) / statistics.fmean(half)
            line = f"- bias over half width, {title}: {ratio:.2f} ± {error:.2f} ({len(bias)})"
            found.append(((ratio - 0.25) / error, line))
    clear = [line for away, line in found if away > CLEAR] or ["- none"]
    perhaps = sum(1.0 < away <= CLEAR for away, _ in found)
    less = sum(0.0 < away <= 1.0 for away, _ in found)
    asked = (
        f"Outside {LOWEST:g} to {HIGHEST:g} (intervals: below {NUMBERS:g}; bias above a quarter of "
        "the band's half width)"
    )
    return "\n".join(
        [
            f"{asked} by more than {CLEAR:g} standard errors, of {len(found)} numbers:",
            "",
            *clear,
            "",
            f"By 1 to {CLEAR:g} standard errors: {perhaps}; by less: {less}. Slices overlap.",
        ]
    )


def real_failures(chosen: list[dict[str, str]]) -> str:
    """Real sets whose sample's band holds too little, pointwise, over all their groups."""
    found = []
    for name in sorted({row["kind"] for row in chosen}):
        part = [row for row in chosen if row["kind"] == name]
        if (inside := values(part, "own")) and statistics.fmean(inside) < LOWEST:
            found.append(f"- {name}: {share(part, 'own')} ({len(inside)})")
    return "\n".join(found or ["- none"])


def real(chosen: list[dict[str, str]]) -> list[str]:
    """A line for each real set and epsilon."""
    head = [
        "set",
        "people in a group",
        "ε",
        "curves",
        "known",
        "pointwise",
        "whole curve",
        "median",
    ]
    head += ["bias", "half width"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for name, epsilon in sorted({(row["kind"], row["epsilon"]) for row in chosen}):
        part = [row for row in chosen if (row["kind"], row["epsilon"]) == (name, epsilon)]
        people = [int(row["group_people"]) for row in part]
        half = values(part, "half")
        line = [
            name,
            f"{min(people):,} to {max(people):,}",
            epsilon,
            str(len(part)),
            f"{statistics.fmean(float(row['known']) for row in part):.2f}",
            *(share(part, key) for key in ("own", "whole_own", "median", "bias")),
            f"{statistics.fmean(half):.3f}" if half else "",
        ]
        lines.append("| " + " | ".join(line) + " |")
    return lines


def errors(chosen: list[dict[str, str]]) -> list[str]:
    """Root mean squared errors of the fixed designs."""
    lines = [
        "| people | ε | δ | error | exact | Gondara and Wang |",
        "|---|---|---|---|---|---|",
    ]
    for people, epsilon, delta in FIXED:
        part = of_design(chosen, people, epsilon, delta)
        if part:
            cells = [rms(part, name) for name in ("error", "exact_error", "gondara_wang")]
            shown = " | ".join(f"{cell:.4f}" for cell in cells)
            lines.append(f"| {people:,} | {epsilon:g} | {delta:g} | {shown} |")
    return lines


def of_design(
    chosen: list[dict[str, str]], people: int, epsilon: float, delta: float
) -> list[dict[str, str]]:
    """The groups with people of one fixed design."""
    wanted = (float(people), epsilon, delta)
    return [
        row
        for row in chosen
        if tuple(float(row[key]) for key in ("people", "epsilon", "delta")) == wanted
        and row["group_people"] != "0"
    ]


def rms(part: list[dict[str, str]], name: str) -> float:
    """The root mean square of a column."""
    return math.sqrt(statistics.fmean(value**2 for value in values(part, name)))


def level(chosen: list[dict[str, str]]) -> str:
    """How often the test rejects at 5 % where all groups have one hazard."""
    tests = {
        row["seed"]: float(row["p_value"])
        for row in chosen
        if row["kind"] in {"equal", "fixed"} and row["people"] != "200"
    }
    rejected = [p < 0.05 for p in tests.values()]
    mean = statistics.fmean(rejected)
    return (
        f"{mean:.3f} ± {math.sqrt(mean * (1 - mean) / len(rejected)):.3f} of {len(rejected)} draws"
    )


def dearer() -> str:
    """How many times more a pure release takes of a shared budget."""
    times = {
        epsilon: epsilon * math.tanh(epsilon / 2.0) / float(rho_for(epsilon, DELTA))
        for epsilon in EQUAL_CHARGE
    }
    return " and ".join(f"{value:.0f} times as much at ε = {key:g}" for key, value in times.items())


def worse(chosen: list[dict[str, str]]) -> str:
    """The range of ratios of errors at an equal charge."""
    found = [
        rms(of_design(chosen, people, pure, 0.0), "error")
        / rms(of_design(chosen, people, epsilon, DELTA), "error")
        for people in (1_000, 20_000)
        for epsilon, pure in EQUAL_CHARGE.items()
    ]
    return f"{min(found):.1f} to {max(found):.1f}"


TEXT = """## Curves by group

Written by `python studies/curves.py --page` from `studies/results/curves.csv`; `make curves` measures
more. {registries} random registries, with seeds drawn from the system after the constants of
[the model](curves.md#the-model) were fixed: 2 to 12 groups with shares from 1 % up, 200 to 20,000
people, one to three causes, hazards of seven kinds, light to heavy censoring, late entry in one of
five, ε from 0.5 to 8, pure ε in one of four. Then {draws} draws of each of {settings} hard settings with
groups of {smallest:,} to {largest:,} people. Every draw has other people.

*Truth*: the 95 % band of the population holds the true curve; *sample*: the band of the sample holds
the curve of these people without noise; both up to where the curve is known. *Median*: its interval
holds the truth, where there is an estimate. *Bias*: mean of estimate minus sample's curve.

### Failures of curves

{failures}

Real sets whose sample's band holds less than {lowest:g} of the curve:

{real_failures}

*Regimes* has times in whole years on a grid of half years. A grid finer than the times are recorded
makes bands too narrow.

### Random registries of curves

*Known* is the part of the axis on which a curve is known; standard errors are over groups.

{coverage}

The log-rank test at 5 % rejects in {level} in which all groups have one hazard.

### Hard settings

{hard}

### Real sets of curves

Sets of lifelines and of R's survival, judged by the band of the sample. All were looked at before the
last change of the model; no constant was chosen on arrests, breast cancer, fruit flies and lung cancer.

{real}

### Errors beside another method

Root mean squared distance from the true curve, up to the time by which 80 % have left: two groups with
one falling hazard (one group of 200 people), 60 intervals, {fixed} draws. *Exact* is the Kaplan-Meier curve
without noise. The method of Gondara and Wang (2020) has pure epsilon: compare rows with δ = 0.
[Beside its peers](peers.md#curves) has real people.

{errors}

### Which delta

At the same ε a release with δ = 0 can be as accurate for few people, but it takes far more of a budget
that other releases share: {dearer}. Pure releases with ε = 0.124 and 0.451 take as much of such a budget
as those with δ = 1e-6 and ε = 0.5 and 2, and are {worse} times as far from the truth. Where curves are
the only release ever made of a small registry, `--delta 0` is better.
"""


def page() -> str:
    """The text with its numbers."""
    found = rows()
    chosen = [row for row in found if row["part"] == "random"]
    hard = [row for row in found if row["part"] == "hard"]
    sizes = [int(row["group_people"]) for row in hard]
    parts = [*slices(chosen), *settings(hard)]
    fixed = [row for row in found if row["part"] == "fixed"]
    return TEXT.format(
        registries=len({row["seed"] for row in chosen}),
        draws=len({row["draw"] for row in hard}),
        smallest=min(sizes),
        largest=max(sizes),
        fixed=len({row["seed"] for row in of_design(fixed, *FIXED[0])}),
        settings=len(hard_registries()),
        failures=failures(parts),
        coverage="\n".join(coverage(slices(chosen, SHOWN_BY))),
        hard="\n".join(coverage(together(hard))),
        level=level(found),
        lowest=LOWEST,
        real_failures=real_failures([row for row in found if row["part"] == "real"]),
        real="\n".join(real([row for row in found if row["part"] == "real"])),
        errors="\n".join(errors(fixed)),
        dearer=dearer(),
        worse=worse(fixed),
    )


def main() -> None:
    """Measure, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--real", type=int, default=0)
    parser.add_argument("--page", action="store_true")
    given = parser.parse_args()
    if given.real:
        run_real(given.real)
    elif given.page:
        fill(PAGE, MARKS, page())
    else:
        run(given.draws)


if __name__ == "__main__":
    main()
