"""From observations grouped by score to a `Result`: all metrics at once, with their bins, references and intervals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypedDict

from truecal import __version__, _kernel, inference
from truecal._errors import option
from truecal.inference import Draws, RandomState, null_reference
from truecal.metrics import (
    Adjustment,
    BinningLike,
    Binomial,
    Metric,
    Rejection,
    Test,
    Tolerance,
    as_tolerance,
    bin_once,
    choose,
)
from truecal.observations import GridTally, Sorted, SortedRows, Tally
from truecal.reading import choose_bits
from truecal.results import BinTable, Ranked, Result, Scores, Shape

REDRAWN = 50_000_000  # scores that labels are redrawn for; more would take over 2 GB, and a second for each draw
FINE = 16  # bits of a grid whose references could not be told from those of the scores


class Options(TypedDict, total=False):
    """The options of `evaluate_tally`, for the functions that hand them on."""

    binning: BinningLike
    test: Test | None
    significance: float
    tolerance: Tolerance | float | None
    adjust: Adjustment
    above: float | None
    top: int | float | None
    reference: int
    intervals: int
    confidence: float
    random_state: RandomState
    threads: int


def evaluate_tally(
    data: Sorted,
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
    """All metrics at once for observations grouped by score, with the bins behind them.

    Parameters
    ----------
    data : Tally
        The observations.
    metrics : names or mapping, optional
        Names of `truecal.METRICS` (all of them by default), or your own as a mapping of names to `Metric`. The
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
    """
    if not isinstance(data, (Tally, SortedRows)):
        raise TypeError(f"`data` must be a `Tally`; it is {type(data).__name__}.\n\nHint: arrays go to `evaluate`.")
    if above is not None and top is not None:
        raise ValueError(f"One of {option('above')} and {option('top')} may be given, not both.")
    whole = data.total
    region = None
    if above is not None:
        data, region = data.above(above), f"scores of at least {above:g}"
    if top is not None:
        data = data.top(top)
        region = f"the top {f'{top:,}' if isinstance(top, int) else f'{100 * top:g} %'} of {whole:,} predictions"
    loss = Rejection(Binomial() if test is None else test, significance, as_tolerance(tolerance))
    chosen = choose(metrics, binning, loss)
    bins = bin_once(data, chosen)
    tables: dict[Any, BinTable] = {}
    shapes: dict[Any, Shape] = {}
    ranked = Ranked(data)
    scores = Scores.of(ranked)
    keys = {name: (metric.binning, metric.rejection or loss) for name, metric in chosen.items()}
    for key in dict.fromkeys(keys.values()):
        binned = bins[key[0]]
        table = tables[key] = BinTable.of(binned, key[1], adjust)
        shapes[key] = Shape.of(ranked, scores, binned.partition, (table.n_too_low, table.n_too_high))
    notes = dict.fromkeys(note for binned in bins.values() for note in binned.partition.notes)
    values = {name: metric.on(bins[metric.binning]) for name, metric in chosen.items()}
    references, spans = {}, {}
    if reference or intervals:
        tally, note = _to_redraw(data)
        notes |= dict.fromkeys(note)
    if reference:
        references = null_reference(tally, chosen, Draws(reference, random_state, threads), values)
    if intervals:
        draws = Draws(intervals, random_state, threads)
        spans = inference.intervals(tally, chosen, draws, confidence=confidence, observed=values)
    return Result(
        n=data.total,
        positives=data.positives,
        values=values,
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
        version=__version__,
    )


def _to_redraw(data: Sorted) -> tuple[Tally, list[str]]:
    """What labels are redrawn for: the scores themselves, or cells where they are too many; and a note of that."""
    scores = len(data) if isinstance(data, Tally) else _kernel.count_groups(data.key)
    if scores <= REDRAWN:
        return data.tally, []
    cells = GridTally.of(data, max(choose_bits(data.total), FINE))
    return cells.tally, [
        f"labels were redrawn for {len(cells):,} cells of {cells.bits} significant bits in the place of {scores:,} "
        "scores: references and intervals are for bins made of whole cells"
    ]
