"""The golden comparison notices what it is there for."""

import copy

import pytest

from tests.scripts import script

SCRIPT = "studies/golden.py"
CASE = "newton/logit/natural-spline:3/episodes/memory"


@pytest.fixture(scope="module")
def golden():
    return script(SCRIPT)


@pytest.fixture(scope="module")
def outcomes(golden, tmp_path_factory):
    folder = tmp_path_factory.mktemp("golden")
    golden.write_data(folder)
    named = {str(case): case for case in golden.cases()}
    wanted = (CASE, CASE.replace("newton", "plain"))
    found = {name: golden.outcome(named[name], folder) for name in wanted}
    # another name of the release is not another page
    assert golden.outcome(named[CASE], folder) == found[CASE]
    return found


def test_a_tree_agrees_with_itself(golden, outcomes, capsys):
    assert golden.compare(outcomes, copy.deepcopy(outcomes)) == 0
    assert "2 identical" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["internal", "released", "noise_scale", "guarantee", "asked"])
def test_one_number_of_a_release_is_noticed(golden, outcomes, name):
    other = copy.deepcopy(outcomes)
    other[CASE]["private"][name] = _moved(other[CASE]["private"][name])
    said = golden.verdict(outcomes[CASE], other[CASE])
    assert said.startswith(name)
    assert said.endswith(" differ")
    assert golden.compare(outcomes, other) == 1


def test_a_weaker_promise_of_the_same_numbers_is_counted_apart(golden, outcomes, capsys):
    other = copy.deepcopy(outcomes)
    other[CASE]["private"]["guarantee"]["status"] = "conditional"
    assert golden.compare(outcomes, other) == 0
    assert "1 identical under a weaker promise" in capsys.readouterr().out
    assert golden.compare(other, outcomes) == 1  # a stronger one must be looked at
    other[CASE]["private"]["noise_scale"] = _moved(other[CASE]["private"]["noise_scale"])
    assert golden.compare(outcomes, other) == 1


def test_a_detail_or_a_case_that_is_gone_is_noticed(golden, outcomes):
    other = copy.deepcopy(outcomes)
    other[CASE]["details"].popitem()
    assert golden.compare(outcomes, other) == 1
    assert golden.compare(outcomes, {CASE: outcomes[CASE]}) == 1
    assert golden.compare({}, {}) == 1
    assert golden.verdict(outcomes[CASE], {"refused": True}) == "refused in one tree only"
    assert golden.verdict(outcomes[CASE], {"failed": True}) == "failed in one tree only"
    assert golden.verdict({"failed": True}, outcomes[CASE]) == golden.REPAIRED


@pytest.mark.parametrize(("factor", "word"), [(1 + 1e-13, "within 1e-12"), (1 + 1e-9, "differ by")])
def test_plain_fits_may_differ_by_rounding(golden, outcomes, factor, word):
    name = CASE.replace("newton", "plain")
    other = copy.deepcopy(outcomes[name])
    value = float.fromhex(other["plain"]["log_likelihood"])
    other["plain"]["log_likelihood"] = (value * factor).hex()
    assert word in golden.verdict(outcomes[name], other)


def _moved(value):
    """The same nest with its first number changed in the last bit."""
    if isinstance(value, dict):
        first = next(iter(value))
        return value | {first: _moved(value[first])}
    if isinstance(value, list):
        return [_moved(value[0]), *value[1:]]
    return f"{value}x"
