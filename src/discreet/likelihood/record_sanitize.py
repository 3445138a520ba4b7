"""From the losses of rows to the sanitized losses of persons.

With the loss l of a person, the sum over its rows of phi over time and psi of an event:

    C_v(l) = v tanh(l/v) = v (1 - d)/(1 + d),    C_v'(l) = 4d/(1 + d)^2,    d = exp(-2l/v).
"""

from discreet.likelihood.jit import compiled, reordered
from discreet.likelihood.record_context import EVENT, People, Scratch
from discreet.likelihood.record_functions import LOGIT, decay, event_loss
from discreet.types import Array, Integers


@compiled
def sanitize(people: People, scratch: Scratch, f: Array, picks: Integers, count: int) -> float:
    """Fill `shares`, C_v' of the person of every row; returns the sum of C_v over the persons."""
    if people.link == LOGIT:
        _add_logit_events(people, scratch, f, count)
    else:
        _add_events(people, scratch, f, count)
    alone = len(people.offsets) == 0 and count == len(picks)
    if alone:
        scratch.decays[:count] = scratch.row_losses[:count]
    else:
        _add_rows(people, scratch, picks)
    value = _bend(people.bound, scratch, len(picks))
    if alone:
        scratch.shares[:count] = scratch.powers[:count]
    else:
        _spread_shares(people, scratch, picks)
    return value


@compiled
def _add_logit_events(people: People, scratch: Scratch, f: Array, count: int) -> None:
    """An event's interval counts as survived as well, and psi - phi = -eta is added.

    Without a branch on the event, which nobody can predict.
    """
    rows, design, losses = scratch.rows, people.design, scratch.row_losses
    for row in range(count):
        event = float(min(rows[row, EVENT], 1))
        line, eta = max(rows[row, EVENT] - 1, 0), scratch.positions[row]
        for index in range(design.shape[1]):
            eta += design[line, index] * f[index]
        # interpolation may leave a sum of positive terms a rounding below zero
        losses[row] = max(losses[row] - event * eta, 0.0)
        scratch.event_slopes[row] = -event


@compiled
def _add_events(people: People, scratch: Scratch, f: Array, count: int) -> None:
    """psi and psi' at the event's interval."""
    losses, design = scratch.row_losses, people.design
    for row in range(count):
        loss, slope, stop = 0.0, 0.0, scratch.rows[row, EVENT]
        if stop > 0:
            eta = scratch.positions[row]
            for index in range(design.shape[1]):
                eta += design[stop - 1, index] * f[index]
            loss, slope = event_loss(people.link, people.table, eta)
        losses[row] = max(losses[row] + loss, 0.0)
        scratch.event_slopes[row] = slope


@compiled
def _add_rows(people: People, scratch: Scratch, picks: Integers) -> None:
    """decays = the loss of every person."""
    row = 0
    for index in range(len(picks)):
        loss = 0.0
        for _ in range(_count(people, picks[index])):
            loss += scratch.row_losses[row]
            row += 1
        scratch.decays[index] = loss


@reordered
def _bend(bound: float, scratch: Scratch, persons: int) -> float:
    """powers = C_v' of every person; returns the sum of C_v."""
    decays, powers, value = scratch.decays, scratch.powers, 0.0
    for index in range(persons):
        decays[index] *= 2.0 / bound
    decay(decays, scratch.decay_bits, powers, scratch.power_bits, persons)
    for index in range(persons):
        ratio = 1.0 / (1.0 + decays[index])
        value += (1.0 - decays[index]) * ratio
        powers[index] = 4.0 * decays[index] * ratio * ratio
    return bound * value


@compiled
def _spread_shares(people: People, scratch: Scratch, picks: Integers) -> None:
    row = 0
    for index in range(len(picks)):
        for _ in range(_count(people, picks[index])):
            scratch.shares[row] = scratch.powers[index]
            row += 1


@compiled
def _count(people: People, pick: int) -> int:
    """Rows of a person."""
    if len(people.offsets):
        return int(people.offsets[pick + 1] - people.offsets[pick])
    return 1 if pick < len(people.records) else 0
