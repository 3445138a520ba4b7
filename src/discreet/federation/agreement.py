"""What all sites must have in common, compared before anybody is charged.

Every site sends the digests of its public facts (schema, settings, versions) and the number of its
persons, which is public.  Whatever differs is named; then everybody stops and nothing is charged.

The versions are compared because all sites compute the release from the same opened integers, and
have to arrive at the same one, bit for bit; so is the rounding of the machine's linear algebra.
"""

import hashlib
import json
import math
import platform
from collections.abc import Mapping
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
"""Of facts that differ: names may come from another site, and the end of the sentence must be read."""
NOTHING_CHARGED = "Nothing was charged."


@dataclass(frozen=True)
class Agreement:
    """What the sites found in common.

    Parameters
    ----------
    persons
        The persons of each site.
    release_id
        The name of the release: the one that was asked for, or that site 0 proposes.

    """

    persons: tuple[int, ...]
    release_id: str

    @property
    def total(self) -> int:
        """n."""
        return sum(self.persons)


def agree(mesh: Mesh, facts: Mapping[str, str], persons: int, release_id: str) -> Agreement:
    """Compare the facts of all sites.

    Parameters
    ----------
    mesh
        The connections.
    facts
        Names of public facts, and what must be the same everywhere: a digest or a version.
    persons
        How many persons this site has.
    release_id
        What this site would call the release.

    Raises
    ------
    FederationError
        If a fact differs; the text names it.

    """
    own = {"facts": dict(facts), "persons": persons, "release_id": release_id}
    messages = [_read(item) for item in mesh.exchange(json.dumps(own).encode())]
    differing = [
        text
        for number, message in enumerate(messages)
        for text in _differences(number, facts, message["facts"])
    ]
    if differing:
        raise FederationError(
            f"the sites differ in {'; '.join(differing[:MOST_NAMES])}. {NOTHING_CHARGED}"
        )
    counts = tuple(message["persons"] for message in messages)
    return Agreement(counts, messages[0]["release_id"])


def compare(mesh: Mesh, name: str, payload: bytes) -> None:
    """`FederationError` unless all sites send the same bytes."""
    found = mesh.exchange(payload)
    others = [number for number, item in enumerate(found) if item != payload]
    if others:
        names = ", ".join(str(number) for number in others)
        raise FederationError(f"the sites differ in {name} (this one from site {names}).")


def public_facts(schema: Schema, settings: Mapping[str, Any]) -> dict[str, str]:
    """The schema part by part, the settings one by one, and the versions."""
    facts = {f"the schema's {key}": digest(value) for key, value in _schema_parts(schema)}
    facts |= {f"the setting {key}": digest(value) for key, value in settings.items()}
    facts |= {"discreet": __version__, "Python": ".".join(platform.python_version_tuple()[:2])}
    facts |= {name: _version(name) for name in _PACKAGES}
    return facts | {"the machine's arithmetic": arithmetic()}


def digest(value: Any) -> str:
    """SHA-256 of a JSON value."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def arithmetic() -> str:
    """SHA-256 of what linear algebra and elementary functions give here on fixed numbers.

    Machines whose processors have other instructions, or whose system has another library of
    elementary functions (which compiled code calls), may round other last bits.
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


def _schema_parts(schema: Schema) -> list[tuple[str, Any]]:
    """Covariates one by one, so that a difference can be named; their order counts too."""
    parts: list[tuple[str, Any]] = []
    for key, value in schema.to_mapping().items():
        if key != "covariate":
            parts.append((key, value))
            continue
        parts.append(("list of covariates", [item["name"] for item in value]))
        parts.extend((f"covariate '{item['name']}'", item) for item in value)
    return parts


def _differences(number: int, own: Mapping[str, str], theirs: Mapping[str, str]) -> list[str]:
    names = [name for name in {**own, **theirs} if own.get(name) != theirs.get(name)]
    return [
        f"{name[:LONGEST_NAME]} (site {number}{_shown(own.get(name), theirs.get(name))})"
        for name in names
    ]


def _shown(own: str | None, theirs: str | None) -> str:
    """Versions are worth showing, digests are not."""
    if own is None or theirs is None:
        return ""
    longest = max(len(own), len(theirs))
    return f" has {theirs}, this one {own}" if longest < 20 else ""


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"


def _read(message: bytes) -> dict[str, Any]:
    """A site's message, of the right form whatever it sent."""
    try:
        found = parse_strict(message)
    except ArtefactError:
        found = {}
    facts, persons, name = (found.get(key) for key in ("facts", "persons", "release_id"))
    right = (
        isinstance(facts, dict)
        and all(isinstance(value, str) for value in facts.values())
        and type(persons) is int
        and persons > 0
        and isinstance(name, str)
    )
    if not right:
        raise FederationError(f"another site sent something unexpected. {NOTHING_CHARGED}")
    return found
