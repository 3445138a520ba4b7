"""One site of a joint fit in a process of its own; its settings are a JSON object.

python joint_part.py '{"sites": ..., "party": 0, "data": ..., "ledger": ..., ...}'
"""

import json
import os
import signal
import sys
from pathlib import Path

from discreet import points
from discreet.curves import CurvesOrder
from discreet.design.baseline import NaturalSpline
from discreet.design.groups import Groups
from discreet.design.link import Logit
from discreet.design.schema import Schema
from discreet.errors import DiscreetError
from discreet.federation import agreement
from discreet.joint import Federation, simulate_jointly
from discreet.ledger import Ledger
from discreet.mechanisms import PrivateNewton
from discreet.mechanisms.group_counts import GroupCounts
from discreet.people.source import People
from discreet.privacy.shared_noise import SimulatedShares
from discreet.privacy.shares import NoiseShares
from discreet.privacy.testing import SeededNoise
from discreet.release import Order
from discreet.release import publish as published


def order_of(settings):
    schema = Schema.from_toml(Path(settings["schema"]))
    if "by" in settings:
        return CurvesOrder(GroupCounts(1.0, 1e-6), Groups(schema, (settings["by"],)))
    mechanism = PrivateNewton(
        epsilon=settings.get("epsilon", 1.0), delta=settings.get("delta", 1e-6)
    )
    return Order(mechanism, schema, Logit(), NaturalSpline(3))


def publish(settings):
    federation = Federation.read(settings["sites"], settings["party"], settings.get("waiting", 200))
    path = Path(settings["out"])
    ledger = Ledger(settings["ledger"])
    people = People.of(settings["data"])
    release = published(
        order_of(settings), people, ledger=ledger, path=path, agreed=federation.agreed
    )
    return {"digest": release.digest, "joint_digest": release.joint_digest}


def simulate(settings):
    """With this site's seed; what was opened, and what was released of it."""
    federation = Federation.read(settings["sites"], settings["party"], 200)
    opened = []

    def make(opening):
        def noted(values):
            opened.append(opening(values))
            return opened[-1]

        return SimulatedShares(NoiseShares.among(3), SeededNoise(settings["seed"]), noted)

    with federation.connect() as mesh:
        release = simulate_jointly(order_of(settings), People.of(settings["data"]), mesh, make)
        sent = mesh.sent
    return {"opened": opened, "sent": sent, **facts(release)}


def facts(release):
    return {
        "point": [value.hex() for value in release.internal.vector.tolist()],
        "released": release.released,
        "noise_scale": release.noise_scale.hex(),
        "private": release.private,
    }


def die_at(name):
    def listen(point):
        if point == name:
            os.kill(os.getpid(), signal.SIGKILL)

    points.install(listen)


def main(text):
    settings = json.loads(text)
    if "die_at" in settings:
        die_at(settings["die_at"])
    if "version" in settings:
        agreement.__version__ = settings["version"]
    try:
        found = (simulate if "seed" in settings else publish)(settings)
    except DiscreetError as error:
        found = {"error": str(error), "kind": type(error).__name__}
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
