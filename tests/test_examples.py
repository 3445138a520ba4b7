"""What README, guide and demo show a newcomer works as shown."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from discreet import Schema

ROOT = Path(__file__).parents[1]
GUIDE = (ROOT / "docs" / "guide.md").read_text()
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    command = [sys.executable, ROOT / "examples" / "demo.py", "--out", folder]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder, done.stdout


def test_the_demo_writes_a_model_predictions_and_a_picture(demo):
    folder, _ = demo
    assert json.loads((folder / "model.json").read_text())["private"] is False
    assert len((folder / "survival.csv").read_text().splitlines()) == 4
    assert (folder / "model.png").read_bytes().startswith(b"\x89PNG")


def test_the_demo_finds_the_truth(demo):
    _, output = demo
    distances = [float(text) for text in re.findall(r"([\d.]+) se", output)]
    assert len(distances) == 7
    assert max(distances) < 3


def test_the_guide_shows_a_schema_that_is_accepted():
    written = re.search(r"```toml\n(.*?)```", GUIDE, re.DOTALL)[1]
    assert Schema.from_mapping(tomllib.loads(written)).coefficient_names == ("age", "sex[M]")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\((?!https?://)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), target
