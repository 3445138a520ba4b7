"""From any table to Episodes: the only place that sees raw values.

Form (columns, types, files) is checked and complained about; values never are.  A fixed rule that
looks at one record at a time repairs them (``repair``), so that no value makes a private fit fail
and no person's record changes what another person contributes.
"""

from discreet.people.convert import encode_covariates, to_episodes
from discreet.people.counts import Repair, RepairReport, count_repairs
from discreet.people.infer import infer_schema, resolve_bounds

__all__ = [
    "Repair",
    "RepairReport",
    "count_repairs",
    "encode_covariates",
    "infer_schema",
    "resolve_bounds",
    "to_episodes",
]
