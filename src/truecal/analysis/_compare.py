"""Two models on the same rows: the difference of their metrics, with an interval."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Unpack

from truecal._errors import option
from truecal._text import plural
from truecal.analysis._evaluate import (
    Options,
    check_options,
    check_region,
    choose_test,
    name_labelling,
    raise_for_data,
    refuse_grouped,
    refuse_options,
)
from truecal.inference import Draws, differences, judge
from truecal.metrics import Measure, Metric, choose
from truecal.observations import Account, CellSums, Labelling, Pairs, Tallies, Tally
from truecal.results import Comparison

Metrics = Iterable[str] | Mapping[str, Measure]
COMPARED = ("ltce", "log_loss", "brier", "slope", "tce")


def compare(
    y_true: Any,
    y_prob: Any = None,
    y_prob_other: Any = None,
    metrics: Metrics = COMPARED,
    *,
    replicates: int = 1000,
    pos_label: Any = None,
    kept_negatives: float = 1.0,
    kept_positives: float = 1.0,
    flip: tuple[float, float] = (0.0, 0.0),
    cluster: Any = None,
    **options: Unpack[Options],
) -> Comparison:
    """Two models on the same rows: each metric of both, their difference, and an interval for it.

    Of three columns: `compare(y, p, q)`; or of tallies that were read with a baseline, and of their `Pairs`:
    `compare(truecal.read(frame, label="y", score="new", baseline="old"))`. The result's `sentence` says which model is
    better calibrated, which has the better log loss, and whether these disagree.

    Metrics are names of `truecal.metrics.METRICS` or "net_benefit@0.05", or your own as a mapping, but no gaps in bins
    such as ECE: intervals of their differences cover too little (86 to 95 % measured where 95 % is meant, see
    docs/inference.md). Those that have a
    best value between bad ones, such as the slope, are compared by the distance from it. Intervals of Brier score, log
    loss and net benefit are those of a mean of differences between rows; for the others labels are redrawn `replicates`
    times.

    `kept_negatives`, `kept_positives`, `flip` and `cluster` are as in `evaluate`: with clusters the differences of rows
    are added up by cluster, and labels of one are redrawn together.

    Options are `binning`, `test`, `significance`, `tolerance`, `above`, `top`, `confidence`, `random_state` and
    `threads`, as in `evaluate`. With `above` or `top` each model is judged on the predictions that it would act on:
    those of its own score.

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
    check_options(compare, options)
    refuse_options(options, ("adjust", "reference", "intervals"), "two models are compared")
    check_region(options.get("above"), options.get("top"))
    labelling = Labelling(kept_negatives, kept_positives, flip)
    pairs = _find_pairs(y_true, y_prob, y_prob_other, pos_label, labelling, cluster)
    if isinstance(y_true, (Pairs, Tallies)) and y_prob is not None:
        metrics = y_prob
    chosen = choose(metrics, options.get("binning"), choose_test(options))
    for name, metric in chosen.items():
        if isinstance(metric, Metric) and metric.rejection is None:
            raise ValueError(
                f"{option('metrics')} must be test-based or without bins to be compared, such as 'ltce' or 'log_loss'; "
                f"{name!r} is neither: the interval of its difference would cover less than it says."
            )
    draws = Draws(replicates, options.get("random_state"), options.get("threads", 1))
    region = _choose_region(options.get("above"), options.get("top"))
    found = differences(pairs, chosen, draws, confidence=options.get("confidence", 0.95), region=region)
    words, account = _find_words(pairs, region, options), _count_rows(y_true, pairs)
    together = f"rows of one of {plural(pairs.clusters.count, 'cluster')} go together" if pairs.clusters else ""
    notes = (*account.notes, *([f"intervals and verdicts allow for it that {together}"] if together else []))
    return Comparison.of(found, chosen, models=pairs.names, words=words, account=account, notes=notes)


def _count_rows(data: Any, pairs: Pairs) -> Account:
    """Where the rows went: those with both scores are compared."""
    account = data.pair_account if isinstance(data, Tallies) else None
    return Account(pairs.n_rows, pairs.n_rows) if account is None else account


def _find_words(pairs: Pairs, region: Callable[[Tally], Tally] | None, options: Options) -> tuple[str, ...]:
    """The verdicts on both models."""
    test = choose_test(options)
    tallies = (tally for tally, _ in pairs.models())
    judged = tallies if region is None else map(region, tallies)
    return tuple(judge(CellSums.of(tally), test.significance, test.tolerance).word for tally in judged)


def _choose_region(above: float | None, top: int | float | None) -> Callable[[Tally], Tally] | None:
    """What takes of a tally the predictions that are judged; None for all."""
    if above is not None:
        return lambda tally: tally.above(above)
    return None if top is None else lambda tally: tally.top(top)


def _find_pairs(
    y_true: Any, y_prob: Any, y_prob_other: Any, pos_label: Any, labelling: Labelling, cluster: Any
) -> Pairs:
    """The rows with both scores, of whatever was given."""
    if isinstance(y_true, (Pairs, Tallies)):
        given = {"y_prob_other": y_prob_other, "pos_label": pos_label, "cluster": cluster}
        refuse_grouped(given | name_labelling(labelling))
        pairs = y_true.baseline if isinstance(y_true, Tallies) else y_true
        if pairs is None:
            raise ValueError(
                "Two models are compared on the same rows; these tallies are of one.\n\n"
                "Hint: `truecal.read(data, score=..., baseline=...)` reads both."
            )
        return pairs
    if y_prob is None or y_prob_other is None or isinstance(y_prob, str):
        raise_for_data("compare", y_true, y_prob)
    return Pairs.from_arrays(y_true, y_prob, y_prob_other, pos_label, labelling, cluster)
