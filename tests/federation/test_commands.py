"""`discreet federation`, and what `fit` and `plan` say about sites."""

import re

import pytest
from pyarrow import csv

from discreet.federation.sites import Sites
from tests.cohorts import cohort
from tests.test_cli import SCHEMA

SITES = "127.0.0.1:9000,127.0.0.1:9001,127.0.0.1:9002"
PRIVATE = "fit people.csv --schema schema.toml --epsilon 1 --no-ledger --out r.json"


@pytest.fixture
def discreet(tmp_path, monkeypatch, command):
    (tmp_path / "schema.toml").write_text(SCHEMA)
    csv.write_csv(cohort(), tmp_path / "people.csv")
    monkeypatch.chdir(tmp_path)
    return lambda arguments: command(*arguments.split())


def test_one_command_makes_what_every_site_needs(discreet):
    status, said, _ = discreet(f"federation init --sites {SITES} --out sites")
    assert status == 0
    assert "delete the keys here" in " ".join(said.split())
    sites = Sites.read("sites/sites.toml")
    for party in range(3):
        sites.require_party(party)


def test_a_key_can_be_made_at_the_site_itself(discreet, tmp_path):
    for party in range(3):
        status, said, _ = discreet(
            f"federation key --party {party} --host h{party} --out site-{party}"
        )
        assert status == 0
        assert "stays here" in " ".join(said.split())
    given = " ".join(f"--certificate site-{party}/certificate.pem" for party in range(3))
    status, said, _ = discreet(f"federation init --sites {SITES} --out sites {given}")
    assert status == 0
    assert [path.name for path in (tmp_path / "sites").iterdir()] == ["sites.toml"]
    listed = Sites.read("sites/sites.toml").sites
    for party, site in enumerate(listed):
        assert site.certificate.strip() == (tmp_path / f"site-{party}/certificate.pem").read_text().strip()  # fmt: skip


@pytest.mark.parametrize(("words", "said"), [
    (f"federation init --sites {SITES} --out x --certificate schema.toml", "once for each site"),
    (f"federation init --sites {SITES} --out x" + 3 * " --certificate schema.toml", "not a certificate"),
    (f"federation init --sites {SITES} --out x" + 3 * " --certificate absent", "cannot be read"),
    ("federation init --sites a:1,b:2 --out x", "3 to 64 sites"),
    (f"federation init --sites {SITES} --out x --colluding 2", "fewer than half"),
    (f"{PRIVATE} --party 1", "--federation"),
    (f"{PRIVATE} --federation sites.toml", "--party 0, 1"),
    (f"{PRIVATE} --federation sites.toml --party 1", "'sites.toml' cannot be read"),
    ("fit people.csv --schema schema.toml --mechanism none --federation s.toml --party 0 --out m.json", "a joint fit is private"),
    ("plan --schema schema.toml --persons 1000 --events 300 --epsilon 1 --sites 2", "3 to 64 sites"),
])  # fmt: skip
def test_what_is_wrong_is_a_sentence(discreet, words, said):
    status, _, errors = discreet(words)
    assert status == 2
    assert said in " ".join(errors.split())


def test_plan_predicts_the_noise_of_all_sites(discreet):
    command = "plan --schema schema.toml --persons 3000 --events 900 --epsilon 1 --delta 1e-6"
    alone, joint = (discreet(command + more)[1] for more in ("", " --sites 3"))
    errors = [float(re.search(r"newton +([\d.]+)", text)[1]) for text in (alone, joint)]
    assert 1.1 < errors[1] / errors[0] < 1.4
    assert "output: not offered across sites" in joint
