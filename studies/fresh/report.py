"""A part of docs/accuracy.md from results/fresh*.csv; `python -m fresh.report` writes it.

Symbols: for each draw and coefficient gap = (f - f*) / SE*, ratio = SE / SE* (see `fits`).

    inside        |gap| <= 1.96 ratio: the private 95 % interval holds the exact estimate
    noise alone   |gap| <= 1.96 sqrt(ratio^2 - 1): so does what the interval allows for noise
    low           a coefficient with inside in less than 0.8 of its draws
    named         of the misses of low coefficients, those in which a caution names the coefficient
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from marked import fill
from matplotlib.figure import Figure
from numpy.typing import NDArray

from discreet.plots import COLOURS, INK
from fresh.__main__ import REAL, RESULTS, STUDIES, Row, read
from fresh.family import Array
from fresh.family import __doc__ as family_words

PAGE = STUDIES.parent / "docs" / "accuracy.md"
PICTURE = PAGE.parent / "images" / "accuracy.png"
MARKS = ("<!-- fresh: begin -->", "<!-- fresh: end -->")
NORMAL = 1.959964
LOW, UNREACHED = 0.8, "unreached"
FROZEN, NEW = "random registries", "new"
INSIDE, LOW_SHARE, NAMED, DRAWS, REGISTRIES = 0.95, 0.03, 0.80, 6, 200
"""Targets of the page, and the size of a run that decides."""
WORST = 3
Flags = NDArray[np.bool_]

INTRODUCTION = """## Registries never seen before

Written by `make fresh` from `studies/results/fresh.csv`; do not edit. Private Newton, delta = 1e-6, is
run through the public interface on random registries of a [wide family](#the-family), and on real sets on
which no constant was chosen. The seeds of the registries come from the system's entropy, after a commit
froze the constants.

- **err** is the distance of the private estimate from the exact maximum likelihood estimate in standard
  errors of the latter, sqrt((f - f\\*)' H (f - f\\*) / d); 1 is the error of sampling. Median over draws.
- **inside**: share of private 95 % intervals that hold the exact estimate, over coefficients and draws.
- **noise alone**: the same with half widths 1.96 sqrt(SE_private^2 - SE_exact^2).
- **low**: share of coefficients whose intervals hold the exact estimate in less than 0.8 of their draws.
- **named**: of the misses of low coefficients, the share that a caution of the release names.
- **gap**: (private - exact) / SE_exact, the median over the draws of a coefficient.
- **width**: median ratio of private to exact standard errors. Below 1 the prior knows more than the data.
- **unreached**: share of coefficients that the release flags so; inside and low without them are in
  brackets.

`new` is this version, `base` an older one; [Seeds](#seeds) has their commits. Coefficients without an
exact estimate (the likelihood has no maximum) are left out.

![Error against events for each coefficient, one point for each registry](images/accuracy.png)
"""

SEEDS = """The tables above have the last seed of each kind; registries of earlier seeds became development data.
Where a fault of the frozen source left a registry without a release, it was measured again with the fault
mended, and counts as not frozen. The real sets are measured again with each frozen source; nothing is
chosen on them."""


@dataclass(frozen=True)
class Draw:
    """One release: arrays over the coefficients, NaN where the data do not determine one."""

    key: tuple[str, str]
    epsilon: float
    err: float
    gaps: Array
    ratios: Array
    named: Flags
    unreached: Flags
    codes: tuple[str, ...]

    @classmethod
    def of(cls, row: Row) -> "Draw":
        """A row of results/fresh.csv."""
        gaps, ratios = (
            np.array([np.nan if item == "." else float(item) for item in row[name].split()])
            for name in ("gaps", "ratios")
        )
        named, unreached = np.zeros((2, len(gaps)), dtype=bool)
        for item in row["cautions"].split():
            code, _, places = item.partition(":")
            chosen = [int(place) for place in places.split(",") if place]
            named[chosen] = True
            if code == UNREACHED:
                unreached[chosen] = True
        key, epsilon = (row["seed"], row["registry"]), float(row["epsilon"])
        codes = tuple(row["codes"].split())
        return cls(key, epsilon, float(row["err"]), gaps, ratios, named, unreached, codes)

    @property
    def known(self) -> Flags:
        """Coefficients that the data determine."""
        return ~np.isnan(self.gaps)

    @property
    def inside(self) -> Flags:
        """True where the interval holds the exact estimate."""
        return np.abs(self.gaps) <= NORMAL * self.ratios


@dataclass(frozen=True)
class Low:
    """A coefficient whose interval misses the exact estimate too often."""

    key: tuple[str, str]
    place: int
    inside: float
    misses: int
    named: int
    gap: float
    width: float
    flagged: bool


@dataclass(frozen=True)
class Measures:
    """All draws at one epsilon, together."""

    registries: int
    draws: int
    fewest: int
    err: float
    inside: tuple[float, float]
    noise_alone: float
    low: tuple[float, float]
    named: float
    width: float
    unreached: float
    lows: tuple[Low, ...]

    @classmethod
    def of(cls, draws: list[Draw]) -> "Measures":
        """Means over draws and coefficients; medians of err and width."""
        groups: dict[tuple[str, str], list[Draw]] = defaultdict(list)
        for draw in draws:
            groups[draw.key].append(draw)
        inside = np.concatenate([draw.inside[draw.known] for draw in draws])
        flagged = np.concatenate([draw.unreached[draw.known] for draw in draws])
        ratios = np.concatenate([draw.ratios[draw.known] for draw in draws])
        gaps = np.concatenate([draw.gaps[draw.known] for draw in draws])
        alone = np.abs(gaps) <= NORMAL * np.sqrt(np.maximum(ratios**2 - 1.0, 0.0))
        coefficients = [item for group in groups.values() for item in _coefficients(group)]
        lows = [item for item in coefficients if item.inside < LOW]
        seen = [item for item in coefficients if not item.flagged]
        misses = sum(item.misses for item in lows)
        return cls(
            registries=len(groups),
            draws=len(draws),
            fewest=min(map(len, groups.values())),
            err=float(np.median([draw.err for draw in draws])),
            inside=(_mean(inside), _mean(inside[~flagged])),
            noise_alone=_mean(alone),
            low=(_mean([item.inside < LOW for item in coefficients]), _mean([i.inside < LOW for i in seen])),
            named=sum(item.named for item in lows) / misses if misses else float("nan"),
            width=float(np.median(ratios)),
            unreached=_mean(flagged),
            lows=tuple(sorted(lows, key=lambda item: (item.inside, -abs(item.gap)))),
        )  # fmt: skip


def _coefficients(group: list[Draw]) -> Iterator[Low]:
    """Every coefficient of a registry over its draws."""
    inside, named, unreached = (
        np.array([getattr(draw, name) for draw in group])
        for name in ("inside", "named", "unreached")
    )
    for place in np.flatnonzero(group[0].known):
        missed = ~inside[:, place]
        yield Low(
            group[0].key,
            int(place),
            float(inside[:, place].mean()),
            int(missed.sum()),
            int((missed & named[:, place]).sum()),
            float(np.median([draw.gaps[place] for draw in group])),
            float(np.median([draw.ratios[place] for draw in group])),
            bool(unreached[:, place].mean() > 0.5),
        )


def _mean(values: Iterable[float] | NDArray) -> float:
    values = np.asarray(values, dtype=float)
    return float(values.mean()) if len(values) else float("nan")


# The page


def page(rows: list[Row], facts: list[Row], seeds: list[Row]) -> str:
    """Markdown; failures first."""
    rows = [{**row, "people": _kind_of(row["seed"], seeds)} for row in rows]
    lines = [INTRODUCTION]
    lines += ["### Failures", "", *(_failures(rows, facts) or ["None."])]
    lines += [*_worst_coefficients(rows, facts), ""]
    lines += ["### Measures", "", *_measures(rows), ""]
    head, rule, *ratios = _ratio_table(rows)
    if ratios:
        lines += ["### New source against base", "", head, rule, *ratios, ""]
    lines += ["### By what is special about the people", "", *_by_trait(rows, facts), ""]
    lines += ["### Seeds", "", SEEDS, "", *_seed_table(rows, seeds), ""]
    table = family_words[family_words.index("=" * 9) : family_words.rindex("=") + 1]
    lines += [
        "### The family",
        "",
        "A registry is a function of (seed, number), `studies/fresh/family.py`:",
        "",
    ]
    lines += ["```text", table, "```", ""]
    return "\n".join(lines)


def _kind_of(seed: str, seeds: list[Row]) -> str:
    """The kind of people behind a seed; those of a seed from entropy decide."""
    drawn = {row["seed"]: row["drawn"] for row in seeds}
    if seed == REAL:
        return "real sets"
    return FROZEN if drawn.get(seed) == "entropy" else "random, seed given"


def _cells(rows: list[Row]) -> Iterator[tuple[str, str, str, list[Draw]]]:
    """(people, label, epsilon) with their draws that did not fail."""
    found: dict[tuple[str, str, str], list[Draw]] = defaultdict(list)
    for row in _latest(rows):
        if row["gaps"]:
            found[row["people"], row["label"], row["epsilon"]].append(Draw.of(row))
    for people, label, epsilon in sorted(found, key=lambda key: (key[0], float(key[2]), key[1])):
        yield people, label, epsilon, found[people, label, epsilon]


def _latest(rows: list[Row]) -> list[Row]:
    """Of each label and kind of people the last seed, of each registry the last source."""
    seeds = {(row["label"], row["people"]): row["seed"] for row in rows}
    rows = [row for row in rows if row["seed"] == seeds[row["label"], row["people"]]]
    last = {(row["label"], row["people"], row["registry"]): row["source"] for row in rows}
    return [
        row for row in rows if row["source"] == last[row["label"], row["people"], row["registry"]]
    ]


def _failures(rows: list[Row], facts: list[Row]) -> list[str]:
    """Targets that are missed, releases and exact fits that failed, the worst coefficients."""
    lines = []
    for people, label, epsilon, draws in _cells(rows):
        if label != NEW:
            continue
        found = Measures.of(draws)
        where = f"{people}, ε = {epsilon}"
        if found.inside[0] < INSIDE:
            lines.append(f"- inside: {where}: {found.inside[0]:.3f}, asked at least {INSIDE}")
        if found.low[0] > LOW_SHARE:
            lines.append(f"- low: {where}: {found.low[0]:.3f}, asked at most {LOW_SHARE}")
        if found.named < NAMED:
            lines.append(f"- named: {where}: {found.named:.2f}, asked at least {NAMED:.2f}")
        if people == FROZEN and (found.registries < REGISTRIES or found.fewest < DRAWS):
            lines.append(
                f"- size: {where}: {found.registries} registries with {found.fewest} draws or more, "
                f"asked {REGISTRIES} with {DRAWS}"
            )
    broken = [row for row in _latest(rows) if not row["gaps"]]
    lines += [
        f"- no release: registry {row['registry']} of seed {row['seed']}, {row['label']}, epsilon "
        f"{row['epsilon']}: {row['codes'].removeprefix('failed ')}"
        for row in broken
    ]
    lines += [
        f"- no exact fit: registry {row['registry']} of seed {row['seed']}: {row['failure']}"
        for row in facts
        if row["failure"]
    ]
    return lines


def _worst_coefficients(rows: list[Row], facts: list[Row]) -> Iterator[str]:
    named = {(row["seed"], row["registry"]): row for row in facts}
    for people, label, epsilon, draws in _cells(rows):
        lows = Measures.of(draws).lows if label == NEW else ()
        if lows:
            yield from ("", f"The worst coefficients of {people} at ε = {epsilon}:", "")
            yield "| registry | coefficient | inside | gap | width | named | traits |"
            yield "|---|---|---|---|---|---|---|"
        for item in lows[:WORST]:
            row = named[item.key]
            yield (
                f"| {item.key[1]} | `{row['coefficients'].split('|')[item.place]}` | {item.inside:.2f} | "
                f"{item.gap:.1f} | {item.width:.1f} | {item.named} of {item.misses} | "
                f"{row['traits'].replace('|', ', ')} |"
            )


def _measures(rows: list[Row]) -> Iterator[str]:
    yield (
        "| people | source | ε | registries | draws | err | inside | noise alone | low | named | width | unreached |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|---|---|"
    for people, label, epsilon, draws in _cells(rows):
        found = Measures.of(draws)
        yield (
            f"| {people} | {label} | {epsilon} | {found.registries} | {found.draws} | {found.err:.2f} | "
            f"{found.inside[0]:.3f} ({found.inside[1]:.3f}) | {found.noise_alone:.3f} | "
            f"{found.low[0]:.3f} ({found.low[1]:.3f}) | {_share(found.named)} | {found.width:.2f} | "
            f"{found.unreached:.2f} |"
        )


def _share(value: float) -> str:
    return "none low" if np.isnan(value) else f"{value:.2f}"


def _ratio_table(rows: list[Row]) -> Iterator[str]:
    """Geometric means of err and width, new over base, of the last seed with registries of both."""
    yield "| people | ε | new | registries | err, new / base | largest | width, new / base |"
    yield "|---|---|---|---|---|---|---|"
    compared = {row["seed"] for row in rows if row["label"] == "base"}
    rows = [row for row in rows if row["seed"] in compared]
    cells = {key[:3]: key[3] for key in _cells(rows)}
    commits = {(row["people"], row["label"]): row["commit"] for row in reversed(_latest(rows))}
    for people, label, epsilon in cells:
        if label != "new" or (people, "base", epsilon) not in cells:
            continue
        errs = [_by_registry(cells[people, own, epsilon], _log_err) for own in ("new", "base")]
        widths = [_by_registry(cells[people, own, epsilon], _log_width) for own in ("new", "base")]
        both = sorted(errs[0].keys() & errs[1].keys())
        ratio = np.array([errs[0][key] - errs[1][key] for key in both])
        width = np.array([widths[0][key] - widths[1][key] for key in both])
        error = ratio.std(ddof=1) / np.sqrt(len(ratio)) if len(ratio) > 1 else np.nan
        largest = both[int(ratio.argmax())]
        yield (
            f"| {people} | {epsilon} | {commits[people, label]} | {len(both)} | {np.exp(ratio.mean()):.3f} ± "
            f"{np.exp(ratio.mean()) * error:.3f} | {np.exp(ratio.max()):.2f} ({largest[1]}) | "
            f"{np.exp(width.mean()):.3f} |"
        )


def _log_err(draw: Draw) -> float:
    return float(np.log(draw.err))


def _log_width(draw: Draw) -> float:
    return float(np.mean(np.log(draw.ratios[draw.known])))


def _by_registry(draws: list[Draw], value: Callable[[Draw], float]) -> dict[tuple[str, str], float]:
    """The mean over the draws of each registry."""
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for draw in draws:
        found[draw.key].append(value(draw))
    return {key: float(np.mean(values)) for key, values in found.items()}


def _by_trait(rows: list[Row], facts: list[Row]) -> Iterator[str]:
    """A row for each trait, over the registries that decide."""
    traits = {(row["seed"], row["registry"]): row["traits"].split("|") for row in facts}
    for row in facts:
        size = "under 300 events" if int(row["events"]) < 300 else "300 events or more"
        traits[row["seed"], row["registry"]].append(size)
    words = sorted({word for found in traits.values() for word in found if word})
    found = {(key[0], key[1], float(key[2])): key[3] for key in _cells(rows)}
    epsilons = sorted(key[2] for key in found if key[:2] == (FROZEN, NEW))
    head = [f"{name}, ε = {value:g}" for name in ("err", "inside", "low") for value in epsilons]
    yield f"| people with | registries | {' | '.join(head)} |"
    yield "|---|---|" + "---|" * len(head)
    for word in words if epsilons else ():
        chosen = [[draw for draw in found[FROZEN, NEW, value] if word in traits[draw.key]]
                  for value in epsilons]  # fmt: skip
        if not all(chosen):
            continue
        each = [Measures.of(draws) for draws in chosen]
        cells = [f"{one.err:.2f}" for one in each]
        cells += [f"{one.inside[0]:.3f}" for one in each]
        cells += [f"{one.low[0]:.3f}" for one in each]
        yield f"| {word} | {each[0].registries} | {' | '.join(cells)} |"


def draw(figure: Figure, rows: list[Row], facts: list[Row], seeds: list[Row]) -> None:
    """A point for each registry that decides: median err against events for each coefficient."""
    axes = figure.add_subplot()
    rows = [{**row, "people": _kind_of(row["seed"], seeds)} for row in rows]
    sizes = {
        (row["seed"], row["registry"]): int(row["events"]) / max(int(row["determined"]), 1)
        for row in facts
    }
    for people, label, epsilon, draws in _cells(rows):
        if (people, label) != (FROZEN, NEW):
            continue
        errs = _by_registry(draws, _log_err)
        x, y = [sizes[key] for key in errs], [float(np.exp(value)) for value in errs.values()]
        axes.scatter(x, y, s=14, color=COLOURS[len(axes.collections)], label=f"ε = {epsilon}")
    axes.axhline(1.0, color=INK, linewidth=0.8)
    axes.annotate("as much as sampling", (1.0, 1.0), (0, 3), ha="right", fontsize=8,
                  xycoords=("axes fraction", "data"), textcoords="offset points")  # fmt: skip
    axes.set(xscale="log", yscale="log", xlabel="events for each coefficient", ylabel="err")
    axes.xaxis.set_major_formatter("{x:,g}")
    axes.yaxis.set_major_formatter("{x:g}")
    if axes.collections:
        axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)


def _seed_table(rows: list[Row], seeds: list[Row]) -> Iterator[str]:
    """Which rows were measured with constants that were frozen before their seed was drawn; what was low."""
    yield "| seed | drawn | at commit | source measured | at commit | rows | low, ε = 1 | ε = 4 | frozen before |"
    yield "|---|---|---|---|---|---|---|---|---|"
    drawn = {row["seed"]: row for row in seeds}
    sources = {row["source"] for row in seeds if row["drawn"] == "entropy"}
    groups: dict[tuple[str, str, str, str], list[Row]] = defaultdict(list)
    for row in rows:
        groups[row["seed"], row["label"], row["source"], row["commit"]].append(row)
    for (seed, label, source, commit), own in groups.items():
        origin = drawn.get(seed)
        how, at = (origin["drawn"], origin["commit"]) if origin else ("", "")
        frozen = label == "base" or (how == "entropy" and origin["source"] == source)
        frozen |= seed == REAL and source in sources
        low = []
        for epsilon in ("1", "4"):
            draws = [Draw.of(row) for row in own if row["epsilon"] == epsilon and row["gaps"]]
            low.append(f"{Measures.of(draws).low[0]:.3f}" if draws else "")
        yield (
            f"| {seed} | {how} | {at} | {label} {source} | {commit} | {len(own)} | {low[0]} | {low[1]} | "
            f"{'yes' if frozen else 'no'} |"
        )


def main() -> None:
    """Write the page."""
    files = [read(RESULTS / f"{name}.csv") for name in ("fresh", "fresh-registries", "fresh-seeds")]
    fill(PAGE, MARKS, page(*files))
    figure = Figure(figsize=(7.0, 3.8), layout="constrained")
    draw(figure, *files)
    figure.savefig(PICTURE, dpi=160)


if __name__ == "__main__":
    main()
