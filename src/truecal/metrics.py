"""Metrics as values: Metric(binning, loss, norm), and the named ones.

The paper's generalised calibration error: cut the predictions into bins, give each bin a loss, combine the losses
by a norm weighted with the bins' sizes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from truecal import _kernel
from truecal.binning import Binning, BoundedIsotonic, Isotonic, Partition, Quantile, Uniform
from truecal.decisions import Test, Tolerance, as_tolerance, check_significance, count_rejected
from truecal.hypotheses import Binomial
from truecal.tally import Floats, Ints, Sorted


class Binned:
    """Observations in their bins; what several losses need is computed once."""

    __slots__ = ("_rejected", "_sums", "data", "partition")

    def __init__(self, data: Sorted, partition: Partition) -> None:
        self.data, self.partition = data, partition
        self._sums: Floats | None = None
        self._rejected: dict[tuple[Test, float, Tolerance | None], tuple[Ints, Ints]] = {}

    @property
    def score_sums(self) -> Floats:
        """The sum of each bin's predictions, the same whatever the order of the rows."""
        if self._sums is None:
            self._sums = _kernel.score_sums(self.data.entries, self.partition.starts)
        return self._sums

    def rejected(self, test: Test, significance: float, tolerance: Tolerance | None) -> tuple[Ints, Ints]:
        """How many of each bin's predictions the test rejects, as too low and as too high."""
        key = test, significance, tolerance
        if key not in self._rejected:
            self._rejected[key] = count_rejected(test, self.data, self.partition, significance, tolerance)
        return self._rejected[key]


class Loss(Protocol):
    """What a bin loses; empty bins get 0 and count for nothing."""

    def __call__(self, bins: Binned) -> Floats: ...


class Norm(Protocol):
    """The losses of bins of n observations as one number."""

    def __call__(self, n: Ints, loss: Floats) -> float: ...


@dataclass(frozen=True, slots=True)
class Gap:
    """The distance between a bin's rate of positives and its mean prediction."""

    def __call__(self, bins: Binned) -> Floats:
        return gaps(bins.partition.n, bins.partition.k, bins.score_sums)


@dataclass(frozen=True, slots=True)
class Rejection:
    """The percentage of a bin's predictions p whose hypothesis "P(Y = 1) = p" a test rejects, given the bin's
    positives."""

    test: Test = field(default_factory=Binomial)
    significance: float = 0.05
    tolerance: Tolerance | None = None

    def __post_init__(self) -> None:
        check_significance(self.significance)
        object.__setattr__(self, "tolerance", as_tolerance(self.tolerance))

    def __call__(self, bins: Binned) -> Floats:
        too_low, too_high = bins.rejected(self.test, self.significance, self.tolerance)
        return np.asarray(100 * (too_low + too_high) / np.maximum(bins.partition.n, 1))


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean loss of an observation: the weighted 1-norm."""

    def __call__(self, n: Ints, loss: Floats) -> float:
        return float(np.sum(n * loss) / n.sum())


@dataclass(frozen=True, slots=True)
class Power:
    """The weighted p-norm; p = 2 is the root mean square."""

    p: float = 2.0

    def __post_init__(self) -> None:
        if not self.p >= 1:
            raise ValueError(f"`p` of a norm must be 1 or more; it is {self.p!r}.")

    def __call__(self, n: Ints, loss: Floats) -> float:
        return float((np.sum(n * loss**self.p) / n.sum()) ** (1 / self.p))


@dataclass(frozen=True, slots=True)
class Max:
    """The largest loss of a bin that is not empty."""

    def __call__(self, n: Ints, loss: Floats) -> float:
        return float(loss[n > 0].max())


@dataclass(frozen=True, slots=True)
class Metric:
    """A calibration error made of a binning, a loss and a norm; call it on a tally.

    Examples
    --------
    >>> from truecal import Gap, Max, Metric, Quantile, Tally
    >>> Metric(Quantile(2), Gap(), Max())(Tally.from_arrays([0, 1, 1, 1], [0.25, 0.5, 0.75, 1.0]))
    0.125
    """

    binning: Binning
    loss: Loss
    norm: Norm = field(default_factory=Mean)

    def __call__(self, data: Sorted) -> float:
        return self.on(Binned(data, self.binning.partition(data)))

    def on(self, bins: Binned) -> float:
        """The value on bins that are already there."""
        return self.norm(bins.partition.n, self.loss(bins))


TCE = Metric(BoundedIsotonic(), Rejection())
TCE_Q = Metric(Quantile(), Rejection())
TCE_V = Metric(Isotonic(), Rejection())
ECE = Metric(Uniform(), Gap())
ACE = Metric(Quantile(), Gap())
MCE = Metric(Uniform(), Gap(), Max())
MCE_Q = Metric(Quantile(), Gap(), Max())
RMSCE = Metric(Uniform(), Gap(), Power(2))
RMSCE_Q = Metric(Quantile(), Gap(), Power(2))
ECE_PAVA_BC = Metric(BoundedIsotonic(), Gap())


def bin_once(data: Sorted, metrics: Mapping[str, Metric]) -> dict[Binning, Binned]:
    """The bins of every binning that the metrics use."""
    schemes = dict.fromkeys(metric.binning for metric in metrics.values())
    return {scheme: Binned(data, scheme.partition(data)) for scheme in schemes}


NAMED_METRICS: dict[str, Metric] = {
    "tce": TCE,
    "tce_q": TCE_Q,
    "tce_v": TCE_V,
    "ece": ECE,
    "ace": ACE,
    "mce": MCE,
    "mce_q": MCE_Q,
    "rmsce": RMSCE,
    "rmsce_q": RMSCE_Q,
    "ece_pava_bc": ECE_PAVA_BC,
}


def gaps(n: Ints, k: Ints, sums: Floats) -> Floats:
    """|rate - mean prediction| of each bin, 0 for empty ones."""
    held = np.maximum(n, 1)
    return np.asarray(np.abs(k / held - sums / held))
