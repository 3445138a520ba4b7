"""Samplers: a density in, draws out. They see callables, never data."""

from discreet.samplers.metropolis import Metropolis
from discreet.samplers.psgld import PSGLD, Chain, StochasticDensity, make_run
from discreet.samplers.together import run_together

__all__ = ["PSGLD", "Chain", "Metropolis", "StochasticDensity", "make_run", "run_together"]
