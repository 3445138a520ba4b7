"""Sanitized losses record by record, against direct summation over intervals."""

import numpy as np
import pytest
from support import make_design, make_episodes

from discreet.design.baseline import NaturalSpline, PiecewiseConstant
from discreet.design.link import LINKS
from discreet.likelihood.record_functions import decay
from discreet.likelihood.record_kernel import choose_level, decode, gather, sanitized_sums
from discreet.likelihood.record_table import COLUMNS, STRIDE, WIDTH, count_cells
from discreet.likelihood.records import SanitizedRecords
from discreet.people.episodes import Episodes

BOUND = 19.4


def direct(records, f, picks):
    """(sum of C_v, its gradient), interval by interval."""
    people, design, link = records.episodes, records.design, records.link
    size = design.baseline.dimension
    value, gradient = 0.0, np.zeros(len(f))
    for person in picks:
        loss, slope = 0.0, np.zeros(len(f))
        for row in rows_of(people, person):
            x = people.covariates[row]
            steps = np.arange(people.entry[row], people.exit[row])
            z = np.hstack([design.basis[steps], np.tile(x, (len(steps), 1))])
            eta = z @ f
            happened = np.zeros(len(steps), dtype=bool)
            happened[-1] = people.event[row]
            with np.errstate(over="ignore"):
                terms = np.where(happened, link.event_loss(eta), link.survival_loss(eta))
                slopes = np.where(
                    happened, link.event_loss_derivative(eta), link.survival_loss_derivative(eta)
                )
            loss += terms.sum()
            slope += z.T @ slopes
        value += records.bound * np.tanh(loss / records.bound)
        gradient += (1.0 - np.tanh(loss / records.bound) ** 2) * slope
    assert size == design.basis.shape[1]
    return value, gradient


def rows_of(people, person):
    if people.offsets is None:
        return [person] if person < people.rows else []
    return range(people.offsets[person], people.offsets[person + 1])


def summed(records, f, picks):
    gradient = np.zeros(len(f))
    return sanitized_sums(records.context(len(picks)), f, np.asarray(picks), gradient), gradient


def check(records, f, picks, tolerance=1e-7):
    value, gradient = summed(records, f, picks)
    expected, slope = direct(records, f, picks)
    scale = max(1.0, np.abs(slope).max())
    assert value == pytest.approx(expected, rel=tolerance, abs=tolerance)
    np.testing.assert_allclose(gradient, slope, rtol=tolerance, atol=tolerance * scale)


@pytest.mark.parametrize("late", [0.0, 0.4])
@pytest.mark.parametrize("baseline", [NaturalSpline(3), NaturalSpline(5), PiecewiseConstant(7)])
@pytest.mark.parametrize("link", LINKS)
def test_batches_agree_with_direct_sums(link, baseline, late):
    random = np.random.default_rng(1)
    design = make_design(150, 4, baseline)
    people = make_episodes(random, 90, 150, 4, late=late)
    records = SanitizedRecords(people, design, LINKS[link], BOUND)
    for scale in (0.3, 1.0, 3.0):
        f = random.normal(size=design.dimension) * scale
        f[: baseline.dimension] -= 4.0 * (design.basis.T @ np.ones(150)) / 150
        check(records, f, random.integers(0, 90, 40))


@pytest.mark.parametrize("link", LINKS)
def test_every_level_of_the_rule_is_exercised_and_accurate(link):
    random = np.random.default_rng(2)
    design = make_design(400, 2, NaturalSpline(3))
    records = SanitizedRecords(make_episodes(random, 60, 400, 2), design, LINKS[link], BOUND)
    levels = set()
    for steepness in np.geomspace(0.01, 40.0, 60):
        f = np.array([-5.0, steepness, steepness / 2, 0.4, -0.3])
        levels.add(choose_level(records.context(1).rule, f))
        check(records, f, np.arange(0, 60, 5))
    assert levels == set(range(len(records.context(1).rule.panel_starts) - 1))


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("size", [1e3, 1e5])
def test_wild_parameters_give_finite_sums(link, size):
    random = np.random.default_rng(3)
    design = make_design(60, 3, NaturalSpline(3), "paper")
    records = SanitizedRecords(make_episodes(random, 50, 60, 3), design, LINKS[link], BOUND)
    f = random.normal(size=6) * size
    value, gradient = summed(records, f, np.arange(50))
    assert np.all(np.isfinite(gradient))
    assert 0.0 <= value <= 50 * BOUND


def test_the_number_of_intervals_changes_nothing_but_the_rule():
    random = np.random.default_rng(4)
    design = make_design(2000, 3, NaturalSpline(3))
    records = SanitizedRecords(make_episodes(random, 30, 2000, 3), design, LINKS["logit"], BOUND)
    check(records, np.array([-7.0, 0.5, 0.4, 0.2, -0.8, 0.5]), np.arange(30))


def test_a_person_is_sanitized_once_whatever_the_number_of_rows():
    random = np.random.default_rng(5)
    exits = np.array([10, 30, 50, 20, 60], dtype=np.int32)
    people = Episodes(
        covariates=random.uniform(-0.5, 0.5, (5, 2)),
        entry=np.array([0, 10, 30, 5, 0], dtype=np.int32),
        exit=exits,
        event=np.array([False, False, True, False, True]),
        offsets=np.array([0, 3, 3, 4, 5]),
        persons=4,
    )
    records = SanitizedRecords(people, make_design(60, 2, NaturalSpline(3)), LINKS["logit"], 3.0)
    f = np.array([-2.0, 0.3, 0.1, 0.5, 0.5])
    check(records, f, [0, 1, 2, 3, 0])
    assert summed(records, f, [1])[0] == 0.0


def test_people_who_were_never_at_risk_lose_nothing():
    random = np.random.default_rng(6)
    base = make_episodes(random, 10, 40, 2)
    people = Episodes(base.covariates, base.entry, base.exit, base.event, None, persons=12)
    records = SanitizedRecords(people, make_design(40, 2, NaturalSpline(3)), LINKS["logit"], 5.0)
    f = np.array([-2.0, 0.3, 0.1, 0.5, 0.5])
    assert summed(records, f, [10, 11])[0] == 0.0
    check(records, f, np.arange(12))


@pytest.mark.parametrize("link", LINKS)
def test_the_total_is_the_sum_over_everybody(link):
    random = np.random.default_rng(7)
    design = make_design(80, 3, NaturalSpline(3))
    records = SanitizedRecords(make_episodes(random, 450, 80, 3), design, LINKS[link], BOUND)
    f = np.array([-3.0, 0.5, 0.2, 0.3, -0.2, 0.1])
    value, gradient = records.total(f)
    expected, slope = direct(records, f, np.arange(450))
    assert value == pytest.approx(expected, rel=1e-8)
    np.testing.assert_allclose(gradient, slope, rtol=1e-6, atol=1e-5)


def test_the_sanitized_loss_stays_below_its_bound():
    random = np.random.default_rng(8)
    design = make_design(100, 2, NaturalSpline(3))
    records = SanitizedRecords(make_episodes(random, 40, 100, 2), design, LINKS["logit"], 2.5)
    for person in range(40):
        value, _ = summed(records, random.normal(size=5) * 10, [person])
        assert 0.0 <= value <= 2.5


def cells_of(records, f, picks):
    """The first cell and the number of cells that tables in c would have."""
    people, rule, scratch = records.context(len(picks))
    rows = gather(people, np.asarray(picks), scratch)
    decode(people, rule.counts, choose_level(rule, f), f, scratch, rows)
    return count_cells(scratch, rows)


@pytest.mark.parametrize("baseline", [NaturalSpline(3), PiecewiseConstant(7)])
@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize(("spread", "tables"), [(0.2, 1), (3.0, 5), (8.0, 0)])
def test_tables_in_c_agree_with_direct_sums(link, baseline, spread, tables):
    random = np.random.default_rng(9)
    design = make_design(90, 2, baseline)
    people = make_episodes(random, 120, 90, 2)
    records = SanitizedRecords(people, design, LINKS[link], BOUND)
    f = np.concatenate([-0.6 * np.ones(baseline.dimension), [spread, spread / 3]])
    _, cells = cells_of(records, f, np.arange(120))
    assert cells == tables or (tables > 1 and 1 < cells <= 120 // (2 * COLUMNS))
    check(records, f, np.arange(120), tolerance=5e-8)


def test_positions_on_the_edges_of_cells():
    random = np.random.default_rng(10)
    base = make_episodes(random, 100, 50, 1)
    edges = np.tile([-0.75, -0.25, 0.0, 0.25, 0.75], 20)[:, None]
    people = Episodes(edges, base.entry, base.exit, base.event, None, persons=100)
    records = SanitizedRecords(people, make_design(50, 1, NaturalSpline(3)), LINKS["logit"], BOUND)
    f = np.array([-3.0, 0.2, 0.1, 2.0 * WIDTH / 1.5])
    assert cells_of(records, f, np.arange(100))[1] > 1
    check(records, f, np.arange(100), tolerance=1e-8)


def test_a_batch_beyond_the_slots_is_summed_directly():
    random = np.random.default_rng(11)
    design = make_design(40, 2, NaturalSpline(3))
    records = SanitizedRecords(make_episodes(random, 30, 40, 2), design, LINKS["logit"], BOUND)
    f, picks = np.array([-2.0, 0.3, 0.1, 0.5, 0.5]), random.integers(0, 30, STRIDE + 5)
    assert cells_of(records, f, picks) == (0.0, 0)
    assert cells_of(records, f, picks[: STRIDE - 1])[1] > 0
    check(records, f, picks)


def test_the_vector_exponential():
    values = np.concatenate([np.linspace(0.0, 60.0, 4001), [699.0, 1e300, np.inf]])
    expected = np.exp(-np.minimum(values, 700.0))
    powers = np.zeros(len(values))
    decay(values, values.view(np.uint64), powers, powers.view(np.uint64), len(values))
    np.testing.assert_allclose(values, expected, rtol=4e-14)
