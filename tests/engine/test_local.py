"""The one-process engine: blocks never cut a person, sums do not depend on how many there are."""

import numpy as np
import pytest

from discreet.design.baseline import NaturalSpline
from discreet.design.link import get_link
from discreet.engine.local import LocalEngine
from discreet.likelihood.problem import Problem, block_totals
from tests.support import make_design, make_episodes


@pytest.mark.parametrize("late", [0.0, 0.4])
def test_the_number_of_blocks_changes_rounding_only(late):
    random = np.random.default_rng(1)
    episodes = make_episodes(random, 1000, 30, 2, late=late)
    design = make_design(30, 2, NaturalSpline(3))
    f = random.normal(size=design.dimension)
    one, four = (
        Problem(LocalEngine(episodes, threads), design, get_link("logit"))(f) for threads in (1, 4)
    )
    np.testing.assert_allclose(one.gradient, four.gradient, rtol=1e-12)
    np.testing.assert_allclose(one.hessian, four.hessian, rtol=1e-12)


def test_integer_sums_are_exactly_the_same_and_blocks_cover_everybody():
    episodes = make_episodes(np.random.default_rng(2), 777, 30, 2, late=0.3)
    totals = [LocalEngine(episodes, threads).reduce(block_totals)[0] for threads in (1, 2, 5)]
    assert all(np.array_equal(totals[0], other) for other in totals)
    blocks = LocalEngine(episodes, 5).blocks
    assert sum(block.rows for block in blocks) == episodes.rows
    assert sum(block.persons for block in blocks) == episodes.persons


def test_an_error_in_a_block_reaches_the_caller():
    def fail(block):
        raise RuntimeError("block")

    episodes = make_episodes(np.random.default_rng(2), 10, 30, 2)
    with pytest.raises(RuntimeError, match="block"):
        LocalEngine(episodes, 2).reduce(fail)
