"""The documentation does what it says: commands run, tables are computed again, links hold."""

import contextlib
import csv
import doctest
import importlib
import io
import math
import re
import runpy
import shlex
import subprocess
import sys
import warnings
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import NamedTuple

import pytest

import discreet
from discreet import __all__ as public_names
from discreet import __version__
from discreet.cli import main
from discreet.design.schema import Schema
from discreet.mechanisms.contract import registered
from discreet.mechanisms.newton import duration
from discreet.paper.config import Options
from discreet.paper.page import write_page
from discreet.people.encode import to_episodes
from discreet.privacy.guarantee import WEAK_EPSILON
from tests.scripts import script

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
EVIDENCE = ROOT / "evidence" / "results"
FENCE = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
LOOSE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Page:
    """A page whose titled blocks are files and whose console blocks are commands."""

    def __init__(self, name):
        self.blocks = FENCE.findall((DOCS / name).read_text())

    @property
    def files(self):
        return {title: content for _, title, content in self.blocks if title}

    @property
    def commands(self):
        """Command and what it prints, in order."""
        consoles = [content for language, _, content in self.blocks if language == "console"]
        sessions = [re.split(r"^\$ ", content, flags=re.MULTILINE)[1:] for content in consoles]
        return [command.partition("\n")[::2] for session in sessions for command in session]

    def write_files(self, folder):
        for title, content in self.files.items():
            (folder / title).write_text(content)

    def run(self, folder, patch):
        self.write_files(folder)
        patch.chdir(folder)
        patch.setenv("COLUMNS", "80")
        return [(command, shown, run(command, patch)) for command, shown in self.commands]


class Done(NamedTuple):
    status: int
    printed: str


def run(command, patch):
    """The command in this process, which has compiled and imported everything already."""
    program, *arguments = shlex.split(command, comments=True)
    patch.setattr(sys, "argv", [program, *arguments])
    printed, status = io.StringIO(), 0
    streams = (contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed))
    with streams[0], streams[1], warnings.catch_warnings():
        warnings.simplefilter("default")
        try:
            main() if program == "discreet" else runpy.run_path(arguments[0])
        except SystemExit as leaving:
            status = leaving.code or 0
    return Done(status, printed.getvalue())


def assert_as_shown(command, shown, done):
    expected = re.search(r"# exit status (\d)", command)
    assert done.status == (int(expected[1]) if expected else 0), (command, done.printed)
    if shown:  # warnings of a release are up to the noise, progress to the machine
        printed = re.sub(
            r"^(warning: .*|\w+: \d+ s \.\.\.)\n", "", done.printed, flags=re.MULTILINE
        )
        assert doctest.OutputChecker().check_output(shown, printed, LOOSE), (command, done)


@pytest.fixture(scope="module")
def tutorial(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tutorial")
    with pytest.MonkeyPatch.context() as patch:
        return folder, Page("tutorial.md").run(folder, patch)


def test_the_tutorial_runs_word_for_word(tutorial):
    _, session = tutorial
    assert len(session) == 13
    for command, shown, done in session:
        assert_as_shown(command, shown, done)


def test_the_tutorial_leaves_what_it_names(tutorial):
    folder, _ = tutorial
    assert "<!DOCTYPE html>" in (folder / "page.html").read_text()
    assert len((folder / "survival.csv").read_text().splitlines()) == 4
    assert not (folder / "second.json").exists()


def test_the_page_of_data_turns_a_spreadsheet_into_a_registry(tmp_path, monkeypatch):
    """One value at a time: odd entries change nobody else, and people who are alike stay."""
    monkeypatch.chdir(tmp_path)
    Page("data.md").write_files(tmp_path)
    heading, person = "diagnosis;last seen;outcome;Größe", "24.12.2019;01.03.2020;yes;1,75"
    for odd in ("31.01.2020;02.02.2020;no;", "soon;02.02.2020;?;about 1,80"):
        Path("export.csv").write_text(f"{heading}\n{person}\n{person}\n{odd}", "latin-1")
        runpy.run_path("prepare.py")
        header, *rows = Path("registry.csv").read_text().splitlines()
        assert header == heading.replace(";", ",")
        assert len(rows) == 3
        assert rows[:2] == 2 * ["24.12.2019,01.03.2020,yes,1.75"]
    time = {"start": "diagnosis", "end": "last seen", "date_format": "%d.%m.%Y"}
    time |= {"event": "outcome", "event_values": ["yes"], "horizon": 100, "intervals": 100}
    size = {"name": "Größe", "low": 1.4, "high": 2.2}
    people = to_episodes("registry.csv", Schema.from_mapping({"time": time, "covariate": [size]}))
    assert people.exit.tolist() == [69, 69]  # the third has no date of diagnosis
    assert people.event.tolist() == [True, True]
    assert people.persons == 3


def test_a_larger_epsilon_has_smaller_errors_in_the_program_that_is_shown(tutorial, monkeypatch):
    folder, _ = tutorial
    (_, _, plan), (_, _, done) = Page("publish.md").run(folder, monkeypatch)
    assert plan.status == 0
    assert "newton" in plan.printed
    lines = [line for line in done.printed.splitlines() if re.match(r"[\d.]+ ", line)]
    ratios = [[float(item) for item in line.split()] for line in lines]
    assert [line[0] for line in ratios] == [0.1, 0.3, 1, 3]
    assert all(sum(low[1:]) > sum(high[1:]) for low, high in pairwise(ratios))


def test_the_bets_are_computed():
    text = (DOCS / "publish.md").read_text()
    table = re.search(r"bets: begin -->(.*?)<!-- bets: end", text, re.DOTALL)[1]
    rows = re.findall(
        r"^\| ([\d.]+) \| ([\d.]+) times as likely \| (\d+)% \|$", table, re.MULTILINE
    )
    assert len(rows) == len(table.strip().splitlines()) - 2
    for epsilon, factor, bet in rows:
        odds = math.exp(float(epsilon))
        assert (factor, bet) == (f"{odds:.3g}", f"{100 * odds / (1 + odds):.0f}")
    assert f"Above {WEAK_EPSILON:g} the release itself" in text


def test_every_mechanism_is_described_with_its_class_and_proof():
    text = (DOCS / "mechanisms.md").read_text()
    for name, mechanism in registered().items():
        (row,) = re.findall(rf"^\| `{name}`.*$", text, re.MULTILINE)
        assert f"`{mechanism.__name__}`" in row
        assert f"(proofs/{mechanism.proof}.md)" in row


def test_the_comparison_names_this_version():
    assert f"| discreet | {__version__} |" in (DOCS / "comparison.md").read_text()


@pytest.fixture(scope="module")
def hooks():
    return script("docs/site_hooks.py")


def test_a_diagram_becomes_arrows(hooks):
    arrows = 'a["one<br/>first"] --> b', 'a -- by name --> c[("three")]', "b --- c"
    diagram = "\n    ".join(("flowchart LR", *arrows)) + "\n"
    page = hooks.on_page_markdown(f"before\n\n```mermaid\n{diagram}```\n")
    assert page == "before\n\n- one: first → **b**, **three**\n- b → **three**\n"


def test_the_reference_has_every_command_with_every_option(hooks, monkeypatch):
    page = hooks.on_page_markdown((DOCS / "reference.md").read_text())
    shown = run("discreet fit --help", monkeypatch).printed
    section = page.partition("### discreet fit\n")[2].partition("\n### ")[0]
    options = set(re.findall(r"--[a-z][a-z-]+", shown)) - {"--help"}
    assert len(options) > 15
    assert [name for name in options if f"`{name}`" not in section] == []
    for name in (
        "new",
        "check",
        "plan",
        "curves",
        "page",
        "report",
        "budget init",
        "federation key",
    ):
        assert f"### discreet {name}\n" in page


def test_the_release_file_is_described_key_by_key(hooks):
    page = hooks.on_page_markdown((DOCS / "reference.md").read_text())
    for name in ("`discreet-release`", "`discreet-curves`", "| `guarantee` | Guarantee |"):
        assert name in page


def test_every_public_name_is_in_the_reference():
    text = (DOCS / "reference.md").read_text()
    described = {path.rpartition(".")[2] for path in re.findall(r"^::: (\S+)$", text, re.MULTILINE)}
    assert described >= set(public_names)


def test_the_reference_of_python_reads_without_the_site():
    """A table of names and one of the methods of each class, as `python docs/reference.py` writes."""
    rows = set(re.findall(r"^\| `(\S+)` \| \S", (DOCS / "reference.md").read_text(), re.MULTILINE))
    assert rows >= {f"ds.{name}" for name in public_names}
    assert rows >= {name for name in dir(discreet.SurvivalRegression) if name.startswith("predict")}
    assert rows >= {"fit", "publish", "confint", "of_cause", "from_toml", "initialise"}


@pytest.mark.parametrize(
    ("name", "writer", "results"),
    [
        ("speed.md", "table", ("core.csv", "sampler.csv", "files.csv", "versions.csv")),
        ("speed.md", "scale_page", ("scale.csv",)),
        ("speed.md", "start", ("start.csv",)),
        ("speed.md", "durations", ("durations.csv",)),
    ],
)
def test_a_page_of_measurements_is_what_its_results_say(name, writer, results, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    make, folder = importlib.import_module("results_file").Results, ROOT / "benchmarks" / "results"
    files = [make(folder / result) for result in results]
    assert importlib.import_module(writer).page(*files) in (DOCS / name).read_text()


def test_the_law_of_durations_is_what_its_results_say(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    make, durations = (importlib.import_module(name) for name in ("results_file", "durations"))
    results = make.Results(ROOT / "benchmarks" / "results" / "durations.csv")
    assert durations.fitted(results) == duration.FACTORS
    for case in durations.CASES:
        spent = median(results.numbers("durations", case.name))
        said = duration.seconds(*durations.facts(case))
        assert max(spent, said) < 5.0 or 0.7 < spent / said < 1.4  # both are "a few seconds"


def test_the_reproduction_is_what_its_results_say(tmp_path):
    write_page(Options(results=ROOT / "studies" / "results" / "paper", docs=tmp_path))
    assert (tmp_path / "reproduction.md").read_text() == (DOCS / "reproduction.md").read_text()


def test_the_evidence_that_is_kept_found_nothing():
    """The pages of proofs rest on it: laws of noise, certificates, hostile files."""
    rows = {
        name: list(csv.DictReader((EVIDENCE / f"{name}.csv").read_text().splitlines()))
        for name in ("noise", "perturbation", "fuzz")
    }
    assert {row["as_it_must"] for row in rows["noise"] + rows["perturbation"]} == {"yes"}
    assert {row["findings"] for row in rows["fuzz"]} == {"0"}
    failures = [row for row in rows["perturbation"] if row["check"] == "draws without certificate"]
    found = {row["mechanism"]: (row["count"], row["statistic"]) for row in failures}
    assert found == dict.fromkeys(("output", "objective"), ("2000", "0"))


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("mkdocs", reason="the site is built with the extra `docs`")
    pytest.importorskip("mkdocstrings")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def test_the_site_builds_without_a_warning_and_fetches_nothing(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) > len(list(DOCS.rglob("*.md")))  # and the page of what is not found
    loaded = re.compile(r'<(?:script|link|img|iframe)[^>]+(?:src|href)="(?:https?:)?//')
    assert not [page.name for page in pages if loaded.search(page.read_text())]
    assert "SurvivalRegression" in (site / "reference.html").read_text()


def test_search_works_from_disk(site, browser):
    page = browser.new_page()
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((site / "index.html").as_uri())
    # Key by key: what is put into the field at once is heard only if its focus comes late enough.
    page.locator("input.md-search__input").press_sequentially("federation key")
    found = page.locator(".md-search-result__item", has_text="Reference")
    found.first.wait_for(timeout=60_000)
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:", "about:"))] == []
    page.close()


def test_the_star_of_a_formula_is_no_emphasis(site):
    """|f*| keeps its stars: what lies between two of them is not set in italics without them."""
    pages = {page.name: page.read_text() for page in site.rglob("*.html")}
    assert "w*" in pages["output-perturbation.html"]
    assert [name for name, text in pages.items() if re.search(r"<em>[|)(]", text)] == []


ODD = """or says plainly that it is not; that is dear; on people made up from these facts; is what
sampling costs anyway; mostly what was assumed beforehand; are not told from none by the noise; its
band holds everything that is possible; has the privacy noise in it; in the released numbers speaks
against; no tilt hides; dies of what?; are counted by themselves; as far as it reaches; is hardly
known; covariates that change themselves; hundred odd people; nothing free writes; dropped so; never
knows quite who; of those that a release calls reached; or in its place; a file without a useful
model is charged too; a band, where there is one, includes it; numbers are cut to public bounds"""


def test_sentences_that_readers_stumbled_over_are_gone():
    files = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "src").rglob("*.py")]
    files += [*(ROOT / "src").rglob("*.json"), *(ROOT / "src").rglob("*.html")]
    phrases = [" ".join(phrase.split()) for phrase in ODD.split(";")]
    for file in files:
        text = re.sub(r"[\"'\s#]+", " ", file.read_text(encoding="utf-8").lower())
        assert not [phrase for phrase in phrases if phrase in text], file
