"""What must be refused before any data is read: settings that promise nothing."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial, singledispatch

from discreet.audit.cases import BASE, quiet, user_schema
from discreet.audit.findings import Effort, Finding, Subject, judged
from discreet.errors import SchemaError, SettingsError
from discreet.mechanisms import Mechanism, get_mechanism
from discreet.mechanisms.objective import ObjectivePerturbation
from discreet.mechanisms.output import OutputPerturbation
from discreet.privacy.guarantee import Guarantee
from discreet.regression import SurvivalRegression
from discreet.release import NO_LEDGER

FAMILY = "refusals"
NO_EPSILON = (0.0, -1.0, math.inf, math.nan, None, True)


def check_refusals(subject: Subject, _: Effort) -> list[Finding]:
    """Epsilons that mean nothing, links without a proof, open bounds, no proof at all."""
    attempts = [*_epsilons(subject), *_links(subject), _open_bounds(subject), _unproved(subject)]
    with quiet():
        passed = [name for name, attempt in attempts if not _refused(attempt)]
    return [
        judged(
            FAMILY,
            "settings without a promise",
            f"{len(attempts)} refused",
            f"{len(attempts) - len(passed)} refused",
            sound=not passed,
            note=f"accepted: {', '.join(passed)}" if passed else "before any data is read",
            numbers={"accepted": float(len(passed))},
        )
    ]


Attempt = tuple[str, Callable[[], object]]


def _refused(attempt: Callable[[], object]) -> bool:
    """Whether the attempt ends with an error about settings, not another one or none."""
    try:
        attempt()
    except (SettingsError, SchemaError):
        return True
    except Exception:  # noqa: BLE001 - any other error came too late
        return False
    return False


def _epsilons(subject: Subject) -> list[Attempt]:
    kind = get_mechanism(subject.name)
    return [
        (f"epsilon {epsilon}", lambda epsilon=epsilon: kind(epsilon=epsilon))  # type: ignore[misc, call-arg]
        for epsilon in NO_EPSILON
    ]


@singledispatch
def links_without_proof(mechanism: object) -> tuple[str, ...]:  # noqa: ARG001 - the default
    """Links that the proof page excludes: said once more here, so that code can be wrong."""
    return ()


@links_without_proof.register(ObjectivePerturbation)
def _objective(_: ObjectivePerturbation) -> tuple[str, ...]:
    return ("probit", "cloglog")


@links_without_proof.register(OutputPerturbation)
def _output(_: OutputPerturbation) -> tuple[str, ...]:
    return ("cloglog",)


def _links(subject: Subject) -> list[Attempt]:
    models = [
        (link, SurvivalRegression(user_schema(), link=link))
        for link in links_without_proof(subject.mechanism())
    ]
    return [
        (f"link {link}", partial(_publish, model, subject.mechanism())) for link, model in models
    ]


def _open_bounds(subject: Subject) -> Attempt:
    mapping = user_schema().to_mapping()
    del mapping["covariate"][0]["high"]
    model = SurvivalRegression(mapping)
    return "a covariate without bounds", partial(_publish, model, subject.mechanism())


def _unproved(subject: Subject) -> Attempt:
    """The same mechanism, but for a promise that says of itself that it is not proved."""

    def promise(mechanism: Mechanism, persons: int) -> Guarantee:
        return replace(type(subject.mechanism()).promise(mechanism, persons), status="unproved")

    kind = type("Unproved", (type(subject.mechanism()),), {"promise": promise})
    mechanism = kind(**vars(subject.mechanism()))
    model = SurvivalRegression(user_schema())
    return "a promise without a proof", partial(_publish, model, mechanism)


def _publish(model: SurvivalRegression, mechanism: Mechanism) -> object:
    """A release of people who cannot be read: whatever is wrong must be said before."""
    return model.publish(
        object(),
        mechanism=mechanism,
        ledger=NO_LEDGER,
        persons=len(BASE),
        accept_approximate=True,
    )
