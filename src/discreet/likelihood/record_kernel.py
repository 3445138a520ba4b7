"""Compiled sums over the sanitized losses of a batch of persons.

For person i with loss l_i(f) and the sanitizer C_v(l) = v tanh(l/v):

    value = sum_i C_v(l_i),    gradient = sum_i C_v'(l_i) grad l_i,    C_v' = 1 - tanh^2(l_i/v).

Passes over the batch: decode the records, sum phi over their intervals (by tables in c,
`record_table`, or at the nodes of each, `record_direct`), sanitize, and add the slopes. A context
belongs to one thread: it holds the scratch space. Indices inside hot loops come straight from `range`: numba then knows
that they are not negative, and the loop vectorises.
"""

import math

import numpy as np

from discreet.likelihood.jit import compiled
from discreet.likelihood.record_context import EVENT, LENGTH, PANEL, Context, People, Rule, Scratch
from discreet.likelihood.record_direct import (
    add_baseline,
    spread_product,
    spread_sum,
    total_rows,
    weigh,
    weigh_late,
)
from discreet.likelihood.record_functions import (
    CLOGLOG,
    ETA,
    LARGEST,
    LOGIT,
    ODDS,
    PROBIT,
    exponential,
    exponential_everywhere,
    logistic,
    logistic_everywhere,
    probit_everywhere,
)
from discreet.likelihood.record_rule import NODES
from discreet.likelihood.record_sanitize import sanitize
from discreet.likelihood.record_table import (
    COLUMNS,
    count_cells,
    fill_cardinals,
    fill_slots,
    spread_cells,
    sum_before,
    sum_losses,
    sum_slopes,
    take_slots,
)
from discreet.types import Array, Integers


@compiled
def sanitized_sums(context: Context, f: Array, picks: Integers, gradient: Array) -> float:
    """Sum value and gradient over the persons ``picks``; a person may be picked twice."""
    people, rule, scratch = context
    level = choose_level(rule, f)
    panels = prepare(rule, level, f, scratch.effects, scratch.factors)
    rows = gather(people, picks, scratch)
    decode(people, rule.counts, level, f, scratch, rows)
    cells = (0.0, 0) if len(people.entries) else count_cells(scratch, rows)
    if cells[1] > 0:
        sum_by_table(context, level, cells, panels, rows)
    else:
        sum_directly(context, level, panels, rows)
    value = sanitize(people, scratch, f, picks, rows)
    for index in range(len(gradient)):
        gradient[index] = 0.0
    if cells[1] > 0:
        sum_slopes(rule, level, scratch, (cells[1], panels), rows, gradient)
    else:
        add_baseline(rule, level, scratch, rows, gradient)
    add(people, scratch, rows, gradient)
    return value


@compiled
def sum_by_table(
    context: Context, level: int, cells: tuple[float, int], panels: int, rows: int
) -> None:
    """Sums of phi over time of every row, from tables in c; `sum_slopes` needs C_v' first."""
    people, rule, scratch = context
    size = (cells[1], panels)
    form = choose_form(people, scratch, rows, panels)
    spread_cells(scratch, cells[0], size, form)
    evaluate(people, scratch, cells[1] * panels * NODES * COLUMNS, form)
    sum_before(rule, level, scratch.loss_columns, scratch.loss_before, size)
    sum_before(rule, level, scratch.slope_columns, scratch.slope_before, size)
    take_slots(scratch, cells[0], size, rows)
    fill_slots(rule, level, scratch, cells, rows)
    fill_cardinals(scratch, rows)
    sum_losses(scratch, size, rows)


@compiled
def sum_directly(context: Context, level: int, panels: int, rows: int) -> None:
    """The same, every row at its own nodes."""
    people, rule, scratch = context
    form = choose_form(people, scratch, rows, panels)
    if form == ODDS:
        spread_product(scratch.rows, scratch.positions, scratch.factors, scratch.odds, rows)
    else:
        spread_sum(scratch.rows, scratch.positions, scratch.effects, scratch.odds, rows)
    evaluate(people, scratch, scratch.rows[rows, PANEL] * NODES, form)
    if len(people.entries):
        weigh_late(rule, level, scratch, rows)
    else:
        weigh(rule, level, scratch, rows)
    total_rows(scratch, rows)


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
def evaluate(people: People, scratch: Scratch, total: int, form: int) -> None:
    """phi and phi' of the first `total` pairs: of y = exp(eta) or of eta itself."""
    odds, losses, slopes = scratch.flat_odds, scratch.flat_losses, scratch.flat_slopes
    if form == ODDS and people.link == LOGIT:
        logistic(odds, scratch.flat_bits, losses, scratch.flat_loss_bits, slopes, total)
    elif form == ODDS:
        exponential(odds, losses, slopes, total)
    elif people.link == LOGIT:
        logistic_everywhere(odds, losses, slopes, total)
    elif people.link == CLOGLOG:
        exponential_everywhere(odds, losses, slopes, total)
    else:
        probit_everywhere(people.table, odds, losses, slopes, total)


@compiled
def choose_form(people: People, scratch: Scratch, rows: int, panels: int) -> int:
    """ODDS where exp(a) exp(c) is safe for every pair."""
    highest, widest = 0.0, 0.0
    for panel in range(panels):
        for node in range(NODES):
            highest = max(highest, abs(scratch.effects[panel, node]))
    for row in range(rows):
        widest = max(widest, abs(scratch.positions[row]))
    return ODDS if people.link != PROBIT and highest + widest < LARGEST else ETA


@compiled
def add(people: People, scratch: Scratch, count: int, gradient: Array) -> None:
    """gradient += C_v' (sum phi' + psi') x and C_v' psi' B_event; psi' is 0 without an event."""
    batch, design, rows = scratch.batch, people.design, scratch.rows
    size = design.shape[1]
    for row in range(count):
        event = scratch.shares[row] * scratch.event_slopes[row]
        scale = scratch.shares[row] * scratch.row_slopes[row] + event
        for column in range(batch.shape[1]):
            gradient[size + column] += scale * batch[row, column]
        line = max(rows[row, EVENT] - 1, 0)
        for index in range(size):
            gradient[index] += event * design[line, index]
