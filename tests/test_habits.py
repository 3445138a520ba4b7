"""What a public project says about itself agrees with what it does."""

import re
import tomllib
from pathlib import Path

import pytest

from discreet.version import __version__

ROOT = Path(__file__).parents[1]


def test_hooks_before_a_commit_run_what_make_lint_runs():
    recipe = (ROOT / "Makefile").read_text().partition("\nlint:")[2].partition("\n\n")[0]
    commands = re.findall(r"^\t\$\(BIN\)/(.+)$", recipe, re.MULTILINE)
    hooks = re.findall(r"entry: \.venv/bin/(.+)", (ROOT / ".pre-commit-config.yaml").read_text())
    assert commands
    assert hooks == commands


def test_the_source_archive_holds_what_the_tests_read():
    built = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    packed = {name.removeprefix("/") for name in built["targets"]["sdist"]["include"]}
    tests = "".join(path.read_text() for path in (ROOT / "tests").rglob("*.py"))
    read = {name for name in re.findall(r'ROOT / "([^"/]+)"', tests) if (ROOT / name).exists()}
    assert len(read) > 8
    assert read <= packed | {"pyproject.toml"}


def test_the_citation_is_of_this_version():
    assert f"version: {__version__}" in (ROOT / "CITATION.cff").read_text().splitlines()


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "SECURITY.md"])
def test_what_they_link_to_and_name_is_there(name):
    text = (ROOT / name).read_text()
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert (ROOT / target).exists(), target
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert set(re.findall(r"(?:^|`)make ([a-z]+)\b", text, re.MULTILINE)) <= set(targets)
    for script in re.findall(r"python ([a-z]+/[a-z_]+\.py)", text):
        assert (ROOT / script).is_file(), script
