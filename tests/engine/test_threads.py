"""BLAS has one thread while blocks are summed, and as many as before afterwards."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from discreet.engine.threads import one_blas_thread


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
