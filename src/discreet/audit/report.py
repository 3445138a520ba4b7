"""An audit as a table, a JSON file and a picture."""

import io
import math
from itertools import groupby
from typing import TYPE_CHECKING

from discreet.audit.run import Audit
from discreet.documents.strict import serialise

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.table import Table

WIDTHS = {"claimed": 15, "measured": 16, "verdict": 10}
COLOURS = {"pass": "green", "fail": "bold red", "not applicable": "dim"}
CLAIM, MEASURED = "#0072B2", "#D55E00"
LABELS = {"witness": "at the worst neighbours", "end to end": "from outcomes of real fits"}
TRIED = {
    "witness": "what the noise that is drawn spends for the worst pair of neighbours",
    "constants": "the numbers of the proof page, computed a second time",
    "neighbours": "people made to move a release as far as they can",
    "law": "whether noise has its law to the last bits and is fresh",
    "replay": "the same noise over other people",
    "questions": "every sum over people and every answer",
    "refusals": "settings that promise nothing",
    "end to end": "whether outcomes alone tell two tables apart",
}
CANNOT = (
    "Cannot show: that the proof is right (docs/proofs), what only other people, schemas or settings "
    "would bring to light, and more than the bound that outcomes give. No real records were used."
)


def table(audit: Audit) -> "Table":
    """A section a family, the note under its check; texts are shown, never interpreted.

    The three short columns keep to widths that leave the words of a check room on 80 columns.
    """
    from rich.box import HORIZONTALS  # noqa: PLC0415 - slow to import
    from rich.console import Group  # noqa: PLC0415
    from rich.padding import Padding  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    title = Text(f"Audit of {audit.subject}")
    found = Table(title=title, title_justify="left", box=HORIZONTALS, padding=(0, 1, 0, 0))
    found.add_column("check", overflow="fold")
    for heading, width in WIDTHS.items():
        found.add_column(heading, overflow="fold", max_width=width)
    for family, items in groupby(audit.findings, lambda item: item.family):
        found.add_row(Text(family, style="bold"))
        for item in items:
            check = [Padding(Text(item.check), (0, 0, 0, 1))]
            if item.note:
                check.append(Padding(Text(item.note, style="dim"), (0, 0, 0, 3)))
            cells = map(Text, (item.claimed, item.measured))
            found.add_row(Group(*check), *cells, Text(item.verdict, style=COLOURS[item.verdict]))
        found.add_section()
    return found


def words(audit: Audit) -> str:
    """Sentences on what was tried, what was found and what this cannot show."""
    ran = [item for item in audit.findings if item.verdict != "not applicable"]
    failed = [item for item in ran if item.failed]
    tried = "; ".join(TRIED[name] for name in TRIED if name in {item.family for item in ran})
    found = "; ".join(f"{item.check} ({item.measured}, claimed {item.claimed})" for item in failed)
    ended = f"{len(failed)} of {len(ran)} checks failed: {found}." if failed else "Nothing failed."
    if not tried:
        return ended
    lines = [f"Tried, in {len(ran)} checks: {tried}.", ended, CANNOT]
    if len(ran) < len(audit.findings):
        skipped = len(audit.findings) - len(ran)
        lines[1] += f" Not applicable, or with too few outcomes to tell: {skipped}."
    return "\n".join(lines)


def content(audit: Audit) -> bytes:
    """The JSON file."""
    return serialise(audit.to_mapping())


def picture(audit: Audit) -> "Figure":
    """Claimed epsilon against what was measured: witness, lower bound of outcomes."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to import

    epsilon = float(audit.facts["epsilon"])
    items = []
    for item in reversed(audit.findings):
        claimed = item.numbers.get("claimed", math.nan)
        measured = item.numbers.get("measured", math.nan)
        # what was measured is an epsilon where the claim is the audited one, to rounding
        is_epsilon = item.family in LABELS and abs(claimed - epsilon) <= 1e-9 * claimed
        if is_epsilon and measured < math.inf:
            items.append(item)
    figure = Figure(figsize=(7.5, 1.5 + 0.6 * len(items)), layout="constrained")
    axes = figure.subplots()
    values = [item.numbers["measured"] for item in items]
    labels = [f"{LABELS[item.family]}\n({item.check})" for item in items]
    bars = axes.barh(labels, values, color=MEASURED, height=0.55)
    axes.bar_label(bars, [f"{value:.3g}" for value in values], padding=5)
    axes.axvline(epsilon, color=CLAIM, linewidth=2)
    axes.text(epsilon, 1.01, f"claimed: {epsilon:g}", color=CLAIM, ha="center", va="bottom",
              transform=axes.get_xaxis_transform())  # fmt: skip
    axes.set_xlim(0.0, max([1.15 * epsilon, *(1.05 * value for value in values)]))
    axes.set_xlabel("epsilon measured")
    figure.suptitle(f"Audit of {audit.subject}", x=0.01, ha="left", fontweight="bold")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    return figure


def picture_content(audit: Audit) -> bytes:
    """The picture as a PNG file."""
    buffer = io.BytesIO()
    picture(audit).savefig(buffer, format="png", dpi=150)
    return buffer.getvalue()
