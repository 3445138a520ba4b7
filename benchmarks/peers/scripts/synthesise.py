"""Synthetic people by dpmm: synthesise.py IN.npz OUT.npz; every column is an integer below its size."""

import sys
import warnings

import numpy as np
import pandas as pd
from dpmm.models.aim import AIMGM
from dpmm.models.mst import MSTGM

warnings.simplefilter("ignore")
given = np.load(sys.argv[1])
names = [f"c{j}" for j in range(given["table"].shape[1])]
table = pd.DataFrame(given["table"].astype(int), columns=names)
domain = dict(zip(names, map(int, given["sizes"]), strict=True))
kind = {"aim": AIMGM, "mst": MSTGM}[str(given["model"])]
model = kind(
    epsilon=float(given["epsilon"]), delta=float(given["delta"]), n_iters=int(given["iterations"])
)
model.set_domain(domain)
model.set_random_state(np.random.RandomState(int(given["seed"])))
model.fit(table)
made = model.generate(len(table))
np.savez(sys.argv[2], table=made[names].astype(int).to_numpy())
