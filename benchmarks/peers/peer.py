"""What every method of the comparison offers: a fit of encoded people, private and exact.

A peer is tuned on the data themselves, uncharged, which is generous to it: of its `settings` the one
with the smallest median error over a few draws is used. discreet has no settings.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from people import Array, People

import discreet as ds

Setting = dict[str, Any]
Run = tuple[Setting, int]
"""A setting and a seed."""


@dataclass(frozen=True)
class Answer:
    """A fitted model.

    Attributes
    ----------
    effects
        One for each column, (p,).
    errors
        Standard errors, noise included, (p,); None where the method offers none.
    baseline
        Linear predictor of each interval at columns of 0, (q,); None where the method offers none.
    link
        How predictors become hazards: "cloglog" or "logit".
    """

    effects: Array
    errors: Array | None = None
    baseline: Array | None = None
    link: str = "cloglog"

    def survival(self, values: Array) -> Array | None:
        """Return the survival function at the end of every interval, (n, q)."""
        if self.baseline is None:
            return None
        predictor = np.clip(self.baseline + (values @ self.effects)[:, None], -30.0, 30.0)
        if self.link == "cloglog":
            return np.exp(-np.cumsum(np.exp(predictor), axis=1))
        return np.exp(-np.cumsum(np.logaddexp(0.0, predictor), axis=1))


class UnavailableError(Exception):
    """A peer that is not installed; the text says what to install."""


class Peer(ABC):
    """One method."""

    name: ClassVar[str]
    label: ClassVar[str]
    promise: ClassVar[str] = "(epsilon, delta), a person replaced"

    def require(self) -> None:  # noqa: B027 - most need nothing
        """Raise `UnavailableError` where something is not installed."""

    def settings(self) -> Sequence[Setting]:
        """Return the settings to choose from; one is no choice."""
        return [{}]

    @abstractmethod
    def exact(self, people: People) -> Answer:
        """Return the method's own fit without privacy, with its standard errors."""

    @abstractmethod
    def fits(
        self, people: People, epsilon: float, delta: float, runs: Sequence[Run]
    ) -> list[tuple[Answer, float]]:
        """Return a private fit of each run, and its seconds."""


class OneByOne(Peer):
    """A method whose fits gain nothing from being made together."""

    @abstractmethod
    def fit(
        self, people: People, epsilon: float, delta: float, setting: Setting, seed: int
    ) -> Answer:
        """Return one private fit."""

    def fits(
        self, people: People, epsilon: float, delta: float, runs: Sequence[Run]
    ) -> list[tuple[Answer, float]]:
        """Return a private fit of each run, and its seconds of computing."""
        found = []
        for setting, seed in runs:
            started = _computed()
            answer = self.fit(people, epsilon, delta, setting, seed)
            found.append((answer, _computed() - started))
        return found


def _computed() -> float:
    """Return the processor's seconds of this process and of those that it waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def discreet_answer(model: Any, people: People, link: str) -> Answer:
    """Return discreet's fit, plain or private, as an answer."""
    names = list(model.coefficients_.covariates)
    effects = np.array([model.coefficients_.covariates[name] for name in names])
    found = model.standard_errors_
    errors = None if found is None else np.array([found.covariates[name] for name in names])
    typical = people.take(np.zeros(1, dtype=np.int64))
    reference = People(
        np.zeros_like(typical.columns),
        typical.last,
        typical.event,
        people.intervals,
        people.covariates,
    )
    times = np.arange(1, people.intervals + 1, dtype=float)
    survival = np.asarray(model.predict_survival(reference.table(), times))[0].clip(1e-300, 1.0)
    before = np.concatenate([[1.0], survival[:-1]])
    hazard = np.clip(1 - survival / before, 1e-12, 1 - 1e-12)
    odds = hazard / (1 - hazard) if link == "logit" else -np.log1p(-hazard)
    return Answer(effects, errors, np.log(odds), link)


def exact_discrete(people: People, link: str) -> Answer:
    """Return the maximum-likelihood fit of the discrete-time model."""
    model = ds.SurvivalRegression(people.schema(), link=link, baseline="natural-spline:3")
    return discreet_answer(model.fit(people.table()), people, link)
