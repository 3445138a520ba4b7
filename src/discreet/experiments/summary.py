"""Where we agree with the paper and where not: sentences whose numbers are read from the results."""

from discreet.experiments.config import TABLE_EPSILON, Options
from discreet.experiments.results import newest, read_rows

Rows = list[dict[str, str]]


def summary(options: Options) -> str:
    """One line a claim; a claim without results is left out."""
    lines = [_table_2(options), _table_3(options), _ranking(options), *_verdicts(options)]
    found = [f"- {line}\n" for line in lines if line]
    return "## Where we agree with the paper, and where not\n\n" + "".join(found) if found else ""


def _table_2(options: Options) -> str:
    gaps: dict[str, float] = {}
    for row in read_rows(options.results / "table-2.csv"):
        if row["paper"]:
            gap = 100.0 * (float(row["mre"]) / float(row["paper"]) - 1.0)
            gaps[row["set"]] = max(gaps.get(row["set"], 0.0), gap, key=abs)
    told = ", ".join(f"{name} {gap:+.1f} %" for name, gap in gaps.items())
    return f"Table 2, largest difference of a cell: {told}." if told else ""


def _table_3(options: Options) -> str:
    pairs = [
        f"{row['set']} {float(row['ours']):.2f} ({row['paper']})"
        for row in read_rows(options.results / "table-3.csv")
        if row["paper"]
    ]
    told = ", ".join(pairs)
    return f"Table 3, percent here and in the paper: {told}." if pairs else ""


def _ranking(options: Options) -> str:
    """The ranking at the largest epsilon of the paper, whose sampler beats both perturbations."""
    keys = ("set", "mechanism", "variant", "epsilon")
    rows = newest(read_rows(options.results / "figure-5.csv"), keys)
    told = []
    for name in dict.fromkeys(sorted(row["set"] for row in rows)):
        found = {
            (row["mechanism"], row["variant"]): float(row["mre"])
            for row in rows
            if row["set"] == name and float(row["epsilon"]) == TABLE_EPSILON
        }
        ours = found.get(("sampler", "printed, step 1/n"))
        others = [
            found[key] for key in (("output", "printed"), ("objective", "printed")) if key in found
        ]
        if ours is not None and others:
            word = "beats" if ours < min(others) else "does not beat"
            told.append(f"{name} {ours:.3g}, {word} {min(others):.3g}")
    return (
        "The printed sampler (with step 1/n) against the better printed perturbation, MRE at epsilon ="
        f" {TABLE_EPSILON:g}: {'; '.join(told)}."
        if told
        else ""
    )


def _verdicts(options: Options) -> list[str]:
    rows = read_rows(options.results / "agreement.csv")
    lines = []
    for variant in dict.fromkeys(row["variant"] for row in rows):
        told = ", ".join(_verdict(row) for row in rows if row["variant"] == variant)
        lines.append(f"Does the step of *{variant}* keep the mechanism's density? {told}.")
    return [*lines, _mixing(options)]


def _verdict(row: dict[str, str]) -> str:
    word = "accepted" if row["accepted"] == "yes" else "rejected"
    return (
        f"{row['set']} {word} (largest score {float(row['worst']):.2g}, limit"
        f" {float(row['limit']):.2g}; smallest variance {float(row['least_ratio']):.2g} of the"
        " reference's)"
    )


def _mixing(options: Options) -> str:
    rows = newest(read_rows(options.results / "mixing.csv"), ("set", "variant", "epsilon"))
    told = [
        f"{row['set']} {float(row['effective']):.2g} ({row['epochs']} epochs)"
        for row in rows
        if row["variant"] == "corrected"
        and row["effective"]
        and float(row["epsilon"]) == TABLE_EPSILON
    ]
    return (
        "The paper takes a stable MRE for convergence. It does not show it: effective sample size of"
        f" the worst coordinate of the corrected chain at epsilon = {TABLE_EPSILON:g}: {', '.join(told)}."
        if told
        else ""
    )
