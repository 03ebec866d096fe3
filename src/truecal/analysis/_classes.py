"""Several classes: the most probable one as a `Result`, and the verdict on each against the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Unpack

import numpy as np

from truecal._errors import option
from truecal._options import EvaluateOptions, declare, resolve
from truecal._threads import map_chunks
from truecal.analysis._evaluate import (
    Metrics,
    choose_region,
    choose_test,
    evaluate,
    find_library,
    is_whole,
    name_library,
    name_outcome,
)
from truecal.data import CellSums, Classes, ClassObservations, GridTally, Part, Tally, as_matrix
from truecal.results import ClassResults, ClassTable
from truecal.verdict import Verdict, judge_all

MANY = 64  # classes
AT_ONCE = 32  # that are judged in one pass


@declare(EvaluateOptions)
def evaluate_classes(
    y_true: Any,
    y_prob: Any = None,
    metrics: Metrics = None,
    *,
    labels: Sequence[Any] | None = None,
    sample_weight: Any = None,
    cluster: Any = None,
    **options: Unpack[EvaluateOptions],
) -> ClassResults:
    """Judge a model of several classes, from probabilities of shape (rows, classes).

    The most probable class is evaluated as `evaluate(y_true, y_prob)` does it, with `metrics` and `options`. Each class
    against the rest gets the verdict of `evaluate(y_true == label, y_prob[:, i])`, in a table whose p-values are
    adjusted for the number of classes. (Of 64 classes or more, cells of small probabilities are pooled, which moves the
    bounds of windows a little, and all cores share the work, or `threads` of them.) `labels` names the classes in the
    order of the columns; 0, 1, ... by default. `sample_weight` and `cluster` are as in `evaluate`.

    In the place of `y_true` and `y_prob` it takes what `truecal.read(..., multiclass="classwise")` gives for dataframes
    and files.

    Examples
    --------
    >>> import numpy as np, truecal
    >>> rng = np.random.default_rng(0)
    >>> p = rng.dirichlet([1, 2, 3], size=5000)
    >>> y = (p.cumsum(axis=1) > rng.random((5000, 1))).argmax(axis=1)
    >>> result = truecal.evaluate_classes(y, p, labels=[0, 1, 2])
    >>> result.status, result.table.status
    ('consistent', ['consistent', 'consistent', 'consistent'])
    >>> sharper = p**1.5 / np.sum(p**1.5, axis=1, keepdims=True)
    >>> result = truecal.evaluate_classes(y, sharper)
    >>> result.status, result.top.verdict.status
    ('miscalibrated', 'miscalibrated')
    """
    options = resolve(evaluate_classes, options)
    if isinstance(y_true, ClassObservations):
        for name, value in (("sample_weight", sample_weight), ("labels", labels), ("cluster", cluster)):
            if value is not None:
                raise TypeError(f"{option(name)} must be left out where rows are grouped by score already.")
        top = evaluate(y_true.top, metrics if y_prob is None else y_prob, **options)
        wholes = list(y_true.classes.values())

        def find(first: int, last: int, pooled: bool) -> list[CellSums]:
            return [_choose_cells(each.pooled().simplify(), options, pooled) for each in wholes[first:last]]

        verdicts = _judge(find, len(wholes), options)
        predicted = np.array(list(y_true.predicted.values()), dtype=np.int64)
        return ClassResults(top, ClassTable.of(list(y_true.classes), predicted, verdicts))
    probabilities = as_matrix(y_prob)
    if probabilities is None:
        raise ValueError("`y_prob` must be of shape (rows, classes); it has a single column.\n\nHint: use `evaluate`.")
    classes = Classes.of(y_true, probabilities, labels, threads=options["threads"])
    tally = Tally.from_arrays(*classes.top(), sample_weight, cluster=cluster)
    top = name_library(name_outcome(evaluate(tally, metrics, **options), "correct"), find_library(y_prob))

    plain = sample_weight is None and cluster is None and is_whole(options)

    def count(first: int, last: int, pooled: bool) -> list[CellSums]:
        if pooled and plain:
            return CellSums.of_classes(classes, first, last)
        columns = classes.columns(first, last)
        return [_count_cells(*column, sample_weight, cluster, options, pooled) for column in columns]

    verdicts = _judge(count, len(classes.names), options)
    weight = None if sample_weight is None else np.asarray(sample_weight)
    predicted = np.bincount(classes.chosen, weight, len(classes.names)).astype(np.int64)
    return ClassResults(top, ClassTable.of(classes.names, predicted, verdicts))


def _judge(count: Callable[[int, int, bool], list[CellSums]], classes: int, options: EvaluateOptions) -> list[Verdict]:
    """The verdict on each of so many classes against the rest, given what counts the cells of some of them. Of many,
    whose probabilities are small, cells are pooled, and threads share the work."""
    loss, many = choose_test(options), classes >= MANY

    def judge(first: int, last: int) -> list[Verdict]:
        return judge_all(count(first, last, many), loss.significance, loss.tolerance)

    return map_chunks(judge, classes, AT_ONCE, options["threads"] if many else 1)


def _count_cells(
    label: Any, score: Any, sample_weight: Any, cluster: Any, options: EvaluateOptions, pooled: bool
) -> CellSums:
    """The rows of a class that are judged, in cells."""
    if is_whole(options):
        return CellSums.from_arrays(label, score, sample_weight, cluster=cluster, pooled=pooled)
    return _choose_cells(Tally.from_arrays(label, score, sample_weight, cluster=cluster), options, pooled)


def _choose_cells(part: Part, options: EvaluateOptions, pooled: bool) -> CellSums:
    """The same of rows that are grouped by score already."""
    threshold, top = options["threshold"], options["top"]
    if isinstance(part, GridTally):
        return CellSums.of(part.tail(len(part) - len(choose_region(part.tally, threshold, top)[0])), pooled)
    return CellSums.of(choose_region(part, threshold, top)[0], pooled)
