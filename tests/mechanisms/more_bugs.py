"""Privacy bugs of private Newton, selection and the way to a release, found by reading the proofs.

Each names the audit that notices it, or says why the audit is not asked.
"""

from discreet import release
from discreet.core import cells, covariate_sums, optimum, question, walk
from discreet.core import split as core_split
from discreet.core.ask import Ask
from discreet.core.bins import Stretches
from discreet.mechanisms import contract, output
from discreet.mechanisms.newton import layout
from discreet.mechanisms.newton.sequence import Sequence
from discreet.privacy import noise, selection
from tests.mechanisms import newton_checks, release_checks
from tests.mechanisms.bugs import Bug

MORE_BUGS = [
    Bug(
        "slopes rounded differently beside a person with extreme values",
        walk,
        "write_slopes",
        "inside = abs(eta) < LARGEST_PREDICTOR and abs(c) < SAFE_POSITION",
        "inside = False",
        newton_checks.check_slopes_do_not_depend_on_the_company,
        "of compiled code that no crowd of the audit brings to a last bit",
    ),
    Bug(
        "NaN shortened to the smallest integer",
        covariate_sums,
        "shorten",
        "if not math.isfinite(vector[k]):",
        "if False:",
        newton_checks.check_moments_of_what_is_not_a_number,
        "of compiled code that a record read from a table does not reach",
    ),
    Bug(
        "scores of private Newton with the sensitivity of adding or removing a person",
        question,
        "scores",
        "arguments, SCORES,",
        "arguments, Sensitivity(LARGEST**2, unit=LARGEST),",
        "newton: witness: several rows, late entry",
    ),
    Bug(
        "sums without delta scaled by the squared sensitivity's share of rho",
        core_split.Split,
        "scale",
        "laplace_scale(length, self.total * share)",
        "laplace_scale(length, 2 * self.total * share)",
        "newton, pure: witness: several rows, late entry",
    ),
    Bug(
        "counts noised in 16ths of a person as if they were whole persons",
        question,
        "of_counts",
        "FINE**2 * ",
        "",
        "newton: witness: several rows, late entry",
    ),
    Bug(
        "late entries counted and not paid for",
        question,
        "of_exits",
        "2 if late else 1",
        "1",
        "newton: witness: several rows, late entry",
    ),
    Bug(
        "a person counted in one bin, as if there were one covariate",
        question,
        "marginals",
        "of_marginals(len(covariates),",
        "of_marginals(1,",
        "newton: witness: several rows, late entry",
    ),
    Bug(
        "the values of all rows of a person counted in full",
        cells,
        "row_weights",
        "return np.asarray(held * stretches.weight // shared)",
        "return np.where(held > 0, stretches.weight, 0)",
        "newton: neighbours: several rows, late entry",
    ),
    Bug(
        "weights in several stretches of time paid for as one",
        Stretches,
        "square",
        "self.number * self.weight**2",
        "self.weight**2",
        "newton: witness: several rows, late entry",
    ),
    Bug(
        "second moments of values that change paid for as if they did not",
        question,
        "moments",
        "of_moments(width, stretches.weight)",
        "of_moments(width, 1)",
        "newton: witness: several rows, late entry",
    ),
    Bug(
        "covariates taken for constant where the schema has a person column",
        contract.Facts,
        "time_varying",
        "return self.design.schema.person is not None",
        "return False",
        "newton: constants: several rows, late entry",
    ),
    Bug(
        "finer bins placed where the people's own values are",
        Sequence,
        "_ranges",
        "found = self.ask(asked, self.layout.budget.share(RANGES))",
        "found = self.ask(asked, self.layout.budget.share(RANGES)); own = self.ask._engine.reduce("
        "asked.block, *asked.arguments)[0]; found = Released(own, found.deviation)",
        "newton: questions: several rows, late entry",
    ),
    Bug(
        "shares of the steps and of the first releases above one together",
        layout,
        "split",
        "rest = 1 - sum(shares.values(), Fraction(0))",
        "rest = Fraction(1)",
        "newton: witness: several rows, late entry",
    ),
    Bug(
        "a budget that is split into more than itself",
        core_split.Split,
        "__post_init__",
        "self.spent > 1",
        "False",
        "newton: constants: several rows, late entry",
    ),
    Bug(
        "questions answered beyond the budget",
        Ask,
        "__call__",
        "0 < share <= self._left",
        "0 < share",
        "newton: constants: several rows, late entry",
    ),
    Bug(
        "a refused share below zero that adds to the budget",
        Ask,
        "__call__",
        "if type(share) is not Fraction or not 0 < share <= self._left",
        "self._left -= share\n    if share <= 0 or self._left < 0",
        "newton: constants: several rows, late entry",
    ),
    Bug(
        "the information with the sensitivity of adding or removing a person",
        question,
        "information",
        "arguments, INFORMATION,",
        "arguments, Sensitivity(INFORMATION.squared // 2, least=128, unit=2**26),",
        "newton: witness: several rows, late entry",
    ),
    Bug(
        "information whose sums can leave the integers",
        layout,
        "_information_fits",
        "question.INFORMATION.keeps(persons) and ",
        "",
        "newton: constants: several rows, late entry",
    ),
    Bug(
        "second moments centred at the people's own mean",
        Sequence,
        "_moments",
        "weight = self.layout.moment_weight(self.design.intervals)",
        "weight = self.layout.moment_weight(self.design.intervals); "
        "own = self.ask._engine.episodes.covariates.mean(axis=0); "
        "centre = np.concatenate([own, centre[len(own) :]])",
        "newton: questions: several rows, late entry",
    ),
    Bug(
        "life table released without its noise",
        Ask,
        "__call__",
        "float(value) for value in noisy",
        "float(value) for value in sums",
        "newton: questions: several rows, late entry",
    ),
    Bug(
        "second moments whose sums can leave the integers",
        layout,
        "_moments_fit",
        "sensitivity.keeps(persons) and ",
        "",
        "newton: constants: several rows, late entry",
    ),
    Bug(
        "a person's score rounded by the company",
        optimum,
        "_by_person",
        "np.asarray(np.bincount(owner, weights=rows, minlength=count))",
        "np.diff(np.concatenate([[0.0], np.cumsum(rows)])[offsets])",
        release_checks.check_scores_do_not_depend_on_the_company,
        "of the last bit of a running total, which a score in steps of 2^-10 seldom shows",
    ),
    Bug(
        "a trial's epsilon rounded up",
        selection.RandomStopping,
        "trial_epsilon",
        "math.floor(rest * NANO)",
        "math.ceil(rest * NANO)",
        release_checks.check_a_trial_is_rounded_down,
        "less than the witness of selection can tell from its rounding",
    ),
    Bug(
        "the number of trials decided before its bits are known",
        selection,
        "_invert",
        "if total.overlaps(target):",
        "if False:",
        release_checks.check_an_undecided_number_of_trials_asks_for_more_bits,
        "of the random number of trials, whose law has a test of its own",
    ),
    Bug(
        "gradient bounded where the minimiser is, not where the solver may go",
        output.OutputCalibration,
        "make",
        "gradient_bound(basis, wider)",
        "gradient_bound(basis, slopes)",
        "output: constants",
    ),
    Bug(
        "a draw without the permit that its charge gives",
        release,
        "publish",
        "reservation.authorise_draw()",
        "pass",
        release_checks.check_a_charge_pays_for_one_draw,
        "of the ledger: the audit charges none",
    ),
    Bug(
        "the number of persons printed under add-remove",
        release.Order,
        "require_publishable",
        'promise.relation != "replace-one"',
        "False",
        release_checks.check_a_secret_number_of_persons_is_not_released,
        "of the release path: no mechanism that is audited has this relation",
    ),
    Bug(
        "noise scales rounded to the nearest float",
        noise,
        "checked_scale",
        "float_above(_rational(scale))",
        "float(_rational(scale))",
        "newton, pure: witness: several rows, late entry",
    ),
]
