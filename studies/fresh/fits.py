"""The exact fit of a registry, private releases of it, and what is kept of each.

Symbols: f* and SE* the exact estimate and its standard errors, f and SE those of a release, R the
correlation of f*.

    gap    (f - f*) / SE*          ratio   SE / SE*
    err    sqrt(gap' R^-1 gap / d), over the coefficients that the data determine

A coefficient is determined unless the exact fit has no maximum (a ridge makes its numbers finite) and
its standard error follows the ridge: of a cause, when the others are censoring. Noise is that of a
real release; nothing is seeded.
"""

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import discreet as ds
from fresh.family import Array, Registry

DELTA = 1e-6
HARDER, FOLLOWS = 4.0, 0.9
"""With a ridge this much larger, a standard error below this part of itself is the ridge's."""


@dataclass(frozen=True)
class Exact:
    """The fit without privacy: all coefficients, one cause after the other."""

    names: tuple[str, ...]
    estimate: Array
    errors: Array
    correlation: Array
    determined: NDArray[np.bool_]


def _models(document: Any) -> dict[str, Any]:
    """The binary models of a document; one of its own without causes."""
    return dict(document.models) if hasattr(document, "models") else {"": document}


def _names(registry: Registry, document: Any) -> tuple[str, ...]:
    """As cautions call coefficients, baselines first."""
    names, strata = [], registry.schema.get("strata", {}).get("name")
    for cause, model in _models(document).items():
        coefficients = model.coefficients
        baselines = coefficients.baseline
        each = baselines if isinstance(baselines, dict) else {"": baselines}
        own = [
            f"baseline[{strata}={stratum}][{k}]" if strata else f"baseline[{k}]"
            for stratum, values in each.items()
            for k in range(1, len(values) + 1)
        ]
        own += coefficients.covariates
        names += [f"{cause}: {name}" if cause else name for name in own]
    return tuple(names)


def _numbers(document: Any) -> tuple[Array, Array]:
    """Coefficients and their covariance, causes taken apart."""
    models = _models(document).values()
    vector = np.concatenate([np.asarray(model.coefficients.vector) for model in models])
    covariance = np.zeros((len(vector), len(vector)))
    place = 0
    for model in models:
        end = place + len(model.covariance)
        covariance[place:end, place:end] = model.covariance
        place = end
    return vector, covariance


def _estimator(registry: Registry) -> Any:
    schema = ds.Schema.from_mapping(registry.schema)
    return ds.SurvivalRegression(schema, **registry.model)


def _follows_ridge(registry: Registry, ridge: float) -> NDArray[np.bool_]:
    """Coefficients whose standard errors shrink as a ridge grows."""
    axis = dict(registry.schema["time"])
    events = axis.pop("causes", {"": axis.get("event_values", ["1"])})
    parts = []
    for values in events.values():
        schema = ds.Schema.from_mapping(
            {**registry.schema, "time": {**axis, "event_values": list(values)}}
        )
        weak, strong = (
            ds.SurvivalRegression(schema, **registry.model, ridge=size).fit(registry.frame).model_
            for size in (ridge, HARDER * ridge)
        )
        parts.append(np.diag(strong.covariance) < FOLLOWS**2 * np.diag(weak.covariance))
    return np.concatenate(parts)


def exact_fit(registry: Registry) -> Exact:
    """The maximum likelihood fit, and which of its coefficients the data determine."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        document = _estimator(registry).fit(registry.frame).model_
        estimate, covariance = _numbers(document)
        errors = np.sqrt(np.diag(covariance))
        determined = np.ones(len(errors), dtype=bool)
        ridge = max(model.fit.ridge for model in _models(document).values())
        if ridge > 0.0:
            determined = ~_follows_ridge(registry, ridge)
    return Exact(
        _names(registry, document),
        estimate,
        errors,
        covariance / np.outer(errors, errors),
        determined,
    )


def private_fit(registry: Registry, epsilon: float) -> Any:
    """A release with real noise, charged to no ledger."""
    model = _estimator(registry)
    mechanism = ds.PrivateNewton(epsilon, delta=DELTA)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        published = model.publish(registry.frame, mechanism=mechanism, ledger=ds.NO_LEDGER)
    return published.release_


def measure(registry: Registry, exact: Exact, epsilon: float) -> dict[str, str]:
    """The columns of one draw."""
    start = time.perf_counter()
    release = private_fit(registry, epsilon)
    seconds = time.perf_counter() - start
    estimate, covariance = _numbers(release)
    gaps = (estimate - exact.estimate) / exact.errors
    ratios = np.sqrt(np.maximum(np.diag(covariance), 0.0)) / exact.errors
    chosen = exact.determined
    part = exact.correlation[np.ix_(chosen, chosen)]
    err = np.sqrt(gaps[chosen] @ np.linalg.solve(part, gaps[chosen]) / max(chosen.sum(), 1))
    return {
        "err": f"{err:.4g}",
        "gaps": _listed(gaps, chosen),
        "ratios": _listed(ratios, chosen),
        "cautions": " ".join(_named(release, exact.names)),
        "codes": " ".join(sorted({caution.code for caution in release.warnings})),
        "seconds": f"{seconds:.2f}",
    }


def _named(release: Any, names: tuple[str, ...]) -> list[str]:
    """Cautions that name coefficients: code:place,place."""
    found = []
    for code in sorted({caution.code for caution in release.warnings if caution.coefficients}):
        meant = {
            name for caution in release.warnings if caution.code == code
            for name in caution.coefficients
        }  # fmt: skip
        places = [str(place) for place, name in enumerate(names) if name in meant]
        found.append(f"{code}:{','.join(places)}")
    return found


def _listed(values: Array, chosen: NDArray[np.bool_]) -> str:
    return " ".join(
        f"{value:.3g}" if use else "." for value, use in zip(values, chosen, strict=True)
    )
