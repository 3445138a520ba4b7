"""Compiled sums over the sanitized losses of a batch of persons.

For person i with loss l_i(f) and the sanitizer C_v(l) = v tanh(l/v):

    value = sum_i C_v(l_i),    gradient = sum_i C_v'(l_i) grad l_i,    C_v' = 1 - tanh^2(l_i/v).

Passes over the batch: decode the records, fill the panels they use (`RecordRule`), evaluate all
(record, node) pairs in flat loops, then weigh, sanitize and add. A context belongs to one thread:
it holds the scratch space. Indices inside hot loops come straight from `range`: numba then knows
that they are not negative, and the loop vectorises.
"""

import math

import numpy as np
from numpy.typing import NDArray

from discreet.likelihood.jit import compiled
from discreet.likelihood.record_context import EVENT, LENGTH, PANEL, Context, People, Rule, Scratch
from discreet.likelihood.record_functions import (
    CLOGLOG,
    LARGEST,
    LOGIT,
    PROBIT,
    event_loss,
    exponential,
    exponential_everywhere,
    logistic,
    logistic_everywhere,
    probit_everywhere,
)
from discreet.likelihood.record_rule import NODES

Array = NDArray[np.float64]
Integers = NDArray[np.int64]


@compiled
def sanitized_sums(context: Context, f: Array, picks: Integers, gradient: Array) -> float:
    """Sum value and gradient over the persons ``picks``; a person may be picked twice."""
    people, rule, scratch = context
    level = choose_level(rule, f)
    panels = prepare(rule, level, f, scratch.effects, scratch.factors)
    rows = gather(people, picks, scratch)
    decode(people, rule.counts, level, f, scratch, rows)
    evaluate(people, scratch, rows, panels)
    if len(people.entries):
        weigh_late(rule, level, scratch, rows)
    else:
        weigh(rule, level, scratch, rows)
    total_rows(scratch, rows)
    value = sanitize(people, scratch, f, picks)
    for index in range(len(gradient)):
        gradient[index] = 0.0
    add(people, scratch, rows, gradient)
    add_baseline(rule, level, scratch, rows, gradient)
    return value


@compiled
def sanitized_total(
    context: Context, f: Array, blocks: tuple[int, Integers], gradient: Array
) -> float:
    """The same over all persons, in blocks of the length of ``picks``; blocks = (n, picks)."""
    persons, picks = blocks
    here = np.zeros(len(gradient))
    value = 0.0
    for index in range(len(gradient)):
        gradient[index] = 0.0
    for first in range(0, persons, len(picks)):
        count = min(len(picks), persons - first)
        for index in range(count):
            picks[index] = first + index
        value += sanitized_sums(context, f, picks[:count], here)
        for index in range(len(gradient)):
            gradient[index] += here[index]
    return value


@compiled
def choose_level(rule: Rule, f: Array) -> int:
    """The first level on which the baseline effect stays within reach, else the last.

    |x| <= 1, so c is at most |beta|: the deeper a + c lies below zero, the farther is i pi.
    """
    size, last = rule.checks.shape[2], len(rule.panel_starts) - 2
    highest = 0.0
    for index in range(size, len(f)):
        highest += f[index] * f[index]
    highest = math.sqrt(highest)
    for level in range(last):
        fits = True
        for panel in range(rule.panel_starts[level], rule.panel_starts[level + 1]):
            fits = fits and _fits(rule, panel, f, highest)
        if fits:
            return level
    return last


@compiled
def _fits(rule: Rule, panel: int, f: Array, highest: float) -> bool:
    middle, wandering = 0.0, 0.0
    for order in range(4):
        coefficient = 0.0
        for index in range(rule.checks.shape[2]):
            coefficient += rule.checks[panel, order, index] * f[index]
        if order == 0:
            middle = coefficient
        else:
            wandering += abs(coefficient)
    below = rule.depth * min(middle + highest, 0.0)
    # a comparison with NaN is false: such a point does not fit
    return wandering * wandering <= rule.reach * rule.reach + below * below


@compiled
def prepare(rule: Rule, level: int, f: Array, effects: Array, factors: Array) -> int:
    """a_k = alpha'B_k and exp(a_k) at the nodes of the level; returns its number of panels."""
    first = rule.panel_starts[level]
    panels = rule.panel_starts[level + 1] - first
    for panel in range(panels):
        for node in range(NODES):
            effect = 0.0
            for index in range(rule.basis.shape[2]):
                effect += rule.basis[first + panel, node, index] * f[index]
            effects[panel, node] = effect
            factors[panel, node] = math.exp(min(max(effect, -LARGEST), LARGEST))
    return int(panels)


@compiled
def gather(people: People, picks: Integers, scratch: Scratch) -> int:
    """Copy the rows of the picked persons next to each other; returns their number.

    Nothing is computed here, so that many of the scattered reads are under way at once.
    """
    records, offsets, batch = people.records, people.offsets, scratch.batch
    row = 0
    for pick in picks:
        first, last = pick, min(pick + 1, len(records))
        if len(offsets):
            first, last = offsets[pick], offsets[pick + 1]
        for record in range(first, last):
            for column in range(records.shape[1]):
                batch[row, column] = records[record, column]
            scratch.codes[row] = people.codes[record]
            if len(people.entries):
                scratch.entries[row] = people.entries[record]
            row += 1
    return row


@compiled
def decode(
    people: People, counts: Integers, level: int, f: Array, scratch: Scratch, count: int
) -> None:
    """Positions c = beta'x, survived intervals, event intervals and flat panels of the rows."""
    batch, rows, size = scratch.batch, scratch.rows, people.design.shape[1]
    panel = 0
    for row in range(count):
        position = 0.0
        for column in range(batch.shape[1]):
            position += batch[row, column] * f[size + column]
        scratch.positions[row] = position
        event, stop = scratch.codes[row] & 1, scratch.codes[row] >> 1
        survived = stop if people.link == LOGIT else stop - event
        rows[row, PANEL] = panel
        rows[row, LENGTH] = survived
        rows[row, EVENT] = stop * event
        panel += counts[level, survived]
    rows[count, PANEL] = panel


@compiled
def evaluate(people: People, scratch: Scratch, rows: int, panels: int) -> None:
    """phi and phi' at every (row, node) in use."""
    total = scratch.rows[rows, PANEL] * NODES
    odds, losses, slopes = scratch.flat_odds, scratch.flat_losses, scratch.flat_slopes
    if people.link != PROBIT and _is_moderate(scratch, rows, panels):
        _spread_product(scratch.rows, scratch.positions, scratch.factors, scratch.odds, rows)
        if people.link == LOGIT:
            bits, loss_bits = scratch.flat_bits, scratch.flat_loss_bits
            logistic(odds, bits, losses, loss_bits, slopes, total)
        else:
            exponential(odds, losses, slopes, total)
        return
    _spread_sum(scratch.rows, scratch.positions, scratch.effects, scratch.odds, rows)
    if people.link == LOGIT:
        logistic_everywhere(odds, losses, slopes, total)
    elif people.link == CLOGLOG:
        exponential_everywhere(odds, losses, slopes, total)
    else:
        probit_everywhere(people.table, odds, losses, slopes, total)


@compiled
def _is_moderate(scratch: Scratch, rows: int, panels: int) -> bool:
    """Whether exp(a) exp(c) is safe for every pair."""
    highest, widest = 0.0, 0.0
    for panel in range(panels):
        for node in range(NODES):
            highest = max(highest, abs(scratch.effects[panel, node]))
    for row in range(rows):
        widest = max(widest, abs(scratch.positions[row]))
    return highest + widest < LARGEST


@compiled
def _spread_product(
    rows: Integers, positions: Array, factors: Array, odds: Array, count: int
) -> None:
    """odds = exp(a_k) exp(c)."""
    for row in range(count):
        start, scale = rows[row, PANEL], math.exp(positions[row])
        for panel in range(rows[row + 1, PANEL] - start):
            for node in range(NODES):
                odds[start + panel, node] = scale * factors[panel, node]


@compiled
def _spread_sum(rows: Integers, positions: Array, effects: Array, odds: Array, count: int) -> None:
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
    """sums[row] = (sum of phi, sum of phi') over the row's intervals."""
    rows, sums = scratch.rows, scratch.sums
    for row in range(count):
        loss, slope = 0.0, 0.0
        for panel in range(rows[row, PANEL], rows[row + 1, PANEL]):
            loss += _total(scratch.losses, panel)
            slope += _total(scratch.slopes, panel)
        sums[row, 0] = loss
        sums[row, 1] = slope


@compiled
def sanitize(people: People, scratch: Scratch, f: Array, picks: Integers) -> float:
    """Multiply sums and slopes of every row by C_v' of its person; returns the sum of C_v."""
    rows, sums, offsets = scratch.rows, scratch.sums, people.offsets
    row, value = 0, 0.0
    for pick in picks:
        count = 1 if pick < len(people.records) else 0
        if len(offsets):
            count = offsets[pick + 1] - offsets[pick]
        loss = 0.0
        for step in range(row, row + count):
            event, slope = 0.0, 0.0
            if rows[step, EVENT] > 0:
                event, slope = _event(people, f, rows[step, EVENT], scratch.positions[step])
            # interpolation may leave a sum of positive terms a rounding below zero
            loss += max(sums[step, 0] + event, 0.0)
            sums[step, 2] = slope
        decay = math.exp(-2.0 * loss / people.bound)
        value += people.bound * (1.0 - decay) / (1.0 + decay)
        for step in range(row, row + count):
            sums[step, 3] = 4.0 * decay / ((1.0 + decay) * (1.0 + decay))
        row += count
    return value


@compiled
def add(people: People, scratch: Scratch, count: int, gradient: Array) -> None:
    """gradient += C_v' (sum phi' + psi') x and C_v' psi' B_event."""
    batch, design, sums = scratch.batch, people.design, scratch.sums
    size = design.shape[1]
    for row in range(count):
        event = sums[row, 3] * sums[row, 2]
        scale = sums[row, 3] * sums[row, 1] + event
        for column in range(batch.shape[1]):
            gradient[size + column] += scale * batch[row, column]
        stop = scratch.rows[row, EVENT]
        if stop > 0:
            for index in range(size):
                gradient[index] += event * design[stop - 1, index]


@compiled
def add_baseline(rule: Rule, level: int, scratch: Scratch, count: int, gradient: Array) -> None:
    """gradient += sum over nodes of B_k times the sum of C_v' phi' there."""
    rows, sums, slopes, collected = scratch.rows, scratch.sums, scratch.slopes, scratch.collected
    first = rule.panel_starts[level]
    panels = rule.panel_starts[level + 1] - first
    collected[:panels] = 0.0
    for row in range(count):
        start, sanitizer = rows[row, PANEL], sums[row, 3]
        for panel in range(rows[row + 1, PANEL] - start):
            for node in range(NODES):
                collected[panel, node] += sanitizer * slopes[start + panel, node]
    for panel in range(panels):
        for node in range(NODES):
            for index in range(rule.basis.shape[2]):
                gradient[index] += collected[panel, node] * rule.basis[first + panel, node, index]


@compiled
def _event(people: People, f: Array, stop: int, position: float) -> tuple[float, float]:
    """psi and psi' at the event's interval (for logit, what they add to phi and phi')."""
    eta = position
    for index in range(people.design.shape[1]):
        eta += people.design[stop - 1, index] * f[index]
    return event_loss(people.link, people.table, eta)


@compiled
def _total(values: Array, row: int) -> float:
    """The sum of a panel as a tree: without fast-math the compiler may not reorder it."""
    left = (values[row, 0] + values[row, 1]) + (values[row, 2] + values[row, 3])
    middle = (values[row, 4] + values[row, 5]) + (values[row, 6] + values[row, 7])
    right = (values[row, 8] + values[row, 9]) + (values[row, 10] + values[row, 11])
    return float(left + middle + right)
