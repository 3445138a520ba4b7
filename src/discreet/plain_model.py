"""The model file of a fit that is not private: the estimate, how the fit went, standard errors."""

from typing import Literal

import numpy as np

from discreet.estimate import Estimate
from discreet.likelihood.problem import Problem
from discreet.models.model import Coefficients, FitRecord, PlainModel, Uncertainty
from discreet.models.summary import MOST_COVARIANCE, user_covariance
from discreet.types import Array

Information = Literal["expected", "observed"]


def plain_model(
    total: Problem, found: Estimate, solver: str, information: Information
) -> PlainModel:
    """The model file of a fit that is not private."""
    return PlainModel.model_validate(
        {
            **PlainModel.shared_facts(total.design, total.link, found.point),
            "private": False,
            "fit": _fit_record(total, found, solver),
            "uncertainty": _uncertainty(total, found, information),
        }
    )


def _fit_record(total: Problem, found: Estimate, solver: str) -> FitRecord:
    penalty = 0.5 * found.ridge * float(found.point @ found.point)
    mean = found.solution.evaluation.value - penalty
    return FitRecord(
        persons=total.persons,
        rows=found.counts.rows,
        events=found.counts.events,
        intervals_at_risk=found.counts.intervals_at_risk,
        log_likelihood=-mean * total.persons,
        ridge=found.ridge,
        solver=solver,
        gradient_norm=found.solution.gradient_norm,
        notes=found.notes,
    )


def _uncertainty(total: Problem, found: Estimate, information: Information) -> Uncertainty:
    """Standard errors; a ridge counts as prior information."""
    matrix = found.solution.evaluation.hessian * total.persons
    if information == "expected":
        ridge = found.ridge * total.persons
        matrix = total.information(found.point) + ridge * np.eye(total.dimension)
    covariance = user_covariance(matrix, total.design)
    return Uncertainty(
        information=information,
        standard_errors=Coefficients.of(np.sqrt(np.diag(covariance)), total.design),
        covariance=_triangle(covariance) if total.dimension <= MOST_COVARIANCE else None,
    )


def _triangle(matrix: Array) -> tuple[tuple[float, ...], ...]:
    """The lower triangle, row by row."""
    return tuple(tuple(row[: k + 1].tolist()) for k, row in enumerate(matrix))
