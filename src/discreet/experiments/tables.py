"""Tables 1, 2 and 3."""

from importlib import import_module

import numpy as np

from discreet.experiments import sets
from discreet.experiments.config import (
    PAPER_TABLE_1,
    PAPER_TABLE_2,
    PAPER_TABLE_3,
    RIDGES,
    TABLE_EPSILON,
    Options,
)
from discreet.experiments.results import Results
from discreet.experiments.sets import PaperSet
from discreet.likelihood.problem import Regularised
from discreet.mechanisms import OutputPerturbation
from discreet.solve import minimise
from discreet.types import Array

MISSING = "data not available"


def table_1(options: Options) -> Results:
    """Rows, events and covariates."""
    results = Results(
        options.results / "table-1.csv", ("set", "rows", "events", "covariates"), ("set",)
    )
    for name in options.sets:
        if results.has(set=name):
            continue
        if not sets.is_available(name):
            results.append({"set": name, "rows": MISSING, "events": "", "covariates": ""})
            continue
        data = sets.load(name)
        counts = (data.persons, int(data.event.sum()), data.covariates.shape[1])
        if name in PAPER_TABLE_1 and counts != PAPER_TABLE_1[name]:
            raise AssertionError(f"{name} is not the paper's data set")
        results.append(
            {"set": name, "rows": counts[0], "events": counts[1], "covariates": counts[2]}
        )
    return results


def table_2(options: Options) -> Results:
    """MRE of output perturbation as printed, for every ridge."""
    results = Results(
        options.results / "table-2.csv",
        ("set", "lambda", "mre", "se", "paper", "draws"),
        ("set", "lambda", "draws"),
    )
    for name in options.sets:
        if not sets.is_available(name):
            continue
        for index, ridge in enumerate(RIDGES):
            if results.has(set=name, draws=options.draws, **{"lambda": ridge}):
                continue
            errors = output_errors(sets.load(name), ridge, options)
            results.append(
                {
                    "set": name,
                    "lambda": ridge,
                    "mre": float(errors.mean()),
                    "se": float(errors.std() / np.sqrt(len(errors))),
                    "paper": PAPER_TABLE_2[name][index] if name in PAPER_TABLE_2 else "",
                    "draws": options.draws,
                }
            )
    return results


def output_errors(data: PaperSet, ridge: float, options: Options) -> Array:
    """Relative errors of many draws: the minimiser is found once, the printed noise added."""
    mechanism = OutputPerturbation(epsilon=TABLE_EPSILON, ridge=ridge, variant="printed")
    plan = mechanism.plan(data.constants())
    total = data.persons * ridge
    objective = Regularised(data.loss(), total)
    best = minimise(objective, np.zeros(plan.dimension), tolerance=1e-8 * data.persons)
    # noise of its own for every cell, or one unlucky draw would show in all of them
    random = np.random.default_rng([options.seed, RIDGES.index(ridge), data.persons])
    noise = l2_laplace(random, options.draws, plan.dimension, plan.noise_scale)
    return data.relative_error(best.point + noise)


def l2_laplace(random: np.random.Generator, draws: int, dimension: int, scale: float) -> Array:
    """Vectors of density proportional to exp(-|b| / scale): Gamma length, uniform direction."""
    directions = random.standard_normal((draws, dimension))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return np.asarray(directions * random.gamma(dimension, scale, (draws, 1)))


def table_3(options: Options) -> Results:
    """Relative error of the covariate coefficients against Cox regression, in percent."""
    results = Results(options.results / "table-3.csv", ("set", "ours", "paper"), ("set",))
    for name in options.sets:
        if results.has(set=name) or not sets.is_available(name):
            continue
        data = sets.load(name)
        ours, cox = data.optimum.point[3:], cox_coefficients(data)
        error = 100.0 * float(np.linalg.norm(ours - cox) / np.linalg.norm(cox))
        results.append({"set": name, "ours": error, "paper": PAPER_TABLE_3.get(name, "")})
    return results


def cox_coefficients(data: PaperSet) -> Array:
    """Cox fit with Efron's ties by lifelines, a development dependency, on the same covariates."""
    frame = import_module("pandas").DataFrame(data.covariates).add_prefix("x")
    frame["time"], frame["event"] = data.time, data.event
    # a time of 0 has no partial likelihood in the oracle: half of the smallest time instead
    frame["time"] = frame["time"].clip(lower=float(data.time[data.time > 0].min()) / 2)
    # full Newton steps overshoot on FL, whose skewed covariates were scaled by their range
    fitted = (
        import_module("lifelines")
        .CoxPHFitter()
        .fit(frame, "time", "event", fit_options={"step_size": 0.25})
    )
    return np.asarray(fitted.params_, dtype=np.float64)
