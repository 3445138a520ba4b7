"""The engine of one site: joint n, own sums, and one question for everybody."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from discreet.engine.federation import FederatedEngine, question
from discreet.engine.local import LocalEngine
from discreet.errors import FederationError, SettingsError
from discreet.people.encode import to_episodes
from tests.cohorts import cohort, schema

EPISODES = to_episodes(cohort(people=60), schema())


@dataclass(frozen=True)
class Asked:
    point: np.ndarray
    bound: float
    schema: object


def events(block, point):
    return (np.array([int(block.event.sum()), len(point)]),)


def losses(block, point):
    return (np.array([0.5]),)


def test_n_is_joint_and_sums_are_the_sites_own():
    asked = []
    engine = FederatedEngine(LocalEngine(EPISODES), 180, asked.append)
    (found,) = engine.reduce(events, np.zeros(3))
    assert engine.persons == 180
    assert found.tolist() == [int(EPISODES.event.sum()), 3]
    assert asked == [question(events, (np.zeros(3),))]


def test_sums_that_are_not_integers_are_refused():
    engine = FederatedEngine(LocalEngine(EPISODES), 180, lambda _: None)
    with pytest.raises(SettingsError, match="only integers are summed"):
        engine.reduce(losses, np.zeros(3))
    with pytest.raises(SettingsError, match="only integers are summed"):
        engine.sample()


def test_nothing_is_summed_where_sites_differ():
    def differ(_):
        raise FederationError("the sites differ")

    def never(*_):
        raise AssertionError("summed")

    with pytest.raises(FederationError):
        FederatedEngine(LocalEngine(EPISODES), 180, differ).reduce(never, np.zeros(3))


def test_another_question_is_another_digest():
    """The last bit of a number, the type of an array, its shape, a field, the function."""
    point = np.array([[1.0, 2.0], [3.0, 4.0]])
    asked = Asked(point, 2.0, schema())
    others = [
        (events, (asked,)),
        (losses, (asked,)),
        (events, (Asked(np.nextafter(point, 9), 2.0, schema()),)),
        (events, (Asked(point.reshape(4), 2.0, schema()),)),
        (events, (Asked(point.astype(np.float32), 2.0, schema()),)),
        (events, (Asked(point, np.nextafter(2.0, 3), schema()),)),
        (events, (Asked(point, 2.0, schema(intervals=13)),)),
        (events, (asked, None)),
        (events, (asked, Fraction(1, 3))),
        (events, (asked, [1, "a"], {"b": 2})),
        (events, (asked, [1, "a", {"b": 2}])),
    ]
    digests = {question(function, arguments) for function, arguments in others}
    assert len(digests) == len(others)
    assert question(events, (Asked(point.copy(), 2.0, schema()),)) == question(events, (asked,))


def test_an_argument_that_cannot_be_compared_is_an_error():
    with pytest.raises(TypeError, match="kind object"):
        question(events, (object(),))
