"""The privacy bugs that tests plant in the shipped code, and the check that must notice each."""

from dataclasses import dataclass

import discreet.design.terms
import discreet.people.encode
from discreet import release
from discreet.core import optimum
from discreet.mechanisms import bounds, contract, objective, output, perturbation, selected, solve
from discreet.privacy import noise


@dataclass(frozen=True)
class Bug:
    """One edit of one function of the shipped code, and what notices it.

    `check` names the audit that does, "mechanism: family" and of sums ": people", or is a check of the
    tests; `why` then says why the audit is not asked.
    """

    title: str
    owner: object
    function: str
    old: str
    new: str
    check: object
    why: str = ""


Tolerance, Draw = solve.Tolerance, contract.Draw
OutputCalibration = output.OutputCalibration
ObjectiveCalibration = objective.ObjectiveCalibration

BUGS = [
    Bug(
        "noise of half the scale",
        perturbation,
        "scale_above",
        "Fraction(sensitivity)",
        "Fraction(sensitivity) / 2",
        "output: witness",
    ),
    Bug(
        "sensitivity of adding or removing a person used for replacing one",
        bounds,
        "direction_bound",
        "survival * count * (across + np.sqrt",
        "survival * count * (0 * across + np.sqrt",
        "output: constants",
    ),
    Bug(
        "the event interval forgotten in the direction bound",
        bounds,
        "direction_bound",
        "values = ordinary + np.maximum(both, one + alone)",
        "values = ordinary",
        "output: constants",
    ),
    Bug(
        "the event interval forgotten in the vertex bound",
        bounds,
        "vertex_bound",
        "max(both.max(), one.max() + alone.max())",
        "0.0",
        "output: constants",
    ),
    Bug(
        "two opposite covariates forgotten: max(r, 2X) became r",
        bounds,
        "vertex_bound",
        "np.maximum(norms, 2.0 * basis.radius)",
        "norms",
        "output: constants",
    ),
    Bug(
        "smallest eigenvalue of the basis instead of the largest",
        bounds.Basis,
        "spread",
        "[-1]",
        "[0]",
        "output: neighbours",
    ),
    Bug(
        "slopes bounded on a ball smaller than the one that confines the minimiser",
        output,
        "confinement_radius",
        "return min(by_loss, by_gradient) * MARGIN",
        "return min(by_loss, by_gradient) / 20",
        "output: witness",
    ),
    Bug(
        "slopes taken at the public centre instead of at the edge of the ball",
        output,
        "slopes_within",
        "reach = radius * basis.record_norms",
        "reach = 0 * basis.record_norms",
        "output: constants",
    ),
    Bug(
        "Jacobian term forgotten",
        bounds,
        "jacobian_bound",
        "return min(bounds)",
        "return 0.0",
        "objective: witness",
    ),
    Bug(
        "norm instead of its square in the Jacobian term, as in the paper",
        bounds,
        "rank_bound",
        "basis.record_norms**2",
        "basis.record_norms",
        "output: neighbours",
    ),
    Bug(
        "Jacobian bound of constant covariates used where they vary",
        bounds,
        "jacobian_bound",
        "if not time_varying:",
        "if True:",
        "output: neighbours",
    ),
    Bug(
        "output noise of objective perturbation not paid for",
        ObjectiveCalibration,
        "make",
        "tilt = budget - output - Fraction(jacobian)",
        "tilt = budget - Fraction(jacobian)",
        "objective: witness",
    ),
    Bug(
        "solver's tolerance forgotten in the noise",
        OutputCalibration,
        "movement",
        "self.gradient_sensitivity + 2.0 * self.tolerance.total",
        "self.gradient_sensitivity",
        "output: witness",
    ),
    Bug(
        "solver's tolerance counted for one of the two neighbours only",
        ObjectiveCalibration,
        "movement",
        "2.0 * self.tolerance.total",
        "self.tolerance.total",
        "objective: constants",
    ),
    Bug(
        "sqrt(d) forgotten in the rounding to the grid",
        perturbation,
        "grid_slack",
        "math.sqrt(dimension) * ",
        "",
        "output: constants",
    ),
    Bug(
        "rounding of the tilt forgotten in the solver's tolerance",
        Tolerance,
        "total",
        "+ self.tilt_error",
        "",
        "objective: constants",
    ),
    Bug(
        "certificate not asked for",
        Tolerance,
        "holds",
        "return distance <= self.reach and certified <= allowed",
        "return True",
        "output: witness",
    ),
    Bug(
        "mean objective minimised with the ridge of the total one",
        perturbation,
        "tolerance_from",
        'plan.number("total_ridge")',
        'plan.number("ridge")',
        "output: witness",
    ),
    Bug(
        "ridge of the plan not used in the objective",
        solve.CentredObjective,
        "__call__",
        "scale * inner.gradient + self.ridge * w + self.tilt",
        "scale * inner.gradient + 0.5 * self.ridge * w + self.tilt",
        "output: witness",
    ),
    Bug(
        "tilt left out of the objective",
        objective.ObjectivePerturbation,
        "perturb",
        "loss, tilt.vector",
        "loss, 0 * tilt.vector",
        "objective: replay",
    ),
    Bug(
        "lattice noise drawn but not added",
        optimum.Optimum,
        "_noisy",
        "int(step) + int(extra)",
        "int(step)",
        "output: replay",
    ),
    Bug(
        "baseline coordinates released without their share of the scale",
        solve.CentredCoordinates,
        "to_integers",
        "[max(self.shift, 0)] * self.baseline",
        "[0] * self.baseline",
        "output: replay",
    ),
    Bug(
        "floats with low bits released",
        Draw,
        "from_integers",
        "cls(np.ldexp(values, grid_exponent), grid_exponent",
        "cls(np.ldexp(values, grid_exponent) + 2.0**-70, -80",
        "output: witness",
    ),
    Bug(
        "same random bits in every fit",
        noise.SystemNoise,
        "uniform_bits",
        "secrets.randbits(count)",
        "(1 << count) // 3",
        "output: law",
    ),
    Bug(
        "seeded noise called private",
        perturbation,
        "published",
        "private=private",
        "private=True",
        "output: replay",
    ),
    Bug(
        "iteration count of the solver among the released numbers",
        output.OutputPerturbation,
        "perturb",
        "return perturbation.published(plan, noisy, private=optimum.private)",
        "made = perturbation.published(plan, noisy, private=optimum.private); return Draw(made.point, "
        "made.grid_exponent, made.private, {'steps': np.array([float(np.abs(find(optimum._loss)).sum())])})",
        "output: replay",
    ),
    Bug(
        "ridge taken from the data",
        perturbation,
        "minimiser",
        "coordinates, tolerance.ridge",
        "coordinates, tolerance.ridge * (1 + loss(np.zeros(plan.dimension)).value)",
        "output: replay",
    ),
    Bug(
        "epsilon not checked",
        contract,
        "require_positive",
        "not is_number(value) or not SMALLEST_SETTING <= value <= LARGEST_SETTING",
        "False",
        "output: refusals",
    ),
    Bug(
        "zero and negative epsilon accepted",
        contract,
        "require_positive",
        "or not SMALLEST_SETTING <= value <= LARGEST_SETTING",
        "",
        "output: refusals",
    ),
    Bug(
        "probit accepted by objective perturbation because its curvature is bounded",
        objective.ObjectivePerturbation,
        "refusal",
        "math.isfinite(facts.link.lipschitz) and ",
        "",
        "objective: refusals",
    ),
    Bug(
        "cloglog accepted by output perturbation",
        output.OutputPerturbation,
        "refusal",
        "math.isfinite(facts.link.curvature)",
        "True",
        "output: refusals",
    ),
    Bug(
        "printed variants publishable",
        release.Order,
        "require_publishable",
        'if promise.status == "unproved":',
        "if False:",
        "output: refusals",
    ),
    Bug(
        "values used before they are clipped",
        discreet.people.encode,
        "_encode_numbers",
        "np.clip(repaired, low, high, out=repaired)",
        "np.clip(repaired, low, high)",
        "output: neighbours",
    ),
    Bug(
        "NaN let through the clip",
        discreet.people.encode,
        "_encode_numbers",
        "np.where(np.isnan(block), covariate.fill, block)",
        "np.array(block, dtype=float)",
        "output: neighbours",
    ),
    Bug(
        "lower bound used twice, upper bound never",
        discreet.people.encode,
        "_encode_numbers",
        "np.clip(repaired, low, high, out=repaired)",
        "np.maximum(repaired, low, out=repaired)",
        "output: neighbours",
    ),
    Bug(
        "number of covariates forgotten in the map to the ball",
        discreet.design.terms._Builder,
        "_leads",
        "self.reduction / (radius * self.root)",
        "self.reduction / radius",
        "output: neighbours",
    ),
    Bug(
        "selection charged as one trial",
        selected.SelectedRidge,
        "_candidates",
        "self._stopping.trial_epsilon",
        "float(self.epsilon)",
        "selected: witness",
    ),
    Bug(
        "score of a person not clipped",
        optimum,
        "block_score",
        "np.clip(np.nan_to_num(people, nan=bound, posinf=bound), 0.0, bound)",
        "people",
        "selected: neighbours",
    ),
]

# The audit's tables have no terms; these are noticed by the tests alone.
TERM_BUGS = [
    Bug(
        "number of blocks counted twice in an interaction",
        discreet.design.terms.Product,
        "fill",
        "* self.root",
        "* self.root**3",
        "output: neighbours",
    ),
    Bug(
        "a spline scaled as if it were one number",
        discreet.design.terms._Builder,
        "_spline",
        "matrix * (self.reduction / self.root)",
        "matrix * (self.reduction * self.root)",
        "output: neighbours",
    ),
]
