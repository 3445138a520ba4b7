"""Shells complete commands, options and formats after `discreet --install-completion`."""

import os
import subprocess
import sys

import pytest

NO_DETECTION = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}


def discreet(*arguments, **environment):
    command = [sys.executable, "-m", "discreet", *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("words", "place", "expected"),
    [
        ("discreet ex", "1", ["export"]),
        ("discreet export model.json --ov", "3", ["--overwrite"]),
        ("discreet export model.json --to ex", "4", ["excel"]),
    ],
)
def test_bash_is_told_what_may_follow(words, place, expected):
    found = discreet(_DISCREET_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=place)
    assert found.split() == expected


def test_completion_is_installed_into_the_home_of_the_user(tmp_path):
    said = discreet("--install-completion", "bash", HOME=str(tmp_path), **NO_DETECTION)
    assert "completion installed" in said
    script = tmp_path / ".bash_completions" / "discreet.sh"
    assert "_DISCREET_COMPLETE=complete_bash" in script.read_text()
    assert str(script) in (tmp_path / ".bashrc").read_text()
