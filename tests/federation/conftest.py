import pytest

from tests.federation.stage import Stage


@pytest.fixture
def stage():
    found = Stage()
    yield found
    found.clear()
