"""What a site is sent of another's integers says nothing about them."""

import logging
import os
import subprocess
import sys

import numpy as np
from scipy import stats

from discreet.federation.secure_sum import PRIME, load_mpyc
from tests.federation.part import MANY, SAME
from tests.federation.stage import make_sites

ALPHA = 1e-6


def test_what_one_site_is_sent_of_another_is_uniform(tmp_path, stage):
    """The same integer a thousand times over: shares are uniform on the field, never the integer."""
    found = stage.play(make_sites(tmp_path), "record")
    for item in found:
        assert item["sums"] == [3 * SAME] * 3
        dealt = [elements(messages[0]) for messages in item["seen"].values()]
        for shares in dealt:
            assert len(shares) == len(set(shares)) == MANY
            assert SAME not in shares
            uniform = np.array([share / PRIME for share in shares])
            assert stats.kstest(uniform, "uniform").pvalue > ALPHA
            low = np.bincount([share % 16 for share in shares], minlength=16)
            assert stats.chisquare(low).pvalue > ALPHA
        together = np.corrcoef([[share / PRIME for share in shares] for shares in dealt])[0, 1]
        assert abs(together) < stats.norm.isf(ALPHA) / np.sqrt(MANY)


def test_a_sum_fits_the_field():
    assert PRIME // 2 > 64 * (2**62 + 2**62)
    assert pow(3, PRIME - 1, PRIME) == 1


def test_importing_mpyc_leaves_the_process_as_it_was():
    """Its own import would read --out as an ambiguous option, and exit."""
    code = (
        "import os, sys, logging\n"
        "from discreet.federation.secure_sum import load_mpyc\n"
        "before = dict(os.environ), list(sys.argv), list(logging.getLogger().handlers)\n"
        "load_mpyc()\n"
        "after = dict(os.environ), list(sys.argv), list(logging.getLogger().handlers)\n"
        "assert before == after, (before, after)\n"
    )
    command = [sys.executable, "-c", code, "fit", "--out", "x", "-M", "3", "-h"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert "READTHEDOCS" not in os.environ or load_mpyc()
    assert logging.getLogger().level in {logging.WARNING, logging.NOTSET, logging.DEBUG}


def elements(message):
    """The field elements of a message, 12 bytes each."""
    content = bytes.fromhex(message)
    return [int.from_bytes(content[at : at + 12], "little") for at in range(0, len(content), 12)]
