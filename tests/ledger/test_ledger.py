"""What every ledger promises, on both backends."""

import copy
import os
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from discreet.errors import BudgetError, LedgerError, SettingsError
from discreet.ledger import (
    UNCHARGED,
    Head,
    Ledger,
    NullLedger,
    ReleaseClaim,
    ReleaseRequest,
)
from discreet.ledger.book import Budget
from discreet.privacy.accountant import promised
from discreet.privacy.guarantee import Guarantee
from tests.privacy.composition import totals_of

DIGEST = "ab" * 32
OTHER_DIGEST = "cd" * 32
HOSTILE = [
    "'); DROP TABLE entry; --",
    "null \x00 inside",
    "\x1b[31mred\x1b[0m \x07",
    "right \u202e to left",
    "lone \ud800 surrogate",
    "[bold]markup[/bold] <script>alert(1)</script>",
    "%s %(name)s {0} \\",
]


def pure(name, epsilon, **changes):
    return ReleaseRequest(name, Guarantee(epsilon, **changes))


def spend(ledger, request):
    reservation = ledger.reserve(request)
    reservation.authorise_draw()
    ledger.settle(reservation, DIGEST)
    return reservation


def test_a_charge_is_there_for_everybody_when_reserve_returns(ledger, location):
    ledger.reserve(pure("first", 1.5))
    statement = Ledger(location).show()
    assert [line.request for line in statement.charges] == [pure("first", 1.5)]
    assert statement.left_pure == 2.5
    assert statement.population == "norway-births"


def test_exactly_what_is_left_is_admitted_and_a_billionth_more_is_not(ledger):
    for number in range(3):
        ledger.reserve(pure(f"tenth-{number}", 0.1))
    with pytest.raises(BudgetError) as refusal:
        ledger.reserve(pure("too-much", 3.700000001))
    assert "epsilon 3.700000001" in str(refusal.value)
    assert "epsilon 3.7 without delta" in str(refusal.value)
    assert len(ledger.show().charges) == 3
    ledger.reserve(pure("the-rest", 3.7))
    assert ledger.show().left_pure == 0
    with pytest.raises(BudgetError):
        ledger.reserve(pure("a-billionth", 1e-9))


def test_a_gaussian_request_of_the_whole_budget_is_admitted(ledger):
    guarantee = promised(4.0, 1e-6)
    ledger.reserve(ReleaseRequest("gaussian", guarantee))
    with pytest.raises(BudgetError):
        ledger.reserve(ReleaseRequest("again", promised(0.1, 1e-6)))


def test_kinds_are_composed_by_the_filter(ledger):
    requests = [
        ReleaseRequest("gaussian", promised(1.0, 1e-6)),
        ReleaseRequest("pure", Guarantee(0.5)),
        ReleaseRequest("of-0.1", Guarantee(1.0, 1e-6, 0.01)),
    ]
    for request in requests:
        ledger.reserve(request)
    budget = Budget.of(4, "1e-6", "replace-one", "person")
    totals = totals_of(request.guarantee for request in requests)
    statement = ledger.show()
    assert statement.left_pure == budget.filter.left(totals) > 0
    assert statement.left_gaussian == budget.filter.left(totals, 1e-6) > 0


def test_the_same_request_again_is_the_same_reservation_and_no_second_draw(ledger, location):
    first = ledger.reserve(pure("one", 1.0))
    again = Ledger(location).reserve(pure("one", 1.0))
    assert again == first
    assert ledger.show().left_pure == 3
    with pytest.raises(LedgerError, match="one charge pays for one draw"):
        again.authorise_draw()
    first.authorise_draw()
    with pytest.raises(LedgerError, match="one charge pays for one draw"):
        first.authorise_draw()


@pytest.mark.parametrize("other", [pure("one", 2.0), replace(pure("one", 1.0), description="x")])
def test_an_id_is_never_used_for_another_request(ledger, other):
    ledger.reserve(pure("one", 1.0))
    with pytest.raises(LedgerError, match="taken by another request"):
        ledger.reserve(other)
    assert ledger.show().left_pure == 3


def test_a_settled_id_gives_no_draw(ledger):
    spend(ledger, pure("one", 1.0))
    again = ledger.reserve(pure("one", 1.0))
    assert again.digest == DIGEST
    with pytest.raises(LedgerError, match="is settled"):
        again.authorise_draw()


@pytest.mark.parametrize("carry", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_permit_cannot_be_copied(carry):
    reservation = NullLedger().reserve(pure("one", 1.0))
    with pytest.raises(TypeError, match="neither copied nor pickled"):
        carry(reservation.permit)


def test_a_forked_child_cannot_use_its_parents_permit(monkeypatch):
    reservation = NullLedger().reserve(pure("one", 1.0))
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(LedgerError, match="another process"):
        reservation.authorise_draw()


def test_settling_again_with_the_same_file_is_harmless(ledger):
    reservation = spend(ledger, pure("one", 1.0))
    ledger.settle(reservation, DIGEST)
    with pytest.raises(LedgerError, match="with another file"):
        ledger.settle(reservation, OTHER_DIGEST)
    assert ledger.show().charges[0].digest == DIGEST


def test_only_a_reservation_of_this_ledger_is_settled(ledger):
    stranger = NullLedger().reserve(pure("one", 1.0))
    with pytest.raises(LedgerError, match="no such reservation"):
        ledger.settle(stranger, DIGEST)
    reservation = ledger.reserve(pure("one", 1.0))
    with pytest.raises(LedgerError, match="no such reservation"):
        ledger.settle(replace(reservation, head=stranger.head), DIGEST)


@pytest.mark.parametrize("digest", ["", "AB" * 32, "ab" * 31, "ab" * 32 + "\n"])
def test_only_a_digest_settles(ledger, digest):
    reservation = ledger.reserve(pure("one", 1.0))
    with pytest.raises(LedgerError, match="SHA-256"):
        ledger.settle(reservation, digest)
    assert ledger.show().unsettled


def test_an_error_after_the_reserve_refunds_nothing(ledger):
    def failing_release():
        ledger.reserve(pure("one", 1.0)).authorise_draw()
        raise RuntimeError

    with pytest.raises(RuntimeError):
        failing_release()
    statement = ledger.show()
    assert statement.left_pure == 3
    assert [line.state for line in statement.charges] == ["reserved, never settled"]


def test_ideal_draws_are_charged_and_shown_apart(ledger):
    ledger.reserve(pure("proved", 1.0))
    ledger.reserve(pure("conditional", 0.25, status="conditional"))
    ledger.reserve(pure("ideal", 1.0, status="ideal-draw-only"))
    ledger.reserve(pure("printed", 0.5, status="unproved"))
    statement = ledger.show()
    assert statement.left_pure == 1.25
    kinds = (
        statement.charges_with(status)
        for status in ("proved", "conditional", "ideal-draw-only", "unproved")
    )
    assert [[line.request.release_id for line in kind] for kind in kinds] == [
        ["proved"],
        ["conditional"],
        ["ideal"],
        ["printed"],
    ]


def test_relations_are_never_mixed(ledger):
    with pytest.raises(SettingsError, match="counts replace-one guarantees"):
        ledger.reserve(pure("one", 1.0, relation="add-remove"))
    assert not ledger.show().charges


def test_a_seeded_draw_is_never_charged():
    with pytest.raises(SettingsError, match="not private"):
        ReleaseRequest("one", Guarantee(1.0), private=False)


def test_a_second_initialisation_changes_nothing(ledger):
    ledger.reserve(pure("one", 1.0))
    with pytest.raises(LedgerError, match="already"):
        ledger.initialise("norway-births", 100, 0)
    assert ledger.show().left_pure == 3


def test_hostile_texts_are_only_texts(location):
    ledger = Ledger(location)
    population = "".join(HOSTILE)
    ledger.initialise(population, 4)
    for number, text in enumerate(HOSTILE):
        ledger.reserve(ReleaseRequest(f"release-{number}", Guarantee(0.1), text))
    statement = Ledger(location).show()
    assert statement.population == population
    assert [line.request.description for line in statement.charges] == HOSTILE
    assert ledger.verify().sound


@pytest.mark.parametrize("release_id", ["", "-a", "a b", "a/b", "a\n", "é", "a" * 101])
def test_a_release_id_is_plain(release_id):
    with pytest.raises(SettingsError, match="release id"):
        pure(release_id, 1.0)


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [
        (0, 0),
        (-1, 0),
        ("nan", 0),
        ("inf", 0),
        (float("inf"), 0),
        ("1e-10", 0),
        ("four", 0),
        ("12345678.123456789", 0),
        (4, 1),
        (4, -1e-6),
        (4, "1e-19"),
        (4, "nan"),
        (None, 0),
    ],
)
def test_what_is_no_budget_is_refused_before_anything_is_made(tmp_path, epsilon, delta):
    with pytest.raises(SettingsError):
        Ledger(tmp_path / "x").initialise("p", epsilon, delta)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("population", "relation"), [("", "replace-one"), ("x" * 201, "replace-one"), ("p", "both")]
)
def test_what_is_no_population_is_refused(tmp_path, population, relation):
    with pytest.raises(SettingsError):
        Ledger(tmp_path / "x").initialise(population, 1, 0, relation)
    assert not list(tmp_path.iterdir())


def test_budgets_are_exact_decimals():
    budget = Budget.of("0.3", 1e-6, "replace-one", "person")
    assert (budget.epsilon_nano, budget.delta_atto) == (300_000_000, 10**12)
    assert Budget.from_mapping(budget.to_mapping()) == budget
    assert repr(budget) == "Budget(epsilon=0.3, delta=1e-06, replace-one, per person)"


def test_threads_of_one_process_do_not_overspend(ledger):
    def ask(number):
        try:
            return ledger.reserve(pure(f"thread-{number}", 0.5)) is not None
        except BudgetError:
            return False

    with ThreadPoolExecutor(8) as pool:
        admitted = list(pool.map(ask, range(12)))
    assert sum(admitted) == 8
    assert ledger.show().left_pure == 0


def test_a_release_is_verified_against_its_ledger(ledger):
    reservation = spend(ledger, pure("one", 1.0))
    claim = ReleaseClaim("one", Head.parse(reservation.head), Guarantee(1.0), DIGEST)
    found = ledger.verify(claim)
    assert found.sound
    assert "the release is charged and settled." in found.notes
    for changed, problem in [
        (replace(claim, digest=OTHER_DIGEST), "it was changed"),
        (replace(claim, guarantee=Guarantee(0.5)), "another guarantee"),
        (replace(claim, release_id="two"), "not this release's charge"),
        (replace(claim, head=replace(claim.head, ledger="0" * 32)), "another ledger"),
        (replace(claim, head=replace(claim.head, hash="0" * 64)), "rolled back"),
        (replace(claim, head=replace(claim.head, sequence=9)), "newest entry here is 3"),
    ]:
        (text,) = ledger.verify(changed).problems
        assert problem in text


def test_a_charge_without_its_settlement_is_noted(ledger):
    reservation = ledger.reserve(pure("one", 1.0))
    claim = ReleaseClaim("one", Head.parse(reservation.head))
    assert "never settled" in ledger.verify(claim).notes[-1]


@pytest.mark.parametrize("text", ["", "no ledger", "0:1:2", f"{'0' * 32}:0:{'0' * 64}"])
def test_a_head_is_read_strictly(text):
    with pytest.raises(LedgerError, match="identifier:sequence:hash"):
        Head.parse(text)


def test_without_a_ledger_everything_is_admitted_once():
    ledger = NullLedger()
    reservation = ledger.reserve(pure("one", 1e6))
    assert reservation.head == UNCHARGED
    reservation.authorise_draw()
    with pytest.raises(LedgerError):
        reservation.authorise_draw()
    ledger.settle(reservation, DIGEST)


def test_without_psycopg_a_server_ledger_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(SettingsError, match=r"needs psycopg; install .* extra 'postgres'"):
        Ledger("postgresql://localhost/x")


@pytest.mark.parametrize(
    "place",
    ["x@canary@127.0.0.1:1/d", "x/canary@127.0.0.1:1/d", "x?canary@h/d", "x@h/d?options=@canary"],
)
def test_a_password_with_a_plain_sign_is_no_host_and_no_database(command, tmp_path, place):
    for scheme in ("postgresql", "Postgresql"):
        url = f"{scheme}://u:{place}"
        with pytest.raises(SettingsError) as caught:
            Ledger(url)
        assert str(caught.value) == (  # whole, though errors repeat no address
            "the ledger URL cannot be read: it begins with postgresql: and two slashes, then "
            "USER:PASSWORD and @ where they are needed, HOST:PORT, a slash and DATABASE; signs such "
            "as @ / ? % in a password are written in %-escapes (%40 for @)."
        )
        status, *texts = command("budget", "show", url)
        assert (status, "canary" in "".join(texts)) == (2, False)


def test_a_server_is_named_by_host_and_database():
    shown = "PostgreSQL at h, database d"
    for url in ("Postgresql://u:p%40%2Fcanary@h:1/d?population=a%40b", "postgres://h/d?"):
        assert (Ledger(url).name, repr(Ledger(url))) == (shown, f"<ledger: {shown}>")
    with pytest.raises(SettingsError, match="cannot be read"):
        Ledger("postgresql://u:\udcff@h/d?sslmode=require")
    with pytest.raises(SettingsError, match="cannot be read"):
        Ledger("postgresql://h/d?application_name=\udcff")


@pytest.mark.parametrize(
    "place",
    [
        "host=127.0.0.1 port=1 password=canary dbname=d",
        "port=1 PASSWORD = canary",
        "sslpassword=canary sslmode=require",
        "postgresql+psycopg://u:canary@h/d",
        Path("postgresql://u:canary@h/d"),
        " postgresql://u:canary@h/d",
        "jdbc:postgresql://u:canary@h/d",
        "postgresql:/u:canary@h/d",
        "mysql://u:canary@h/d",
        "u:canary@h/d",
    ],
)
def test_another_connection_is_no_file_named_after_a_password(
    command, tmp_path, monkeypatch, place
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SettingsError, match="a ledger is the path of a file, or a URL that begins"):
        Ledger(place)
    for line in (("init", place, "--population", "p", "--epsilon", "1"), ("show", place)):
        status, *texts = command("budget", *line)
        assert (status, "canary" in "".join(texts)) == (2, False)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "place", [r"C:\data\budget.db", r"C:\people@home\a.db", "a=b/budget.db", "/data/2026:1/a.db"]
)
def test_a_path_with_signs_is_a_path(place):
    assert Path(place).name in Ledger(place).name


@pytest.mark.parametrize("seconds", [0, -1, float("nan")])
def test_a_lock_timeout_is_positive(tmp_path, seconds):
    with pytest.raises(SettingsError, match="timeout"):
        Ledger(tmp_path / "x", seconds)
