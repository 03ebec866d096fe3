"""The t-test of the published tables, which divides by the variance where its root belongs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtr

from truecal.metrics._decisions import Continuous


@dataclass(frozen=True, slots=True)
class VarianceT(Continuous):
    """t = |rate - p| sqrt(n) / (rate (1 - rate)), the population variance in place of the standard deviation.

    A variance of labels is at most 1/4, its root at least twice that: every t is at least twice too large.
    Labels that are all alike, a single one among them, reject every other p.
    """

    def p_value(self, k: ArrayLike, n: ArrayLike, p: ArrayLike) -> NDArray[np.float64]:
        k_, n_, p_ = np.asarray(k), np.asarray(n), np.asarray(p)
        rate = k_ / n_
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.abs(rate - p_) * np.sqrt(n_) / (rate * (1 - rate))
            value = 2 * stdtr(n_ - 1, -t)
        no_variance = np.where(rate == p_, 1.0, 0.0)
        return np.asarray(np.where((k_ == 0) | (k_ == n_), no_variance, value))
