"""From any table to Episodes: the only place that sees raw values.

Form (columns, types, files) is checked and complained about; values never are.  A fixed rule that
looks at one record at a time repairs them (``repair``), so that no value makes a private fit fail
and no person's record changes what another person contributes.

The names below are imported on first use: `episodes` must not load the readers of tables.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.people.encode import encode_covariates as encode_covariates
    from discreet.people.encode import encode_strata as encode_strata
    from discreet.people.encode import to_episodes as to_episodes
    from discreet.people.infer import infer_schema as infer_schema
    from discreet.people.infer import resolve_bounds as resolve_bounds
    from discreet.people.repairs import Repair as Repair
    from discreet.people.repairs import RepairReport as RepairReport
    from discreet.people.repairs import count_repairs as count_repairs

_HOMES = {
    "Repair": "repairs",
    "RepairReport": "repairs",
    "count_repairs": "repairs",
    "encode_covariates": "encode",
    "encode_strata": "encode",
    "infer_schema": "infer",
    "resolve_bounds": "infer",
    "to_episodes": "encode",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    """Import a name from its home (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
