"""The functions for users: arrays of any kind in, a number or a `Result` out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Any, Literal

import numpy as np

from truecal import _kernel, arrays, binning, metrics
from truecal.binning import Binning, BoundedIsotonic, Edges, Quantile, Uniform
from truecal.classes import Multiclass, as_matrix, one_vs_rest, refuse_class_options
from truecal.decisions import Test, Tolerance, as_tolerance, check_significance
from truecal.hypotheses import Binomial
from truecal.metrics import Gap, Metric, Rejection, bin_once
from truecal.result import MulticlassResult, Result
from truecal.table import FRAMES, BinTable
from truecal.tally import Rows, Sorted, Tally

BinningLike = Binning | str | int | None


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
) -> float:
    """Test-based calibration error: the percentage of predictions that a test finds to deviate from the data.

    Each bin's predictions p are held against its k positives in n observations; a prediction counts if the test
    rejects "P(Y = 1) = p". 0 is best, 100 worst, at any prevalence.

    Parameters
    ----------
    y_true, y_prob : arrays
        Labels and predicted probabilities of the positive class; or probabilities of shape (rows, classes) for the
        labels 0..classes-1 or those in `labels`.
    binning : binning, str or int, optional
        PAVA-BC by default; "uniform", "quantile", "pava", "pava-bc", a binning such as
        `BoundedIsotonic(sizes="paper")`, or a number of bins of equal size.
    test : test, optional
        `Binomial()` by default.
    significance : float
        A hypothesis is rejected when its p-value is at most this.
    tolerance : float, Absolute or Relative, optional
        How far a probability may be off without counting; a plain number is absolute.
    sample_weight : array of whole numbers, optional
        How often each row was seen.
    pos_label : optional
        The positive label, where labels are not 0 and 1.
    multiclass : "classwise" or "top-label", optional
        With several classes: the average over each class against the rest (the default), or the most probable
        class alone.

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
    loss = Rejection(test or Binomial(), significance, as_tolerance(tolerance))
    metric = Metric(_binning(binning, BoundedIsotonic(), Quantile), loss)
    return compute_any(metric, y_true, y_prob, sample_weight, pos_label, multiclass, labels)


def ece(
    y_true: Any,
    y_prob: Any,
    *,
    binning: BinningLike = None,
    sample_weight: Any = None,
    pos_label: Any = None,
    multiclass: Multiclass = None,
    labels: Sequence[Any] | None = None,
) -> float:
    """Expected calibration error: the mean gap between rate and prediction, on 10 bins of equal width or another
    `binning`.

    For the arguments see `tce`; a number as `binning` is the number of bins.

    Examples
    --------
    >>> import truecal
    >>> truecal.ece([0, 1, 1, 1], [0.25, 0.75, 0.75, 0.75])
    0.25
    """
    metric = replace(metrics.ECE, binning=_binning(binning, metrics.ECE.binning, Uniform))
    return compute_any(metric, y_true, y_prob, sample_weight, pos_label, multiclass, labels)


def ace(
    y_true: Any,
    y_prob: Any,
    *,
    binning: BinningLike = None,
    sample_weight: Any = None,
    pos_label: Any = None,
    multiclass: Multiclass = None,
    labels: Sequence[Any] | None = None,
) -> float:
    """Adaptive calibration error: as `ece`, on 10 bins of equal size."""
    metric = replace(metrics.ACE, binning=_binning(binning, metrics.ACE.binning, Quantile))
    return compute_any(metric, y_true, y_prob, sample_weight, pos_label, multiclass, labels)


def mce(
    y_true: Any,
    y_prob: Any,
    *,
    binning: BinningLike = None,
    sample_weight: Any = None,
    pos_label: Any = None,
    multiclass: Multiclass = None,
    labels: Sequence[Any] | None = None,
) -> float:
    """Maximum calibration error: the largest gap of a bin; `binning="quantile"` gives MCE(Q)."""
    metric = replace(metrics.MCE, binning=_binning(binning, metrics.MCE.binning, Uniform))
    return compute_any(metric, y_true, y_prob, sample_weight, pos_label, multiclass, labels)


def rmsce(
    y_true: Any,
    y_prob: Any,
    *,
    binning: BinningLike = None,
    sample_weight: Any = None,
    pos_label: Any = None,
    multiclass: Multiclass = None,
    labels: Sequence[Any] | None = None,
) -> float:
    """Root-mean-square calibration error: as `ece`, with the gaps squared."""
    metric = replace(metrics.RMSCE, binning=_binning(binning, metrics.RMSCE.binning, Uniform))
    return compute_any(metric, y_true, y_prob, sample_weight, pos_label, multiclass, labels)


def evaluate(
    y_true: Any,
    y_prob: Any,
    metrics: Iterable[str] | Mapping[str, Metric] | None = None,
    *,
    binning: BinningLike = None,
    test: Test | None = None,
    significance: float = 0.05,
    tolerance: Tolerance | float | None = None,
    sample_weight: Any = None,
    pos_label: Any = None,
    multiclass: Literal["top-label"] | None = None,
    labels: Sequence[Any] | None = None,
) -> Result:
    """All metrics at once, with the bins behind them.

    Parameters
    ----------
    metrics : names or mapping, optional
        Names of `truecal.NAMED_METRICS` (all of them by default), or your own as a mapping of names to `Metric`. The
        first one's bins are the result's `bins`.
    binning : optional
        Takes the place of PAVA-BC in the named metrics.
    test, significance, tolerance
        As in `tce`; they also make the tables of bins.
    multiclass : "top-label", optional
        With probabilities of shape (rows, classes): judge the most probable class. For each class against the rest see
        `evaluate_classes`.

    Examples
    --------
    >>> import truecal
    >>> result = truecal.evaluate([0, 1, 1, 1], [0.25, 0.75, 0.75, 0.75], metrics=["ece", "mce"])
    >>> result["ece"], result.n, result.prevalence
    (0.25, 4, 0.75)
    """
    probabilities = as_matrix(y_prob)
    column = y_prob
    if probabilities is None:
        refuse_class_options(multiclass, labels)
    elif multiclass == "top-label":
        ((y_true, column),) = one_vs_rest(y_true, probabilities, multiclass, labels, pos_label).values()
    else:
        raise ValueError(
            f"`y_prob` must be one column; its shape is {probabilities.shape}.\n\nHint: for two classes pass "
            "`y_prob[:, 1]`; for more, `evaluate_classes` judges each class against the rest and "
            '`multiclass="top-label"` the most probable one.'
        )
    tally = Tally.from_arrays(y_true, column, sample_weight, pos_label)
    result = evaluate_tally(tally, metrics, binning=binning, test=test, significance=significance, tolerance=tolerance)
    library = type(y_prob).__module__.partition(".")[0]
    return replace(result, library=library) if library in FRAMES else result


def evaluate_classes(
    y_true: Any,
    y_prob: Any,
    metrics: Iterable[str] | Mapping[str, Metric] | None = None,
    *,
    labels: Sequence[Any] | None = None,
    binning: BinningLike = None,
    test: Test | None = None,
    significance: float = 0.05,
    tolerance: Tolerance | float | None = None,
    sample_weight: Any = None,
) -> MulticlassResult:
    """`evaluate` for each class against the rest, from probabilities of shape (rows, classes), and the averages.

    `labels` names the classes in the order of the columns; 0, 1, ... by default.

    Examples
    --------
    >>> import truecal
    >>> result = truecal.evaluate_classes([0, 1, 2], [[0.5, 0.25, 0.25], [0, 1, 0], [0.5, 0, 0.5]], metrics=["ece"])
    >>> result["ece"] == truecal.ece([0, 1, 2], [[0.5, 0.25, 0.25], [0, 1, 0], [0.5, 0, 0.5]])
    True
    """
    probabilities = as_matrix(y_prob)
    if probabilities is None:
        raise ValueError("`y_prob` must be of shape (rows, classes); it has a single column.\n\nHint: use `evaluate`.")
    columns = one_vs_rest(y_true, probabilities, "classwise", labels, None)
    return MulticlassResult(
        {
            name: evaluate_tally(
                Tally.from_arrays(label, score, sample_weight),
                metrics,
                binning=binning,
                test=test,
                significance=significance,
                tolerance=tolerance,
            )
            for name, (label, score) in columns.items()
        }
    )


def evaluate_tally(
    tally: Tally,
    metrics: Iterable[str] | Mapping[str, Metric] | None = None,
    *,
    binning: BinningLike = None,
    test: Test | None = None,
    significance: float = 0.05,
    tolerance: Tolerance | float | None = None,
) -> Result:
    """`evaluate` for observations that are already grouped by score."""
    check_significance(significance)
    test, tolerance = test or Binomial(), as_tolerance(tolerance)
    chosen = _choose(metrics, _binning(binning, BoundedIsotonic(), Quantile), test, significance, tolerance)
    bins = bin_once(tally, chosen)
    tables = {scheme: BinTable.of(binned, test, significance, tolerance) for scheme, binned in bins.items()}
    notes = dict.fromkeys(note for binned in bins.values() for note in binned.partition.notes)
    return Result(
        n=tally.total,
        positives=tally.positives,
        values={name: metric.on(bins[metric.binning]) for name, metric in chosen.items()},
        metrics=chosen,
        tables={name: tables[metric.binning] for name, metric in chosen.items()},
        test=test,
        significance=significance,
        tolerance=tolerance,
        notes=tuple(notes),
        version=version("truecal"),
    )


def compute(metric: Metric, y_true: Any, y_prob: Any, *, pos_label: Any = None, sample_weight: Any = None) -> float:
    """Any metric on arrays, by the shortest way: bins with known edges need no sort, others no grouping."""
    if sample_weight is not None:
        return metric(Tally.from_arrays(y_true, y_prob, sample_weight, pos_label))
    scheme = metric.binning
    if isinstance(metric.loss, Gap) and isinstance(scheme, (Uniform, Edges)):
        score, label = arrays.scores(y_prob), arrays.labels(y_true, pos_label)
        arrays.check_lengths(y_true=len(label), y_prob=len(score))
        arrays.refuse_empty(len(score))
        n, k, sums, scores_ok, labels_ok = _kernel.fixed_bins(score, label, scheme.edges, isinstance(scheme, Uniform))
        if not labels_ok:
            arrays.refuse_labels(label, score)
        if not scores_ok:
            arrays.refuse_scores(score)
        return metric.norm(n, metrics.gaps(n, k, sums))
    data: Sorted = Rows.from_arrays(y_true, y_prob, pos_label)
    return metric(data)


def compute_any(  # noqa: PLR0917
    metric: Metric,
    y_true: Any,
    y_prob: Any,
    sample_weight: Any,
    pos_label: Any,
    multiclass: Multiclass,
    labels: Sequence[Any] | None,
) -> float:
    """`compute` for one column of probabilities or several."""
    probabilities = as_matrix(y_prob)
    if probabilities is None:
        refuse_class_options(multiclass, labels)
        return compute(metric, y_true, y_prob, pos_label=pos_label, sample_weight=sample_weight)
    columns = one_vs_rest(y_true, probabilities, multiclass, labels, pos_label)
    return float(np.mean([compute(metric, y, p, sample_weight=sample_weight) for y, p in columns.values()]))


def _binning(given: BinningLike, default: Binning, numbered: type[Uniform] | type[Quantile]) -> Binning:
    if given is None:
        return default
    if isinstance(given, str):
        if given not in binning.NAMED:
            raise ValueError(f"`binning` must be one of {', '.join(map(repr, binning.NAMED))}; it is {given!r}.")
        return binning.NAMED[given]()
    if isinstance(given, (int, np.integer)):
        return numbered(int(given))
    if not hasattr(given, "partition"):
        raise TypeError(f"`binning` must be a binning, its name or a number of bins; it is {given!r}.")
    return given


def _choose(
    names: Iterable[str] | Mapping[str, Metric] | None,
    scheme: Binning,
    test: Test | None,
    significance: float,
    tolerance: Tolerance | float | None,
) -> dict[str, Metric]:
    if isinstance(names, Mapping):
        if not names:
            raise ValueError("`metrics` must name at least one metric; it is empty.")
        return dict(names)
    loss = Rejection(test or Binomial(), significance, as_tolerance(tolerance))
    chosen = {}
    for name in [names] if isinstance(names, str) else names or metrics.NAMED_METRICS:
        if name not in metrics.NAMED_METRICS:
            raise ValueError(f"`metrics` must be among {', '.join(metrics.NAMED_METRICS)}; one is {name!r}.")
        metric = metrics.NAMED_METRICS[name]
        if isinstance(metric.binning, BoundedIsotonic):
            metric = replace(metric, binning=scheme)
        if isinstance(metric.loss, Rejection):
            metric = replace(metric, loss=loss)
        chosen[name] = metric
    return chosen
