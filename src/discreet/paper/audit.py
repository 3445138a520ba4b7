"""The audit of the sampler: what a person can move its log density by.

The witness and the search concern the density of an exact draw. How closely a chain approaches it
is not measured here (`agreement`), so the status stays ideal-draw-only. It is here and not beside
the other audits because only the command line opens the paper's room.
"""

import numpy as np

from discreet.audit.cases import corner_people, hostile_points, loss_of, make_constants
from discreet.audit.findings import Finding, at_most, equal_to, not_applicable
from discreet.audit.measured import Measured
from discreet.audit.output import some_people
from discreet.audit.run import AUDITS
from discreet.paper.exponential import sanitized_records


class SamplerAudit(Measured):
    """The audit of the sanitized exponential mechanism: docs/proofs/sanitized-exponential.md."""

    def witness(self) -> list[Finding]:
        """2 a (max C_v - min C_v): the energies of two persons on opposite sets of points."""
        facts = make_constants(persons=50)
        plan = self.subject.mechanism().plan(facts)
        energies = []
        for point in hostile_points(np.random.default_rng(1), facts, 6):
            for person in corner_people(facts)[:8]:
                records = sanitized_records(loss_of([person], facts), plan.number("bound"))
                energies.append(plan.number("energy_scale") * records.total(point)[0])
        spent = 2.0 * (max(energies) - min(energies))
        note = "of an exact draw; a chain stands in for one (ideal-draw-only)"
        return [equal_to("tight witness", self.subject.epsilon, spent, note)]

    def neighbours(self) -> list[Finding]:
        """2 a C_v of every person at every point, also of persons with several rows."""
        random = np.random.default_rng(2)
        facts = make_constants(persons=2, intervals=9, time_varying=True)
        plan = self.subject.mechanism().plan(facts)
        bound, scale = plan.number("bound"), plan.number("energy_scale")
        highest, lowest = 0.0, 0.0
        for point in hostile_points(random, facts, min(self.effort.pairs, 100)):
            for person in some_people(random, facts, 6):
                value = sanitized_records(loss_of([person], facts), bound).total(point)[0]
                highest, lowest = max(highest, value), min(lowest, value)
        spent, claimed = 2.0 * scale * (highest - lowest), self.subject.epsilon * (1 + 1e-12)
        note = "twice the energy that a person can have; rounding 1e-12"
        return [self.records(), at_most("log density", claimed, spent, note)]

    def law(self) -> list[Finding]:
        """Fresh in every fit; a chain only approaches its law."""
        reason = "its randomness is a Markov chain's, which approaches its law (ideal-draw-only)"
        return [not_applicable("law of the noise", reason), self.fresh()]


AUDITS["sampler"] = SamplerAudit
