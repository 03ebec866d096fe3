"""The functions for users that answer with a `Result`: all metrics at once, with their bins, references and
intervals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Any, Literal

import numpy as np

from truecal import arrays
from truecal.binning import BinningLike
from truecal.classes import as_matrix, one_vs_rest, refuse_class_options
from truecal.decisions import Test, Tolerance, as_tolerance
from truecal.hypotheses import Binomial
from truecal.inference import Difference, find_differences, find_intervals, refer
from truecal.metrics import Metric, Rejection, bin_once, choose
from truecal.replicates import RandomState
from truecal.result import MulticlassResult, Result
from truecal.shapes import Scores, Shape, rank
from truecal.table import FRAMES, Adjustment, BinTable
from truecal.tally import Tally


def evaluate(
    y_true: Any,
    y_prob: Any,
    metrics: Iterable[str] | Mapping[str, Metric] | None = None,
    *,
    binning: BinningLike = None,
    test: Test | None = None,
    significance: float = 0.05,
    tolerance: Tolerance | float | None = None,
    adjust: Adjustment = None,
    above: float | None = None,
    top: int | float | None = None,
    reference: int = 0,
    intervals: int = 0,
    confidence: float = 0.95,
    random_state: RandomState = None,
    threads: int = 1,
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
    adjust : "holm" or "bh", optional
        Adjust the bins' p-values for their number: Holm's for any error, Benjamini and Hochberg's for their share.
    above, top : optional
        Judge only predictions of at least `above`, or the `top` count (int) or share (float): the ones that act.
    reference, intervals : int
        Redraw labels this often: for what each metric would be were the model perfect, and for an interval of its
        expectation. 1000 is a good number; 0, the default, leaves them out.
    random_state, threads
        A seed or generator, and how many threads to use; the numbers do not depend on the threads.
    multiclass : "top-label", optional
        With probabilities of shape (rows, classes): judge the most probable class. For each class against the rest
        see `evaluate_classes`.

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
    result = evaluate_tally(
        Tally.from_arrays(y_true, column, sample_weight, pos_label),
        metrics,
        binning=binning,
        test=test,
        significance=significance,
        tolerance=tolerance,
        adjust=adjust,
        above=above,
        top=top,
        reference=reference,
        intervals=intervals,
        confidence=confidence,
        random_state=random_state,
        threads=threads,
    )
    library = type(y_prob).__module__.partition(".")[0]
    return replace(result, library=library) if library in FRAMES else result


def evaluate_classes(
    y_true: Any,
    y_prob: Any,
    metrics: Iterable[str] | Mapping[str, Metric] | None = None,
    *,
    labels: Sequence[Any] | None = None,
    sample_weight: Any = None,
    **options: Any,
) -> MulticlassResult:
    """`evaluate` for each class against the rest, from probabilities of shape (rows, classes), and the averages.

    `labels` names the classes in the order of the columns; 0, 1, ... by default. The other options are those of
    `evaluate_tally`.

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
            name: evaluate_tally(Tally.from_arrays(label, score, sample_weight), metrics, **options)
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
    adjust: Adjustment = None,
    above: float | None = None,
    top: int | float | None = None,
    reference: int = 0,
    intervals: int = 0,
    confidence: float = 0.95,
    random_state: RandomState = None,
    threads: int = 1,
) -> Result:
    """`evaluate` for observations that are already grouped by score."""
    if not isinstance(tally, Tally):
        raise TypeError(f"`tally` must be a `Tally`; it is {type(tally).__name__}.\n\nHint: arrays go to `evaluate`.")
    if above is not None and top is not None:
        raise ValueError("One of `above` and `top` may be given, not both.")
    whole = tally.total
    region = None
    if above is not None:
        tally, region = tally.above(above), f"scores of at least {above:g}"
    if top is not None:
        tally = tally.top(top)
        region = f"the top {f'{top:,}' if isinstance(top, int) else f'{100 * top:g} %'} of {whole:,} predictions"
    loss = Rejection(Binomial() if test is None else test, significance, as_tolerance(tolerance))
    chosen = choose(metrics, binning, loss)
    bins = bin_once(tally, chosen)
    tables: dict[Any, BinTable] = {}
    shapes: dict[Any, Shape] = {}
    ranks = rank(tally)
    scores = Scores.of(tally, ranks)
    keys = {name: (metric.binning, _rejection(metric, loss)) for name, metric in chosen.items()}
    for key in dict.fromkeys(keys.values()):
        binned = bins[key[0]]
        table = tables[key] = BinTable.of(binned, key[1], adjust)
        shapes[key] = Shape.of(tally, ranks, scores, binned.partition, (table.too_low, table.too_high))
    notes = dict.fromkeys(note for binned in bins.values() for note in binned.partition.notes)
    references, spans = {}, {}
    if reference:
        references = refer(tally, chosen, replicates=reference, random_state=random_state, threads=threads)
    if intervals:
        spans = find_intervals(
            tally,
            chosen,
            confidence=confidence,
            replicates=intervals,
            random_state=random_state,
            threads=threads,
        )
    return Result(
        n=tally.total,
        positives=tally.positives,
        values={name: metric.on(bins[metric.binning]) for name, metric in chosen.items()},
        metrics=chosen,
        tables={name: tables[key] for name, key in keys.items()},
        test=loss.test,
        significance=significance,
        tolerance=loss.tolerance,
        adjust=adjust,
        region=region,
        references=references,
        intervals=spans,
        scores=scores,
        shapes={name: shapes[key] for name, key in keys.items()},
        notes=tuple(notes),
        version=version("truecal"),
    )


def compare(
    y_true: Any,
    y_prob: Any,
    y_prob_other: Any,
    metrics: Iterable[str] | Mapping[str, Metric] = ("tce",),
    *,
    binning: BinningLike = None,
    test: Test | None = None,
    significance: float = 0.05,
    tolerance: Tolerance | float | None = None,
    replicates: int = 1000,
    confidence: float = 0.95,
    random_state: RandomState = None,
    threads: int = 1,
    pos_label: Any = None,
) -> dict[str, Difference]:
    """Two models on the same rows: each metric of both, their difference, and an interval for it.

    For test-based metrics. The same interval for the difference of two gap metrics covers too little (86 to 95 %
    measured where 95 % is meant, see docs/inference.md), so it is not offered.

    Examples
    --------
    >>> import numpy as np, truecal
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(2, 2, size=4000)
    >>> y = rng.random(4000) < p
    >>> found = truecal.compare(y, p, p**2, metrics=["tce"], replicates=200, random_state=0)["tce"]
    >>> found.low < found.difference < found.high < 0     # the first is better, beyond chance
    True
    """
    loss = Rejection(Binomial() if test is None else test, significance, as_tolerance(tolerance))
    chosen = choose(metrics, binning, loss)
    others = [name for name, metric in chosen.items() if not isinstance(metric.loss, Rejection)]
    if others:
        raise ValueError(
            f"`metrics` must be test-based to be compared, such as 'tce'; {others[0]!r} is not: the interval of its "
            "difference would cover less than it says."
        )
    first, second = arrays.scores(y_prob), arrays.scores(y_prob_other)
    for score in (first, second):
        Tally.from_arrays(y_true, score, pos_label=pos_label)  # checks range, lengths and labels
    label = arrays.labels(y_true, pos_label).astype(np.int64)
    scores = first.astype(np.float64) + 0.0, second.astype(np.float64) + 0.0
    return find_differences(
        label,
        scores,
        chosen,
        confidence=confidence,
        replicates=replicates,
        random_state=random_state,
        threads=threads,
    )


def _rejection(metric: Metric, default: Rejection) -> Rejection:
    """The test behind a metric's table: its own where it has one."""
    return metric.loss if isinstance(metric.loss, Rejection) else default
