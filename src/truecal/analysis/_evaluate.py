"""From observations to a `Result`: all metrics at once, with their bins, references and intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from inspect import signature
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypedDict, Unpack, overload

import numpy as np

from truecal import __version__, _kernel, inference
from truecal._errors import did_you_mean, option
from truecal.inference import Draws, Interval, RandomState, Reference, judge, null_reference
from truecal.metrics import (
    Adjustment,
    Binning,
    BinningLike,
    Binomial,
    Bins,
    BoundedIsotonic,
    Isotonic,
    Measure,
    Metric,
    Partition,
    Refuting,
    Rejection,
    Test,
    Tolerance,
    Windows,
    as_tolerance,
    bin_once,
    choose,
    choose_bits,
    grid_bounds,
)
from truecal.observations import (
    AS_THEY_ARE,
    IMPORTANCE,
    MOST_BITS,
    Account,
    CellSums,
    Classes,
    ClassTallies,
    GridTally,
    Labelling,
    Multiclass,
    Outcome,
    Sorted,
    SortedRows,
    Tallies,
    Tally,
    as_matrix,
    ask_about_counts,
    check_class_options,
    choose_multiclass,
    discount,
    drop_missing,
    read_numbers,
    read_weights,
    refuse_pos_label,
)
from truecal.results import FRAMES, BinTable, Curve, Models, Ranked, Refuted, Result, Scores, Shape

if TYPE_CHECKING:
    from truecal.results import ClassResults

Metrics = Iterable[str] | Mapping[str, Measure] | None
Observed = Tallies | Tally | GridTally | SortedRows
Key = tuple[Binning, Refuting]  # of a table: its bins and their test
GROUPED = (Tallies, Tally, GridTally, SortedRows)
REDRAWN = 50_000_000  # scores that labels are redrawn for; more would take over 2 GB, and a second for each draw
BAND = 400  # right models whose curves make the band, at most
FINE = 16  # bits of a grid whose references could not be told from those of the scores
# A cell should hold at most about this share of the largest bin: beyond, cells rather than rates shape the bins.
SHARE = 1 / 15


class Options(TypedDict, total=False):
    """The options of everything that judges observations; see `evaluate`."""

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


@overload
def evaluate(y_true: Mapping[str, Observed], y_prob: Metrics = None, **options: Unpack[Options]) -> Models: ...
@overload
def evaluate(y_true: Mapping[str, Observed], *, metrics: Metrics = None, **options: Unpack[Options]) -> Models: ...
@overload
def evaluate(y_true: Observed, y_prob: Metrics = None, **options: Unpack[Options]) -> Result: ...
@overload
def evaluate(y_true: Observed, *, metrics: Metrics = None, **options: Unpack[Options]) -> Result: ...
@overload
def evaluate(y_true: ClassTallies, y_prob: Metrics = None, **options: Unpack[Options]) -> ClassResults: ...
@overload
def evaluate(y_true: ClassTallies, *, metrics: Metrics = None, **options: Unpack[Options]) -> ClassResults: ...
@overload
def evaluate(
    y_true: Any,
    y_prob: Any,
    metrics: Metrics = None,
    *,
    multiclass: Literal["classwise"],
    sample_weight: Any = None,
    labels: Sequence[Any] | None = None,
    **options: Unpack[Options],
) -> ClassResults: ...
@overload
def evaluate(
    y_true: Any,
    y_prob: Any,
    metrics: Metrics = None,
    *,
    sample_weight: Any = None,
    pos_label: Any = None,
    multiclass: Literal["top-label"] | None = None,
    labels: Sequence[Any] | None = None,
    kept_negatives: float = 1.0,
    kept_positives: float = 1.0,
    flip: tuple[float, float] = (0.0, 0.0),
    mature: Any = None,
    on_null: Literal["raise", "drop"] = "raise",
    cluster: Any = None,
    importance: Any = None,
    **options: Unpack[Options],
) -> Result: ...
def evaluate(  # noqa: PLR0913 (tests/test_size.py says why)
    y_true: Any,
    y_prob: Any = None,
    metrics: Metrics = None,
    *,
    sample_weight: Any = None,
    pos_label: Any = None,
    multiclass: Multiclass = None,
    labels: Sequence[Any] | None = None,
    kept_negatives: float = 1.0,
    kept_positives: float = 1.0,
    flip: tuple[float, float] = (0.0, 0.0),
    mature: Any = None,
    on_null: Literal["raise", "drop"] = "raise",
    cluster: Any = None,
    importance: Any = None,
    **options: Unpack[Options],
) -> Result | ClassResults | Models:
    """All metrics at once, with the bins behind them.

    Where scores were grouped into cells, bins are made of whole cells. For these bins gap metrics are exact; test-based
    ones take each cell at its mean, and the result's `bounds` say between which values they lie on these bins of cells.

    Parameters
    ----------
    y_true, y_prob
        Labels and predicted probabilities, of the positive class or of shape (rows, classes); or in their place
        observations, as `truecal.read` gives them for dataframes and files:
        `evaluate(truecal.read(frame, label="y", score="p"))`. Observations of several models by name, as
        `read_models` gives them, have a result each.
    metrics : names or mapping, optional
        Names of `truecal.metrics.METRICS` or "net_benefit@0.05" for a threshold (by default those of
        `truecal.metrics.STANDARD`), or your own as a mapping of names to `Metric`. The bins of the first one that has
        any are the result's `bins`.
    sample_weight, pos_label
        How often each row was seen; the positive label, where labels are not 0 and 1.
    multiclass : "top-label" or "classwise", optional
        Of several classes the most probable one is judged: positives are the rows where it is the right one. Two
        columns need this option. With "classwise" each class is judged against the rest as well, as
        `evaluate_classes` does it.
    labels : sequence, optional
        The classes, in the order of the columns of `y_prob`.
    kept_negatives, kept_positives : float
        The shares of negatives and of positives that are among the rows, where these were sampled by label. Tests
        account for it; values, ranges and tables are of the population.
    flip : pair of float
        The shares of negatives that are labelled positive, and of positives that are labelled negative.
    mature : array, optional
        Where labels are still coming: for each row the share of positives that are known at its age, as
        `truecal.Maturity(...).share(ages)` gives it. Results speak of positives that should have come by now.
    on_null : "raise" or "drop"
        What to do with rows whose label, score or cluster is missing; `account` counts those that were dropped.
    cluster : column, optional
        The customer, patient or document that each row belongs to, of any type. Rows of one go together: tests,
        references, intervals and the verdict account for it. Without it rows are taken as independent.
    importance : array, optional
        Weights above 0 that depend on features alone, such as those of a survey or of a shift of population. Values
        are weighted by them; the verdict, tests and tables are of the rows as they are.

    Other Parameters
    ----------------
    binning : Binning, int or str
        Takes the place of PAVA-BC in the named metrics.
    test : Test
        As in `tce`, and so are `significance` and `tolerance`; they also make the tables of bins.
    significance : float
        The level of the verdict and of each test.
    tolerance : float, Absolute or Relative
        How far a probability may be off without counting.
    adjust : "holm" or "bh", optional
        Adjust p-values for their number: Holm's for any error, Benjamini and Hochberg's for their share.
    above, top : optional
        Judge only predictions of at least `above`, or the `top` count (int) or share (float): the ones that act.
    reference, intervals : int
        Redraw labels this often: for what each metric would be were the model perfect, and for an interval of its
        expectation.
    confidence : float
        Of the intervals, 0.95.
    random_state : int or generator
        What labels are redrawn with.
    threads : int
        How many threads to use; the numbers do not depend on them.

    Examples
    --------
    >>> import truecal
    >>> result = truecal.evaluate([0, 1, 1, 1], [0.25, 0.75, 0.75, 0.75], metrics=["ece", "mce"])
    >>> result["ece"], result.n, result.prevalence
    (0.25, 4, 0.75)
    """
    check_options(evaluate, options)
    labelling = Labelling(kept_negatives, kept_positives, flip, late=mature is not None)
    several = isinstance(y_true, Mapping) and y_true and all(isinstance(each, GROUPED) for each in y_true.values())
    if several or isinstance(y_true, (*GROUPED, ClassTallies)):
        given = {"sample_weight": sample_weight, "pos_label": pos_label, "multiclass": multiclass, "labels": labels}
        given |= {"cluster": cluster, "mature": mature, "importance": importance}
        given["on_null"] = None if on_null == "raise" else on_null
        refuse_grouped(given | name_labelling(labelling))
        chosen = metrics if y_prob is None else y_prob
        if several:
            return Models({str(name): _evaluate_observed(each, chosen, options) for name, each in y_true.items()})
        if isinstance(y_true, ClassTallies):
            return _evaluate_classes(y_true, chosen, **options)
        return _evaluate_observed(y_true, chosen, options)
    if y_prob is None or isinstance(y_prob, str):
        raise_for_data("evaluate", y_true, y_prob)
    library = find_library(y_prob)
    dropped: dict[str, int] = {}
    if on_null == "drop":
        columns, dropped = _drop_missing(y_true, y_prob, cluster, sample_weight, mature, importance)
        y_true, y_prob, cluster, sample_weight, mature, importance = columns
    elif on_null != "raise":
        raise ValueError(f'{option("on_null")} must be "raise" or "drop"; it is {on_null!r}.')
    probabilities, column = as_matrix(y_prob), y_prob
    if probabilities is None:
        check_class_options(multiclass, labels)
        column = y_prob if mature is None else discount(read_numbers(y_prob, "y_prob"), mature)
    elif choose_multiclass(multiclass, probabilities.shape[1]) == "classwise":
        refuse_pos_label(pos_label)
        refuse_classes(labelling)
        found = _evaluate_classes(
            y_true, y_prob, metrics, labels=labels, sample_weight=sample_weight, cluster=cluster, **options
        )
        return replace(found, top=_count_dropped(name_library(found.top, library), dropped))
    else:
        refuse_classes(labelling)
        y_true, column = Classes.of(y_true, probabilities, labels, pos_label, options.get("threads")).top()
    data = Tally.from_arrays(y_true, column, sample_weight, pos_label, labelling, cluster, importance)
    result = _evaluate_sorted(data, metrics, options)
    if sample_weight is not None:
        result = replace(result, notes=(*result.notes, *_ask_about_counts(data, sample_weight)))
    result = result if probabilities is None else name_outcome(result, "correct")
    return _count_dropped(name_library(result, library), dropped)


def _ask_about_counts(data: Tally, sample_weight: Any) -> list[str]:
    """What to ask where all rows count alike."""
    weight = np.asarray(sample_weight, dtype=np.float64)
    same = float(weight[0]) if len(weight) and (weight == weight[0]).all() else None
    distinct = int(np.count_nonzero(data.pos) + np.count_nonzero(data.pos < data.n))
    question = ask_about_counts(same, len(weight), distinct)
    return [] if question is None else [question]


def _count_dropped(result: Result, dropped: dict[str, int]) -> Result:
    """The same result of rows of which some were dropped."""
    if not dropped:
        return result
    account = replace(result.account, read=result.account.read + sum(dropped.values()), dropped=dropped)
    return replace(result, account=account, notes=(*result.notes, *account.notes))


def _evaluate_classes(*data: Any, **options: Any) -> ClassResults:
    from truecal.analysis._classes import evaluate_classes  # which evaluates the most probable class by `evaluate`

    return evaluate_classes(*data, **options)


def find_library(y_prob: Any) -> str:
    """The library that the scores came in, whose dataframes the result gives."""
    return str(type(y_prob).__module__.partition(".")[0])


def name_library(result: Result, library: str) -> Result:
    """The same result with the library whose dataframes it gives."""
    return replace(result, library=library) if library in FRAMES else result


def _drop_missing(
    y_true: Any, y_prob: Any, cluster: Any, sample_weight: Any, *others: Any
) -> tuple[list[Any], dict[str, int]]:
    """The rows that have a label, a score and a cluster, and how many others were dropped, by reason."""
    columns, reasons = drop_missing(y_true, y_prob, cluster, sample_weight, *others)
    if not len(columns[0]):
        raise ValueError("The data must have at least one valid row; they have none.")
    if sample_weight is None:
        return columns, {reason: int(rows.sum()) for reason, rows in reasons.items()}
    weight = read_weights(sample_weight, len(next(iter(reasons.values())))) if reasons else np.zeros(0)
    return columns, {reason: int(weight[rows].sum()) for reason, rows in reasons.items() if weight[rows].any()}


def name_labelling(labelling: Labelling) -> dict[str, Any]:
    """The options that make a labelling, None for those that are left out."""
    names = ("kept_negatives", "kept_positives", "flip")
    own = {name: (getattr(labelling, name), getattr(AS_THEY_ARE, name)) for name in names}
    return {name: None if value == usual else value for name, (value, usual) in own.items()}


def refuse_grouped(given: Mapping[str, Any]) -> None:
    """Refuse options about rows where these are grouped already."""
    for name, value in given.items():
        if value is not None:
            raise TypeError(f"{option(name)} must be left out where rows are grouped by score already.")


def refuse_classes(labelling: Labelling) -> None:
    """Refuse rows sampled by two labels where there are several classes."""
    for name, value in (name_labelling(labelling) | {"mature": labelling.late or None}).items():
        if value is not None:
            raise ValueError(
                f"{option(name)} is about two labels, and must be left out where there are several classes."
            )


def check_options(function: Callable[..., Any], options: Mapping[str, Any]) -> None:
    """Refuse an option that a function does not have, and say which may have been meant."""
    for name in options:
        if name not in Options.__annotations__:
            known = [*signature(function).parameters, *Options.__annotations__]
            hint = did_you_mean(name, known)
            if name in READING:
                hint = f"\n\nHint: columns are named where data are read: `truecal.read(data, {name}=...)`."
            raise TypeError(f"{function.__name__}() got an unexpected keyword argument {name!r}.{hint}")


def refuse_options(options: Options, names: Sequence[str], where: str) -> None:
    """Refuse options that have no meaning in a function."""
    for name in names:
        if options.get(name) is not None:
            raise TypeError(f"{option(name)} must be left out where {where}.")


READING = (
    *("label", "score", "by", "time", "every", "pos_label", "on_null", "format", "limits", "on"),
    *("kept_negatives", "kept_positives", "flip", "cluster"),
)


def raise_for_data(function: str, data: Any, given: Any = None) -> NoReturn:
    """Refuse a dataframe, a path or anything else that is no observations, with how to read it."""
    if isinstance(given, str):
        raise TypeError(
            f"`y_prob` must be a column of values; it is {given!r}.\n\nHint: a dataframe or a path is read first: "
            f'`{function}(truecal.read(data, label="{given}", score=...))`.'
        )
    what = type(data).__name__
    if function in ("evaluate", "compare") and not hasattr(data, "columns") and not isinstance(data, (str, bytes)):
        raise TypeError(
            f"`y_prob` must be given beside `y_true`; it is missing.\n\nHint: a dataframe or a path is read first: "
            f"`truecal.{function}(truecal.read(data, label=..., score=...))`."
        )
    raise TypeError(
        f"`{function}` takes {'columns or ' * (function in ('evaluate', 'compare'))}`Tallies`; this is {what}.\n\n"
        f"Hint: read it first: `truecal.{function}(truecal.read(data, label=..., score=...))`."
    )


def _evaluate_observed(data: Observed, metrics: Metrics, options: Options) -> Result:
    whole = (data.whole() if isinstance(data, Tallies) else data).simplify()
    if isinstance(whole, GridTally):
        result = _evaluate_cells(whole, metrics, options)
    else:
        result = _evaluate_sorted(whole, metrics, options)
    if not isinstance(data, Tallies):
        return result
    account = replace(data.account, judged=result.account.judged, outside=result.account.outside)
    said = (*data.rows_notes, *result.notes)  # by the verdict, or by the result itself
    notes = (note for note in data.notes if note not in said)
    verdict = result.verdict and replace(result.verdict, cluster=data.cluster)
    result = replace(result, account=account, notes=(*result.notes, *notes), verdict=verdict)
    return name_outcome(result, data.outcome)


def name_outcome(result: Result, outcome: Outcome) -> Result:
    """The same result in the words of what is counted."""
    return result if result.verdict is None else replace(result, verdict=replace(result.verdict, outcome=outcome))


def _evaluate_sorted(data: Sorted, metrics: Metrics, options: Options, judged: GridTally | None = None) -> Result:
    """All metrics at once for observations sorted by score, or for cells, of which `judged` are those of the region."""
    read = data.n_rows
    data, region = choose_region(data, options.get("above"), options.get("top"))
    loss, adjust = choose_test(options), options.get("adjust")
    chosen = choose(metrics, options.get("binning"), loss)
    bins = bin_once(data, chosen)
    ranked = Ranked(data)
    scores = Scores.of(ranked)
    keys = {
        name: (metric.binning, metric.test_of_bins(loss))
        for name, metric in chosen.items()
        if isinstance(metric, Metric)
    }
    tables = _tabulate(bins, keys.values(), adjust)
    refuted = [
        Refuted(bins[scheme].partition.starts, table.n_too_low, table.n_too_high, not test.per_prediction)
        for (scheme, test), table in tables.items()
    ]
    shapes = dict(zip(tables, Shape.of(ranked, scores, refuted), strict=True))
    notes = dict.fromkeys(note for scheme, _ in keys.values() for note in bins[scheme].partition.notes)
    values = {name: metric.on(bins[metric.binning]) for name, metric in chosen.items()}
    references, spans, curve, note = _redraw(data, chosen, values, options)
    if curve is None:
        blocks = bins[Isotonic()].partition if Isotonic() in bins else Isotonic().partition(data)
        curve = Curve.of(ranked, blocks)
    verdict = judge(_find_cells(data, bins, judged), loss.significance, loss.tolerance)
    seed = options.get("random_state") if references or spans else None
    return Result(
        verdict=replace(verdict, whole=region is None),
        seed=int(seed) if isinstance(seed, (int, np.integer)) else None,
        n=data.n_rows,
        positives=data.positives,
        account=Account(read, data.n_rows, outside=read - data.n_rows),
        values=values,
        metrics=chosen,
        tables={name: tables[key] for name, key in keys.items()},
        test=loss.test,
        significance=loss.significance,
        tolerance=loss.tolerance,
        adjust=adjust,
        region=region,
        references=references,
        intervals=spans,
        scores=scores,
        curve=curve,
        shapes={name: shapes[key] for name, key in keys.items()},
        notes=(*notes, *note, *([] if data.importance is None else [IMPORTANCE])),
        version=__version__,
        labelling=data.labelling,
        weighted=data.importance is not None,
    )


def _tabulate(bins: Bins, keys: Iterable[Key], adjust: Adjustment) -> dict[Key, BinTable]:
    """The table of each binning under its test; those whose rates are tested alike are made together."""
    alike: dict[Rejection, list[Key]] = {}
    for key in dict.fromkeys(keys):
        alike.setdefault(key[1].of_rates, []).append(key)
    return {
        key: table
        for own in alike.values()
        for key, table in zip(own, BinTable.of([(bins[scheme], test) for scheme, test in own], adjust), strict=True)
    }


def _find_cells(data: Sorted, bins: Bins, judged: GridTally | None) -> CellSums:
    """The cells that a verdict is of: those that windows are made of, where a metric has windows."""
    windows = bins.get(Windows())
    if judged is None and windows is not None:
        cells: CellSums = windows.partition.cells
        return cells
    return CellSums.of(data if judged is None else judged)


def choose_test(options: Options) -> Rejection:
    """The test, its level and its tolerance."""
    test, level = options.get("test"), options.get("significance", 0.05)
    return Rejection(Binomial() if test is None else test, level, as_tolerance(options.get("tolerance")))


def check_region(above: float | None, top: int | float | None) -> None:
    """Refuse two regions at once."""
    if above is not None and top is not None:
        raise ValueError(f"One of {option('above')} and {option('top')} may be given, not both.")


def is_whole(options: Options) -> bool:
    """Whether all predictions are judged, not those of a region."""
    return options.get("above") is None and options.get("top") is None


def choose_region(data: Sorted, above: float | None, top: int | float | None) -> tuple[Sorted, str | None]:
    """The predictions that are judged, and which these are, in words."""
    check_region(above, top)
    if above is not None:
        return data.above(above), f"scores of at least {above:g}"
    if top is not None:
        chosen = data.top(top)
        share = f"{top:,}" if isinstance(top, (int, np.integer)) else f"{100 * top:g} %"
        total = data.unweighted.population.n_rows if isinstance(data, Tally) else data.n_rows
        return chosen, f"the top {share} of {total:,.0f} predictions"
    return data, None


def _redraw(
    data: Sorted, metrics: Mapping[str, Measure], observed: Mapping[str, float], options: Options
) -> tuple[dict[str, Reference], dict[str, Interval], Curve | None, list[str]]:
    """References, with the isotonic curve and its band, and intervals, where they are asked for; and a note on what
    labels were redrawn for."""
    reference, intervals = options.get("reference", 0), options.get("intervals", 0)
    if not reference and not intervals:
        return {}, {}, None, []
    random_state, threads = options.get("random_state"), options.get("threads", 1)
    (tally, note), references, spans, curve = _to_redraw(data), {}, {}, None
    if reference:
        draws = Draws(reference, random_state, threads)
        references, curve = (
            null_reference(tally, metrics, draws, observed),
            Curve.with_band(tally, replace(draws, replicates=min(reference, BAND))),
        )
    if intervals:
        draws, confidence = Draws(intervals, random_state, threads), options.get("confidence", 0.95)
        spans = inference.intervals(tally, metrics, draws, confidence=confidence, observed=observed)
    return references, spans, curve, note


def _to_redraw(data: Sorted) -> tuple[Tally, list[str]]:
    """What labels are redrawn for: the scores themselves, or cells where they are too many; and a note of that."""
    scores = len(data) if isinstance(data, Tally) else _kernel.count_groups(data.key)
    if scores <= REDRAWN:
        return data.tally, []
    cells = GridTally.of(data, max(choose_bits(data.n_rows), FINE))
    return cells.tally, [
        f"labels were redrawn for {len(cells):,} cells of {cells.bits} significant bits in the place of {scores:,} "
        "scores: references and intervals are for bins made of whole cells"
    ]


def _evaluate_cells(cells: GridTally, metrics: Metrics, options: Options) -> Result:
    """All metrics at once for observations in cells, with bounds for the bins of cells."""
    region, _ = choose_region(cells.tally, options.get("above"), options.get("top"))
    judged = cells.tail(len(cells) - len(region))
    result = _evaluate_sorted(cells.tally, metrics, options, judged)
    bounds = {}
    for name, metric in result.metrics.items():
        if isinstance(metric, Metric) and metric.rejection is not None and metric.rejection.per_prediction:
            low, high = grid_bounds(judged, metric, _partition(judged, result.tables[name]))
            # a cell that is partly rejected counts in full, or not at all, in the value
            bounds[name] = min(low, result.values[name]), max(high, result.values[name])
    return replace(result, bounds=bounds, notes=(*result.notes, *_describe_grid(judged, result)))


def _partition(cells: GridTally, table: BinTable) -> Partition:
    """The bins of a table, found again among the cells that they are made of."""
    rows = np.concatenate([[0], np.cumsum(table.n)])
    starts = np.searchsorted(np.concatenate([[0], np.cumsum(cells.n)]), rows)
    return Partition(starts, table.n, table.k, np.append(table.left, 1.0))


def _describe_grid(cells: GridTally, result: Result) -> list[str]:
    """That there is a grid, and whether it is too coarse for the bins."""
    notes = [
        f"scores were grouped into {len(cells):,} cells of {cells.bits} significant bits; values and bounds are for "
        "bins made of whole cells, not for the bins that the exact scores would have"
    ]
    if result.region is not None:
        notes.append(f"the region is made of whole cells: its lowest score is {cells.low[0]:.6g}")
    # windows are made of cells by definition
    sizes = [
        _largest_bin(metric, result.tables[name])
        for name, metric in result.metrics.items()
        if isinstance(metric, Metric) and metric.test_of_bins(choose_test({})).per_prediction
    ]
    room = SHARE * min(sizes, default=math.inf)
    rows = cells.n[cells.low < cells.high]  # more bits do not split a tie
    large = rows[rows > room]
    if len(large) and cells.bits < MOST_BITS:
        more = math.ceil(math.log2(float(large.max()) / room))
        notes.append(
            f"the grid is coarse: {len(large):,} of its cells {'holds' if len(large) == 1 else 'hold'} more than a "
            f"fifteenth of the largest bin, up to {int(large.max()):,} rows; "
            f"{min(cells.bits + more, MOST_BITS)} bits would do"
        )
    return notes


def _largest_bin(metric: Metric, table: BinTable) -> int:
    if isinstance(metric.binning, BoundedIsotonic):
        return metric.binning.bounds(int(table.n.sum()))[1]
    return int(table.n.max())
