"""Sites on this machine: free ports, certificates, processes that are always ended."""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

from discreet.federation.certificates import make_pair, write_sites

PART = Path(__file__).with_name("part.py")
LONGEST = 280
PORTS = iter(range(10_000 + os.getpid() % 100 * 200, 32_000))
"""Each is tried once in a process; another run of the tests begins elsewhere."""


def free_ports(number):
    """Ports that nobody listens at, below those that the system gives to others meanwhile."""
    found = []
    for port in PORTS:
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            found.append(port)
        if len(found) == number:
            return found
    raise AssertionError("all ports were used")


def make_sites(folder, number=3, **settings):
    """A folder for each site, as it would be handed out: sites.toml and its own key only."""
    addresses = [f"127.0.0.1:{port}" for port in free_ports(number)]
    write_sites(folder / "all", addresses, **settings)
    for party in range(number):
        own = folder / str(party)
        own.mkdir()
        shutil.copy(folder / "all" / "sites.toml", own / "sites.toml")
        shutil.copytree(folder / "all" / f"site-{party}", own / f"site-{party}")
    return folder


def forge(folder, party):
    """Give a site another key and certificate than sites.toml lists."""
    key, certificate = make_pair(f"discreet site {party}", "127.0.0.1", 30)
    (folder / str(party) / f"site-{party}" / "key.pem").write_bytes(key)
    (folder / str(party) / f"site-{party}" / "certificate.pem").write_bytes(certificate)


class Stage:
    """Starts processes and ends those that are left."""

    def __init__(self):
        self.processes = []

    def start(self, *command):
        process = subprocess.Popen(
            [sys.executable, *map(str, command)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.processes.append(process)
        return process

    def part(self, folder, party, scene, waiting=100):
        return self.start(PART, folder / str(party), party, scene, waiting)

    def play(self, folder, scene, number=3, waiting=100):
        """What every site printed."""
        started = [self.part(folder, party, scene, waiting) for party in range(number)]
        return [result(process) for process in started]

    def clear(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.communicate()


def result(process):
    """The object that a process printed, or None if it was killed."""
    printed, errors = process.communicate(timeout=LONGEST)
    if process.returncode < 0:
        return None
    assert printed, errors
    return json.loads(printed)
