"""Recalibrate predictions region by region, on the logit scale: the probabilities from which labels are resampled.

For one model, log-odds are shifted in all rows, then in long runs of the windows of Local TCE, then in halves of these,
and so on down to single windows. With E and v the mean and the variance of a run's k positives so far, and t^2 =
(k - E)^2 / v, the expected positives move from E towards k by the share 1 - 1 / t^2, or not at all if t^2 < 1:
deviations within noise are left alone, and so are predictions without information. Starting with an intercept and a
slope for all rows (Cox, 1958) was measured, too: if one region is miscalibrated they move the others, for no gain
elsewhere.

Predictions of exactly 0 and 1 have no log-odds. Their labels are drawn at the observed rate.
"""

from __future__ import annotations

import numpy as np

from truecal.data import CellGroups, Floats, Ints, Pairs, Tally
from truecal.metrics import Design, Windows, fit_logistic, log_odds, sigmoid

RIDGE = 0.01  # shrinks the coefficients slightly towards calibrated scores, which keeps them finite
MOST_STEPS = 30  # of Newton's method, each of at most 2: they reach from one end of the log-odds to the other


def recalibrate_scores(tally: Tally) -> Floats:
    """Return the probability of each score: that of its cell, recalibrated, or the observed rate at 0 and 1."""
    windows = Windows().partition(tally)
    cells, starts = windows.cells, windows.grids[0]
    certain = (cells.p == 0) | (cells.p == 1)
    n, pos = (np.where(certain, 0, counts) for counts in (cells.n, cells.pos))
    window = np.repeat(np.arange(len(windows)), np.diff(starts))
    eta = log_odds(cells.p)
    design = None if cells.clusters is None else Design.of(CellGroups.of([cells]))
    for level in range((len(windows) - 1).bit_length(), -1, -1):  # runs of 2^level windows; all of them first
        run, begin = window >> level, starts[:-1][:: 1 << level]
        effect = (
            np.ones(len(begin)) if design is None else design.spread(begin, np.append(begin[1:], len(cells))).effect
        )
        eta = eta + _shift(eta, n, pos, run, effect)
    fitted = np.where(certain, cells.pos / cells.n, sigmoid(eta))
    return np.repeat(fitted, np.diff(windows.places))


def recalibrate_pairs(pairs: Pairs) -> Floats:
    """Return the probability of each pair of scores, by a logistic regression on both models' log-odds."""
    columns = np.stack([np.ones(len(pairs)), *(log_odds(score) for score in pairs.scores)], axis=1)
    beta = fit_logistic(columns, pairs.n, pairs.pos, np.array([0.0, 0.5, 0.5]), ridge=RIDGE)
    return sigmoid(columns @ beta)


def _shift(eta: Floats, n: Ints, pos: Ints, run: Ints, effect: Floats) -> Floats:
    """Return the shift of each log-odds that moves its run towards the observed positives, beyond noise.

    The noise is the variance of independent rows times the run's design effect.
    """

    def expect(shift: Floats) -> tuple[Floats, Floats]:
        p = sigmoid(eta + shift[run])
        mean, v = (np.bincount(run, part).astype(np.float64) for part in (n * p, n * p * (1 - p)))
        return mean, np.maximum(v, 1e-200)

    shift = np.zeros(run[-1] + 1)
    expected, v = expect(shift)
    gap = np.bincount(run, pos) - expected
    noise = v * effect
    beyond = gap**2 > noise
    target = expected + np.where(beyond, gap - noise / np.where(beyond, gap, 1.0), 0.0)
    for _ in range(MOST_STEPS):
        step = np.clip((target - expected) / v, -2, 2)
        if np.abs(step).max() < 1e-6:
            break
        shift += step
        expected, v = expect(shift)
    return np.asarray(shift[run])
