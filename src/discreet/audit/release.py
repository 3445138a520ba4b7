"""Claims of a release file, checked against its content and against a plan made again."""

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
from discreet.mechanisms.contract import mechanism_from_settings
from discreet.mechanisms.group_counts import GroupCounts
from discreet.privacy.shares import NoiseShares
from discreet.release import Order, weak_promises
from discreet.version import __version__

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
        refused = judged("the file", "a sound release", "refused", sound=False, note=str(error))
        return Audit("a release that cannot be read", {}, (replace(refused, family="release"),))
    return audit_document(document)


def audit_document(document: File) -> Audit:
    """Every check of a release in memory; another document is an `ArtefactError`."""
    if isinstance(document, CurvesRelease):
        name, own = "curves", _curves_again(document)
    elif isinstance(document, CausesRelease):
        parts = {cause: document.of_cause(cause) for cause in document.causes}
        own = [replace(item, check=f"{cause}: {item.check}")
               for cause, part in parts.items() for item in _coefficients(part)]  # fmt: skip
        name, own = "release", [*own, *_plan_again(document)]
    elif isinstance(document, Release):
        name, own = "release", [*_coefficients(document), *_plan_again(document)]
    else:
        raise ArtefactError("only a release can be audited; this model is not private.")
    drawn = "private" if document.private else "seeded"
    bounds = "all" if document.public_schema.is_bounded else "some are missing"
    said = "the same" if document.guarantee.is_said_by(document.promise) else "another"
    findings = [
        judged("drawn with system entropy", "private", drawn, sound=document.private),
        judged("public bounds of the schema", "all", bounds, sound=bounds == "all"),
        *own,
        judged("promise in words", "the guarantee's", said, sound=said == "the same"),
        _ledger(document),
    ]
    facts = {
        "release_id": document.release_id,
        "mechanism": document.mechanism.get("name"),
        "epsilon": document.guarantee.epsilon,
        "delta": document.guarantee.delta,
        "digest": document.digest,
    }
    named = tuple(replace(item, family="release") for item in findings)
    return Audit(f"{name} {document.release_id}", facts, named)


def _curves_again(curves: CurvesRelease) -> list[Finding]:
    """The plan, and everything printed, computed again."""
    plan = GroupCounts(curves.guarantee.epsilon, curves.guarantee.delta).plan(
        curves.persons, curves.groups, NoiseShares.read(curves.details)
    )
    again = curves.model_copy(update={"curves": (), "test": None, "warnings": ()}).with_results()
    whole = all(float(item).is_integer() for item in curves.released["sums"])
    version, promise = curves.library_version, curves.guarantee.to_mapping()
    return [
        judged("released sums", "integers", "integers" if whole else "others", sound=whole),
        _same("noise scale computed again", plan.noise_scale, curves.noise_scale, version),
        _same("guarantee computed again", plan.guarantee.to_mapping(), promise, version),
        _same("details computed again", dict(plan.details), curves.details, version),
        _same("curves computed again", list(again.curves), list(curves.curves), version),
        _same("test computed again", again.test, curves.test, version),
    ]


def _coefficients(release: Release) -> list[Finding]:
    """Named by the schema, the internal ones in the user's scale, and on the grid of 2^k."""
    baseline = parse_baseline(release.baseline)
    design = Design(release.public_schema, baseline, release.internal.coordinates)
    names = list(release.coefficients.covariates) == list(design.schema.coefficient_names)
    expected = design.to_user @ release.internal.vector
    margin = AGREEMENT * (np.abs(design.to_user) @ np.abs(release.internal.vector))
    gap = np.abs(release.coefficients.vector - expected)
    scale, near = f"off by {np.max(gap, initial=0.0):.2g}", bool(np.all(gap <= margin))
    with np.errstate(over="ignore"):
        steps = np.ldexp(release.internal.vector, -release.grid_exponent)
    off = int(np.count_nonzero(steps != np.rint(steps)))
    grid, note = f"multiples of 2^{release.grid_exponent}", "in internal coordinates"
    return [
        judged(
            "coefficients named by the schema", "all", "all" if names else "others", sound=names
        ),
        judged("coefficients from internal values", "equal", scale, sound=near),
        judged(grid, "all", f"{off} are not", sound=off == 0, note=note),
    ]


def _plan_again(release: Release | CausesRelease) -> list[Finding]:
    """The plan from the settings and the public facts of the file, made again.

    What was accepted when the release was made counts no more.
    """
    try:
        order = Order(
            mechanism=mechanism_from_settings(release.mechanism),
            schema=release.public_schema,
            link=get_link(release.link),
            baseline=parse_baseline(release.baseline),
            persons=release.persons,
            sites=NoiseShares.read(release.details),
        )
        plan = order.plan(release.persons)
    except DiscreetError as error:
        return [judged("plan made again", "possible", "refused", sound=False, note=str(error))]
    # a promise that is not proved for the draw itself must be declared among the warnings
    needed = int(plan.guarantee.status in {"ideal-draw-only", "unproved"})
    weak = set(weak_promises(plan.guarantee, plan.persons))  # not in releases of version 0.1
    promises = [item for item in release.warnings if item.of_the_promise and item.code not in weak]
    said, sound = f"{len(promises)}", len(promises) == needed
    version, promise = release.library_version, release.guarantee.to_mapping()
    return [
        _same("noise scale made again", plan.noise_scale, release.noise_scale, version),
        _same("grid exponent made again", plan.grid_exponent, release.grid_exponent, version),
        _same("guarantee made again", plan.guarantee.to_mapping(), promise, version),
        _same("details made again", dict(plan.details), release.details, version),
        judged("warnings that the settings call for", f"{needed}", said, sound=sound),
    ]


def _same(check: str, planned: object, stated: object, version: str) -> Finding:
    """Equal; what another version planned otherwise cannot be checked by this one."""
    if agree(planned, stated):
        shown = "equal"
    elif version != __version__:
        note = f"differs from what discreet {__version__} plans: audit with discreet {version}"
        return not_applicable(check, note)
    else:
        shown = f"differ: {', '.join(_differences(planned, stated)) or stated}"
    claimed = f"{planned:.6g}" if isinstance(planned, float) else str(planned)
    claimed = claimed if len(claimed) < 30 else "equal"
    return judged(check, claimed, shown[:80], sound=shown == "equal")


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


def _ledger(release: Promised) -> Finding:
    """A head in its form, or an open word that there was no ledger."""
    try:
        if release.ledger == UNCHARGED:
            found, note = "no ledger", "charged to no ledger: nothing bounds the sum of releases"
        else:
            found = f"entry {Head.parse(release.ledger).sequence}"
            note = "`discreet budget verify LEDGER --release FILE` checks it against the ledger"
    except DiscreetError as error:
        found, note = "neither", str(error)
    return judged("ledger head", "a head or none", found, sound=found != "neither", note=note)
