"""The verdict: is this model right? One p-value from six tests with different eyes, and what it could have seen.

Nothing is drawn at random: the same data always give the same verdict. All of it is computed from cells (`CellSums`),
so rows, files and merged tallies agree; within a cell of 12 bits scores are taken as equal.

The parts, with X the Poisson-binomial number of positives and v = sum of p (1 - p), V that of all rows:

cox
    Intercept and slope of a logistic recalibration against 0 and 1: the score test, 2 degrees of freedom.
cumulative
    The range of the cumulative differences between labels and predictions over sqrt(V), against that of Brownian
    motion (ECCE-R).
total
    All positives, two-sided mid-p.
information
    A scan. Level L = 0, 1, ... cuts V into 2^(L + 1) equal parts at the ends of cells; each two neighbouring parts with
    v > 1 are a window, tested by its mid-p. Cauchy's mean within a level, then over levels.
rows
    The same scan with rows instead of v, for windows of at least max(20, N^(2/3) / 8) rows: it sees errors where
    predictions are near 0 or 1.
spread
    At each level of the first scan, the sum of (k - E X)^2 / v over the parts with v >= 4 against the gamma
    distribution with the same mean, variance and skewness, then Cauchy's mean over levels: it sees many small errors
    of which none stands out.

The parts' p-values, at most 0.99, are combined by Cauchy's rule; "spread" counts by half, since the errors that it
alone sees make it very small. The parts depend on each other, which makes the rule a little liberal at 0.05
(docs/inference.md has the measured size) and exact as p falls. Where V < 5 the three parts that rest on limits (cox,
cumulative, spread) are left out: few outcomes are possible, and the rest stays below its level. A positive at a
prediction of 0 or a negative at 1 is impossible: p = 0.

With a tolerance the question is whether the predictions are off by more than it. Two parts answer it, with every p
raised where positives are many and lowered where they are few: "total", and "windows", the smallest of Local TCE's
window p-values by Holm. The p-value is twice the smaller one.

References
----------
Cox. Two further applications of a model for binary regression. Biometrika 45, 1958.
Arrieta-Ibarra, Gujral, Tannen, Tygert, Xu. Metrics of calibration for probabilistic predictions. JMLR 23, 2022.
Liu, Xie. Cauchy combination test. JASA 115, 2020.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from truecal._text import about, plural
from truecal.inference._power import Shifted
from truecal.metrics import (
    Coins,
    LocalError,
    OddsFactor,
    ScoreRange,
    Tolerance,
    as_tolerance,
    check_significance,
    find_odds_factor,
    gamma_tail,
    local_error,
)
from truecal.observations import CellSums, Floats, Ints

Word = Literal["off", "consistent", "cannot tell"]
Outcome = Literal["positive", "correct"]
FACTOR = 1.5  # on all odds: what "consistent" rules out
ASYMPTOTIC = 5.0  # the least V at which limits are trusted
HIGHEST = 0.99  # a part's p-value, at most
WEIGHTS = {"spread": 0.5}  # the others' are 1
SMALLEST = 4.0  # the least v of a part whose square is summed
SIGNS: dict[Word, str] = {"off": "\N{MULTIPLICATION X}", "consistent": "\N{CHECK MARK}", "cannot tell": "?"}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the data say of a model.

    Parameters
    ----------
    word : "off", "consistent" or "cannot tell"
        Off: the p-value is at most the significance. Consistent: it is not, and a factor of 1.5 on all odds would
        have been found with a probability of 80 %. Cannot tell: neither.
    p_value : float
        Of "the predictions are right".
    significance : float
        The level at which the word was chosen.
    parts : dict
        Each test's own p-value, by name.
    n, observed, expected : int, int, float
        Rows, positives, and the positives that the predictions add up to.
    impossible : int
        Positives at a prediction of 0 and negatives at 1.
    factor : OddsFactor
        The factor on all odds that the positives speak for, and observed over expected, with exact intervals of
        confidence 1 - significance.
    detectable : float
        The factor on all odds, up or down, that would have been found with a probability of 80 %; infinite where
        none would.
    detectable_above, detectable_below : float
        The same for an error that is confined to a fifth of the evidence: odds multiplied, and odds divided by it.
    local : LocalError
        Local TCE: where, and how many predictions.
    tolerance : Tolerance, optional
        How far predictions may be off and still count as right.
    outcome : "positive" or "correct"
        What is counted: positives, or rows whose most probable class is the right one. Predictions are then the
        confidences in that class.

    Examples
    --------
    >>> import numpy as np
    >>> from truecal.observations import CellSums
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(0.5, 5, size=20_000)
    >>> y = rng.random(20_000) < p
    >>> judge(CellSums.from_arrays(y, p)).word
    'consistent'
    >>> judge(CellSums.from_arrays(y, np.where(p > 0.05, p / 2, p))).word
    'off'
    >>> judge(CellSums.from_arrays(np.zeros(300), np.full(300, 0.001))).word
    'cannot tell'
    """

    word: Word
    p_value: float
    significance: float
    parts: dict[str, float]
    n: int
    observed: int
    expected: float
    impossible: int
    factor: OddsFactor
    detectable: float
    detectable_above: float
    detectable_below: float
    local: LocalError
    tolerance: Tolerance | None = None
    outcome: Outcome = "positive"

    @property
    def ratio(self) -> float:
        """Observed over expected; NaN where neither is above 0."""
        if self.expected > 0:
            return self.observed / self.expected
        return math.inf if self.observed else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        """The exact interval of the ratio, under a common factor on all odds."""
        return self.factor.ratio_low, self.factor.ratio_high

    @property
    def ranges(self) -> tuple[ScoreRange, ...]:
        """Ranges of scores that are refuted the same way, whatever the number of windows, in increasing order."""
        return tuple(found for found in self.local.ranges if found.proven)

    @property
    def sign(self) -> str:
        """The word as a sign."""
        return SIGNS[self.word]

    @property
    def headline(self) -> str:
        """The word with its p-value: "off (p < 0.0001)"."""
        return f"{self.word} (p {format_p_value(self.p_value)})"

    def sentences(self) -> tuple[str, ...]:
        """The verdict in words: the headline first, then what supports it."""
        if self.word == "off":
            return (f"The model is off (p {format_p_value(self.p_value)}).", *_describe_error(self))
        if self.word == "consistent":
            beyond = "" if self.tolerance is None else " beyond the tolerance"
            return (
                f"No sign of error{beyond}.",
                f"{self._ratio(self)}.",
                f"A factor of {FACTOR:g} on all odds would have been found; one confined to a fifth of the evidence "
                f"only if above x {self.detectable_above:.2f} or below / {self.detectable_below:.2f}.",
            )
        return ("Cannot tell.", f"{self._ratio(self)}.", _missing(self))

    def count(self, found: Verdict | ScoreRange) -> str:
        """What came against what was predicted, in words; of all rows or of a range of scores."""
        expected = about(found.expected)
        if self.outcome == "positive":
            return f"{plural(found.observed, 'positive')} came where {expected} were predicted"
        verb = "was" if found.observed == 1 else "were"
        return f"{plural(found.observed, 'prediction')} {verb} correct where {expected} were expected to be"

    def _ratio(self, found: Verdict | ScoreRange) -> str:
        if not found.expected > 0:
            return self.count(found)
        span = f"{found.factor.ratio_low:.2f} to {found.factor.ratio_high:.2f}"
        return f"{self.count(found)} (x {found.ratio:.2f}, {span})"

    def reasons(self) -> tuple[str, ...]:
        """The sentences that stand beside the word without saying it again."""
        return self.sentences()[0 if self.word == "consistent" else 1 :]

    def __str__(self) -> str:
        return " ".join(self.sentences())


def judge(cells: CellSums, significance: float = 0.05, tolerance: Tolerance | float | None = None) -> Verdict:
    """The verdict on observations in cells; see `Verdict`."""
    check_significance(significance)
    if not len(cells):
        raise ValueError("A verdict needs at least one row; there is none.")
    coins, tolerance = Coins.of(cells), as_tolerance(tolerance)
    wrong = np.where(cells.upper, cells.n - cells.pos, cells.pos)
    impossible = int(wrong[cells.s1 == 0].sum())
    local = local_error(cells, significance, tolerance)
    if tolerance is None:
        parts = find_parts(cells)
        p_value = 0.0 if impossible else combine_parts(parts)
    else:
        parts = {"total": _test_total(coins, tolerance), "windows": local.p_value}
        p_value = min(1.0, 2 * min(parts.values()))
    shifted = Shifted.of(cells, significance)
    detectable = shifted.detectable((1, -1))
    if p_value <= significance:
        word: Word = "off"
    else:
        word = "consistent" if detectable <= FACTOR else "cannot tell"
    return Verdict(
        word=word,
        p_value=p_value,
        significance=significance,
        parts=parts,
        n=cells.n_rows,
        observed=cells.positives,
        expected=float(cells.expected.sum()),
        impossible=impossible,
        factor=find_odds_factor(coins, significance),
        detectable=detectable,
        detectable_above=shifted.detectable((1,), fifth=True),
        detectable_below=shifted.detectable((-1,), fifth=True),
        local=local,
        tolerance=tolerance,
    )


def _test_total(coins: Coins, tolerance: Tolerance) -> float:
    """Whether the positives are more than with every p raised, or fewer than with every p lowered; two-sided."""
    everything = np.array([0]), np.array([len(coins.n)])
    _, at_raised, above = coins.moved(tolerance, up=True).tails(*everything)
    below, at_lowered, _ = coins.moved(tolerance, up=False).tails(*everything)
    return min(1.0, 2 * float(min(at_raised[0] + above[0], below[0] + at_lowered[0])))


def find_parts(cells: CellSums) -> dict[str, float]:
    """The p-value of each part of the verdict, by name."""
    return dict(_test(cells, Coins.of(cells)))


def combine_parts(parts: Mapping[str, float]) -> float:
    """The verdict's p-value, of those of its parts."""
    return combine(np.array(list(parts.values())), HIGHEST, np.array([WEIGHTS.get(name, 1.0) for name in parts]))


def combine(p: Floats, highest: float, weights: Floats | None = None) -> float:
    """Cauchy's combination: the p-value of the weighted mean of tan((1/2 - p) pi), each p at most the highest.

    Examples
    --------
    >>> round(combine(np.array([0.01, 0.5, 0.5, 0.5]), 0.99), 4)
    0.0398
    """
    return _from_cauchy(_cauchy_mean(p, highest, weights))


def _cauchy_mean(p: Floats, highest: float, weights: Floats | None = None) -> float:
    return float(np.average(1 / np.tan(np.pi * np.clip(p, 1e-300, highest)), weights=weights))


def _from_cauchy(mean: float) -> float:
    return math.atan2(1.0, mean) / math.pi


def _test(cells: CellSums, coins: Coins) -> Iterator[tuple[str, float]]:
    """The parts' p-values by name."""
    v, n = cells.v, cells.n.astype(np.float64)
    information = float(v.sum())
    everything = np.array([0]), np.array([len(cells)])
    yield "total", float(coins.mid_p(*everything)[0])
    yield "information", _scan(coins, v, 1.0)
    least = max(20.0, cells.n_rows ** (2 / 3) / 8)
    yield "rows", _scan(coins, n, math.nextafter(least, 0.0))
    if information >= ASYMPTOTIC:
        yield "cox", _test_cox(cells)
        yield "cumulative", _test_cumulative(cells)
        yield "spread", _test_spread(cells)


def _levels(weight: Floats, smallest: float) -> Iterator[Ints]:
    """For each level, where its 2^(level + 1) parts of equal weight begin and end, down to two parts of the smallest
    weight. A part ends with the cell in which its share of the weight is reached; parts within one cell are empty."""
    running = np.cumsum(weight)
    total = float(running[-1])
    level = 0
    while level == 0 or total / 2**level > smallest:
        parts = 2 ** (level + 1)
        share = np.arange(1, parts) * (total / parts)
        # a share that is reached up to rounding is reached
        ends = np.searchsorted(running, share * (1 - 1e-12)) + 1
        yield np.concatenate([[0], np.minimum(ends, len(weight)), [len(weight)]])
        level += 1


def _scan(coins: Coins, weight: Floats, smallest: float) -> float:
    """Two neighbouring parts of each level as a window: those that weigh more than the smallest, and the whole."""
    running = np.concatenate([[0.0], np.cumsum(weight)])
    means = []
    for ends in _levels(weight, smallest):
        begin, end = ends[:-2], ends[2:]
        new = np.append(True, (np.diff(begin) > 0) | (np.diff(end) > 0))
        heavy = running[end] - running[begin] > smallest
        chosen = new & (end > begin) & (heavy if len(ends) > 3 else True)
        if chosen.any():
            p = coins.mid_p(begin[chosen], end[chosen])
            # no window may weigh more against the rest than a part at the highest p-value does
            means.append(_cauchy_mean(p, 1 - (1 - HIGHEST) / len(p)))
    return _from_cauchy(float(np.mean(means)))


def _test_cox(cells: CellSums) -> float:
    """Score test of intercept 0 and slope 1: U' I^-1 U with U the sums of (y - p) and (y - p) x, x the log-odds,
    centred so that I is diagonal."""
    open_ = cells.s1 > 0
    q, v, surplus = cells.q[open_], cells.v[open_], cells.surplus[open_]
    x = (np.log(q) - np.log1p(-q)) * np.where(cells.upper[open_], -1, 1)
    information = float(v.sum())
    x -= float(np.sum(v * x)) / information  # not `@`: its threads cost more than they save
    statistic = float(surplus.sum()) ** 2 / information
    along = float(np.sum(v * x**2))
    if along > 1e-9 * information:  # else all scores are one
        statistic += float(np.sum(surplus * x)) ** 2 / along
        return math.exp(-statistic / 2)
    return math.erfc(math.sqrt(statistic / 2))


def _test_cumulative(cells: CellSums) -> float:
    """The range of cumulative differences against that of Brownian motion (Feller 1951)."""
    walk = np.append(0.0, np.cumsum(cells.surplus))
    x = float(np.ptp(walk)) / math.sqrt(float(cells.v.sum()))
    if x < 0.5:  # the series needs more terms than it has digits there, and the answer is 1 to 15 digits
        return 1.0
    terms = ((-1) ** (k - 1) * k * math.erfc(k * x / math.sqrt(2)) for k in range(1, 200))
    return min(1.0, max(0.0, 4 * math.fsum(terms)))


def _test_spread(cells: CellSums) -> float:
    """Sums of squares over the parts of each level, Cauchy's mean over levels.

    With the cumulants k2 = v, k3, k4, k6 of a part's X, (X - E X)^2 / v has the mean 1, the variance 2 + k4 / v^2 and
    the third cumulant 8 + 12 k4 / v^2 + 10 k3^2 / v^3 + k6 / v^3.
    """
    q, n = cells.q, cells.n
    w = q * (1 - q)
    columns = (
        cells.surplus,
        cells.v,
        n * w * (1 - 2 * q) * np.where(cells.upper, -1, 1),
        n * w * (1 - 6 * w),
        n * w * (1 - 30 * w + 120 * w**2),
    )
    found = []
    for ends in _levels(cells.v, 2 * SMALLEST):
        begin = ends[:-1][np.diff(ends) > 0]
        surplus, v, k3, k4, k6 = (np.add.reduceat(column, begin) for column in columns)
        use = v >= SMALLEST
        if not use.any():
            continue
        surplus, v, k3, k4, k6 = (column[use] for column in (surplus, v, k3, k4, k6))
        variance = float(np.sum(2 + k4 / v**2))
        third = float(np.sum(8 + 12 * k4 / v**2 + 10 * k3**2 / v**3 + k6 / v**3))
        shape = 4 * variance**3 / third**2
        standard = float(np.sum(surplus**2 / v - 1)) / math.sqrt(variance)
        found.append(gamma_tail(shape, shape + math.sqrt(shape) * standard))
    return combine(np.array(found), HIGHEST) if found else 1.0


def format_p_value(p: float) -> str:
    """A p-value with its sign: "= 0.012", "< 0.0001"."""
    return f"= {p:.2g}" if p >= 1e-4 else "< 0.0001"


def _describe_error(verdict: Verdict) -> Iterator[str]:
    if verdict.impossible:
        count = verdict.impossible
        yield f"{count:,} row{'s' * (count != 1)} contradict{'s' * (count == 1)} a prediction of exactly 0 or 1."
    low, high = verdict.interval
    certain = verdict.expected == 0 and verdict.observed > 0
    way = "too low" if low > 1 or certain else "too high" if high < 1 else "right on average"
    noun = "predictions" if verdict.outcome == "positive" else "confidences"
    yield f"Overall the {noun} are {way}: {verdict._ratio(verdict)}."
    by_rows = sorted(verdict.ranges, key=lambda found: abs(found.observed - found.expected), reverse=True)
    for found in by_rows[:3]:
        yield (
            f"{noun.capitalize()} from {found.low:.3g} to {found.high:.3g} are {found.direction}: "
            f"{verdict._ratio(found)}."
        )
    if not verdict.ranges and not verdict.impossible and way == "right on average":
        yield "No single range of scores is proven wrong; the error is spread out."


def _missing(verdict: Verdict) -> str:
    if math.isinf(verdict.detectable):
        return "No factor on all odds would have been found in both directions."
    return (
        f"A factor of {FACTOR:g} on all odds would have been missed too often; one of {verdict.detectable:.2g} would "
        "have been found."
    )
