"""What every test may use: constants, the data folder, hypothesis settings."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# The chance that a correct program fails one statistical test.
FALSE_ALARM = 1e-6

# The same examples on every run: a red test means a change, not luck. `evidence` searches further.
settings.register_profile(
    "reduced",
    max_examples=50,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("evidence", max_examples=1000, deadline=None)
settings.load_profile(os.environ.get("DISCREET_HYPOTHESIS", "reduced"))


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of the paper's data sets; the test is skipped where there is none."""
    folder = os.environ.get("DISCREET_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("DISCREET_DATA names no folder")
    return Path(folder)
