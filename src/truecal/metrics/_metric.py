"""Metrics as values: Metric(binning, loss, norm), and the named metrics, scores among them.

The paper's generalised calibration error cuts the predictions into bins, gives each bin a loss, and combines the losses
by a norm weighted with the bins' sizes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol, TypeAlias, TypeVar

import numpy as np

from truecal import _kernel
from truecal._errors import did_you_mean, option
from truecal._options import METRICS as NAMES
from truecal.data import Bools, Floats, Ints, Population, Sorted
from truecal.metrics._binning import (
    Binning,
    BinningLike,
    BoundedIsotonic,
    Isotonic,
    Partition,
    Quantile,
    Uniform,
    as_binning,
    check_binning,
    cut,
    is_builtin,
)
from truecal.metrics._decisions import (
    Relative,
    Test,
    Tolerance,
    as_tolerance,
    ask,
    check_significance,
    check_test,
    count_rejected,
    is_number,
    widen,
)
from truecal.metrics._design import Spread
from truecal.metrics._hypotheses import BayesFactor, Binomial
from truecal.metrics._local import Weight, WindowPartition, Windows
from truecal.metrics._scores import (
    NET_BENEFIT_PREFIX,
    Brier,
    CumulativeMaximum,
    CumulativeRange,
    Intercept,
    LogLoss,
    NetBenefit,
    Rows,
    Score,
    Side,
    Slope,
    SmoothError,
    Spiegelhalter,
    TwoBins,
)
from truecal.metrics._units import PERCENT, PROBABILITY, UNKNOWN, Unit


class Binned:
    """Observations in bins; quantities that several losses share are computed once."""

    __slots__ = ("_gaps", "_population", "_rejected", "_sums", "data", "partition")

    def __init__(self, data: Sorted, partition: Partition) -> None:
        self.data, self.partition = data, partition
        self._sums: Floats | None = None
        self._gaps: Floats | None = None
        self._population: Population | None = None
        self._rejected: dict[tuple[Test, float, Tolerance | None], tuple[Ints, Ints]] = {}

    @property
    def unweighted(self) -> Binned:
        """The same rows without importance weights."""
        if self.data.importance_weight is None:
            return self
        unweighted = Binned(replace(self.data.tally, importance_weight=None), self.partition)
        unweighted._sums, unweighted._rejected = self._sums, self._rejected
        return unweighted

    @property
    def sizes(self) -> Ints | Floats:
        """The rows of each bin, in the population if rows were sampled by label."""
        return self._stands.n if self._stands else self.partition.n

    @property
    def positives(self) -> Ints | Floats:
        """The positives of each bin, in the population if rows were sampled by label."""
        return self._stands.pos if self._stands else self.partition.k

    @property
    def predicted_sums(self) -> Floats:
        """The sum of each bin's predictions, over the population if rows were sampled by label."""
        return self._stands.score if self._stands else self.score_sums

    @property
    def _stands(self) -> Population | None:
        """The sums of predictions, the rows and the positives of the population in each bin.

        None if the sample is the population.
        """
        if self.data.sampling.plain and self.data.importance_weight is None:
            return None
        if self._population is None:
            whole, starts = self.data.tally.population, self.partition.starts
            held = np.diff(starts) > 0
            columns = np.zeros((3, len(held)))
            for column, values in zip(columns, (whole.n * whole.score, whole.n, whole.pos), strict=True):
                column[held] = np.add.reduceat(values, starts[:-1][held])
            self._population = Population(*columns)
        return self._population

    @property
    def score_sums(self) -> Floats:
        """The sum of each bin's sampled scores, which tests use; it does not depend on the order of the rows."""
        if self._sums is None:
            self._sums = _kernel.score_sums(self.data.entries, self.partition.starts)
        return self._sums

    @property
    def gaps(self) -> Floats:
        """The distance between each bin's rate of positives and its mean prediction, 0 for empty ones."""
        if self._gaps is None:
            self._gaps = gaps(self.sizes, self.positives, self.predicted_sums)
        return self._gaps

    def rejected(self, test: Test, significance: float, tolerance: Tolerance | None) -> tuple[Ints, Ints]:
        """Return how many of each bin's predictions the test rejects, as too low and as too high."""
        key = test, significance, tolerance
        if key not in self._rejected:
            (self._rejected[key],) = count_rejected(test, self.data, [self.partition], significance, tolerance)
        return self._rejected[key]

    @staticmethod
    def reject_together(bins: Sequence[Binned], metric: Measure) -> None:
        """Prepare a test-based metric of many partitions of the same data: equal bins are decided once."""
        loss = metric.rejection
        if not isinstance(loss, PointwiseTest):
            return
        key = loss.test, loss.significance, loss.tolerance
        counts = count_rejected(key[0], bins[0].data, [binned.partition for binned in bins], *key[1:])
        for binned, rejected in zip(bins, counts, strict=True):
            binned._rejected[key] = rejected


class NonEmptyBins:
    """The non-empty bins of several partitions of the same rows, concatenated: a test is called once for all."""

    __slots__ = ("k", "mean", "n", "nonempty", "predicted", "sampling", "spread")

    def __init__(self, tables: Sequence[Binned]) -> None:
        data, sizes = tables[0].data, np.concatenate([bins.partition.n for bins in tables])
        self.sampling = data.sampling
        self.nonempty: Bools = sizes > 0

        def lay(columns: Iterable[Any]) -> Any:
            return np.concatenate(list(columns))[self.nonempty]

        self.n: Ints = sizes[self.nonempty]
        self.k: Ints = lay(bins.partition.k for bins in tables)
        # the mean sampled scores of bins, which tests use, and their mean predictions for the population
        self.mean: Floats = np.clip(lay(bins.score_sums for bins in tables) / self.n, 0, 1)
        population: Ints | Floats = lay(bins.sizes for bins in tables)
        self.predicted: Floats = np.clip(lay(bins.predicted_sums for bins in tables) / population, 0, 1)
        # the design effects of bins; None if rows are independent
        self.spread: Spread | None = None
        if data.clusters is not None:
            ends = (lay(bins.partition.starts[part] for bins in tables) for part in (slice(-1), slice(1, None)))
            self.spread = Spread.of(data, *ends)


class Loss(Protocol):
    """The protocol of a loss: a number of each bin, 0 or more; values of empty bins are ignored.

    A loss may also have `unit`, a `Unit` with the format and the range of its values, and `words`, what it measures.
    Without them values are printed plainly, their intervals are not limited, and the words are the name of its class.

    Examples
    --------
    >>> import numpy as np
    >>> from truecal.metrics import Binned, Gap, Unit
    >>> class GapInCents:
    ...     unit = Unit("cents", " ct", 100, 1)
    ...     words = "gap between rate and prediction"
    ...
    ...     def __call__(self, bins: Binned) -> np.ndarray:
    ...         return 100 * Gap()(bins)
    """

    def __call__(self, bins: Binned) -> Floats: ...


class Norm(Protocol):
    """The protocol of a norm: the losses of bins of n observations as one number.

    Examples
    --------
    >>> from truecal.metrics import Max, Mean, Norm
    >>> norms: list[Norm] = [Mean(), Max()]
    """

    def __call__(self, n: Ints, loss: Floats) -> float: ...


@dataclass(frozen=True, slots=True)
class Gap:
    """The distance between a bin's rate of positives and its mean prediction.

    Examples
    --------
    >>> from truecal import Metric, Tally, Uniform
    >>> from truecal.metrics import Gap
    >>> round(Metric(Uniform(2), Gap())(Tally.from_arrays([0, 1, 1, 1], [0.1, 0.2, 0.7, 0.8])), 3)
    0.3
    """

    unit: ClassVar[Unit] = PROBABILITY
    words: ClassVar[str] = "gap between rate and prediction"

    def __call__(self, bins: Binned) -> Floats:
        return bins.gaps


@dataclass(frozen=True, slots=True)
class PointwiseTest:
    """The percentage of a bin's predictions p whose hypothesis "P(Y = 1) = p" a test rejects, given its positives.

    Examples
    --------
    >>> from truecal import Metric, Quantile, Tally
    >>> from truecal.metrics import MidP, PointwiseTest
    >>> tally = Tally.from_arrays([0, 1] * 100, [0.3] * 100 + [0.45] * 100)
    >>> Metric(Quantile(1), PointwiseTest(MidP(), 0.01))(tally)  # the predictions of 0.3 are rejected
    50.0
    """

    unit: ClassVar[Unit] = PERCENT
    words: ClassVar[str] = "rejected predictions"
    share_of: ClassVar[str] = "predictions"
    per_prediction: ClassVar[bool] = True  # each prediction is tested by itself, given its bin
    test: Test = field(default_factory=Binomial)
    significance: float = 0.05
    tolerance: Tolerance | None = None

    def __post_init__(self) -> None:
        check_test(self.test)
        check_significance(self.significance)
        object.__setattr__(self, "tolerance", as_tolerance(self.tolerance))

    @property
    def test_words(self) -> str:
        """The test, its level and the tolerance."""
        return f"{self.name_test()}{_append_tolerance(self.tolerance)}"

    def name_test(self) -> str:
        """Return the test and its level in words."""
        level = f"{self.significance:g}"
        if isinstance(self.test, BayesFactor) and self.test.threshold is not None:
            level = f"factor {self.test.threshold:g}"
        return f"{type(self.test).__name__} test at {level}"

    def like(self, other: RejectionTest) -> PointwiseTest:
        """Return the other test, or this one at its level and tolerance if the other tests windows."""
        if isinstance(other, PointwiseTest):
            return other
        return replace(self, significance=other.significance, tolerance=other.tolerance)

    def count(self, bins: Binned) -> tuple[Ints, Ints]:
        """Return how many of each bin's predictions are rejected as too low and as too high."""
        return bins.rejected(self.test, self.significance, self.tolerance)

    @property
    def of_rates(self) -> PointwiseTest:
        """The test of a bin's rate of positives: this one."""
        return self

    def p_values(self, bins: NonEmptyBins) -> Floats:
        """Return the p-value of the mean prediction of each bin."""
        (values,) = ask(self.test, "p_value", bins.k, bins.n, bins.mean)
        return np.asarray(values if bins.spread is None else bins.spread.p_values(values))

    def accepted(self, bins: NonEmptyBins) -> tuple[Floats, Floats]:
        """Return the acceptance interval of predictions for the population, given the positives of each bin."""
        tolerance, sampling, counts = self.tolerance, bins.sampling, (bins.k, bins.n)
        level = self.significance if bins.spread is None else bins.spread.levels(self.significance)
        if sampling.plain:
            low, high = ask(self.test, "accepted", *counts, level, tolerance)
            return low, high
        low, high = (sampling.to_population(end) for end in ask(self.test, "accepted", *counts, level, None))
        cuts = widen(np.stack([low, low, low, high, high, high], axis=1), tolerance)
        return np.clip(cuts[:, 0], 0, 1), np.clip(cuts[:, 5], 0, 1)

    def __call__(self, bins: Binned) -> Floats:
        too_low, too_high = self.count(bins)
        return np.asarray(100 * (too_low + too_high) / np.maximum(bins.partition.n, 1))


@dataclass(frozen=True, slots=True)
class WindowTest:
    """The percentage of a score window that is rejected, tested as a whole against its own predictions.

    The mean over a window's rows of the decisions of eight overlapping grids, each of exactly its level. Only for
    `Windows`. With `weight="information"`, rows and windows are weighted by their information p (1 - p).

    Examples
    --------
    >>> from truecal import Metric, Tally
    >>> from truecal.metrics import WindowTest, Windows
    >>> tally = Tally.from_arrays([0, 1] * 100, [0.3] * 200)
    >>> Metric(Windows(), WindowTest(significance=0.01))(tally)
    100.0
    """

    unit: ClassVar[Unit] = PERCENT
    per_prediction: ClassVar[bool] = False
    significance: float = 0.05
    tolerance: Tolerance | None = None
    weight: Weight = "rows"

    def __post_init__(self) -> None:
        check_significance(self.significance)
        object.__setattr__(self, "tolerance", as_tolerance(self.tolerance))
        if self.weight not in ("rows", "information"):
            raise ValueError(f'{option("weight")} must be "rows" or "information"; it is {self.weight!r}.')

    @property
    def share_of(self) -> str:
        """The denominator of the percentage, in words."""
        return "predictions" if self.weight == "rows" else "information"

    @property
    def words(self) -> str:
        return f"rejected {self.share_of}"

    @property
    def test_words(self) -> str:
        """The test, its level and the tolerance."""
        return f"{self.name_test()}{_append_tolerance(self.tolerance)}"

    def name_test(self) -> str:
        """Return the test and its level in words."""
        return f"Poisson-binomial test at {self.significance:g}"

    def like(self, other: RejectionTest) -> WindowTest:
        """Return this test at the level and tolerance of another."""
        return replace(self, significance=other.significance, tolerance=other.tolerance)

    def count(self, bins: Binned) -> tuple[Ints, Ints]:
        """Return how many of each window's predictions are rejected as too low and as too high.

        Shares are rounded so that running sums are right to a row.
        """
        n = bins.partition.n
        shares = np.array(_windows(bins).shares(self.significance, self.tolerance, "rows"))
        running = np.floor(np.cumsum(n * shares, axis=1) + 0.5).astype(np.int64)
        running[:, 1:] -= running[:, :-1].copy()
        low, high = np.minimum(np.maximum(running, 0), n)
        return low, np.minimum(high, n - low)

    def p_values(self, bins: Binned) -> Floats:
        """Return the exact p-value of each window."""
        return _windows(bins).p_values(self.tolerance)

    @property
    def of_rates(self) -> PointwiseTest:
        """The test of a window's rate of positives."""
        return PointwiseTest(Binomial(), self.significance, self.tolerance)

    def weigh(self, bins: Binned) -> Ints | Floats:
        """Return the weight of each window: its rows, those of the population, or its information."""
        return bins.sizes if self.weight == "rows" else _windows(bins).information

    def __call__(self, bins: Binned) -> Floats:
        low, high = _windows(bins).shares(self.significance, self.tolerance, self.weight)
        return np.asarray(100 * np.minimum(low + high, 1.0))


RejectionTest: TypeAlias = PointwiseTest | WindowTest


def _windows(bins: Binned) -> WindowPartition:
    """The windows of bins; raise an error if they are none."""
    if not isinstance(bins.partition, WindowPartition):
        raise TypeError("`WindowTest` needs bins that are windows.\n\nHint: use `Metric(Windows(), WindowTest())`.")
    return bins.partition


def _append_tolerance(tolerance: Tolerance | None) -> str:
    if tolerance is None:
        return ""
    return f", {'relative' if isinstance(tolerance, Relative) else 'absolute'} tolerance {tolerance.value:g}"


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean loss of an observation: the weighted 1-norm.

    Examples
    --------
    >>> import numpy as np
    >>> from truecal.metrics import Mean
    >>> Mean()(np.array([300, 100]), np.array([0.1, 0.4]))  # rows and losses of two bins
    0.175
    """

    words: ClassVar[str] = ""

    def __call__(self, n: Ints, loss: Floats) -> float:
        return float(np.add.reduce(n * loss) / np.add.reduce(n))


@dataclass(frozen=True, slots=True)
class PNorm:
    """The weighted p-norm; p = 2 is the root mean square.

    Examples
    --------
    >>> from truecal import Metric, Tally, Uniform
    >>> from truecal.metrics import Gap, PNorm
    >>> round(Metric(Uniform(2), Gap(), PNorm(2))(Tally.from_arrays([0, 1, 1, 1], [0.1, 0.2, 0.7, 0.8])), 3)
    0.304
    """

    p: float = 2.0

    @property
    def words(self) -> str:
        return "root mean square " if self.p == 2 else f"{self.p:g}-norm of the "

    def __post_init__(self) -> None:
        if not is_number(self.p) or not 1 <= self.p < np.inf:
            raise ValueError(f"`p` of a norm must be a finite number, 1 or more; it is {self.p!r}.")

    def __call__(self, n: Ints, loss: Floats) -> float:
        top = float(loss[n > 0].max())
        if not 0 < top < math.inf:
            return top
        return float(top * (np.sum(n * (loss / top) ** self.p) / n.sum()) ** (1 / self.p))


@dataclass(frozen=True, slots=True)
class Max:
    """The largest loss of a non-empty bin.

    Examples
    --------
    >>> from truecal import Metric, Tally, Uniform
    >>> from truecal.metrics import Gap, Max
    >>> round(Metric(Uniform(2), Gap(), Max())(Tally.from_arrays([0, 1, 1, 1], [0.1, 0.2, 0.7, 0.8])), 3)
    0.35
    """

    words: ClassVar[str] = "largest "

    def __call__(self, n: Ints, loss: Floats) -> float:
        return float(loss[n > 0].max())


@dataclass(frozen=True, slots=True)
class Metric:
    """A calibration error made of a binning, a loss and a norm; call it on a tally.

    Examples
    --------
    >>> from truecal import Metric, Quantile, Tally
    >>> from truecal.metrics import Gap, Max
    >>> tally = Tally.from_arrays([0, 1, 1, 1], [0.25, 0.5, 0.75, 1.0])
    >>> Metric(Quantile(2), Gap(), Max())(tally)
    0.125

    The named ones are constants:

    >>> from truecal.metrics import LTCE, METRICS, STANDARD, TCE
    >>> METRICS["tce"] is TCE, METRICS["ltce"] is LTCE, TCE(tally), LTCE(tally)
    (True, True, 0.0, 0.625)
    >>> STANDARD[:3]
    ('ltce', 'ltce_information', 'tce')
    """

    bad: ClassVar[Side] = "high"
    overall: ClassVar[bool] = False
    binning: Binning
    loss: Loss
    norm: Norm = field(default_factory=Mean)

    def __post_init__(self) -> None:
        check_binning(self.binning)
        for name, part, example in (("loss", self.loss, "Gap()"), ("norm", self.norm, "Mean()")):
            if isinstance(part, type) or not callable(part):
                raise TypeError(f"`{name}` must be a {name} such as `{example}`; it is {part!r}.")
        if not isinstance(self.unit, Unit):
            raise TypeError(f'`unit` of a loss must be a `Unit` such as `Unit("cents")`; it is {self.unit!r}.')
        if not isinstance(self.loss_words, str):
            raise TypeError(f"`words` of a loss must be text; it is {self.loss_words!r}.")

    @property
    def unit(self) -> Unit:
        """What the values are measured in: the unit of the loss."""
        unit: Unit = getattr(self.loss, "unit", UNKNOWN)
        return unit

    @property
    def words(self) -> str:
        """What is measured, such as "largest gap between rate and prediction"."""
        return f"{self.norm_words}{self.loss_words}"

    @property
    def loss_words(self) -> str:
        """What the loss measures: its `words`, or the name of its class."""
        words: str = getattr(self.loss, "words", type(self.loss).__name__)
        return words

    @property
    def norm_words(self) -> str:
        """The prefix of the norm: nothing for the mean, "largest ", "root mean square "."""
        words: str = getattr(self.norm, "words", f"{type(self.norm).__name__} of ")
        return words

    @property
    def axis(self) -> str:
        """The words with the unit, for an axis: "rejected predictions (%)"; all p-norms of a loss share one."""
        sign = self.unit.symbol.strip() or ("" if self.unit == PROBABILITY else self.unit.name)
        words = self.loss_words if isinstance(self.norm, PNorm) else self.words
        return f"{words} ({sign})" if sign else words

    @property
    def meaning(self) -> str:
        """What is measured, in which unit, and which values are best and worst."""
        unit, test = self.unit, self.rejection
        if test is not None:
            what = f"{self.norm_words}% of {test.share_of} rejected ({test.test_words})"
        elif unit == PROBABILITY:
            what = f"{self.words}, a probability"
        else:
            what = f"{self.words}, in {unit.name}" if unit.name else self.words
        if isinstance(test, WindowTest):
            most = "at most " if test.tolerance is not None else ""
            return f"{what}; {most}{self.best:g} on average if calibrated, {unit.top:g} is worst"
        return f"{what}; 0 is best" + (f", {unit.top:g} worst" if math.isfinite(unit.top) else "")

    @property
    def best(self) -> float:
        """The value of a calibrated model: the level of Local TCE's tests, else 0."""
        return 100 * self.loss.significance if isinstance(self.loss, WindowTest) else 0.0

    @property
    def bins(self) -> str:
        """The bins, such as "10 equal-width bins"."""
        words: str = getattr(self.binning, "words", f"{type(self.binning).__name__} bins")
        return words

    @property
    def name(self) -> str:
        """The name of a named metric; "value" for any other."""
        return next((name for name, named in METRICS.items() if named == self), "value")

    @property
    def rejection(self) -> RejectionTest | None:
        """The test with its level and tolerance, if the metric is test-based."""
        return self.loss if isinstance(self.loss, RejectionTest) else None

    def with_rejection(self, rejection: RejectionTest) -> Metric:
        """Return the metric with another test, or with its level and tolerance; itself if it is not test-based."""
        current = self.rejection
        return self if current is None or current == (like := current.like(rejection)) else replace(self, loss=like)

    def test_of_bins(self, default: PointwiseTest) -> RejectionTest:
        """Return the test for a table of the metric's bins: its own, or the default; windows have a test of windows."""
        if isinstance(self.binning, Windows):
            return WindowTest().like(self.rejection or default)
        return self.rejection or default

    def format(self, value: float) -> str:
        """Return a value as it is printed."""
        return self.unit.format(value)

    def __call__(self, data: Sorted) -> float:
        return self.on(Binned(data, cut(self.binning, data)))

    def on(self, bins: Binned) -> float:
        """Return the value on bins that are already cut."""
        loss = self.loss(bins)
        if type(self.loss) not in (Gap, PointwiseTest, WindowTest):
            self._check_loss(bins, loss)
        weights: Any = self.loss.weigh(bins) if isinstance(self.loss, WindowTest) else bins.sizes
        return self.combine(weights, loss) if weights.any() else math.nan

    def combine(self, weights: Ints, loss: Floats) -> float:
        """Combine the losses of bins by the norm."""
        value = self.norm(weights, loss)
        if not is_builtin(self.norm) and (not is_number(value) or math.isnan(value)):
            raise ValueError(f"A norm must give a number; {type(self.norm).__name__} gives {value!r}.")
        return value

    def _check_loss(self, bins: Binned, loss: object) -> None:
        """Raise an error unless a loss has a number from 0 to the top of its unit for every non-empty bin."""
        name, n = type(self.loss).__name__, bins.partition.n
        if not isinstance(loss, np.ndarray) or loss.shape != n.shape or loss.dtype.kind not in "fiu":
            what = f"shape {loss.shape}" if isinstance(loss, np.ndarray) else type(loss).__name__
            raise TypeError(f"A loss must give an array of {len(n)} numbers, one for each bin; {name} gives {what}.")
        bad = np.flatnonzero((n > 0) & ~((loss >= 0) & (loss <= self.unit.top * (1 + 1e-9))))
        if len(bad):
            raise ValueError(
                f"A loss must lie between 0 and the top of its unit, {self.unit.top:g}; {name} gives "
                f"{loss[bad[0]].item()!r} for bin {bad[0] + 1}."
            )


LTCE: Metric = Metric(Windows(), WindowTest())
"""Local TCE: the percentage of predictions in rejected score windows."""
LTCE_INFORMATION = Metric(Windows(), WindowTest(weight="information"))
TCE: Metric = Metric(BoundedIsotonic(), PointwiseTest())
"""The test-based calibration error: the percentage of predictions that the exact test rejects on bins of PAVA-BC."""
TCE_Q = Metric(Quantile(), PointwiseTest())
TCE_V = Metric(Isotonic(), PointwiseTest())
ECE = Metric(Uniform(), Gap())
ACE = Metric(Quantile(), Gap())
MCE = Metric(Uniform(), Gap(), Max())
MCE_Q = Metric(Quantile(), Gap(), Max())
RMSCE = Metric(Uniform(), Gap(), PNorm(2))
RMSCE_Q = Metric(Quantile(), Gap(), PNorm(2))
ECE_PAVA_BC = Metric(BoundedIsotonic(), Gap())


Measure: TypeAlias = Metric | Score
Bins: TypeAlias = dict[Binning | None, Any]  # `Binned` by its binning; `Rows` under None
M = TypeVar("M", float, Floats)


def as_error(metric: Measure, value: M) -> M:
    """Return values transformed so that larger ones are worse."""
    if metric.bad == "both":
        return abs(value - metric.best)
    return -value if metric.bad == "low" else value


def bin_once(data: Sorted, metrics: Mapping[str, Measure], like: Bins | None = None) -> Bins:
    """Cut data into bins once for every binning that the metrics use; scores use the rows.

    `like` are the bins of the same scores with other labels: windows, which do not depend on labels, are kept.
    """
    bins: Bins = {}
    for scheme in dict.fromkeys(metric.binning for metric in metrics.values()):
        if scheme is None:
            bins[None] = Rows(data.tally, None if like is None else like[None])
            continue
        known = None if like is None else like[scheme].partition
        if isinstance(known, WindowPartition):
            bins[scheme] = Binned(data, known.relabel(data.tally))
        else:
            bins[scheme] = Binned(data, cut(scheme, data))
    return bins


LOG_LOSS, BRIER, SLOPE, INTERCEPT, SPIEGELHALTER = LogLoss(), Brier(), Slope(), Intercept(), Spiegelhalter()
ECCE, ECCE_MAD, SMECE, ATB = CumulativeRange(), CumulativeMaximum(), SmoothError(), TwoBins()
METRICS: dict[str, Measure] = {name: globals()[name.upper()] for name in NAMES}
"""The metrics by name; "net_benefit@0.05" and other thresholds are recognised as well."""
STANDARD = (*(name for name, metric in METRICS.items() if metric.binning), "log_loss", "brier", "slope", "intercept")
"""The metrics that `evaluate` computes by default."""


def find_metric(name: object) -> Measure | None:
    """Return the metric of a name, including net benefits such as "net_benefit@0.05"; None if there is none."""
    if not isinstance(name, str) or not name.startswith(NET_BENEFIT_PREFIX):
        return METRICS.get(name) if isinstance(name, str) else None
    try:
        return NetBenefit(float(name.removeprefix(NET_BENEFIT_PREFIX)))
    except ValueError:
        return None


def describe_unknown(name: object) -> str:
    """Return the known metrics, and a suggestion, for an error message."""
    known = f"{', '.join(METRICS)}, or {NET_BENEFIT_PREFIX}0.05 for that threshold"
    return f"{known}; one is {name!r}.{did_you_mean(name, METRICS)}"


_TITLES = {"ltce": "Local TCE", "ltce_information": "Local TCE (information)", "ece_pava_bc": "ECE (PAVA-BC)"}


def format_name(name: str) -> str:
    """Return a metric's name for a plot or report: TCE(Q) for tce_q; names of your own metrics are unchanged.

    Examples
    --------
    >>> format_name("tce_q"), format_name("mine")
    ('TCE(Q)', 'mine')
    """
    metric = find_metric(name)
    if metric is None:
        return name
    if isinstance(metric, Score):
        return f"{metric.title} at {metric.threshold:g}" if isinstance(metric, NetBenefit) else metric.title
    stem, _, kind = name.upper().partition("_")
    return _TITLES.get(name, f"{stem}({kind})" if kind else stem)


def gaps(n: Ints | Floats, k: Ints | Floats, sums: Floats) -> Floats:
    """Return |rate - mean prediction| of each bin, 0 for empty ones."""
    held = np.where(n > 0, n, 1)
    return np.asarray(np.abs(k / held - sums / held))


def check_metric(metric: object) -> None:
    """Raise an error unless something is a metric."""
    if not isinstance(metric, (Metric, Score)):
        raise TypeError(f"A metric must be a `Metric(binning, loss, norm)` or a score; it is {metric!r}.")


def choose(
    names: Iterable[str] | Mapping[str, Measure] | None,
    binning: BinningLike,
    loss: RejectionTest,
) -> dict[str, Measure]:
    """Return the metrics to compute: named ones, with another binning and test if given, or your own."""
    if isinstance(names, Mapping):
        if binning is not None:
            raise ValueError(f"`binning` must be left out where {option('metrics')} are your own: each has its own.")
        for metric in names.values():
            check_metric(metric)
        chosen = dict(names)
    else:
        if isinstance(names, (Metric, Score)):
            raise TypeError(
                f"{option('metrics')} must be names, or a mapping of names to metrics; it is a single metric."
            )
        if names is not None and not isinstance(names, Iterable):
            raise TypeError(f"{option('metrics')} must be names, or a mapping of names to metrics; it is {names!r}.")
        chosen = {}
        wanted = [names] if isinstance(names, str) else STANDARD if names is None else names
        scheme = as_binning(binning, BoundedIsotonic(), Quantile)
        for name in wanted:
            metric = find_metric(name)
            if metric is None:
                raise ValueError(f"{option('metrics')} must be among {describe_unknown(name)}")
            if isinstance(metric, Metric):
                if isinstance(metric.binning, BoundedIsotonic):
                    metric = replace(metric, binning=scheme)
                metric = metric.with_rejection(loss)
            chosen[name] = metric
        if binning is not None and not any(metric.binning == scheme for metric in chosen.values()):
            raise ValueError(
                "`binning` takes the place of PAVA-BC, which none of the metrics asked for uses.\n\n"
                "Hint: for another number of bins give metrics of your own, such as `Metric(Uniform(15), Gap())`."
            )
    if not chosen:
        raise ValueError(f"{option('metrics')} must name at least one metric; it is empty.")
    return chosen
