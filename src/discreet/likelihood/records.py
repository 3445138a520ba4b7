"""Sanitized losses person by person, for samplers: minibatches and totals.

    total(f) = sum_i C_v(l_i(f)),   C_v(l) = v tanh(l/v),   0 <= C_v < v.

The cost of a record does not grow with the number of intervals (`record_rule`).
Reference: Nguyen and Hui, section 5.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discreet.design.design import Design
from discreet.design.link import Link, Probit
from discreet.likelihood.record_context import Context, People, Rule, Scratch
from discreet.likelihood.record_functions import CELLS, TABLE_REACH
from discreet.likelihood.record_kernel import sanitized_total
from discreet.likelihood.record_rule import NODES, make_rule
from discreet.likelihood.record_table import COLUMNS, STRIDE
from discreet.likelihood.score import LINK_KINDS
from discreet.people.episodes import Episodes
from discreet.types import Array, Integers

BLOCK = 200
"""Persons evaluated together: their scratch space stays in the second-level cache."""

PAGE = 512
"""4 KiB in floats."""


@dataclass(frozen=True, eq=False)
class SanitizedRecords:
    """The persons of a block with the public rule for their sums over time."""

    episodes: Episodes
    design: Design
    link: Link
    bound: float

    @property
    def persons(self) -> int:
        """n, those who are never at risk included."""
        return self.episodes.persons

    @property
    def dimension(self) -> int:
        """d."""
        return self.design.dimension

    def context(self, batch: int = BLOCK) -> Context:
        """What compiled code needs to sum over `batch` persons; one for each thread."""
        return Context(self._people, self._rule, self._scratch(batch * self._rows_a_person))

    def total(self, f: Array) -> tuple[float, Array]:
        """Value and gradient of the sanitized loss over all persons."""
        gradient = np.zeros(self.dimension)
        picks = np.zeros(BLOCK, dtype=np.int64)
        value = sanitized_total(self._context, f, (self.persons, picks), gradient)
        return value, gradient

    @cached_property
    def _context(self) -> Context:
        return self.context()

    @cached_property
    def _people(self) -> People:
        table = _probit_table() if isinstance(self.link, Probit) else np.zeros((1, 3))
        return People(
            link=LINK_KINDS[self.link.name],
            bound=float(self.bound),
            records=self.episodes.covariates,
            codes=self.episodes.exit.astype(np.int64) * 2 + self.episodes.event,
            entries=self._entries,
            offsets=self._offsets,
            design=self.design.basis,
            table=table,
        )

    @cached_property
    def _rule(self) -> Rule:
        return Rule(**vars(make_rule(self.design, self.link)))

    def _scratch(self, rows: int) -> Scratch:
        panels = int(np.max(np.diff(self._rule.panel_starts)))
        nodes = (panels, NODES)
        decays, powers = np.zeros(rows + 1), np.zeros(rows + 1)
        odds, losses, slopes = (np.zeros((rows * panels, NODES)) for _ in range(3))
        return Scratch(
            batch=np.zeros((rows, self.episodes.dimension)),
            codes=np.zeros(rows, dtype=np.int64),
            entries=np.zeros(rows, dtype=np.int64),
            rows=np.zeros((rows + 1, 3), dtype=np.int64),
            positions=np.zeros(rows),
            row_losses=np.zeros(rows),
            row_slopes=np.zeros(rows),
            event_slopes=np.zeros(rows),
            shares=np.zeros(rows),
            effects=np.zeros(nodes),
            factors=np.zeros(nodes),
            collected=np.zeros(nodes),
            odds=odds,
            losses=losses,
            slopes=slopes,
            flat_odds=odds.ravel(),
            flat_bits=odds.ravel().view(np.uint64),
            flat_losses=losses.ravel(),
            flat_loss_bits=losses.ravel().view(np.uint64),
            flat_slopes=slopes.ravel(),
            decays=decays,
            decay_bits=decays.view(np.uint64),
            powers=powers,
            power_bits=powers.view(np.uint64),
            **_columns(rows, panels, (odds, losses, slopes)),
        )

    @cached_property
    def _rows_a_person(self) -> int:
        return int(np.max(np.diff(self._offsets), initial=1))

    @cached_property
    def _offsets(self) -> Integers:
        offsets = self.episodes.offsets
        return np.empty(0, dtype=np.int64) if offsets is None else offsets.astype(np.int64)

    @cached_property
    def _entries(self) -> Integers:
        entries = self.episodes.entry.astype(np.int64)
        return entries if np.any(entries) else np.empty(0, dtype=np.int64)


def _columns(rows: int, panels: int, shared: tuple[Array, Array, Array]) -> dict[str, Any]:
    """Space for tables in c; there are never more of their columns than rows of the batch."""
    cells = -(-rows // COLUMNS)
    lines = rows * panels * NODES // COLUMNS
    names = ("odds_columns", "loss_columns", "slope_columns")
    views = [array.ravel()[: lines * COLUMNS].reshape(lines, COLUMNS) for array in shared]
    return dict(zip(names, views, strict=True)) | {
        "loss_before": np.zeros((cells * panels, COLUMNS)),
        "slope_before": np.zeros((cells * panels, COLUMNS)),
        "slots": np.zeros(rows, dtype=np.int64),
        "starts": np.zeros(cells * panels + 1, dtype=np.int64),
        **_slot_space(),
        "points": np.zeros(COLUMNS),
    }


def _slot_space() -> dict[str, Array]:
    """Arrays by slot, far apart in the last 12 bits of their addresses.

    A load waits for an earlier store whose address has the same last bits (4 KiB aliasing), and
    these arrays are read and written in turns: apart by chance only, a step costs up to twice as much.
    """
    sizes = {"cardinals": COLUMNS * STRIDE, "weights": NODES * STRIDE}
    sizes |= dict.fromkeys(
        ("products", "slot_losses", "slot_slopes", "slot_shares", "places"), STRIDE
    )
    space, start, made = np.zeros(2 * sum(sizes.values())), 0, {}
    for index, (name, size) in enumerate(sizes.items()):
        # the first two are read together and shift by 64 bytes a row; the rest lie 400 bytes apart
        start += (50 * (index + 2) - start) % PAGE if index > 1 else 0
        made[name] = space[start : start + size]
        start += size
    return made


def _probit_table() -> Array:
    """(phi, phi', phi'') on a grid of eta."""
    eta = np.arange(-TABLE_REACH * CELLS, TABLE_REACH * CELLS + 2) / CELLS
    link = Probit()
    columns = (
        link.survival_loss(eta),
        link.survival_loss_derivative(eta),
        link.survival_loss_curvature(eta),
    )
    return np.ascontiguousarray(np.column_stack(columns))
