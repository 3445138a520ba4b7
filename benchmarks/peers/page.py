"""docs/peers.md and its figure, from benchmarks/results/peers.csv."""

import csv
from collections import defaultdict
from pathlib import Path
from statistics import median

from matplotlib.figure import Figure
from run import PEERS

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "peers.md"
FIGURE = ROOT / "docs" / "images" / "peers.png"
LABELS = {peer.name: peer.label for peer in PEERS}
OURS = "newton"
Cells = dict[tuple[str, str, float], list[dict[str, str]]]

HEAD = """# Measured against what a user would take instead

<!-- Written by benchmarks/peers/run.py --page from benchmarks/results/peers.csv; do not edit. -->

The people, the split into 70 % to fit on and 30 % kept apart, epsilon and delta = 1e-6 are the same
for every method. `err` is the root mean square, over the effects, of (private - exact) / standard error, with
each method's **own** fit without privacy as the exact one: 1 means that privacy costs as much as sampling does.
Bounds are from general knowledge, never from the data. Every peer is tuned on the data themselves, not charged;
private Newton has nothing to tune. Medians over the draws. None of the sets was used to develop private Newton.

| set | people | source |
|---|---|---|
| nafld1 | 12,588 with all values | R survival: liver disease and controls, 8 % deaths |
| dmlate | 9,996 | R Epi: a diabetes register, 25 % deaths |
| colrec | 5,971 | R relsurv: a cancer registry, effects of stage that fade |
| mgus2 | 1,338 with all values | R survival: a blood finding, 70 % deaths, bounds much wider than the values |
| simulated-50000 | 50,000 | a proportional-hazards model of `benchmarks/peers/people.py` |

![Error against epsilon, one panel for each set](images/peers.png)
"""

OBJECTIONS = """
## What a fair reader would object to

- **The measure is the distance to a fit, in its standard errors.** It weighs effects that are known well more than
  prediction does; concordance and Brier score on people kept apart are beside it, and hardly differ where err does.
- **Who measures is the author of one of the methods.** Scripts, seeds and results are in `benchmarks/peers/`; tuning
  on the data favours the peers, what we did not think of does not.
- **Promises differ.** FDPCox, diffprivlib and noisy descent draw noise in floating point; FDPCox computes the bound on
  one record's influence at coefficients of zero and keeps it while they move (as we read its code), so its epsilon
  is taken as stated. diffprivlib protects a row; a person has up to 12 rows here, so it gets epsilon / 12. Objective
  and output perturbation are pure epsilon-DP, a stronger promise.
- **Models differ.** FDPCox fits Cox's model, diffprivlib and the paper's mechanisms the logit link (theirs need a
  bounded slope), the others cloglog.
- **Synthetic people serve every question, not only this one.** A user who needs a whole table, not one model, has to
  pay for it; and gets one.
- **Effects must fit the model.** Where they change with time (colrec), every method's single number is an average of its
  own kind; each is compared with its own.
"""


def write(results: Path) -> None:
    """Write the page and its figure."""
    cells: Cells = defaultdict(list)
    with results.open(newline="") as file:
        for row in csv.DictReader(file):
            cells[row["set"], row["peer"], float(row["epsilon"])].append(row)
    sets = list(dict.fromkeys(name for name, _, _ in cells))
    epsilons = sorted({epsilon for _, _, epsilon in cells})
    draws = sorted({len(rows) for rows in cells.values()})
    counts = f"\nDraws in a cell: {', '.join(map(str, draws))}.\n"
    parts = [
        HEAD,
        counts,
        _wins(cells),
        *(_table(cells, name, epsilons) for name in sets),
        _effects(cells),
    ]
    PAGE.write_text("".join(parts) + OBJECTIONS)
    _draw(cells, sets, epsilons)


def _number(rows: list[dict[str, str]], field: str) -> float | None:
    values = [float(row[field]) for row in rows if row[field]]
    return median(values) if values else None


def _wins(cells: Cells) -> str:
    """Return where a peer is closer to its exact fit than private Newton is; it stands first."""
    found = []
    for (name, peer, epsilon), rows in cells.items():
        ours = cells.get((name, OURS, epsilon))
        if peer == OURS or not ours:
            continue
        other, own = _number(rows, "err"), _number(ours, "err")
        if other < own:
            found.append(
                f"- {name}, epsilon {epsilon:g}: {LABELS[peer]}, err {other:.2f} against {own:.2f}"
            )
    title = "\n## Where a peer is better\n\n"
    if not found:
        return f"{title}In no cell.\n"
    return title + "\n".join(found) + "\n"


def _table(cells: Cells, name: str, epsilons: list[float]) -> str:
    head = " | ".join(f"err at {epsilon:g}" for epsilon in epsilons)
    last = epsilons[len(epsilons) // 2]
    lines = [
        f"\n## {name}\n",
        f"| | {head} | concordance at {last:g} | Brier score at {last:g} | seconds a fit |",
        "|---|" + "---|" * (len(epsilons) + 3),
    ]
    for peer, label in LABELS.items():
        if not any((name, peer, epsilon) in cells for epsilon in epsilons):
            continue
        errs = [_number(cells.get((name, peer, epsilon), []), "err") for epsilon in epsilons]
        rows = cells.get((name, peer, last), [])
        others = [_number(rows, field) for field in ("concordance", "brier", "seconds")]
        spelled = [_spelled(err, 2) for err in errs]
        spelled += [
            _spelled(value, digits) for value, digits in zip(others, (3, 4, 2), strict=True)
        ]
        lines.append(f"| {label} | {' | '.join(spelled)} |")
    return "\n".join(lines) + "\n"


def _spelled(value: float | None, digits: int) -> str:
    if value is None:
        return "none"
    return f"{value:.0f}" if value >= 100 else f"{value:.{digits}f}"


def _effects(cells: Cells) -> str:
    """Return what private Newton's intervals hold, and which effects stay significant."""
    lines = [
        "\n## Intervals, and effects that stay significant\n",
        "No peer offers intervals that include its noise. Of private Newton's: the share of exact effects inside the",
        "95 % interval, and of the effects that the exact fit finds different from 0 (at 5 %) those that the private fit",
        "finds so too, with the same sign.\n",
        "| set | epsilon | inside | kept | of | found, though the exact fit does not |",
        "|---|---|---|---|---|---|",
    ]
    for (name, peer, epsilon), rows in cells.items():
        if peer == OURS:
            inside = sum(float(row["inside"]) for row in rows) / len(rows)
            kept, wrong = (
                sum(float(row[field]) for row in rows) / len(rows) for field in ("kept", "wrong")
            )
            found = rows[0]["significant"]
            lines.append(
                f"| {name} | {epsilon:g} | {inside:.2f} | {kept:.1f} | {found} | {wrong:.2f} |"
            )
    return "\n".join(lines) + "\n"


def _draw(cells: Cells, sets: list[str], epsilons: list[float]) -> None:
    figure = Figure(figsize=(11, 3.2), layout="constrained")
    panels = figure.subplots(1, len(sets), sharey=True, squeeze=False)[0]
    styles = ["-o", "--s", ":s", "-.^", "--D", ":D", "-.v", "--x", ":x"]
    for axes, name in zip(panels, sets, strict=True):
        for (peer, label), style in zip(LABELS.items(), styles, strict=True):
            known = [
                (e, _number(cells[name, peer, e], "err"))
                for e in epsilons
                if (name, peer, e) in cells
            ]
            if known:
                width = 2.4 if peer == OURS else 1.2
                axes.loglog(
                    *zip(*known, strict=True), style, label=label, linewidth=width, markersize=4
                )
        axes.set_title(name, fontsize=10)
        axes.set_xlabel("epsilon")
        axes.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
        axes.minorticks_off()
        axes.axhline(1.0, color="0.7", linewidth=0.8, zorder=0)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("err, in standard errors")
    panels[0].set_ylim(0.1, 100)
    figure.legend(
        *panels[0].get_legend_handles_labels(),
        loc="outside lower center",
        ncols=3,
        frameon=False,
        fontsize=8,
    )
    figure.savefig(FIGURE, dpi=150)
