"""The page about exports runs word for word."""

import shutil
import subprocess

import pytest

from tests.test_docs import Page, assert_as_shown


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    folder = tmp_path_factory.mktemp("exports")
    with pytest.MonkeyPatch.context() as patch:
        return folder, Page("guide.md").run(folder, patch)


def test_every_command_prints_what_the_page_shows(session):
    _, commands = session
    assert len(commands) == 9
    for command, shown, done in commands:
        assert_as_shown(command, shown, done)


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
def test_the_program_in_r_predicts_and_prints(session):
    folder, _ = session
    done = subprocess.run(
        ["Rscript", "predict.R"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    first = done.stdout.splitlines()[1].split()[1:]
    assert 0.5 < float(first[1]) < float(first[0]) < 1.0
    assert "Survival regression, cloglog link" in done.stdout
