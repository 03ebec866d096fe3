"""The Poisson-binomial number of positives: tails, and the common odds ratio with its confidence interval.

X is the sum of independent Bernoulli(p), one for each row of some neighbouring cells. Its tails are those of

- the binomial of real size with the same mean and variance, p~ = S2 / S1 and n~ = S1^2 / S2 with S1 = sum of p and S2
  = sum of p^2 (1 - p if the mean exceeds half of the rows), by the incomplete beta function. With the third
  cumulants k3 = sum of p (1 - p)(1 - 2 p) of X and k3~ of the binomial, |k3 - k3~| / (15 v^1.5) predicts the error of
  its distribution function; it is used if that is below 5e-4, the variance v is at least 5, and there are more than 64
  rows (five rows of 0.5 have a size n~ below 5 and would leave no mass at k = 5);
- else, from v = 70 on, the binomial shifted by a real number to match the third cumulant, too; its error is at most
  0.035 / v;
- else they are computed exactly; with more than 4,096 rows, rows of neighbouring cells are taken as rows of their mean
  as long as that makes the variance too large by at most 2^-24 of itself.

Equal probabilities (one cell) are always an exact binomial. If rows are in clusters, tails are widened by the
design effect; see `_design`.

References
----------
Peköz, Röllin, Čekanavičius, Shwartz. A three-parameter binomial approximation. J. Appl. Probab. 46, 2009.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from truecal import _kernel
from truecal.data import NO_SAMPLING, Bools, CellGroups, Cells, Floats, Ints, PowerSums, Sampling
from truecal.metrics._decisions import Absolute, Tolerance
from truecal.metrics._design import Design, Spread


class PoissonBinomial(NamedTuple):
    """The number of positives in any run of cells: the sum of independent Bernoulli variables, one for each row.

    Cells have their rows, how many of these are positive, and the sums of q, q^2 and q^3.

    q is the probability of a positive, or of a negative in `upper` cells. `design` has the correlation within clusters,
    if rows are in clusters.
    """

    n: Ints
    pos: Ints
    sums: PowerSums
    upper: Bools
    sampling: Sampling = NO_SAMPLING
    design: Design | None = None

    @classmethod
    def of(cls, cells: Cells) -> PoissonBinomial:
        """Take the distribution under the scores of cells."""
        design = None if cells.clusters is None else Design.of(CellGroups.of([cells]))
        return cls(cells.n, cells.pos, cells.powers, cells.upper, cells.sampling, design)

    @classmethod
    def in_groups(cls, groups: CellGroups) -> PoissonBinomial:
        """Take the distribution of several groups of rows, concatenated."""
        cells = groups.cells
        return cls(cells.n, cells.pos, cells.powers, cells.upper, cells.sampling, Design.of(groups))

    def tails(
        self, begin: Ints, end: Ints, cuts: Ints | None = None, *, computed: bool = False
    ) -> tuple[Floats, Floats, Floats]:
        """Return P(X < k), P(X = k) and P(X > k) for the cells begin..end of each window and their k positives.

        The last bits depend on the windows that overlap, which are computed together: `cuts` keep those before a place
        apart from those after it. `computed` uses no approximation; it is slow for windows of many rows.
        """
        runs = [(begin, end)] if cuts is None else zip(np.split(begin, cuts), np.split(end, cuts), strict=True)
        found = [_kernel.window_tails(self.n, self.pos, self.sums, self.upper, *run, computed)[:3] for run in runs]
        below, at, above = found[0] if cuts is None else map(np.concatenate, zip(*found, strict=True))
        if self.design is None:
            return below, at, above
        spread = self.design.known_spread(begin, end)
        fewer, alone = below < above, spread.effect <= 1
        side = np.where(fewer, below, above)  # the smaller tail, without k; below it is widened with k and without
        reach, beyond = (spread.apply(tail) for tail in (side + at, side))
        below = np.where(alone, below, np.where(fewer, beyond, 1 - reach))
        above = np.where(alone, above, np.where(fewer, 1 - reach, beyond))
        return below, np.where(alone, at, reach - beyond), above

    def mid_p(self, begin: Ints, end: Ints) -> Floats:
        """Return the two-sided mid-p-value of each window.

        Outcomes are ordered by the smaller of P(X < k) + P(X = k) / 2 and P(X > k) + P(X = k) / 2. Those before k
        count in full, those beside it by half, so that the mean is 1/2 under the predictions, however few outcomes
        are likely. From a variance of 5 on it is twice that smaller tail.
        """
        mid_p = _kernel.window_tails(self.n, self.pos, self.sums, self.upper, begin, end, False)[3]
        if self.design is None:
            return mid_p
        return self.design.spread(begin, end).p_values(mid_p)

    def sides(self, tolerance: Tolerance | None) -> list[PoissonBinomial]:
        """Return the distributions against which windows are tested as too low and as too high; one without a
        tolerance."""
        if tolerance is None or tolerance.value == 0:
            return [self]
        return [self.moved(tolerance, up=True), self.moved(tolerance, up=False)]

    def moved(self, tolerance: Tolerance, up: bool) -> PoissonBinomial:
        """Return the distribution with every cell at its mean probability raised or lowered by a tolerance.

        The tolerance applies to predictions for the population. Probabilities stay within [0, 1].
        """
        moved = shift_probabilities(self.sums[0] / self.n, self.upper, self.sampling, tolerance, up)
        return self._replace(sums=PowerSums(self.n * moved, self.n * moved**2, self.n * moved**3))


def shift_probabilities(q: Floats, upper: Bools, sampling: Sampling, tolerance: Tolerance, up: bool) -> Floats:
    """Return q with predictions raised or lowered by a tolerance, within [0, 1]; q is of a negative in upper cells."""
    p, rest = np.where(upper, 1 - q, q), np.where(upper, q, 1 - q)
    if not sampling.plain:
        p = sampling.to_population(p)
    step = tolerance.value * (1.0 if isinstance(tolerance, Absolute) else p) * (1 if up else -1)
    if sampling.plain:
        return np.asarray(np.clip(np.where(upper, rest - step, p + step), 0.0, 1.0))
    moved = sampling.to_sampled(np.clip(p + step, 0.0, 1.0))
    return np.asarray(np.where(upper, 1 - moved, moved))


@dataclass(frozen=True, slots=True)
class OddsRatio:
    """The common odds ratio on all predictions, with its exact confidence interval, and O/E with its own.

    With `value` the expected positives equal the observed ones. `low` and `high` are the odds ratios at which
    P(X >= k) and P(X <= k) are half of one minus the confidence (Clopper and Pearson's construction). `ratio`,
    `ratio_low` and `ratio_high` are the expected positives at these three over those of the predictions.
    """

    value: float
    low: float
    high: float
    ratio: float
    ratio_low: float
    ratio_high: float


def find_odds_ratios(positives: PoissonBinomial, begin: Ints, end: Ints, significance: float) -> list[OddsRatio]:
    """Return the common odds ratio of each window begin..end, with the interval of confidence 1 - significance.

    Rows of probability 0 and 1 have no odds: their labels are taken as predicted, those of the others as observed.
    """
    spread = Spread(np.ones(len(begin)), np.full(len(begin), np.inf))
    if positives.design is not None:
        spread = positives.design.spread(begin, end)
    windows = begin, end, significance, spread.effect, spread.freedom
    columns = _kernel.odds_factors(positives.n, positives.pos, positives.sums, positives.upper, *windows)
    return [OddsRatio(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]
