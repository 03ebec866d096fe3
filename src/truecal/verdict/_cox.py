"""Cox's test: calibration intercept and slope."""

from __future__ import annotations

import math

import numpy as np

from truecal import _kernel
from truecal.data import Bools, CellGroups, Floats
from truecal.metrics import TINY, Design, Direction, centre_odds, normal_quantile
from truecal.verdict._component import ASYMPTOTIC, GroupData

# The share of the information that the variance of the log-odds must exceed: below it all scores are one, and the slope
# is not identified.
SPREAD = 1e-9


class CoxTest:
    """Test that the calibration intercept is 0 and the calibration slope is 1.

    Labels are regressed on the log-odds x of the predictions, logit P(y = 1) = a + b x. The statistic is the likelihood
    ratio of the best a and b to a = 0 and b = 1; twice its logarithm has 2 degrees of freedom, or 1 if all scores are
    one. It is computed on cells of 8 bits, whose log-odds differ by less than 1/128.

    A score test would be cheaper, but a single positive at a prediction of 0.001 could make it reject the slope.

    Rows in clusters: the score test U' S^-1 U, with U the sums of y - p and of (y - p) x, and S the covariance that
    clusters give them, against Hotelling's distribution with the degrees of freedom of the design. It needs the
    information of independent rows times the design effect.

    References
    ----------
    Cox. Two further applications of a model for binary regression. Biometrika 45, 1958.
    """

    name: str = "cox"
    title: str = "intercept and slope"
    statistic: str = (
        "intercept and slope of a logistic recalibration against 0 and 1: likelihood ratio, two degrees of freedom"
    )
    looks_for: str = "odds that are all too high or too low; overconfidence and underconfidence"
    weight: float = 1.0
    least_information: float = ASYMPTOTIC

    def applies(self, data: GroupData) -> Bools:
        """Return the groups with enough information, in independent rows or in clusters."""
        return data.informative(self.least_information) | self._clustered(data)

    def p_values(self, data: GroupData) -> Floats:
        """Return the p-value of each group."""
        p_values = data.fill(data.informative(self.least_information), _compare_likelihoods)
        if data.design is None:
            return p_values
        return np.where(self._clustered(data), _test_scores(data.groups, data.design), p_values)

    def _clustered(self, data: GroupData) -> Bools:
        """The groups of clustered rows with enough information."""
        design = data.design
        if design is None or data.tolerance is not None:
            return data.every(False)
        return design.paired & (data.information >= self.least_information * design.effect)


def _compare_likelihoods(groups: CellGroups) -> Floats:
    """Likelihood ratio of the best intercept and slope to 0 and 1."""
    coarse = groups.coarse
    cells = coarse.cells
    open_ = cells.s1 > 0
    q = np.where(open_, cells.q, 0.5)
    x = (np.log(q) - np.log1p(-q)) * np.where(cells.upper, -1, 1)
    n, k = np.where(open_, cells.n, 0), np.where(open_, cells.pos, 0)
    v = n * q * (1 - q)
    spread = coarse.add(v * x**2) - coarse.add(v * x) ** 2 / coarse.add(v)
    slope = spread > SPREAD * coarse.add(v)
    gain = _kernel.recalibration_gains(x, n, k, coarse.starts, slope)
    p_values = np.exp(-gain)  # the tail of chi-squared with 2 degrees of freedom at twice the gain
    p_values[~slope] = [math.erfc(math.sqrt(log_ratio)) for log_ratio in gain[~slope].tolist()]
    return np.asarray(p_values)


def _test_scores(groups: CellGroups, design: Design) -> Floats:
    """Score test of intercept 0 and slope 1, with the covariance that clusters give the two sums."""
    surplus, v, x = centre_odds(groups)
    s00, s01, s11 = design.covariance(x)
    u0, u1 = groups.add(surplus), groups.add(surplus * x)
    one = ~(groups.add(v * x**2) > SPREAD * groups.add(v))
    determinant = np.where(one, 1.0, np.maximum(s00 * s11 - s01**2, 1e-12 * s00 * s11))
    statistic = (s11 * u0**2 - 2 * s01 * u0 * u1 + s00 * u1**2) / determinant
    freedom = design.total.freedom
    with np.errstate(invalid="ignore"):
        p_values = np.exp(-np.log1p(statistic / freedom) * freedom / 2)  # the tail of F with 2 degrees of freedom above
    level = np.sqrt(u0**2 / np.maximum(groups.add(v), TINY))
    tails = np.array([math.erfc(z / math.sqrt(2)) / 2 for z in level.tolist()])
    return np.where(one, 2 * design.total.apply(tails), p_values)


def find_slope_directions(data: GroupData, p_values: Floats, level: float) -> list[Direction | None]:
    """Return whether each group is shown to be overconfident or underconfident.

    Cox's p-value and the slope alone must show it, and the predictions on both sides of the middle must lean that way.
    """
    groups, design = data.groups, data.design
    signs, clear = np.zeros(len(groups)), p_values <= level
    if clear.any():
        chosen = groups.choose(clear) if design is None else groups
        surplus, v, x = centre_odds(chosen)
        variance = chosen.add(v * x**2) if design is None else design.covariance(x)[2]
        z = chosen.add(surplus * x) / np.sqrt(np.maximum(variance, TINY))
        below, above = (chosen.add(np.where(side, surplus, 0.0)) for side in (x < 0, x > 0))
        shown = (np.abs(z) >= normal_quantile(level / 2)) & (below * z < 0) & (above * z > 0)
        signs[clear] = (np.sign(z) * shown)[slice(None) if design is None else clear]
    codes = {-1.0: Direction.OVERCONFIDENT, 0.0: None, 1.0: Direction.UNDERCONFIDENT}
    return [codes[sign] for sign in signs.tolist()]
