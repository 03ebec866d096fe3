"""Is a stream of predictions still right? Evidence that may be looked at after every window, for ever.

A bet d multiplies the odds of all predictions by e^d ("level"), or those from a pivot up by e^d and the others by e^-d
("slope"). Its evidence in a window is the likelihood ratio against the predictions,

    e_d = prod of e^(d y) / (1 + p (e^d - 1)),

whose mean is 1 if the predictions are right, whatever came before. A change may begin with any window: with weights
w_t that add up to 1 over all windows t = 1, 2, ...,

    A_d <- e_d (A_d + w_t),    w_t = 1/2 / (t (t + 1)) + 1/2 Y / ((t + Y - 1) (t + Y)),    Y = 365,

half of them for models that are wrong from the start, half for those that go wrong within about a year of days. (With
the first half alone, the evidence of a change on day 300 begins at e^-11; with both it begins at e^-8.)

The e-value is the mean of A_d over all bets. Its mean never exceeds 1 while the predictions are right, so that it
reaches 1 / a at any time with a probability of at most a (Ville's inequality). No number of looks and no rule for
stopping changes that.

Where rows share customers, patients or documents, log e_d is divided by the window's design effect D, or by the mean of
those so far if that is larger: e^(1 / D) of rows that go together has a mean of at most 1 where D is the size of a
cluster (Hölder), and about 1 at the effect itself.

Clusters that come again in later windows bring their own habits along: the surplus of all windows varies G times as
much as those of single windows add up to, and log e of the stream is divided by G. It is found from pairs of rows in
two windows of a sample of clusters, as the design effect is (see `truecal.metrics`). Where nobody comes again, G is 1.

With a tolerance a bet upwards plays against predictions that are raised by it, a bet downwards against lowered ones.

References
----------
Ramdas, Grünwald, Vovk, Shafer. Game-theoretic statistics and safe anytime-valid inference. Statist. Sci. 38, 2023.
Shin, Ramdas, Rinaldo. E-detectors: a nonparametric framework for sequential change detection. NEJSDS 2, 2024.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from truecal.metrics import CORRELATION, PAIRS, Coins, Design, Tolerance
from truecal.observations import CellGroups, CellSums, Floats, Ints

SHIFTS = (0.05, 0.1, 0.2, 0.4, -0.05, -0.1, -0.2, -0.4)
BETS = len(SHIFTS) * 2  # of the level, then of the slope
YEAR = 365  # windows
VISITORS = 500  # clusters of a window that are looked at
NEWCOMERS, REGULARS = 200, 200  # clusters that are remembered: seen once, and again
Turn = Literal["too low", "too high", "too timid", "too extreme"]


@dataclass(frozen=True, slots=True, eq=False)
class Visitors:
    """The clusters of one window, those with the smallest hashes: sums over their rows of r = y - p, of sqrt(v) and of
    v = p (1 - p). `reach` is the share of all hashes that lie below those left out; `total` has r and v of all rows."""

    hashes: Ints
    sums: Floats  # three rows
    reach: float
    total: tuple[float, float]

    @classmethod
    def of(cls, cells: CellSums) -> Visitors | None:
        """Those of a window's rows; None where these are independent."""
        clusters = cells.clusters
        if clusters is None or clusters.hashes is None:
            return None
        p, n = cells.p[clusters.cell], clusters.n.astype(np.float64)
        v = p * (1 - p)
        sums = np.stack([clusters.add(column) for column in (clusters.pos - n * p, n * np.sqrt(v), n * v)])
        hashes, total = clusters.hashes, (float(sums[0].sum()), float(sums[2].sum()))
        reach = 1.0 if len(hashes) <= VISITORS else float(_share_below(hashes[VISITORS : VISITORS + 1])[0])
        return cls(hashes[:VISITORS], sums[:, :VISITORS], reach, total)


@dataclass(frozen=True, slots=True, eq=False)
class Regulars:
    """A sample of the clusters of a stream: some that were seen once, and some that came again.

    `sums` are those of `Visitors` over all windows, `squares` the sums of their squares over the windows, and `windows`
    says how many each came in. `chance` is that of a cluster which came again to be in the sample: its hash must lie
    below `once`, as it then was, to be remembered at first, and below `again` to be kept. `total` is as in `Visitors`.
    """

    hashes: Ints
    sums: Floats
    squares: Floats
    windows: Ints
    chance: Floats
    once: float = 1.0
    again: float = 1.0
    total: tuple[float, float] = (0.0, 0.0)

    @classmethod
    def start(cls) -> Regulars:
        """Nobody yet."""
        none = np.zeros(0, np.int64)
        return cls(none, np.zeros((3, 0)), np.zeros((3, 0)), none, np.zeros(0))

    def add(self, new: Visitors) -> Regulars:
        """With the clusters of one more window."""
        once, again = min(self.once, new.reach), min(self.again, new.reach)
        joins = np.isin(new.hashes, self.hashes) | (_share_below(new.hashes) < once)
        hashes, place = np.unique(np.append(self.hashes, new.hashes[joins]), return_inverse=True)
        old, seen = place[: len(self.hashes)], place[len(self.hashes) :]
        sums, squares = np.zeros((3, len(hashes))), np.zeros((3, len(hashes)))
        windows, chance = np.zeros(len(hashes), np.int64), np.zeros(len(hashes))
        sums[:, old], squares[:, old], windows[old], chance[old] = self.sums, self.squares, self.windows, self.chance
        sums[:, seen] += new.sums[:, joins]
        squares[:, seen] += new.sums[:, joins] ** 2
        windows[seen] += 1
        chance[(windows > 1) & (chance == 0)] = once
        share = _share_below(hashes)  # in increasing order, as the hashes are
        first, later = (windows == 1) & (share < once), (windows > 1) & (share < again)
        if np.sum(first) > NEWCOMERS:
            once = float(share[first][NEWCOMERS])
        if np.sum(later) > REGULARS:
            again = float(share[later][REGULARS])
        kept = (first & (share < once)) | (later & (share < again))
        total = self.total[0] + new.total[0], self.total[1] + new.total[1]
        columns = hashes[kept], sums[:, kept], squares[:, kept], windows[kept], np.minimum(chance, again)[kept]
        return Regulars(*columns, once, again, total)

    @property
    def beyond(self) -> float:
        """What pairs of rows of one cluster in two windows add to the variance of the surplus, over that of independent
        rows, and one standard error. An error of all predictions does not count."""
        came = self.windows > 1
        if not came.any():
            return 0.0
        weight, (surplus, total) = 1 / self.chance[came], self.total
        residual, root, v = self.sums[:, came] ** 2 - self.squares[:, came]
        error = surplus / max(total, 1e-300)
        each = residual - error**2 * v
        mean = np.sum(weight * each) / weight.sum()
        seen = float(np.sum(weight * each) + np.sqrt(np.sum((weight * (each - mean)) ** 2)))
        pairs = max(float(np.sum(weight * root)), 0.0)
        kept = 1 - float(np.sum(weight * self.sums[2, came] ** 2)) / max(total, 1e-300) ** 2
        correlation = (seen / max(kept, 0.5) + CORRELATION * PAIRS) / (
            pairs + PAIRS
        )  # the error takes the rest with it
        return max(correlation * pairs / max(total, 1e-300), 0.0)


def _share_below(hashes: Ints) -> Floats:
    """The share of all hashes of 64 bits that lie below each."""
    return np.asarray(hashes.astype(np.float64) / 2.0**64 + 0.5)


@dataclass(frozen=True, slots=True, eq=False)
class WindowSums:
    """What a window of time adds to the evidence.

    Rows, positives and those predicted; `information`, the sum of p (1 - p); `tilt`, the surplus of positives from the
    pivot up less that below it; each bet's log e; `effect`, the design effect of rows in clusters, and a sample of
    these.
    """

    n: int
    observed: int
    expected: float
    information: float
    tilt: float
    log_e: Floats
    effect: float = 1.0
    visitors: Visitors | None = None

    @classmethod
    def of(cls, cells: CellSums, pivot: float, tolerance: Tolerance | None = None) -> WindowSums:
        """The sums of a window's rows. A row that contradicts a prediction of 0 or 1 is infinite evidence."""
        sides = np.where(cells.p >= pivot, 1.0, -1.0)
        surprise = np.where(cells.upper, cells.n - cells.pos, cells.pos)
        if surprise[cells.certain].any() and tolerance is None:
            log_e = np.full(BETS, np.inf)
        else:
            log_e = np.concatenate([_bet(cells, side, tolerance) for side in (np.ones(len(cells)), sides)])
        expected, tilt = float(cells.expected.sum()), float(np.sum(sides * cells.surplus))
        own = _find_effect(cells), Visitors.of(cells)
        return cls(cells.n_rows, cells.positives, expected, float(cells.v.sum()), tilt, log_e, *own)


def _find_effect(cells: CellSums) -> float:
    """The design effect of a window's rows; 1 where they are independent."""
    design = Design.of(CellGroups.of([cells]))
    return 1.0 if design is None else float(design.effect[0])


def find_pivot(cells: CellSums) -> float:
    """The score that halves the information; it is found without a look at the labels."""
    running = np.cumsum(cells.v)
    return float(cells.p[np.searchsorted(running, running[-1] / 2)])


def _bet(cells: CellSums, side: Floats, tolerance: Tolerance | None) -> Floats:
    """log e of each shift, on the odds of cells whose side is 1, and the other way where it is -1."""
    plain = Coins.of(cells)
    coins = [plain, plain] if tolerance is None else [plain.moved(tolerance, up=True), plain.moved(tolerance, up=False)]
    up, down = (each.sums[0] / each.n for each in coins)
    found = []
    for shift in SHIFTS:
        d = shift * side
        q = np.where(d > 0, up, down)
        # of the rarer outcome, so that scores near 1 lose no digits: e^d y - log(1 + p (e^d - 1))
        own, came = np.where(cells.upper, -d, d), np.where(cells.upper, cells.n - cells.pos, cells.pos)
        found.append(float(np.sum(own * came - cells.n * np.log1p(q * np.expm1(own)))))
    return np.array(found)


def weigh_start(window: int) -> float:
    """The weight of a change that begins with this window, the first being 1; all of them add up to 1.

    Examples
    --------
    >>> round(sum(map(weigh_start, range(1, 100_001))), 2)
    1.0
    """
    later = window + YEAR
    return 0.5 / (window * (window + 1)) + 0.5 * YEAR / ((later - 1) * later)


@dataclass(frozen=True, slots=True, eq=False)
class Process:
    """The evidence of a stream after some windows: log A of each bet, the sum of the windows' design effects, and a
    sample of the clusters."""

    count: int
    log_a: Floats
    effects: float = 0.0
    regulars: Regulars | None = None

    @classmethod
    def start(cls) -> Process:
        """The evidence before the first window: none."""
        return cls(0, np.full(BETS, -np.inf))

    def step(self, sums: WindowSums) -> Process:
        """The evidence after one more window."""
        count, effects = self.count + 1, self.effects + sums.effect
        # a window of few clusters tells little about its effect: at least the mean of all so far
        log_e = sums.log_e / max(sums.effect, effects / count)
        regulars = self.regulars
        if sums.visitors is not None:
            regulars = (Regulars.start() if regulars is None else regulars).add(sums.visitors)
        return Process(count, log_e + np.logaddexp(self.log_a, math.log(weigh_start(count))), effects, regulars)

    @property
    def growth(self) -> float:
        """G, by which log e is divided where clusters come again; 1 where none does."""
        return 1.0 if self.regulars is None else 1 + self.regulars.beyond * self.count / self.effects

    @property
    def e_value(self) -> float:
        """The mean of A over the bets, to the power of 1 / G."""
        highest = float(self.log_a.max())
        if math.isinf(highest):
            return math.exp(highest)
        log_mean = highest + math.log(float(np.mean(np.exp(self.log_a - highest))))
        return math.exp(min(log_mean / self.growth, 700.0))

    @property
    def turn(self) -> Turn:
        """What the bet with the most evidence says of the predictions."""
        kind, place = divmod(int(np.argmax(self.log_a)), len(SHIFTS))
        words: tuple[Turn, Turn] = ("too timid", "too extreme") if kind else ("too low", "too high")
        return words[SHIFTS[place] < 0]


def find_change(surplus: Floats, information: Floats, sign: int) -> int:
    """The window with which a change likely began, given the surplus of each window and its variance.

    Where the surplus S of all windows from it on has this sign and is largest in S^2 / V: the likeliest time of a
    lasting change of unknown size.
    """
    s, v = (np.cumsum(column[::-1])[::-1] for column in (surplus, information))
    return int(np.argmax(np.where(sign * s > 0, s**2 / np.maximum(v, 1e-300), 0.0)))
