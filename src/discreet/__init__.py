"""Discrete-time survival regression whose fitted models can be published.

The public names are imported on first use, so that ``import discreet`` stays cheap.
"""

from importlib import import_module
from typing import Any

# Public name -> the module that defines it. A name equal to its module's own is the module.
_HOMES: dict[str, str] = {}

__version__ = "0.1.0.dev0"
__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    """Import a public name from its home, once (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = import_module(f"{__name__}.{_HOMES[name]}")
    value = home if name == _HOMES[name] else getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
