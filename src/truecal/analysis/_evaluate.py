"""From observations to a `Result`: all metrics at once, with their bins, null distributions and intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Unpack, overload

import numpy as np

from truecal import __version__, inference
from truecal._errors import option
from truecal._options import (
    ArrayOptions,
    ClassOptions,
    EvaluateArraysOptions,
    EvaluateOptions,
    MetricOptions,
    check_given,
    declare,
    resolve,
    take_options,
)
from truecal.analysis._inputs import check_region, choose_test, raise_for_data
from truecal.data import (
    MOST_BITS,
    Cells,
    Classes,
    ClassObservations,
    Multiclass,
    Note,
    NoteCode,
    Observations,
    Outcome,
    Part,
    Reason,
    RowCounts,
    Sampling,
    Sorted,
    SortedRows,
    Tally,
    apply_delay,
    as_matrix,
    as_sampling,
    check_class_options,
    choose_multiclass,
    drop_missing,
    list_settings,
    note_equal_counts,
    note_row_counts,
    read_weights,
    refuse_pos_label,
)
from truecal.inference import Draws, Interval, NullDistribution, null_distribution
from truecal.metrics import (
    Adjustment,
    Binning,
    Bins,
    BoundedIsotonic,
    Isotonic,
    Measure,
    Metric,
    Partition,
    PointwiseTest,
    RejectionTest,
    Windows,
    bin_once,
    choose,
    choose_bits,
    grid_bounds,
)
from truecal.results import FRAMES, BinTable, Curve, Models, RankIndex, Region, Rejected, Result, Scores, Shape
from truecal.verdict import judge

if TYPE_CHECKING:
    from truecal.results import ClassResults

Metrics = Iterable[str] | Mapping[str, Measure] | None
Observed = Observations | Part
P = TypeVar("P", bound=Part)
Key = tuple[Binning, RejectionTest]  # of a table: its bins and their test
GROUPED = (Observations, Tally, Cells, SortedRows)
NO_OPTIONS: EvaluateOptions = {}
MOST_SCORES = 50_000_000  # for which labels are drawn; more would take over 2 GB, and a second for each draw
BAND_DRAWS = 400  # null curves of the isotonic band, at most: each is an isotonic fit
FINE_BITS = 16  # of a grid whose null distributions do not differ measurably from those of the scores
# a cell should hold at most about this share of the largest bin, or cells rather than rates determine the bins
CELL_SHARE = 1 / 15


@overload
def evaluate(
    y_true: Mapping[str, Observed], y_prob: Metrics = None, metrics: Metrics = None, **options: Unpack[EvaluateOptions]
) -> Models: ...
@overload
def evaluate(
    y_true: ClassObservations, y_prob: Metrics = None, metrics: Metrics = None, **options: Unpack[EvaluateOptions]
) -> ClassResults: ...
@overload
def evaluate(
    y_true: Any,
    y_prob: Any,
    metrics: Metrics = None,
    *,
    multiclass: Literal["classwise"],
    **options: Unpack[EvaluateArraysOptions],
) -> ClassResults: ...
@overload
def evaluate(
    y_true: Any,
    y_prob: Any = None,
    metrics: Metrics = None,
    *,
    multiclass: Literal["top-label"] | None = None,
    **options: Unpack[EvaluateArraysOptions],
) -> Result: ...
@declare(EvaluateOptions, first=(MetricOptions, ClassOptions, ArrayOptions))
def evaluate(
    y_true: Any, y_prob: Any = None, metrics: Metrics = None, *, multiclass: Multiclass = None, **options: Any
) -> Result | ClassResults | Models:
    """Evaluate all metrics at once, with the verdict and the bins behind them.

    If scores were grouped into cells, bins consist of whole cells. For these bins gap metrics are exact; test-based
    metrics evaluate each cell at its mean, and the result's `bounds` hold the values they can have on these bins.

    Parameters
    ----------
    y_true, y_prob : arrays or Observations
        Labels and predicted probabilities, of the positive class or of shape (rows, classes); or in their place
        observations, as `truecal.read` returns them for dataframes and files:
        `evaluate(truecal.read(frame, label="y", score="p"))`. Observations of several models by name, from
        `read_models`, get a result each.

    Examples
    --------
    >>> import truecal
    >>> result = truecal.evaluate([0, 1, 1, 1], [0.25, 0.75, 0.75, 0.75], metrics=["ece", "mce"])
    >>> result["ece"], result.n, result.prevalence
    (0.25, 4, 0.75)
    """
    given: EvaluateArraysOptions = resolve(evaluate, options)  # type: ignore[assignment]
    check_given(evaluate, multiclass=multiclass)
    tested: EvaluateOptions = take_options(EvaluateOptions, given)
    several = isinstance(y_true, Mapping) and y_true and all(isinstance(one, GROUPED) for one in y_true.values())
    if several or isinstance(y_true, (*GROUPED, ClassObservations)):
        _refuse_rows(given, multiclass)
        chosen = metrics if y_prob is None else y_prob
        if several:
            return Models({str(name): _evaluate_observed(model, chosen, tested) for name, model in y_true.items()})
        if isinstance(y_true, ClassObservations):
            return _evaluate_classes(y_true, chosen, **tested)
        return _evaluate_observed(y_true, chosen, tested)
    if y_prob is None or isinstance(y_prob, str):
        raise_for_data("evaluate", y_true, y_prob)
    return _evaluate_arrays(y_true, y_prob, metrics, multiclass, given)


def _refuse_rows(given: EvaluateArraysOptions, multiclass: Multiclass) -> None:
    """Refuse options about rows of arrays if rows are grouped already."""
    rows = (
        take_options(ArrayOptions, given) | {"multiclass": multiclass} | list_settings(as_sampling(given["sampling"]))
    )
    rows["missing"] = None if given["missing"] == "raise" else given["missing"]
    del rows["sampling"]  # in its parts
    refuse_grouped(rows)


def _evaluate_arrays(
    y_true: Any, y_prob: Any, metrics: Metrics, multiclass: Multiclass, given: EvaluateArraysOptions
) -> Result | ClassResults:
    """Evaluate labels and probabilities of one or more classes."""
    options: EvaluateOptions = take_options(EvaluateOptions, given)
    sample_weight, pos_label, labels = given["sample_weight"], given["pos_label"], given["labels"]
    sampling, cluster = as_sampling(given["sampling"]), given["cluster"]
    importance_weight = given["importance_weight"]
    library = find_library(y_prob)
    dropped: dict[Reason, int] = {}
    if given["missing"] == "drop":
        shares = sampling.label_delay
        columns, dropped = _drop_incomplete(y_true, y_prob, cluster, sample_weight, shares, importance_weight)
        y_true, y_prob, cluster, sample_weight, shares, importance_weight = columns
        sampling = replace(sampling, label_delay=shares)
    probabilities, column = as_matrix(y_prob), y_prob
    if probabilities is None:
        check_class_options(multiclass, labels)
        column, sampling = apply_delay(y_prob, sampling)
    elif choose_multiclass(multiclass, probabilities.shape[1]) == "classwise":
        refuse_pos_label(pos_label)
        refuse_classes(sampling)
        results = _evaluate_classes(
            y_true, y_prob, metrics, labels=labels, sample_weight=sample_weight, cluster=cluster, **options
        )
        return replace(results, top=_count_dropped(name_library(results.top, library), dropped))
    else:
        refuse_classes(sampling)
        y_true, column = Classes.of(y_true, probabilities, labels, pos_label, options["threads"]).top()
    data = Tally.from_arrays(y_true, column, sample_weight, pos_label, sampling, cluster, importance_weight)
    result = _evaluate_sorted(data, metrics, options)
    if sample_weight is not None:
        result = replace(result, notes=(*result.notes, *_note_equal_counts(data, sample_weight)))
    result = result if probabilities is None else name_outcome(result, "correct")
    return _count_dropped(name_library(result, library), dropped)


def _note_equal_counts(data: Tally, sample_weight: Any) -> tuple[Note, ...]:
    """Return a note if all rows have the same count."""
    weight = np.asarray(sample_weight, dtype=np.float64)
    same = float(weight[0]) if len(weight) and (weight == weight[0]).all() else None
    distinct = int(np.count_nonzero(data.pos) + np.count_nonzero(data.pos < data.n))
    return note_equal_counts(same, len(weight), distinct)


def _count_dropped(result: Result, dropped: dict[Reason, int]) -> Result:
    """Add dropped rows to the row counts and notes of a result."""
    if not dropped:
        return result
    row_counts = replace(result.row_counts, read=result.row_counts.read + sum(dropped.values()), dropped=dropped)
    return replace(result, row_counts=row_counts, notes=(*result.notes, *note_row_counts(row_counts)))


def _evaluate_classes(*data: Any, **options: Any) -> ClassResults:
    """Call `evaluate_classes`."""
    from truecal.analysis._classes import evaluate_classes  # here, as it imports this module

    return evaluate_classes(*data, **options)


def find_library(y_prob: Any) -> str:
    """Return the name of the scores' library, whose dataframes the result returns."""
    return str(type(y_prob).__module__.partition(".")[0])


def name_library(result: Result, library: str) -> Result:
    """Set the library whose dataframes a result returns."""
    return replace(result, library=library) if library in FRAMES else result


def _drop_incomplete(
    y_true: Any, y_prob: Any, cluster: Any, sample_weight: Any, *others: Any
) -> tuple[list[Any], dict[Reason, int]]:
    """Return the rows with a label, a score and a cluster, and the number of other rows by reason."""
    columns, reasons = drop_missing(y_true, y_prob, cluster, sample_weight, *others)
    if not len(columns[0]):
        raise ValueError("The data must have at least one valid row; they have none.")
    if sample_weight is None:
        return columns, {reason: int(rows.sum()) for reason, rows in reasons.items()}
    weight = read_weights(sample_weight, len(next(iter(reasons.values())))) if reasons else np.zeros(0)
    return columns, {reason: int(weight[rows].sum()) for reason, rows in reasons.items() if weight[rows].any()}


def refuse_grouped(given: Mapping[str, Any]) -> None:
    """Refuse options about rows if these are grouped already."""
    for name, value in given.items():
        if value is not None:
            raise TypeError(f"{option(name)} must be left out if rows are grouped by score already.")


def refuse_classes(sampling: Sampling) -> None:
    """Refuse sampling by two labels if there are several classes."""
    for name, value in list_settings(sampling).items():
        if value is not None:
            raise ValueError(f"{option(name)} is about two labels, and must be left out if there are several classes.")


def _evaluate_observed(data: Observed, metrics: Metrics, options: EvaluateOptions) -> Result:
    """Evaluate data that are grouped by score; observations keep their row counts and notes."""
    whole = (data.pooled() if isinstance(data, Observations) else data).simplify()
    if isinstance(whole, Cells):
        result = _evaluate_cells(whole, metrics, options)
    else:
        result = _evaluate_sorted(whole, metrics, options)
    if not isinstance(data, Observations):
        return result
    counts = result.row_counts
    row_counts = replace(data.row_counts, evaluated=counts.evaluated, out_of_scope=counts.out_of_scope)
    known = (*data.population_notes, *result.notes)  # the verdict has the first
    notes = (note for note in data.notes if note not in known)
    verdict = result.verdict and replace(result.verdict, cluster=data.cluster)
    result = replace(result, row_counts=row_counts, notes=(*result.notes, *notes), verdict=verdict)
    return name_outcome(result, data.outcome)


def name_outcome(result: Result, outcome: Outcome) -> Result:
    """Set what a result's positives are: positives, or correct predictions of the most probable class."""
    return result if result.verdict is None else replace(result, verdict=replace(result.verdict, outcome=outcome))


def _evaluate_sorted(data: Sorted, metrics: Metrics, options: EvaluateOptions, judged: Cells | None = None) -> Result:
    """Evaluate rows sorted by score, or the means of cells; then `judged` are the cells in scope."""
    read = data.n_rows
    data, region = choose_region(data, options["threshold"], options["top"])
    loss, adjust = choose_test(options), options["adjust"]
    chosen = choose(metrics, options["binning"], loss)
    bins = bin_once(data, chosen)
    ranked = RankIndex(data)
    scores = Scores.of(ranked)
    keys = {
        name: (metric.binning, metric.test_of_bins(loss))
        for name, metric in chosen.items()
        if isinstance(metric, Metric)
    }
    tables = _tabulate(bins, keys.values(), adjust)
    rejected = [
        Rejected(bins[scheme].partition.starts, table.n_too_low, table.n_too_high, not test.per_prediction)
        for (scheme, test), table in tables.items()
    ]
    shapes = dict(zip(tables, Shape.of(ranked, scores, rejected), strict=True))
    notes = dict.fromkeys(note for scheme, _ in keys.values() for note in bins[scheme].partition.notes)
    values = {name: metric.on(bins[metric.binning]) for name, metric in chosen.items()}
    nulls, spans, curve, note = _bootstrap(data, chosen, values, options)
    if curve is None:
        blocks = bins[Isotonic()].partition if Isotonic() in bins else Isotonic().partition(data)
        curve = Curve.of(ranked, blocks)
    verdict = judge(_choose_verdict_cells(data, bins, judged), loss.significance, loss.tolerance)
    seed = options["random_state"] if nulls or spans else None
    return Result(
        verdict=replace(verdict, complete=region is None),
        seed=int(seed) if isinstance(seed, (int, np.integer)) else None,
        n=data.n_rows,
        positives=data.positives,
        row_counts=RowCounts(read, data.n_rows, out_of_scope=read - data.n_rows),
        values=values,
        metrics=chosen,
        tables={name: tables[key] for name, key in keys.items()},
        test=loss.test,
        significance=loss.significance,
        tolerance=loss.tolerance,
        adjust=adjust,
        region=region,
        nulls=nulls,
        intervals=spans,
        scores=scores,
        curve=curve,
        shapes={name: shapes[key] for name, key in keys.items()},
        notes=(*notes, *note, *([] if data.importance_weight is None else [Note(NoteCode.IMPORTANCE_WEIGHTED)])),
        version=__version__,
        sampling=data.sampling,
        weighted=data.importance_weight is not None,
    )


def _tabulate(bins: Bins, keys: Iterable[Key], adjust: Adjustment) -> dict[Key, BinTable]:
    """Return the table of each binning under its test."""
    by_test: dict[PointwiseTest, list[Key]] = {}  # rates with the same test are tested in one call
    for key in dict.fromkeys(keys):
        by_test.setdefault(key[1].of_rates, []).append(key)
    tables: dict[Key, BinTable] = {}
    for alike in by_test.values():
        tables |= dict(zip(alike, BinTable.of([(bins[scheme], test) for scheme, test in alike], adjust), strict=True))
    return tables


def _choose_verdict_cells(data: Sorted, bins: Bins, judged: Cells | None) -> Cells:
    """Return the cells that the verdict is about: those of the score windows if a metric has made them already."""
    windows = bins.get(Windows())
    if judged is None and windows is not None:
        cells: Cells = windows.partition.cells
        return cells
    return Cells.of(data if judged is None else judged)


def choose_region(data: P, threshold: float | None, top: int | float | None) -> tuple[P, Region | None]:
    """Return the predictions that are evaluated, and which these are; None for all."""
    check_region(threshold, top)
    chosen: Any = data
    if threshold is not None:
        chosen = data.above(threshold)
        return chosen, Region(threshold=float(threshold))
    if top is not None:
        chosen, total = data.top(top), data.unweighted.population.n_rows
        count = int(top) if isinstance(top, (int, np.integer)) else float(top)
        return chosen, Region(top=count, total=float(total))
    return data, None


def _bootstrap(
    data: Sorted, metrics: Mapping[str, Measure], observed: Mapping[str, float], options: EvaluateOptions
) -> tuple[dict[str, NullDistribution], dict[str, Interval], Curve | None, list[Note]]:
    """Return null distributions, intervals, the isotonic curve with its band, and notes, as far as they are wanted."""
    null_draws, resamples = options["null_draws"], options["resamples"]
    if not null_draws and not resamples:
        return {}, {}, None, []
    random_state, threads = options["random_state"], options["threads"] or 1
    (tally, note), nulls, spans, curve = _limit_scores(data), {}, {}, None
    if null_draws:
        draws = Draws(null_draws, random_state, threads)
        nulls = null_distribution(tally, metrics, draws, observed)
        curve = Curve.with_band(tally, replace(draws, draws=min(null_draws, BAND_DRAWS)))
    if resamples:
        draws, confidence = Draws(resamples, random_state, threads), options["confidence"]
        spans = inference.intervals(tally, metrics, draws, confidence=confidence, observed=observed)
    return nulls, spans, curve, note


def _limit_scores(data: Sorted) -> tuple[Tally, list[Note]]:
    """Return the scores for which labels are drawn, or their cells if they are too many, and a note in that case."""
    scores = data.distinct
    if scores <= MOST_SCORES:
        return data.tally, []
    cells = Cells.grid(data, max(choose_bits(data.n_rows), FINE_BITS))
    return cells.tally, [Note.of(NoteCode.GROUPED_DRAWS, cells=len(cells), bits=cells.bits, scores=scores)]


def _evaluate_cells(cells: Cells, metrics: Metrics, options: EvaluateOptions) -> Result:
    """Evaluate observations in cells, with the bounds of test-based metrics."""
    judged, _ = choose_region(cells, options["threshold"], options["top"])
    result = _evaluate_sorted(cells.tally, metrics, options, judged)
    bounds = {}
    for name, metric in result.metrics.items():
        if isinstance(metric, Metric) and metric.rejection is not None and metric.rejection.per_prediction:
            low, high = grid_bounds(judged, metric, _locate_bins(judged, result.tables[name]))
            # a cell that is partly rejected counts in full, or not at all, in the value
            bounds[name] = min(low, result.values[name]), max(high, result.values[name])
    return replace(result, bounds=bounds, notes=(*result.notes, *_note_grid(judged, result)))


def _locate_bins(cells: Cells, table: BinTable) -> Partition:
    """Return the partition of cells into the bins of a table."""
    rows = np.concatenate([[0], np.cumsum(table.n)])
    starts = np.searchsorted(np.concatenate([[0], np.cumsum(cells.n)]), rows)
    return Partition(starts, table.n, table.k, np.append(table.left, 1.0))


def _note_grid(cells: Cells, result: Result) -> list[Note]:
    """Return notes on the grid, and on a grid that is too coarse for the bins."""
    notes = [Note.of(NoteCode.GROUPED_SCORES, cells=len(cells), bits=cells.bits)]
    if result.region is not None:
        notes.append(Note.of(NoteCode.GROUPED_REGION, lowest=cells.low[0]))
    # score windows consist of cells by definition, so only bins of predictions count
    sizes = [
        _largest_bin(metric, result.tables[name])
        for name, metric in result.metrics.items()
        if isinstance(metric, Metric) and metric.test_of_bins(choose_test(resolve(evaluate, NO_OPTIONS))).per_prediction
    ]
    room = CELL_SHARE * min(sizes, default=math.inf)
    rows = cells.n[cells.low < cells.high]  # more bits do not split a tie
    large = rows[rows > room]
    if len(large) and cells.bits < MOST_BITS:
        bits = min(cells.bits + math.ceil(math.log2(float(large.max()) / room)), MOST_BITS)
        notes.append(Note.of(NoteCode.COARSE_GRID, n=len(large), largest=large.max(), bits=bits))
    return notes


def _largest_bin(metric: Metric, table: BinTable) -> int:
    """Return the size of the largest bin, which the binning may bound."""
    if isinstance(metric.binning, BoundedIsotonic):
        return metric.binning.bounds(int(table.n.sum()))[1]
    return int(table.n.max())
