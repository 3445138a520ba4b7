"""Every statistical constant of the estimator with its meaning; docs/estimator.md says what half and double do.

Numbers of rounds, tolerances and sizes that only make linear algebra work are in `numerical`.
"""

# -- what noise may hide -----------------------------------------------------------------------------

HIDDEN = 2.0
"""Standard deviations of noise below which a count, a moment or an eigenvalue may be noise alone."""
CLEAR = 3.0
"""Standard deviations of noise above which it is none."""
STANDING = 3.5
"""Standard deviations of noise above which the largest of many sums of a range's counts is none."""
SURE = 5.0
"""The same of sums that are far from the others: what is farther than these reach has to be as sure."""
NEGLIGIBLE = 0.05
"""A part that is taken for nothing: of the people, of a column's variance, of a direction's information."""
HALF = 0.5
"""The part from which one thing outweighs another: of a bin's width the half nearest to most people, of a
variance, of a standard error."""

# -- who the people are ------------------------------------------------------------------------------

TAIL = 0.125
"""Far from most people a bin is expected to hold this part of the one before it, which is half as wide."""
APART = 0.01
"""The chance that a group apart from all others is there."""
SAME = 0.9
"""The share of people at one bound from which a number is taken for an indicator."""
WIDEST = 3.0
"""Standard deviations from their mean within which a number's values are taken to be: the range of its
effect, the level of the baseline, what departures from the model grow with."""
KAPPA = 50.0
"""Who the people are is known as well as from so many of them: a weight p of the cohort is off by a
relative deviation N(0, 1 / (KAPPA p))."""
MOVED = 1.0
"""Log weights of members move by at most this, as the released sums would have them."""

# -- how they live -----------------------------------------------------------------------------------

RANGE_EFFECT = 4.0
"""Prior standard deviation of a covariate's effect over its whole range, on the link's scale: e^4 = 55
times the odds is one standard deviation."""
CAUCHY = 0.5
"""The scale of an effect's Cauchy density, in prior standard deviations; with it the product of both
densities has no second maximum."""
LEVEL = 3.0
"""Prior standard deviation of log rates: of the level of a baseline, and of censoring."""
SHAPE = 2.0
"""Prior standard deviation of a baseline's other directions, and of the hazard's departure from the model."""
WALK = 0.4
"""Prior standard deviation of what log rates of events and of censoring change by from bin to bin."""
CHANGE = 0.15
"""Prior standard deviation, for one of the covariate, of an effect's change with time, and of an effect on
censoring and its change."""
BEND = 0.1
"""Prior standard deviation of a number's departure from a straight effect, for a squared deviation of it."""
KANTOROVICH = 2.0
"""In lengths of the first step of Newton, how far its root may lie."""

# -- what is asked, added and said ---------------------------------------------------------------------

NEXT_TO_NOTHING = 0.01
"""The part of a variance, the mean over directions, that the bound of a score may cost."""
NOISY = 0.1
"""Noise of a correlation above which nothing is said of repeated columns; the least part in a combination."""
LOOSE = 99.0
"""The prior's variance of the effect of a number of unknown width is larger by so many times: the number
may be a tenth as wide as it looks."""
EVENTS_PER_COEFFICIENT = 10.0
"""Below this many events for each coefficient maximum likelihood itself is a poor guide (Peduzzi 1996)."""
MISFIT = 0.15
"""The share by which expected and released events of a bin may differ."""
HEAVY = 0.4
"""The part of a number's variance from which its tail outweighs the rest."""
