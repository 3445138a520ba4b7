"""Privacy bugs of private Newton, selection and the way to a release, found by reading the proofs.

No family of the audit is named for them: tests notice them.
"""

from discreet import release
from discreet.likelihood import covariate_sums
from discreet.mechanisms import contract, output, selected
from discreet.mechanisms.newton import counts, layout, split
from discreet.mechanisms.newton.run import Run
from discreet.privacy import noise, selection
from tests.mechanisms import checks, leaving_checks, newton_checks, release_checks
from tests.mechanisms.bugs import Bug

MORE_BUGS = [
    Bug(
        "what is not a number shortened to the smallest integer",
        covariate_sums,
        "shorten",
        "if not math.isfinite(vector[k]):",
        "if False:",
        newton_checks.check_moments_of_what_is_not_a_number,
    ),
    Bug(
        "scores of private Newton with the sensitivity of adding or removing a person",
        Run,
        "_release",
        "(2 * LARGEST) ** 2",
        "LARGEST**2",
        newton_checks.check_all_parts_are_paid_for,
    ),
    Bug(
        "sums without delta scaled by the squared sensitivity's share of rho",
        split.Split,
        "scale",
        "laplace_scale(sensitivity, self.total * share)",
        "laplace_scale(sensitivity, 2 * self.total * share)",
        newton_checks.check_pure_parts_are_paid_for,
    ),
    Bug(
        "late entries counted and not paid for",
        Run,
        "_exits",
        "2 if late else 1",
        "1",
        newton_checks.check_late_entries_are_paid_for,
    ),
    Bug(
        "a person counted in one bin, as if there were one covariate",
        Run,
        "_marginals",
        "self.budget.share(MARGINALS), len(marginals)",
        "self.budget.share(MARGINALS), 1",
        newton_checks.check_all_parts_are_paid_for,
    ),
    Bug(
        "the values of all rows of a person counted in full",
        counts,
        "row_weights",
        "return np.asarray(held * stretches.weight // shared)",
        "return np.where(held > 0, stretches.weight, 0)",
        newton_checks.check_changing_values_share_a_weight,
    ),
    Bug(
        "weights in several stretches of time paid for as one",
        counts.Stretches,
        "square",
        "self.number * self.weight**2",
        "self.weight**2",
        newton_checks.check_changing_values_are_paid_for,
    ),
    Bug(
        "second moments of values that change paid for as if they did not",
        Run,
        "_moments",
        "moment_sensitivity(width, changing=self.layout.changing)",
        "moment_sensitivity(width)",
        newton_checks.check_moments_of_changing_values_are_paid_for,
    ),
    Bug(
        "covariates taken for constant where the schema has a person column",
        contract.Facts,
        "of",
        "time_varying=schema.person is not None",
        "time_varying=False",
        release_checks.check_a_person_column_means_that_covariates_change,
    ),
    Bug(
        "finer bins placed where the people's own values are",
        Run,
        "_ranges",
        "return narrowed(marginals, noisy, deviation, self.layout.value_bins)",
        "return narrowed(marginals, counts, deviation, self.layout.value_bins)",
        newton_checks.check_sums_are_asked_with_released_numbers,
    ),
    Bug(
        "shares of the steps and of the first releases above one together",
        split,
        "split",
        "rest = 1 - sum(shares.values(), Fraction(0))",
        "rest = Fraction(1)",
        newton_checks.check_all_parts_are_paid_for,
    ),
    Bug(
        "the information with the sensitivity of adding or removing a person",
        Run,
        "_information",
        "self.budget.release(weighted, share, INFORMATION_SQUARED, self.noise)",
        "self.budget.release(weighted, share, INFORMATION_SQUARED // 2, self.noise)",
        newton_checks.check_information_is_paid_for,
    ),
    Bug(
        "information whose sums can leave the integers",
        layout,
        "_information_fits",
        "largest <= LARGEST_VALUE and ",
        "",
        newton_checks.check_information_stays_within_the_integers,
    ),
    Bug(
        "second moments centred at the people's own mean",
        Run,
        "_moments",
        "width, share = len(centre), self.budget.share(MOMENTS)",
        "width, share = len(centre), self.budget.share(MOMENTS); "
        "centre = self.engine.episodes.covariates.mean(axis=0)",
        newton_checks.check_sums_are_asked_with_released_numbers,
    ),
    Bug(
        "life table released without its noise",
        Run,
        "_exits",
        "return Noisy(noisy, self.budget",
        "return Noisy(counts.astype(float), self.budget",
        newton_checks.check_nothing_but_noisy_sums_is_used,
    ),
    Bug(
        "second moments whose sums can leave the integers",
        layout,
        "_moments_fit",
        "largest <= LARGEST_VALUE and ",
        "",
        newton_checks.check_moments_stay_within_the_integers,
    ),
    Bug(
        "a person's score rounded by the company",
        selected,
        "_by_person",
        "np.asarray(np.bincount(owner, weights=rows, minlength=count))",
        "np.diff(np.concatenate([[0.0], np.cumsum(rows)])[offsets])",
        checks.check_scores_do_not_depend_on_the_company,
    ),
    Bug(
        "a trial's epsilon rounded up",
        selection.RandomStopping,
        "trial_epsilon",
        "math.floor(rest * NANO)",
        "math.ceil(rest * NANO)",
        release_checks.check_a_trial_is_rounded_down,
    ),
    Bug(
        "the number of trials decided before its bits are known",
        selection,
        "_invert",
        "if total.overlaps(target):",
        "if False:",
        release_checks.check_an_undecided_number_of_trials_asks_for_more_bits,
    ),
    Bug(
        "gradient bounded where the minimiser is, not where the solver may go",
        output.Calibration,
        "make",
        "gradient_bound(basis, wider)",
        "gradient_bound(basis, slopes)",
        checks.check_gradient_bound_holds_within_the_reach,
    ),
    Bug(
        "a draw without the permit that its charge gives",
        release,
        "_paid_draw",
        "reservation.authorise_draw()",
        "pass",
        release_checks.check_a_charge_pays_for_one_draw,
    ),
    Bug(
        "the number of persons printed under add-remove",
        release.Order,
        "require_publishable",
        'promise.relation != "replace-one"',
        "False",
        release_checks.check_a_secret_number_of_persons_is_not_released,
    ),
    Bug(
        "noise scales rounded to the nearest float",
        noise,
        "checked_scale",
        "float_above(_rational(scale))",
        "float(_rational(scale))",
        release_checks.check_scales_are_rounded_up,
    ),
    Bug(
        "who leaves early is among the second moments and not paid for",
        Run,
        "_moments",
        "moment_sensitivity(width,",
        "moment_sensitivity(len(self.design.covariates.leads),",
        leaving_checks.check_leaving_is_paid_for,
    ),
    Bug(
        "who leaves early compared with the people themselves",
        Run,
        "_moments",
        "columns = Columns(self.leads, gaps_of(self.design), leaving)",
        "share = float(np.mean(self.engine.episodes.event)); "
        "leaving = leaving and leaving._replace(chances=leaving.chances * share); "
        "columns = Columns(self.leads, gaps_of(self.design), leaving)",
        newton_checks.check_sums_are_asked_with_released_numbers,
    ),
    Bug(
        "how much sooner a person left than the others in the same block",
        counts,
        "leavings",
        "np.repeat(early - asked,",
        "np.repeat(early - asked - np.mean(early - asked),",
        leaving_checks.check_leaving_is_a_persons_own,
    ),
]
