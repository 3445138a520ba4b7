"""Who leaves without an event: censoring that goes with covariates, from released numbers alone.

A registry that ends on one day has observed those who entered late for a short time only, so whoever is
at risk late is not like everybody. Second moments have one more column, how much sooner than others a
person left,

    u = sum over the bins k of the life table of 1{censored in k} - p_k (1{at risk in k} - halves),

p_k the released chance of being censored in a bin; half of it counts where a person enters within the
bin or has an event there. Where censoring goes with no covariate, u has mean 0 given x whatever events
do, but for what they do within a bin: a martingale (Andersen and Gill 1982).
Otherwise x u has the mean that a model of proportional hazards expects of the cohort, with hazards of
censoring A_k m_k exp(gamma'x) in bin k: gamma is fitted, with a prior, to the released moments, and m_k
keeps as many in all as were released. Proof page: docs/proofs/private-newton.md, sections 3 and 5.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from discreet.likelihood.jit import compiled
from discreet.mechanisms.newton.hazards import Hazards, parts_of_bins
from discreet.mechanisms.newton.layout import moment_left
from discreet.types import Array, Integers

USUAL = 0.2
"""What gamma usually is, for a standard deviation of a covariate: the scale of a Cauchy prior, whose
tails leave room for a date of entry."""
STRONGEST = 4.0
"""A log hazard of censoring is at most so far from that of all."""
ROUNDS, LEVEL_ROUNDS, SETTLED = 8, 3, 1e-2
LEAST = 1e-9
"""A share of people that is nobody."""


class Bins(NamedTuple):
    """A life table by bin: the share who enter, summed hazards of censoring and of events, widths."""

    entries: Array
    censored: Array
    events: Array
    widths: Integers

    @classmethod
    def of(cls, hazards: Hazards) -> "Bins":
        """The last interval is a bin of its own: at its end the grid ends, which is nobody's choice."""
        exits = hazards.exits
        summed = np.exp(hazards.logs.reshape(exits.counts.shape)) * exits.widths
        censored = summed[0].copy()
        censored[-1] = 0.0
        share = exits.entries / max(float(exits.entries.sum()), 1e-300)
        return cls(share, censored, summed[1:].sum(axis=0), exits.widths.astype(np.int64))

    @property
    def chances(self) -> Array:
        """p_k, of those at risk all through the bin or until they are censored."""
        leave, happen = leaving_by(self.censored, self.events)
        return np.asarray(leave / (1.0 - happen / 2.0))

    @property
    def variance(self) -> float:
        """That of u, where censoring goes with nothing."""
        begun = followed(self, np.ones(1), np.ones(1)).begun[0]
        return float(np.sum(begun * self.chances * (1.0 - self.chances)))


def leaving_by(censored: Array, events: Array) -> tuple[Array, Array]:
    """The chances of being censored, and of an event, in a bin of these summed hazards."""
    both = np.maximum(censored + events, 1e-12)
    share = -np.expm1(-both) / both
    return np.asarray(censored * share), np.asarray(events * share)


class Followed(NamedTuple):
    """Of a cohort, by member and bin: the chance of being there as it begins, and summed hazards."""

    begun: Array
    censored: Array

    def outcomes(self, bins: Bins) -> tuple[Array, Array]:
        """Chances of every way to leave, and u then: censored, or an event, by bin; or neither."""
        leave, happen = leaving_by(self.censored, bins.events)
        due, half = self._due(bins), bins.chances / 2.0
        stay = self.begun[:, -1:] * (1.0 - leave - happen)[:, -1:]
        chances = np.hstack([self.begun * leave, self.begun * happen, stay])
        return chances, np.hstack([1.0 - due, half - due, -due[:, -1:]])

    def _due(self, bins: Bins) -> Array:
        """The sum of p_k since they entered, the mean of those who are there, as each bin ends."""
        found, here = np.empty_like(self.begun), np.zeros(len(self.begun))
        for k, chance in enumerate(bins.chances):
            stayed = 1.0 - bins.entries[k] / np.maximum(self.begun[:, k], LEAST)
            here = here * np.clip(stayed, 0.0, 1.0) + chance
            found[:, k] = here
        return found


def followed(bins: Bins, weights: Array, risks: Array) -> Followed:
    """A cohort of these weights and relative hazards of censoring through the bins."""
    return Followed(*follow_bins(bins.entries, bins.censored, bins.events, weights, risks))


@compiled
def follow_bins(
    entries: Array, censored: Array, events: Array, weights: Array, risks: Array
) -> tuple[Array, Array]:
    """By member and bin, the chance of being there and the hazard: of all as many as were released."""
    members, bins = len(risks), len(entries)
    begun, hazards = np.zeros((members, bins)), np.zeros((members, bins))
    here = np.zeros(members)
    for k in range(bins):
        here += entries[k]
        level = censored[k] * common_level(weights * here, risks, censored[k])
        begun[:, k] = here
        hazards[:, k] = level * risks
        here *= np.exp(-level * risks - events[k])
    return begun, hazards


@compiled
def common_level(mass: Array, risks: Array, hazard: float) -> float:
    """m with sum mass exp(-hazard m risks) = sum mass exp(-hazard): Newton's method, from below."""
    total = max(mass.sum(), 1e-300)
    level, wanted = total / max((mass * risks).sum(), 1e-300), math.exp(-hazard) * total
    for _ in range(LEVEL_ROUNDS):
        stay = mass * np.exp(-hazard * level * risks)
        slope = hazard * (stay * risks).sum()
        if slope <= LEAST * total:
            break
        level += (stay.sum() - wanted) / slope
    return float(level)


@dataclass(frozen=True)
class Leaving:
    """A cohort of standardised covariates (M, p), its weights, and the stratum of each of it.

    u is measured in parts of `unit`. Vectors of second moments have `width` columns, and `squares` is
    what |v|^2 has beside u.
    """

    strata: tuple[Bins, ...]
    people: Array
    weights: Array
    stratum: Integers
    unit: float
    squares: Array
    width: int

    def gamma(self, released: Array, noise: float) -> Array:
        """The most likely one for moments with this noise: Gauss-Newton, each round by at most 1."""
        gamma = np.zeros(self.people.shape[1])
        for _ in range(ROUNDS):
            found, slope = self._moments(gamma)
            prior = 2.0 / (USUAL**2 + gamma**2)
            gradient = slope.T @ (released - found) / noise**2 - prior * gamma
            curvature = slope.T @ slope / noise**2 + np.diag(prior)
            move = np.linalg.solve(curvature, gradient)
            gamma = gamma + move / max(1.0, float(np.abs(move).max()))
            if np.abs(move).max() < SETTLED:
                break
        return gamma

    def remaining(self, gamma: Array) -> Array:
        """By member and interval, the chance of being there in parts of that of all alike."""
        risks = self._risks(gamma)
        found = np.empty((len(risks), int(self.strata[0].widths.sum())))
        for number, bins in enumerate(self.strata):
            own = self.stratum == number
            if own.any():
                found[own] = _by_intervals(bins, self.weights[own], risks[own])
        return found

    def _risks(self, gamma: Array) -> Array:
        return np.asarray(np.exp(np.clip(self.people @ gamma, -STRONGEST, STRONGEST)))

    def _moments(self, gamma: Array) -> tuple[Array, Array]:
        """The mean of x u / sd(u), and its slope by gamma."""
        risks, width = self._risks(gamma), self.people.shape[1]
        found, slope = np.zeros(width), np.zeros((width, width))
        for number, bins in enumerate(self.strata):
            own = self.stratum == number
            if own.any():
                people, weights = self.people[own], self.weights[own]
                shown = followed(bins, weights, risks[own])
                chances, u = shown.outcomes(bins)
                whole = self.squares[own][:, None] + (u / self.unit) ** 2
                mass = weights[:, None] * chances * moment_left(whole, self.width)
                found += people.T @ np.sum(mass * u, axis=1)
                slope += spread_within(people, mass[:, : len(bins.widths)])
        return found / self.unit, slope / self.unit


def spread_within(people: Array, mass: Array) -> Array:
    """Sums of squares of the covariates of those censored, or of whomever a mass is of, by column.

    Around the mean in each column of the masses.
    """
    total = np.maximum(mass.sum(axis=0), 1e-300)
    means = (mass.T @ people) / total[:, None]
    return np.asarray((people.T * mass.sum(axis=1)) @ people - (means.T * total) @ means)


def _by_intervals(bins: Bins, weights: Array, risks: Array) -> Array:
    """Within a bin hazards are even."""
    shown = followed(bins, weights, risks)
    mean = weights @ shown.begun / max(float(weights.sum()), 1e-300)
    ratio = np.repeat(shown.begun / np.maximum(mean, 1e-300), bins.widths, axis=1)
    gap = np.repeat(shown.censored - bins.censored, bins.widths, axis=1)
    return np.asarray(ratio * np.exp(-gap * parts_of_bins(bins.widths)))
