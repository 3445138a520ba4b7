"""discreet's own methods: private Newton, and the paper's mechanisms as corrected here."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from peer import Answer, OneByOne, Setting, discreet_answer, exact_discrete
from people import People

import discreet as ds
from discreet import mechanisms


class PrivateNewton(OneByOne):
    """discreet's default; nothing is tuned."""

    name: ClassVar[str] = "newton"
    label: ClassVar[str] = "discreet, private Newton"

    def exact(self, people: People) -> Answer:
        """Return the cloglog fit."""
        return exact_discrete(people, "cloglog")

    def fit(
        self,
        people: People,
        epsilon: float,
        delta: float,
        setting: Setting,  # noqa: ARG002 - there is none
        seed: int,
    ) -> Answer:
        """Return one draw."""
        model = ds.SurvivalRegression(people.schema(), link="cloglog", baseline="natural-spline:3")
        mechanism = ds.PrivateNewton(epsilon=epsilon, delta=delta)
        drawn = ds.simulate(model, people.table(), mechanism=mechanism, seed=seed)
        return discreet_answer(drawn, people, "cloglog")


class Nothing(OneByOne):
    """Effects of 0: what anybody can publish without the data, so an error that is no achievement."""

    name: ClassVar[str] = "nothing"
    label: ClassVar[str] = "nothing: every effect 0"
    promise: ClassVar[str] = "no data are used"

    def exact(self, people: People) -> Answer:
        """Return the cloglog fit."""
        return exact_discrete(people, "cloglog")

    def fit(
        self,
        people: People,
        epsilon: float,  # noqa: ARG002 - nothing is protected
        delta: float,  # noqa: ARG002
        setting: Setting,  # noqa: ARG002
        seed: int,  # noqa: ARG002
    ) -> Answer:
        """Return zeros."""
        return Answer(np.zeros(people.columns.shape[1]))


class ObjectivePerturbation(OneByOne):
    """The paper's objective perturbation, its errors corrected (docs/mechanisms.md)."""

    name: ClassVar[str] = "objective"
    label: ClassVar[str] = "objective perturbation (the paper's, corrected)"
    promise: ClassVar[str] = "epsilon, a person replaced"

    def exact(self, people: People) -> Answer:
        """Return the logit fit: cloglog has no bounded slope."""
        return exact_discrete(people, "logit")

    def settings(self) -> Sequence[Setting]:
        """Return ridges from next to none to much; `None` is the mechanism's own rule."""
        return [{"ridge": ridge} for ridge in (None, 1e-4, 1e-3, 1e-2, 1e-1)]

    def fit(
        self,
        people: People,
        epsilon: float,
        delta: float,  # noqa: ARG002 - pure
        setting: Setting,
        seed: int,
    ) -> Answer:
        """Return one draw."""
        model = ds.SurvivalRegression(people.schema(), link="logit", baseline="natural-spline:3")
        mechanism = self.mechanism(epsilon, setting["ridge"])
        drawn = ds.simulate(model, people.table(), mechanism=mechanism, seed=seed)
        return discreet_answer(drawn, people, "logit")

    @staticmethod
    def mechanism(epsilon: float, ridge: float | None) -> mechanisms.ObjectivePerturbation:
        """Return the mechanism with this ridge."""
        return mechanisms.ObjectivePerturbation(epsilon=epsilon, ridge=ridge)


class OutputPerturbation(ObjectivePerturbation):
    """The paper's output perturbation, corrected."""

    name: ClassVar[str] = "output"
    label: ClassVar[str] = "output perturbation (the paper's, corrected)"

    @staticmethod
    def mechanism(epsilon: float, ridge: float | None) -> mechanisms.OutputPerturbation:  # type: ignore[override]
        """Return the mechanism with this ridge."""
        return mechanisms.OutputPerturbation(epsilon=epsilon, ridge=ridge)
