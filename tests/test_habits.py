"""What a public project says about itself agrees with what it does."""

import re
import tomllib
from pathlib import Path

from discreet.version import __version__

ROOT = Path(__file__).parents[1]


def test_the_source_archive_holds_what_the_tests_read():
    built = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    packed = {name.removeprefix("/") for name in built["targets"]["sdist"]["include"]}
    tests = "".join(path.read_text() for path in (ROOT / "tests").rglob("*.py"))
    read = {name for name in re.findall(r'ROOT / "([^"/]+)"', tests) if (ROOT / name).exists()}
    assert len(read) > 8
    assert read <= packed | {"pyproject.toml"}


def test_the_citation_is_of_this_version():
    assert f"version: {__version__}" in (ROOT / "CITATION.cff").read_text().splitlines()
