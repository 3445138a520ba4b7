"""What a release file claims, checked against what it contains and against a plan made again."""

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from discreet.audit.findings import Finding, judged, not_applicable
from discreet.audit.run import Audit
from discreet.design.baseline import parse_baseline
from discreet.design.design import Design
from discreet.design.link import get_link
from discreet.documents.causes import CausesRelease
from discreet.documents.curves import CurvesRelease
from discreet.documents.model import AGREEMENT, File, Promised, Release
from discreet.documents.read import document_of
from discreet.documents.strict import read_strict
from discreet.errors import ArtefactError, DiscreetError
from discreet.ledger.book import Head
from discreet.ledger.interface import UNCHARGED
from discreet.mechanisms import Plan, mechanism_from_settings
from discreet.mechanisms.group_counts import GroupCounts
from discreet.privacy.shares import NoiseShares
from discreet.release import Order, weak_promises
from discreet.version import __version__

FAMILY = "release"
REPRODUCED = 1e-9
"""A plan made again on another machine may differ in the last digits of its floats."""


def audit_release(path: str | Path) -> Audit:
    """Every check of one release file; a file that is no release is an `ArtefactError`."""
    mapping = read_strict(path)
    if mapping.get("format") not in {Release.kind, CurvesRelease.kind}:
        raise ArtefactError(f"'{path}' is not a release; there is nothing to audit.")
    try:
        document = document_of(mapping)
    except ArtefactError as error:
        refused = _line("the file", "a sound release", "refused", sound=False, note=str(error))
        return Audit("a release that cannot be read", {}, (refused,))
    return audit_document(document)


def audit_document(document: File) -> Audit:
    """Every check of a release in memory; another document is an `ArtefactError`."""
    if isinstance(document, CurvesRelease):
        name, own = "curves", _curves_again(document)
    elif isinstance(document, CausesRelease):
        parts = {cause: document.of_cause(cause) for cause in document.causes}
        found = ((cause, item) for cause, part in parts.items()
                 for item in (*_coefficients(part), *_grid(part)))  # fmt: skip
        own = [replace(item, check=f"{cause}: {item.check}") for cause, item in found]
        name, own = "release", [*own, *_plan_again(document)]
    elif isinstance(document, Release):
        name = "release"
        own = [*_coefficients(document), *_grid(document), *_plan_again(document)]
    else:
        raise ArtefactError("only a release can be audited; this model is not private.")
    facts = {
        "release_id": document.release_id,
        "mechanism": document.mechanism.get("name"),
        "epsilon": document.guarantee.epsilon,
        "delta": document.guarantee.delta,
        "digest": document.digest,
    }
    whole = (*_form(document), *own, *_promise(document), *_ledger(document))
    return Audit(f"{name} {document.release_id}", facts, whole)


def _curves_again(curves: CurvesRelease) -> list[Finding]:
    """The plan, and everything printed, computed again."""
    plan = GroupCounts(curves.guarantee.epsilon, curves.guarantee.delta).plan(
        curves.persons, curves.groups, NoiseShares.read(curves.details)
    )
    again = curves.model_copy(update={"curves": (), "test": None, "warnings": ()}).with_results()
    whole = all(float(item).is_integer() for item in curves.released["sums"])
    version, promise = curves.library_version, curves.guarantee.to_mapping()
    return [
        _line("released sums", "integers", "integers" if whole else "others", sound=whole),
        _same("noise scale computed again", plan.noise_scale, curves.noise_scale, version),
        _same("guarantee computed again", plan.guarantee.to_mapping(), promise, version),
        _same("details computed again", dict(plan.details), curves.details, version),
        _same("curves computed again", list(again.curves), list(curves.curves), version),
        _same("test computed again", again.test, curves.test, version),
    ]


def _line(check: str, claimed: str, measured: str, *, sound: bool, note: str = "") -> Finding:
    found = judged(check, claimed, measured, sound=sound, note=note)
    return replace(found, family=FAMILY)


def _form(release: Promised) -> list[Finding]:
    """Private, of persons, with public bounds everywhere."""
    bounded = release.public_schema.is_bounded
    drawn, bounds = "drawn with system entropy", "public bounds of the schema"
    said = "private" if release.private else "seeded"
    return [
        _line(drawn, "private", said, sound=release.private),
        _line(bounds, "all", "all" if bounded else "some are missing", sound=bounded),
    ]


def _coefficients(release: Release) -> list[Finding]:
    """Coefficients are those that the schema names, and the internal ones in the user's scale."""
    baseline = parse_baseline(release.baseline)
    design = Design(release.public_schema, baseline, release.internal.coordinates)
    names = list(release.coefficients.covariates) == list(design.schema.coefficient_names)
    expected = design.to_user @ release.internal.vector
    margin = AGREEMENT * (np.abs(design.to_user) @ np.abs(release.internal.vector))
    gap = np.abs(release.coefficients.vector - expected)
    off, sound = f"off by {np.max(gap, initial=0.0):.2g}", bool(np.all(gap <= margin))
    return [
        _line("coefficients named by the schema", "all", "all" if names else "others", sound=names),
        _line("coefficients from internal values", "equal", off, sound=sound),
    ]


def _grid(release: Release) -> list[Finding]:
    """Integer multiples of 2^k in internal coordinates, within the precision of floats."""
    with np.errstate(over="ignore"):
        steps = np.ldexp(release.internal.vector, -release.grid_exponent)
    off = int(np.count_nonzero(steps != np.rint(steps)))
    name, note = f"multiples of 2^{release.grid_exponent}", "in internal coordinates"
    return [_line(name, "all", f"{off} are not", sound=off == 0, note=note)]


def _plan_again(release: Release | CausesRelease) -> list[Finding]:
    """The plan from the settings and the public facts of the file, made again."""
    try:
        plan = _plan(release)
    except DiscreetError as error:
        return [_line("plan made again", "possible", "refused", sound=False, note=str(error))]
    version, promise = release.library_version, release.guarantee.to_mapping()
    return [
        _same("noise scale made again", plan.noise_scale, release.noise_scale, version),
        _same("grid exponent made again", plan.grid_exponent, release.grid_exponent, version),
        _same("guarantee made again", plan.guarantee.to_mapping(), promise, version),
        _same("details made again", dict(plan.details), release.details, version),
        _settings(plan, release),
    ]


def _plan(release: Release | CausesRelease) -> Plan:
    """Made from the public facts of the file; what was accepted when it was made counts no more."""
    order = Order(
        mechanism=mechanism_from_settings(release.mechanism),
        schema=release.public_schema,
        link=get_link(release.link),
        baseline=parse_baseline(release.baseline),
        persons=release.persons,
        sites=NoiseShares.read(release.details),
    )
    return order.plan(release.persons)


def _settings(plan: Plan, release: Promised) -> Finding:
    """A promise that is not proved for the draw itself must be declared among the warnings."""
    needed = int(plan.guarantee.status in {"ideal-draw-only", "unproved"})
    weak = set(weak_promises(plan.guarantee, plan.persons))  # not in releases of version 0.1
    declared = sum(
        caution.of_the_promise and caution.code not in weak for caution in release.warnings
    )
    name = "warnings that the settings call for"
    return _line(name, f"{needed}", f"{declared}", sound=declared == needed)


def _same(check: str, planned: object, stated: object, version: str) -> Finding:
    """Equal; what another version planned otherwise cannot be checked by this one."""
    if agree(planned, stated):
        shown = "equal"
    elif version != __version__:
        note = f"differs from what discreet {__version__} plans: audit with discreet {version}"
        return replace(not_applicable(check, note), family=FAMILY)
    else:
        shown = f"differ: {', '.join(_differences(planned, stated)) or stated}"
    claimed = f"{planned:.6g}" if isinstance(planned, float) else str(planned)
    claimed = claimed if len(claimed) < 30 else "equal"
    return _line(check, claimed, shown[:80], sound=shown == "equal")


def _differences(planned: object, stated: object) -> list[str]:
    """Names of the members that differ."""
    if not isinstance(planned, Mapping) or not isinstance(stated, Mapping):
        return []
    missing = object()
    names = [*planned, *(key for key in stated if key not in planned)]
    return [key for key in names if not agree(planned.get(key, missing), stated.get(key, missing))]


def agree(planned: Any, stated: Any) -> bool:
    """Equal, floats to 1e-9 of their size; a file's lists and a plan's tuples are the same."""
    if isinstance(planned, Mapping) and isinstance(stated, Mapping):
        return planned.keys() == stated.keys() and all(
            agree(planned[key], stated[key]) for key in planned
        )
    if isinstance(planned, list | tuple) and isinstance(stated, list | tuple):
        return len(planned) == len(stated) and all(map(agree, planned, stated))
    if isinstance(planned, bool) or isinstance(stated, bool):
        return planned is stated
    if isinstance(planned, int | float) and isinstance(stated, int | float):
        return math.isclose(planned, stated, rel_tol=REPRODUCED)
    return bool(planned == stated)


def _promise(release: Promised) -> list[Finding]:
    same = release.guarantee.is_said_by(release.promise)
    return [
        _line("promise in words", "the guarantee's", "the same" if same else "another", sound=same)
    ]


def _ledger(release: Promised) -> list[Finding]:
    """A head in its form, or an open word that there was no ledger."""
    if release.ledger == UNCHARGED:
        note = "charged to no ledger: nothing bounds the sum of releases"
        return [_line("ledger head", "a head or none", "no ledger", sound=True, note=note)]
    try:
        head = Head.parse(release.ledger)
    except DiscreetError as error:
        return [_line("ledger head", "a head or none", "neither", sound=False, note=str(error))]
    note = "`discreet budget verify LEDGER --release FILE` checks it against the ledger"
    return [_line("ledger head", "a head or none", f"entry {head.sequence}", sound=True, note=note)]
