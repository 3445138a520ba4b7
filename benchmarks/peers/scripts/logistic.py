"""One private logistic regression by diffprivlib: logistic.py IN.npz OUT.npz."""

import sys
import warnings

import numpy as np
from diffprivlib.models import LogisticRegression

warnings.simplefilter("ignore")
given = np.load(sys.argv[1])
model = LogisticRegression(
    epsilon=float(given["epsilon"]),
    data_norm=float(given["norm"]),
    C=float(given["inverse_penalty"]),
    max_iter=500,
    random_state=int(given["seed"]),
)
model.fit(given["table"], given["outcome"].astype(int))
np.savez(sys.argv[2], weights=model.coef_[0], intercept=model.intercept_[0])
