"""Logistic recalibration of predictions, from which labels are redrawn.

P(Y = 1) = sigmoid(intercept + slope x log-odds of the score), fitted to the labels (Cox, 1958).
"""

from __future__ import annotations

import numpy as np

from truecal.metrics import fit_logistic, log_odds
from truecal.observations import Floats, Ints, Pairs, Tally

RIDGE = 0.01  # shrinks the coefficients slightly towards "the scores are right", which keeps them finite


def recalibrate(tally: Tally) -> Floats:
    """Return the probability of each score after logistic recalibration."""
    return _fit((tally.score,), tally.n, tally.pos)


def recalibrate_pairs(pairs: Pairs) -> Floats:
    """Return the probability of each pair of scores, by a logistic regression on both models' log-odds."""
    return _fit(pairs.scores, pairs.n, pairs.pos)


def _fit(scores: tuple[Floats, ...], n: Ints, pos: Ints) -> Floats:
    columns = np.stack([np.ones(len(n)), *(log_odds(score) for score in scores)], axis=1)
    start = np.array([0.0, *(1 / len(scores) for _ in scores)])
    beta = fit_logistic(columns, n, pos, start, ridge=RIDGE)
    return np.asarray(1 / (1 + np.exp(-np.clip(columns @ beta, -700, 700))))
