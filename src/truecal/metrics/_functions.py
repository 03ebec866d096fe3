"""Functions that compute one number from labels and probabilities: `tce`, `ece`, ..."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from truecal import _kernel
from truecal._options import FunctionOptions, declare
from truecal._threads import check_threads
from truecal.data import (
    MOST_CELL_ROWS,
    AnyArray,
    Cells,
    Classes,
    Multiclass,
    Tally,
    as_matrix,
    check_class_options,
    check_values,
    choose_multiclass,
    count_threads,
    read_pair,
    sort_rows,
)
from truecal.metrics._binning import BinningLike, BoundedIsotonic, Edges, Quantile, Uniform, as_binning, limit_sizes
from truecal.metrics._decisions import Test, Tolerance, as_tolerance
from truecal.metrics._hypotheses import Binomial
from truecal.metrics._local import Weight, Windows, reject_windows
from truecal.metrics._metric import (
    ACE,
    ECE,
    LTCE,
    MCE,
    RMSCE,
    TCE,
    Binned,
    Gap,
    Mean,
    Measure,
    Metric,
    PointwiseTest,
    WindowTest,
    check_metric,
    gaps,
)
from truecal.metrics._scores import MeanScore, Score, Spiegelhalter

ONE_CALL_ROWS = 1 << 18  # rows up to which one call of the kernel tests all, in memory of one piece
FEW_EDGES = 4097  # up to which counting is faster than sorting: counters are emptied every few thousand rows


@declare(first=(FunctionOptions,))
def ltce(
    y_true: Any,
    y_prob: Any,
    *,
    significance: float = 0.05,
    tolerance: Tolerance | float | None = None,
    weight: Weight = "rows",
    sample_weight: Any = None,
    pos_label: Any = None,
    multiclass: Multiclass = None,
    labels: Sequence[Any] | None = None,
    threads: int | None = None,
) -> float:
    """Compute Local TCE: the percentage of predictions in rejected score windows.

    It is truecal's own variant of TCE, not in the paper. Windows are chosen without using the labels, overlap, and are
    each tested as a whole against their own predictions, at exactly their level. A calibrated model therefore scores
    100 x `significance` on average, 5 by default, at every size and prevalence; 100 is the worst value. One pass over
    the rows is enough: nothing is sorted.

    It measures how many predictions are rejected, not how large the errors are, and it grows with the data: predictions
    that are 2% too low are rejected in few windows of 10,000 rows and in many of 10,000,000. Observed over expected
    positives is the size of an error (`truecal.evaluate(...).verdict`); with a `tolerance` the value has a limit.

    Parameters
    ----------
    y_true, y_prob : arrays
        Labels and predicted probabilities; see `tce`.
    weight : "rows" or "information"
        Whether rows count equally, or by their information p (1 - p). Information gives weight to the few rows that
        matter for rare events, and none to predictions of 0 and 1. NaN if all predictions are 0 or 1.

    Examples
    --------
    >>> import numpy as np, truecal
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(0.5, 5, size=20_000)
    >>> y = rng.random(20_000) < p
    >>> round(truecal.ltce(y, p), 1), round(truecal.ltce(y, p / 2), 1)
    (5.7, 81.0)
    """
    metric = LTCE
    if not (tolerance is None and isinstance(significance, float) and significance == 0.05 and weight == "rows"):
        metric = Metric(LTCE.binning, WindowTest(significance, as_tolerance(tolerance), weight))
    return compute_any(metric, y_true, y_prob, sample_weight, pos_label, multiclass, labels, threads)


@declare(first=(FunctionOptions,))
def tce(
    y_true: Any,
    y_prob: Any,
    *,
    binning: BinningLike = None,
    test: Test | None = None,
    significance: float = 0.05,
    tolerance: Tolerance | float | None = None,
    sample_weight: Any = None,
    pos_label: Any = None,
    multiclass: Multiclass = None,
    labels: Sequence[Any] | None = None,
    threads: int | None = None,
) -> float:
    """Compute the test-based calibration error (TCE): the percentage of predictions that a test rejects.

    Each bin's predictions p are compared with its k positives in n observations; a prediction counts if the test
    rejects "P(Y = 1) = p". 0 is best, 100 worst, at any prevalence.

    Parameters
    ----------
    y_true, y_prob : arrays
        Labels and predicted probabilities of the positive class; or probabilities of shape (rows, classes) for the
        labels 0..classes-1 or those in `labels`.

    References
    ----------
    Matsubara, Tax, Mudd, Guy. TCE: A Test-Based Approach to Measuring Calibration Error. UAI 2023.

    Examples
    --------
    >>> import numpy as np, truecal
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(0.5, 5, size=5000)
    >>> y = rng.random(5000) < p
    >>> truecal.tce(y, p) < 20 < truecal.tce(y, p / 2)
    True
    """
    metric = TCE
    plain = binning is None and test is None and tolerance is None
    if not (plain and isinstance(significance, float) and significance == 0.05):
        loss = PointwiseTest(Binomial() if test is None else test, significance, as_tolerance(tolerance))
        metric = Metric(as_binning(binning, TCE.binning, Quantile), loss)
    return compute_any(metric, y_true, y_prob, sample_weight, pos_label, multiclass, labels, threads)


@declare(first=(FunctionOptions,))
def ece(
    y_true: Any,
    y_prob: Any,
    *,
    binning: BinningLike = None,
    sample_weight: Any = None,
    pos_label: Any = None,
    multiclass: Multiclass = None,
    labels: Sequence[Any] | None = None,
    threads: int | None = None,
) -> float:
    """Compute the expected calibration error (ECE): the mean gap between rate and prediction over bins.

    Parameters
    ----------
    y_true, y_prob : arrays
        Labels and predicted probabilities; see `tce`.

    Examples
    --------
    >>> import truecal
    >>> truecal.ece([0, 1, 1, 1], [0.25, 0.75, 0.75, 0.75])
    0.25
    """
    metric = ECE if binning is None else replace(ECE, binning=as_binning(binning, ECE.binning, Uniform))
    return compute_any(metric, y_true, y_prob, sample_weight, pos_label, multiclass, labels, threads)


@declare(first=(FunctionOptions,))
def ace(
    y_true: Any,
    y_prob: Any,
    *,
    binning: BinningLike = None,
    sample_weight: Any = None,
    pos_label: Any = None,
    multiclass: Multiclass = None,
    labels: Sequence[Any] | None = None,
    threads: int | None = None,
) -> float:
    """Compute the adaptive calibration error (ACE): as `ece`, on 10 bins of equal size.

    Parameters
    ----------
    y_true, y_prob : arrays
        Labels and predicted probabilities; see `tce`.

    Examples
    --------
    >>> import truecal
    >>> round(truecal.ace([0, 1, 0, 1], [0.1, 0.2, 0.7, 0.9]), 3)
    0.425
    """
    metric = ACE if binning is None else replace(ACE, binning=as_binning(binning, ACE.binning, Quantile))
    return compute_any(metric, y_true, y_prob, sample_weight, pos_label, multiclass, labels, threads)


@declare(first=(FunctionOptions,))
def mce(
    y_true: Any,
    y_prob: Any,
    *,
    binning: BinningLike = None,
    sample_weight: Any = None,
    pos_label: Any = None,
    multiclass: Multiclass = None,
    labels: Sequence[Any] | None = None,
    threads: int | None = None,
) -> float:
    """Compute the maximum calibration error (MCE): the largest gap of a bin; `binning="quantile"` gives MCE(Q).

    Parameters
    ----------
    y_true, y_prob : arrays
        Labels and predicted probabilities; see `tce`.

    Examples
    --------
    >>> import truecal
    >>> round(truecal.mce([0, 1, 0, 1], [0.1, 0.2, 0.7, 0.9]), 3)
    0.8
    """
    metric = MCE if binning is None else replace(MCE, binning=as_binning(binning, MCE.binning, Uniform))
    return compute_any(metric, y_true, y_prob, sample_weight, pos_label, multiclass, labels, threads)


@declare(first=(FunctionOptions,))
def rmsce(
    y_true: Any,
    y_prob: Any,
    *,
    binning: BinningLike = None,
    sample_weight: Any = None,
    pos_label: Any = None,
    multiclass: Multiclass = None,
    labels: Sequence[Any] | None = None,
    threads: int | None = None,
) -> float:
    """Compute the root-mean-square calibration error: as `ece`, with the gaps squared.

    Parameters
    ----------
    y_true, y_prob : arrays
        Labels and predicted probabilities; see `tce`.

    Examples
    --------
    >>> import truecal
    >>> round(truecal.rmsce([0, 1, 0, 1], [0.1, 0.2, 0.7, 0.9]), 3)
    0.536
    """
    metric = RMSCE if binning is None else replace(RMSCE, binning=as_binning(binning, RMSCE.binning, Uniform))
    return compute_any(metric, y_true, y_prob, sample_weight, pos_label, multiclass, labels, threads)


@declare(first=(FunctionOptions,))
def compute(
    metric: Measure,
    y_true: Any,
    y_prob: Any,
    *,
    pos_label: Any = None,
    sample_weight: Any = None,
    threads: int | None = None,
) -> float:
    """Compute any metric on arrays. Windows and bins with known edges are counted without sorting the rows.

    Parameters
    ----------
    metric : Metric or Score
        What is computed.
    y_true, y_prob : arrays
        Labels, and predicted probabilities of the positive class.

    Examples
    --------
    >>> from truecal import Metric, Uniform
    >>> from truecal.metrics import Gap, compute
    >>> round(compute(Metric(Uniform(15), Gap()), [0, 1, 0, 1], [0.1, 0.2, 0.7, 0.9]), 3)
    0.425
    """
    check_metric(metric)
    check_threads(threads)
    if isinstance(metric, (MeanScore, Spiegelhalter)) and sample_weight is None:
        y_prob, y_true = read_pair(y_true, y_prob, pos_label)
        pos_label = None
        value = metric.on_rows(y_prob, y_true, threads)
        if value is not None:
            return value
    if isinstance(metric, Score) or (sample_weight is not None and not isinstance(metric.binning, Windows)):
        return metric(Tally.from_arrays(y_true, y_prob, sample_weight, pos_label))
    if sample_weight is None:
        y_prob, y_true = read_pair(y_true, y_prob, pos_label)
        pos_label = None
        value = _compute_at_once(metric, y_prob, y_true, threads)
        if value is not None:
            return value
    if not isinstance(metric.binning, Windows):
        return metric(sort_rows(y_true, y_prob, pos_label, threads=threads))
    cells, loss = Cells.from_arrays(y_true, y_prob, sample_weight, pos_label, threads=threads), metric.loss
    if type(loss) is WindowTest and loss.tolerance is None and loss.weight == "rows":
        rows, low, high = reject_windows(cells, loss.significance)
        return metric.combine(rows, 100 * np.minimum(low + high, 1.0))
    return metric.on(Binned(*metric.binning.partition_cells(cells)))


def _compute_at_once(metric: Metric, score: AnyArray, label: AnyArray, threads: int | None) -> float | None:
    """The metric of rows by a single call of the kernel; None if it takes several, or if rounding may decide.

    Types are compared exactly, since a user's subclass may compute something else.
    """
    loss, scheme, size = metric.loss, metric.binning, len(score)
    value: float | None = None
    if type(loss) is Gap:
        if not (type(scheme) is Uniform or type(scheme) is Edges) or len(edges := scheme.edges) > FEW_EDGES:
            return None
        if type(metric.norm) is not Mean:
            n, k, sums, *fine = _kernel.fixed_bins(score, label, edges, count_threads(size, threads))
            check_values(score, label, *fine)
            return metric.combine(n, gaps(n, k, sums))
        value, *fine = _kernel.mean_gap(score, label, edges, count_threads(size, threads))
    elif type(metric.norm) is not Mean:
        return None
    elif type(loss) is WindowTest and type(scheme) is Windows:
        if loss.tolerance is not None or loss.weight != "rows" or size > MOST_CELL_ROWS:
            return None
        value, *fine = _kernel.local_rows(score, label, count_threads(size, threads), loss.significance)
    elif type(loss) is PointwiseTest and type(loss.test) is Binomial and type(scheme) is BoundedIsotonic:
        if loss.tolerance is not None or size > ONE_CALL_ROWS:
            return None
        sizes = limit_sizes(*scheme.bounds(size), size)
        value, *fine = loss.test.reject_rows(score, label, *sizes, scheme.sizes == "paper", loss.significance)
    else:
        return None
    check_values(score, label, *fine)
    return value


def compute_any(
    metric: Measure,
    y_true: Any,
    y_prob: Any,
    sample_weight: Any,
    pos_label: Any,
    multiclass: Multiclass,
    labels: Sequence[Any] | None,
    threads: int | None = None,
) -> float:
    """Compute a metric for one column of probabilities, for the most probable class, or its average over classes."""
    probabilities = as_matrix(y_prob)
    if probabilities is None:
        check_class_options(multiclass, labels)
        return compute(metric, y_true, y_prob, pos_label=pos_label, sample_weight=sample_weight, threads=threads)
    chosen = choose_multiclass(multiclass, probabilities.shape[1])
    classes = Classes.of(y_true, probabilities, labels, pos_label, threads)
    columns = [classes.top()] if chosen == "top-label" else classes.columns()
    return float(np.mean([compute(metric, y, p, sample_weight=sample_weight, threads=threads) for y, p in columns]))
