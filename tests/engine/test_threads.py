"""Work in threads; BLAS has one thread while blocks are summed, and as many as before afterwards."""

import time
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, get_ident

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from discreet.engine.threads import in_threads, one_blas_thread


@pytest.fixture(autouse=True)
def _two_threads():
    """The tests have one, as their configuration says."""
    with threadpool_limits(2, "blas"):
        assert set(blas_threads()) == {2}
        yield


def blas_threads():
    assert np.ones((2, 2)) @ np.ones(2) is not None  # BLAS is loaded with numpy
    return [item["num_threads"] for item in threadpool_info() if item["user_api"] == "blas"]


def test_blas_has_one_thread_inside():
    before = blas_threads()
    with one_blas_thread():
        assert set(blas_threads()) == {1}
        with one_blas_thread():
            assert set(blas_threads()) == {1}
        assert set(blas_threads()) == {1}
    assert blas_threads() == before


def test_overlapping_fits_and_errors_leave_no_limit():
    before = blas_threads()

    def work(_):
        with one_blas_thread():
            blas_threads()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(200)))
    with pytest.raises(ZeroDivisionError), one_blas_thread():
        raise ZeroDivisionError
    assert blas_threads() == before


@pytest.mark.parametrize("threads", [None, 1, 3])
def test_results_come_in_the_order_of_the_items(threads):
    """Whichever thread is first: the last items are done at once, the first ones wait for them."""

    def slow(item):
        time.sleep(0.002 * (5 - item))
        return item * item

    assert in_threads(slow, range(6), threads) == [0, 1, 4, 9, 16, 25]


def test_as_many_threads_work_as_are_asked_for():
    """Three items meet: with fewer threads they would wait for each other in vain."""
    meeting = Barrier(3, timeout=60)
    assert len(set(in_threads(lambda _: (meeting.wait(), get_ident())[1], range(3), 3))) == 3


def test_what_goes_wrong_in_a_thread_is_raised():
    with pytest.raises(ZeroDivisionError):
        in_threads(lambda item: 1 // item, [1, 0], 2)
