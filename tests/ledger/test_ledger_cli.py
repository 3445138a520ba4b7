"""`discreet budget`, as a custodian runs it."""

import hashlib
import json
import re

import pytest
from rich.console import Console
from typer.testing import CliRunner

from discreet.cli.budget import budget_app, render
from discreet.errors import ArtefactError, BudgetError, LedgerError, SettingsError
from discreet.ledger import Ledger, ReleaseRequest
from discreet.privacy.accountant import promised
from discreet.privacy.guarantee import Guarantee

RUNNER = CliRunner()
INIT = ("--population", "norway-births", "--epsilon", "4", "--delta", "1e-6")


@pytest.fixture
def path(tmp_path):
    """A ledger file made by the command."""
    found = tmp_path / "registry.ledger"
    assert run("init", found, *INIT).exit_code == 0
    return found


@pytest.fixture
def release(path, tmp_path):
    """A release file that was charged and settled."""
    ledger = Ledger(path)
    guarantee = Guarantee(1.0)
    reservation = ledger.reserve(ReleaseRequest("first", guarantee, "all births"))
    content = {
        "release_id": "first",
        "ledger": reservation.head,
        "guarantee": guarantee.to_mapping(),
    }
    file = tmp_path / "release.json"
    file.write_text(json.dumps(content))
    ledger.settle(reservation, hashlib.sha256(file.read_bytes()).hexdigest())
    return file


def run(*words):
    return RUNNER.invoke(budget_app, [str(word) for word in words])


def shown(path, width=120):
    console = Console(width=width, record=True, file=open("/dev/null", "w"))  # noqa: SIM115, PTH123
    console.print(render(Ledger(path).show()))
    console.file.close()
    return console.export_text()


def test_init_prints_the_first_head(path, tmp_path):
    done = run("init", tmp_path / "other", *INIT)
    assert ":1:" in done.stdout


def test_the_head_can_be_copied_from_a_narrow_terminal(path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    assert f"Head: {Ledger(path).verify().head}\n" in run("show", path).stdout


def test_a_ledger_may_be_named_as_fit_names_it(tmp_path):
    path = tmp_path / "named"
    assert run("init", "--ledger", path, *INIT).exit_code == 0
    head = Ledger(path).show().head
    for words in (["show"], ["verify"], ["adopt", "--head", head]):
        assert head.ledger in run(*words, "--ledger", path).output


@pytest.mark.parametrize("words", [[], ["{path}", "--ledger", "{path}"]])
def test_a_ledger_is_named_once(path, words):
    done = run("show", *(word.format(path=path) for word in words))
    assert isinstance(done.exception, SettingsError)
    assert "name the ledger once" in str(done.exception)


def test_init_refuses_an_existing_file(path):
    before = path.read_bytes()
    assert isinstance(run("init", path, *INIT).exception, LedgerError)
    assert path.read_bytes() == before


def test_init_takes_decimals_exactly(tmp_path):
    run("init", tmp_path / "x", "--population", "p", "--epsilon", "0.3", "--delta", "1e-17")
    budget = Ledger(tmp_path / "x").show().budget
    assert (budget.epsilon_nano, budget.delta_atto) == (300_000_000, 10)


def test_show_has_a_bar_a_table_and_ideal_draws_apart(path, release):
    ledger = Ledger(path)
    ideal = Guarantee(0.5, status="ideal-draw-only")
    ledger.reserve(ReleaseRequest("sampled", ideal, "a [red]chain[/red] \x1b[2J"))
    ledger.reserve(ReleaseRequest("as-printed", Guarantee(0.5, status="unproved")))
    ledger.reserve(ReleaseRequest("minimised", Guarantee(0.25, status="conditional")))
    text = shown(path)
    assert "Spent: ━" in text
    assert "56.2%" in text
    assert "or instead: epsilon 1.75 without delta" in text
    proved, _, apart = text.partition("ideal draw only")
    assert "minimised" in proved.partition("conditional promise")[2]
    assert "both are tested, neither is proved" in " ".join(proved.split())
    assert "first" in proved
    assert "all births" in proved
    assert "sampled" in apart
    assert r"a [red]chain[/red] \x1b[2J" in apart
    assert "as-printed" in apart.partition("without a proof")[2]
    assert "3 reserved, never settled" in apart


def test_show_says_that_there_is_no_release_yet(path):
    text = shown(path)
    assert "No release yet." in text
    assert "release: epsilon 4, with Gaussian noise at delta 1e-06 or without delta" in text
    assert "or instead" not in text


def test_show_says_what_is_left_for_gaussian_noise(path):
    Ledger(path).reserve(ReleaseRequest("gaussian", promised(2.0, 1e-6)))
    statement, text = Ledger(path).show(), shown(path)
    left = re.search(r"one more release: epsilon (\S+) with Gaussian noise at delta 1e-06\n", text)
    assert 0.999 * statement.left_gaussian <= float(left[1]) <= statement.left_gaussian
    left = re.search(r"or instead: epsilon (\S+) without delta\n", text)
    assert 0.999 * statement.left_pure <= float(left[1]) <= statement.left_pure


def test_show_says_why_more_is_left_than_epsilons_leave(path):
    Ledger(path).reserve(ReleaseRequest("pure", Guarantee(1.0)))
    assert "do not simply add" not in shown(path)
    Ledger(path).reserve(ReleaseRequest("gaussian", promised(1.0, 1e-6)))
    other = path.with_name("gaussian.ledger")
    assert run("init", other, *INIT).exit_code == 0
    Ledger(other).reserve(ReleaseRequest("gaussian", promised(2.0, 1e-6)))
    assert "Epsilons do not simply add: after 2 of 4 more is left than the rest" in shown(other)
    assert 'docs/custodians.md, "The budget"' in shown(other)


def test_both_ways_to_make_a_ledger_have_one_default(tmp_path):
    assert run("init", tmp_path / "a", "--population", "p", "--epsilon", "6").exit_code == 0
    Ledger(tmp_path / "b").initialise("p", epsilon=6)
    budgets = [Ledger(tmp_path / name).show().budget for name in "ab"]
    assert budgets[0] == budgets[1]
    assert budgets[0].delta == 1e-6


def test_show_says_that_nothing_is_left(path):
    Ledger(path).reserve(ReleaseRequest("all", promised(4.0, 1e-6)))
    text = shown(path)
    assert "Left for one more release: nothing" in text
    assert "100.0%, in releases like the last one" in text


def test_what_is_shown_as_left_is_admitted(path):
    """The figure is short, and rounded down: whoever asks for it gets it."""
    Ledger(path).reserve(ReleaseRequest("gaussian", promised(0.7, 1e-6)))
    (gaussian, _) = Ledger(path).show().left
    epsilon = float(gaussian.split()[1])
    assert len(gaussian.split()[1]) <= len("3.141")
    Ledger(path).check(ReleaseRequest("all", promised(epsilon, 1e-6)))
    with pytest.raises(BudgetError, match="or instead epsilon"):
        Ledger(path).check(ReleaseRequest("more", promised(epsilon + 0.001, 1e-6)))


def test_verify_accepts_the_ledger_and_its_release(path, release):
    done = run("verify", path, "--release", release)
    assert done.exit_code == 0
    assert "charged and settled" in done.stdout
    assert "sound" in done.stdout


def test_verify_without_a_release_names_one_after_a_restore_in_place(path, tmp_path):
    """Copied into the existing files, ledger and witness keep inode and birth."""
    files = [path, path.with_name(f"{path.name}-head")]
    old = [file.read_bytes() for file in files]
    newest = tmp_path / "newest.json"
    reservation = Ledger(path).reserve(ReleaseRequest("newest", promised(0.1, 0)))
    guarantee = promised(0.1, 0).to_mapping()
    content = {"release_id": "newest", "ledger": reservation.head, "guarantee": guarantee}
    newest.write_text(json.dumps(content))
    for file, before in zip(files, old, strict=True):
        file.write_bytes(before)
    done = run("verify", path)
    assert done.exit_code == 0
    assert "Only a release can show whether ledger and witness were both restored" in done.stdout
    done = run("verify", path, "--release", newest)
    assert "is not in this ledger" in str(done.exception)
    assert "Only a release" not in done.stdout


def test_verify_tells_a_changed_release(path, release):
    content = json.loads(release.read_text())
    release.write_text(json.dumps(content, indent=1))
    assert "it was changed" in str(run("verify", path, "--release", release).exception)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        '{"release_id": "a", "ledger": "no ledger"}',
        '{"release_id": "a", "ledger": 3}',
        '{"release_id": "a", "ledger": "x", "guarantee": 3}',
        '{"release_id": "a", "release_id": "a", "ledger": ""}',
    ],
)
def test_verify_reads_a_release_strictly(path, tmp_path, content):
    file = tmp_path / "bad.json"
    file.write_text(content)
    assert isinstance(run("verify", path, "--release", file).exception, ArtefactError)
    assert isinstance(run("verify", path, "--release", tmp_path / "x").exception, ArtefactError)


def test_adopt_takes_a_restored_copy_over(path, release):
    content = path.read_bytes()
    path.rename(path.with_suffix(".old"))
    path.write_bytes(content)
    assert "this is a copy" in str(run("verify", path).exception)
    assert isinstance(run("adopt", path).exception, SettingsError)
    assert run("adopt", path, "--release", release).exit_code == 0
    head = run("verify", path, "--release", release).stdout.split()[-1]
    path.with_name("registry.ledger-head").unlink()
    assert run("adopt", path, "--head", head).exit_code == 0


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["verify", "{path}"], 0),
        (["verify", "{path}.nothing"], 4),
        (["init", "{path}", *INIT], 4),
        (["init", "{path}.new", "--population", "p", "--epsilon", "0"], 2),
    ],
)
def test_exit_statuses(path, words, status, command):
    words = [word.format(path=path) for word in words]
    said = command("budget", *words)
    assert said.status == status
    assert said.err.startswith("discreet: " if status else "")
