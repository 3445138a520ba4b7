"""The paper's own room: what exists only to reproduce Nguyen and Hui, and nothing else needs.

Its sampler, its algorithms as printed, its data sets, tables and figures:
config -> run -> studies/results/paper/*.csv -> tables, figures, page. Importing this package makes the
sampler known as a mechanism. Nothing else in the package imports it but the command line, on demand.
"""

from discreet.paper.exponential import SanitizedExponential
from discreet.paper.sampler import PSGLD

__all__ = ["PSGLD", "SanitizedExponential"]
