"""Logistic recalibration: what the labels say about the probabilities, in two numbers.

P(Y = 1) = sigmoid(intercept + slope x log-odds of the score), Cox (1958). Intercept 0 and slope 1 are right; a slope below 1
means over-confident, an intercept below 0 (at slope 1) too high.
"""

from __future__ import annotations

import numpy as np

from truecal.tally import Floats, Ints, Tally

CLIP = 1e-12


def log_odds(score: Floats) -> Floats:
    """Log-odds, with scores of 0 and 1 moved in by 1e-12."""
    p = np.clip(score, CLIP, 1 - CLIP)
    return np.log(p) - np.log1p(-p)


def fit_logistic(
    columns: Floats, n: Ints, pos: Ints, start: Floats, *, ridge: float = 0.0, steps: int = 100
) -> tuple[Floats, Floats]:
    """Weighted maximum likelihood by Newton's method with step halving: coefficients and their covariance.

    `ridge` draws the coefficients towards `start`, which keeps them finite where labels are separable.
    """
    beta = start.astype(float)

    def loss(candidate: Floats) -> float:
        eta = columns @ candidate
        return float(np.sum(n * np.logaddexp(0, eta) - pos * eta) + ridge / 2 * np.sum((candidate - start) ** 2))

    current = loss(beta)
    hessian = np.eye(len(beta))
    for _ in range(steps):
        p = 1 / (1 + np.exp(-np.clip(columns @ beta, -700, 700)))
        gradient = columns.T @ (pos - n * p) - ridge * (beta - start)
        hessian = (columns * (n * p * (1 - p))[:, None]).T @ columns + ridge * np.eye(len(beta))
        try:
            step = np.linalg.solve(hessian, gradient)
        except np.linalg.LinAlgError:
            break
        size = 1.0
        while loss(beta + size * step) > current + 1e-12 * abs(current) and size > 1e-6:
            size /= 2
        beta = beta + size * step
        before, current = current, loss(beta)
        if before - current <= 1e-10 * (1 + abs(current)) and np.abs(step).max() < 1e-6:
            break
    with np.errstate(all="ignore"):
        covariance = np.linalg.pinv(hessian)
    return beta, covariance


def recalibrated(tally: Tally) -> Floats:
    """The probability of each score after logistic recalibration, drawn a little towards the score itself."""
    x = log_odds(tally.score)
    columns = np.stack([np.ones_like(x), x], axis=1)
    beta, _ = fit_logistic(columns, tally.n, tally.pos, np.array([0.0, 1.0]), ridge=0.01)
    return np.asarray(1 / (1 + np.exp(-np.clip(columns @ beta, -700, 700))))
