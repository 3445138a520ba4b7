"""Sanitized losses of people, in compiled code: what a step of the sampler spends its time on.

A person's loss adds phi(eta_s) over the intervals that it survived and psi(eta_s) of its event.
Here eta_s = a_s + c, with a_s = alpha'B_s the baseline's effect in interval s and c = beta'x. The
loss is bent below a bound v, so that no person counts for more (Nguyen and Hui, section 5):

    C_v(l) = v tanh(l/v) = v (1 - d)/(1 + d),    C_v'(l) = 4d/(1 + d)^2,    d = exp(-2l/v).

`sanitized_sums` adds C_v and its gradient over a batch, person by person: one loop over the
intervals for the loss, which C_v' needs; then one that adds C_v' phi'(eta_s) to the slope of
interval s. The slopes of the whole batch become the gradient along alpha at the end:

    gradient(alpha) = sum_s slope_s B_s,    gradient(beta) = sum over rows of (sum of slopes) x.

The inner loops take slices that begin at index 0: the compiler then knows that no index is negative,
and works on several intervals at once. They take arrays, not tuples of arrays, whose references
would be counted for every row.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.core.slopes import CLOGLOG, LOGIT, link_number, mills_ratio
from discreet.design.design import Design
from discreet.design.link import Link
from discreet.likelihood.jit import compiled, compiled_reassociative
from discreet.paper.sampler import SamplerSpan, Setting, State, begin_step, end_step
from discreet.people.episodes import Episodes
from discreet.types import Array

Integers = NDArray[np.int64]

LARGEST = 300.0
"""e^300 is a number, and so is its product with another such."""
SAFE = 12.0
"""Below it 1 + e^eta is less than 2e5, so that a product of FACTORS of them is a number."""
FACTORS = 50
HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)


class KernelPeople(NamedTuple):
    """Records by row; the rows of person i are offsets[i] ... offsets[i + 1] - 1.

    A row is at risk in the intervals entry ... exit - 1, and an event happens in the last of them.
    A person is at risk at most once in each interval.
    """

    link: int
    bound: float
    covariates: Array
    entry: Integers
    exit: Integers
    event: Integers
    offsets: Integers
    basis: Array


class Scratch(NamedTuple):
    """By interval: a_s, e^(a_s), the slopes of the person at hand, those of the batch so far."""

    effects: Array
    odds: Array
    slopes: Array
    collected: Array


class KernelRow(NamedTuple):
    """One row of a person: its intervals, c, and whether c is below the limit of `begin`."""

    entry: int
    exit: int
    event: int
    position: float
    safe: bool


class Context(NamedTuple):
    """The arrays of the sums; the scratch space belongs to one thread."""

    people: KernelPeople
    scratch: Scratch


@dataclass(frozen=True, eq=False)
class SanitizedRecords:
    """The persons whose sanitized losses are summed."""

    episodes: Episodes
    design: Design
    link: Link
    bound: float

    @property
    def persons(self) -> int:
        """n, those who are never at risk included."""
        return self.episodes.persons

    def context(self) -> Context:
        """Return the arrays for compiled code, one set for each thread."""
        space = (np.zeros(self.design.intervals) for _ in Scratch._fields)
        return Context(self._people, Scratch(*space))

    def total(self, f: Array) -> tuple[float, Array]:
        """Value and gradient of sum_i C_v(l_i(f)) over all persons."""
        gradient = np.zeros(self.design.dimension)
        return sanitized_sums(self.context(), f, np.arange(self.persons), gradient), gradient

    @cached_property
    def _people(self) -> KernelPeople:
        episodes = self.episodes
        offsets = episodes.offsets
        if offsets is None:  # a row each; people who were never at risk have none
            offsets = np.minimum(np.arange(episodes.persons + 1), episodes.rows)
        return KernelPeople(
            link=link_number(self.link.name),
            bound=float(self.bound),
            covariates=np.ascontiguousarray(episodes.covariates),
            entry=episodes.entry.astype(np.int64),
            exit=episodes.exit.astype(np.int64),
            event=episodes.event.astype(np.int64),
            offsets=np.asarray(offsets, dtype=np.int64),
            basis=np.ascontiguousarray(self.design.basis),
        )


@compiled
def run_records(context: Context, setting: Setting, state: State, span: SamplerSpan) -> None:
    """Steps of a chain on the sum of sanitized losses."""
    for step in range(span.steps):
        begin_step(setting, state)
        sanitized_sums(context, state.point, state.picks, state.mean)
        end_step(setting, state, span, step)


@compiled
def sanitized_sums(context: Context, f: Array, picks: Integers, gradient: Array) -> float:
    """The sum of C_v over the persons ``picks``; its gradient is written to ``gradient``."""
    people, (effects, odds, slopes, collected) = context
    covariates, entry, exits, event = people.covariates, people.entry, people.exit, people.event
    alpha, beta = f[: people.basis.shape[1]], f[people.basis.shape[1] :]
    along_alpha, along_beta = gradient[: len(alpha)], gradient[len(alpha) :]
    limit = begin(people.basis, alpha, effects, odds)
    collected[:] = 0.0
    along_beta[:] = 0.0
    value = 0.0
    for person in picks:
        first, last = people.offsets[person], people.offsets[person + 1]
        loss = 0.0
        for index in range(first, last):
            position = inner(covariates[index], beta)
            row = KernelRow(entry[index], exits[index], event[index], position, position < limit)
            loss += row_loss(people.link, row, effects, odds, slopes)
        decay = math.exp(-2.0 * loss / people.bound)
        value += people.bound * (1.0 - decay) / (1.0 + decay)
        share = 4.0 * decay / ((1.0 + decay) * (1.0 + decay))
        for index in range(first, last):
            at_risk = slice(entry[index], exits[index])
            total = share * collect(slopes[at_risk], share, collected[at_risk])
            for column in range(len(along_beta)):
                along_beta[column] += total * covariates[index, column]
    for index in range(len(alpha)):
        along_alpha[index] = inner(collected, people.basis[:, index])
    return value


@compiled
def row_loss(link: int, row: KernelRow, effects: Array, odds: Array, slopes: Array) -> float:
    """The loss of a row; the slopes of its intervals are written to ``slopes``."""
    first, last, loss = row.entry, row.exit - row.event, 0.0
    if link == LOGIT and row.safe:
        loss = logistic_losses(odds[first:last], math.exp(row.position), slopes[first:last])
    else:
        for s in range(first, last):
            here, slopes[s] = survival_loss(link, effects[s] + row.position)
            loss += here
    if row.event:
        here, slopes[last] = event_loss(link, effects[last] + row.position)
        loss += here
    return loss


@compiled
def inner(left: Array, right: Array) -> float:
    """left'right."""
    found = 0.0
    for index in range(len(left)):
        found += left[index] * right[index]
    return found


@compiled
def begin(basis: Array, alpha: Array, effects: Array, odds: Array) -> float:
    """a_s and e^(a_s); returns the c below which e^(a_s) e^c is e^eta, and less than e^SAFE."""
    highest = -math.inf
    for s in range(len(basis)):
        effects[s] = inner(basis[s], alpha)
        odds[s] = math.exp(min(effects[s], LARGEST))
        highest = max(highest, effects[s])
    return min(SAFE - highest, LARGEST) if highest < LARGEST else -math.inf


@compiled_reassociative
def logistic_losses(odds: Array, factor: float, slopes: Array) -> float:
    """The sum of log(1 + y) as the logarithm of a product, y = e^(a_s) e^c; slopes y/(1 + y)."""
    loss = 0.0
    for start in range(0, len(odds), FACTORS):
        here, there = odds[start : start + FACTORS], slopes[start : start + FACTORS]
        product = 1.0
        for s in range(len(here)):
            y = here[s] * factor
            there[s] = y / (1.0 + y)
            product *= 1.0 + y
        loss += math.log(product)
    return loss


@compiled_reassociative
def collect(slopes: Array, share: float, collected: Array) -> float:
    """Add the share of a row's slopes to those of the batch; returns the sum of its slopes."""
    total = 0.0
    for s in range(len(slopes)):
        total += slopes[s]
        collected[s] += share * slopes[s]
    return total


@compiled
def survival_loss(link: int, eta: float) -> tuple[float, float]:
    """phi and phi' at eta: what surviving an interval contributes."""
    if link == CLOGLOG:
        rate = math.exp(min(eta, LARGEST))  # where every sanitized loss is flat
        return rate, rate
    if link == LOGIT:
        small = math.exp(-abs(eta))
        return max(eta, 0.0) + math.log1p(small), (1.0 if eta > 0.0 else small) / (1.0 + small)
    slope = mills_ratio(eta)
    if eta < 0.0:
        return -math.log1p(-0.5 * math.erfc(-eta / math.sqrt(2.0))), slope
    # Phi(-eta) = pdf(eta) / slope, whose logarithm does not underflow
    return 0.5 * eta * eta + HALF_LOG_TWO_PI + math.log(slope), slope


@compiled
def event_loss(link: int, eta: float) -> tuple[float, float]:
    """psi and psi' at eta: what an event contributes."""
    if link != CLOGLOG:  # symmetric links: h(eta) = 1 - h(-eta)
        loss, slope = survival_loss(link, -eta)
        return loss, -slope
    if eta < -30.0:  # log(1 - exp(-y)) is log y to the last digit
        return -eta, -1.0
    rate = math.exp(min(eta, LARGEST))
    if rate > LARGEST:
        return 0.0, 0.0
    return -math.log(-math.expm1(-rate)), -rate / math.expm1(rate)
