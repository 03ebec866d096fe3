"""Metrics as values: Metric(binning, loss, norm), and the named ones.

The paper's generalised calibration error: cut the predictions into bins, give each bin a loss, combine the losses
by a norm weighted with the bins' sizes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from truecal import _kernel
from truecal._errors import option
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
)
from truecal.metrics._decisions import (
    Test,
    Tolerance,
    as_tolerance,
    check_significance,
    check_test,
    count_rejected,
    is_number,
)
from truecal.metrics._hypotheses import Binomial
from truecal.observations import Floats, Ints, Sorted


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
            (self._rejected[key],) = count_rejected(test, self.data, [self.partition], significance, tolerance)
        return self._rejected[key]

    @staticmethod
    def reject_together(bins: Sequence[Binned], loss: Rejection) -> None:
        """`rejected` of many partitions of the same data at once, which decides equal bins once."""
        key = loss.test, loss.significance, loss.tolerance
        found = count_rejected(key[0], bins[0].data, [each.partition for each in bins], *key[1:])
        for each, rejected in zip(bins, found, strict=True):
            each._rejected[key] = rejected


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
        check_test(self.test)
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
class PNorm:
    """The weighted p-norm; p = 2 is the root mean square."""

    p: float = 2.0

    def __post_init__(self) -> None:
        if not is_number(self.p) or not 1 <= self.p < np.inf:
            raise ValueError(f"`p` of a norm must be a finite number, 1 or more; it is {self.p!r}.")

    def __call__(self, n: Ints, loss: Floats) -> float:
        top = float(loss[n > 0].max())
        return top * float(np.sum(n * (loss / top) ** self.p) / n.sum()) ** (1 / self.p) if top else 0.0


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
    >>> from truecal import Metric, Quantile, Tally
    >>> from truecal.metrics import Gap, Max
    >>> Metric(Quantile(2), Gap(), Max())(Tally.from_arrays([0, 1, 1, 1], [0.25, 0.5, 0.75, 1.0]))
    0.125
    """

    binning: Binning
    loss: Loss
    norm: Norm = field(default_factory=Mean)

    def __post_init__(self) -> None:
        check_binning(self.binning)
        for name, part, example in (("loss", self.loss, "Gap()"), ("norm", self.norm, "Mean()")):
            if isinstance(part, type) or not callable(part):
                raise TypeError(f"`{name}` must be a {name} such as `{example}`; it is {part!r}.")

    def __call__(self, data: Sorted) -> float:
        return self.on(Binned(data, self.binning.partition(data)))

    def on(self, bins: Binned) -> float:
        """The value on bins that are already there."""
        return self.norm(bins.partition.n, self.loss(bins))


TCE: Metric = Metric(BoundedIsotonic(), Rejection())
TCE_Q = Metric(Quantile(), Rejection())
TCE_V = Metric(Isotonic(), Rejection())
ECE = Metric(Uniform(), Gap())
ACE = Metric(Quantile(), Gap())
MCE = Metric(Uniform(), Gap(), Max())
MCE_Q = Metric(Quantile(), Gap(), Max())
RMSCE = Metric(Uniform(), Gap(), PNorm(2))
RMSCE_Q = Metric(Quantile(), Gap(), PNorm(2))
ECE_PAVA_BC = Metric(BoundedIsotonic(), Gap())


def bin_once(data: Sorted, metrics: Mapping[str, Metric]) -> dict[Binning, Binned]:
    """The bins of every binning that the metrics use."""
    schemes = dict.fromkeys(metric.binning for metric in metrics.values())
    return {scheme: Binned(data, scheme.partition(data)) for scheme in schemes}


METRICS: dict[str, Metric] = {
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


def name_of(metric: Metric) -> str:
    """The name of a named metric; "value" for any other."""
    return next((name for name, named in METRICS.items() if named == metric), "value")


def gaps(n: Ints, k: Ints, sums: Floats) -> Floats:
    """|rate - mean prediction| of each bin, 0 for empty ones."""
    held = np.maximum(n, 1)
    return np.asarray(np.abs(k / held - sums / held))


def check_metric(metric: object) -> None:
    """Refuse what is no metric."""
    if not isinstance(metric, Metric):
        raise TypeError(f"A metric must be a `Metric(binning, loss, norm)`; it is {metric!r}.")


def choose(
    names: Iterable[str] | Mapping[str, Metric] | None,
    binning: BinningLike,
    loss: Rejection,
) -> dict[str, Metric]:
    """Metrics by name, with PAVA-BC and the test replaced by the user's; or the user's own as they are."""
    if isinstance(names, Mapping):
        if binning is not None:
            raise ValueError(f"`binning` must be left out where {option('metrics')} are your own: each has its own.")
        for metric in names.values():
            check_metric(metric)
        chosen = dict(names)
    else:
        if isinstance(names, Metric):
            raise TypeError(
                f"{option('metrics')} must be names, or a mapping of names to metrics; it is a single metric."
            )
        chosen = {}
        as_tuple = [names] if isinstance(names, str) else METRICS if names is None else names
        scheme = as_binning(binning, BoundedIsotonic(), Quantile)
        for name in as_tuple:
            if name not in METRICS:
                raise ValueError(f"{option('metrics')} must be among {', '.join(METRICS)}; one is {name!r}.")
            metric = METRICS[name]
            if isinstance(metric.binning, BoundedIsotonic):
                metric = replace(metric, binning=scheme)
            if isinstance(metric.loss, Rejection):
                metric = replace(metric, loss=loss)
            chosen[name] = metric
        if binning is not None and not any(metric.binning == scheme for metric in chosen.values()):
            raise ValueError(
                "`binning` takes the place of PAVA-BC, which none of the metrics asked for uses.\n\n"
                "Hint: for another number of bins give metrics of your own, such as `Metric(Uniform(15), Gap())`."
            )
    if not chosen:
        raise ValueError(f"{option('metrics')} must name at least one metric; it is empty.")
    return chosen
