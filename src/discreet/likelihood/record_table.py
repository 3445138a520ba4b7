"""The same sums by tables in c = beta'x, when a batch has more records than its tables have columns.

Within a step all records share the baseline, so phi(a_k + c) at a node k is one smooth function of
c. It is evaluated at 10 Chebyshev points of every cell, 3/2 wide, that the batch touches, and a
record combines those values with its weights in time (`RecordRule`) and its cardinal functions

    l_j(u) = prod_{m != j} (u - u_m) / (u_j - u_m),    u in [-1, 1] within the cell:

    sum_{s <= t} phi(a_s + c) = sum_j l_j(u) (before_j + sum_k partial[t, k] phi(a_k + c_j)).

All three losses are analytic for |Im eta| < 2.8, so the error falls as 7.6^-10 = 2e-9, below that
of the rule in time. Records of one (cell, panel) are next to each other, in *slots*, and every inner
loop runs over slots. Slots and offsets are unsigned and arrays are flat with a constant stride:
then the compiler sees that nothing overlaps, and vectorises.
"""

import math

import numpy as np
from numpy.typing import NDArray

from discreet.likelihood.jit import compiled, reordered
from discreet.likelihood.record_context import LENGTH, PANEL, Rule, Scratch
from discreet.likelihood.record_functions import ODDS
from discreet.likelihood.record_rule import NODES
from discreet.types import Array

Size = tuple[int, int]
"""Cells, panels."""

COLUMNS = 10
"""Points a cell."""
WIDTH = 1.5
"""Of a cell."""
STRIDE = 1016
"""Slots: 64 bytes less than two pages, so that a row ends in other bits than the one before."""

_U = np.uint64
_CELLS_A_UNIT = 1.0 / WIDTH
_POINTS = np.cos(np.pi * (np.arange(COLUMNS) + 0.5) / COLUMNS)
_NORMS = np.array(
    [1.0 / np.prod(np.delete(point - _POINTS, index)) for index, point in enumerate(_POINTS)]
)
_S = _U(STRIDE)
_S2, _S3, _S4, _S5, _S6, _S7, _S8, _S9, _S10, _S11 = (_U(k * STRIDE) for k in range(2, 12))


@compiled
def count_cells(scratch: Scratch, count: int) -> tuple[float, int]:
    """The lower end of the first cell and how many there are; 0 cells where tables do not pay.

    The cells lie around the middle of the batch: as few as there can be.
    """
    lowest, highest = math.inf, -math.inf
    for row in range(count):
        lowest = min(lowest, scratch.positions[row])
        highest = max(highest, scratch.positions[row])
    # also false for what is not a number
    if not (abs(lowest) < 1e6 and abs(highest) < 1e6 and count < STRIDE):
        return 0.0, 0
    cells = math.floor((highest - lowest) / WIDTH) + 1
    origin = 0.5 * (lowest + highest - cells * WIDTH)
    return (origin, cells) if 2 * COLUMNS * cells <= count else (0.0, 0)


@compiled
def spread_cells(scratch: Scratch, origin: float, size: Size, form: int) -> None:
    """y = exp(a_k) exp(c_j), or eta = a_k + c_j, by (cell, panel, node) and column."""
    cells, panels = size
    columns, points = scratch.odds_columns, scratch.points
    for cell in range(cells):
        for j in range(COLUMNS):
            place = origin + WIDTH * (cell + 0.5 + 0.5 * _POINTS[j])
            points[j] = math.exp(place) if form == ODDS else place
        for panel in range(panels):
            for node in range(NODES):
                line = (cell * panels + panel) * NODES + node
                factor, effect = scratch.factors[panel, node], scratch.effects[panel, node]
                for j in range(COLUMNS):
                    columns[line, j] = factor * points[j] if form == ODDS else effect + points[j]


@compiled
def sum_before(rule: Rule, level: int, values: Array, before: Array, size: Size) -> None:
    """before[cell, panel] = the sum over all panels of the cell that end earlier."""
    cells, panels = size
    start = rule.panel_starts[level]
    for cell in range(cells):
        for j in range(COLUMNS):
            before[cell * panels, j] = 0.0
        for panel in range(1, panels):
            here = cell * panels + panel
            for j in range(COLUMNS):
                total = before[here - 1, j]
                for node in range(NODES):
                    weight = rule.full[start + panel - 1, node]
                    total += weight * values[(here - 1) * NODES + node, j]
                before[here, j] = total


@compiled
def take_slots(scratch: Scratch, origin: float, size: Size, count: int) -> None:
    """A slot for every row with intervals, those of one (cell, panel) together; -1 for the rest."""
    rows, slots, starts, groups = scratch.rows, scratch.slots, scratch.starts, size[0] * size[1]
    starts[: groups + 1] = 0
    for row in range(count):
        last = rows[row + 1, PANEL] - rows[row, PANEL] - 1
        cell = int((scratch.positions[row] - origin) * _CELLS_A_UNIT)
        cell = min(max(cell, 0), size[0] - 1)
        slots[row] = cell * size[1] + last if last >= 0 else -1
        if last >= 0:
            starts[slots[row] + 1] += 1
    for group in range(groups):
        starts[group + 1] += starts[group]
    for row in range(count):
        if slots[row] >= 0:
            group = slots[row]
            slots[row] = starts[group]
            starts[group] += 1
    for group in range(groups, 0, -1):
        starts[group] = starts[group - 1]
    starts[0] = 0


@compiled
def fill_slots(
    rule: Rule, level: int, scratch: Scratch, cells: tuple[float, int], count: int
) -> None:
    """Weights in time and place in the cell, by slot."""
    weights, places, partial = scratch.weights, scratch.places, rule.partial
    for row in range(count):
        if scratch.slots[row] >= 0:
            slot, length = _U(scratch.slots[row]), scratch.rows[row, LENGTH]
            away = (scratch.positions[row] - cells[0]) * _CELLS_A_UNIT
            places[slot] = 2.0 * (away - min(max(int(away), 0), cells[1] - 1)) - 1.0
            for node in range(NODES):
                weights[_U(node) * _S + slot] = partial[level, length, node]


@compiled
def fill_cardinals(scratch: Scratch, slots: int) -> None:
    """l_j(u) by products from both ends; the values so far are a factor of every later one."""
    places, out, rest = scratch.places, scratch.cardinals, scratch.products
    for index in range(slots):
        out[index] = 1.0
        rest[index] = 1.0
    for j in range(1, COLUMNS):
        here, before, point = _U(j) * _S, _U(j - 1) * _S, _POINTS[j - 1]
        for index in range(slots):
            slot = _U(index)
            out[here + slot] = out[before + slot] * (places[slot] - point)
    for j in range(COLUMNS - 1, -1, -1):
        here, point, norm = _U(j) * _S, _POINTS[j], _NORMS[j]
        for index in range(slots):
            slot = _U(index)
            out[here + slot] *= norm * rest[slot]
            rest[slot] *= places[slot] - point


@compiled
def sum_losses(scratch: Scratch, size: Size, count: int) -> None:
    """The sums of phi, by slot and then by row: for every column the sum over nodes."""
    starts, table, sums = scratch.starts, scratch.loss_columns, scratch.slot_losses
    weights, cardinals = scratch.weights, scratch.cardinals
    for group in range(size[0] * size[1]):
        for index in range(starts[group], starts[group + 1]):
            sums[_U(index)] = 0.0
        for j in range(COLUMNS):
            line, here, before = group * NODES, _U(j) * _S, scratch.loss_before[group, j]
            v0, v1, v2 = table[line, j], table[line + 1, j], table[line + 2, j]
            v3, v4, v5 = table[line + 3, j], table[line + 4, j], table[line + 5, j]
            v6, v7, v8 = table[line + 6, j], table[line + 7, j], table[line + 8, j]
            v9, va, vb = table[line + 9, j], table[line + 10, j], table[line + 11, j]
            for index in range(starts[group], starts[group + 1]):
                slot = _U(index)
                first = v0 * weights[slot] + v1 * weights[slot + _S] + v2 * weights[slot + _S2]
                second = v3 * weights[slot + _S3] + v4 * weights[slot + _S4]
                third = v5 * weights[slot + _S5] + v6 * weights[slot + _S6]
                fourth = v7 * weights[slot + _S7] + v8 * weights[slot + _S8]
                fifth = v9 * weights[slot + _S9] + va * weights[slot + _S10]
                sixth = vb * weights[slot + _S11] + before
                total = ((first + second) + (third + fourth)) + (fifth + sixth)
                sums[slot] += cardinals[here + slot] * total

    for row in range(count):
        slot = scratch.slots[row]
        scratch.row_losses[row] = sums[_U(slot)] if slot >= 0 else 0.0


@compiled
def sum_slopes(
    rule: Rule, level: int, scratch: Scratch, size: Size, count: int, gradient: Array
) -> None:
    """The sums of phi' by row, and gradient += sum over nodes of B_k times that of C_v' phi' there.

    Records that leave in a panel count there by their weights, later ones (`points`) by whole ones.
    """
    slots, shares, (cells, panels) = scratch.slots, scratch.slot_shares, size
    for row in range(count):
        if slots[row] >= 0:
            shares[_U(slots[row])] = scratch.shares[row]
    for cell in range(cells):
        scratch.points[:] = 0.0
        for panel in range(panels - 1, -1, -1):
            place = (rule.panel_starts[level] + panel, cell * panels + panel)
            _add_panel(rule, place, scratch, gradient)
            for j in range(COLUMNS if panel > 0 else 0):
                scratch.points[j] += _dot(scratch.cardinals, shares, scratch.starts, (place[1], j))
    for row in range(count):
        slot = slots[row]
        scratch.row_slopes[row] = scratch.slot_slopes[_U(slot)] if slot >= 0 else 0.0


@compiled
def _add_panel(rule: Rule, place: tuple[int, int], scratch: Scratch, gradient: Array) -> None:
    panel, group = place
    start, stop = scratch.starts[group], scratch.starts[group + 1]
    values, slopes = scratch.products, scratch.slot_slopes
    _interpolate(scratch.cardinals, scratch.slope_before, group, (start, stop), slopes)
    for node in range(NODES):
        line = group * NODES + node
        _interpolate(scratch.cardinals, scratch.slope_columns, line, (start, stop), values)
        _weigh(values, scratch.weights, node, start, stop)
        total = _share(values, scratch.slot_shares, slopes, start, stop)
        total += rule.full[panel, node] * _inner(scratch.slope_columns, line, scratch.points)
        for index in range(rule.basis.shape[2]):
            gradient[index] += total * rule.basis[panel, node, index]


@compiled
def _weigh(values: Array, weights: Array, node: int, start: int, stop: int) -> None:
    """values *= w_k; a loop of its own with plain limits, or it does not vectorise."""
    here = _U(node) * _S
    for index in range(start, stop):
        values[_U(index)] *= weights[here + _U(index)]


@reordered
def _share(values: Array, shares: Array, slopes: Array, start: int, stop: int) -> float:
    """slopes += values; returns the sum of C_v' times the values."""
    total = 0.0
    for index in range(start, stop):
        slopes[_U(index)] += values[_U(index)]
        total += values[_U(index)] * shares[_U(index)]
    return total


@compiled
def _interpolate(
    cardinals: Array, table: Array, line: int, span: tuple[int, int], out: Array
) -> None:
    """out = sum_j l_j(u) table[line, j] for the slots of one group."""
    v0, v1, v2, v3 = table[line, 0], table[line, 1], table[line, 2], table[line, 3]
    v4, v5, v6, v7 = table[line, 4], table[line, 5], table[line, 6], table[line, 7]
    v8, v9 = table[line, 8], table[line, 9]
    for index in range(span[0], span[1]):
        slot = _U(index)
        first = v0 * cardinals[slot] + v1 * cardinals[slot + _S]
        second = v2 * cardinals[slot + _S2] + v3 * cardinals[slot + _S3]
        third = v4 * cardinals[slot + _S4] + v5 * cardinals[slot + _S5]
        fourth = v6 * cardinals[slot + _S6] + v7 * cardinals[slot + _S7]
        fifth = v8 * cardinals[slot + _S8] + v9 * cardinals[slot + _S9]
        out[slot] = ((first + second) + (third + fourth)) + fifth


@reordered
def _inner(table: Array, line: int, points: Array) -> float:
    """sum_j table[line, j] points_j."""
    total = 0.0
    for j in range(COLUMNS):
        total += table[line, j] * points[j]
    return total


@reordered
def _dot(values: Array, factors: Array, starts: NDArray[np.int64], place: tuple[int, int]) -> float:
    """sum over the slots of a group of one row of values times factors."""
    group, line = place
    here, total = _U(line) * _S, 0.0
    for index in range(starts[group], starts[group + 1]):
        total += values[here + _U(index)] * factors[_U(index)]
    return total
