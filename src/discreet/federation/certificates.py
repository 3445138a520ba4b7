"""A key and a certificate for each site, and the public list of sites.

Certificates are signed by their own keys and compared byte for byte: no authority can vouch for a
stranger.  Keys are P-256, written with mode 0600, and never leave their folder.
"""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from discreet import disk
from discreet.errors import SettingsError, of_extra
from discreet.privacy.shares import NoiseShares

with of_extra("federation", "certificates need cryptography"):
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

DAYS = 730


def write_sites(
    folder: Path,
    addresses: list[str],
    colluding: int | None = None,
    days: int = DAYS,
    certificates: Sequence[Path] = (),
) -> Path:
    """Write `sites.toml` and `site-K/` with key and certificate of every site into a new folder.

    `addresses` are `host:port` in the order that numbers the sites.  With `certificates` that the sites
    made themselves, in that order, keys are not written.  Returns the path of the list of sites.
    """
    places = [_address(text) for text in addresses]
    if len(set(places)) != len(places):
        raise SettingsError("two sites have the same address; each needs its own.")
    shares = NoiseShares.among(len(places), colluding)
    _check_days(days)
    given = _given(certificates, len(places))
    _make(folder)
    pems = given or [
        write_pair(folder / f"site-{number}", number, place[0], days)
        for number, place in enumerate(places)
    ]
    listed = folder / "sites.toml"
    head = (
        "# The sites of a joint fit, numbered from 0. Public: every site has this file.\n"
        f"# Of the {shares.sites} sites, this many may collude and learn nothing:\n"
        f"colluding = {shares.colluding}\n"
    )
    tables = (
        f"\n[[site]]\nhost = {json.dumps(host)}\nport = {port}\ncertificate = '''\n{pem}'''\n"
        for (host, port), pem in zip(places, pems, strict=True)
    )
    text = head + "".join(tables)
    _write(listed, text.encode(), 0o644)
    return listed


def make_pair(name: str, host: str, days: int) -> tuple[bytes, bytes]:
    """Return a private key and a certificate signed by it, both PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    try:
        place: x509.GeneralName = x509.IPAddress(ip_address(host))
    except ValueError:
        try:
            place = x509.DNSName(host)
        except ValueError:
            raise SettingsError(
                "the name of a host has letters of the Latin alphabet only."
            ) from None
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.SubjectAlternativeName([place]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return private, certificate.public_bytes(serialization.Encoding.PEM)


def write_pair(folder: Path, number: int, host: str, days: int = DAYS) -> str:
    """Write `key.pem` and `certificate.pem` into a new folder; return the certificate in PEM."""
    _check_days(days)
    private, certificate = make_pair(f"discreet site {number}", host, days)
    _make(folder)
    _write(folder / "key.pem", private, 0o600)
    _write(folder / "certificate.pem", certificate, 0o644)
    return certificate.decode()


def _check_days(days: int) -> None:
    if not 1 <= days <= 3650:
        raise SettingsError("certificates are valid for 1 to 3650 days.")


def _given(certificates: Sequence[Path], sites: int) -> list[str]:
    """Read the certificates that sites made themselves, in canonical PEM."""
    if certificates and len(certificates) != sites:
        raise SettingsError("--certificate is given once for each site, or not at all.")
    found = []
    for path in certificates:
        try:
            read = x509.load_pem_x509_certificate(path.read_bytes())
        except OSError as error:
            raise SettingsError(f"'{path}' cannot be read: {error.strerror}.") from None
        except ValueError:
            raise SettingsError(f"'{path}' is not a certificate in PEM.") from None
        found.append(read.public_bytes(serialization.Encoding.PEM).decode())
    return found


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.strip().rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not port.isascii() or not port.isdigit():
        raise SettingsError("--sites takes host:port,host:port,host:port, one for each site.")
    if not 0 < int(port) < 1 << 16 or not host.isprintable():
        raise SettingsError("a port is a number from 1 to 65535.")
    return host, int(port)


def _make(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        raise SettingsError(f"'{folder}' exists; name a folder that does not.") from None
    except OSError as error:
        raise SettingsError(f"'{folder}' cannot be made: {error.strerror}.") from None


def _write(path: Path, content: bytes, mode: int) -> None:
    with disk.create(path, mode) as file:
        file.write(content)
