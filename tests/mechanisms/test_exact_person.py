"""A person's integers against exact rationals, on random and on hostile records."""

import numpy as np
import pytest

from discreet.core import bins, cells
from discreet.core.people import Levels
from discreet.core.question import half_weights
from discreet.core.scores import LARGEST, Whitened, alone, block_scores
from discreet.design.baseline import NaturalSpline, PiecewiseConstant
from discreet.design.link import LINKS
from discreet.people.episodes import Episodes
from tests.mechanisms import exact_person as exact
from tests.support import make_design

INTERVALS, WIDTH = 24, 3
EDGES = bins.exit_edges(INTERVALS, 5)
STRETCHES = bins.stretches_of(INTERVALS, 3, pure=False)
WHOLE = bins.Stretches((0, INTERVALS), weight=64)
LIMIT = 7 * WIDTH * bins.UNIT**2 // 10
MARGINALS = (
    bins.Marginal((0,), 4, (-0.5, -0.25, 0.0, 0.25, 0.5)),
    bins.Marginal((1, 2), 3),
)
EXTREMES = (0.0, -0.0, 1.0, -1.0, 0.25, -0.5, 5e-324, 2.0**-30, 1 - 2.0**-53, np.nan, np.inf, 1e308)


def block_of(rows: list[exact.Row]) -> Episodes:
    """The person alone."""
    return Episodes(
        covariates=np.array([row.covariates for row in rows]).reshape(len(rows), WIDTH),
        entry=np.array([row.entry for row in rows], dtype=np.int32),
        exit=np.array([row.exit for row in rows], dtype=np.int32),
        event=np.array([row.event for row in rows], dtype=np.bool_),
        offsets=np.array([0, len(rows)]),
        persons=1,
    )


def people(seed: int, number: int, *, hostile: bool) -> list[list[exact.Row]]:
    """One to four disjoint rows each, gaps between them, an event at the end or none."""
    random = np.random.default_rng(seed)
    found = []
    for _ in range(number):
        cuts = np.sort(random.choice(INTERVALS + 1, 2 * random.integers(1, 5), replace=False))
        pairs = list(zip(cuts[::2].tolist(), cuts[1::2].tolist(), strict=True))
        if hostile and random.random() < 0.3:
            pairs = [(0, INTERVALS)]
        rows = []
        for at, (entry, leave) in enumerate(pairs):
            x = random.uniform(-1, 1, WIDTH) / np.sqrt(WIDTH)
            if hostile:
                x = random.choice(EXTREMES, WIDTH)
            event = bool(random.random() < 0.5) and at == len(pairs) - 1
            rows.append(exact.Row(tuple(x.tolist()), entry, leave, event))
        found.append(rows)
    return [*found, []]


@pytest.mark.parametrize("hostile", [False, True])
def test_counts_are_exact(hostile):
    items = [(item.columns, item.bins, item.edges) for item in MARGINALS]
    for rows in people(1, 150, hostile=hostile):
        block = block_of(rows)
        (found,) = cells.block_exits(block, EDGES, 1, 3, 1)
        assert found.tolist() == exact.exits(rows, EDGES.tolist()).integers
        (found,) = cells.block_marginals(block, MARGINALS, STRETCHES)
        expected = exact.marginals(rows, items, STRETCHES.edges, STRETCHES.weight)
        assert found.tolist() == expected.integers


@pytest.mark.parametrize("hostile", [False, True])
@pytest.mark.parametrize("spread", [0.5, 2.0**-20, 0.3])
def test_moments_are_exact_and_within_their_bound(hostile, spread):
    """Equal wherever rounding cannot decide; within the claimed norm everywhere."""
    centre, width = np.array([0.125, 0.0, -0.5]), np.full(WIDTH, spread)
    span, sure = (0, INTERVALS, WHOLE.weight), 0
    for rows in people(2, 150, hostile=hostile):
        (found,) = cells.block_moments(block_of(rows), centre, width, LIMIT, WHOLE)
        expected = exact.moments(rows, centre.tolist(), width.tolist(), LIMIT, span)
        found = found * half_weights(WIDTH)
        assert found.tolist() == expected.integers or not expected.sure
        sure += expected.sure
        assert sum(int(item) ** 2 for item in found) <= (bins.DIAGONAL * 64 * LIMIT) ** 2
    assert sure > 40


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("hostile", [False, True])
def test_scores_are_those_in_fifty_digits(link, hostile):
    """Within two of 2^26 units, and of norm at most L, in integers."""
    random = np.random.default_rng(3)
    for baseline in (NaturalSpline(2), PiecewiseConstant(3)):
        design = make_design(INTERVALS, WIDTH, baseline)
        size = design.dimension
        point = random.normal(size=size) * (3.0 if hostile else 0.7)
        mapping = np.eye(size) + random.normal(size=(size, size)) / 4
        for bound in (0.3, 2.0, 50.0):
            scores = Whitened(design, LINKS[link], point, mapping, bound)
            for rows in people(4, 12, hostile=False):
                (found,) = block_scores(block_of(rows), alone(scores), Levels())
                expected = exact.score(
                    rows, link, design.basis.tolist(), point.tolist(), mapping.tolist(), bound, LARGEST
                )  # fmt: skip
                assert max(abs(found - np.array(expected)), default=0) <= 2
                assert sum(int(item) ** 2 for item in found) <= LARGEST**2


def test_what_is_not_a_number_moves_no_moment():
    """A centre or spread that is not a number, were one ever released, stays within the bound."""
    rows = people(5, 1, hostile=False)[0]
    for centre, spread in ((np.nan, 0.5), (0.0, np.nan), (np.inf, 0.5), (0.0, 0.0)):
        with np.errstate(all="ignore"):
            (found,) = cells.block_moments(
                block_of(rows), np.full(WIDTH, centre), np.full(WIDTH, spread), LIMIT, WHOLE
            )
        found = found * half_weights(WIDTH)
        assert sum(int(item) ** 2 for item in found) <= (bins.DIAGONAL * 64 * LIMIT) ** 2
