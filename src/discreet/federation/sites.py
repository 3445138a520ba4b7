"""`sites.toml`: addresses and certificates of the sites of a joint fit.

    colluding = 1                # optional: the number of sites that may collude; by default the most

    [[site]]
    host = "registry-a.example"
    port = 9000
    certificate = '''-----BEGIN CERTIFICATE-----...'''

The file is public and may be the same at every site.  Beside it is a folder of this site alone,
`site-K/key.pem`, which no other site needs.
"""

import hashlib
import os
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from discreet.design.schema import read_toml
from discreet.errors import SchemaError, SettingsError
from discreet.privacy.shares import NoiseShares

_KEYS = {"host", "port", "certificate", "listen"}


@dataclass(frozen=True)
class Site:
    """One site: its address, and the only certificate that others accept from it."""

    host: str
    port: int
    certificate: str
    listen: str | None = None

    @property
    def address(self) -> str:
        """host:port."""
        return f"{self.host}:{self.port}"

    @property
    def der(self) -> bytes:
        """The certificate in binary form, as in a connection."""
        return ssl.PEM_cert_to_DER_cert(self.certificate)


@dataclass(frozen=True)
class Sites:
    """All sites, in the order that numbers them from 0, and the folder of `site-K/key.pem`."""

    sites: tuple[Site, ...]
    shares: NoiseShares
    folder: Path

    def __post_init__(self) -> None:
        if len({site.der for site in self.sites}) != len(self.sites):
            raise SettingsError("two sites have the same certificate; each needs its own.")

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read the sites of a file; raise a `SettingsError` if it cannot be read or is not valid."""
        try:
            mapping = read_toml(path, "list of sites")
        except SchemaError as error:
            raise SettingsError(str(error)) from None
        return cls.from_mapping(mapping, Path(path).parent)

    @classmethod
    def from_mapping(cls, mapping: dict[str, Any], folder: Path) -> Self:
        """Return the sites of a parsed file."""
        unknown = next((key for key in mapping if key not in {"colluding", "site"}), None)
        if unknown is not None:
            raise SettingsError(f"sites.toml has an unknown key '{unknown}'.")
        tables, colluding = mapping.get("site"), mapping.get("colluding")
        if not isinstance(tables, list):
            raise SettingsError("sites.toml has no [[site]].")
        if colluding is not None and type(colluding) is not int:
            raise SettingsError("sites.toml: colluding must be a whole number.")
        sites = tuple(_site(number, table) for number, table in enumerate(tables))
        return cls(sites, NoiseShares.among(len(sites), colluding), folder)

    @property
    def digest(self) -> str:
        """SHA-256 of certificates, their order, and the number of sites that may collude.

        Addresses may differ from site to site, since each is in a network of its own.
        """
        hashed = hashlib.sha256(str(self.shares.colluding).encode())
        for site in self.sites:
            hashed.update(hashlib.sha256(site.der).digest())
        return hashed.hexdigest()

    def key(self, party: int) -> Path:
        """Return the path of a site's private key."""
        return self.folder / f"site-{party}" / "key.pem"

    def certificate(self, party: int) -> Path:
        """Return the path of a site's certificate."""
        return self.folder / f"site-{party}" / "certificate.pem"

    def require_party(self, party: int) -> None:
        """Raise `SettingsError` unless the site exists and its key and certificate are here."""
        if not 0 <= party < len(self.sites):
            raise SettingsError(f"--party is a number from 0 to {len(self.sites) - 1}.")
        for path in (self.key(party), self.certificate(party)):
            if not path.is_file():
                raise SettingsError(f"'{path}' does not exist; it belongs beside sites.toml.")
        if os.name == "posix" and self.key(party).stat().st_mode & 0o077:
            raise SettingsError(f"others can read '{self.key(party)}': chmod 600 it.")


def _site(number: int, table: object) -> Site:
    if not isinstance(table, dict) or not set(table) <= _KEYS:
        raise SettingsError(f"sites.toml: site {number} has an unknown key; {sorted(_KEYS)} exist.")
    texts = [table.get(key) for key in ("host", "certificate", "listen")]
    host, certificate, listen = texts
    port = table.get("port")
    if not isinstance(host, str) or not isinstance(certificate, str) or not host:
        raise SettingsError(f"sites.toml: site {number} needs host and certificate, both texts.")
    if type(port) is not int or not 0 < port < 1 << 16:
        raise SettingsError(f"sites.toml: site {number} needs a port, a number from 1 to 65535.")
    if listen is not None and not isinstance(listen, str):
        raise SettingsError(f"sites.toml: listen of site {number} must be a text.")
    site = Site(host, port, certificate, listen)
    try:
        _ = site.der
    except ValueError:
        raise SettingsError(f"sites.toml: the certificate of site {number} is not PEM.") from None
    return site
