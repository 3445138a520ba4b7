"""Privacy bugs that were written down from the proof pages before any check was looked at."""

from discreet import release
from discreet.core import cells, information, people, question
from discreet.core import split as core_split
from discreet.core.ask import Ask
from discreet.engine import local, stream
from discreet.mechanisms import bounds, objective
from discreet.paper import kernel
from discreet.privacy import accountant, exact, noise, selection
from discreet.privacy.shared_noise import SharedNoise
from discreet.privacy.shares import NoiseShares
from tests.mechanisms.bugs import Bug

TOLD = "return self.mechanism.draw(plan, Problem(engine, self.design, self.link), noise)"
NOISY = "float(value) for value in noisy"
PARTS = "parts = self._engine.reduce(question.block, *question.arguments)"

UNSEEN_BUGS = [
    Bug(
        "the sensitivity of scores 5 % too small",
        question,
        "scores",
        "arguments, SCORES,",
        "arguments, Sensitivity((19 * LARGEST // 10) ** 2, unit=LARGEST),",
        "newton: witness: several rows, late entry",
    ),
    Bug(
        "second moments of one column more than is paid",
        question,
        "moments",
        "of_moments(width,",
        "of_moments(width - 1,",
        "newton: witness: several rows, late entry",
    ),
    Bug(
        "a covariate's bins forgotten in L1 alone",
        question,
        "of_marginals",
        "return of_counts(covariates, stretches.mass,",
        "return of_counts(covariates, stretches.mass * (covariates - 1) // covariates,",
        "newton, pure: witness: several rows, late entry",
    ),
    Bug(
        "the second column of the matrix of curves taken for the longest",
        question,
        "of_group_counts",
        "first = matrix[:, 0]",
        "first = matrix[:, 1]",
        "curves: witness: several rows, late entry",
    ),
    Bug(
        "the weight of products one too large",
        question,
        "half_weights",
        "OFF_DIAGONAL)",
        "OFF_DIAGONAL + 1)",
        "newton: constants: several rows, late entry",
    ),
    Bug(
        "the weights of a person's rows rounded up",
        cells,
        "row_weights",
        "held * stretches.weight // shared",
        "-(-held * stretches.weight // shared)",
        "newton: neighbours: several rows, late entry",
    ),
    Bug(
        "the information of each row cut for itself",
        information,
        "add_people",
        "square = cut_sum(square, round_factor(columns, r, used, scale, largest), largest)",
        "length, used = write_factor(records, row, r, point, levels, room)\n"
        "                round_factor(columns, r, used, factor_scale(length, limit, largest), largest)",
        "newton: neighbours: several rows, late entry",
    ),
    Bug(
        "every row of a person counted as an entry",
        cells,
        "block_exits",
        "began = (before + 1 + outcomes) * bins + began_in(edges, block.entry[first])",
        "began = np.repeat((before + 1 + outcomes) * bins, last - first + 1)\n"
        "        began = began + began_in(edges, block.entry)",
        "newton: neighbours: several rows, late entry",
    ),
    Bug(
        "people with an event among the censored of a curve too",
        cells,
        "block_group_counts",
        "_counted(group[~happened], censored[~happened], tables[1])",
        "_counted(group, censored, tables[1])",
        "curves: neighbours: several rows, late entry",
    ),
    Bug(
        "a person's walk begins where the previous person's ended",
        people,
        "walk_people",
        "total[k, lane] = 0.0\n        for period",
        "total[k, lane] *= 0.0 if tabled else 1.0\n        for period",
        "newton: questions: several rows, late entry",
    ),
    Bug(
        "a share of the budget spent twice: two answers and their mean",
        Ask,
        "__call__",
        NOISY,
        "(float(a) + float(b)) / 2 for a, b in zip(noisy, "
        "self._noisy(question, sums, self.split.scale(share, question.sensitivity)))",
        "newton: witness: several rows, late entry",
    ),
    Bug(
        "scales of Gaussian noise 1 % too small",
        core_split.Split,
        "scale",
        "Fraction(gaussian_scale(length, self.total * share))",
        "Fraction(gaussian_scale(length, self.total * share)) * Fraction(99, 100)",
        "newton: witness: several rows, late entry",
    ),
    Bug(
        "noise of one step used again in the next",
        Ask,
        "_noisy",
        "return self._noise.discrete_gaussian(weighted, scale)",
        "kept = question.block.__dict__.setdefault('kept', {})\n"
        "    key = (id(self._noise), len(weighted))\n"
        "    if key not in kept:\n"
        "        kept[key] = self._noise.discrete_gaussian(0 * weighted, scale)\n"
        "    return kept[key] + weighted",
        "newton: witness: several rows, late entry",
    ),
    Bug(
        "a source that draws the same noise for the same size",
        noise.SystemNoise,
        "discrete_gaussian",
        "return self._added(make_gaussian(*space, scale=checked_scale(scale)), integers)",
        "kept, size = self.__dict__.setdefault('kept', {}), len(integers)\n"
        "    if size not in kept:\n"
        "        made = make_gaussian(*space, scale=checked_scale(scale))\n"
        "        kept[size] = self._added(made, [0] * size)\n"
        "    return integer_vector([int(a) + b for a, b in zip(kept[size], integers)])",
        "newton: law: several rows, late entry",
    ),
    Bug(
        "rho of twice the delta",
        accountant,
        "promised",
        "rho_for(epsilon, delta)",
        "rho_for(epsilon, 2 * delta)",
        "newton: witness: several rows, late entry",
    ),
    Bug(
        "bins of covariates placed by exact ranges",
        Ask,
        "__call__",
        NOISY,
        "float(value) for value in (sums * question.weights if question.name == 'marginals' "
        "and len(question.arguments[0]) == 2 else noisy)",
        "newton: questions: one row a person",
    ),
    Bug(
        "the limit of information by how many are at risk",
        Ask,
        "__call__",
        PARTS,
        "own = question.arguments\n"
        "    if question.name == 'information':\n"
        "        found = self._engine.reduce(lambda block: (np.array([block.rows]),))[0]\n"
        "        own = (own[0], own[1] * (1 + 1e-9 * float(found[0])), *own[2:])\n"
        "    parts = self._engine.reduce(question.block, *own)",
        "newton: questions: several rows, late entry",
    ),
    Bug(
        "empty cells of curves stay without noise",
        Ask,
        "__call__",
        NOISY,
        "float(value) for value in (noisy * (sums != 0) if question.name == 'group counts' else noisy)",
        "curves: replay: several rows, late entry",
    ),
    Bug(
        "no noise in counts that are zero",
        Ask,
        "__call__",
        NOISY,
        "float(value) for value in (noisy if sums.any() else sums)",
        "newton: replay: several rows, late entry",
    ),
    Bug(
        "the number at risk in the first bin released beside its noise",
        release.Order,
        "draw",
        TOLD,
        "found = self.mechanism.draw(plan, Problem(engine, self.design, self.link), noise)\n"
        "    table = found.extras['life_table'].copy(); table.flat[0] = engine.episodes.rows\n"
        "    return replace(found, extras={**found.extras, 'life_table': table})",
        "newton: questions: several rows, late entry",
    ),
    Bug(
        "a covariance that knows how many are at risk",
        release.Order,
        "draw",
        TOLD,
        "found = self.mechanism.draw(plan, Problem(engine, self.design, self.link), noise)\n"
        "    wider = found.extras['covariance'] * (1 + 1e-12 * engine.episodes.rows)\n"
        "    return replace(found, extras={**found.extras, 'covariance': wider})",
        "newton: questions: several rows, late entry",
    ),
    Bug(
        "a caution where fewer than three events happened",
        release.Order,
        "draw",
        TOLD,
        "found = self.mechanism.draw(plan, Problem(engine, self.design, self.link), noise)\n"
        "    few = engine.episodes.event.sum() < 3\n"
        "    return replace(found, cautions=found.cautions[: len(found.cautions) - int(few)])",
        "newton: questions: several rows, late entry",
    ),
    Bug(
        "sums of curves made to add up to the true sum",
        Ask,
        "__call__",
        NOISY,
        "float(value) for value in ([*noisy[:-1], noisy[-1] + sums.sum() - sum(noisy)] "
        "if question.name == 'group counts' else noisy)",
        "curves: replay: several rows, late entry",
    ),
    Bug(
        "every third block of a stream added twice",
        stream.StreamEngine,
        "reduce",
        "add(total, part) if stamps",
        "(add(total, part) if (len(stamps) + 1) % 3 else add(add(total, part), part)) if stamps",
        "curves: questions: several rows, late entry",
    ),
    Bug(
        "the first of several blocks in memory added twice",
        local.LocalEngine,
        "reduce",
        "return reduce(add, sums)",
        "return reduce(add, [*sums, sums[0]] if len(sums) > 1 else sums)",
        "newton: questions: several rows, late entry",
    ),
    Bug(
        "one site more counted as honest",
        NoiseShares,
        "share",
        "Fraction(1, self.honest)",
        "Fraction(1, self.honest + 1)",
        "newton: witness: three sites",
    ),
    Bug(
        "a site draws noise only for cells with people",
        SharedNoise,
        "discrete_gaussian",
        "value + int(step)",
        "value + int(step) * (value != 0)",
        "curves: witness: three sites",
    ),
    Bug(
        "half of the angles in the direction bound",
        bounds,
        "direction_bound",
        "values.max()",
        "values[len(values) // 2 :].max()",
        "output: constants",
    ),
    Bug(
        "one coordinate of the objective without a tilt",
        objective.ObjectivePerturbation,
        "perturb",
        "tilt.vector,",
        "tilt.vector * ([0.0] + [1.0] * (len(tilt.vector) - 1)),",
        "objective: replay",
    ),
    Bug(
        "the score of a trial noised with the trial's epsilon",
        selection.RandomStopping,
        "select",
        "laplace_scale(sensitivity, self.score_epsilon)",
        "laplace_scale(sensitivity, self.trial_epsilon)",
        "selected: witness",
    ),
    Bug(
        "every row of a person sanitized for itself",
        kernel,
        "sanitized_sums",
        "        decay = math.exp(-2.0 * loss / people.bound)\n",
        "            value += people.bound * math.tanh(loss / people.bound)\n"
        "            loss = 0.0\n"
        "        decay = math.exp(-2.0 * loss / people.bound)\n",
        "sampler: neighbours",
    ),
    Bug(
        "a radius of one uniform number too few",
        exact.RealLaplace,
        "__init__",
        "for _ in range(dimension)]",
        "for _ in range(max(1, dimension - 1))]",
        "output: law",
    ),
    Bug(
        "the length of probit scores halved",
        question,
        "scores",
        "arguments, SCORES,",
        "arguments, SCORES if causes[0].link.name != 'probit' else "
        "Sensitivity(LARGEST**2, unit=LARGEST),",
        "newton: witness: terms",
    ),
    Bug(
        "with terms one covariate's bins are not paid",
        question,
        "marginals",
        "of_marginals(len(covariates),",
        "of_marginals(len(covariates) - (leads is not None),",
        "newton: witness: terms",
    ),
    Bug(
        "a file that promises less than was spent",
        release.AbstractOrder,
        "released_facts",
        '"guarantee": plan.guarantee,',
        '"guarantee": (half := replace(plan.guarantee, epsilon=plan.guarantee.epsilon / 2)),',
        "newton: witness: several rows, late entry",
    ),
]
