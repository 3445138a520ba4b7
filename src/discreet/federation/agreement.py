"""Facts that must be equal at all sites, compared before any charge.

Every site sends the digests of its public facts (schema, settings, versions) and the number of its
persons, which is public.  A difference is named; then all sites stop and nothing is charged.

Versions and the rounding of the machine's linear algebra are compared because all sites compute the
release from the same opened integers, and must obtain the same bits.
"""

import hashlib
import json
import math
import platform
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from discreet.design.schema import Schema
from discreet.documents.strict import parse_strict
from discreet.engine.threads import one_blas_thread
from discreet.errors import ArtefactError, FederationError
from discreet.federation.mesh import Mesh
from discreet.version import __version__

_PACKAGES = ("numpy", "scipy", "numba", "opendp", "mpyc")
_ELEMENTARY = (math.exp, math.expm1, math.erfc, math.tanh, lambda x: math.log1p(x * x))
LONGEST_NAME, MOST_NAMES = 60, 8
"""Limits on the facts of an error: names may come from another site, and its end must be legible."""
NOTHING_CHARGED = "Nothing was charged."


@dataclass(frozen=True)
class Agreement:
    """The number of persons of each site, and the name of the release, which site 0 decides."""

    persons: tuple[int, ...]
    release_id: str

    @property
    def total(self) -> int:
        """n, the persons of all sites."""
        return sum(self.persons)


def agree(mesh: Mesh, facts: Mapping[str, str], persons: int, release_id: str) -> Agreement:
    """Compare the facts of all sites; raise a `FederationError` that names what differs.

    `facts` are digests or versions by name, `persons` those of this site, and `release_id` is this
    site's name of the release.
    """
    own = {"facts": dict(facts), "persons": persons, "release_id": release_id}
    messages = [_read(item) for item in mesh.exchange(json.dumps(own).encode())]
    differing = []
    for number, message in enumerate(messages):
        for name in {**facts, **message["facts"]}:
            here, there = facts.get(name), message["facts"].get(name)
            if here != there:
                # versions are shown, digests are not
                shown = here and there and max(len(here), len(there)) < 20
                values = f" has {there}, this one {here}" if shown else ""
                differing.append(f"{name[:LONGEST_NAME]} (site {number}{values})")
    if differing:
        raise FederationError(
            f"the sites differ in {'; '.join(differing[:MOST_NAMES])}. {NOTHING_CHARGED}"
        )
    counts = tuple(message["persons"] for message in messages)
    return Agreement(counts, messages[0]["release_id"])


def compare(mesh: Mesh, name: str, payload: bytes) -> None:
    """Raise `FederationError` unless all sites send the same bytes."""
    payloads = mesh.exchange(payload)
    others = [number for number, item in enumerate(payloads) if item != payload]
    if others:
        names = ", ".join(str(number) for number in others)
        raise FederationError(f"the sites differ in {name} (this one from site {names}).")


def public_facts(schema: Schema, settings: Mapping[str, Any]) -> dict[str, str]:
    """Return digests of the parts of the schema and of the settings, and the versions."""
    facts = {}
    for key, value in schema.to_mapping().items():
        if key != "covariate":
            facts[f"the schema's {key}"] = digest(value)
            continue
        # covariates one by one, so that a difference can be named; their order counts too
        facts["the schema's list of covariates"] = digest([item["name"] for item in value])
        facts |= {f"the schema's covariate '{item['name']}'": digest(item) for item in value}
    facts |= {f"the setting {key}": digest(value) for key, value in settings.items()}
    facts |= {"discreet": __version__, "Python": ".".join(platform.python_version_tuple()[:2])}
    for name in _PACKAGES:
        facts[name] = "missing"
        with suppress(PackageNotFoundError):
            facts[name] = version(name)
    return facts | {"the machine's arithmetic": arithmetic()}


def digest(value: Any) -> str:
    """Return SHA-256 of a JSON value."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def arithmetic() -> str:
    """Return SHA-256 of results of linear algebra and elementary functions on fixed numbers.

    Machines with other processor instructions, or another library of elementary functions (which
    compiled code calls), may differ in the last bits.
    """
    size = 24
    grid = np.arange(1.0, 256 * size + 1).reshape(256, size)
    table = np.sin(grid * 0.37) + 1.0 / grid
    with one_blas_thread():
        gram = table.T @ table
        values, vectors = np.linalg.eigh(gram)
        parts = [
            gram,
            values,
            vectors,
            np.linalg.inv(gram),
            np.linalg.solve(gram, table[0]),
            np.linalg.lstsq(table, table[:, 0] + 1.0, rcond=None)[0],
            np.exp(table),
            np.log1p(table * table),
            np.sum(table, axis=1),
            [[function(x) for x in table[1].tolist()] for function in _ELEMENTARY],
        ]
    hashed = hashlib.sha256()
    for part in parts:
        hashed.update(np.ascontiguousarray(part).tobytes())
    return hashed.hexdigest()


def _read(message: bytes) -> dict[str, Any]:
    """Parse a site's message; raise `FederationError` unless it has the right form."""
    try:
        parsed = parse_strict(message)
    except ArtefactError:
        parsed = {}
    facts, persons, name = (parsed.get(key) for key in ("facts", "persons", "release_id"))
    right = (
        isinstance(facts, dict)
        and all(isinstance(value, str) for value in facts.values())
        and type(persons) is int
        and persons > 0
        and isinstance(name, str)
    )
    if not right:
        raise FederationError(f"another site sent something unexpected. {NOTHING_CHARGED}")
    return parsed
