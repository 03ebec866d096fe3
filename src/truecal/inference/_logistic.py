"""The probabilities from which labels are redrawn: predictions recalibrated by two parameters, then window by window.

P(Y = 1) = sigmoid(intercept + slope x log-odds of the score), fitted to the labels (Cox, 1958). A model that is off in
one region, or up and down, is not described by that. So the log-odds of each window of Local TCE are shifted, too: with
E and v the mean and the variance of its positives k under the fit and t^2 = (k - E)^2 / v, the positives to be expected
move from E towards k by t^2 / (t^2 + 1), which is little where chance explains the gap.

Predictions of exactly 0 and 1 have no log-odds. They take no part in the fit and are drawn at their observed rate.
"""

from __future__ import annotations

import numpy as np

from truecal.metrics import Windows, fit_logistic, log_odds
from truecal.observations import Floats, Ints, Pairs, Tally

RIDGE = 0.01  # shrinks the coefficients slightly towards "the scores are right", which keeps them finite
FARTHEST = 30.0  # log-odds beyond which a probability is as good as 0 or 1
STEPS = 30  # of Newton's method, each of at most 2: they reach from one end to the other


def recalibrate(tally: Tally) -> Floats:
    """Return the probability of each score: recalibrated, shifted in its window, or the rate at scores of 0 and 1."""
    certain = (tally.score == 0) | (tally.score == 1)
    n, pos = (np.where(certain, 0, counts) for counts in (tally.n, tally.pos))
    starts = Windows().partition(tally).starts
    window = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    eta = _fit((tally.score,), n, pos)
    return np.where(certain, tally.pos / tally.n, _sigmoid(eta + _shift(eta, n, pos, window)))


def recalibrate_pairs(pairs: Pairs) -> Floats:
    """Return the probability of each pair of scores, by a logistic regression on both models' log-odds."""
    return _sigmoid(_fit(pairs.scores, pairs.n, pairs.pos))


def _fit(scores: tuple[Floats, ...], n: Ints, pos: Ints) -> Floats:
    """Return the log-odds after logistic recalibration, at most FARTHEST from 0."""
    columns = np.stack([np.ones(len(n)), *(log_odds(score) for score in scores)], axis=1)
    start = np.array([0.0, *(1 / len(scores) for _ in scores)])
    return np.clip(columns @ fit_logistic(columns, n, pos, start, ridge=RIDGE), -FARTHEST, FARTHEST)


def _shift(eta: Floats, n: Ints, pos: Ints, window: Ints) -> Floats:
    """Return the shift of each log-odds after which its window expects the positives that are partly believed."""

    def expect(shift: Floats) -> tuple[Floats, Floats]:
        p = _sigmoid(eta + shift[window])
        return np.bincount(window, n * p), np.maximum(np.bincount(window, n * p * (1 - p)), 1e-200)

    k = np.bincount(window, pos)
    shift = np.zeros(len(k))
    expected, v = expect(shift)
    gap = k - expected
    target = expected + gap**3 / (gap**2 + v)
    for _ in range(STEPS):
        step = np.clip((target - expected) / v, -2, 2)
        if np.abs(step).max() < 1e-6:
            break
        shift += step
        expected, v = expect(shift)
    return np.asarray(shift[window])


def _sigmoid(x: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-x)))
