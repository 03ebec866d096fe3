"""Logistic regression as scikit-learn 1.2.1, of the paper's time, solved it.

Its lbfgs minimised the sum of the rows' losses plus w'w / 2 from w = 0, and stopped at a gradient of 1e-4 or a
relative improvement of 2.2e-9 (SciPy's default). Since version 1.4 it minimises the mean, whose gradient is n times
smaller and so meets the same 1e-4 much earlier.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

Floats = NDArray[np.float64]


def fit_by_sum(x: Floats, y: NDArray[np.int64], max_iter: int = 10000) -> Floats:
    """Weights, then the intercept."""
    sign = 2.0 * y - 1.0

    def loss(w: Floats) -> tuple[float, Floats]:
        margin = sign * (x @ w[:-1] + w[-1])
        pull = -sign * expit(-margin)
        value = np.logaddexp(0, -margin).sum() + w[:-1] @ w[:-1] / 2
        return float(value), np.append(x.T @ pull + w[:-1], pull.sum())

    start = np.zeros(x.shape[1] + 1)
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": max_iter, "gtol": 1e-4})
    return np.asarray(found.x)


def predict(x: Floats, w: Floats) -> Floats:
    """P(Y = 1) of each row."""
    return np.asarray(expit(x @ w[:-1] + w[-1]))
