"""Exact intervals and tests of counts, adjusted p-values, and normal quantiles without SciPy.

Importing `scipy.special` takes as long as reading a million rows; a verdict does without it.
"""

from __future__ import annotations

import math

import numpy as np

from truecal import _kernel
from truecal._errors import option
from truecal._options import Adjustment, LevelOptions, declare
from truecal.data import Floats, Ints
from truecal.metrics._decisions import Level, check_significance
from truecal.metrics._design import Spread

POWER = 0.8  # as studies are usually planned


@declare(first=(LevelOptions,))
def exact_interval(k: Ints, n: Ints, significance: float = 0.05, spread: Spread | None = None) -> tuple[Floats, Floats]:
    """Return the Clopper-Pearson interval of level 1 - significance, given k positives in n rows.

    With clustered rows, the level is that of independent rows which becomes the significance.

    Parameters
    ----------
    k, n : arrays of int
        Positives, and rows.
    spread : Spread, optional
        The design effects of bins of clustered rows.

    Examples
    --------
    >>> import numpy as np
    >>> from truecal.metrics import exact_interval
    >>> low, high = exact_interval(np.array([10]), np.array([100]), 0.05)
    >>> low.round(4), high.round(4)
    (array([0.049]), array([0.1762]))
    """
    check_significance(significance)
    tail = significance / 2 if spread is None else spread.tails(significance / 2)
    low = np.where(k > 0, find_rates(np.maximum(k, 1), n, tail), 0.0)
    high = np.where(k < n, find_rates(np.minimum(k + 1, n), n, tail, rest=True), 1.0)
    return low, high


def find_rates(k: Ints, n: Ints, tail: Level, *, rest: bool = False) -> Floats:
    """Return the rates at which k or more positives in n rows have the probability `tail`, or with `rest` 1 - tail.

    There is one tail for all, or one for each.
    """
    if isinstance(tail, np.ndarray):
        rows = zip(*(column.reshape(-1, 1) for column in (k, n)), tail.tolist(), strict=True)
        return np.array([float(find_rates(*row, rest=rest)[0]) for row in rows])
    if rest and tail < 1e-12:  # 1 - tail has lost its digits: use the negatives
        return np.asarray(1 - _kernel.binomial_rates(n - k + 1, n, tail))
    target = 1 - tail if rest else tail
    return np.full(np.shape(k), target) if target in (0, 1) else _kernel.binomial_rates(k, n, target)


def divide_rates(rates: Floats, mean: Floats) -> tuple[Floats, Floats, Floats]:
    """Divide a rate and the two ends of its interval by the mean prediction.

    If the mean prediction is 0, the ratio is 1 if there are no positives, and infinite otherwise.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = rates / mean
    nothing = mean == 0
    ratios[:, nothing] = np.where(rates[0, nothing] > 0, np.inf, np.array([[1.0], [0.0], [np.inf]]))
    return ratios[0], ratios[1], ratios[2]


def adjust_p_values(p_value: Floats, method: Adjustment) -> Floats:
    """Adjust p-values for their number, by Holm's step-down or Benjamini and Hochberg's step-up method.

    NaN is not counted, and stays.

    Parameters
    ----------
    p_value : array
        P-values.
    method : "holm", "bh" or None
        The method; None does not adjust.

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


def normal_quantile(tail: float) -> float:
    """Return the z that a standard normal variable exceeds with the probability `tail`.

    Examples
    --------
    >>> round(normal_quantile(0.025), 6)
    1.959964
    """
    if tail > 0.5:
        return -normal_quantile(1 - tail)
    z = math.sqrt(-2 * math.log(2 * tail))  # not too small, since the tail is at most exp(-z^2 / 2) / 2
    for _ in range(100):  # Newton's method on the logarithm of the tail, which is concave: down to z
        reached = math.erfc(z / math.sqrt(2)) / 2
        step = reached / (math.exp(-z * z / 2) / math.sqrt(2 * math.pi)) * math.log(reached / tail)
        z += step
        if abs(step) < 1e-13 * (1 + z):
            break
    return z
