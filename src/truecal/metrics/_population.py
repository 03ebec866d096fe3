"""Observed and expected positives of a population, and the common odds ratio, from sampled or noisy labels.

Each row represents w = 1 / k rows of the population, k the sampling rate of its label (Horvitz and Thompson). With f0
and f1 the false-positive and false-negative rates of the labels and g = 1 - f0 - f1, the observed positives are O = sum
of w (y - f0) / g, the expected ones E = sum of w p, and O - E has mean 0 if the predictions are calibrated. With all
odds multiplied by f, E becomes E(f); the estimated odds ratio solves E(f) = O, so O/E is its ratio E(f) / E(1).

The interval has as ends the odds ratios at which the tail of O - E(f), a weighted sum of independent labels, is half of
the significance. Tails are by the saddlepoint approximation of Lugannani and Rice, with half of a label's mean weight
as continuity correction: for equal weights they agree with the exact ones of `find_odds_ratios` within a percent.

References
----------
Horvitz, Thompson. A generalization of sampling without replacement from a finite universe. JASA 47, 1952.
Lugannani, Rice. Saddle point approximation for the distribution of the sum of independent random variables. 1980.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from truecal.data import CellGroups, Cells, Floats, Ints, Sampling, cell
from truecal.metrics._poisson_binomial import OddsRatio, PoissonBinomial, find_odds_ratios
from truecal.metrics._roots import find_root

TAIL_BITS = 7  # of the cells for tails: predictions differ by less than a part in 64 within each
RATIOS = "ratio", "ratio_low", "ratio_high"
FARTHEST_LOG_RATIO = 36.0  # the largest log odds ratio at which the search for an end begins
IMPOSSIBLE = -1e6  # the logarithm of a probability of 0


class Count(NamedTuple):
    """Observed and expected positives, and the odds ratio with its confidence interval.

    `population` is the number of rows of the population, if it is not the sample.
    """

    observed: int | float
    expected: float
    factor: OddsRatio
    population: float | None = None


def count_positives(groups: CellGroups, begin: Ints, end: Ints, significance: float) -> list[Count]:
    """Count the positives of the cells begin..end of each window, in the population if rows were sampled by label."""
    windows, cells = list(zip(begin.tolist(), end.tolist(), strict=True)), groups.cells
    positives = PoissonBinomial.in_groups(groups)
    if cells.sampling.plain:
        factors, expected = find_odds_ratios(positives, begin, end, significance), cells.expected
        beyond = cells.cached("beyond", lambda: _count_beyond(cells))
        return [
            _make_count(
                int(np.add.reduce(cells.pos[b:e])),
                float(np.add.reduce(expected[b:e])),
                factor,
                0.0 if beyond is None else float(beyond[b:e].sum()),
            )
            for (b, e), factor in zip(windows, factors, strict=True)
        ]
    levels = np.full(len(begin), significance)
    if positives.design is not None:  # the level of independent rows that becomes the significance with clusters
        levels = positives.design.spread(begin, end).levels(significance)
    return [
        _count_population(cells.between(b, e), level) for (b, e), level in zip(windows, levels.tolist(), strict=True)
    ]


def _count_beyond(cells: Cells) -> Ints | None:
    """Positives at 0 less negatives at 1 in each cell; None if there are none in any."""
    at = cells.certain
    contradictions = cells.pos[at] - np.where(cells.upper[at], cells.n[at], 0)
    if not contradictions.any():
        return None
    beyond = np.zeros(len(cells), dtype=np.int64)
    beyond[at] = contradictions
    return beyond


def _make_count(observed: int, expected: float, factor: OddsRatio, beyond: float) -> Count:
    """The count of the sample itself. No odds ratio explains positives at 0 or negatives at 1: they shift O/E and its
    interval by the same amount."""
    if beyond and expected > 0:
        moved = {name: max(0.0, getattr(factor, name) + beyond / expected) for name in RATIOS}
        factor = replace(factor, **moved)
    return Count(observed, expected, factor)


def _count_population(cells: Cells, significance: float) -> Count:
    population = cells.population
    observed, expected = float(max(population.positives, 0.0)), float(np.sum(population.n * population.score))
    return Count(observed, expected, _estimate_odds_ratio(cells, significance), population.n_rows)


class _Weighed(NamedTuple):
    """Cells of predictions p that are neither 0 nor 1, with labels weighted to the population."""

    sampling: Sampling
    p: Floats
    n: Floats
    pos: Floats
    rows: Floats

    def move(self, log_factor: float) -> Floats:
        """Return the predictions with all odds multiplied by an odds ratio."""
        with np.errstate(over="ignore"):
            factor = np.exp(log_factor)
        if factor <= 1:
            return np.asarray(factor * self.p / (1 - self.p + factor * self.p))
        return np.asarray(self.p / (self.p + (1 - self.p) / factor))

    def expected(self, log_factor: float) -> float:
        """Return the expected positives of the population then."""
        return float(np.sum(self.rows * self.move(log_factor)))

    def weigh(self, log_factor: float) -> tuple[Floats, Floats, Floats]:
        """Return, at an odds ratio, the probability of a positive label, and the contributions of a positive and of a
        negative label to O - E."""
        sampling, p = self.sampling, self.move(log_factor)
        f0, f1 = sampling.label_noise
        sure = 1 - f0 - f1
        one = ((1 - f0) / sure - p) / sampling.positive_rate
        zero = -(f0 / sure + p) / sampling.negative_rate
        return np.asarray(sampling.to_sampled(p)), one, zero

    def log_tail(self, log_factor: float, *, above: bool) -> float:
        """Return the logarithm of the probability that O - E is at least as far above, or below, as observed."""
        q, one, zero = self.weigh(log_factor)
        n, step = self.n, one - zero
        if not above:  # by symmetry, the upper tail of the negatives
            q, one, zero = 1 - q, -zero, -one
        pos = self.pos if above else n - self.pos
        if np.array_equal(pos, n):  # no outcome is more extreme
            return float(np.sum(n * np.log(np.maximum(q, 5e-324))))
        v = n * q * (1 - q)
        half = float(np.sum(v * step) / max(float(v.sum()), 1e-300)) / 2
        reached = float(np.sum(n * zero + pos * step)) - half
        return _log_upper_tail(n, q, zero, step, reached)


def _estimate_odds_ratio(cells: Cells, significance: float) -> OddsRatio:
    """The common odds ratio in the population, with the interval of confidence 1 - significance.

    Predictions of 0 and 1 have no odds: their labels are taken as predicted, those of the others as observed.
    """
    population = cells.population
    open_ = (population.score > 0) & (population.score < 1)
    certain = float(np.sum((population.n * population.score)[~open_]))
    if not open_.any():
        one = 1.0 if certain > 0 else math.nan
        return OddsRatio(math.nan, 0.0, math.inf, one, one, one)
    begin = np.flatnonzero(np.diff(cell(population.score[open_], TAIL_BITS), prepend=-1.0))
    columns = (cells.n, cells.pos, population.n, population.n * population.score)
    n, pos, size, sums = (np.add.reduceat(column[open_], begin).astype(np.float64) for column in columns)
    rows = _Weighed(cells.sampling, sums / size, n, pos, size)
    observed, most = float(population.pos[open_].sum()), float(rows.rows.sum())
    goal = math.log(significance / 2)
    middle = _find_middle(rows, observed, most)
    step = 2 / math.sqrt(max(float(np.sum(cells.v)), 0.5))
    low, high = -math.inf, math.inf
    if middle > -math.inf:
        low = _find_end(lambda t: rows.log_tail(t, above=True) - goal, middle, -step)
    if middle < math.inf:
        high = _find_end(lambda t: goal - rows.log_tail(t, above=False), middle, step)
    total = rows.expected(0.0) + certain

    def ratio(log_factor: float) -> float:
        if math.isinf(log_factor):
            return ((most if log_factor > 0 else 0.0) + certain) / total
        return (rows.expected(log_factor) + certain) / total

    ends = (middle, low, high)
    return OddsRatio(*(math.inf if t > 700 else math.exp(t) for t in ends), *(ratio(t) for t in ends))


def _find_end(excess: Callable[[float], float], middle: float, step: float) -> float:
    """The root of an increasing function in the direction of the step from the middle.

    The middle itself if the root lies on its other side: no odds ratio explains so few, or so many, positives.
    """
    start = min(max(middle, -FARTHEST_LOG_RATIO), FARTHEST_LOG_RATIO)
    return middle if excess(start) * step >= 0 else find_root(excess, start, step)


def _find_middle(rows: _Weighed, observed: float, most: float) -> float:
    """The log odds ratio with which expected equal observed positives."""
    if observed <= 0 or observed >= most:
        return -math.inf if observed <= 0 else math.inf

    def surplus(t: float) -> float:
        return rows.expected(t) / observed - 1

    start = surplus(0.0)
    return 0.0 if start == 0 else find_root(surplus, 0.0, -0.5 if start > 0 else 0.5)


def _log_upper_tail(n: Floats, q: Floats, zero: Floats, step: Floats, x: float) -> float:
    """log P(S >= x), with S the sum over n rows of `zero`, plus `step` with the probability q."""
    open_ = (q > 0) & (q < 1)
    if not open_.all():  # the labels of the other rows are certain
        x -= float(np.sum((n * (zero + q * step))[~open_]))
        n, q, zero, step = (column[open_] for column in (n, q, zero, step))
    base, reach = float(np.sum(n * zero)), float(np.sum(n * step))
    if x <= base:
        return 0.0
    if x >= base + reach:
        return IMPOSSIBLE

    def slope(t: float) -> Floats:
        """The tilted probability of each cell."""
        with np.errstate(over="ignore"):
            return np.asarray(q / (q + (1 - q) * np.exp(-t * step)))

    def excess(t: float) -> float:
        return (base + float(np.sum(n * step * slope(t))) - x) / spread

    spread = math.sqrt(max(float(np.sum(n * step**2 * q * (1 - q))), 1e-300))
    gap = excess(0.0)
    t = 0.0 if gap == 0 else find_root(excess, 0.0, (-0.5 if gap > 0 else 0.5) / spread)
    if math.isinf(t):
        return 0.0 if t < 0 else IMPOSSIBLE
    tilted = slope(t)
    # log(1 - q + q e^(t c)), without overflow
    far = np.exp(-abs(t) * step)
    cumulants = t * step + np.log(q + (1 - q) * far) if t > 0 else np.log1p(q * (far - 1))
    curve = float(np.sum(n * step**2 * tilted * (1 - tilted)))
    square = 2 * (t * (x - base) - float(np.sum(n * cumulants)))
    w, u = math.copysign(math.sqrt(max(square, 0.0)), t), t * math.sqrt(curve)
    if abs(w) < 1e-4:
        return math.log(0.5)
    return _log_lugannani_rice(w, u)


def _log_lugannani_rice(w: float, u: float) -> float:
    """log(1 - Phi(w) + phi(w) (1 / u - 1 / w)); from w = 25 on 1 - Phi(w) and phi(w) / w cancel nearly."""
    if w < 25:
        density = math.exp(-w * w / 2) / math.sqrt(2 * math.pi)
        tail = math.erfc(w / math.sqrt(2)) / 2 + density * (1 / u - 1 / w)
        return math.log(min(max(tail, 1e-300), 1.0))
    return -w * w / 2 - math.log(u * math.sqrt(2 * math.pi))
