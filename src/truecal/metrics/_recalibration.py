"""Logistic recalibration: what the labels say about the probabilities, in two numbers.

P(Y = 1) = sigmoid(intercept + slope x log-odds of the score), Cox (1958). Intercept 0 and slope 1 are right; a slope
below 1 means over-confident, an intercept below 0 (at slope 1) too high.
"""

from __future__ import annotations

import numpy as np

from truecal.observations import Floats, Ints, Tally

CLIP = 1e-12


def log_odds(score: Floats) -> Floats:
    """Log-odds, with scores of 0 and 1 moved in by 1e-12."""
    p = np.clip(score, CLIP, 1 - CLIP)
    return np.log(p) - np.log1p(-p)


def fit_logistic(
    columns: Floats,
    n: Ints,
    pos: Ints,
    start: Floats,
    *,
    free: tuple[bool, ...] | None = None,
    ridge: float = 0.0,
) -> Floats:
    """Coefficients of weighted maximum likelihood, by Newton's method with step halving.

    `free` says which coefficients may leave `start`; `ridge` draws them towards it, which keeps them finite where
    labels are separable.
    """
    beta = start.astype(np.float64)
    chosen = np.ones(len(beta), bool) if free is None else np.array(free)

    def loss(candidate: Floats) -> float:
        eta = columns @ candidate
        return float(np.sum(n * np.logaddexp(0, eta) - pos * eta) + ridge / 2 * np.sum((candidate - start) ** 2))

    current = loss(beta)
    for _ in range(100):
        p = 1 / (1 + np.exp(-np.clip(columns @ beta, -700, 700)))
        gradient = columns.T @ (pos - n * p) - ridge * (beta - start)
        hessian = (columns * (n * p * (1 - p))[:, None]).T @ columns + ridge * np.eye(len(beta))
        step = np.zeros_like(beta)
        # the smallest step of least squares where the labels leave a direction open
        step[chosen] = np.linalg.lstsq(hessian[np.ix_(chosen, chosen)], gradient[chosen], rcond=None)[0]
        size = 1.0
        while loss(beta + size * step) > current + 1e-12 * abs(current) and size > 1e-6:
            size /= 2
        beta = beta + size * step
        before, current = current, loss(beta)
        if before - current <= 1e-10 * (1 + abs(current)) and np.abs(step).max() < 1e-6:
            break
    return beta


def recalibrated(tally: Tally) -> Floats:
    """The probability of each score after logistic recalibration, drawn a little towards the score itself."""
    x = log_odds(tally.score)
    columns = np.stack([np.ones_like(x), x], axis=1)
    beta = fit_logistic(columns, tally.n, tally.pos, np.array([0.0, 1.0]), ridge=0.01)
    return np.asarray(1 / (1 + np.exp(-np.clip(columns @ beta, -700, 700))))
