"""Privacy bugs that were written down from the proof pages a second time, for the audit of 0.3.0."""

from discreet import release
from discreet.core import cells, people, question, scores
from discreet.core import split as core_split
from discreet.core.ask import Ask
from discreet.mechanisms.newton.sequence import Sequence
from discreet.people import encode, identity
from discreet.privacy import noise, selection
from tests.mechanisms.bugs import Bug

DRAWN = "return order.draw(plan, engine, noise)"
DRAWN_ALONE = (
    "release = order.compose(plan, draw_from(order, plan, source.open, SystemNoise()), head)"
)

LATER_BUGS = [
    Bug(
        "scores of several causes 4 % too small",
        question,
        "scores",
        "arguments, SCORES,",
        "arguments, SCORES if len(causes) == 1 else "
        "Sensitivity((48 * LARGEST // 25) ** 2, unit=LARGEST),",
        "newton: witness: causes",
    ),
    Bug(
        "information of several causes 3 % too small",
        question,
        "information",
        "arguments, INFORMATION,",
        "arguments, INFORMATION if len(causes) == 1 else "
        "Sensitivity(94 * INFORMATION.squared // 100, least=128, unit=2**26),",
        "newton: witness: causes",
    ),
    Bug(
        "entries not paid for where there are strata",
        question,
        "exits",
        "of_exits(late=late)",
        "of_exits(late=late and strata == 1)",
        "newton: witness: strata",
    ),
    Bug(
        "entries of curves not paid for where there are causes",
        question,
        "group_sensitivity",
        "1 if groups.schema.time.entry is None else 2",
        "1 if groups.schema.time.entry is None or groups.schema.time.causes else 2",
        "curves: witness: causes",
    ),
    Bug(
        "an exit by the second cause of a curve counted as one by the first too",
        cells,
        "block_group_counts",
        "_counted(event[happened], stretch[happened], tables[0])",
        "_counted(event[happened], stretch[happened], tables[0]) "
        "+ _counted(group[kind > 1], stretch[kind > 1], tables[0])",
        "curves: neighbours: causes",
    ),
    Bug(
        "a norm for each period where effects change and causes compete",
        people,
        "walk_people",
        "limits, number = (period[0], period[1], intervals), ZERO",
        "limits, number = (period[0], period[1], intervals), ZERO\n"
        "            if causes > 1:\n"
        "                add_quantised(total, cut, point.bound, largest, whole, result)\n"
        "                total[:] = 0.0",
        "newton: neighbours: causes",
    ),
    Bug(
        "a norm for each period where effects change and there are strata",
        scores,
        "block_scores",
        "result += score_sums(_records(part, own), own.point, table, LARGEST)",
        "cuts = range(len(own.point.periods) if len(scores.strata) > 1 else 1)\n"
        "        for k in cuts:\n"
        "            lot = own.point.periods[k : k + 1] if len(cuts) > 1 else own.point.periods\n"
        "            result += score_sums(_records(part, own), own.point._replace(periods=lot), "
        "table, LARGEST)",
        "newton: neighbours: strata",
    ),
    Bug(
        "counts of an effect's second period in full",
        cells,
        "row_weights",
        "return np.asarray(held * stretches.weight // shared)",
        "late = (block.entry >= 4) & (block.entry < 8) & (stretches.number == 4)\n"
        "    return np.where(late & (held > 0), stretches.weight, held * stretches.weight // shared)",
        "newton: neighbours: effects that change",
    ),
    Bug(
        "calibration by the people themselves beside the noisy numbers",
        release,
        "draw_from",
        DRAWN,
        "found = order.draw(plan, engine, noise)\n"
        "        share = np.array([engine.episodes.event.mean()])\n"
        "        return replace(found, extras={**found.extras, 'calibration': share})",
        "newton: questions: one row a person",
    ),
    Bug(
        "the repairs of the people counted in the file",
        release,
        "_draw_alone",
        DRAWN_ALONE,
        f"{DRAWN_ALONE}\n"
        "    read = {'read': source.open(order.schema).episodes.rows}\n"
        "    release = release.model_copy(update={'details': {**release.details, **read}})",
        "newton: replay: one row a person",
    ),
    Bug(
        "noise that follows from the name of the release",
        release,
        "_draw_alone",
        "source.open, SystemNoise())",
        "source.open, type('Named', (SystemNoise,), {'uniform_bits': lambda _, count, "
        "bits=__import__('random').Random(order.release_id): bits.getrandbits(count)})())",
        "output: law",
    ),
    Bug(
        "twice the share for the first counts",
        Ask,
        "__call__",
        "self.split.scale(share, question.sensitivity)",
        "self.split.scale(share * (1 + (question.name == 'exits')), question.sensitivity)",
        "newton: witness: one row a person",
    ),
    Bug(
        "bins that end at the largest value of the block",
        cells,
        "block_marginals",
        "columns, held = places[list(item.columns)], weights[:, part]",
        "columns, held = places[list(item.columns)], weights[:, part]\n"
        "            if item.numeric and len(values):\n"
        "                top = max(1e-9, float(abs(values[:, columns[0]]).max()))\n"
        "                item = Marginal(item.columns, item.bins, tuple(top * e for e in item.edges))",
        "newton: questions: one row a person",
    ),
    Bug(
        "information cut to a trace that hangs on the first question's exact sum",
        Sequence,
        "_information",
        "put = question.information(causes, limit, persons)",
        "limit *= 1 + 1e-6 * float(sum(part.sum() for part in self.ask._engine.reduce("
        "lambda block: (block.exit - block.entry,))) > 5)\n"
        "    put = question.information(causes, limit, persons)",
        "newton: questions: one row a person",
    ),
    Bug(
        "every request draws the same first noise",
        noise.SystemNoise,
        "_added",
        "return integer_vector([int(value) for value in noisy])",
        "drawn = [int(b) - a for a, b in zip(integers, noisy)]\n"
        "    kept = self.__dict__.setdefault('kept', {}).setdefault(str(measurement.map(1)), drawn[:4])\n"
        "    drawn[: len(kept)] = kept[: len(drawn)]\n"
        "    return integer_vector([a + b for a, b in zip(integers, drawn)])",
        "newton: law: one row a person",
    ),
    Bug(
        "one number of noise for two coordinates",
        noise.SystemNoise,
        "_added",
        "return integer_vector([int(value) for value in noisy])",
        "drawn = [int(b) - a for a, b in zip(integers, noisy)]\n"
        "    drawn[1::2] = drawn[0 : len(drawn) - 1 : 2][: len(drawn[1::2])]\n"
        "    return integer_vector([a + b for a, b in zip(integers, drawn)])",
        "newton: law: one row a person",
    ),
    Bug(
        "long scales rounded down to integers",
        core_split.Split,
        "scale",
        "Fraction(gaussian_scale(length, self.total * share))",
        "Fraction(int(gaussian_scale(length, self.total * share)))",
        "newton: witness: one row a person",
    ),
    Bug(
        "rows at the end of a chunk counted in the next one too",
        cells,
        "_parts",
        "slice(start, start + CHUNK)",
        "slice(start, start + CHUNK + 1)",
        "newton: questions: several rows, late entry",
    ),
    Bug(
        "sums of scores that leave 32 bits",
        people,
        "score_sums",
        "return result",
        "return result.astype(np.int32).astype(np.int64)",
        "newton: questions: one row a person",
    ),
    Bug(
        "missing numbers filled with the mean of the others",
        encode,
        "_encode_numbers",
        "np.where(np.isnan(block), covariate.fill, block)",
        "np.where(np.isnan(block), np.nanmean(np.clip(_as_floats(values), low, high)), block)",
        "output: neighbours",
    ),
    Bug(
        "rows of one person that are not adjacent taken for two people",
        identity,
        "_encode_texts",
        "if compute.any(compute.less(after, before)).as_py():",
        "if False:",
        "newton: questions: several rows, late entry",
    ),
    Bug(
        "a question whose sums could be beyond 2^62 is answered",
        Ask,
        "__call__",
        "not question.sensitivity.keeps(self.persons)",
        "False",
        "newton: constants: one row a person",
    ),
    Bug(
        "the scores of all trials under one number of noise",
        selection.RandomStopping,
        "select",
        "    def trial() -> tuple[int, Released]:\n"
        "        model = release(candidates[uniform_below(len(candidates), noise.uniform_bits)])\n"
        "        return int(noise.l1_laplace([score(model)], scale)[0]), model",
        "    once = int(noise.l1_laplace([0], scale)[0])\n\n"
        "    def trial() -> tuple[int, Released]:\n"
        "        model = release(candidates[uniform_below(len(candidates), noise.uniform_bits)])\n"
        "        return score(model) + once, model",
        "selected: replay",
    ),
    Bug(
        "the number of trials among the released numbers",
        selection.RandomStopping,
        "select",
        "return max((trial() for _ in range(trials)), key=itemgetter(0))[1]",
        "best = max((trial() for _ in range(trials)), key=itemgetter(0))[1]\n"
        "    tried = __import__('numpy').array([float(trials)])\n"
        "    return __import__('dataclasses').replace(best, extras={'tried': tried})",
        "selected: replay",
    ),
]
