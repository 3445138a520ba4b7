"""Private logistic regressions by diffprivlib: logistic.py IN.npz OUT.npz."""

import sys
import time
import warnings

import numpy as np
from diffprivlib.models import LogisticRegression

warnings.simplefilter("ignore")
given = np.load(sys.argv[1])
found = {"weights": [], "intercepts": [], "seconds": []}
for inverse_penalty, seed in zip(given["inverse_penalties"], given["seeds"], strict=True):
    started = time.process_time()
    model = LogisticRegression(
        epsilon=float(given["epsilon"]),
        data_norm=float(given["norm"]),
        C=float(inverse_penalty),
        max_iter=500,
        random_state=int(seed),
    )
    model.fit(given["table"], given["outcome"].astype(int))
    found["weights"].append(model.coef_[0])
    found["intercepts"].append(model.intercept_[0])
    found["seconds"].append(time.process_time() - started)
np.savez(sys.argv[2], **found)
