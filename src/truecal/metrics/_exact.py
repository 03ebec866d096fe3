"""Exact intervals and tests of counts, and adjusted p-values."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from truecal import _kernel
from truecal._errors import option
from truecal.observations import Floats, Ints

Adjustment = Literal["holm", "bh"] | None


def exact_interval(k: Ints, n: Ints, significance: float) -> tuple[Floats, Floats]:
    """Return the Clopper-Pearson interval of level 1 - significance, given k positives in n rows."""
    tail = significance / 2
    low = np.where(k > 0, _kernel.binomial_rates(np.maximum(k, 1), n, tail), 0.0)
    high = np.where(k < n, _kernel.binomial_rates(np.minimum(k + 1, n), n, 1 - tail), 1.0)
    return low, high


def divide_rates(rates: Floats, mean: Floats) -> tuple[Floats, Floats, Floats]:
    """Divide a rate and the two ends of its interval by the mean prediction.

    If the mean prediction is 0, the ratio is 1 if there are no positives, and infinite otherwise.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        found = rates / mean
    nothing = mean == 0
    found[:, nothing] = np.where(rates[0, nothing] > 0, np.inf, np.array([[1.0], [0.0], [np.inf]]))
    return found[0], found[1], found[2]


def adjust_p_values(p_value: Floats, method: Adjustment) -> Floats:
    """Adjust p-values for their number, by Holm's step-down or Benjamini and Hochberg's step-up method. NaN, which does
    not count, stays.

    Examples
    --------
    >>> import numpy as np
    >>> adjust_p_values(np.array([0.01, 0.04, 0.03]), "holm").tolist()
    [0.03, 0.06, 0.06]
    """
    if method is None:
        return p_value
    size, order = int(np.count_nonzero(~np.isnan(p_value))), np.argsort(p_value)
    order = order[:size]  # NaN comes last
    ranked = p_value[order]
    if method == "holm":
        steps = np.maximum.accumulate(ranked * np.arange(size, 0, -1))
    elif method == "bh":
        steps = np.minimum.accumulate((ranked * size / np.arange(1, size + 1))[::-1])[::-1]
    else:
        raise ValueError(f'{option("adjust")} must be "holm", "bh" or None; it is {method!r}.')
    result = np.full_like(p_value, np.nan)
    result[order] = np.minimum(steps, 1.0)
    return result


def fisher_p_value(k: int, n: int, other_k: int, other_n: int) -> float:
    """Return the two-sided p-value of Fisher's exact test of k in n against other counts: twice the smaller tail."""
    total, marked = n + other_n, k + other_k
    if k * total >= n * marked:
        return min(1.0, 2 * _upper_tail(k, total, marked, n))
    return min(1.0, 2 * _upper_tail(n - k, total, total - marked, n))  # few positives are many negatives


def _upper_tail(k: int, total: int, marked: int, size: int) -> float:
    """Return P(X >= k) for k at or above the mean, where X counts `marked` among `size` drawn of `total`."""

    def choose(a: int, b: int) -> float:
        return math.lgamma(a + 1) - math.lgamma(b + 1) - math.lgamma(a - b + 1)

    at_k = choose(marked, k) + choose(total - marked, size - k) - choose(total, size)
    spread = math.sqrt(size * (marked / total) * (1 - marked / total))
    last = min(size, marked, k + 50 + math.ceil(12 * spread))  # later terms are negligible
    j = np.arange(k, last, dtype=np.float64)
    steps = (marked - j) * (size - j) / ((j + 1) * (total - marked - size + j + 1))
    return math.exp(at_k) * (1 + float(np.cumprod(steps).sum()))
