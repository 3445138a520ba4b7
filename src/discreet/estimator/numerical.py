"""Numbers without a statistical meaning: rounds, tolerances and sizes; others would give the same estimates."""

# -- cohort and time ---------------------------------------------------------------------------------

MEMBERS, SHARING, MOST = 512, 8, 4096
"""Members where up to SHARING strata share them; more strata have more members, up to MOST."""
FEW = 8
"""Of every level at least about so many members are drawn."""
PUBLIC_SEED, ENTRY_SEED = 20_260, 7
"""The cohort is post-processing: its random numbers protect no one and may be known."""
RAKING_ROUNDS, UTILITY_ROUNDS, CUT_ROUNDS, TILT_ROUNDS = 5, 40, 4, 30
PIECES = 12
"""Pieces of time at most, where there are not more bins: intervals of one piece have one hazard."""
CELLS = 12
"""Neighbouring bins of a number are compared together: a bin without a member would look like a misfit."""
PART = 128
"""Members of a part of the cohort at most: their values at all ways to leave stay in a processor's cache."""
NARROWEST = 1e-6
"""Of a standard deviation of a column, so that it can be divided by."""

# -- lives and scores --------------------------------------------------------------------------------

LARGEST_LOSS = 30.0
"""Predictors are cut where no event has the probability e^-30, and at minus as much: beyond, hazards
differ from 1 and 0 by less than rounding, while slopes (of cloglog) would still grow without limit."""
FASTEST = 3.0
"""Log rates of censoring are cut here: all leave within the interval."""
INFINITE = 1e100
"""Bounds from here on are none."""

# -- the picture and the root ------------------------------------------------------------------------

ROUNDS, STILL = 6, 0.03
"""Rounds of Gauss-Newton of the picture at most; they end where predictors change by less than this."""
HALVINGS, RISE = 5, 0.1
"""A step is halved so often, until the misfit rises by less than RISE."""
LONGEST = 1.5
"""The predictors of the picture and of the estimate change by at most this in one round."""
RANK = 1e-6
"""Directions of scores whose deviation is below this part of the largest have no correlation of their own."""
JITTER = 1e-10
"""Added to V in parts of its diagonal: no cohort fits sums without noise any better, and V can be solved."""
ROOT_ROUNDS, SETTLED = 20, 0.01
"""Rounds of the root at most; they end where f moves by fewer standard errors than this."""
OVERSHOT = 0.5
"""A step is cut where U_hat along it turns to the other sign and keeps more than this part of its size."""
DAMPED = 0.2
"""The least part of the curvature that a step of BFGS is taken to find, of what was expected (Powell)."""

# -- what is asked and published ---------------------------------------------------------------------

FEWER = 4
"""A bound is chosen on every fourth part of the cohort: the beginning of a Sobol sequence is one too."""
AT_ONCE = 80
"""Rows of the scores of several bounds whose expectations are worked out together: one call is mostly overhead."""
HOPELESS = 0.5
"""Larger bounds are not tried once the logarithm of the variance is by so much above the least."""
LARGEST_CHANGE = 3.0
"""An effect's change with time is reported as at most so much, for a standard deviation of the column."""
