"""The component test of a common odds ratio, used if labels are noisy."""

from __future__ import annotations

import math

import numpy as np

from truecal import _kernel
from truecal.data import Bools, CellGroups, Floats
from truecal.metrics import TINY
from truecal.verdict._component import ASYMPTOTIC, GroupData

# The shape of a gamma distribution is 4 / skewness^2: from 10,000 on it is as good as normal, and without skewness it
# would be infinite.
EVEN = 0.02
# one minus a tail has an error of this size
TAIL_ROUNDING = 1e-16


class OddsRatioTest:
    """Test one odds ratio on all predictions by labels that are weighted by their information about it.

    It is used only with label noise. Positive labels of small predictions are then mostly false positives, which carry
    little information about the odds. With p' the probability that a row is labelled positive, the weight
    (dp' / d log-odds) / (p' (1 - p')) makes the weighted sum of labels the efficient score of a common odds ratio. The
    sum is compared with the gamma distribution of the same mean, variance and skewness.

    It applies if the information about the logarithm of the odds ratio, the sum of (dp' / d log-odds)^2 / (p' (1 -
    p')), is at least 5 as well. Groups with clustered rows are left out: the variance takes rows as independent.
    """

    name: str = "odds_ratio"
    title: str = "a common odds ratio"
    statistic: str = (
        "only with label noise: each label weighted by its information about one odds ratio on all "
        "predictions, which the noise hides if predictions are small; against a gamma distribution with the same three "
        "moments"
    )
    looks_for: str = "odds that are all too high or too low, by labels weighted with their information"
    weight: float = 1.0
    least_information: float = ASYMPTOTIC

    def applies(self, data: GroupData) -> Bools:
        """Return the groups of independent rows with enough information about the odds ratio."""
        if not data.groups.cells.sampling.noisy:
            return data.every(False)
        _, _, information = _weigh(data.groups)
        return data.informative(self.least_information) & (information >= self.least_information)

    def p_values(self, data: GroupData) -> Floats:
        """Return the p-value of each group."""
        return data.fill(self.applies(data), _test_sums)


def _weigh(groups: CellGroups) -> tuple[Floats, Floats, Floats]:
    """The derivative of p' by the log-odds and p' (1 - p') of each cell, and the information of each group."""
    cells, sampling = groups.cells, groups.cells.sampling
    p, v = sampling.to_population(cells.p), np.maximum(cells.q * (1 - cells.q), TINY)
    slope = np.asarray(sampling.slope(p) * p * (1 - p))
    return slope, v, groups.add(cells.n * slope**2 / v)


def _test_sums(groups: CellGroups) -> Floats:
    cells = groups.cells
    slope, v, information = _weigh(groups)
    third = groups.add(cells.n * (slope / v) ** 3 * v * (1 - 2 * cells.q) * np.where(cells.upper, -1, 1))
    root = np.sqrt(information)
    return _skewed_p_values(groups.add(cells.surplus * slope / v) / root, third / root**3)


def _skewed_p_values(z: Floats, skewness: Floats) -> Floats:
    """Two-sided p-values of standardised sums, from the gamma distribution of the same skewness."""
    even = np.abs(skewness) < EVEN
    shape = 4 / np.where(even, 1.0, skewness) ** 2
    tail = _kernel.gamma_tails(shape, shape + np.sqrt(shape) * np.copysign(1.0, skewness) * z)
    normal = np.array([math.erfc(abs(deviation) / math.sqrt(2)) for deviation in z.tolist()])
    return np.where(even, normal, 2 * np.maximum(np.minimum(tail, 1 - tail), TAIL_ROUNDING))
