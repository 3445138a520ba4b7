"""How far a run will end from the maximum likelihood estimate: the steps without the data.

Step t is made at a point as far from the end as the steps before it leave the estimate; its noise
and weight follow, as in `steps.py`. To the combined noise comes what the bound itself changes: a
weighted score J, Meat is a less efficient estimator, and the variance of its distance from the
efficient one is the difference of their variances, J^-1 Meat J^-1 - (full information)^-1.
"""

import numpy as np

from discreet.mechanisms.newton.bound import FLOOR, Cohort
from discreet.mechanisms.newton.equation import Equation, Setting
from discreet.mechanisms.newton.shape import Shape
from discreet.mechanisms.newton.steps import Prior, Step, variances
from discreet.types import Array


def predicted_variance(
    setting: Setting, point: Array, shape: Shape, prior: Prior, far: float
) -> Array:
    """E (f - f*)(f - f*)', where the start is sqrt(`far`) standard errors from the end."""
    people = shape.people
    steps: list[Step] = []
    squared, noise = far, np.zeros((len(point), len(point)))
    for share in setting.budget.steps:
        equation = setting.equation(point, shape, prior, share)
        steps.append(_displaced(equation, min(squared, people.events)))
        noise = variances(steps, point, prior)[1]
        unwhitening = steps[-1].unwhitening
        squared = float(np.trace(unwhitening @ noise @ unwhitening.T))
    return noise + _inefficiency(equation, people)


def _displaced(equation: Equation, squared: float) -> Step:
    """The step from a point at this squared distance (in standard errors) from the target."""
    frame, target = equation.scores.mapping, equation.scores.point
    away = frame @ np.full(len(target), np.sqrt(squared / len(target)))
    return Step(target + away, frame, equation.jacobian, equation.meat, equation.deviation, target)


def _inefficiency(equation: Equation, people: Cohort) -> Array:
    """W (J^-1 Meat J^-1 - I) W', never negative."""
    frame, size = equation.scores.mapping, len(equation.jacobian)
    inverse = np.linalg.inv(equation.jacobian - FLOOR * np.eye(size))
    full = people.seen(equation.scores).expected(people)[2]
    values, vectors = np.linalg.eigh(inverse @ equation.meat @ inverse - np.linalg.inv(full))
    return np.asarray(frame @ (vectors * np.maximum(values, 0.0)) @ vectors.T @ frame.T)
