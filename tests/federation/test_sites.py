"""sites.toml and the certificates that one command makes."""

import stat
import tomllib

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from discreet.errors import SettingsError
from discreet.federation.certificates import write_sites
from discreet.federation.sites import Sites

ADDRESSES = ["127.0.0.1:9000", "hospital-b.example:9001", "[::1]:9002"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("sites") / "new"
    write_sites(made, ADDRESSES)
    return made


def test_sites_are_read_as_they_were_written(folder):
    sites = Sites.read(folder / "sites.toml")
    assert [site.address for site in sites.sites] == ["127.0.0.1:9000", ADDRESSES[1], "::1:9002"]
    assert (sites.shares.sites, sites.shares.colluding) == (3, 1)
    for party, site in enumerate(sites.sites):
        sites.require_party(party)
        assert sites.certificate(party).read_text() == site.certificate
        found = x509.load_pem_x509_certificate(site.certificate.encode())
        assert isinstance(found.public_key(), ec.EllipticCurvePublicKey)
        assert stat.S_IMODE(sites.key(party).stat().st_mode) == 0o600
        assert b"PRIVATE" not in (folder / "sites.toml").read_bytes()


def test_addresses_may_differ_certificates_may_not(folder):
    text = (folder / "sites.toml").read_text()
    same = Sites.from_mapping(tomllib.loads(text.replace("127.0.0.1", "10.1.1.1")), folder)
    assert same.digest == Sites.read(folder / "sites.toml").digest
    mapping = tomllib.loads(text)
    mapping["site"].reverse()
    assert Sites.from_mapping(mapping, folder).digest != same.digest


@pytest.mark.parametrize(("change", "said"), [
    (lambda m: m.update(extra=1), "unknown key 'extra'"),
    (lambda m: m.pop("site"), r"no \[\[site\]\]"),
    (lambda m: m.update(colluding="1"), "colluding must be a whole number"),
    (lambda m: m.update(colluding=2), "fewer than half"),
    (lambda m: m["site"].pop(), "3 to 64 sites"),
    (lambda m: m["site"][0].update(port=70000), "site 0 needs a port"),
    (lambda m: m["site"][1].update(host=""), "site 1 needs host and certificate"),
    (lambda m: m["site"][1].update(key="x"), "site 1 has an unknown key"),
    (lambda m: m["site"][1].update(listen=3), "listen of site 1"),
    (lambda m: m["site"][2].update(certificate="x"), "certificate of site 2 is not PEM"),
    (lambda m: m["site"][2].update(certificate=m["site"][0]["certificate"]), "the same certificate"),
])  # fmt: skip
def test_a_wrong_list_is_a_sentence(folder, change, said):
    mapping = tomllib.loads((folder / "sites.toml").read_text())
    change(mapping)
    with pytest.raises(SettingsError, match=said):
        Sites.from_mapping(mapping, folder)


def test_files_that_are_no_list_are_sentences(tmp_path):
    (tmp_path / "odd.toml").write_bytes(b"\xff\x00[")
    for name in ("odd.toml", "absent.toml"):
        with pytest.raises(SettingsError, match=name):
            Sites.read(tmp_path / name)


@pytest.mark.parametrize("party", [-1, 3, 0])
def test_a_party_needs_its_own_key(folder, tmp_path, party):
    sites = Sites.from_mapping(tomllib.loads((folder / "sites.toml").read_text()), tmp_path)
    with pytest.raises(SettingsError, match=r"--party|does not exist"):
        sites.require_party(party)


@pytest.mark.parametrize("addresses", [
    ["a:1", "b:2"], ["a:1", "a:1", "b:1"], ["a", "b:1", "c:1"], ["a:0", "b:1", "c:1"],
    ["a:x", "b:1", "c:1"], ["ü\n:1", "b:1", "c:1"], [":1", ":2", ":3"],
])  # fmt: skip
def test_odd_addresses_are_refused(tmp_path, addresses):
    with pytest.raises(SettingsError):
        write_sites(tmp_path / "new", addresses)


def test_an_existing_folder_is_not_written_to(folder):
    with pytest.raises(SettingsError, match="exists"):
        write_sites(folder, ADDRESSES)
    with pytest.raises(SettingsError, match="days"):
        write_sites(folder / "other", ADDRESSES, days=0)


def test_a_key_that_others_can_read_is_refused(tmp_path):
    write_sites(tmp_path / "new", ADDRESSES)
    sites = Sites.read(tmp_path / "new" / "sites.toml")
    sites.key(1).chmod(0o640)
    with pytest.raises(SettingsError, match="chmod 600"):
        sites.require_party(1)
