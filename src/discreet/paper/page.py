"""docs/reproduction.md, generated: every number on it is read from a results file.

The prose is in `reproduction.md` beside this file; its tables and claims are made here.
"""

from collections.abc import Callable, Iterable
from importlib import resources

from jinja2 import Environment, StrictUndefined

from discreet.paper.config import (
    EPSILONS,
    PAPER_TABLE_1,
    PAPER_TABLE_2,
    PAPER_TB_SLOPES,
    RIDGES,
    TABLE_EPSILON,
    Options,
)
from discreet.paper.results import Results, Rows

Read = Callable[[str], Rows]
"""Returns the rows of a results file; of a cell that was run several times, the longest run."""


def write_page(options: Options) -> None:
    """Write the page from what the results files hold."""

    def read(name: str) -> Rows:
        return Results.of(options, name).newest()

    # Markdown, not HTML, of our own words and numbers
    markdown = Environment(  # noqa: S701
        trim_blocks=True, keep_trailing_newline=True, undefined=StrictUndefined
    )
    prose = resources.files("discreet.paper").joinpath("reproduction.md")
    template = markdown.from_string(prose.read_text(encoding="utf-8"))
    facts = {**_tables(read), **_figures(read), "claims": list(_claims(read))}
    options.docs.mkdir(parents=True, exist_ok=True)
    path = options.docs / "reproduction.md"
    path.write_text(template.render(epsilon=TABLE_EPSILON, **facts), encoding="utf-8")


def _tables(read: Read) -> dict[str, object]:
    sets = [
        (*row.values(), ", ".join(map(str, PAPER_TABLE_1.get(row["set"], ("not in the paper",)))))
        for row in read("table-1")
    ]
    rows = read("table-2")
    errors, gaps = [], []
    for name in dict.fromkeys(row["set"] for row in rows):
        found = [row for row in rows if row["set"] == name]
        errors.append((f"{name}, here", *(f"{_g(r['mre'])} ± {_g(r['se'], 2)}" for r in found)))
        if found[0]["paper"]:
            errors.append((f"{name}, paper", *(row["paper"] for row in found)))
            worst = max(found, key=lambda row: abs(_excess(row)))
            # the paper does not say how many draws its means have: 1,000 are assumed
            error = float(worst["se"]) * (float(worst["draws"]) / 1000.0) ** 0.5
            deviations = (float(worst["mre"]) - float(worst["paper"])) / error
            gaps.append(f"{name} {_excess(worst):+.1f} % ({deviations:+.1f})")
    paper = ("the paper", "", *PAPER_TB_SLOPES, *(str(PAPER_TABLE_2["TB"][i]) for i in (0, 4, 5)))
    readings = [(row["reading"], *map(_g, list(row.values())[1:])) for row in read("table-2-gap")]
    cox = [
        (row["set"], _g(row["ours"]), row["paper"] or "not in the paper") for row in read("table-3")
    ]
    tb = ("TB", "norm of f*", "β1", "β2", "β3", "MRE, Λ = 1e-05", "Λ = 0.1", "Λ = 1")
    return {
        "table_1": _grid(("set", "rows", "events", "covariates", "in the paper"), sets),
        "table_2": _grid(("MRE", *(f"Λ = {ridge:g}" for ridge in RIDGES)), errors),
        "table_2_draws": ", ".join(sorted({row["draws"] for row in rows})),
        "table_2_gaps": gaps,
        "gap": readings and _grid(tb, [paper, *readings]),
        "table_3": _grid(("set", "relative error here, %", "in the paper, %"), cox),
    }


def _figures(read: Read) -> dict[str, object]:
    kept: dict[tuple[str, str], dict[str, str]] = {}
    for row in read("figure-3"):
        kept.setdefault((row["source"], row["epochs"]), {})[row["set"]] = row["draws"]
    chains = [
        f"{source}{f', {epochs} epochs' if epochs != '0' else ''}: "
        + ", ".join(f"{name} {draws}" for name, draws in found.items())
        for (source, epochs), found in kept.items()
    ]
    judged = [
        (
            *(row[key] for key in ("set", "variant", "chains", "pilot_epochs", "epochs")),
            *(_g(row[key], 3) for key in ("median_ratio", "least_ratio", *SCORES)),
            row["accepted"],
        )
        for row in read("agreement")
    ]
    sizes = [row for row in read("mixing") if row["effective"]]
    mixed = sorted(_across(sizes, ("set", "variant"), "epsilon", "effective", EPSILONS, 3))
    rows, links, samplers = read("figure-5"), read("remark-links"), read("remark-sampler")
    points = {
        name: sorted(_across(rows, ("set", "mechanism", "variant"), "epsilon", name, SHOWN))
        for name in ("mre", "err")
    }
    runs = dict.fromkeys(f"{r['variant']} {r['epochs']}" for r in rows if r["epochs"] != "0")
    draws = sorted({r["draws"] for r in rows if r["mechanism"] != "sampler"}, key=int)
    heads = ("set", "mechanism", "variant", *(f"ε = {epsilon:g}" for epsilon in SHOWN))
    grids = list(dict.fromkeys(float(row["intervals"]) for row in links))
    lines = _across(links, ("set", "link"), "intervals", "difference_percent", grids)
    trials = [
        (r["what"], r["epsilon"], _g(r["mre"]), _g(r["err"]), r["draws"], r["epochs"])
        for r in samplers
    ]
    return {
        "figure_3": "; ".join(chains),
        "agreement": _grid(
            (
                *("set", "step", "chains", "age, epochs", "epochs run"),
                *("variance / reference, median", "least"),
                *("mean", "variance", "quantiles", "limit", "accepted"),
            ),
            judged,
        ),
        "mixing": _grid(("set", "chain", *(f"ε = {epsilon:g}" for epsilon in EPSILONS)), mixed),
        "mixing_r_hat": [_g(find(sizes, key=_r_hat)["r_hat"], 3) for find in (min, max) if sizes],
        "figure_4": bool(read("figure-4")),
        "figure_5": _grid(heads, points["mre"]),
        "figure_5_err": _grid(heads, points["err"]),
        "figure_5_draws": ", ".join(draws),
        "figure_5_runs": "; ".join(runs),
        "links": _grid(("set", "link", *(f"q = {q:g}" for q in grids)), lines),
        "samplers": _grid(("what", "ε", "MRE", "err", "draws", "epochs"), trials),
        "samplers_set": samplers[0]["set"] if samplers else "",
    }


SCORES = ("worst_mean", "worst_variance", "worst_quantile", "limit")
SHOWN = EPSILONS[::2]
"""The tables of Figure 5 have every second epsilon, its pictures all."""


def _r_hat(row: dict[str, str]) -> float:
    return float(row["r_hat"])


def _across(
    rows: Rows,
    keys: tuple[str, ...],
    column: str,
    value: str,
    columns: Iterable[float],
    digits: int = 4,
) -> list[tuple[str, ...]]:
    """Return a line for each combination of the keys, with the values along one column."""
    cells: dict[tuple[str, ...], dict[float, str]] = {}
    for row in rows:
        cell = cells.setdefault(tuple(row[key] for key in keys), {})
        cell[float(row[column])] = _g(row[value], digits)
    return [(*key, *(found.get(item, "") for item in columns)) for key, found in cells.items()]


def _excess(row: dict[str, str]) -> float:
    """Return by how many percent an error of Table 2 exceeds the paper's."""
    return 100.0 * (float(row["mre"]) / float(row["paper"]) - 1.0)


def _g(text: str, digits: int = 4) -> str:
    return f"{float(text):.{digits}g}" if text else ""


def _grid(heads: tuple[str, ...], lines: Iterable[tuple[str, ...]]) -> str:
    """Return a table in Markdown; nothing without lines."""
    marks = "|".join("---" for _ in heads)
    # a bar inside a cell would end it
    cells = ([text.replace("|", "\\|") for text in line] for line in lines)
    body = "".join("| " + " | ".join(line) + " |\n" for line in cells)
    return body and f"| {' | '.join(heads)} |\n|{marks}|\n{body}"


def _claims(read: Read) -> Iterable[str]:
    """Yield the comparison with the paper, a sentence for each claim that has results."""
    gaps: dict[str, float] = {}
    for row in read("table-2"):
        if row["paper"]:
            gaps[row["set"]] = max(gaps.get(row["set"], 0.0), _excess(row), key=abs)
    if gaps:
        listed = ", ".join(f"{name} {gap:+.1f} %" for name, gap in gaps.items())
        yield f"Table 2, largest difference of a cell: {listed}."
    errors = [
        f"{row['set']} {float(row['ours']):.2f} ({row['paper']})"
        for row in read("table-3")
        if row["paper"]
    ]
    if errors:
        yield f"Table 3, percent here and in the paper: {', '.join(errors)}."
    largest = f"epsilon = {TABLE_EPSILON:g}"
    if ranking := _ranking(read("figure-5")):
        yield (
            "The printed sampler (with step 1/n) against the better printed perturbation, MRE at"
            f" {largest}: {'; '.join(ranking)}."
        )
    verdicts: dict[str, list[str]] = {}
    for row in read("agreement"):
        word = "accepted" if row["accepted"] == "yes" else "rejected"
        verdicts.setdefault(row["variant"], []).append(f"{row['set']} {word}")
    for variant, judged in verdicts.items():
        yield (f"Does the step of *{variant}* keep the mechanism's density? {', '.join(judged)}.")
    sizes = [
        f"{row['set']} {float(row['effective']):.2g} ({row['epochs']} epochs)"
        for row in read("mixing")
        if row["variant"] == "corrected"
        and row["effective"]
        and float(row["epsilon"]) == TABLE_EPSILON
    ]
    if sizes:
        yield (
            "The paper takes a stable MRE for convergence. It does not show it: effective sample"
            f" size of the worst coordinate of the corrected chain at {largest}: {', '.join(sizes)}."
        )


def _ranking(rows: Rows) -> list[str]:
    """Return a phrase for each set at the largest epsilon of the paper."""
    mre: dict[str, dict[tuple[str, str], float]] = {}
    for row in rows:
        if float(row["epsilon"]) == TABLE_EPSILON:
            key = row["mechanism"], row["variant"]
            mre.setdefault(row["set"], {})[key] = float(row["mre"])
    phrases = []
    for name, found in sorted(mre.items()):
        ours = found.get(("sampler", "printed, step 1/n"))
        others = [found[k, "printed"] for k in ("output", "objective") if (k, "printed") in found]
        if ours is not None and others:
            word = "beats" if ours < min(others) else "does not beat"
            phrases.append(f"{name} {ours:.3g}, {word} {min(others):.3g}")
    return phrases
