"""The tabulated kernel against direct summation in extended precision."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.design.baseline import LogTime, NaturalSpline, PiecewiseConstant
from discreet.design.link import LINKS, get_link
from discreet.engine.local import LocalEngine
from discreet.likelihood import panels, sums
from discreet.likelihood.expansion import choose_expansion
from discreet.likelihood.panels import choose_rule
from discreet.likelihood.problem import Problem
from discreet.people.episodes import Episodes
from tests.baselines import Cut, Hinge, Wave
from tests.support import make_design, make_episodes

TOLERANCE = 1e-12


def _intervals(episodes, design, f):
    """Every person-period row as (z, survived or event, eta), in long double."""
    basis = design.basis.astype(np.longdouble)
    rows, happened = [], []
    for x, entry, exit_, event in zip(
        episodes.covariates, episodes.entry, episodes.exit, episodes.event, strict=True
    ):
        for s in range(entry, exit_):
            rows.append(np.concatenate([basis[s], x.astype(np.longdouble)]))
            happened.append(bool(event) and s == exit_ - 1)
    z = np.array(rows, dtype=np.longdouble).reshape(-1, design.dimension)
    return z, np.array(happened, dtype=bool), z @ f.astype(np.longdouble)


def _logit_loss(eta, happened):
    soft = np.maximum(eta, 0) + np.log1p(np.exp(-np.abs(eta)))
    hazard = np.exp(-np.logaddexp(np.longdouble(0), -eta))
    rest = np.exp(-np.logaddexp(np.longdouble(0), eta))
    return soft - happened * eta, hazard - happened, hazard * rest, np.maximum(hazard, happened)


def _cloglog_loss(eta, happened):
    rate = np.exp(eta)
    gone = -np.expm1(-rate)
    value = np.where(happened, -np.log(gone), rate)
    slope = np.where(happened, -rate / np.expm1(rate), rate)
    bend = np.where(happened, rate * (1 + (rate - 1) * np.exp(rate)) / np.expm1(rate) ** 2, rate)
    return value, slope, bend, np.abs(slope)


def _assert_close(loss, f, episodes, design, pointwise):
    z, happened, eta = _intervals(episodes, design, f)
    value, slope, bend, size = pointwise(eta, happened)
    found = loss(f)
    scale = np.abs(z).T @ size + 1e-290
    bends = (np.abs(z) * bend[:, None]).T @ np.abs(z) + 1e-290
    # the linear event term cancels against the prefix: judge by the sum of magnitudes
    total = np.sum(np.abs(value)) + np.sum(np.abs(eta[happened]))
    assert abs(found.value - float(value.sum())) <= TOLERANCE * float(total) + 1e-290
    assert np.all(np.abs(found.gradient - (z.T @ slope)) <= TOLERANCE * scale)
    exact = (z * bend[:, None]).T @ z
    assert np.all(np.abs(found.hessian - exact) <= TOLERANCE * bends)


@st.composite
def cases(draw):
    """Anything from one person to everybody censored, flat to overflowing coefficients."""
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    intervals = draw(st.sampled_from([1, 2, 7, 60, 450]))
    covariates = draw(st.integers(0, 3))
    if draw(st.booleans()):
        baseline = NaturalSpline(min(draw(st.integers(1, 5)), intervals))
    else:
        baseline = PiecewiseConstant(min(draw(st.integers(1, 9)), intervals))
    people = draw(st.sampled_from([1, 2, 25]))
    episodes = make_episodes(
        random,
        people,
        intervals,
        covariates,
        late=draw(st.sampled_from([0.0, 0.5])),
        event=draw(st.sampled_from([0.0, 0.4, 1.0])),
    )
    design = make_design(intervals, covariates, baseline)
    size = draw(st.sampled_from([0.0, 0.3, 2.0, 30.0, 700.0]))
    return episodes, design, random.normal(size=design.dimension) * size


@given(cases())
def test_logit_equals_long_double_summation(case):
    episodes, design, f = case
    loss = Problem(LocalEngine(episodes), design, get_link("logit"))
    _assert_close(loss, f, episodes, design, _logit_loss)


@given(cases())
def test_cloglog_equals_long_double_summation(case):
    episodes, design, f = case
    f = np.clip(f, -2.0, 2.0)
    loss = Problem(LocalEngine(episodes), design, get_link("cloglog"))
    _assert_close(loss, f, episodes, design, _cloglog_loss)


@pytest.mark.parametrize("name", LINKS)
@pytest.mark.parametrize("intervals", [200, 4000])
@pytest.mark.parametrize("baseline", [NaturalSpline(3), NaturalSpline(6), PiecewiseConstant(5)])
def test_tables_equal_direct_summation(name, intervals, baseline, monkeypatch):
    random = np.random.default_rng(intervals)
    design = make_design(intervals, 3, baseline)
    episodes = make_episodes(random, 60, intervals, 3, late=0.3)
    link = get_link(name)
    f = random.normal(size=design.dimension)
    f[: baseline.dimension] += design.baseline.constant * (-2.0 if name == "probit" else -4.0)
    loss = Problem(LocalEngine(episodes), design, link)
    tabulated, information = loss(f), loss.information(f)
    monkeypatch.setattr(sums, "choose_expansion", lambda *_, **__: None)
    direct, expected = loss(f), loss.information(f)
    assert tabulated.value == pytest.approx(direct.value, rel=TOLERANCE)
    bound = TOLERANCE * np.abs(direct.hessian).max()
    np.testing.assert_allclose(tabulated.gradient, direct.gradient, rtol=0, atol=bound)
    np.testing.assert_allclose(tabulated.hessian, direct.hessian, rtol=0, atol=bound)
    bound = TOLERANCE * np.abs(expected).max()
    np.testing.assert_allclose(information, expected, rtol=0, atol=bound)


@st.composite
def baselines(draw):
    """Every kind there is, and kinds that there are not, with breaks at unequal places."""
    places = st.fractions(Fraction(1, 50), Fraction(49, 50), max_denominator=200)
    inner = tuple(sorted(draw(st.sets(places, min_size=1, max_size=4))))
    return draw(
        st.sampled_from(
            [
                NaturalSpline(len(inner) + 1),
                PiecewiseConstant(len(inner) + 1),
                LogTime(min(len(inner) + 1, 4)),
                Cut(inner),
                Cut(inner, declared=inner[1:]),
                Hinge(inner),
                Hinge(inner, jumps=True),
                Wave(),
            ]
        )
    )


@given(
    baselines(), st.sampled_from(sorted(LINKS)), st.sampled_from([60, 450, 4000]), st.integers(0)
)
def test_every_baseline_is_summed_as_if_interval_by_interval(baseline, name, intervals, seed):
    random = np.random.default_rng(seed)
    design = make_design(intervals, 2, baseline, "paper")
    episodes = make_episodes(random, 30, intervals, 2, late=0.3)
    f = random.normal(size=design.dimension) * random.choice([0.1, 1.0, 3.0])
    f[: baseline.dimension] += baseline.constant * (-2.0 if name == "probit" else -4.0)
    loss = Problem(LocalEngine(episodes), design, get_link(name))
    tabulated = loss(f)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sums, "choose_expansion", lambda *_, **__: None)
        direct = loss(f)
    assert tabulated.value == pytest.approx(direct.value, rel=TOLERANCE)
    bound = TOLERANCE * np.abs(direct.hessian).max()
    np.testing.assert_allclose(tabulated.gradient, direct.gradient, rtol=0, atol=bound)
    np.testing.assert_allclose(tabulated.hessian, direct.hessian, rtol=0, atol=bound)


def nodes_of(baseline, intervals=4000):
    design = make_design(intervals, 1, baseline, "paper")
    rule = choose_rule(design, get_link("logit"), np.zeros(baseline.dimension))
    return sum(len(basis) for basis in rule.bases)


def test_a_break_that_is_not_declared_is_noticed():
    cuts = (Fraction(1, 10), Fraction(13, 100))
    assert nodes_of(Cut(cuts)) == 3
    assert nodes_of(Cut(cuts, declared=cuts[1:])) == 4000
    assert nodes_of(Cut(cuts, declared=(Fraction(1, 10), Fraction(14, 100)))) == 4000
    assert nodes_of(Hinge(cuts)) < 100
    assert nodes_of(Wave()) == 4000


@pytest.mark.parametrize("baseline", [NaturalSpline(2), NaturalSpline(7), PiecewiseConstant(9)])
def test_what_the_package_declares_holds(baseline):
    assert nodes_of(baseline) < 200


@pytest.mark.parametrize("name", LINKS)
def test_fewer_nodes_for_a_flatter_baseline_are_as_exact(name, monkeypatch):
    random, link, used = np.random.default_rng(5), get_link(name), set()
    design = make_design(4000, 2, NaturalSpline(3))
    loss = Problem(LocalEngine(make_episodes(random, 60, 4000, 2, late=0.3)), design, link)
    for size in 10.0 ** np.linspace(-5, 0.5, 40):
        f = random.normal(size=5) * np.array([size, size, size, 1.0, 1.0])
        f[:3] += design.baseline.constant * (-2.0 if name == "probit" else -4.0)
        nodes = {len(basis) for basis in choose_rule(design, link, f[:3]).bases}
        if nodes <= used:
            continue
        used |= nodes
        found = loss(f)
        with monkeypatch.context() as patch:
            patch.setattr(sums, "choose_expansion", lambda *_, **__: None)
            exact = loss(f)
        assert found.value == pytest.approx(exact.value, rel=TOLERANCE)
        bound = TOLERANCE * np.abs(exact.hessian).max()
        np.testing.assert_allclose(found.hessian, exact.hessian, rtol=0, atol=bound)
    assert used >= set(panels.NODES)


@pytest.mark.parametrize("name", LINKS)
@pytest.mark.parametrize("intervals", [150, 4000])
def test_compiled_and_numpy_agree(name, intervals, monkeypatch):
    random = np.random.default_rng(3)
    design = make_design(intervals, 4, NaturalSpline(3))
    loss = Problem(
        LocalEngine(make_episodes(random, 2000, intervals, 4, late=0.2)), design, get_link(name)
    )
    f = random.normal(size=design.dimension)
    found = []
    for fewest in (np.inf, 0):
        monkeypatch.setattr(sums, "COMPILED_FROM", fewest)
        found.append(loss(f))
    np.testing.assert_allclose(found[0].gradient, found[1].gradient, rtol=1e-11, atol=1e-9)
    np.testing.assert_allclose(found[0].hessian, found[1].hessian, rtol=1e-11, atol=1e-9)


def test_gradient_and_hessian_are_derivatives():
    random = np.random.default_rng(0)
    design = make_design(40, 2, NaturalSpline(3))
    episodes = make_episodes(random, 50, 40, 2, late=0.3)
    for link in LINKS.values():
        loss = Problem(LocalEngine(episodes), design, link)
        f = 0.3 * random.normal(size=design.dimension)
        for axis in np.eye(design.dimension):
            ahead, behind = loss(f + 1e-5 * axis), loss(f - 1e-5 * axis)
            assert loss(f).gradient @ axis == pytest.approx(
                (ahead.value - behind.value) / 2e-5, rel=1e-6, abs=1e-5
            )
            np.testing.assert_allclose(
                loss(f).hessian @ axis, (ahead.gradient - behind.gradient) / 2e-5, atol=1e-4
            )


def test_nobody_at_risk_gives_zeros():
    empty = np.empty(0, np.int32)
    episodes = Episodes(np.empty((0, 2)), empty, empty, np.empty(0, bool), None, 5)
    design = make_design(10, 2, NaturalSpline(2))
    for link in LINKS.values():
        found = Problem(LocalEngine(episodes), design, link)(np.ones(4))
        assert found.value == 0.0
        assert not found.gradient.any()
        assert not found.hessian.any()


def test_long_grids_use_panels_and_wide_ranges_fall_back():
    design = make_design(20_000, 1, NaturalSpline(3))
    flat = choose_rule(design, get_link("logit"), np.zeros(3))
    assert sum(len(basis) for basis in flat.bases) < 100
    steep = choose_rule(design, get_link("logit"), np.array([0.0, 1e5, 0.0]))
    assert sum(len(basis) for basis in steep.bases) == 20_000
    assert choose_expansion(get_link("logit"), np.array([-1e6, 1e6]), 10) is None
    assert choose_expansion(get_link("logit"), np.array([0.0, np.inf]), 10) is None


def test_a_plain_fit_does_not_wait_for_a_compiler():
    assert 53_558 < sums.COMPILED_FROM < 1_000_000
