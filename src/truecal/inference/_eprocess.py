"""Sequential evidence of miscalibration: an e-process that stays valid after every period, however long it runs.

A bet d multiplies the odds of all predictions by e^d ("level"), or those from a pivot up by e^d and the others by e^-d
("slope"). Its evidence in a period is the likelihood ratio against the predictions,

    e_d = prod of e^(d y) / (1 + p (e^d - 1)),

whose mean is 1 if the predictions are calibrated, given everything observed before. A change may begin with any period:
with weights w_t that add up to 1 over all periods t = 1, 2, ...,

    A_d <- e_d (A_d + w_t),    w_t = 1/2 / (t (t + 1)) + 1/2 Y / ((t + Y - 1) (t + Y)),    Y = 365,

half of them for models that are miscalibrated from the start, half for those that change within about a year of days.
(With the first half alone, the evidence of a change on day 300 begins at e^-11; with both it begins at e^-8.)

The e-value is the mean of A_d over all bets. Its mean never exceeds 1 while the predictions are calibrated, so that it
ever reaches 1 / a with a probability of at most a (Ville's inequality), whatever the number of updates and whatever the
stopping rule.

If rows share customers, patients or documents, log e_d is divided by the period's design effect D, or by the mean of
those so far if that is larger: e^(1 / D) of correlated rows has a mean of at most 1 if D is the size of a cluster
(Hölder), and about 1 at the effect itself.

Clusters that recur in later periods bring their effects along: the surplus of all periods varies G times as much as
those of single periods add up to, and log e of the series is divided by G. It is estimated from pairs of rows in two
periods of a sample of clusters, as the design effect is (see `truecal.metrics`). If no cluster recurs, G is 1.

With a tolerance, a bet upwards is made against predictions raised by it, a bet downwards against lowered ones.

References
----------
Ramdas, Grünwald, Vovk, Shafer. Game-theoretic statistics and safe anytime-valid inference. Statist. Sci. 38, 2023.
Shin, Ramdas, Rinaldo. E-detectors: a nonparametric framework for sequential change detection. NEJSDS 2, 2024.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from truecal.data import CellGroups, Cells, Floats, Ints
from truecal.metrics import PRIOR_CORRELATION, PRIOR_PAIRS, TINY, Design, Direction, PoissonBinomial, Tolerance

# log odds ratios of the bets, about a factor of 2 apart: a bet within a factor of 1.4 of the true shift keeps most of
# its growth, and beyond 0.4 (odds times 1.5) any bet wins within a few periods
SHIFTS = (0.05, 0.1, 0.2, 0.4, -0.05, -0.1, -0.2, -0.4)
BETS = len(SHIFTS) * 2  # bets on the level, then on the slope
YEAR = 365  # periods over which the second half of the weights is about even: daily periods of one year
PERIOD_SAMPLE = 500  # clusters of a period that are examined, those with the smallest hashes
# clusters that are remembered, so that a state file stays small: those seen in one period, and those that recurred
SINGLE_SAMPLE, REPEAT_SAMPLE = 200, 200


@dataclass(frozen=True, slots=True, eq=False)
class PeriodClusters:
    """A sample of the clusters of one period, those with the smallest hashes.

    `sums` holds the sums over a cluster's rows of r = y - p, of sqrt(v) and of v = p (1 - p). `reach` is the share of
    all hashes that lie below those left out; `total` has r and v of all rows.
    """

    hashes: Ints
    sums: Floats  # three rows
    reach: float
    total: tuple[float, float]

    @classmethod
    def of(cls, cells: Cells) -> PeriodClusters | None:
        """Sample the clusters of a period's rows; None if the rows are independent."""
        clusters = cells.clusters
        if clusters is None:
            return None
        p, n = cells.p[clusters.position], clusters.n.astype(np.float64)
        v = p * (1 - p)
        sums = np.stack([clusters.add(column) for column in (clusters.pos - n * p, n * np.sqrt(v), n * v)])
        hashes, total = clusters.hashes, (float(sums[0].sum()), float(sums[2].sum()))
        reach = (
            1.0 if len(hashes) <= PERIOD_SAMPLE else float(_share_below(hashes[PERIOD_SAMPLE : PERIOD_SAMPLE + 1])[0])
        )
        return cls(hashes[:PERIOD_SAMPLE], sums[:, :PERIOD_SAMPLE], reach, total)


@dataclass(frozen=True, slots=True, eq=False)
class RepeatClusters:
    """A sample of the clusters of a series: some that were seen in one period, and some that recurred.

    `sums` are those of `PeriodClusters` over all periods, `squares` the sums of their squares over the periods, and
    `periods` the number of periods of each. `chance` is the inclusion probability of a recurring cluster: its hash must
    lie below `once`, as it was then, to be remembered at first, and below `again` to be kept. `total` is as in
    `PeriodClusters`.
    """

    hashes: Ints
    sums: Floats
    squares: Floats
    periods: Ints
    chance: Floats
    once: float = 1.0
    again: float = 1.0
    total: tuple[float, float] = (0.0, 0.0)

    @classmethod
    def start(cls) -> RepeatClusters:
        """Return an empty sample."""
        none = np.zeros(0, np.int64)
        return cls(none, np.zeros((3, 0)), np.zeros((3, 0)), none, np.zeros(0))

    def add(self, new: PeriodClusters) -> RepeatClusters:
        """Return the sample with the clusters of one more period."""
        once, again = min(self.once, new.reach), min(self.again, new.reach)
        joins = np.isin(new.hashes, self.hashes) | (_share_below(new.hashes) < once)
        hashes, rank = np.unique(np.append(self.hashes, new.hashes[joins]), return_inverse=True)
        old, current = rank[: len(self.hashes)], rank[len(self.hashes) :]
        sums, squares = np.zeros((3, len(hashes))), np.zeros((3, len(hashes)))
        periods, chance = np.zeros(len(hashes), np.int64), np.zeros(len(hashes))
        sums[:, old], squares[:, old], periods[old], chance[old] = self.sums, self.squares, self.periods, self.chance
        sums[:, current] += new.sums[:, joins]
        squares[:, current] += new.sums[:, joins] ** 2
        periods[current] += 1
        chance[(periods > 1) & (chance == 0)] = once
        share = _share_below(hashes)  # in increasing order, as the hashes are
        first, later = (periods == 1) & (share < once), (periods > 1) & (share < again)
        if np.sum(first) > SINGLE_SAMPLE:
            once = float(share[first][SINGLE_SAMPLE])
        if np.sum(later) > REPEAT_SAMPLE:
            again = float(share[later][REPEAT_SAMPLE])
        kept = (first & (share < once)) | (later & (share < again))
        total = self.total[0] + new.total[0], self.total[1] + new.total[1]
        columns = hashes[kept], sums[:, kept], squares[:, kept], periods[kept], np.minimum(chance, again)[kept]
        return RepeatClusters(*columns, once, again, total)

    @property
    def beyond(self) -> float:
        """The variance that pairs of rows of one cluster in two periods add, relative to independent rows.

        One standard error is added. An error common to all predictions does not count.
        """
        recurs = self.periods > 1
        if not recurs.any():
            return 0.0
        weight, (surplus, total) = 1 / self.chance[recurs], self.total
        residual, root, v = self.sums[:, recurs] ** 2 - self.squares[:, recurs]
        error = surplus / max(total, TINY)
        covariance = residual - error**2 * v
        mean = np.sum(weight * covariance) / weight.sum()
        upper = float(np.sum(weight * covariance) + np.sqrt(np.sum((weight * (covariance - mean)) ** 2)))
        pairs = max(float(np.sum(weight * root)), 0.0)
        # the common error is estimated from the same rows and removes this share of the covariance with it
        kept = 1 - float(np.sum(weight * self.sums[2, recurs] ** 2)) / max(total, TINY) ** 2
        correlation = (upper / max(kept, 0.5) + PRIOR_CORRELATION * PRIOR_PAIRS) / (pairs + PRIOR_PAIRS)
        return max(correlation * pairs / max(total, TINY), 0.0)


def _share_below(hashes: Ints) -> Floats:
    """The share of all hashes of 64 bits that lie below each."""
    return np.asarray(hashes.astype(np.float64) / 2.0**64 + 0.5)


@dataclass(frozen=True, slots=True, eq=False)
class PeriodSums:
    """What one period adds to the evidence.

    Rows, observed and expected positives; `information`, the sum of p (1 - p); `slope_surplus`, the surplus of
    positives from the pivot up less that below it; each bet's log e; `effect`, the design effect of rows in clusters,
    and a sample of these.
    """

    n: int
    observed: int
    expected: float
    information: float
    slope_surplus: float
    log_e: Floats
    effect: float = 1.0
    clusters: PeriodClusters | None = None

    @classmethod
    def of(cls, cells: Cells, pivot: float, tolerance: Tolerance | None = None) -> PeriodSums:
        """Sum a period's rows. A label that contradicts a prediction of exactly 0 or 1 is infinite evidence."""
        sides = np.where(cells.p >= pivot, 1.0, -1.0)
        surprise = np.where(cells.upper, cells.n - cells.pos, cells.pos)
        if surprise[cells.certain].any() and tolerance is None:
            log_e = np.full(BETS, np.inf)
        else:
            log_e = _bet(cells, sides, tolerance)
        return cls(
            n=cells.n_rows,
            observed=cells.positives,
            expected=float(cells.expected.sum()),
            information=float(cells.v.sum()),
            slope_surplus=float(np.sum(sides * cells.surplus)),
            log_e=log_e,
            effect=_find_effect(cells),
            clusters=PeriodClusters.of(cells),
        )


def _find_effect(cells: Cells) -> float:
    """Return the design effect of a period's rows; 1 if they are independent."""
    design = Design.of(CellGroups.of([cells]))
    return 1.0 if design is None else float(design.effect[0])


def find_pivot(cells: Cells) -> float:
    """Return the score that halves the information; it does not depend on the labels, so that bets stay fair."""
    running = np.cumsum(cells.v)
    return float(cells.p[np.searchsorted(running, running[-1] / 2)])


def _bet(cells: Cells, sides: Floats, tolerance: Tolerance | None) -> Floats:
    """Return log e of each shift of the log-odds: of all cells, then upwards for those of side 1 and downwards for
    those of side -1."""
    plain = PoissonBinomial.of(cells)
    moved = [plain, plain] if tolerance is None else [plain.moved(tolerance, up=True), plain.moved(tolerance, up=False)]
    up, down = (positives.sums[0] / positives.n for positives in moved)
    shifts = np.array(SHIFTS)[:, np.newaxis]
    d = np.concatenate([np.broadcast_to(shifts, (len(SHIFTS), len(cells))), shifts * sides])
    # computed for the rarer outcome, so that scores near 1 lose no digits: d y - log(1 + p (e^d - 1))
    rare_d, rare = np.where(cells.upper, -d, d), np.where(cells.upper, cells.n - cells.pos, cells.pos)
    return np.asarray(np.sum(rare_d * rare - cells.n * np.log1p(np.where(d > 0, up, down) * np.expm1(rare_d)), axis=1))


def weigh_start(period: int) -> float:
    """Return the weight of a change that begins with this period, the first being 1; all weights add up to 1.

    Examples
    --------
    >>> round(sum(map(weigh_start, range(1, 100_001))), 2)
    1.0
    """
    later = period + YEAR
    return 0.5 / (period * (period + 1)) + 0.5 * YEAR / ((later - 1) * later)


@dataclass(frozen=True, slots=True, eq=False)
class Process:
    """The evidence of a series after some periods.

    It holds log A of each bet, the sum of the periods' design effects, and a sample of the clusters.
    """

    count: int
    log_a: Floats
    effects: float = 0.0
    clusters: RepeatClusters | None = None

    @classmethod
    def start(cls) -> Process:
        """Return the evidence before the first period: none."""
        return cls(0, np.full(BETS, -np.inf))

    def step(self, sums: PeriodSums) -> Process:
        """Return the evidence after one more period."""
        count, effects = self.count + 1, self.effects + sums.effect
        # a period of few clusters gives a poor estimate of its effect: at least the mean of all so far
        log_e = sums.log_e / max(sums.effect, effects / count)
        clusters = self.clusters
        if sums.clusters is not None:
            clusters = (RepeatClusters.start() if clusters is None else clusters).add(sums.clusters)
        return Process(count, log_e + np.logaddexp(self.log_a, math.log(weigh_start(count))), effects, clusters)

    @property
    def growth(self) -> float:
        """G, by which log e is divided if clusters recur; 1 if none does."""
        return 1.0 if self.clusters is None else 1 + self.clusters.beyond * self.count / self.effects

    @property
    def e_value(self) -> float:
        """The mean of A over the bets, to the power of 1 / G."""
        highest = float(self.log_a.max())
        if math.isinf(highest):
            return math.exp(highest)
        log_mean = highest + math.log(float(np.mean(np.exp(self.log_a - highest))))
        return math.exp(min(log_mean / self.growth, 700.0))  # the largest exponent that a double holds is 709

    @property
    def direction(self) -> Direction | None:
        """The direction of the bet with the most evidence; None if labels contradict certain predictions.

        These are infinite evidence for every bet, of no direction.
        """
        if math.isinf(self.log_a.max()):
            return None
        on_slope, shift = divmod(int(np.argmax(self.log_a)), len(SHIFTS))
        up, down = (
            (Direction.UNDERCONFIDENT, Direction.OVERCONFIDENT) if on_slope else (Direction.UNDER, Direction.OVER)
        )
        return up if SHIFTS[shift] > 0 else down


def find_change_point(surplus: Floats, information: Floats, sign: int) -> int:
    """Return the estimated change point, the index of a period, given the surplus of each period and its variance.

    It is the period from which on the surplus S has this sign and is largest in S^2 / V: the maximum-likelihood
    estimate for a lasting change of unknown size.
    """
    s, v = (np.cumsum(column[::-1])[::-1] for column in (surplus, information))
    return int(np.argmax(np.where(sign * s > 0, s**2 / np.maximum(v, TINY), 0.0)))
