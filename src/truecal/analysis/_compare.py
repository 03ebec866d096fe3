"""Two models on the same rows: the difference of their metrics, with an interval."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Unpack

from truecal._errors import option
from truecal._options import CompareOptions, PairOptions, declare, resolve
from truecal.analysis._evaluate import (
    check_region,
    choose_test,
    raise_for_data,
    refuse_grouped,
)
from truecal.data import (
    CellSums,
    Note,
    NoteCode,
    Observations,
    Pairs,
    RowCounts,
    Sampling,
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

Metrics = Iterable[str] | Mapping[str, Measure]
COMPARED = ("ltce", "log_loss", "brier", "slope", "tce")


@declare(CompareOptions, first=(PairOptions,))
def compare(
    y_true: Any,
    y_prob: Any = None,
    y_prob_other: Any = None,
    metrics: Metrics = COMPARED,
    *,
    pos_label: Any = None,
    sampling: Sampling | None = None,
    cluster: Any = None,
    **options: Unpack[CompareOptions],
) -> Comparison:
    """Two models on the same rows: each metric of both, their difference, and an interval for it.

    Of three columns: `compare(y, p, q)`; or of tallies that were read with a baseline, and of their `Pairs`:
    `compare(truecal.read(frame, label="y", score="new", baseline="old"))`. Its `sentences()` say which model is better
    calibrated, which has the better log loss, and whether these disagree.

    Metrics are names of `truecal.metrics.METRICS` or "net_benefit@0.05", or your own as a mapping, but no gaps in bins
    such as ECE: intervals of their differences cover too little (86 to 95 % measured where 95 % is meant, see
    docs/inference.md). Those that have a
    best value between bad ones, such as the slope, are compared by the distance from it. Intervals of Brier score, log
    loss and net benefit are those of a mean of differences between rows; for the others labels are redrawn `resamples`
    times (1000 by default).

    `sampling` and `cluster` are as in `evaluate`: with clusters the differences of rows are added up by cluster, and
    labels of one are resampled together.

    With `threshold` or `top` each model is judged on the predictions that it would act on:
    those of its own score.

    Examples
    --------
    >>> import numpy as np, truecal
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(2, 2, size=4000)
    >>> y = rng.random(4000) < p
    >>> found = truecal.compare(y, p, p**2, metrics=["tce"], resamples=200, random_state=0)["tce"]
    >>> found.low < found.difference < found.high < 0     # the first is better, beyond chance
    True
    """
    options = resolve(compare, options)
    check_region(options["threshold"], options["top"])
    pairs = _find_pairs(y_true, y_prob, y_prob_other, pos_label, as_sampling(sampling), cluster)
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
    found = differences(pairs, chosen, draws, confidence=options["confidence"], region=region)
    statuses, row_counts = _find_statuses(pairs, region, options), _count_rows(y_true, pairs)
    clustered = (Note.of(NoteCode.CLUSTERS_COMPARED, n=pairs.clusters.count),) if pairs.clusters else ()
    notes = (*note_row_counts(row_counts), *clustered)
    return Comparison.of(found, chosen, models=pairs.names, statuses=statuses, row_counts=row_counts, notes=notes)


def _count_rows(data: Any, pairs: Pairs) -> RowCounts:
    """Where the rows went: those with both scores are compared."""
    row_counts = data.pair_counts if isinstance(data, Observations) else None
    return RowCounts(pairs.n_rows, pairs.n_rows) if row_counts is None else row_counts


def _find_statuses(
    pairs: Pairs, region: Callable[[Tally], Tally] | None, options: CompareOptions
) -> tuple[Status, ...]:
    """The statuses of both models."""
    test = choose_test(options)
    observations = (tally for tally, _ in pairs.models())
    judged = observations if region is None else map(region, observations)
    return tuple(judge(CellSums.of(tally), test.significance, test.tolerance).status for tally in judged)


def _choose_region(threshold: float | None, top: int | float | None) -> Callable[[Tally], Tally] | None:
    """What takes of a tally the predictions that are judged; None for all."""
    if threshold is not None:
        return lambda tally: tally.above(threshold)
    return None if top is None else lambda tally: tally.top(top)


def _find_pairs(y_true: Any, y_prob: Any, y_prob_other: Any, pos_label: Any, sampling: Sampling, cluster: Any) -> Pairs:
    """The rows with both scores, of whatever was given."""
    if isinstance(y_true, (Pairs, Observations)):
        given = {"y_prob_other": y_prob_other, "pos_label": pos_label, "cluster": cluster}
        refuse_grouped(given | list_settings(sampling))
        pairs = y_true.baseline if isinstance(y_true, Observations) else y_true
        if pairs is None:
            raise ValueError(
                "Two models are compared on the same rows; these tallies are of one.\n\n"
                "Hint: `truecal.read(data, score=..., baseline=...)` reads both."
            )
        return pairs
    if y_prob is None or y_prob_other is None or isinstance(y_prob, str):
        raise_for_data("compare", y_true, y_prob)
    first, applied = apply_delay(y_prob, sampling)
    second, _ = apply_delay(y_prob_other, sampling)
    return Pairs.from_arrays(y_true, first, second, pos_label, applied, cluster)
