"""A part of docs/speed.md, from the results files and nothing else."""

from dataclasses import dataclass
from statistics import median

from results_file import Results

HEAD = """\
## Against other programs

Written by `make bench` from `benchmarks/results/core.csv`; do not edit. All programs ran in one run,
taking turns; a turn is the median of as many fits as go into a second, at least one; times are medians
over turns, ratios are medians of the ratios within a round. The cohorts are simulated, about 30% have
the event. One fit is Newton to a gradient norm of 1e-10 (of the mean loss) on the logit model with a
natural spline of three knots, with standard errors.

*fit(frame)* starts from the user's table in memory: reading, clipping, encoding, fitting; at n = 53,558
it runs in numpy. *fit alone* starts from encoded people and compiled code. Programs that need the
person-period table expand in their time; their tables are in memory before.
"""

PAIRS = ("discreet fit(frame)", "discreet fit alone")


@dataclass(frozen=True)
class Target:
    """A peer, and how many times faster the fit alone is to be."""

    peer: str
    factor: float | None


SMALL = (
    Target("glum", 100),
    Target("scikit-learn newton-cholesky", 200),
    Target("statsmodels GLM", 800),
    Target("lifelines Cox", 5),
    Target("scikit-survival Cox", None),
)
LARGE = (Target("lifelines Cox", 8), Target("scikit-survival Cox", 40))

# probe -> what it must stay below, and the unit in which it is shown
LIMITS = {
    "import discreet": (0.5, " s beyond numpy"),
    "import SurvivalRegression": (None, " s beyond numpy"),
    "first run, n = 53,558": (1.5, " s"),
    "first run, n = 1,000,000": (None, " s"),
    "second run, n = 1,000,000": (None, " s"),
    "memory growth over input bytes": (3.0, " times the input"),
}


STEPS: dict[str, int | None] = {
    "p = 3, q = 200": 12_000,
    "p = 8, q = 200": None,
    "p = 3, q = 2000": None,
}


FROM_FILES = (
    ("fit(csv)", "fit(table)", 2.5),
    ("counting repairs", "reading alone", 1.0),
)


VERSIONS = {
    "discreet fit(frame), n = 53,558": " s",
    "discreet fit alone, n = 53,558": " s",
    "discreet fit(frame), n = 1,000,000": " s",
    "discreet fit alone, n = 1,000,000": " s",
    "stream": " s",
    "stream, 65,536 rows a block": " s",
    "memory growth over input bytes": "",
}


def page(results: Results, sampler: Results, files: Results, versions: Results) -> str:
    """The whole page; the sampler, the files and versions have results files of their own."""
    parts = [
        HEAD,
        _environment(results),
        "### n = 53,558, p = 3, q = 200\n",
        _race(results, "small", SMALL),
        _agreement(results),
        "### n = 1,000,000, p = 8, q = 200\n",
        _race(results, "large", LARGE),
        _whole_over_alone(results),
        "### From a CSV file, n = 1,000,000, p = 5\n",
        _files(files),
        "### Cost against the number of intervals\n",
        _flatness(results),
        "### Cold start, imports, memory\n",
        _probes(results),
        "### The sampler\n",
        _sampler(sampler),
        "### Against 0.1.0\n",
        _versions(versions),
    ]
    return "\n".join(parts)


def _environment(results: Results) -> str:
    names = ("python", "numpy", "numba", "glum", "scikit-learn", "statsmodels", "lifelines")
    names += ("scikit-survival",)
    facts = ", ".join(f"{name} {results.text('environment', name)}" for name in names)
    return f"Measured on {results.text('environment', 'cores')} cores with {facts}.\n"


def _race(results: Results, benchmark: str, targets: tuple[Target, ...]) -> str:
    ours = [f"| {name} | {_seconds(results, benchmark, name)} | | | |" for name in PAIRS]
    theirs = [_peer(results, benchmark, target) for target in targets]
    head = "| | seconds | fit(frame) is faster by | fit alone is faster by | to reach |"
    return _table(head, [*ours, *theirs])


def _peer(results: Results, benchmark: str, target: Target) -> str:
    whole, alone = (_ratio(results, benchmark, target.peer, name) for name in PAIRS)
    goal = "" if target.factor is None else f"{target.factor:g}"
    taken = _seconds(results, benchmark, target.peer)
    return f"| {target.peer} | {taken} | {whole:.0f} | {alone:.0f} | {goal} |"


def _agreement(results: Results) -> str:
    difference = float(results.text("agreement", "discreet - glum"))
    return f"Largest difference between our coefficients and glum's: {difference:.1e}.\n"


def _whole_over_alone(results: Results) -> str:
    ratio = _ratio(results, "large", *PAIRS)
    return f"fit(frame) takes {ratio:.1f} times the fit alone (at most 3 wanted).\n"


def _flatness(results: Results) -> str:
    head = "| intervals | n = 53,558, p = 3 | n = 1,000,000, p = 8 | at most |"
    goals: dict[str, float | str] = {"q = 200": "", "q = 2000": 1.4, "q = 20000": 3.0}
    rows = [
        f"| {grid} | {_growth(results, 'grid small', grid, goal)} "
        f"| {_growth(results, 'grid large', grid, goal)} | {goal and f'{goal:g} times'} |"
        for grid, goal in goals.items()
    ]
    return _table(head, rows)


def _growth(results: Results, benchmark: str, grid: str, goal: float | str) -> str:
    ratio = _ratio(results, benchmark, grid, "q = 200")
    shown = f"{_seconds(results, benchmark, grid)} s ({ratio:.2f} times)"
    return f"{shown}, **missed**" if goal and ratio > goal else shown


def _probes(results: Results) -> str:
    head = "| | median | at most |"
    rows = [
        f"| {name} | {_seconds(results, 'probe', name)}{unit} | {_limit(limit)} |"
        for name, (limit, unit) in LIMITS.items()
    ]
    return _table(head, rows)


def _files(results: Results) -> str:
    """End to end from a file, over the same from a table; counting over reading."""
    rows = []
    for over, under, goal in FROM_FILES:
        if results.numbers("files", over):
            times = [median(results.numbers("files", who)) for who in (over, under)]
            shown = " and ".join(f"{value:.2f} s" for value in times)
            ratio = _ratio(results, "files", over, under)
            rows.append(f"| {over} over {under} | {shown} | {ratio:.2f} | {_limit(goal)} |")
    head = "| a person column, plain fits | median processor times | ratio | at most |"
    return (
        "The file is read once, and its persons are identified once (`python benchmarks/files.py`,"
        " `benchmarks/results/files.csv`).\n\n" + _table(head, rows)
    )


def _sampler(results: Results) -> str:
    """Steps a second of one core: the median, and the range over rounds."""
    rows = []
    for name, goal in STEPS.items():
        found = results.numbers("sampler", name)
        if found:
            middle, low, high = (
                f"{value:,.0f}" for value in (median(found), min(found), max(found))
            )
            rows.append(f"| {name} | {middle} ({low} to {high}) | {_limit(goal)} |")
    head = "| n = 53,558 | steps a second and core, median (all) | at least |"
    return (
        "Steps of pSGLD with batches of 200, logit link, three knots, by processor time of one thread"
        " (`python benchmarks/sampler.py`, `benchmarks/results/sampler.csv`).\n\n"
        + _table(head, rows)
    )


def _versions(results: Results) -> str:
    """This tree's times over those of an older one, within rounds."""
    rows = []
    for name, unit in VERSIONS.items():
        then, now = (
            f"{median(results.numbers(name, who)):.3g}{unit}" for who in ("older", "this tree")
        )
        rows.append(
            f"| {name} | {then} | {now} | {_ratio(results, name, 'this tree', 'older'):.2f} | 1.15 |"
        )
    head = "| | 0.1.0 | this version | ratio | at most |"
    return (
        "Both trees took turns in one run and one environment (`python benchmarks/versions.py"
        f" {results.text('environment', 'base')}`, `benchmarks/results/versions.csv`): times above vary"
        " from run to run by more than is asked here.\n\n" + _table(head, rows)
    )


def _limit(limit: float | None) -> str:
    return "" if limit is None else f"{limit:g}"


def _ratio(results: Results, benchmark: str, over: str, under: str) -> float:
    """The median over rounds of one contender's time over another's."""
    pairs = zip(results.numbers(benchmark, over), results.numbers(benchmark, under), strict=True)
    return median(first / second for first, second in pairs)


def _seconds(results: Results, benchmark: str, name: str) -> str:
    return f"{median(results.numbers(benchmark, name)):.3g}"


def _table(head: str, rows: list[str]) -> str:
    columns = head.count("|") - 1
    return "\n".join([head, "|" + "---|" * columns, *rows]) + "\n"
