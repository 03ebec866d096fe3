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
much as those of single windows add up to, and log e of the stream is divided by G. It is found from the pairs of rows
of a sample of clusters, those with the smallest hashes, as the design effect is (see `truecal.metrics`). Where nobody
comes again, G is 1. Predictions that are wrong for all look alike only as far as there are different clusters.

With a tolerance a bet upwards plays against predictions that are raised by it, a bet downwards against lowered ones.

References
----------
Ramdas, Grünwald, Vovk, Shafer. Game-theoretic statistics and safe anytime-valid inference. Statist. Sci. 38, 2023.
Shin, Ramdas, Rinaldo. E-detectors: a nonparametric framework for sequential change detection. NEJSDS 2, 2024.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Literal

import numpy as np

from truecal.metrics import CORRELATION, PAIRS, Coins, Design, Tolerance
from truecal.observations import CellGroups, CellSums, Floats, Ints

SHIFTS = (0.05, 0.1, 0.2, 0.4, -0.05, -0.1, -0.2, -0.4)
BETS = len(SHIFTS) * 2  # of the level, then of the slope
YEAR = 365  # windows
SAMPLE = 300  # clusters that are remembered
HALF = 0.5
Turn = Literal["too low", "too high", "too timid", "too bold"]


@dataclass(frozen=True, slots=True, eq=False)
class Regulars:
    """A sample of the clusters of a stream, those with the smallest hashes, and what each came to.

    Sums over its rows in all windows of r = y - p, of sqrt(v) and of v = p (1 - p); and sums over the windows of the
    squares of what each of these is in one.
    """

    hashes: Ints
    residual: Floats
    root: Floats
    v: Floats
    residual_squares: Floats
    root_squares: Floats
    v_squares: Floats

    @classmethod
    def of(cls, cells: CellSums) -> Regulars | None:
        """The clusters of one window; None where rows are independent."""
        clusters = cells.clusters
        if clusters is None or clusters.hashes is None:
            return None
        p, n = cells.p[clusters.cell], clusters.n.astype(np.float64)
        v = p * (1 - p)
        sums = [clusters.add(column)[:SAMPLE] for column in (clusters.pos - n * p, n * np.sqrt(v), n * v)]
        return cls(clusters.hashes[:SAMPLE], *sums, *(column**2 for column in sums))

    def add(self, other: Regulars | None) -> Regulars:
        """With the clusters of another window: one below the largest hash of a full sample was never left out."""
        if other is None:
            return self
        hashes, place = np.unique(np.append(self.hashes, other.hashes), return_inverse=True)
        names = [each.name for each in fields(self)[1:]]
        pairs = (np.append(getattr(self, name), getattr(other, name)) for name in names)
        return Regulars(hashes[:SAMPLE], *(np.bincount(place, pair)[:SAMPLE].astype(np.float64) for pair in pairs))

    @property
    def beyond(self) -> float:
        """What pairs of rows of one cluster in two windows add to the variance of the surplus, over that of independent
        rows, and one standard error. An error of all predictions does not count."""
        total = max(float(self.v.sum()), 1e-300)
        pairs = float(np.sum(self.root**2 - self.root_squares))
        error = float(self.residual.sum()) / total
        each = self.residual**2 - self.residual_squares - error**2 * (self.v**2 - self.v_squares)
        seen = float(each.sum() + np.sqrt(np.sum((each - each.mean()) ** 2)))
        kept = 1 - float(np.sum(self.v**2)) / total**2  # the error takes the rest with it
        correlation = (seen / max(kept, HALF) + CORRELATION * PAIRS) / (max(pairs, 0.0) + PAIRS)
        return max(correlation * pairs / total, 0.0)


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
    regulars: Regulars | None = None

    @classmethod
    def of(cls, cells: CellSums, pivot: float, tolerance: Tolerance | None = None) -> WindowSums:
        """The sums of a window's rows. A row that contradicts a prediction of 0 or 1 is infinite evidence."""
        sides = np.where(cells.p >= pivot, 1.0, -1.0)
        surprise = np.where(cells.upper, cells.n - cells.pos, cells.pos)
        if surprise[cells.s1 == 0].any() and tolerance is None:
            log_e = np.full(BETS, np.inf)
        else:
            log_e = np.concatenate([_bet(cells, side, tolerance) for side in (np.ones(len(cells)), sides)])
        expected, tilt = float(cells.expected.sum()), float(np.sum(sides * cells.surplus))
        own = _find_effect(cells), Regulars.of(cells)
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
        regulars = sums.regulars if self.regulars is None else self.regulars.add(sums.regulars)
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
        words: tuple[Turn, Turn] = ("too timid", "too bold") if kind else ("too low", "too high")
        return words[SHIFTS[place] < 0]


def find_change(surplus: Floats, information: Floats, sign: int) -> int:
    """The window with which a change likely began, given the surplus of each window and its variance.

    Where the surplus S of all windows from it on has this sign and is largest in S^2 / V: the likeliest time of a
    lasting change of unknown size.
    """
    s, v = (np.cumsum(column[::-1])[::-1] for column in (surplus, information))
    return int(np.argmax(np.where(sign * s > 0, s**2 / np.maximum(v, 1e-300), 0.0)))
