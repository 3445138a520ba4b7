"""Where we agree with the paper and where not: sentences whose numbers are read from the results."""

from discreet.experiments.config import TABLE_EPSILON, Options
from discreet.experiments.figures import newest
from discreet.experiments.results import Results

Rows = list[dict[str, str]]


def summary(options: Options) -> str:
    """One line a claim; a claim without results is left out."""
    lines = [_table_2(options), _table_3(options), _ranking(options), *_verdicts(options)]
    found = [f"- {line}\n" for line in lines if line]
    return "## Where we agree with the paper, and where not\n\n" + "".join(found) if found else ""


def _table_2(options: Options) -> str:
    gaps: dict[str, float] = {}
    for row in _rows(options, "table-2.csv"):
        if row["paper"]:
            gap = 100.0 * (float(row["mre"]) / float(row["paper"]) - 1.0)
            gaps[row["set"]] = max(gaps.get(row["set"], 0.0), gap, key=abs)
    told = ", ".join(f"{name} {gap:+.1f} %" for name, gap in gaps.items())
    return f"Table 2, largest difference of a cell: {told}." if told else ""


def _table_3(options: Options) -> str:
    pairs = [
        f"{row['set']} {float(row['ours']):.2f} ({row['paper']})"
        for row in _rows(options, "table-3.csv")
        if row["paper"]
    ]
    told = ", ".join(pairs)
    return f"Table 3, percent here and in the paper: {told}." if pairs else ""


def _ranking(options: Options) -> str:
    """The ranking at the largest epsilon of the paper, whose sampler beats both perturbations."""
    keys = ("set", "mechanism", "variant", "epsilon")
    rows = newest(_rows(options, "figure-5.csv"), keys)
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
    rows = newest(_rows(options, "agreement.csv"), ("set", "variant"))
    lines = []
    for variant in dict.fromkeys(row["variant"] for row in rows):
        told = ", ".join(_verdict(row) for row in rows if row["variant"] == variant)
        lines.append(f"The chain *{variant}* against the reference density: {told}.")
    if rows:
        lines.append(
            "The paper takes a stable MRE for convergence. It does not show it: the table under"
            " Figure 3 has the effective sample size of the worst coordinate after as many epochs."
        )
    return lines


def _verdict(row: dict[str, str]) -> str:
    word = {"yes": "accepted", "no": "rejected"}.get(row["accepted"], row["accepted"])
    if not row["variance_ratio"]:
        return f"{row['set']} {word}: no coordinate has mixed"
    return (
        f"{row['set']} {word} on the {row['judged']} of {row['coordinates']} coordinates that have"
        f" mixed (variance {float(row['variance_ratio']):.2g} of the reference's; largest score over"
        f" all coordinates {float(row['worst_of_all']):.2g}, limit {float(row['limit']):.2g})"
    )


def _rows(options: Options, name: str) -> Rows:
    return Results(options.results / name, (), ()).rows()
