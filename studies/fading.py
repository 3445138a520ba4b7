# ruff: noqa: INP001, scripts beside each other, no package
"""Effects that fade: how often intervals of an effect by period hold the truth, draw by draw.

    python studies/fading.py [--draws 300]             fits without privacy
    python studies/fading.py --draws 200 --epsilon 1   private ones, with seeded noise; then 4
    python studies/fading.py --picture                 the guide's picture and numbers of a real set

Registries of 2,500 people over 60 months: age and sex have one effect for all time, the stage at
diagnosis an effect until 12, until 36 and after. In "smooth" the effect of the stage fades
smoothly, and the truth is where a fit of a million people ends; in "no change" it stays; "large" is
"one row" with ten times the people. A row is one draw: which 95% intervals of coefficients hold the
truth, the share of those of survival (four people at 6, 12, 24, 36 and 60 months), that of the stage
where it has one effect for all time, the p value of one effect, and of a private fit with one effect
for all time the released distances between first and last events (age, sex, stage II, stage III).
Written to results/fading.csv as they come; the real set's numbers to results/fading-real.csv.
"""

import argparse
import csv
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure
from numpy.typing import NDArray

import discreet as ds

Array = NDArray[np.float64]

HERE = Path(__file__).parent
RESULTS, REAL = HERE / "results" / "fading.csv", HERE / "results" / "fading-real.csv"
PICTURE = HERE.parent / "docs" / "images" / "changes.png"
PEOPLE, LARGE, MANY, MONTHS = 2_500, 25_000, 1_000_000, 60
CUTS = (12.0, 36.0)
STAGES = np.array([[0.0, 0.0, 0.0], [0.8, 0.4, 0.1], [1.8, 1.0, 0.3]])
"""The effect of stages I to III in every period."""
LASTING = np.array([0.0, 0.5, 1.0])
"""The same where nothing changes."""
AGE, SEX = 0.03, 0.3
TIMES = (6.0, 12.0, 24.0, 36.0, 60.0)
COLUMNS = ("registry", "epsilon", "draw", "coefficients", "survival", "lasting", "p", "distances")
NORMAL = 1.96


def effects(stage: NDArray[np.int64], kind: str) -> Array:
    """The effect of each person's stage in every month, (people, months)."""
    begins = np.arange(MONTHS)
    if kind == "smooth":
        return np.array([0.0, 0.9, 2.0])[stage][:, None] * np.exp(-begins / 20.0)
    period = np.searchsorted(CUTS, begins, side="right")
    return np.asarray(by_period(kind)[stage][:, period])


def by_period(kind: str) -> Array:
    """The effect of stages I to III in every period."""
    return np.repeat(LASTING[:, None], 3, axis=1) if kind == "no change" else STAGES


def predictor(age: Array, sex: NDArray[np.int64]) -> Array:
    """The part that does not change, with a hazard that falls with time."""
    level = -5.0 + AGE * (age - 60.0) + SEX * sex
    return np.asarray(level[:, None] - 0.8 * (np.arange(1, MONTHS + 1) / MONTHS))


def registry(kind: str, people: int, seed: int) -> pa.Table:
    """People of a registry."""
    random = np.random.default_rng(seed)
    count = people * (2 if kind == "late entry" else 1)
    stage = random.choice(3, count, p=[0.5, 0.3, 0.2])
    age, sex = np.clip(random.normal(62, 11, count), 30, 90).round(1), random.integers(0, 2, count)
    # with several rows half of stage I moves on to III, at the beginning of a month
    moves = np.where((stage == 0) & (random.random(count) < 0.5), random.integers(1, 48, count), 99)
    moved = kind == "several rows"
    eta = predictor(age, sex) + effects(stage, kind)
    if moved:
        later = predictor(age, sex) + effects(np.where(moves < 99, 2, stage), kind)
        eta = np.where(np.arange(MONTHS) >= moves[:, None], later, eta)
    hits = random.random((count, MONTHS)) < -np.expm1(-np.exp(eta))
    died = np.where(hits.any(axis=1), hits.argmax(axis=1) + 0.5, np.inf)
    entry = np.where(random.random(count) < 0.5, random.integers(1, 40, count), 0).astype(float)
    end = np.minimum(random.uniform(4, 90, count), MONTHS)
    columns = {
        "id": np.arange(count),
        "start": entry if kind == "late entry" else np.zeros(count),
        "months": np.minimum(died, end),
        "dead": died <= end,
        "age": age,
        "sex": np.array(["F", "M"])[sex],
        "stage": np.array(["I", "II", "III"])[stage],
    }
    if kind == "late entry":  # who has left before is not seen
        seen = np.flatnonzero(columns["months"] > columns["start"])[:people]
        columns = {name: values[seen] for name, values in columns.items()}
    if moved:
        columns = _split(columns, moves.astype(float))
    return pa.table(columns)


def _split(columns: dict[str, Any], moves: Array) -> dict[str, Any]:
    """A second row for those who move on while they are under observation."""
    places = np.flatnonzero(moves < columns["months"])
    second = {name: values[places] for name, values in columns.items()}
    second["start"], second["stage"] = moves[places], np.full(len(places), "III")
    first = {name: values.copy() for name, values in columns.items()}
    first["months"][places], first["dead"][places] = moves[places], False
    return {name: np.concatenate([first[name], second[name]]) for name in columns}


def schema(kind: str, *, changing: bool = True) -> dict[str, Any]:
    """Public facts."""
    stage: dict[str, Any] = {"name": "stage", "levels": ["I", "II", "III"]}
    time: dict[str, Any] = {"duration": "months", "event": "dead", "unit": "months"}
    time |= {"horizon": float(MONTHS), "intervals": MONTHS}
    found: dict[str, Any] = {"person": "id"} if kind == "several rows" else {}
    if kind in {"several rows", "late entry"}:
        time["entry"] = "start"
    numbers = [{"name": "age", "low": 30, "high": 90}, {"name": "sex", "levels": ["F", "M"]}]
    covariates = [*numbers, stage | ({"changes_at": list(CUTS)} if changing else {})]
    return {**found, "time": time, "covariate": covariates}


def profiles() -> tuple[pa.Table, Array, NDArray[np.int64], NDArray[np.int64]]:
    """Four people whose survival is predicted."""
    age, sex = np.array([50.0, 62.0, 62.0, 80.0]), np.array([0, 1, 0, 1])
    stage = np.array([0, 1, 2, 2])
    words = {"sex": np.array(["F", "M"])[sex], "stage": np.array(["I", "II", "III"])[stage]}
    return pa.table({"age": age, **words}), age, sex, stage


@cache
def truth(kind: str) -> tuple[tuple[float, ...], tuple[tuple[float, ...], ...]]:
    """The coefficients, and survival of the four people."""
    people, age, sex, stage = profiles()
    if kind == "smooth":
        found = fit(kind, registry(kind, MANY, seed=2**20))
        survival = found.predict_survival(people, TIMES)
        return tuple(found.coef_.tolist()), tuple(map(tuple, survival.tolist()))
    eta = predictor(age, sex) + effects(stage, kind)
    survival = np.exp(-np.cumsum(np.exp(eta), axis=1))[:, [int(time) - 1 for time in TIMES]]
    numbers = (AGE, SEX, *by_period(kind)[1:].ravel().tolist())
    return numbers, tuple(map(tuple, survival.tolist()))


def fit(kind: str, people: pa.Table, *, changing: bool = True) -> ds.SurvivalRegression:
    """Without privacy."""
    model = ds.SurvivalRegression(schema(kind, changing=changing), link="cloglog")
    return model.fit(people)


def draw(kind: str, epsilon: float | None, seed: int) -> dict[str, object]:
    """One row of the results."""
    people = registry(kind, LARGE if kind == "large" else PEOPLE, seed)
    models = [
        ds.SurvivalRegression(schema(kind, changing=one), link="cloglog") for one in (True, False)
    ]
    found: list[Any] = []
    for model in models:
        if epsilon is None:
            found.append(model.fit(people))
        else:
            mechanism = ds.PrivateNewton(epsilon=epsilon, delta=1e-6)
            found.append(ds.simulate(model, people, mechanism=mechanism, seed=seed))
    wanted, curves = (np.array(part) for part in truth(kind))
    changing, lasting = (one.summary() for one in found)
    inside = _held(changing, wanted)
    band = found[0].predict_survival(profiles()[0], TIMES, interval=True)
    within = (band.lower <= curves) & (curves <= band.upper)
    # one effect for all time against the effect of the last period, which it overstates
    last = _held(lasting, np.append(wanted[:2], wanted[[4, 7]]))[2:]
    distances = "-"
    if epsilon is not None:
        apart = {one.name: one.distance for one in found[1].proportionality().effects}
        distances = " ".join(f"{apart[name]:.2f}" for name in found[1].coefficients_.covariates)
    values = (
        kind, "-" if epsilon is None else f"{epsilon:g}", seed, " ".join(inside.astype(int).astype(str)),
        f"{within.mean():.3f}", f"{last.mean():.3f}", f"{found[0].change_test('stage').p_value:.3g}",
        distances,
    )  # fmt: skip
    return dict(zip(COLUMNS, values, strict=True))


def _held(table: Any, wanted: Array) -> NDArray[np.bool_]:
    own = slice(table.baseline, None)
    gap = np.abs(table.coefficients[own] - wanted)
    return np.asarray(gap <= NORMAL * table.standard_errors[own])


KINDS = ("one row", "late entry", "several rows", "smooth", "no change", "large")


def table(rows: list[dict[str, str]]) -> list[str]:
    """The table of docs/accuracy.md: how often a change is noticed, how often intervals hold the truth."""
    lines = [
        "| registry | fit | draws | test | check: age, sex | check: stage | coefficients | survival | one effect |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for kind, epsilon in dict.fromkeys((row["registry"], row["epsilon"]) for row in _sorted(rows)):
        cell = [row for row in rows if (row["registry"], row["epsilon"]) == (kind, epsilon)]
        tested = np.array([float(row["p"]) < 0.05 for row in cell]).mean()
        fit_of, seen = "plain", "- | -"
        if epsilon != "-":
            apart = np.abs(_numbers(cell, "distances")) > NORMAL
            fit_of = f"ε = {epsilon}"
            seen = f"{apart[:, :2].mean():.0%} | {apart[:, 2:].any(axis=1).mean():.0%}"
        inside, survival, lasting = summary(cell)
        held = f"{inside.mean():.3f} ({inside.min():.3f}) | {survival:.3f} | {lasting:.3f}"
        lines.append(f"| {kind} | {fit_of} | {len(cell)} | {tested:.0%} | {seen} | {held} |")
    return lines


def _sorted(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    return sorted(rows, key=lambda row: (KINDS.index(row["registry"]), row["epsilon"]))


def summary(cell: list[dict[str, str]]) -> tuple[Array, float, float]:
    """Share of intervals that hold the truth: by coefficient, of survival, of one effect."""
    inside = _numbers(cell, "coefficients")
    survival = float(np.mean([float(row["survival"]) for row in cell]))
    return inside.mean(axis=0), survival, float(np.mean([float(row["lasting"]) for row in cell]))


def _numbers(cell: list[dict[str, str]], column: str) -> Array:
    return np.array([[float(number) for number in row[column].split()] for row in cell])


def read(path: Path = RESULTS) -> list[dict[str, str]]:
    """The rows that are there."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


# ------------------------------------------------------------------- a real set


def tumours() -> pa.Table:
    """rott2: 2,982 women with breast cancer, months to death, oestrogen receptor in fmol/mg."""
    from SurvSet.data import SurvLoader  # noqa: PLC0415 - slow, and only for this set

    raw = SurvLoader().load_dataset("rott2")["df"]
    return pa.table(
        {
            "months": raw["time"].to_numpy(float),
            "dead": raw["event"].to_numpy(int),
            "age": raw["num_age"].to_numpy(float),
            "nodes": raw["num_nodes"].to_numpy(float) + 1.0,
            "size": raw["fac_tsize"].astype(str).to_numpy(str),
            "receptor": raw["num_estrogen"].to_numpy(float) + 1.0,
        }
    )


def tumour_schema(cuts: tuple[float, ...]) -> dict[str, Any]:
    """Ten years in months; size and receptor may change."""
    when = {"changes_at": list(cuts)} if cuts else {}
    time = {
        "duration": "months",
        "event": "dead",
        "unit": "months",
        "horizon": 120,
        "intervals": 120,
    }
    sizes = sorted(set(tumours()["size"].to_pylist()), key=lambda text: (">" in text, text))
    covariates = [
        {"name": "age", "low": 20, "high": 90},
        {"name": "nodes", "low": 1, "high": 40, "scale": "log"},
        {"name": "size", "levels": sizes} | when,
        {"name": "receptor", "low": 1, "high": 3000, "scale": "log"} | when,
    ]
    return {"time": time, "covariate": covariates}


REAL_CUTS = (24.0, 60.0)


def real_rows() -> Iterator[dict[str, str]]:
    """Ratios with intervals of one effect and of three, and the tests."""
    people = tumours()
    for cuts in ((), REAL_CUTS):
        model = ds.SurvivalRegression(tumour_schema(cuts)).fit(people)
        for record in model.summary().records():
            if str(record["name"]).startswith(("log(receptor)", "size")):
                ratio = ("hazard ratio", "hazard ratio lower", "hazard ratio upper")
                numbers = [f"{float(str(record[name])):.4f}" for name in ratio]
                yield dict(
                    zip(
                        ("effect", "ratio", "lower", "upper"),
                        [str(record["name"]), *numbers],
                        strict=True,
                    )
                )
        for name in ("size", "receptor") if cuts else ():
            test = model.change_test(name)
            numbers = [f"{test.statistic:.2f}", str(test.degrees), f"{test.p_value:.3g}"]
            yield dict(
                zip(
                    ("effect", "ratio", "lower", "upper"),
                    [f"test of {name}", *numbers],
                    strict=True,
                )
            )


def powered(rows: list[dict[str, str]]) -> dict[str, Array]:
    """Ratio, lower, upper of each effect; of a tenfold receptor."""
    keys = ("ratio", "lower", "upper")
    return {
        row["effect"]: np.array([float(row[key]) for key in keys])
        ** (np.log(10.0) if row["effect"].startswith("log(receptor)") else 1.0)
        for row in rows
    }


WORDS = ("until 24", "24 to 60", "from 60")


def real_table(rows: list[dict[str, str]]) -> list[str]:
    """The guide's table of the real set."""
    found, lines = (
        powered(rows),
        [
            "| hazard ratio | one effect | until 24 | 24 to 60 | from 60 | test of one effect |",
            "|---|---|---|---|---|---|",
        ],
    )
    tests = {row["effect"]: row for row in rows}
    effects = (
        ("receptor, tenfold", "log(receptor)", "receptor"),
        ("tumour above 50 mm", "size[>50mm]", "size"),
    )
    for title, name, covariate in effects:
        cells = [found[key] for key in (name, *(f"{name} {word}" for word in WORDS))]
        shown = (f"{ratio:.2f} ({lower:.2f} to {upper:.2f})" for ratio, lower, upper in cells)
        p_value = float(tests[f"test of {covariate}"]["upper"])
        said = "p < 0.0001" if p_value < 1e-4 else f"p = {p_value:.2f}"
        lines.append(f"| {title} | {' | '.join(shown)} | {said} |")
    return lines


def picture() -> None:
    """One effect against three, of a tenfold receptor and of large tumours."""
    found, ends = powered(read(REAL)), (0.0, *REAL_CUTS, 120.0)
    figure = Figure(figsize=(9.5, 3.6), layout="constrained")
    shown = (
        ("log(receptor)", "Oestrogen receptor, tenfold"),
        ("size[>50mm]", "Tumour above 50 mm against up to 20 mm"),
    )
    for axes, (name, title) in zip(figure.subplots(1, 2), shown, strict=True):
        one, each = found[name], np.array([found[f"{name} {word}"] for word in WORDS])
        axes.axhline(1.0, color="#333333", linewidth=0.8)
        axes.axhspan(one[1], one[2], color="#D55E00", alpha=0.15, linewidth=0)
        axes.axhline(one[0], color="#D55E00", linestyle="--", label="one effect for all time")
        axes.stairs(each[:, 2], ends, baseline=each[:, 1], fill=True, color="#0072B2", alpha=0.2)
        axes.stairs(
            each[:, 0],
            ends,
            baseline=None,
            color="#0072B2",
            linewidth=2,
            label="one for each period",
        )
        axes.set_yscale("log")
        axes.set_xlim(0.0, 120.0)
        axes.set_xticks(ends)
        axes.set_title(title, loc="left", fontsize="medium", fontweight="bold")
        axes.set_xlabel("months since the operation")
        axes.set_ylabel("hazard ratio")
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.yaxis.set_minor_formatter(lambda value, _: f"{value:g}")
        axes.tick_params(axis="y", which="minor", labelsize="small")
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize="small")
    figure.savefig(PICTURE, dpi=110)


def main() -> None:
    """Make what is missing."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=300)
    parser.add_argument("--epsilon", type=float)
    parser.add_argument("--registry", choices=KINDS, action="append", help="only this one")
    parser.add_argument("--picture", action="store_true")
    arguments = parser.parse_args()
    if arguments.picture:
        rows = list(real_rows())
        with REAL.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(
                file, ("effect", "ratio", "lower", "upper"), lineterminator="\n"
            )
            writer.writeheader()
            writer.writerows(rows)
        picture()
        return
    epsilon: float | None = arguments.epsilon
    kept = "-" if epsilon is None else f"{epsilon:g}"
    done = {(row["registry"], row["draw"]) for row in read() if row["epsilon"] == kept}
    fresh = not RESULTS.exists()
    with RESULTS.open("a", newline="", encoding="utf-8") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        out = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if fresh:
            out.writeheader()
        write: Callable[[dict[str, object]], object] = out.writerow
        for seed in range(arguments.draws):
            for kind in arguments.registry or KINDS:
                if (kind, str(seed)) not in done:
                    write(draw(kind, epsilon, seed))
                    file.flush()
    sys.stdout.write("\n".join(table(read())) + "\n")


if __name__ == "__main__":
    main()
