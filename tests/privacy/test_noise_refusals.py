"""What the sources of noise refuse: values and scales outside the domain, copies, forks."""

import copy
import math
import pickle
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from opendp.mod import OpenDPException

from discreet.audit.instruments import l1_laplace_p_value, normal_p_value
from discreet.errors import DataFormError, EntropyError, SettingsError
from discreet.privacy import noise
from discreet.privacy.noise import SystemNoise
from discreet.privacy.testing import SeededNoise
from tests.conftest import FALSE_ALARM
from tests.mechanisms.release_checks import check_scales_are_rounded_up


@pytest.fixture
def source():
    return SystemNoise()


@pytest.mark.parametrize(
    "values", [[], [[1, 2]], [1.0, 2.0], [math.nan], [True], ["1"], [2**62 + 1], [-(2**64)], 3]
)
@pytest.mark.parametrize("method", ["discrete_gaussian", "l1_laplace"])
def test_values_outside_the_domain_are_refused(method, values, source):
    with pytest.raises(DataFormError, match="noise is added"):
        getattr(source, method)(values, 4.0)


@pytest.mark.parametrize("scale", [0.0, -1.0, math.inf, math.nan, Fraction(0), True])
@pytest.mark.parametrize("method", ["discrete_gaussian", "l1_laplace", "lattice_laplace"])
def test_scales_that_are_none_are_refused(method, scale, source):
    argument = 1 if method == "lattice_laplace" else [1]
    with pytest.raises(SettingsError, match="scale of the noise"):
        getattr(source, method)(argument, scale)


@pytest.mark.parametrize("dimension", [0, -1, 2.0, True])
def test_dimensions_that_are_none_are_refused(dimension, source):
    with pytest.raises(SettingsError, match="dimension"):
        source.lattice_laplace(dimension, Fraction(100))
    with pytest.raises(SettingsError, match="dimension"):
        source.continuous_laplace(dimension, Fraction(100))


def test_sums_do_not_overflow(source):
    edge = 2**62
    released = source.discrete_gaussian(np.array([edge, -edge]), 4.0)
    assert all(abs(int(value)) < 2**63 for value in released)
    assert abs(int(released[0]) - edge) < 100
    total = np.array([2**63 - 1], dtype=np.int64) + source.lattice_laplace(1, Fraction(2**80))
    assert isinstance(total[0], int)


def test_a_scale_too_large_for_the_integers_is_refused(source):
    with pytest.raises(SettingsError, match="too large"):
        source.discrete_gaussian([0], 2.0**61)


def test_a_rational_scale_is_rounded_up():
    check_scales_are_rounded_up()


def test_integers_of_every_kind_are_taken(source):
    for values in ([1, 2], np.array([1, 2], dtype=np.int32), np.array([1, 2], dtype=object)):
        assert source.l1_laplace(values, 0.01).tolist() == [1, 2]
    assert source.l1_laplace(np.array([np.int64(5)], dtype=object), 0.01).tolist() == [5]


# --- what the sources refuse ---------------------------------------------------------------------


def test_a_source_cannot_be_pickled_or_copied(source):
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(EntropyError, match="cannot be pickled or copied"):
            attempt(source)


FORKED = """
import os
from discreet.errors import EntropyError
from discreet.privacy.noise import SystemNoise
source = SystemNoise()
calls = [lambda: source.uniform_bits(8), lambda: source.discrete_gaussian([0], 4.0),
         lambda: source.l1_laplace([0], 4.0), lambda: source.lattice_laplace(2, 99.0),
         lambda: source.continuous_laplace(2, 99.0)]
child = os.fork()
if child == 0:
    refused = 0
    for call in calls:
        try:
            call()
        except EntropyError:
            refused += 1
    os._exit(refused)
for call in calls:
    call()
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_forked_child_cannot_use_its_parents_source():
    done = subprocess.run(
        [sys.executable, "-c", FORKED], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "5"


@pytest.mark.parametrize("error", [OSError, NotImplementedError])
def test_failing_entropy_is_an_error_and_no_value(monkeypatch, source, error):
    def fail(count):
        raise error

    monkeypatch.setattr(noise.secrets, "randbits", fail)
    for call in (source.lattice_laplace, source.continuous_laplace):
        with pytest.raises(EntropyError, match="no entropy"):
            call(3, Fraction(100))


def test_a_failing_sampler_is_an_error_and_no_value(monkeypatch, source):
    def broken(*_arguments, **_settings):
        def invoke(_values):
            raise OpenDPException("FailedFunction", "secret 12345")

        return invoke

    monkeypatch.setattr(noise, "make_gaussian", broken)
    with pytest.raises(EntropyError, match="nothing was drawn") as caught:
        source.discrete_gaussian([12345], 4.0)
    assert "12345" not in str(caught.value)


def test_a_sampler_that_loses_an_entry_is_an_error(monkeypatch, source):
    monkeypatch.setattr(noise, "make_laplace", lambda *_, **__: lambda values: values[1:])
    with pytest.raises(EntropyError, match="another length"):
        source.l1_laplace([1, 2], 4.0)


def test_only_seeded_noise_repeats_and_it_says_so():
    first, second = SeededNoise(5), SeededNoise(5)
    for method, argument in (
        ("lattice_laplace", 3),
        ("l1_laplace", [0, 0]),
        ("discrete_gaussian", [0]),
    ):
        draws = [getattr(source, method)(argument, 2.0**30).tolist() for source in (first, second)]
        assert draws[0] == draws[1]
    assert not SeededNoise.private
    assert SystemNoise.private
    assert (
        SystemNoise().lattice_laplace(3, 2.0**60).tolist()
        != first.lattice_laplace(3, 2.0**60).tolist()
    )


def test_seeded_noise_has_the_seeded_laws():
    zeros = np.zeros(8_000, dtype=np.int64)
    laplace = SeededNoise(6).l1_laplace(zeros, 2.0**20).reshape(-1, 2)
    assert l1_laplace_p_value(laplace, 2.0**20) > FALSE_ALARM
    gaussian = SeededNoise(6).discrete_gaussian(zeros, 2.0**20).reshape(-1, 2)
    assert normal_p_value(gaussian, 2.0**20) > FALSE_ALARM
