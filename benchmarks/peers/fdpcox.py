"""FDPCox (R, GitHub EKHung/FDPCox): noisy gradient steps on Cox's partial likelihood, `cdp_cox`.

The user names a checkout; nothing of it is copied here. As we read its code, the bound on what one record
does to the gradient is computed once, at coefficients of zero, and kept while the coefficients move; so its
(epsilon, delta) is taken as stated, which favours it. It draws in floating point and clips no covariate
to the bound: here they lie within it.
"""

import os
import subprocess
import tempfile
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import ClassVar

import numpy as np
import pandas as pd
from lifelines import CoxPHFitter
from peer import Answer, Peer, Run, Setting, UnavailableError
from people import People

SCRIPT = """
arguments <- commandArgs(trailingOnly = TRUE)
for (file in list.files(file.path(arguments[1], "R"), full.names = TRUE)) source(file)
people <- as.matrix(read.csv(arguments[2], header = FALSE))
runs <- read.csv(arguments[3])
for (i in seq_len(nrow(runs))) {
  run <- runs[i, ]
  set.seed(run$seed)
  steps <- if (run$steps > 0) run$steps else NA
  started <- sum(proc.time()[1:2])
  beta <- cdp_cox(people, run$epsilon, run$delta, niters = steps, C_beta = run$radius * as.numeric(arguments[4]), C_z = 1,
                  stepsize = run$rate, cutoff = 1)
  cat(c(sum(proc.time()[1:2]) - started, beta), sep = " ")
  cat("\\n")
}
"""


class FDPCox(Peer):
    """As shipped, tuned on the data over steps, rate and the radius of the coefficients."""

    name: ClassVar[str] = "fdpcox"
    label: ClassVar[str] = "FDPCox, tuned on the data, as shipped"
    promise: ClassVar[str] = "(epsilon, delta) as stated by it, a row replaced"

    def require(self) -> None:
        """Raise `UnavailableError` without R or a checkout."""
        if not os.environ.get("FDPCOX"):
            raise UnavailableError("name a checkout of GitHub's EKHung/FDPCox by --fdpcox PATH")

    def exact(self, people: People) -> Answer:
        """Return Cox's fit (lifelines, Efron's ties)."""
        names = [f"x{j}" for j in range(people.columns.shape[1])]
        table = pd.DataFrame(people.columns, columns=names)
        table["t"], table["e"] = people.last, people.event
        fitted = CoxPHFitter().fit(table, "t", "e")
        effects, errors = (
            fitted.params_[names].to_numpy(),
            fitted.standard_errors_[names].to_numpy(),
        )
        return Answer(effects, errors)

    def settings(self) -> Sequence[Setting]:
        """Return a grid; steps of 0 are its own rule, 20 log(n / p^2), and 0.5 its own rate."""
        grid = product((0, 5, 20, 60), (0.5, 2.0, 8.0, 32.0, 128.0), (2.0, 5.0))
        return [{"steps": t, "rate": r, "radius": c} for t, r, c in grid]

    def fits(
        self, people: People, epsilon: float, delta: float, runs: Sequence[Run]
    ) -> list[tuple[Answer, float]]:
        """Return a draw of each run: centred columns are divided by the bound of their norm, as C_z = 1 asks."""
        norm = people.largest_norm
        columns = people.centred / norm
        with tempfile.TemporaryDirectory() as folder:
            script, table, order = (
                Path(folder, name) for name in ("run.R", "people.csv", "runs.csv")
            )
            script.write_text(SCRIPT)
            rows = np.column_stack([people.last / people.intervals, people.event, columns])
            np.savetxt(table, rows, delimiter=",", fmt="%.10g")
            terms = {"epsilon": epsilon, "delta": delta}
            pd.DataFrame([{"seed": seed, **terms, **setting} for setting, seed in runs]).to_csv(
                order, index=False
            )
            names = (script, os.environ["FDPCOX"], table, order, norm)
            command = ["Rscript", *map(str, names)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
        lines = [np.array(line.split(), dtype=float) for line in done.stdout.splitlines()]
        return [(Answer(line[1:] / norm), float(line[0])) for line in lines]
