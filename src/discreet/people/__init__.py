"""From any table to Episodes: the only place that sees raw values.

Form (columns, types, files) is checked and complained about; values never are.  A fixed rule that
looks at one record at a time repairs them (``repair``), so that no value makes a private fit fail
and no person's record changes what another person contributes.

The names below are imported on first use: `episodes` must not load the readers of tables.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.people.convert import encode_covariates as encode_covariates
    from discreet.people.convert import encode_strata as encode_strata
    from discreet.people.convert import to_episodes as to_episodes
    from discreet.people.counts import Repair as Repair
    from discreet.people.counts import RepairReport as RepairReport
    from discreet.people.counts import count_repairs as count_repairs
    from discreet.people.infer import infer_schema as infer_schema
    from discreet.people.infer import resolve_bounds as resolve_bounds

_HOMES = {
    "Repair": "counts",
    "RepairReport": "counts",
    "count_repairs": "counts",
    "encode_covariates": "convert",
    "encode_strata": "convert",
    "infer_schema": "infer",
    "resolve_bounds": "infer",
    "to_episodes": "convert",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    """Import a name from its home (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
