"""The audit's own instruments, and the command."""

import json
import math
import sys
import threading
import warnings
from dataclasses import replace

import numpy as np
import pytest
from evidence import audit as evidence_audit

from discreet.audit import FAMILIES, Audit, Effort, Finding, Subject
from discreet.audit import run as audit_run
from discreet.audit.findings import at_most, equal_to
from discreet.audit.instruments import (
    TILT,
    KnownNoise,
    SitesNoise,
    judge,
    normal_p_value,
    shown,
    shown_epsilon,
    sphere,
)
from discreet.audit.measured import SIDES, Measured, one_row, overhearing, released_numbers
from discreet.audit.report import content, picture
from discreet.errors import SettingsError
from discreet.estimator import population
from discreet.likelihood.problem import Problem
from discreet.mechanisms.contract import registered
from discreet.paper.results import Results
from discreet.people.source import People
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.shares import NoiseShares
from discreet.privacy.testing import SeededNoise
from discreet.release import simulate


@pytest.fixture(autouse=True)
def _coarse(monkeypatch):
    """An audit looks at questions and their noise: the estimate between them may be a coarse one."""
    monkeypatch.setattr(population, "MEMBERS", 64)


def laplace(scale, centre, seed, runs=13_000):
    return np.random.default_rng(seed).laplace(centre, scale, runs)


def test_outcomes_show_most_of_epsilon_and_never_more():
    found = shown_epsilon(laplace(1.0, 0.0, 1), laplace(1.0, 1.0, 2))
    assert 0.7 < found <= 1.0


def test_half_the_noise_is_shown():
    assert shown_epsilon(laplace(0.5, 0.0, 1), laplace(0.5, 1.0, 2)) > 1.0


def test_delta_is_taken_off():
    sides = laplace(0.5, 0.0, 1), laplace(0.5, 1.0, 2)
    assert shown_epsilon(*sides, 0.01) < shown_epsilon(*sides)


def test_too_few_outcomes_are_no_check():
    few = np.zeros(20)
    found = shown("bound", (few, few), Guarantee(1.0), "20 fits")
    assert found.verdict == "not applicable"
    assert "too few" in found.note


@pytest.mark.parametrize(("factor", "verdict"), [(1.0, "pass"), (0.8, "fail"), (1.2, "fail")])
def test_a_law_20_percent_off_is_rejected(factor, verdict):
    random = np.random.default_rng(4)
    directions = random.normal(size=(5000, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    draws = directions * random.gamma(3, 2.0, (5000, 1))
    assert judge(TILT, draws, 2.0 * factor, sphere).verdict == verdict


def test_too_few_draws_do_not_pass_the_controls():
    draws = np.random.default_rng(4).laplace(0.0, 1.0, (20, 1))
    assert judge(TILT, draws, 1.0, sphere).failed


def test_a_record_makes_the_outcomes_of_another_draw():
    first = KnownNoise()
    first.discrete_gaussian([10, 20], 5.0)
    total = np.array([7]) + np.asarray(first.lattice_laplace(1, 4))
    assert list(total) == [7]
    second = KnownNoise(before=first.calls)
    assert list(second.discrete_gaussian([13, 16], 5.0)) == [10, 20]
    assert list(np.array([9]) + np.asarray(second.lattice_laplace(1, 4))) == [7]
    assert [call.values for call in second.calls] == [[13, 16], [9]]


def test_noise_that_is_alike_in_two_places_or_in_its_last_bits_is_rejected():
    random = np.random.default_rng(5)
    drawn = np.rint(random.normal(0.0, 1e4, (500, 20)))
    repeated, pairs = drawn.copy(), drawn.copy()
    repeated[:, :4], pairs[:, 1::2] = drawn[0, :4], drawn[:, ::2]
    assert not judge("noise", drawn, 1e4, normal_p_value).failed
    for wrong in (repeated, pairs, 2 * np.rint(drawn / 2), drawn + 0.5):
        assert judge("noise", wrong, 1e4, normal_p_value).failed


def test_what_is_said_is_heard_and_the_progress_beside_it_is_not(capsys):
    with overhearing() as heard:
        beside = threading.Thread(target=print, args=("75 s ...",), kwargs={"file": sys.stderr})
        beside.start()
        beside.join()
        sys.stderr.write("from a record\n")
        warnings.warn("of a record", stacklevel=1)
    assert heard == ["of a record", "", "from a record\n", ""]
    assert capsys.readouterr().err == "75 s ...\n"


def test_what_is_no_number_does_not_pass():
    assert at_most("x", 1.0, math.nan).failed
    assert equal_to("x", 1.0, math.nan).failed


def test_several_sites_count_the_smallest_shares_that_are_in_what_is_opened():
    noise = SitesNoise(NoiseShares(5, 2), 1)
    drawn = noise.discrete_gaussian([10, 20], 40.0)
    (call,) = noise.calls
    assert call.values == [10, 20]
    assert call.outcome == list(drawn)
    assert float(call.scale) == pytest.approx(40.0)


def test_an_error_inside_a_check_is_a_failure(monkeypatch):
    def broken(self):
        raise ZeroDivisionError

    monkeypatch.setattr(Measured, "law", broken)
    monkeypatch.setitem(audit_run.AUDITS, "sampler", Measured)
    found = audit_run.run_family("law", Subject("sampler"), Effort.quick())
    assert [item.failed for item in found] == [True]


def test_every_registered_mechanism_has_a_witness():
    for name in registered():
        found = audit_run.run_family("witness", Subject(name), Effort.quick())
        assert not [item for item in found if item.failed]


def test_a_delta_is_refused_where_there_is_none():
    with pytest.raises(SettingsError, match="no delta"):
        Subject("output", 1.0, 1e-6)


@pytest.mark.parametrize(
    "asked",
    [
        {"name": "output", "strata": 2},
        {"name": "curves", "causes": 2},
        {"name": "newton", "strata": 2, "causes": 2},
        {"name": "newton", "strata": 0},
    ],
)
def test_strata_and_causes_are_refused_where_there_are_none(asked):
    with pytest.raises(SettingsError, match="strata"):
        Subject(**asked)


def test_every_release_there_is_is_audited():
    """Each registered mechanism, and what is released besides models of one kind of event."""
    subjects = evidence_audit.SUBJECTS.values()
    assert {*registered(), "curves"} <= {subject.name for subject in subjects}
    newton = [subject for subject in subjects if subject.name == "newton"]
    assert max(subject.strata for subject in newton) > 1
    assert max(subject.causes for subject in newton) > 1


@pytest.mark.parametrize("delta", [1e-6, 0.0])
@pytest.mark.parametrize("asked", [{}, {"strata": 3}, {"causes": 3}], ids=str)
def test_a_bare_draw_is_the_draw_of_a_release(delta, asked):
    """The same requests for noise, and the number that a release of the same noise has."""
    audit = audit_run.audit_of(Subject("newton", delta=delta, **asked), Effort.quick())
    order, seen, people = audit.one_person, KnownNoise(), People.of(one_row((0.5, 1)))
    released = released_numbers(simulate(order, people, SeededNoise(3)))[0]
    plan = order.plan(1)
    problem = Problem(people.open(order.schema), order.design, order.link)
    assert order.mechanism.bare_draw(plan, problem, SeededNoise(3)).point[0] == released
    order.mechanism.bare_draw(plan, problem, seen)
    whole = KnownNoise()
    order.mechanism.draw(plan, problem, whole)
    assert seen.trace == whole.trace


@pytest.mark.parametrize("name", ["newton", "output"])
def test_outcomes_end_to_end_are_fresh_and_say_how_they_were_made(name):
    audit = audit_run.audit_of(Subject(name), Effort.quick())
    sides = tuple(audit.drawn(row, 3) for row in SIDES)
    assert len({*sides[0], *sides[1]}) == 6
    assert ("draws of the mechanism" in audit.told(sides).note) is (name == "newton")


def test_outcomes_are_kept_part_by_part_and_told_once_all_are_there(monkeypatch, tmp_path):
    """In whatever order they come, of one source alone; a later run does the rest."""
    kept = {"RESULTS": evidence_audit.RESULTS, "OUTCOMES": evidence_audit.OUTCOMES}
    for name, file in kept.items():
        own = Results(tmp_path / "scratch" / name, file.columns, file.keys)
        monkeypatch.setattr(evidence_audit, name, own)
    monkeypatch.setattr(evidence_audit, "A_PART", 60)
    told = []
    good = at_most("lower bound", 1.0, 0.0)
    monkeypatch.setattr(Measured, "told", lambda _, sides: told.append(sides) or good)
    job = evidence_audit.Job("newton", "quick", "end to end")
    assert job.fits == 100
    last, *rest = [*job.each()][::-1]
    for part in rest:
        evidence_audit._keep("s1", part, [part.side + part.part, 0.1], 1.0)
    evidence_audit._keep("s2", last, [7.0], 1.0)
    evidence_audit._tell_outcomes("s1", job)
    assert not told
    evidence_audit._keep("s1", last, [1 + 60, 0.1], 1.0)
    evidence_audit._tell_outcomes("s1", job)
    ((first, second),) = told
    assert first.tolist() == [0.0, 0.1, 60.0, 0.1]
    assert second.tolist() == [1.0, 0.1, 61.0, 0.1]


def test_the_picture_shows_epsilons_only():
    findings = (
        replace(at_most("lower bound", 1.0, 0.6), family="end to end"),
        replace(at_most("movement", 1.0, 0.5), family="neighbours"),
        Finding("law", "law", "", "", "not applicable", "why"),
    )
    audit = Audit("mechanism output", {"epsilon": 1.0}, findings)
    (axes,) = picture(audit).axes
    (label,) = axes.get_yticklabels()
    assert label.get_text() == "from outcomes of real fits\n(lower bound)"
    assert {text.get_text() for text in axes.texts} == {"0.6", "claimed: 1"}
    assert json.loads(content(audit))["findings"][2]["note"] == "why"


@pytest.mark.parametrize(("measured", "status"), [(0.9, 0), (1.1, 5)])
def test_the_command(command, monkeypatch, tmp_path, measured, status):
    def check(self):
        return [at_most("lower bound", self.subject.epsilon, measured)]

    kind = type("Checked", (Measured,), dict.fromkeys(FAMILIES.values(), check))
    monkeypatch.setitem(audit_run.AUDITS, "output", kind)
    options = "--mechanism output --epsilon 1 --quick --out audit.json --picture audit.png"
    monkeypatch.chdir(tmp_path)
    said = command("audit", *options.split())
    assert said.status == status
    assert "lower bound" in said.out
    written = json.loads((tmp_path / "audit.json").read_text())
    assert written["sound"] is (status == 0)
    assert written["findings"][0]["numbers"]["measured"] == measured
    assert (tmp_path / "audit.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "arguments", ["", "release.json --mechanism output", "release.json --epsilon 1"]
)
def test_one_subject_at_a_time(command, arguments):
    said = command("audit", *arguments.split())
    assert said.status == 2
    assert "give" in said.err


def test_the_page_says_what_the_results_file_says_and_nothing_failed():
    rows = evidence_audit.RESULTS.rows()
    assert {row["verdict"] for row in rows} <= {"pass", "not applicable"}
    text = evidence_audit.PAGE.read_text()
    assert text == evidence_audit.page(text, rows)
