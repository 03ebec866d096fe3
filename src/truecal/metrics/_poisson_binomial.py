"""The number of positives among rows of unequal probabilities: tails, a factor on the odds, and its interval.

X is the sum of independent Bernoulli(p), one for each row of some neighbouring cells. Its tails are those of

- the binomial of real size with the same mean and variance, p~ = S2 / S1 and n~ = S1^2 / S2 with S1 = sum of p and S2
  = sum of p^2 (1 - p where the mean exceeds half of the rows), by the incomplete beta function. With the third
  cumulants k3 = sum of p (1 - p)(1 - 2 p) of X and k3~ of the binomial, |k3 - k3~| / (15 v^1.5) predicts the error of
  its distribution function; it is used where that is below 5e-4, the variance v at least 5, and more than 64 rows are
  there (five rows of 0.5 have a size n~ below 5 and would leave no mass at k = 5);
- else, from v = 70 on, the binomial that is shifted by a real number to have the third cumulant too, whose error is at
  most 0.035 / v;
- else they are computed, taking rows of neighbouring cells as coins of their mean as long as that makes their variance
  too large by at most 2^-24 of itself.

Equal probabilities (one cell) are always an exact binomial.

References
----------
Peköz, Röllin, Čekanavičius, Shwartz. A three-parameter binomial approximation. J. Appl. Probab. 46, 2009.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from truecal import _kernel
from truecal.metrics._decisions import Absolute, Tolerance
from truecal.observations import Bools, CellSums, Floats, Ints


@dataclass(frozen=True, slots=True, eq=False)
class Coins:
    """Rows in cells as coins: their number, how many are positive, and the sums of q, q^2 and q^3.

    q is the probability of a positive, or of a negative where `upper` says so.
    """

    n: Ints
    pos: Ints
    sums: tuple[Floats, Floats, Floats]
    upper: Bools

    @classmethod
    def of(cls, cells: CellSums) -> Coins:
        """The coins that the cells' own scores make."""
        return cls(cells.n, cells.pos, (cells.s1, cells.s2, cells.s3), cells.upper)

    def tails(self, begin: Ints, end: Ints, *, computed: bool = False) -> tuple[Floats, Floats, Floats]:
        """P(X < k), P(X = k) and P(X > k) for the cells begin..end of each window and their k positives.

        `computed` takes no approximation, and each cell by itself; it is slow for windows of many rows.
        """
        return _kernel.window_tails(self.n, self.pos, self.sums, self.upper, begin, end, computed)[:3]

    def mid_p(self, begin: Ints, end: Ints) -> Floats:
        """The two-sided mid-p-value of each window.

        Outcomes are ordered by the smaller of P(X < k) + P(X = k) / 2 and P(X > k) + P(X = k) / 2. Those before k
        count in full, those beside it by half, so that the mean is 1/2 under the predictions, however few outcomes
        are likely. From a variance of 5 on it is twice that smaller tail.
        """
        return _kernel.window_tails(self.n, self.pos, self.sums, self.upper, begin, end, False)[3]

    def between(self, begin: int, end: int) -> Coins:
        """The cells begin..end alone."""
        part = slice(begin, end)
        s1, s2, s3 = (column[part] for column in self.sums)
        return Coins(self.n[part], self.pos[part], (s1, s2, s3), self.upper[part])

    def pooled(self) -> Coins:
        """Neighbouring cells together, as long as their variance grows by at most 2^-24 of itself if they are taken as
        coins of their mean: fewer coins of the same sums."""
        begin = _kernel.pool_starts(self.n, self.sums, self.upper)
        n, pos, s1, s2, s3 = (np.add.reduceat(column, begin) for column in (self.n, self.pos, *self.sums))
        return Coins(n, pos, (s1, s2, s3), self.upper[begin])

    @property
    def expected(self) -> float:
        """The mean of X."""
        return float(np.sum(np.where(self.upper, self.n - self.sums[0], self.sums[0])))

    @property
    def v(self) -> float:
        """The variance of X."""
        return float(np.sum(self.sums[0] - self.sums[1]))

    def moved(self, tolerance: Tolerance, up: bool) -> Coins:
        """Every cell at its mean probability raised or lowered by a tolerance, within [0, 1]."""
        q = self.sums[0] / self.n
        p, rest = np.where(self.upper, 1 - q, q), np.where(self.upper, q, 1 - q)
        step = tolerance.value * (1.0 if isinstance(tolerance, Absolute) else p) * (1 if up else -1)
        return self._at(np.clip(np.where(self.upper, rest - step, p + step), 0.0, 1.0))

    def with_odds(self, factor: float) -> Coins:
        """Every cell at its mean probability with the odds multiplied by a factor."""
        q = self.sums[0] / self.n
        # p' = f p / (1 - p + f p); the upper ones' 1 - p' = q / (q + f (1 - q))
        return self._at(np.where(self.upper, q / (q + factor * (1 - q)), factor * q / (1 - q + factor * q)))

    def _at(self, q: Floats) -> Coins:
        return Coins(self.n, self.pos, (self.n * q, self.n * q**2, self.n * q**3), self.upper)


@dataclass(frozen=True, slots=True)
class OddsFactor:
    """The factor on the odds of all predictions that the positives speak for, with its exact interval.

    `value` makes as many positives expected as came; `low` and `high` are the factors at which P(X >= k) and
    P(X <= k) are half of one minus the confidence (Clopper and Pearson's construction). `ratio`, `ratio_low` and
    `ratio_high` are the same three as positives expected over those expected without a factor.
    """

    value: float
    low: float
    high: float
    ratio: float
    ratio_low: float
    ratio_high: float


def find_odds_factor(coins: Coins, significance: float) -> OddsFactor:
    """The factor on the odds of all these coins, with the interval of confidence 1 - significance.

    Coins of probability 0 and 1 have no odds; they count as expected, with what came of the others.
    """
    open_ = coins.sums[0] > 0
    certain = coins.expected
    coins = Coins(
        coins.n[open_],
        coins.pos[open_],
        (coins.sums[0][open_], coins.sums[1][open_], coins.sums[2][open_]),
        coins.upper[open_],
    )
    certain = max(0.0, certain - coins.expected)
    k, n = int(coins.pos.sum()), int(coins.n.sum())
    if n == 0:
        one = 1.0 if certain > 0 else math.nan
        return OddsFactor(math.nan, 0.0, math.inf, one, one, one)
    coins = coins.pooled()
    begin, end = np.array([0]), np.array([len(coins.n)])

    def tail(log_factor: float, above: bool) -> float:
        factor = math.exp(min(max(log_factor, -700.0), 700.0))
        below, at, beyond = coins.with_odds(factor).tails(begin, end)
        return math.log(max(float(at[0] + (beyond if above else below)[0]), 5e-324))

    goal = math.log(significance / 2)
    middle = -math.inf if k == 0 else math.inf if k == n else _find_mean(coins, k)
    step = 2 / math.sqrt(max(coins.v, 0.5))
    low = -math.inf if k == 0 else find_root(lambda t: tail(t, True) - goal, min(middle, 36.0), -step)
    high = math.inf if k == n else find_root(lambda t: goal - tail(t, False), max(middle, -36.0), step)
    total = coins.expected + certain

    def ratio(log_factor: float) -> float:
        if math.isinf(log_factor):
            return ((n if log_factor > 0 else 0) + certain) / total
        return (coins.with_odds(math.exp(log_factor)).expected + certain) / total

    return OddsFactor(*(_exp(t) for t in (middle, low, high)), *(ratio(t) for t in (middle, low, high)))


def _exp(t: float) -> float:
    return math.inf if t > 700 else math.exp(t)


def _find_mean(coins: Coins, k: int) -> float:
    """The log-factor that makes k positives expected: Newton's method, whose derivative is the variance."""
    t = 0.0
    for _ in range(100):
        moved = coins.with_odds(math.exp(t))
        step = (k - moved.expected) / max(moved.v, 1e-300)
        t = min(max(t + min(max(step, -2.0), 2.0), -36.0), 36.0)
        if abs(step) < 1e-10:
            break
    return t


def find_root(f: Callable[[float], float], start: float, step: float) -> float:
    """The root of an increasing function, from a point on one side of it towards the other (Illinois' rule); infinite
    beyond 700."""
    a, fa = start, f(start)
    b, fb = a + step, f(a + step)
    while fa * fb > 0 and abs(b) < 700:
        a, fa, step = b, fb, step * 1.6
        b, fb = a + step, f(a + step)
    if fa * fb > 0:
        return math.copysign(math.inf, step)
    side = 0
    for _ in range(60):
        c = (a * fb - b * fa) / (fb - fa) if fb != fa else (a + b) / 2
        fc = f(c)
        if abs(fc) < 1e-9 or abs(b - a) < 1e-12 * (1 + abs(a)):
            return c
        if fc * fb > 0:
            b, fb = c, fc
            fa = fa / 2 if side == 1 else fa
            side = 1
        else:
            a, fa = c, fc
            fb = fb / 2 if side == -1 else fb
            side = -1
    return (a + b) / 2
