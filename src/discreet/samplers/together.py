"""Several chains at once, a thread each: compiled steps hold no interpreter lock."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from discreet.samplers.psgld import PSGLD, StochasticDensity
from discreet.types import Array
from discreet.watch import watcher


def run_together(
    sampler: PSGLD, densities: Sequence[StochasticDensity], keys: Sequence[int], kept: int = 100
) -> tuple[Array, Array]:
    """States (chains, draws, dimension) and last states (chains, dimension), on all cores.

    A density's context is scratch space, so every chain needs a density of its own. A chain is
    the same whatever runs beside it.
    """
    watch = watcher()
    watch.begin(sampler.epochs * sum(density.terms for density in densities))

    def one(density: StochasticDensity, key: int) -> tuple[Array, Array]:
        chain = sampler.start(density, key)
        parts = []
        for states in chain.epochs(sampler.epochs, kept):
            parts.append(states)
            watch.advance(density.terms)
        return np.concatenate(parts), chain.point

    with ThreadPoolExecutor(max_workers=min(len(keys), os.cpu_count() or 1)) as pool:
        found = list(pool.map(one, densities, keys))
    return np.stack([states for states, _ in found]), np.stack([point for _, point in found])
