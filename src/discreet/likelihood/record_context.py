"""What the compiled sums over records work on, as named tuples of arrays."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.types import Array, Integers

Bits = NDArray[np.uint64]

# columns of `rows`: first flat panel, survived intervals, interval of the event or 0
PANEL, LENGTH, EVENT = 0, 1, 2


class People(NamedTuple):
    """The records: covariates, 2 exit + event, entry (empty if all are 0), rows of persons."""

    link: int
    bound: float
    records: Array
    codes: Integers
    entries: Integers
    offsets: Integers
    design: Array
    table: Array


class Rule(NamedTuple):
    """The public rule for sums over time (`RecordRule`)."""

    panel_starts: Integers
    basis: Array
    full: Array
    partial: Array
    counts: Integers
    checks: Array
    reach: float
    depth: float


class Scratch(NamedTuple):
    """Space for one batch: by row, by node, and by (flat panel, node); flat views of the last.

    row_losses and row_slopes are the sums of phi and phi' over a row's intervals, event_slopes is
    psi' of its event, and shares is C_v' of its person.

    What comes after serves the tables in c (`record_table`): columns are the same space again, by
    (cell, panel, node) and column; then by (cell, panel), by row, and by slot.
    """

    batch: Array
    codes: Integers
    entries: Integers
    rows: Integers
    positions: Array
    row_losses: Array
    row_slopes: Array
    event_slopes: Array
    shares: Array
    effects: Array
    factors: Array
    collected: Array
    odds: Array
    losses: Array
    slopes: Array
    flat_odds: Array
    flat_bits: Bits
    flat_losses: Array
    flat_loss_bits: Bits
    flat_slopes: Array
    decays: Array
    decay_bits: Bits
    powers: Array
    power_bits: Bits
    odds_columns: Array
    loss_columns: Array
    slope_columns: Array
    loss_before: Array
    slope_before: Array
    slots: Integers
    starts: Integers
    places: Array
    weights: Array
    cardinals: Array
    products: Array
    slot_losses: Array
    slot_slopes: Array
    slot_shares: Array
    points: Array


class Context(NamedTuple):
    """What `sanitized_sums` works on."""

    people: People
    rule: Rule
    scratch: Scratch
