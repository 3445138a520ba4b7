"""One site of a joint computation in a process of its own; prints one JSON object.

python part.py FOLDER PARTY SCENE [ARGUMENT]
"""

import json
import pickle
import sys
import time
from pathlib import Path

from discreet.errors import DiscreetError
from discreet.federation import secure_sum
from discreet.federation.connection import Connection
from discreet.federation.mesh import Mesh
from discreet.federation.sites import Sites

SAME = 12345
MANY = 2000


def no_pickle(*_):
    raise AssertionError("a message was unpickled")


def add(mesh):
    """Public bytes, and integers of both signs."""
    party = mesh.party
    said = [item.decode() for item in mesh.exchange(f"site {party}".encode())]
    sums = mesh.add([party, -5 * party, 10**18 - party, -(2**62)])
    return {"said": said, "sums": sums, "more": mesh.add([1] * 7), "sent": mesh.sent}


def record(mesh):
    """Many times the same integer; what this site was sent of it."""
    seen = {number: [] for number in mesh._others}
    deliver = Connection._deliver

    def noted(connection, label, payload):
        if len(payload) == 12 * MANY:
            seen[connection.party].append(payload.hex())
        deliver(connection, label, payload)

    Connection._deliver = noted
    mesh.exchange(b"go")  # nobody sends a share before all take notes
    sums = mesh.add([SAME] * MANY)
    return {"sums": sums[:3], "seen": seen}


def die(mesh):
    """Site 1 is gone before the sum."""
    mesh.exchange(b"here")
    if mesh.party == 1:
        import os  # noqa: PLC0415
        import signal  # noqa: PLC0415

        os.kill(os.getpid(), signal.SIGKILL)
    return {"sums": mesh.add([1, 2, 3])}


def garble(mesh):
    """Site 1 sends shares that are too short."""
    mesh.exchange(b"here")
    if mesh.party == 1:
        send = Connection.send
        Connection.send = lambda self, label, payload: send(self, label, payload[:-13])
    return {"sums": mesh.add([1, 2, 3])}


def flood(mesh):
    """Site 1 claims to send four gigabytes."""
    mesh.exchange(b"here")
    if mesh.party == 1:
        for connection in mesh._connections.values():
            header = (7).to_bytes(8, "little") + (2**32 - 1).to_bytes(4, "little")
            mesh._loop.call_soon_threadsafe(connection._transport.write, header)
    return {"sums": mesh.add([1, 2, 3])}


def early(mesh):
    """Site 0 leaves first; the others still have something to say to each other."""
    mesh.exchange(b"one")
    if mesh.party:
        time.sleep(0.5)
    return {"sums": []}


SCENES = {item.__name__: item for item in (add, record, die, garble, flood, early)}


def mark_admitted(folder):
    """Leave a file for every site that this one has let in."""
    admit = Mesh.admit

    def noted(mesh, connection, der):
        found = admit(mesh, connection, der)
        if found:
            (folder / f"admitted-{connection.party}").touch()
        return found

    Mesh.admit = noted


def main(folder, party, scene, waiting="20"):
    pickle.loads = no_pickle
    mark_admitted(Path(folder))
    secure_sum.load_mpyc().pickle.loads = no_pickle
    try:
        sites = Sites.read(Path(folder) / "sites.toml")
        with Mesh(sites, int(party), waiting=float(waiting), answering=100) as mesh:
            found = SCENES[scene](mesh)
    except DiscreetError as error:
        found = {"error": str(error), "kind": type(error).__name__}
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
