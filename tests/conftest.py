"""What every test may use: constants, the data folder, a real browser, hypothesis settings."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, settings

# Several workers whose matrices each take all processors wait for each other: on a busy machine ten
# times as long. Said before numpy is loaded, and handed on to the commands that tests start.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

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

# Where noise itself is looked at, it is the system's.
REAL_NOISE = {"audit", "mechanisms", "privacy", "test_release.py"}


@pytest.fixture(scope="module", autouse=True)
def same_noise(request):
    """A release has the same noise on every run: a red test means a change, not luck."""
    if REAL_NOISE & set(request.path.parts):
        yield
        return
    from discreet import release  # noqa: PLC0415 - most tests make none
    from discreet.privacy.testing import SeededNoise  # noqa: PLC0415

    draw_from = release.draw_from

    def draw_the_same(order, plan, people, noise):
        if noise.private:
            noise = SeededNoise(1)
            noise.private = True
        return draw_from(order, plan, people, noise)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(release, "draw_from", draw_the_same)
        yield


class Said(NamedTuple):
    """How a command ended: exit status, and what it printed."""

    status: int
    out: str
    err: str


@pytest.fixture
def command(monkeypatch, capsys):
    """`discreet` with these words, in this process."""
    from discreet.cli import main  # noqa: PLC0415 - most tests need no command

    def run(*words):
        monkeypatch.setattr("sys.argv", ["discreet", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        return Said(ended.value.code or 0, *capsys.readouterr())

    return run


@pytest.fixture
def printed(command):
    """What a command that must succeed prints."""

    def run(*words):
        said = command(*words)
        assert said.status == 0, said.err
        return said.out

    return run


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of the paper's data sets; the test is skipped where there is none."""
    folder = os.environ.get("DISCREET_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("DISCREET_DATA names no folder")
    return Path(folder)


@pytest.fixture(scope="session")
def browser():
    """Debian's Chromium; installed when root, otherwise the test says what to install."""
    playwright = pytest.importorskip("playwright.sync_api")
    path = shutil.which("chromium") or _install()
    with playwright.sync_playwright() as driver:
        flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        found = driver.chromium.launch(executable_path=path, args=flags)
        yield found
        found.close()


def _install():
    if os.geteuid() == 0 and shutil.which("apt-get"):
        subprocess.run(["apt-get", "update", "-qq"], check=False)
        subprocess.run(["apt-get", "install", "-y", "-qq", "chromium"], check=False)
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("needs a browser: install Debian's package chromium")
    return path
