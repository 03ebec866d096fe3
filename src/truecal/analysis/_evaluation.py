"""The functions for users that answer with a `Result` or a `Comparison`, from columns, frames or files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from inspect import signature
from typing import Any, Literal, Unpack, overload

import numpy as np

from truecal._errors import option
from truecal.analysis._gridded import evaluate_cells
from truecal.analysis._segments import judge_segments
from truecal.analysis._tallied import Options, evaluate_tally
from truecal.inference import Draws, RandomState, differences
from truecal.metrics import Adjustment, BinningLike, Binomial, Metric, Rejection, Test, Tolerance, as_tolerance, choose
from truecal.observations import (
    GridTally,
    Pairs,
    Segment,
    Sorted,
    Tallies,
    Tally,
    as_matrix,
    as_tuple,
    one_vs_rest,
    refuse_class_options,
)
from truecal.observations import _arrays as arrays
from truecal.reading import SCALE, Columns, Limits, OnNull, PathLike, open_summary
from truecal.reading import _ingest as ingest
from truecal.results import FRAMES, ClassResults, Comparison, GroupTable, Result

Metrics = Iterable[str] | Mapping[str, Metric] | None


@overload
def evaluate(
    y_true: Tallies | PathLike, *, metrics: Metrics = None, by: None = None, **options: Unpack[Options]
) -> Result: ...
@overload
def evaluate(
    y_true: Tallies | PathLike, *, metrics: Metrics = None, by: str | Sequence[str], **options: Unpack[Options]
) -> GroupTable: ...
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
    **options: Unpack[Options],
) -> Result: ...
@overload
def evaluate(
    y_true: Any,
    *,
    metrics: Metrics = None,
    label: str,
    score: str,
    by: None = None,
    pos_label: Any = None,
    on_null: OnNull = "raise",
    format: str | None = None,
    scale: Limits = SCALE,
    **options: Unpack[Options],
) -> Result: ...
@overload
def evaluate(
    y_true: Any,
    *,
    metrics: Metrics = None,
    label: str,
    score: Sequence[str],
    by: None = None,
    pos_label: Any = None,
    on_null: OnNull = "raise",
    format: str | None = None,
    scale: Limits = SCALE,
    **options: Unpack[Options],
) -> dict[str, Result]: ...
@overload
def evaluate(
    y_true: Any,
    *,
    metrics: Metrics = None,
    label: str,
    score: str,
    by: str | Sequence[str],
    pos_label: Any = None,
    on_null: OnNull = "raise",
    format: str | None = None,
    scale: Limits = SCALE,
    **options: Unpack[Options],
) -> GroupTable: ...
@overload
def evaluate(
    y_true: Any,
    *,
    metrics: Metrics = None,
    label: str,
    score: Sequence[str],
    by: str | Sequence[str],
    pos_label: Any = None,
    on_null: OnNull = "raise",
    format: str | None = None,
    scale: Limits = SCALE,
    **options: Unpack[Options],
) -> dict[str, GroupTable]: ...
def evaluate(
    y_true: Any,
    y_prob: Any = None,
    metrics: Metrics = None,
    *,
    label: str | None = None,
    score: str | Sequence[str] | None = None,
    by: str | Sequence[str] | None = None,
    sample_weight: Any = None,
    pos_label: Any = None,
    on_null: OnNull = "raise",
    format: str | None = None,
    multiclass: Literal["top-label"] | None = None,
    labels: Sequence[Any] | None = None,
    scale: Limits = SCALE,
    **options: Unpack[Options],
) -> Result | dict[str, Result] | GroupTable | dict[str, GroupTable]:
    """All metrics at once, with the bins behind them: of two columns, of a dataframe, or of files.

    Parameters
    ----------
    y_true, y_prob
        Labels and predicted probabilities; or in the place of `y_true` a dataframe or a path, as `tally_frame` takes
        them, with the names of its columns in `label` and `score`; or a `Tallies` or a path to one, which has names.
    metrics : names or mapping, optional
        Names of `truecal.METRICS` (all of them by default), or your own as a mapping of names to `Metric`. The
        first one's bins are the result's `bins`.
    score : name or names
        Several columns are several models on the same rows: the answer is a dictionary of results.
    by : name or names, optional
        Columns whose values make segments: the answer is a `GroupTable` of the first metric, TCE by default, with
        at most `reference` replicates (see `judge_segments`) and p-values adjusted for the number of segments by Holm's
        method unless `adjust` says otherwise.
    scale : Scale
        For data that are larger than memory, or in an engine elsewhere: see `Limits`.
    multiclass : "top-label", optional
        With probabilities of shape (rows, classes): judge the most probable class. For each class against the rest
        see `evaluate_classes`.
    options
        `binning`, `test`, `significance`, `tolerance`, `adjust`, `above`, `top`, `reference`, `intervals`,
        `confidence`, `random_state`, `threads`: see `evaluate_tally`.

    Examples
    --------
    >>> import truecal
    >>> result = truecal.evaluate([0, 1, 1, 1], [0.25, 0.75, 0.75, 0.75], metrics=["ece", "mce"])
    >>> result["ece"], result.n, result.prevalence
    (0.25, 4, 0.75)
    """
    check_options(evaluate, options)
    _refuse_names("evaluate", y_prob, f'"{metrics}"' if isinstance(metrics, str) else "...")
    summary = open_summary(y_true, label, score, by) if y_prob is None else None
    if summary is not None:
        y_true, label, score = summary, label or summary.label, score or summary.score
    if label is not None or score is not None or by is not None:
        _refuse_columns(y_prob=y_prob, sample_weight=sample_weight, multiclass=multiclass, labels=labels)
        name, models = _roles(label, score)
        found = {
            model: _evaluate_frame(
                y_true, Columns(name, (model,), as_tuple(by), pos_label, on_null, format, scale), metrics, options
            )
            for model in models
        }
        return found[score] if isinstance(score, str) else found  # type: ignore[return-value]
    if y_prob is None:
        raise TypeError(
            "`y_prob` must be given beside `y_true`; it is missing.\n\nHint: a dataframe or a path needs its columns "
            "named: `evaluate(frame, label=..., score=...)`."
        )
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
    result = evaluate_tally(Tally.from_arrays(y_true, column, sample_weight, pos_label), metrics, **options)
    return _with_library(result, y_prob)


def evaluate_classes(
    y_true: Any,
    y_prob: Any,
    metrics: Metrics = None,
    *,
    labels: Sequence[Any] | None = None,
    sample_weight: Any = None,
    **options: Unpack[Options],
) -> ClassResults:
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
    check_options(evaluate_classes, options)
    probabilities = as_matrix(y_prob)
    if probabilities is None:
        raise ValueError("`y_prob` must be of shape (rows, classes); it has a single column.\n\nHint: use `evaluate`.")
    columns = one_vs_rest(y_true, probabilities, "classwise", labels, None)
    return ClassResults(
        {
            name: evaluate_tally(Tally.from_arrays(label, score, sample_weight), metrics, **options)
            for name, (label, score) in columns.items()
        }
    )


def compare(
    y_true: Any,
    y_prob: Any = None,
    y_prob_other: Any = None,
    metrics: Iterable[str] | Mapping[str, Metric] = ("tce",),
    *,
    label: str | None = None,
    score: Sequence[str] | None = None,
    binning: BinningLike = None,
    test: Test | None = None,
    significance: float = 0.05,
    tolerance: Tolerance | float | None = None,
    replicates: int = 1000,
    confidence: float = 0.95,
    random_state: RandomState = None,
    threads: int = 1,
    pos_label: Any = None,
    on_null: OnNull = "raise",
    format: str | None = None,
) -> Comparison:
    """Two models on the same rows: each metric of both, their difference, and an interval for it.

    Of three columns, or of a dataframe or a path with the names of its columns: `compare(frame, label="y",
    score=["a", "b"])`. For test-based metrics: the same interval for the difference of two gap metrics covers too
    little (86 to 95 % measured where 95 % is meant, see docs/inference.md), so it is not offered.

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
    _refuse_names("compare", y_prob, "[...]")
    loss = Rejection(Binomial() if test is None else test, significance, as_tolerance(tolerance))
    chosen = choose(metrics, binning, loss)
    others = [name for name, metric in chosen.items() if metric.rejection is None]
    if others:
        raise ValueError(
            f"{option('metrics')} must be test-based to be compared, such as 'tce'; {others[0]!r} is not: the "
            "interval of its "
            "difference would cover less than it says."
        )
    if label is not None or score is not None:
        _refuse_columns(y_prob=y_prob, y_prob_other=y_prob_other)
        name, models = _roles(label, score)
        if isinstance(score, str) or len(models) != 2:
            raise ValueError(f"{option('score')} must name two columns to compare; it is {score!r}.")
        pairs, _ = ingest.read_pairs(y_true, Columns(name, tuple(models), (), pos_label, on_null, format))
    else:
        pairs = _pairs(y_true, y_prob, y_prob_other, pos_label)
    found = differences(pairs, chosen, Draws(replicates, random_state, threads), confidence=confidence)
    first, second = ("first", "second") if score is None else score
    return Comparison.of(found, chosen, models=(first, second))


def _evaluate_frame(frame: Any, columns: Columns, metrics: Metrics, options: Options) -> Result | GroupTable:
    if columns.by:
        tallies, dropped = ingest.read_segments(frame, columns)
        return judge_all(tallies, metrics, columns.by, (dropped,) if dropped else (), **options)
    data, dropped = ingest.read_data(frame, columns)
    result = evaluate_data(data, metrics, options)
    if dropped:
        result = replace(result, notes=(*result.notes, dropped))
    return _with_library(result, frame)


def evaluate_data(data: Sorted | GridTally, metrics: Metrics, options: Options) -> Result:
    """`evaluate` of observations in any form."""
    if isinstance(data, GridTally):
        return evaluate_cells(data, metrics, **options)
    return evaluate_tally(data, metrics, **options)


def judge_all(
    tallies: Mapping[Segment, Tally | GridTally],
    metrics: Metrics,
    by: tuple[str, ...],
    notes: tuple[str, ...],
    *,
    binning: BinningLike = None,
    test: Test | None = None,
    significance: float = 0.05,
    tolerance: Tolerance | float | None = None,
    adjust: Adjustment = "holm",
    above: float | None = None,
    reference: int | None = None,
    random_state: RandomState = None,
    threads: int = 1,
    **others: Any,
) -> GroupTable:
    """The segments under the options of `evaluate_tally` that make sense for many tallies."""
    if others:
        raise TypeError(f"{option(next(iter(others)))} must be left out where {option('by')} makes segments.")
    if above is not None:
        tallies = {key: data.above(above) for key, data in tallies.items() if data.highest >= above}
    loss = Rejection(Binomial() if test is None else test, significance, as_tolerance(tolerance))
    chosen = choose(["tce"] if metrics is None else metrics, binning, loss)
    metric = next(iter(chosen.values()))
    return judge_segments(
        tallies,
        metric,
        replicates=reference,
        adjust=adjust,
        significance=significance,
        random_state=random_state,
        threads=threads,
        by=by,
        notes=notes,
    )


def _roles(label: str | None, score: str | Sequence[str] | None) -> tuple[str, list[str]]:
    """The names of the label and of every score."""
    if not isinstance(label, str) or not score:
        raise TypeError(
            f"{option('label')} and {option('score')} must name columns of the frame; they are {label!r} and {score!r}."
        )
    return label, [score] if isinstance(score, str) else list(score)


def check_options(function: Callable[..., Any], options: Mapping[str, Any]) -> None:
    """Refuse an option that a function does not have, and say which may have been meant."""
    for name in options:
        if name not in Options.__annotations__:
            known = [*signature(function).parameters, *Options.__annotations__]
            near = get_close_matches(name, known, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise TypeError(f"{function.__name__}() got an unexpected keyword argument {name!r}{hint}")


def _refuse_names(function: str, y_prob: Any, score: str) -> None:
    """Refuse names of columns in the place of columns."""
    if isinstance(y_prob, str):
        raise TypeError(
            f"`y_prob` must be a column of values; it is {y_prob!r}.\n\nHint: a dataframe or a path needs its columns "
            f'named: `{function}(data, label="{y_prob}", score={score})`.'
        )


def _refuse_columns(**given: Any) -> None:
    for name, value in given.items():
        if value is not None:
            raise TypeError(
                f"`{name}` must be left out where {option('label')} and {option('score')} name columns of a frame."
            )


def _with_library(result: Result, data: Any) -> Result:
    """A result whose dataframes are of the library that the data came in."""
    library = type(data).__module__.partition(".")[0]
    return replace(result, library=library) if library in FRAMES else result


def _pairs(y_true: Any, y_prob: Any, y_prob_other: Any, pos_label: Any) -> Pairs:
    first, second = arrays.scores(y_prob), arrays.scores(y_prob_other)
    for score in (first, second):
        Tally.from_arrays(y_true, score, pos_label=pos_label)  # checks range, lengths and labels
    label = arrays.labels(y_true, pos_label).astype(np.int64)
    ones = np.ones(len(label), np.int64)
    return Pairs.gathered(first.astype(np.float64), second.astype(np.float64), ones, label)
