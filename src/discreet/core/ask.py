"""Ask: the one way from records to a mechanism.

    answer = (w x + noise) / unit,   x = sum over people of the question's integer vector

An `Ask` holds the engine and the source of noise, and hands out neither: code that has an `Ask` alone
can do nothing with the people but put questions, each paid for with a share of the budget. Proof:
docs/proofs/private-newton.md, section 4.
"""

from fractions import Fraction
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from discreet.core.question import Question
from discreet.core.released import Released
from discreet.core.split import Split
from discreet.errors import SettingsError
from discreet.types import Integers

if TYPE_CHECKING:
    from discreet.engine.engine import Engine
    from discreet.privacy.noise import NoiseSource
    from discreet.privacy.scales import IntegerVector


class Ask:
    """Answers questions about people with noise, as long as the shares add up to at most 1."""

    __slots__ = ("_engine", "_left", "_noise", "_split")

    def __init__(self, engine: "Engine", noise: "NoiseSource", split: Split) -> None:
        if engine.persons < 1:
            raise SettingsError("a private fit needs at least one person")
        self._engine, self._noise, self._split = engine, noise, split
        self._left = Fraction(1)

    @property
    def persons(self) -> int:
        """n, public under the replace-one relation."""
        return self._engine.persons

    @property
    def split(self) -> Split:
        """The budget and its shares, which nothing changes once people can be asked."""
        return self._split

    @property
    def private(self) -> bool:
        """Whether the noise may protect people: False of a seeded source."""
        return self._noise.private

    def __call__(self, question: Question, share: Fraction) -> Released:
        """The question's sum over people with the noise that this share of the budget pays for."""
        if type(share) is not Fraction or not 0 < share <= self._left:
            raise SettingsError("the questions cost more than the budget that was charged")
        self._left -= share
        if not question.sensitivity.keeps(self.persons):
            raise SettingsError("sums over this number of persons could be larger than 2^62")
        parts = self._engine.reduce(question.block, *question.arguments)
        sums = np.concatenate([np.ravel(part) for part in parts])
        noisy = self._noisy(question, sums, self.split.scale(share, question.sensitivity))
        values = np.asarray([float(value) for value in noisy])
        return Released(
            values / self.split.divisor(question.sensitivity),
            self.split.deviation(share, question.sensitivity, len(sums)),
        )

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("an Ask can be neither copied nor pickled")

    def _noisy(self, question: Question, sums: Integers, scale: Fraction) -> "IntegerVector":
        """The integers with discrete Laplace, lattice L2-Laplace or discrete Gaussian noise."""
        if self.split.counted(question.sensitivity):
            return self._noise.l1_laplace(sums, scale)
        weighted = sums * question.weights
        if self.split.pure:
            drawn = self._noise.lattice_laplace(len(sums), scale)
            return np.asarray(weighted + np.asarray(drawn))
        return self._noise.discrete_gaussian(weighted, scale)
