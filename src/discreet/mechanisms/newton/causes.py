"""Private Newton for competing risks: one release of all causes under one (epsilon, delta).

The releases are those of one event, in the same order and with the same shares of the budget: exits
by (censored, cause 1, ..., cause R), covariates once for all, then noisy sums of scores in which a
person's causes share one ball. Between them every cause is a binary Newton system with its own
start, whitening, unit and covariance. Proof: docs/proofs/competing-risks.md.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from discreet.core import question
from discreet.core.bins import Stretches
from discreet.core.released import Released
from discreet.design.design import Design
from discreet.design.link import Link
from discreet.documents.caution import Caution
from discreet.mechanisms.contract import Draw
from discreet.mechanisms.newton.bound import sloped
from discreet.mechanisms.newton.cohort import Profile, completed_spreads, exits_of
from discreet.mechanisms.newton.combine import combine
from discreet.mechanisms.newton.concentration import Concentration
from discreet.mechanisms.newton.equation import Equation, Setting
from discreet.mechanisms.newton.foreseen import CohortScores, chance_of_no_other
from discreet.mechanisms.newton.hazards import Hazards, fitted_hazards
from discreet.mechanisms.newton.layout import GRID_EXPONENT
from discreet.mechanisms.newton.picture import Picture, typical_values
from discreet.mechanisms.newton.pin import Pinned
from discreet.mechanisms.newton.releases import Information, Releases, as_matrix
from discreet.mechanisms.newton.run import Run, released_point
from discreet.mechanisms.newton.split import INFORMATION, informed_step
from discreet.mechanisms.newton.spread import Answer, Spread, spread_of
from discreet.mechanisms.newton.steps import Prior
from discreet.types import Array, Integers

if TYPE_CHECKING:
    from discreet.mechanisms.newton.diagnosis import Ending

OF_EVERYBODY = ("at-risk", "tail")
"""Cautions that no cause is meant by."""
LEAST_SHARED = 0.95
"""What causes share leaves at least the rest of every direction's variance."""
FLOOR = 1e-10
"""Correlations are computed to about this precision."""
HALF = 0.5
"""Those at risk of a cause are at least this part of those at risk of any."""


@dataclass(frozen=True)
class CauseReleases(Releases):
    """What was released before the steps, as one cause sees it.

    `points` are the estimates of all causes so far: who is lost to another cause follows from them.
    """

    causes: int = 1
    cause: int = 0
    points: tuple[Array, ...] = ()

    @cached_property
    def hazards(self) -> tuple[Hazards, ...]:
        """One life table with all the causes: a profile knows its own and the rest."""
        counts, persons, kinds = self.exits.values, self.profile.persons, self.causes + 1
        return (fitted_hazards(exits_of(counts, self.edges, persons, self.exits.deviation, kinds)),)

    @property
    def table(self) -> tuple[Array, Array]:
        """Exits by (not of this cause, of this cause[, entered]), and all events, by bin."""
        counts = self.exits.values.reshape(-1, len(self.edges) - 1)
        own, events = counts[self.cause + 1], counts[1 : self.causes + 1].sum(axis=0)
        rest = counts[0] + events - own
        return np.vstack([rest, own, counts[self.causes + 1 :]]), events

    @cached_property
    def profile(self) -> Profile:
        """The life table of the cause: intervals that end in another one do not count for it."""
        table, events = self.table
        whole = np.vstack([table[0] + table[1] - events, events, table[2:]])
        own, every = (
            Profile.make(counts.ravel(), self.edges, self.persons, self.exits.deviation)
            for counts in (table, whole)
        )
        lost = np.clip(every.events - own.events, 0.0, HALF * own.at_risk)
        share = lost / own.at_risk
        at_risk = own.at_risk - lost
        return replace(own, at_risk=at_risk, present=every.present, elsewhere=share)

    @property
    def life_table(self) -> Array:
        """Rows (first interval, last, exits of other kinds, events of the cause[, entered])."""
        return np.vstack([self.edges[:-1] + 1.0, self.edges[1:], self.table[0]]).T

    def remaining(self, design: Design, link: Link, cohort: Array) -> Array | None:
        """The chance of no event of another cause at the estimates so far."""
        if not self.points:
            return None
        size = design.dimension
        parts = [CohortScores(design, link, point, np.eye(size), math.inf) for point in self.points]
        edges = np.array(self.stretches.edges, dtype=np.int64)
        return chance_of_no_other(parts, cohort, edges, self.cause)


def joint_equations(
    setting: Setting,
    points: Sequence[Array],
    pictures: Sequence[Picture],
    priors: Sequence[Prior],
    share: Fraction,
) -> list[Equation]:
    """Every cause whitened at its own point with its own unit; weights of all of them together."""
    alone = [
        setting.equation(point, picture.shape, prior, share)
        for point, picture, prior in zip(points, pictures, priors, strict=True)
    ]
    others = tuple(one.scores for one in alone)
    found = []
    for cause, (one, picture) in enumerate(zip(alone, pictures, strict=True)):
        scores = replace(one.scores, others=others, cause=cause)
        jacobian, meat, _ = picture.people.seen(scores).expected(picture.people)
        jacobian = sloped(jacobian)
        found.append(replace(one, scores=scores, jacobian=jacobian, meat=meat))
    return found


class Ended(NamedTuple):
    """A run after its last release: the life table of all causes, and of every cause the rest."""

    life_table: Array
    answers: Sequence[Sequence[Answer]]
    pictures: Sequence[Picture]
    points: Sequence[Array]
    priors: Sequence[Prior]


class CausesRun(Run):
    """One draw of all causes: the releases in order, each a function of the ones before."""

    @property
    def names(self) -> tuple[str, ...]:
        """The causes, in the order of the schema."""
        return tuple(self.design.schema.time.causes or {})

    def draw(self) -> Draw:
        """The first releases, the steps; what is published with the estimates."""
        return self._told_of_all(self._steps_of_all())

    def bare(self) -> Draw:
        """The released points alone, one cause after the other."""
        return self._bare(np.concatenate(self._steps_of_all().points))

    def _steps_of_all(self) -> "Ended":
        """Everything that sees people or noise."""
        first, spreads = self._releases()
        seen = [_seen_by(first, cause) for cause in range(len(self.names))]
        pictures = [Picture.of(self.design, self.link, one, spreads) for one in seen]
        priors = [self._prior(picture) for picture in pictures]
        points = tuple(prior.centre for prior in priors)
        answers: list[list[Answer]] = [[] for _ in self.names]
        for number, share in enumerate(self.budget.steps):
            pictures = [_at(picture, points) for picture in pictures]
            equations = joint_equations(self.setting, points, pictures, priors, share)
            for own, equation, found in zip(
                answers, equations, self._scores(equations, share), strict=True
            ):
                own.append(Answer(equation, -found))
            if number == informed_step(self.budget):
                pairs = zip(pictures, self._informations(equations, pictures), strict=True)
                pictures = [picture.informed(information) for picture, information in pairs]
            points = _combined(answers, points, pictures, priors)
        pictures = [_at(picture, points) for picture in pictures]
        return Ended(joint_life_table(first), answers, pictures, points, priors)

    def _told_of_all(self, ended: "Ended") -> Draw:
        """Estimates of all causes with their joint covariance, and what they say of themselves."""
        life_table, answers, pictures, points, priors = ended
        spreads = [spread_of(*one) for one in zip(answers, pictures, points, priors, strict=True)]
        endings = [
            self._ending(*one) for one in zip(pictures, points, spreads, priors, strict=True)
        ]
        extras = {
            "covariance": joint_covariance(points, pictures, spreads),
            "life_table": life_table,
            "calibration": np.stack([ending.calibration() for ending in endings]),
        }
        if self.size > self.time:
            shares = pictures[0].releases.shares(self.design)
            extras["typical"] = typical_values(self.design, shares)[None, :]
        told = tuple(_told(self.names, endings))
        numbers = released_point(np.concatenate(points))
        return Draw(numbers, GRID_EXPONENT, self.ask.private, extras, told)

    def _begun(self, edges: Integers, exits: Released, stretches: Stretches) -> Releases:
        """The same as the first cause sees it."""
        return CauseReleases(self.persons, edges, exits, stretches, causes=len(self.names))

    def _prior(self, picture: Picture) -> Prior:
        spreads = completed_spreads(self.design, picture.spreads)
        return self.setting.prior(picture.releases.profile, spreads, mean=picture.people.mean)

    def _scores(self, equations: Sequence[Equation], share: Fraction) -> list[Array]:
        """The noisy sum of all causes' scores, each part in its cause's whitened units."""
        causes = [one.scores.plain for one in equations]
        found = self.ask(question.scores(causes, self.persons), share)
        parts = found.values.reshape(len(equations), -1)
        return [part * one.scores.bound for part, one in zip(parts, equations, strict=True)]

    def _informations(
        self, equations: Sequence[Equation], pictures: Sequence[Picture]
    ) -> list[Information]:
        """The sum of the people's information of every cause, each person's of trace at most R."""
        pairs = zip(equations, pictures, strict=True)
        seen = [Concentration(one.scores, picture.people) for one, picture in pairs]
        causes = [one.scores.plain for one in equations]
        limit = self._limit(seen)
        asked = question.information(causes, limit, self.persons)
        found = self.ask(asked, self.budget.share(INFORMATION))
        return [
            as_matrix(one.scores, part, found.deviation, limit)
            for one, part in zip(equations, found.values.reshape(len(causes), -1), strict=True)
        ]


def _seen_by(releases: Releases, cause: int) -> Releases:
    """The releases of a run of causes, seen by another one."""
    facts: dict[str, Any] = {"cause": cause}
    return replace(releases, **facts)


def joint_life_table(releases: Releases) -> Array:
    """Rows (first interval, last, censored, cause 1, ..., cause R[, entered])."""
    edges = releases.edges
    counts = releases.exits.values.reshape(-1, len(edges) - 1)
    return np.vstack([edges[:-1] + 1.0, edges[1:], counts]).T


def _at(picture: Picture, points: tuple[Array, ...]) -> Picture:
    """The same picture, in which others leave as the estimates say."""
    shape = picture.shape
    releases = picture.releases.having(points=points)
    return Picture.of(shape.design, shape.link, releases, picture.spreads)


def _combined(
    answers: Sequence[Sequence[Answer]],
    points: Sequence[Array],
    pictures: Sequence[Picture],
    priors: Sequence[Prior],
) -> tuple[Array, ...]:
    """The estimate of every cause from its steps so far."""
    found = []
    for own, point, picture, prior in zip(answers, points, pictures, priors, strict=True):
        released = [partial(one.around, picture) for one in own]
        pinned = Pinned(prior, picture.shape)
        found.append(combine(released, point, pinned, picture.people.events))
    return tuple(found)


def joint_covariance(
    points: Sequence[Array], pictures: Sequence[Picture], spreads: Sequence[Spread]
) -> Array:
    """Of all causes' coefficients, one cause after the other; noise is in the blocks of each."""
    rows = []
    for r, one in enumerate(spreads):
        row = []
        for k, other in enumerate(spreads):
            middle = one.covariance
            if r != k:
                shared = shared_score(points, pictures, (r, k))
                middle = one.sampling @ shared @ other.sampling
            row.append(middle)
        rows.append(row)
    return held_together(np.asarray(np.block(rows)), len(points))


def held_together(joint: Array, causes: int) -> Array:
    """The same with as much of what causes share as leaves a covariance.

    Each cause has its own picture of the people, so their parts may not fit each other.
    """
    parts = np.kron(np.eye(causes), np.ones((len(joint) // causes,) * 2))
    own = joint * parts
    try:
        root = np.linalg.inv(np.linalg.cholesky(own))
    except np.linalg.LinAlgError:  # directions that nothing is known of: rounding hides the others
        return _positive(own)
    least = float(np.linalg.eigvalsh(root @ joint @ root.T)[0])
    kept = min(1.0, LEAST_SHARED / max(1.0 - least, 1e-300))
    return np.asarray(own + kept * (joint - own))


def _positive(own: Array) -> Array:
    """The nearest covariance: in correlations, eigenvalues are at least FLOOR."""
    scale = np.sqrt(np.maximum(np.diag(own), np.finfo(float).tiny))
    values, vectors = np.linalg.eigh(own / np.outer(scale, scale))
    raised = (vectors * np.maximum(values, FLOOR)) @ vectors.T
    return np.asarray(raised * np.outer(scale, scale))


def shared_score(
    points: Sequence[Array], pictures: Sequence[Picture], pair: tuple[int, int]
) -> Array:
    """M_rk = sum over the cohort of pi P(none) a_r a_k z z': both causes see intervals without an event."""
    shape = pictures[pair[0]].shape
    people, basis, link = shape.people, shape.design.basis, shape.link
    time, width = basis.shape[1], people.cohort.shape[2]
    total, alive = np.zeros((time + width, time + width)), np.ones(len(people.cohort))
    for stretch in range(people.cohort.shape[1]):
        part = slice(int(people.edges[stretch]), int(people.edges[stretch + 1]))
        x = people.cohort[:, stretch]
        eta = [
            np.clip((x @ f[time:])[:, None] + basis[part] @ f[:time], -40.0, 40.0) for f in points
        ]
        odds = [np.expm1(np.minimum(link.survival_loss(value), 700.0)) for value in eta]
        staying = alive[:, None] * np.cumprod(1.0 / (1.0 + np.add.reduce(odds)), axis=1)
        slopes = [link.survival_loss_derivative(eta[place]) for place in pair]
        mass = people.counts[:, [stretch]] * people.present[part] * staying
        mass = mass * slopes[0] * slopes[1]
        mass = mass if people.staying is None else mass * people.staying[:, part]
        total += _products(basis[part], x, mass)
        alive = staying[:, -1]
    return _seen(pictures, pair, total)


def _products(basis: Array, x: Array, mass: Array) -> Array:
    """Sum over members and intervals of mass z z', z = (B_s, x)."""
    across = basis.T @ mass.T @ x
    return np.block(
        [
            [(basis.T * mass.sum(axis=0)) @ basis, across],
            [across.T, (x.T * mass.sum(axis=1)) @ x],
        ]
    )


def _seen(pictures: Sequence[Picture], pair: tuple[int, int], total: Array) -> Array:
    """Each cause looks through its own lens."""
    lenses = [pictures[place].people.lens for place in pair]
    left, right = (np.eye(len(total)) if lens is None else lens for lens in lenses)
    return np.asarray(left @ total @ right.T)


def _told(names: Sequence[str], endings: Sequence["Ending"]) -> list[Caution]:
    """What not to believe, by cause; what concerns everybody is said once."""
    found: list[Caution] = []
    for name, ending in zip(names, endings, strict=True):
        for caution in ending.cautions():
            if caution.code in OF_EVERYBODY:
                found += [] if caution in found else [caution]
            else:
                found.append(of_cause(caution, name))
    return found


def of_cause(caution: Caution, name: str) -> Caution:
    """The same of one cause."""
    coefficients = tuple(f"{name}: {item}" for item in caution.coefficients)
    return Caution.about(caution.code, f"Cause {name}: {caution.message}", coefficients)
