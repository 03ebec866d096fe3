"""Two models on the same rows: the difference of their metrics, with a confidence interval."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Unpack

from truecal._errors import option
from truecal._options import OPTIONS, CompareArraysOptions, CompareOptions, MetricOptions, PairOptions, declare, resolve
from truecal.analysis._evaluate import refuse_grouped
from truecal.analysis._inputs import check_region, choose_test, raise_for_data
from truecal.data import (
    Cells,
    Note,
    NoteCode,
    Observations,
    Pairs,
    RowCounts,
    Tally,
    apply_delay,
    as_sampling,
    list_settings,
    note_row_counts,
)
from truecal.inference import Draws, differences
from truecal.metrics import Measure, Metric, choose
from truecal.results import Comparison
from truecal.verdict import Status, judge

COMPARED: tuple[str, ...] = OPTIONS["metrics"].of("compare").default


@declare(CompareOptions, first=(MetricOptions, PairOptions))
def compare(
    y_true: Any,
    y_prob: Any = None,
    y_prob_other: Any = None,
    metrics: Iterable[str] | Mapping[str, Measure] = COMPARED,
    **options: Unpack[CompareArraysOptions],
) -> Comparison:
    """Compare two models on the same rows: each metric of both, their difference, and its confidence interval.

    The `sentences()` of the result name the better calibrated model and the one with the better log loss.

    Parameters
    ----------
    y_true, y_prob, y_prob_other : arrays or Observations
        Labels and the predictions of both models: `compare(y, p, q)`; or in their place observations that were read
        with a baseline: `compare(truecal.read(frame, label="y", score="new", baseline="old"))`.

    Notes
    -----
    Intervals of Brier score, log loss and net benefit are those of a mean of differences between rows. For other
    metrics labels are resampled `resamples` times, 1000 by default. With `threshold` or `top` each model is evaluated
    on the predictions in scope by its own score.

    Examples
    --------
    >>> import numpy as np, truecal
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(2, 2, size=4000)
    >>> y = rng.random(4000) < p
    >>> tce = truecal.compare(y, p, p**2, metrics=["tce"], resamples=200, random_state=0)["tce"]
    >>> tce.low < tce.difference < tce.high < 0     # the first model is significantly better
    True
    """
    options = resolve(compare, options)
    check_region(options["threshold"], options["top"])
    pairs = _find_pairs(y_true, y_prob, y_prob_other, options)
    if isinstance(y_true, (Pairs, Observations)) and y_prob is not None:
        metrics = y_prob
    chosen = choose(metrics, options["binning"], choose_test(options))
    for name, metric in chosen.items():
        if isinstance(metric, Metric) and metric.rejection is None:
            raise ValueError(
                f"{option('metrics')} must be test-based or without bins to be compared, such as 'ltce' or 'log_loss'; "
                f"{name!r} is neither: the interval of its difference would cover less than it says."
            )
    draws = Draws(options["resamples"], options["random_state"], options["threads"] or 1)
    region = _choose_region(options["threshold"], options["top"])
    by_metric = differences(pairs, chosen, draws, confidence=options["confidence"], region=region)
    statuses, row_counts = _find_statuses(pairs, region, options), _count_pairs(y_true, pairs)
    clustered = (Note.of(NoteCode.CLUSTERS_COMPARED, n=pairs.clusters.count),) if pairs.clusters else ()
    notes = (*note_row_counts(row_counts), *clustered)
    return Comparison.of(by_metric, chosen, models=pairs.names, statuses=statuses, row_counts=row_counts, notes=notes)


def _count_pairs(data: Any, pairs: Pairs) -> RowCounts:
    """Return the row counts; rows with both scores are compared."""
    row_counts = data.pair_counts if isinstance(data, Observations) else None
    return RowCounts(pairs.n_rows, pairs.n_rows) if row_counts is None else row_counts


def _find_statuses(
    pairs: Pairs, region: Callable[[Tally], Tally] | None, options: CompareOptions
) -> tuple[Status, ...]:
    """Return the statuses of both models."""
    test = choose_test(options)
    observations = (tally for tally, _ in pairs.models())
    judged = observations if region is None else map(region, observations)
    return tuple(judge(Cells.of(tally), test.significance, test.tolerance).status for tally in judged)


def _choose_region(threshold: float | None, top: int | float | None) -> Callable[[Tally], Tally] | None:
    """Return a function that keeps the predictions in scope; None if all are."""
    if threshold is not None:
        return lambda tally: tally.above(threshold)
    return None if top is None else lambda tally: tally.top(top)


def _find_pairs(y_true: Any, y_prob: Any, y_prob_other: Any, options: PairOptions) -> Pairs:
    """Return the rows with both scores, from arrays or observations."""
    pos_label, sampling, cluster = options["pos_label"], as_sampling(options["sampling"]), options["cluster"]
    if isinstance(y_true, (Pairs, Observations)):
        given = {"y_prob_other": y_prob_other, "pos_label": pos_label, "cluster": cluster}
        refuse_grouped(given | list_settings(sampling))
        pairs = y_true.baseline if isinstance(y_true, Observations) else y_true
        if pairs is None:
            raise ValueError(
                "Two models are compared on the same rows; these observations have one.\n\n"
                "Hint: `truecal.read(data, score=..., baseline=...)` reads both."
            )
        return pairs
    if y_prob is None or y_prob_other is None or isinstance(y_prob, str):
        raise_for_data("compare", y_true, y_prob)
    first, applied = apply_delay(y_prob, sampling)
    second, _ = apply_delay(y_prob_other, sampling)
    return Pairs.from_arrays(y_true, first, second, pos_label, applied, cluster)
