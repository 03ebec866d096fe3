"""Tests of calibration drift: the positives of some rows against those of a baseline.

X and Y are the numbers of positives of two groups of rows. If the odds of all predictions are multiplied by a common
odds ratio, P(X = x) P(Y = s - x) changes by the same factor for all x. So the distribution of X given X + Y = s is that
of calibrated predictions, whatever the odds ratio: the same error in both groups is no drift. The test is exact and
two-sided, twice the smaller tail.

Both distributions (Poisson-binomial) are computed from their characteristic functions, at the odds ratio with which s
positives are expected, so that x lies near their means. Errors of probabilities are below 1e-13. Predictions of 0 and 1
have no odds and are left out. Cells of 5 bits, whose predictions differ by less than a part in 16, are precise enough:
with 2,000 rows p-values are right to a part in 500.

If rows are in clusters, the tail is widened by the design effect of X - E(X | s): the mean of the design effects of the
two groups, each weighted by the information of the other (see `metrics/_design.py`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from truecal.data import CellGroups, Cells, Floats
from truecal.metrics import POWER, Design, Spread, fisher_p_value, normal_quantile, sigmoid

LEAST_P_VALUE = 1e-13  # the smallest p-value that is reported: probabilities have errors of this size
REACH = 10.0  # standard deviations within which a distribution has its mass
NOTHING = 9.0  # standard deviations at which a characteristic function has vanished


@dataclass(frozen=True, slots=True, eq=False)
class Odds:
    """Rows with the log-odds of their predictions, in cells of n rows, with `positives` in all.

    `counts` are positives and rows including predictions of 0 and 1. `effect` and `freedom` are those of the design, 1
    and infinite if rows are independent.
    """

    log_odds: Floats
    n: Floats
    positives: int
    counts: tuple[int, int]
    effect: float = 1.0
    freedom: float = math.inf

    @classmethod
    def of(cls, cells: Cells) -> Odds:
        """Collect the rows of cells, without predictions of 0 and 1."""
        whole = CellGroups.of([cells])
        design, coarse = Design.of(whole), whole.coarsen(5).cells
        open_ = coarse.s1 > 0
        q = coarse.q[open_]
        log_odds = (np.log(q) - np.log1p(-q)) * np.where(coarse.upper[open_], -1, 1)
        spread = (1.0, math.inf) if design is None else (design.total.effect.item(), design.total.freedom.item())
        counts = cells.positives, cells.n_rows
        return cls(log_odds, coarse.n[open_].astype(np.float64), int(coarse.pos[open_].sum()), counts, *spread)

    @property
    def rows(self) -> int:
        """The number of rows with odds."""
        return int(self.n.sum())

    def expect(self, shift: float) -> tuple[float, float]:
        """Return the mean and the variance of the positives if a shift is added to all log-odds."""
        p = sigmoid(self.log_odds + shift)
        return float(self.n @ p), float(self.n @ (p * (1 - p)))

    def law(self, shift: float, count: Floats) -> Floats:
        """Return the probabilities of some numbers of positives, none of them far from the mean."""
        mean, variance = self.expect(shift)
        spread = math.sqrt(variance)
        points = 2 * (math.ceil(REACH * spread) + 32) + 1
        last = min(points // 2, math.ceil(points * NOTHING / (2 * math.pi * max(spread, 1e-9))))
        angle = 2 * np.pi / points * np.arange(last + 1)
        p = sigmoid(self.log_odds + shift)[:, None]
        # of log(1 - p + p e^(i angle)), the real and the imaginary part
        size = self.n @ np.log1p(-2 * p * (1 - p) * (1 - np.cos(angle))) / 2
        turn = self.n @ np.arctan2(p * np.sin(angle), 1 - p + p * np.cos(angle))
        waves = np.zeros(points // 2 + 1, dtype=np.complex128)
        waves[: last + 1] = np.exp(size - 1j * turn)
        chances = np.maximum(np.fft.irfft(waves, points), 0.0)[count.astype(np.int64) % points]
        return np.where(np.abs(count - mean) <= points / 2, chances, 0.0)


def find_shift(groups: Sequence[Odds]) -> float:
    """Return the shift of all log-odds with which expected equal observed positives; infinite for none and all."""
    positives, rows = sum(group.positives for group in groups), sum(group.rows for group in groups)
    if positives in (0, rows):
        return math.inf if positives else -math.inf
    shift = 0.0
    for _ in range(200):
        mean, variance = (sum(column) for column in zip(*(group.expect(shift) for group in groups), strict=True))
        step = min(max((positives - mean) / max(variance, 1e-300), -1.0), 1.0)
        shift += step
        if abs(step) < 1e-9:
            break
    return shift


def compare_odds(group: Odds, baseline: Odds) -> float:
    """Return the p-value of "one odds ratio holds for the group and the baseline"."""
    shift = find_shift((group, baseline))
    if math.isinf(shift):
        return 1.0
    together = group.positives + baseline.positives
    (mean, variance), (_, baseline_variance) = group.expect(shift), baseline.expect(shift)
    reach = math.ceil(REACH * math.sqrt(variance * baseline_variance / max(variance + baseline_variance, 1e-300))) + 32
    lowest, highest = max(0, together - baseline.rows), min(group.rows, together)
    count = np.arange(max(lowest, round(mean) - reach), min(highest, round(mean) + reach) + 1, dtype=np.float64)
    chance = group.law(shift, count) * baseline.law(shift, together - count)
    total = float(chance.sum())
    tails = (float(chance[side].sum()) / total for side in (count <= group.positives, count >= group.positives))
    p_value = min(1.0, max(2 * min(tails), LEAST_P_VALUE))
    spread = _spread(group, variance, baseline, baseline_variance)
    return p_value if spread is None else float(spread.p_values(np.array([p_value]))[0])


def compare_rates(group: Odds, baseline: Odds) -> float:
    """Return the p-value of equal rates of positives in the group and the baseline, by Fisher's exact test."""
    p_value = fisher_p_value(*group.counts, *baseline.counts)
    rows, baseline_rows = group.counts[1], baseline.counts[1]
    spread = _spread(group, rows, baseline, baseline_rows)
    return p_value if spread is None else float(spread.p_values(np.array([p_value]))[0])


def _spread(group: Odds, weight: float, baseline: Odds, baseline_weight: float) -> Spread | None:
    """The design effect of a difference; None if rows are independent."""
    if group.effect == baseline.effect == 1:
        return None
    effect = (baseline_weight * group.effect + weight * baseline.effect) / max(weight + baseline_weight, 1e-300)
    return Spread(np.array([effect]), np.array([min(group.freedom, baseline.freedom)]))


def find_split(periods: Sequence[Odds]) -> int:
    """Return the estimated change point: the number of periods before the split with the largest score statistic.

    Under a common odds ratio it is the squared difference of observed and expected positives since the split, over its
    variance.
    """
    shift = find_shift(periods)
    if math.isinf(shift):
        return 1
    expected, variance = np.array([period.expect(shift) for period in periods]).T
    surplus = np.cumsum([period.positives for period in periods] - expected)[:-1]
    before = np.cumsum(variance)[:-1]
    after = np.maximum(variance.sum() - before, 0.0)
    score = surplus**2 / np.maximum(before * after, 1e-300)
    return 1 + int(np.argmax(score))


def detectable_move(group: Odds, baseline: Odds, level: float) -> float:
    """Return the minimum detectable odds ratio between the group and the baseline (80% power).

    By the normal approximation, with the information of calibrated predictions.
    """
    of_group, of_baseline = (rows.expect(0.0)[1] / rows.effect for rows in (group, baseline))
    information = of_group * of_baseline / max(of_group + of_baseline, 1e-300)
    if not information > 0:
        return math.inf
    far = (normal_quantile(level / 2) + normal_quantile(1 - POWER)) / math.sqrt(information)
    return math.exp(far) if far < 700 else math.inf
