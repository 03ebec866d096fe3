"""Scores: metrics of all rows, without bins. Brier score, log loss, calibration slope and intercept, and others.

A score is a metric like the others: it has a unit, words, and a bad side. Tied scores stay together.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np

from truecal import _kernel
from truecal.data import (
    BELOW_ONE,
    NO_SAMPLING,
    AnyArray,
    Bools,
    Floats,
    Ints,
    Sampling,
    Sorted,
    Tally,
    Weighed,
    check_values,
    count_threads,
)
from truecal.metrics._decisions import is_number
from truecal.metrics._odds import log_odds, sigmoid
from truecal.metrics._roots import find_root
from truecal.metrics._units import PROBABILITY, SIGNED, Unit

EXTREME = 27.6  # log-odds of scores of 0 and 1, which are moved inwards by 1e-12
COX_BITS = 8  # of the cells in which Cox's regression takes the scores, at their mean log-odds
LONGEST_STEP = 4.0  # of a logistic regression, in log-odds: longer ones may end where every label looks certain
UNBELIEVABLE = math.log(1e9)  # minus the log-probability, in nats, at which label noise no longer explains labels
ROWS_PER_BLOCK = 1 << 16  # rows whose losses are computed together: their columns fit a cache
ONE_BIN = np.array([0.0, 1.0])  # the edges of a single bin
EXACT_MEAN = 2.0**-28  # a mean of sums in units of 2^-80 from here on has all digits of a float
FINEST = 20  # the binary logarithm of the most points of the grid on which residuals are smoothed
Side = Literal["high", "low", "both"]
T = TypeVar("T")


class Rows:
    """Rows without bins; quantities that several scores share are computed once.

    `like` are the same scores with other labels: quantities that do not depend on labels are shared with them. `tally`
    describes the population, with its predictions; `sampled` the sample, with scores mapped by `Sampling.to_sampled`.
    Both are the same unless rows were sampled by label or labels are noisy.
    """

    __slots__ = ("_fixed", "_known", "relabelled", "sampled", "tally")

    def __init__(self, tally: Tally, like: Rows | None = None) -> None:
        if not len(tally):
            raise ValueError("A score needs at least one row; the tally is empty.")
        self.sampled = tally
        self.tally: Weighed = tally.population
        self.relabelled = like is not None
        self._fixed: dict[object, Any] = {} if like is None else like._fixed
        self._known: dict[object, Any] = {}

    def cached(self, key: object, compute: Callable[[], T], *, labels: bool = True) -> T:
        """Return a quantity that is computed at its first use; `labels` says whether it depends on them."""
        known = self._known if labels else self._fixed
        if key not in known:
            known[key] = compute()
        value: T = known[key]
        return value

    @property
    def walk(self) -> Floats:
        """The cumulative differences between positives and predictions from the lowest score on, as a share of rows."""
        return self.cached("walk", self._walk)

    def _walk(self) -> Floats:
        fixed = self.sampled.sampling.plain  # importance weights belong to scores, not to labels
        expected = self.cached("expected", lambda: self.tally.n * self.tally.score, labels=not fixed)
        return np.concatenate([[0.0], np.cumsum(self.tally.pos - expected)]) / self.tally.n_rows

    @property
    def cells(self) -> tuple[Floats, Ints, Ints]:
        """Mean log-odds, rows and positives of the sample in cells of a few bits.

        The log-odds are those of sampled scores, which sampling by label shifts by a constant; with label noise, those
        of predictions.
        """
        places, x, n = self.cached("cells", self._cut, labels=False)
        return x, n, self.cached("cell positives", lambda: np.add.reduceat(self.sampled.pos, places))

    def _cut(self) -> tuple[Ints, Floats, Ints]:
        score, n, sampling = self.sampled.score, self.sampled.n, self.sampled.sampling
        places = _kernel.cells(self.sampled.entries, COX_BITS)[0][:-1]
        rows = np.add.reduceat(n, places)
        x = log_odds(sampling.to_population(score) if sampling.noisy else score)
        return places, np.add.reduceat(n * x, places) / rows, rows

    @property
    def alike(self) -> bool:
        """Whether all labels are of one class."""
        return not 0 < self.sampled.positives < self.sampled.n_rows

    @property
    def certain(self) -> bool:
        """Whether all predictions are 0 or 1, without finite log-odds."""
        return self.cached("certain", lambda: bool((np.abs(self.cells[0]) >= EXTREME).all()), labels=False)

    def fit(self, *, slope: bool) -> tuple[float, float]:
        """Fit the calibration intercept and slope (Cox's regression on log-odds); the slope is 1 unless it is free."""
        x, n, pos = self.cells
        sampling = self.sampled.sampling
        if not sampling.noisy:
            return _kernel.recalibrate(x, n, pos, slope)
        columns = np.stack([np.ones_like(x), x], axis=1)
        coefficients = fit_logistic(columns, n, pos, np.array([0.0, 1.0]), free=(True, slope), sampling=sampling)
        return float(coefficients[0]), float(coefficients[1])


@dataclass(frozen=True, slots=True)
class Score:
    """A metric of all rows, without bins; call it on a tally. Derive from it and define `on` for your own.

    `bad` is the side on which values are bad: "high", "low", or "both" sides of `best`. `overall` says that the score
    measures more than calibration: a calibrated model without skill has a bad value, too.

    Examples
    --------
    >>> from truecal import Tally
    >>> from truecal.metrics import METRICS, Score
    >>> isinstance(METRICS["brier"], Score), isinstance(METRICS["ece"], Score)
    (True, False)
    >>> METRICS["brier"](Tally.from_arrays([0, 1], [0.5, 0.5]))
    0.25
    """

    name: ClassVar[str] = "value"
    title: ClassVar[str] = ""
    words: ClassVar[str] = ""
    unit: ClassVar[Unit] = PROBABILITY
    bad: ClassVar[Side] = "high"
    best: ClassVar[float] = 0.0
    overall: ClassVar[bool] = False
    binning: ClassVar[None] = None
    rejection: ClassVar[None] = None
    bins: ClassVar[str] = ""

    @property
    def axis(self) -> str:
        """The words, for an axis."""
        return self.words

    @property
    def meaning(self) -> str:
        """What is measured, and which values are best."""
        good = {"high": "0 is best", "low": "higher is better", "both": f"{self.best:g} is best"}
        return f"{self.words}; {good[self.bad]}"

    def format(self, value: float) -> str:
        """Return a value as it is printed."""
        return self.unit.format(value)

    def __call__(self, data: Sorted) -> float:
        return self.on(Rows(data.tally))

    def on(self, rows: Rows) -> float:
        """Return the value on rows."""
        raise NotImplementedError


def add_exactly(values: Floats, counts: Ints | None = None) -> int | None:
    """Return the exact sum of non-negative numbers, times counts if given, in units of 2^-80, in any order.

    None if one that counts is infinite, or above a million.
    """
    total, fine = _kernel.add_fixed(values, counts)
    return _join_halves(*total) if fine else None


def _join_halves(high: int, low: int) -> int:
    """A sum from the two halves that the kernel returns."""
    return (high << 62) + low


def _add_squares(score: AnyArray, label: AnyArray, threads: int | None) -> tuple[int, int, int]:
    """The sums over rows of squared differences, their expectations and their variances, in units of 2^-80."""
    squares, expected, variance, *fine = _kernel.square_rows(score, label, count_threads(len(score), threads))
    check_values(score, label, *fine)
    return _join_halves(*squares), _join_halves(*expected), _join_halves(*variance)


def _divide(total: int, rows: int) -> float | None:
    """The mean of a sum in units of 2^-80; None if it is so small that digits are lost."""
    mean = total / (rows << 80)
    return mean if mean >= EXACT_MEAN else None


class MeanScore(Score):
    """The mean over rows of a loss that depends on the row only."""

    __slots__ = ()
    overall: ClassVar[bool] = True

    def losses(self, p: Floats) -> tuple[Floats, Floats]:
        """Return the loss of each prediction for a positive and for a negative."""
        raise NotImplementedError

    def on_rows(self, score: AnyArray, label: AnyArray, threads: int | None) -> float | None:
        """Return the mean over rows in any order, to the last bit that of their tally; None if the tally is needed."""
        *_, scores_ok, labels_ok = _kernel.fixed_bins(score, label, ONE_BIN, count_threads(len(score), threads))
        check_values(score, label, scores_ok, labels_ok)
        total = 0
        for begin in range(0, len(score), ROWS_PER_BLOCK):
            positive, negative = self.losses(score[begin : begin + ROWS_PER_BLOCK].astype(np.float64, copy=False))
            part = add_exactly(np.where(label[begin : begin + ROWS_PER_BLOCK] != 0, positive, negative))
            if part is None:
                return None
            total += part
        return _divide(total, len(score))

    def on(self, rows: Rows) -> float:
        tally = rows.tally

        def compute() -> tuple[Floats, Floats]:
            return self.losses(tally.score)

        # kept only if labels are drawn repeatedly: otherwise the memory is not needed again
        positive, negative = rows.cached(self, compute, labels=False) if rows.relabelled else compute()
        pos = tally.pos
        if isinstance(tally, Tally):
            parts = add_exactly(positive, tally.pos), add_exactly(negative, tally.n - tally.pos)
            if parts[0] is not None and parts[1] is not None:
                value = _divide(parts[0] + parts[1], tally.n_rows)
                if value is not None:
                    return value
        if rows.sampled.sampling.noisy:
            pos = _believe_certain(rows.sampled, tally.n, pos, np.isinf(positive), np.isinf(negative))
        with np.errstate(invalid="ignore"):
            loss = np.where(pos != 0, pos * positive, 0.0)
            loss += np.where(pos != tally.n, (tally.n - pos) * negative, 0.0)
        return float(loss.sum() / tally.n_rows)


def _believe_certain(sampled: Tally, n: Floats | Ints, pos: Floats | Ints, never: Bools, always: Bools) -> Floats:
    """Estimated positives; at predictions of 0 and 1, none or all of n if label noise explains the labels.

    A contradicted prediction of 0 or 1 would have an infinite loss.
    """
    positives = pos.astype(np.float64)
    for wrong, rate, certain, rows in (
        (sampled.pos, sampled.score, 0.0 * positives, never),
        (sampled.n - sampled.pos, 1 - sampled.score, n, always),
    ):
        for i in np.flatnonzero(rows).tolist():
            if _explains(float(rate[i]), int(wrong[i]), int(sampled.n[i])):
                positives[i] = certain[i]
    return positives


def _explains(rate: float, k: int, n: int) -> bool:
    """Whether k of n are plausible for a rate: Chernoff's bound of the probability of as many is above 1e-9."""
    share = k / n
    if share <= rate:
        return True
    if rate <= 0:
        return False
    rest = 0.0 if k == n else (1 - share) * math.log((1 - share) / (1 - rate))
    return n * (share * math.log(share / rate) + rest) < UNBELIEVABLE


class Brier(MeanScore):
    """The mean squared difference between label and prediction.

    Examples
    --------
    >>> import truecal
    >>> truecal.metrics.Brier()(truecal.Tally.from_arrays([0, 1, 1, 1], [0.25, 0.75, 0.75, 0.75]))
    0.0625
    """

    __slots__ = ()
    name: ClassVar[str] = "brier"
    title: ClassVar[str] = "Brier"
    words: ClassVar[str] = "mean squared difference between label and prediction"

    def losses(self, p: Floats) -> tuple[Floats, Floats]:
        rest = 1 - p
        return np.square(rest, out=rest), p**2

    def on_rows(self, score: AnyArray, label: AnyArray, threads: int | None) -> float | None:
        if type(self) is not Brier:  # which may have other losses
            return MeanScore.on_rows(self, score, label, threads)
        return _divide(_add_squares(score, label, threads)[0], len(score))


class LogLoss(MeanScore):
    """The mean negative log-likelihood in nats; infinite if a label contradicts a prediction of 0 or 1.

    With label noise, predictions of 0 and 1 are taken as correct unless the noise cannot explain the labels.

    Examples
    --------
    >>> from truecal import Tally
    >>> from truecal.metrics import LogLoss
    >>> round(LogLoss()(Tally.from_arrays([0, 1, 0, 1], [0.2, 0.6, 0.5, 0.4])), 3)
    0.586
    """

    __slots__ = ()
    name: ClassVar[str] = "log_loss"
    title: ClassVar[str] = "log loss"
    words: ClassVar[str] = "mean negative log-likelihood, in nats"
    unit: ClassVar[Unit] = Unit("nats")

    def losses(self, p: Floats) -> tuple[Floats, Floats]:
        with np.errstate(divide="ignore"):
            positive, negative = np.log(p), np.negative(p)
            np.log1p(negative, out=negative)
        return np.negative(positive, out=positive), np.negative(negative, out=negative)


@dataclass(frozen=True, slots=True)
class NetBenefit(MeanScore):
    """The net benefit of a decision threshold (Vickers and Elkin 2006): the benefit of acting on scores at or above it.

    True positives less the false ones weighted by the odds of the threshold, per row. Never acting has 0.

    Examples
    --------
    >>> import truecal
    >>> truecal.metrics.NetBenefit(0.5)(truecal.Tally.from_arrays([0, 1, 1, 0], [0.25, 0.75, 0.75, 0.75]))
    0.25
    """

    title: ClassVar[str] = "net benefit"
    unit: ClassVar[Unit] = Unit("net benefit", "", 1.0, 5, -math.inf)
    bad: ClassVar[Side] = "low"
    best: ClassVar[float] = math.inf
    threshold: float

    def __post_init__(self) -> None:
        if not is_number(self.threshold) or not 0 < self.threshold < 1:
            raise ValueError(f"`threshold` of a net benefit must lie between 0 and 1; it is {self.threshold!r}.")
        object.__setattr__(self, "threshold", float(self.threshold))

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name in files and commands: net_benefit@0.05."""
        return f"{NET_BENEFIT_PREFIX}{self.threshold!r}"

    @property
    def words(self) -> str:  # type: ignore[override]
        return f"net benefit of acting on scores of at least {self.threshold:g}"

    def losses(self, p: Floats) -> tuple[Floats, Floats]:
        act = (p >= self.threshold).astype(np.float64)
        return act, -act * self.threshold / (1 - self.threshold)


NET_BENEFIT_PREFIX = "net_benefit@"


class Slope(Score):
    """The calibration slope (Cox): the slope of observed on predicted log-odds. Below 1 the model is overconfident.

    NaN if labels are of one class or all predictions are equal, infinite if the scores separate the classes.

    Examples
    --------
    >>> from truecal import Tally
    >>> from truecal.metrics import Slope
    >>> round(Slope()(Tally.from_arrays([0, 1, 0, 1], [0.2, 0.6, 0.5, 0.4])), 3)
    1.987
    """

    __slots__ = ()
    name: ClassVar[str] = "slope"
    title: ClassVar[str] = "slope"
    words: ClassVar[str] = "slope of the observed log-odds on the predicted"
    unit: ClassVar[Unit] = SIGNED
    bad: ClassVar[Side] = "both"
    best: ClassVar[float] = 1.0

    def on(self, rows: Rows) -> float:
        x, n, pos = rows.cells
        if rows.alike or rows.certain or rows.cached("one cell", lambda: np.ptp(x) < 1e-9, labels=False):
            return math.nan
        intercept, slope = rows.fit(slope=True)
        if np.any((pos > 0) & (pos < n)):  # labels in one cell differ, which no line separates
            return slope
        eta = intercept + slope * x
        separated = np.sum(n * np.logaddexp(0, eta) - pos * eta) < 1e-6
        return math.copysign(math.inf, slope) if separated else slope


class Intercept(Score):
    """Calibration-in-the-large: the calibration intercept at slope 1, the shift of all log-odds that the labels need.

    Above 0 the model under-predicts. NaN if labels are of one class, or all predictions are 0 or 1.

    Examples
    --------
    >>> from truecal import Tally
    >>> from truecal.metrics import Intercept
    >>> round(Intercept()(Tally.from_arrays([0, 1, 0, 1], [0.2, 0.6, 0.5, 0.4])), 3)
    0.333
    """

    __slots__ = ()
    name: ClassVar[str] = "intercept"
    title: ClassVar[str] = "intercept"
    words: ClassVar[str] = "observed minus predicted log-odds, at slope 1"
    unit: ClassVar[Unit] = SIGNED
    bad: ClassVar[Side] = "both"

    def on(self, rows: Rows) -> float:
        return math.nan if rows.alike or rows.certain else rows.fit(slope=False)[0]


class Spiegelhalter(Score):
    """Spiegelhalter's z: the Brier score minus its expectation if calibrated, in standard deviations.

    Examples
    --------
    >>> from truecal import Tally
    >>> from truecal.metrics import Spiegelhalter
    >>> round(Spiegelhalter()(Tally.from_arrays([0, 1, 0, 1], [0.2, 0.6, 0.5, 0.4])), 3)
    -0.289
    """

    __slots__ = ()
    name: ClassVar[str] = "spiegelhalter"
    title: ClassVar[str] = "Spiegelhalter's z"
    words: ClassVar[str] = "Brier score minus its expectation, in standard deviations"
    unit: ClassVar[Unit] = SIGNED
    bad: ClassVar[Side] = "both"

    def on_rows(self, score: AnyArray, label: AnyArray, threads: int | None) -> float | None:
        """Return z of rows in any order, to the last bit that of their tally; None if the tally is needed."""
        return self._compare(*_add_squares(score, label, threads), len(score))

    @staticmethod
    def _parts(p: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """The squared differences of positives and of negatives, their expectation, and their variance; all below 1."""
        expected = p * (1 - p)
        return (1 - p) ** 2, p**2, expected, (1 - 2 * p) ** 2 * expected

    @staticmethod
    def _compare(squares: int, expected: int, variance: int, rows: int) -> float | None:
        """z from sums in units of 2^-80; None if they have lost digits."""
        if _divide(variance, rows) is None:
            return None
        return ((squares - expected) / (1 << 80)) / math.sqrt(variance / (1 << 80))

    def on(self, rows: Rows) -> float:
        p, n, pos = rows.sampled.score, rows.sampled.n, rows.sampled.pos
        positive, negative, *others = rows.cached(self, lambda: self._parts(p), labels=False)
        squares = (add_exactly(positive, pos) or 0) + (add_exactly(negative, n - pos) or 0)
        expected, spread = (add_exactly(values, n) or 0 for values in others)
        z = self._compare(squares, expected, spread, rows.sampled.n_rows)
        if z is not None:
            return z
        top = float(np.sum((pos - n * p) * (1 - 2 * p)))
        variance = float(np.sum(n * (1 - 2 * p) ** 2 * p * (1 - p)))
        if variance == 0:
            return 0.0 if top == 0 else math.copysign(math.inf, top)
        return top / math.sqrt(variance)


class CumulativeRange(Score):
    """ECCE-R: the range of cumulative differences (Arrieta-Ibarra et al. 2022).

    It is the largest gap of any run of scores, as a share of all rows.

    Examples
    --------
    >>> from truecal import Tally
    >>> from truecal.metrics import CumulativeRange
    >>> round(CumulativeRange()(Tally.from_arrays([0, 1, 0, 1], [0.2, 0.6, 0.5, 0.4])), 3)
    0.15
    """

    __slots__ = ()
    name: ClassVar[str] = "ecce"
    title: ClassVar[str] = "ECCE"
    words: ClassVar[str] = "range of cumulative differences"

    def on(self, rows: Rows) -> float:
        return float(np.ptp(rows.walk))


class CumulativeMaximum(Score):
    """ECCE-MAD: the largest cumulative difference (Arrieta-Ibarra et al. 2022).

    Examples
    --------
    >>> from truecal import Tally
    >>> from truecal.metrics import CumulativeMaximum
    >>> round(CumulativeMaximum()(Tally.from_arrays([0, 1, 0, 1], [0.2, 0.6, 0.5, 0.4])), 3)
    0.1
    """

    __slots__ = ()
    name: ClassVar[str] = "ecce_mad"
    title: ClassVar[str] = "ECCE-MAD"
    words: ClassVar[str] = "largest cumulative difference"

    def on(self, rows: Rows) -> float:
        return float(np.abs(rows.walk).max())


class TwoBins(Score):
    """ATB, the averaged two-bin error (Hartline, Hu, Wu 2026).

    The sum of squared gaps below and above a threshold, each as a share of all rows, averaged over thresholds from 0 to
    1. In expectation over labels, the true probabilities minimise it.

    Examples
    --------
    >>> import truecal
    >>> truecal.metrics.TwoBins()(truecal.Tally.from_arrays([0, 1], [0.5, 0.75]))
    0.03125
    """

    __slots__ = ()
    name: ClassVar[str] = "atb"
    title: ClassVar[str] = "ATB"
    words: ClassVar[str] = "squared gaps below and above a threshold, averaged over thresholds"
    unit: ClassVar[Unit] = Unit("squared probability", "", 1.0, 9)

    def on(self, rows: Rows) -> float:
        width = np.diff(rows.tally.score, prepend=0.0, append=1.0)
        below = rows.walk
        return float(np.sum(width * (below**2 + (below[-1] - below) ** 2)))


class SmoothError(Score):
    """Smooth ECE (Błasiok and Nakkiran 2023).

    The mean absolute residual after smoothing with a Gaussian kernel reflected at 0 and 1, whose bandwidth is the value
    itself.

    Examples
    --------
    >>> from truecal import Tally
    >>> from truecal.metrics import SmoothError
    >>> round(SmoothError()(Tally.from_arrays([0, 1, 0, 1], [0.2, 0.6, 0.5, 0.4])), 3)
    0.116
    """

    __slots__ = ()
    name: ClassVar[str] = "smece"
    title: ClassVar[str] = "smooth ECE"
    words: ClassVar[str] = "smoothed gap between rate and prediction"

    def on(self, rows: Rows) -> float:
        bits = 12
        bandwidth = _find_bandwidth(rows, bits)
        while bandwidth * 2**bits < 16 and bits < FINEST:  # the grid must be finer than the bandwidth
            bits = min(bits + 4, FINEST)
            bandwidth = _find_bandwidth(rows, bits)
        return bandwidth


def _find_bandwidth(rows: Rows, bits: int) -> float:
    """The bandwidth that equals the mean absolute smoothed residual, on a grid of 2^bits points.

    Cosines are the eigenfunctions of the reflected kernel: it multiplies the k-th by exp(-(pi k s)^2 / 2).
    """
    from scipy.fft import dct, idct

    size = 2**bits
    tally = rows.tally

    def find_points() -> tuple[Ints, Floats]:
        at = np.clip(tally.score * size - 0.5, 0, size - 1)
        left = np.minimum(at.astype(np.int64), size - 2)
        return left, at - left

    left, share = rows.cached(("grid", bits), find_points, labels=False)
    residual = (tally.pos - tally.n * tally.score) / tally.n_rows
    grid = np.bincount(left, residual * (1 - share), size)
    grid[1:] += np.bincount(left, residual * share, size)[:-1]
    modes = dct(grid)

    def smooth(width: float) -> float:
        """The mean absolute residual at a bandwidth, on as many points as the remaining modes need."""
        kept = min(size, 2 ** math.ceil(math.log2(min(size, 3 / width))))
        part = modes[:kept] * np.exp(-((math.pi * width * np.arange(kept)) ** 2) / 2)
        points = min(size, 4 * kept)
        return float(np.abs(idct(part, n=points)).sum())

    least = 0.25 / size
    if (residual_at_least := smooth(least)) <= least:
        return residual_at_least
    return math.exp(find_root(lambda t: 1 - smooth(math.exp(t)) / math.exp(t), 0.0, -2.0))


def fit_logistic(
    columns: Floats,
    n: Ints,
    pos: Ints,
    start: Floats,
    *,
    free: tuple[bool, ...] | None = None,
    ridge: float = 0.0,
    sampling: Sampling = NO_SAMPLING,
) -> Floats:
    """Fit a logistic regression by weighted maximum likelihood, with Newton's method and step halving.

    `free` says which coefficients may leave `start`; `ridge` shrinks them towards it, which keeps them finite if labels
    are separable. `sampling` maps fitted probabilities to those of sampled, noisy labels.
    """
    beta = start.astype(np.float64)
    chosen = np.ones(len(beta), bool) if free is None else np.array(free)

    def sample(eta: Floats) -> tuple[Floats, Floats]:
        """The probabilities of a positive and of a negative label, both to full precision however small they are."""
        q, other = sampling.to_sampled(sigmoid(eta)), sampling.mirrored.to_sampled(sigmoid(-eta))
        return np.clip(q, 1e-300, BELOW_ONE), np.clip(other, 1e-300, BELOW_ONE)

    def loss(candidate: Floats) -> float:
        eta = columns @ candidate
        away = ridge / 2 * np.sum((candidate - start) ** 2)
        if sampling.plain:
            return float(np.sum(n * np.logaddexp(0, eta) - pos * eta) + away)
        q, other = sample(eta)
        return float(away - np.sum(pos * np.log(q) + (n - pos) * np.log(other)))

    current = loss(beta)
    for _ in range(100):
        eta = columns @ beta
        p = sigmoid(eta)
        score, information = pos - n * p, n * p * (1 - p)
        if not sampling.plain:
            q, other = sample(eta)
            slope = sampling.slope(p) * p * sigmoid(-eta)  # of q along the log-odds
            score, information = (pos / q - (n - pos) / other) * slope, n * slope**2 / (q * other)
        gradient = columns.T @ score - ridge * (beta - start)
        hessian = (columns * information[:, None]).T @ columns + ridge * np.eye(len(beta))
        step = np.zeros_like(beta)
        # least squares gives the smallest step if the labels do not determine a direction
        step[chosen] = np.linalg.lstsq(hessian[np.ix_(chosen, chosen)], gradient[chosen], rcond=None)[0]
        # far steps, from where every label looks certain, would end the search there
        step /= max(1.0, float(np.abs(columns @ step).max()) / LONGEST_STEP)
        size, before = 1.0, current
        while (current := loss(beta + size * step)) > before + 1e-12 * abs(before) and size > 1e-6:
            size /= 2
        beta = beta + size * step
        if before - current <= 1e-10 * (1 + abs(current)) and np.abs(step).max() < 1e-6:
            break
    return beta
