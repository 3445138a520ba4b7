"""Sums over time with every record at nodes of its own: what tables in c do not cover.

A record's panels are next to each other from its flat panel on, `rows[row, PANEL]`.
"""

import math

from discreet.likelihood.jit import compiled
from discreet.likelihood.record_context import LENGTH, PANEL, Rule, Scratch
from discreet.likelihood.record_rule import NODES
from discreet.types import Array, Integers


@compiled
def spread_product(
    rows: Integers, positions: Array, factors: Array, odds: Array, count: int
) -> None:
    """odds = exp(a_k) exp(c)."""
    for row in range(count):
        start, scale = rows[row, PANEL], math.exp(positions[row])
        for panel in range(rows[row + 1, PANEL] - start):
            for node in range(NODES):
                odds[start + panel, node] = scale * factors[panel, node]


@compiled
def spread_sum(rows: Integers, positions: Array, effects: Array, odds: Array, count: int) -> None:
    """odds = a_k + c."""
    for row in range(count):
        start = rows[row, PANEL]
        for panel in range(rows[row + 1, PANEL] - start):
            for node in range(NODES):
                odds[start + panel, node] = effects[panel, node] + positions[row]


@compiled
def weigh(rule: Rule, level: int, scratch: Scratch, count: int) -> None:
    """Multiply losses and slopes of every row by the weights of its prefix 1 ... LENGTH."""
    rows, full, partial = scratch.rows, rule.full, rule.partial
    losses, slopes = scratch.losses, scratch.slopes
    first = rule.panel_starts[level]
    for row in range(count):
        start, length = rows[row, PANEL], rows[row, LENGTH]
        last = rows[row + 1, PANEL] - start - 1
        for panel in range(last):
            for node in range(NODES):
                losses[start + panel, node] *= full[first + panel, node]
                slopes[start + panel, node] *= full[first + panel, node]
        if last >= 0:
            for node in range(NODES):
                losses[start + last, node] *= partial[level, length, node]
                slopes[start + last, node] *= partial[level, length, node]


@compiled
def weigh_late(rule: Rule, level: int, scratch: Scratch, count: int) -> None:
    """The same for rows that enter late: weights of 1 ... LENGTH less those of 1 ... entry."""
    rows = scratch.rows
    for row in range(count):
        start, entry = rows[row, PANEL], scratch.entries[row]
        for panel in range(rows[row + 1, PANEL] - start):
            for node in range(NODES):
                weight = _weight(rule, level, rows[row, LENGTH], panel, node)
                weight -= _weight(rule, level, entry, panel, node)
                scratch.losses[start + panel, node] *= weight
                scratch.slopes[start + panel, node] *= weight


@compiled
def _weight(rule: Rule, level: int, length: int, panel: int, node: int) -> float:
    last = rule.counts[level, length] - 1
    if panel < last:
        return float(rule.full[rule.panel_starts[level] + panel, node])
    return float(rule.partial[level, length, node]) if panel == last else 0.0


@compiled
def total_rows(scratch: Scratch, count: int) -> None:
    """The sums of phi and phi' over the intervals of every row."""
    rows = scratch.rows
    for row in range(count):
        loss, slope = 0.0, 0.0
        for panel in range(rows[row, PANEL], rows[row + 1, PANEL]):
            loss += _total(scratch.losses, panel)
            slope += _total(scratch.slopes, panel)
        scratch.row_losses[row] = loss
        scratch.row_slopes[row] = slope


@compiled
def add_baseline(rule: Rule, level: int, scratch: Scratch, count: int, gradient: Array) -> None:
    """gradient += sum over nodes of B_k times the sum of C_v' phi' there."""
    rows, slopes, collected = scratch.rows, scratch.slopes, scratch.collected
    first = rule.panel_starts[level]
    panels = rule.panel_starts[level + 1] - first
    collected[:panels] = 0.0
    for row in range(count):
        start, share = rows[row, PANEL], scratch.shares[row]
        for panel in range(rows[row + 1, PANEL] - start):
            for node in range(NODES):
                collected[panel, node] += share * slopes[start + panel, node]
    for panel in range(panels):
        for node in range(NODES):
            for index in range(rule.basis.shape[2]):
                gradient[index] += collected[panel, node] * rule.basis[first + panel, node, index]


@compiled
def _total(values: Array, row: int) -> float:
    """The sum of a panel as a tree: without fast-math the compiler may not reorder it."""
    left = (values[row, 0] + values[row, 1]) + (values[row, 2] + values[row, 3])
    middle = (values[row, 4] + values[row, 5]) + (values[row, 6] + values[row, 7])
    right = (values[row, 8] + values[row, 9]) + (values[row, 10] + values[row, 11])
    return float(left + middle + right)
