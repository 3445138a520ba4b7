"""Sanitized losses record by record, against direct summation over intervals."""

import numpy as np
import pytest
from support import make_design, make_episodes

from discreet.design.baseline import NaturalSpline, PiecewiseConstant
from discreet.design.link import LINKS
from discreet.paper.kernel import SAFE, SanitizedRecords, begin, sanitized_sums
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
    return sanitized_sums(records.context(), f, np.asarray(picks), gradient), gradient


def check(records, f, picks, tolerance=1e-11):
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
@pytest.mark.parametrize("level", [-20.0, -5.0, SAFE - 3.0, SAFE + 3.0, 40.0])
def test_small_and_large_predictors_agree_with_direct_sums(link, level):
    random = np.random.default_rng(2)
    design = make_design(130, 2, NaturalSpline(3), "paper")
    records = SanitizedRecords(make_episodes(random, 60, 130, 2), design, LINKS[link], 1e4)
    f = np.array([level, 2.0, 1.0, 0.4, -0.3])
    scratch = records.context().scratch
    assert begin(design.basis, f[:3], scratch.effects, scratch.odds) < SAFE - level + 1.0
    check(records, f, np.arange(60))


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


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_a_baseline_and_covariates_that_cancel_are_summed_as_they_are(link, sign):
    """e^-1000 e^995 is e^-5, not 0 times infinity."""
    people = make_episodes(np.random.default_rng(3), 20, 12, 1)
    people = Episodes(np.ones((20, 1)), people.entry, people.exit, people.event, None, persons=20)
    design = make_design(12, 1, PiecewiseConstant(1), "paper")
    records = SanitizedRecords(people, design, LINKS[link], 50.0)
    check(records, sign * np.array([-1000.0, 995.0]), np.arange(20))


def test_products_longer_than_a_block_stay_numbers():
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
    assert value == pytest.approx(expected, rel=1e-11)
    np.testing.assert_allclose(gradient, slope, rtol=1e-9, atol=1e-9)


def test_the_sanitized_loss_stays_below_its_bound():
    random = np.random.default_rng(8)
    design = make_design(100, 2, NaturalSpline(3))
    records = SanitizedRecords(make_episodes(random, 40, 100, 2), design, LINKS["logit"], 2.5)
    for person in range(40):
        value, _ = summed(records, random.normal(size=5) * 10, [person])
        assert 0.0 <= value <= 2.5
