"""The audit of the sampler: what a person can move its log density by.

The witness and the search concern the density of an exact draw. How closely a chain approaches it
is not measured here (`agreement`), so the status stays ideal-draw-only.
"""

import numpy as np

from discreet.audit import neighbours, witness
from discreet.audit.cases import corner_people, hostile_points, loss_of, make_constants
from discreet.audit.findings import Effort, Finding, Subject, at_most, equal_to
from discreet.paper.exponential import SanitizedExponential, sanitized_records


@witness.witness.register(SanitizedExponential)
def check_witness(mechanism: SanitizedExponential, subject: Subject) -> list[Finding]:
    """2 a (max C_v - min C_v): the energies of two persons on opposite sets of points."""
    facts = make_constants(persons=50)
    plan = mechanism.plan(facts)
    energies = []
    for point in hostile_points(np.random.default_rng(1), facts, 6):
        for person in corner_people(facts)[:8]:
            records = sanitized_records(loss_of([person], facts), plan.number("bound"))
            energies.append(plan.number("energy_scale") * records.total(point)[0])
    spent = 2.0 * (max(energies) - min(energies))
    note = "of an exact draw; a chain stands in for one (ideal-draw-only)"
    return [equal_to(witness.FAMILY, "tight witness", subject.epsilon, spent, note)]


@neighbours.search.register(SanitizedExponential)
def check_neighbours(
    mechanism: SanitizedExponential, subject: Subject, effort: Effort
) -> list[Finding]:
    """2 a C_v of every person at every point."""
    random = np.random.default_rng(2)
    facts = make_constants(persons=2, intervals=9, time_varying=True)
    plan = mechanism.plan(facts)
    bound, scale = plan.number("bound"), plan.number("energy_scale")
    highest, lowest = 0.0, 0.0
    for point in hostile_points(random, facts, min(effort.pairs, 100)):
        for person in neighbours.some_people(random, facts, 6):
            value = sanitized_records(loss_of([person], facts), bound).total(point)[0]
            highest, lowest = max(highest, value), min(lowest, value)
    spent = 2.0 * scale * (highest - lowest)
    note = "twice the energy that a person can have; rounding 1e-12"
    return [at_most(neighbours.FAMILY, "log density", subject.epsilon * (1 + 1e-12), spent, note)]
