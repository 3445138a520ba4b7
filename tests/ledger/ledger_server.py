"""A real PostgreSQL server of our own: a fresh cluster in a temporary folder, on a Unix socket."""

import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import quote

import psycopg

OWNER = "postgres"
INSTALL = (
    "PostgreSQL is missing: install the Debian package `postgresql` (or put `postgres` on PATH)"
)
PATIENCE = 60.0


class NoServerError(Exception):
    """There is no server binary and none could be installed."""


class PostgresServer:
    """One cluster with a password, started and killed at will."""

    def __init__(self) -> None:
        if sys.platform != "linux":
            raise NoServerError("the tests start and kill a PostgreSQL server on Linux alone")
        self.binaries = find_binaries()
        self.folder = Path(tempfile.mkdtemp(prefix="discreet-postgres-"))
        self.password = f"canary-{secrets.token_hex(8)}"
        self._process: subprocess.Popen[bytes] | None = None
        self._as_owner = _owner()
        self._initialise()

    def url(self, database: str, **parameters: str) -> str:
        """The URL of a database on this server."""
        query = "&".join(f"{k}={quote(v, safe='')}" for k, v in parameters.items())
        socket = quote(str(self.folder), safe="")
        return f"postgresql://{OWNER}:{self.password}@/{database}?host={socket}&{query}"

    def start(self, *options: str) -> None:
        """Start the server and wait until it answers."""
        command = [self.binaries / "postgres", "-D", self.folder / "data", "-k", self.folder]
        settings = ("listen_addresses=", "shared_buffers=16MB", "max_connections=60", *options)
        log = (self.folder / "log").open("ab")
        self._process = subprocess.Popen(
            [*map(str, command), *(word for s in settings for word in ("-c", s))],
            stdout=log,
            stderr=log,
            cwd=self.folder,
            **self._as_owner,
        )
        log.close()
        self._wait_until_it_answers()

    def kill(self) -> None:
        """SIGKILL the server and every backend, as a power cut would."""
        if self._process is None:
            return
        children = _children(self._process.pid)
        for process in (self._process.pid, *children):
            _kill(process)
        self._process.wait()
        self._process = None
        while not all(map(_is_dead, children)):
            time.sleep(0.01)

    def forget_ledgers(self) -> None:
        """Remove all ledgers, which nobody but a server's owner can do."""
        with psycopg.connect(self.url(OWNER)) as connection:
            connection.execute("DROP SCHEMA IF EXISTS discreet_ledger CASCADE")

    def own(self, path: Path) -> None:
        """Give the path to the user the server runs as."""
        if self._as_owner:
            shutil.chown(path, OWNER, OWNER)

    def stop(self) -> None:
        """Stop the server and remove its folder."""
        self.kill()
        shutil.rmtree(self.folder)

    def _initialise(self) -> None:
        secret = self.folder / "password"
        secret.write_text(self.password)
        data = self.folder / "data"
        for path in (self.folder, secret):
            self.own(path)
        command = [self.binaries / "initdb", "-D", data, "-U", OWNER, "--pwfile", secret]
        options = ["--auth=scram-sha-256", "--encoding=UTF8", "--no-locale"]
        subprocess.run(
            [*map(str, command), *options],
            check=True,
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            **self._as_owner,
        )

    def _wait_until_it_answers(self) -> None:
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                psycopg.connect(self.url(OWNER)).close()
            except psycopg.OperationalError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)
            else:
                return


def find_binaries() -> Path:
    """The folder of `postgres` and `initdb`; installs the Debian package where root may."""
    folder = _look_for_binaries()
    if folder is None and os.geteuid() == 0 and shutil.which("apt-get"):
        command = ["apt-get", "-o", "DPkg::Lock::Timeout=120", "install", "-y", "postgresql"]
        subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        folder = _look_for_binaries()
    if folder is None:
        raise NoServerError(INSTALL)
    return folder


def _look_for_binaries() -> Path | None:
    candidates = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    on_path = shutil.which("postgres")
    if on_path:
        candidates.append(Path(on_path).resolve().parent)
    return next((folder for folder in candidates if (folder / "initdb").is_file()), None)


def _owner() -> dict[str, object]:
    """The server refuses to run as root: then it runs as the user of its package."""
    import pwd  # noqa: PLC0415 - not on every system

    if os.geteuid() != 0:
        return {}
    try:
        pwd.getpwnam(OWNER)
    except KeyError:
        raise NoServerError(f"as root the server needs the user {OWNER}; {INSTALL}") from None
    return {"user": OWNER, "group": OWNER, "extra_groups": []}


def _children(process: int) -> list[int]:
    text = Path(f"/proc/{process}/task/{process}/children").read_text()
    return [int(word) for word in text.split()]


def _is_dead(process: int) -> bool:
    """Gone, or a zombie that nobody has waited for."""
    try:
        status = Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True
    return status.rpartition(")")[2].split()[0] in {"Z", "X"}


def _kill(process: int) -> None:
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        return
