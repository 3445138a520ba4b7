"""The parts of the private Newton mechanism: counts, a synthetic cohort, bounds and steps."""
