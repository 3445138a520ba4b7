"""Samplers: a density in, draws out. They see callables, never data."""

from discreet.samplers.metropolis import Metropolis
from discreet.samplers.psgld import PSGLD, Chain, StochasticDensity, make_run

__all__ = ["PSGLD", "Chain", "Metropolis", "StochasticDensity", "make_run"]
