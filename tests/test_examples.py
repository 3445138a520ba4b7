"""What README, guide and demo show a newcomer works as shown."""

import json
import math
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from discreet import Schema, load

ROOT = Path(__file__).parents[1]
SCHEMA = (ROOT / "docs" / "schema.md").read_text()
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    command = [sys.executable, "-m", "discreet", "demo", "--out", folder]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder, done.stdout


def test_the_demo_of_the_examples_is_the_command():
    command = [sys.executable, ROOT / "examples" / "demo.py", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "The patients do not exist" in done.stdout


def test_the_demo_does_the_main_job(demo):
    """Check, plan, budget, private fit, summary, page; it ends with the paths."""
    folder, output = demo
    release = json.loads((folder / "release.json").read_text())
    assert release["private"] is True
    assert (release["link"], release["guarantee"]["epsilon"]) == ("cloglog", 1.0)
    assert release["ledger"] != "no ledger"
    assert "<!DOCTYPE html>" in (folder / "page.html").read_text()
    typed = re.findall(r"^\$ discreet (\w+)", output, re.MULTILINE)
    assert typed == ["check", "plan", "budget", "fit", "summary", "page"]
    ending = output[output.index("The release, to publish") :].replace("\n", "")
    assert str(folder / "release.json") in ending
    assert str(folder / "page.html") in ending


def test_the_demo_shows_the_truth_beside_both_fits(demo):
    folder, output = demo
    number = r"\s+(\d\.\d{3})"
    rows = re.findall(rf"^(age|sex\[M\]|stage\[I+\]){3 * number}", output, re.MULTILINE)
    assert len(rows) == 4
    errors = load(folder / "release.json").summary().columns()["standard error"][3:]
    for (_, truth, exact, private), error in zip(rows, errors, strict=True):
        assert abs(math.log(float(exact) / float(truth))) < 4 * error + 0.001
        assert abs(math.log(float(private) / float(truth))) < 6 * error + 0.001  # real noise


def test_three_hospitals_make_one_release(tmp_path):
    folder = tmp_path / "joint"
    command = [sys.executable, ROOT / "examples" / "demo_federation.py", "--out", folder]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    releases = [json.loads((folder / f"release-{site}.json").read_text()) for site in range(3)]
    assert len({release.pop("ledger") for release in releases}) == 3
    assert releases[0] == releases[1] == releases[2]
    assert releases[0]["persons"] == 20_000
    assert "<!DOCTYPE html>" in (folder / "page.html").read_text()
    shown = re.findall(r"^(age|sex\[M\]|stage\[I+\]) .*◆", done.stdout, re.MULTILINE)
    assert shown == ["age", "sex[M]", "stage[II]", "stage[III]"]


def test_the_lines_of_the_readme_run_as_they_stand(tmp_path, monkeypatch, capsys):
    """Five of shell, which begin with the demo's files, then five of Python beside them."""
    text = (ROOT / "README.md").read_text()
    (shell,) = re.findall(r"```console\n(.*?)```", text, re.DOTALL)
    (python,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(shell.splitlines()) == len(python.splitlines()) == 5
    for line in shell.splitlines():
        command = shlex.split(line.removeprefix("$ "))
        if command[0] == "cd":
            tmp_path /= command[1]
            continue
        typed = [sys.executable, "-m", *command]
        done = subprocess.run(typed, capture_output=True, text=True, check=False, cwd=tmp_path)
        assert done.returncode == 0, (line, done.stderr)
    assert "<!DOCTYPE html>" in (tmp_path / "second.html").read_text()
    monkeypatch.chdir(tmp_path)
    exec(compile(python, "README.md", "exec"), {})  # noqa: S102  # our own page
    assert "stage[III]" in capsys.readouterr().out
    assert (tmp_path / "third.json").exists()


def test_the_page_of_the_schema_shows_one_that_is_accepted():
    written = re.search(r"```toml\n(.*?)```", SCHEMA, re.DOTALL)[1]
    assert Schema.from_mapping(tomllib.loads(written)).coefficient_names == ("age", "sex[M]")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\((?!https?://)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), target


def test_the_first_cells_of_a_notebook_run_here(tmp_path, monkeypatch):
    """Committed outputs are older than the code; what a reader runs first is run with it."""
    monkeypatch.chdir(tmp_path)
    scope = {}
    book = json.loads((ROOT / "examples" / "custodian.ipynb").read_text())
    for cell in [cell for cell in book["cells"] if cell["cell_type"] == "code"][:2]:
        exec(cell["source"], scope)  # noqa: S102 - our own notebook
    assert (tmp_path / "registry.csv").exists()


@pytest.mark.parametrize("name", ["custodian", "analyst"])
def test_the_notebooks_are_executed_and_hold_the_present_code(name):
    """`python examples/notebooks.py` makes them again."""
    import runpy  # noqa: PLC0415

    made = runpy.run_path(str(ROOT / "examples" / "notebooks.py"))
    cells = made[name.upper()]
    book = json.loads((ROOT / "examples" / f"{name}.ipynb").read_text())
    assert [cell["source"] for cell in book["cells"]] == list(cells)
    kinds = {
        kind
        for cell in book["cells"]
        for out in cell.get("outputs", ())
        for kind in out.get("data", ())
    }
    assert {"text/html", "image/png"} <= kinds
