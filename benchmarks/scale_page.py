"""A part of docs/speed.md and its figure, from results/scale.csv."""

from pathlib import Path

from file_case import COMMANDS, STEPS
from matplotlib.figure import Figure
from results_file import Results

SIZES = (100_000, 1_000_000, 10_000_000)

HEAD = """## Past one machine's memory

Written by `python benchmarks/scale.py` from `benchmarks/results/scale.csv`.

One fit of simulated people with 8 covariates: the columns in memory, streamed from Parquet files,
and on single-threaded Dask workers of the same machine (2 cores: read the ratios, not the seconds).
*One sum* is one pass over all people for loss, gradient and Hessian; a stream reads and encodes the
files again. Memory is the peak of the process during the fit above what it held before (in memory:
beside the table).

| engine | people | intervals | setting | fit, s | one sum, s | memory, MB |
|---|---|---|---|---|---|---|
"""


FILE_HEAD = """
### From a CSV file to a release

One row a person, a million people, 5 covariates, 60 intervals: whole commands, then the steps that
read and encode. Processor seconds of all threads, the smallest of three runs, and
[units](#from-the-first-second); memory of one run.

| step | processor, s | units | peak memory, MB |
|---|---|---|---|
"""


def page(results: Results) -> str:
    """A row a case, then what follows from it."""
    rows = [_row(results, name) for name in _names(results)]
    return HEAD + "\n".join(rows) + "\n\n" + _findings(results) + _picture() + _file(results)


def draw(results: Results, path: Path) -> None:
    """Seconds a sum against people."""
    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.subplots()
    for engine in ("memory", "stream"):
        points = [(n, _one(results, "evaluation", engine, n)) for n in SIZES]
        known = [(n, value) for n, value in points if value is not None]
        axes.loglog(*zip(*known, strict=True), "o-", label=engine)
    axes.set_xlabel("people")
    axes.set_ylabel("seconds for one sum over all people")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})


def _file(results: Results) -> str:
    """The way of a CSV file: processor seconds, in units of the libraries' import."""

    def one(quantity: str, step: str) -> float:
        return results.numbers(quantity, f"file: {step}")[0]

    unit = one("processor", "libraries")
    rows = []
    for step in (*COMMANDS, *STEPS):
        memory = f"{one('memory', step):.0f}" if step in COMMANDS else ""
        found = one("processor", step)
        rows.append(f"| {step} | {found:.2f} | {found / unit:.2f} | {memory} |")
    ratio = one("processor", "private release") / one("processor", "plain fit")
    steps = sum(one("processor", step) for step in STEPS[1:])
    return (
        FILE_HEAD
        + "\n".join(rows)
        + f"\n\nA private release takes {ratio:.2f} times the processor time of a plain fit from the same file "
        f"(1.3 wanted{'' if ratio <= 1.3 else ', **missed**'}). The last three rows, which are all "
        f"that happens to raw values, are {100 * steps / one('processor', 'plain fit'):.0f} % of the plain fit.\n"
    )


def _picture() -> str:
    return "\n![Seconds for one sum against the number of people](images/scale.svg)\n"


def _names(results: Results) -> list[str]:
    return sorted((name for name in results.contenders() if "engine=" in name), key=_order)


def _order(name: str) -> tuple[str, int, int, str]:
    case = _case(name)
    return case["engine"], int(case["people"]), int(case["intervals"]), name


def _case(name: str) -> dict[str, str]:
    return dict(part.split("=") for part in name.split())


def _row(results: Results, name: str) -> str:
    case = _case(name)
    setting = " ".join(
        f"{int(value):,} {'rows a block' if key == 'block' else key}"
        for key, value in case.items()
        if key in {"block", "workers"}
    )
    numbers = [results.numbers(what, name)[0] for what in ("fit", "evaluation", "memory")]
    return (
        f"| {case['engine']} | {int(case['people']):,} | {int(case['intervals']):,} | {setting} "
        f"| {numbers[0]:.2f} | {numbers[1]:.3f} | {numbers[2]:.0f} |"
    )


def _one(results: Results, what: str, engine: str, people: int) -> float | None:
    found = results.numbers(what, f"engine={engine} people={people} intervals=200")
    return found[0] if found else None


def _findings(results: Results) -> str:
    """Ratios that the design promises, computed from the rows above."""
    found = [
        f"{streamed / held:.1f} times with {people:,} people"
        for people in SIZES
        if (streamed := _one(results, "fit", "stream", people))
        and (held := _one(results, "fit", "memory", people))
    ]
    lines = [
        f"- A streamed fit takes as long as one in memory {', '.join(found)} (at most 3 wanted)."
    ]
    largest = max(n for n in SIZES if _one(results, "memory", "stream", n))
    peak = _one(results, "memory", "stream", largest)
    lines.append(f"- Peak memory of the stream of {largest:,} people: {peak:.0f} MB (under 1,000).")
    return "\n".join(lines + _dask_findings(results)) + "\n" + _extrapolation(results)


def _dask_findings(results: Results) -> list[str]:
    lines = []
    for people in SIZES:
        names = [f"engine=dask people={people} intervals=200 workers={count}" for count in (1, 2)]
        one, two = (results.numbers("evaluation", name) for name in names)
        if one and two:
            idle = results.numbers("overhead", names[1])[0]
            lines.append(
                f"- Dask, {people:,} people: two workers sum {one[0] / two[0]:.2f} times as fast as "
                f"one (1.5 wanted{'' if one[0] >= 1.5 * two[0] else ', **missed**'}); the driver's "
                f"overhead of an iteration is {idle:.3f} s (under 0.2 wanted)."
            )
    return lines


def _extrapolation(results: Results) -> str:
    """What 10^9 people would cost, from the cost a person of the largest stream."""
    known = [(n, _one(results, "evaluation", "stream", n)) for n in SIZES]
    people, value = [(n, value) for n, value in known if value is not None][-1]
    each = value / people
    whole = 6 * each * 1e9
    return (
        f"\nExtrapolated, not measured: at {each * 1e9:.0f} ns a person for a streamed sum, and about "
        f"six sums a fit, 1,000,000,000 people would take about {whole / 60:.0f} minutes here, and "
        f"about {whole / 100:.0f} s and the driver's overhead on a cluster of 100 such machines.\n"
    )
