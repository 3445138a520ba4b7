# ruff: noqa: INP001, scripts beside each other, no package
"""A part of docs/accuracy.md from results/real.csv and results/real-sets.csv: failures first.

python studies/real_page.py writes it; a test asks whether it says what the results say.
"""

import csv
import math
from collections.abc import Callable, Iterator
from pathlib import Path

from marked import fill
from real_sets import DEVELOPMENT, FURTHER, HELD_OUT, LOGARITHMIC, ONCE, OTHERS, PAPER
from real_summary import (
    BASE,
    RESULTS,
    Cell,
    Cells,
    Key,
    Rows,
    cells,
    failures,
    newest,
    newest_rows,
    read,
)
from simulated import DESIGNS, RIGHT

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "accuracy.md"
MARKS = ("<!-- real: begin -->", "<!-- real: end -->")
FACTS = HERE / "results" / "real-sets.csv"
CENSORED = HERE / "results" / "censoring.csv"
CHANGED = HERE / "results" / "changing.csv"
ORACLE = HERE / "results" / "oracle.csv"
DELTA, PURE = 1e-6, 0.0
Facts = dict[str, dict[str, str]]
Line = tuple[str, ...]

INTRODUCTION = """## Real sets and designs

Written by `make real` from `studies/results/real.csv`; do not edit. Every number is measured through
the public interface, on twelve real sets from the package SurvSet, the paper's three, and simulated
designs, right and wrong ones. What fails stands first.

- **err** is the distance of the private estimate from the exact maximum likelihood estimate in its
  own standard errors, sqrt((f - f\\*)' H (f - f\\*) / d); 1 is the error of sampling alone. Median over
  draws.
- **inside** is how often the private 95% interval holds the exact estimate: the mean over
  coefficients and the worst one. It should be above 0.95, because the interval allows for sampling
  too. **noise alone** asks more: |private - exact| at most 1.96 sqrt(SE_private^2 - SE_exact^2),
  which is what the interval allows for privacy noise.
- **width** is the private standard error over the exact one, the median over coefficients.
- **not reached** counts coefficients which the release itself says that the data do not reach; the
  other measures leave them out.
"""

ESTIMAND = """### What is estimated when the model is wrong

No real set obeys a logit model with linear effects and a spline of three knots. The exact fit then
estimates the parameters whose likelihood is highest on average over the population (White 1982): of
all models of this form the one that is closest to the people in Kullback-Leibler distance, with
people weighted by how long they were observed. All measures on this page compare with that fit, not
with a truth behind it. An interval that holds it says nothing about whether a straight line was a good
idea; `plot_fit()` and the warnings of a release are there for that question. The exact fit's own
standard errors assume that the model is right (no sandwich), and so do the private ones.

Private Newton bounds what one person contributes, so it gives less weight to people who are far from
what the model expects. Where the model is right that changes nothing on average; where it is wrong it
moves the estimate, and intervals have to allow for it. That is why simulated right designs come out
better than real sets, and why this page is about real sets.

On rhc, LeukSurv and tb most of the distance at epsilon 1, and most intervals that miss, are those of
the baseline's second and third coefficient (the gaps of every coefficient are in
`studies/results/real.csv`): the bounded score gives early times more weight than the likelihood does,
and a spline of three knots does not follow these hazards. The private life table corrects for it as
far as it is not noise; effects of covariates are closer to the exact fit. On rott2 it is the year and a
level that repeats it, where the release does not say that it cannot tell them apart. On fl
a few people with very large values carry much of the information on some effects, and their effect is not on the
line of all others. A bound that keeps the noise low cannot follow them, and one that follows them needs several
times the noise. Intervals allow for another effect in such a tail. 0.1.0 is nearer there; a part of that is its prior in the middle of the public
ranges, far from everybody, which holds these effects back. `scale = "log"` for such values takes the cause away.

With few people and bounds that are far too wide (designs whose names end in few or 1000: 2,000 or 1,000 people, one or six
laboratory values, bounds up to ten times too wide) counts hardly tell people far away from noise. Second moments
do, as far as their own noise lets them; a number whose width is then still unknown is called not reached. Narrower public
bounds are the cure.
"""

CENSORING = """### Censoring that goes with covariates

A registry that ends on one day observes those who entered late for a short time only. Cox's model of
the time to censoring, by `studies/censoring.py`: chi-square over its degrees of freedom (1 where
censoring goes with nothing), and the covariate that it goes with most, log hazard ratio for one
standard deviation. Private Newton learns it from one more column of second moments; before it did, the
baseline and the effect of a year were up to three standard errors off on such sets.

"""

CHANGING = """### Effects that change with time

The test of Grambsch and Therneau (1994) on Cox's model, times by their rank, by `studies/changing.py`:
chi-square over its degrees of freedom (1 where effects are constant), and the covariate whose effect
changes most. The likelihood averages such effects over time, and bounded scores average otherwise. One
more column of second moments shows the change where it stands out of the noise; the release then warns,
corrects for it, and bounds less.

"""

CHOICE = """### How sets and constants were chosen

The sets: those of SurvSet with at least 1,000 rows, more than 800 events and at least three usable
covariates, of several fields. One fixed rule prepares all of them (`studies/real_sets.py`): numbers
and factors of two to five levels, the first eight in the file's order (rott2n: rott2 with its numbers
first, where the effect of the number of nodes is far from a line); bounds at the 0.5% and 99.5% quantiles, rounded outward; 100 equal intervals up to the largest time (hdfail:
up to 3,000, far beyond most exits); logit link, linear terms, natural spline
with three knots. Quantiles and levels are read from the data, which a custodian must not do: here it
is for measuring. The paper's three sets have the paper's own preprocessing and 200 intervals.

Four sets were held out ({held_out}): no constant was chosen on them but those named below. They have been run at the end of
each stage of the work, thirteen times in all, so they have been seen: constants of the fitted life table
and of the baseline's equations were set after one such run, on rhc, acath, UnempDur and calendar, and
what oldmort showed in another led to the question whether censoring goes with covariates, whose answer
was built and set on calendar and the development sets. Constants of the mechanism were chosen by the worst case over the other sets and
the designs, and for what concerns effects that change with time and tails without events over the
thirteen other sets as well. On all of these sets, the four among them, was chosen how far released
correlations are believed one by one and how far vectors of second moments are shortened, how a step from
far away is doubted, from how many people on a fourth step is made, and how the covariance is put together:
its slope, and the factors of its parts. So were, last, the Cauchy density of effects, how tight bounds
are where nothing speaks against the model, and what is stated of tails and of life tables that are noise; and,
after these, how the width of a number is found of its counts and second moments, for which the designs of few people in generous bounds were made,
and how far the slope of a step from far away is doubted; and, at the very end, how the choice of a bound allows for the
prior and for what it takes away, how far entries of the released information are believed one by one, and what is
allowed for the cohort's sampling variance. For these nothing is held out. Every draw of a simulated design has people of its own; a real
set has the same people in every draw, and fresh noise of the real source.
"""


def main() -> None:
    """Write the page."""
    fill(PAGE, MARKS, page())


def page(results: Path = RESULTS, facts: Path = FACTS) -> str:
    """The whole text."""
    rows, about = read(results), read_facts(facts)
    label = rows[-1]["label"]
    now, before = newest(rows), cells(rows, BASE)
    sections = (
        INTRODUCTION + _versions(now, before, label) + _earlier(rows, label),
        "### What fails\n\n" + "\n".join(_failures(now, before, label)) + "\n",
        "### Real sets\n\n"
        + _table(_sets(now, before, about, (*DEVELOPMENT, *FURTHER, *HELD_OUT), DELTA)),
        "### What is left\n\n" + LEFT + _table(_left(now)),
        "### Other real sets\n\n" + OTHER + _table(_sets(now, before, about, OTHERS, DELTA)),
        "### Sets that were looked at once\n\n"
        + RUN_ONCE
        + _table(_sets(now, before, about, ONCE, DELTA)),
        "### The paper's sets\n\n" + _table(_sets(now, before, about, PAPER, DELTA)),
        "### Simulated designs\n\n" + _table(_sets(now, before, about, tuple(DESIGNS), DELTA)),
        "### Designs whose truth is known\n\n" + _table(_truths(now)),
        "### What no data could tell\n\n" + NOTHING + _table(_nothing(now)),
        "### Logarithmic grids\n\n"
        + LOGARITHMS
        + _table(_sets(now, before, about, LOGARITHMIC, DELTA)),
        "### Pure epsilon\n\n" + _table(_sets(now, before, about, None, PURE)),
        "### Much budget\n\n" + BUDGET + _table(_budget(now, before)),
        f"### Version {BASE}\n\n" + OLD + _table(_sets(before, {}, about, None, DELTA)),
        ESTIMAND,
        CENSORING + _table(_study(CENSORING_HEAD, CENSORED)),
        CHANGING + _table(_study(CHANGING_HEAD, CHANGED)),
        CHOICE.format(held_out=", ".join(HELD_OUT)),
    )
    return "\n".join(sections)


CENSORING_HEAD = ("set", "censored early", "chi-square / df", "goes most with", "log hazard ratio")
CHANGING_HEAD = ("set", "chi-square / df", "changes most", "its chi-square")


def _study(head: Line, path: Path) -> Iterator[Line]:
    """A set a row, as the study wrote it."""
    yield head
    with path.open(newline="", encoding="utf-8") as lines:
        yield from (tuple(row.values()) for row in csv.DictReader(lines))


LEFT = """How near could any bounded score come? `studies/oracle.py` knows what no release knows: coordinates from
the exact Hessian, a start at the exact estimate, and of all bounds c (B = c sqrt(d / events)) the best, in one step
with 85% of the budget. **oracle** is sqrt(bias^2 + noise^2) of that, in standard errors, with no prior. Where err is below it, the
prior helps. On fl the aim of 2.4 and 1.6 is below what this oracle reaches: a bound that follows the few
people who carry three of its effects has several times the noise.

"""
OTHER = """Thirteen more sets of SurvSet, most of them smaller, prepared by the same rule. No target was set for
them. support2, nwtco, divorce and dataDIVAT1 had intervals that missed, and what they showed led to two
changes of this version, effects that change with time and tails without events; the others were counted
and not looked into.

"""
RUN_ONCE = """Eight more sets of SurvSet, all of them small, prepared by the same rule. They were looked at once at the end of
an earlier stage, when every constant had the value it had then; of dataOvarian1, uis and Unemployment, which had missed, a few seeded draws
were seen again while the last constants were set (the Cauchy density of effects among them), and of dataOvarian1, uis and follic once more
while the widths of numbers were. Last, seeded draws of all eight were part of the panel on which it was decided how far
the slope of a step from far away is doubted, and later of that on which bounds and the released information were:
after that nothing of SurvSet is held out any more.

"""
LOGARITHMS = """The same sets with 100 intervals that grow by one factor, the first a thousandth of the horizon
(`first` in `[time]`); the exact fit is another one, so these rows are not to be compared with those above
coefficient by coefficient.

"""
OLD = """The version before, in the same tables: what the later one is measured against.

"""
NOTHING = """No duration can be read; a declared level that nobody has; a column that stands there twice. The share
of tests on those coefficients that a reader would call significant at 5%, and how many coefficients
the release itself calls not reached.

"""
BUDGET = """At epsilon = 1000 the release should be the maximum likelihood estimate: err, and in brackets that of
0.1.0.

"""


def _left(now: Cells) -> Iterator[Line]:
    """A set a row: what is measured beside what the best bound would have."""
    yield "set", "err, epsilon 1", "oracle (c)", "err, epsilon 4", "oracle (c)"
    found: dict[str, list[str]] = {}
    with ORACLE.open(newline="", encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            cell = now.get((row["set"], float(row["epsilon"]), DELTA))
            measured = "" if cell is None else _two(cell.err)
            found.setdefault(row["set"], []).extend([measured, f"{row['err']} ({row['multiple']})"])
    for name, shown in found.items():
        yield name, *shown


def read_facts(path: Path) -> Facts:
    """People, events and dimension by set."""
    with path.open(newline="", encoding="utf-8") as lines:
        return {row["set"]: row for row in csv.DictReader(lines)}


ENOUGH = 20
FEW = """
**Few draws.** Targets are meant for 60 draws per cell. With fewer a median moves by a quarter and a
share by tens of percent, so a target that is missed or met here is a hint, not a finding; the worst
coefficient of a cell with one draw is either 0 or 1. `make real` goes on from these rows.
"""


def _versions(now: Cells, before: Cells, label: str) -> str:
    draws = sorted({cell.draws for cell in now.values()})
    past = sorted({cell.draws for key, cell in before.items() if key in now})
    base = f"{BASE} ({_range(past)} per cell)" if past else BASE
    text = f"\nVersion {label}, {_range(draws)} per cell, against {base} by the same script.\n"
    return text + (FEW if draws[0] < ENOUGH else "")


EARLIER = """There a bound that has noise of at most 0.15 standard errors was as good as none, now 0.13: that concerns
cells with next to no noise, which were measured again.
"""


def _earlier(rows: Rows, label: str) -> str:
    """How many cells an earlier commit measured, where there are any."""
    found = [own[0]["label"] for own in newest_rows(rows).values()]
    others = [one for one in dict.fromkeys(found) if one not in (label, BASE)]
    told = ", ".join(f"{found.count(one)} by {one}" for one in others)
    counted = f"Of {len(found) - found.count(BASE)} cells {told}"
    return f"\n{counted}. {EARLIER}" if told else ""


def _range(draws: list[int]) -> str:
    if draws[0] != draws[-1]:
        return f"{draws[0]} to {draws[-1]} draws"
    return "1 draw" if draws[0] == 1 else f"{draws[0]} draws"


def _failures(now: Cells, before: Cells, label: str) -> Iterator[str]:
    """The targets that are missed, most important first, each with its cells."""
    missed: dict[str, list[str]] = {}
    for line in failures(now, before if label != BASE else {}):
        target, _, cell = line.partition(": ")
        missed.setdefault(target, []).append(cell)
    if not missed:
        yield "No target is missed."
    for target, found in missed.items():
        yield f"- **{target}** ({len(found)}): {'; '.join(found)}."


def _table(rows: Iterator[Line]) -> str:
    """The first row is the heading."""
    head, *rest = rows
    rule = tuple("---" for _ in head)
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, rule, *rest))


def _sets(
    now: Cells, before: Cells, about: Facts, names: tuple[str, ...] | None, delta: float
) -> Iterator[Line]:
    """A set a row: both budgets, and 0.1.0 beside them."""
    yield (
        "set", "people, events, d", "err, epsilon 1 (0.1.0)", "epsilon 4 (0.1.0)", "inside 1", "4",
        "noise alone 1", "4", "width 1", "4", "not reached 1", "4",
    )  # fmt: skip
    for name in names or (*DEVELOPMENT, *FURTHER, *HELD_OUT, *OTHERS, *PAPER, *DESIGNS):
        pair = [now.get((name, epsilon, delta)) for epsilon in (1.0, 4.0)]
        past = [before.get((name, epsilon, delta)) for epsilon in (1.0, 4.0)]
        if any(cell is not None and not math.isnan(cell.err) for cell in pair):
            yield name, _about(about[name]), *_measures(pair, past)


def _measures(pair: list[Cell | None], past: list[Cell | None]) -> Iterator[str]:
    for cell, old in zip(pair, past, strict=True):
        yield _with_past(cell, old)
    yield from _both(pair, lambda cell: f"{_two(cell.inside)} / {_two(cell.worst)}")
    yield from _both(pair, lambda cell: _two(cell.noise_alone))
    yield from _both(pair, lambda cell: _two(cell.ratio))
    yield from _both(pair, lambda cell: f"{cell.flagged:.1f}")


def _both(pair: list[Cell | None], measure: Callable[[Cell], str]) -> Iterator[str]:
    for cell in pair:
        yield "" if cell is None else measure(cell)


def _with_past(cell: Cell | None, old: Cell | None) -> str:
    if cell is None:
        return ""
    return _two(cell.err) + (f" ({_two(old.err)})" if old is not None else "")


def _about(row: dict[str, str]) -> str:
    return f"{int(row['people']):,}, {int(row['events']):,}, {row['dimension']}"


def _truths(now: Cells) -> Iterator[Line]:
    yield "design", "truth covered, epsilon 1", "epsilon 4", "draws"
    for name in RIGHT:
        pair = [now.get((name, epsilon, DELTA)) for epsilon in (1.0, 4.0)]
        if any(pair):
            draws = next(cell.draws for cell in pair if cell is not None)
            yield name, *_both(pair, lambda cell: f"{cell.truth:.3f}"), str(draws)


def _nothing(now: Cells) -> Iterator[Line]:
    yield "design", "epsilon", "delta", "significant", "not reached", "draws"
    for (name, epsilon, delta), cell in now.items():
        if not math.isnan(cell.significant):
            shown = f"{cell.significant:.2f}", f"{cell.flagged:.1f}"
            yield name, f"{epsilon:g}", f"{delta:g}", *shown, str(cell.draws)


def _budget(now: Cells, before: Cells) -> Iterator[Line]:
    yield "set", "delta = 1e-6", "pure"
    for name in dict.fromkeys(key[0] for key in now if key[1] == 1000.0):
        keys: list[Key] = [(name, 1000.0, delta) for delta in (DELTA, PURE)]
        found = [_with_past(now.get(key), before.get(key)) for key in keys]
        if found[0] != "nan":
            yield name, *found


def _two(value: float) -> str:
    if math.isnan(value):
        return "-"
    return f"{value:.0f}" if value >= 100 else f"{value:.2f}"


if __name__ == "__main__":
    main()
