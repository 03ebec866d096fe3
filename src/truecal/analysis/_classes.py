"""Several classes: the result of the most probable class, and the verdict on each class against the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Unpack

import numpy as np

from truecal._options import (
    ClasswiseOptions,
    EvaluateClassesOptions,
    EvaluateOptions,
    MetricOptions,
    declare,
    resolve,
    take_options,
)
from truecal._threads import map_chunks
from truecal.analysis._evaluate import (
    Metrics,
    choose_region,
    evaluate,
    find_library,
    name_library,
    name_outcome,
    refuse_grouped,
)
from truecal.analysis._inputs import choose_test, is_unrestricted
from truecal.data import Cells, Classes, ClassObservations, Part, Tally, as_matrix
from truecal.results import ClassResults, ClassTable
from truecal.verdict import Verdict, judge_all

MANY_CLASSES = 64  # from which on probabilities are mostly small: cells are pooled, and threads share the work
CLASSES_AT_ONCE = 32  # in one pass, which bounds the memory of their cells


@declare(EvaluateOptions, first=(MetricOptions, ClasswiseOptions))
def evaluate_classes(
    y_true: Any,
    y_prob: Any = None,
    metrics: Metrics = None,
    **options: Unpack[EvaluateClassesOptions],
) -> ClassResults:
    """Evaluate a model of several classes, from probabilities of shape (rows, classes).

    The most probable class is evaluated as in `evaluate(y_true, y_prob)`, with `metrics` and `options`. Each class
    against the rest gets the verdict of `evaluate(y_true == label, y_prob[:, i])`, in a table with p-values that are
    adjusted for the number of classes. With 64 classes or more, cells of small probabilities are pooled, which moves
    the bounds of score windows a little, and all cores share the work, or `threads` of them.

    Parameters
    ----------
    y_true, y_prob : arrays or ClassObservations
        Labels and probabilities; or in their place what `truecal.read(..., multiclass="classwise")` returns.

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
    given = resolve(evaluate_classes, options)
    options = take_options(EvaluateOptions, given)
    labels, sample_weight, cluster = given["labels"], given["sample_weight"], given["cluster"]
    if isinstance(y_true, ClassObservations):
        refuse_grouped(take_options(ClasswiseOptions, given))
        top = evaluate(y_true.top, metrics if y_prob is None else y_prob, **options)
        observed = list(y_true.classes.values())

        def take_cells(first: int, last: int, pooled: bool) -> list[Cells]:
            chosen = observed[first:last]
            return [_choose_cells(observations.pooled().simplify(), options, pooled) for observations in chosen]

        verdicts = _judge_classes(take_cells, len(observed), options)
        predicted = np.array(list(y_true.predicted.values()), dtype=np.int64)
        return ClassResults(top, ClassTable.of(list(y_true.classes), predicted, verdicts))
    probabilities = as_matrix(y_prob)
    if probabilities is None:
        raise ValueError("`y_prob` must be of shape (rows, classes); it has a single column.\n\nHint: use `evaluate`.")
    classes = Classes.of(y_true, probabilities, labels, threads=options["threads"])
    tally = Tally.from_arrays(*classes.top(), sample_weight, cluster=cluster)
    top = name_library(name_outcome(evaluate(tally, metrics, **options), "correct"), find_library(y_prob))

    plain = sample_weight is None and cluster is None and is_unrestricted(options)

    def count_cells(first: int, last: int, pooled: bool) -> list[Cells]:
        if pooled and plain:
            return Cells.of_classes(classes, first, last)
        columns = classes.columns(first, last)
        return [_count_cells(*column, sample_weight, cluster, options, pooled) for column in columns]

    verdicts = _judge_classes(count_cells, len(classes.names), options)
    weight = None if sample_weight is None else np.asarray(sample_weight)
    predicted = np.bincount(classes.chosen, weight, len(classes.names)).astype(np.int64)
    return ClassResults(top, ClassTable.of(classes.names, predicted, verdicts))


def _judge_classes(
    count_cells: Callable[[int, int, bool], list[Cells]], classes: int, options: EvaluateOptions
) -> list[Verdict]:
    """Return the verdict on each class against the rest; `count_cells` counts the cells of a range of classes."""
    test, many = choose_test(options), classes >= MANY_CLASSES

    def judge(first: int, last: int) -> list[Verdict]:
        return judge_all(count_cells(first, last, many), test.significance, test.tolerance)

    return map_chunks(judge, classes, CLASSES_AT_ONCE, options["threads"] if many else 1)


def _count_cells(
    label: Any, score: Any, sample_weight: Any, cluster: Any, options: EvaluateOptions, pooled: bool
) -> Cells:
    """Return the cells of a class' rows in scope."""
    if is_unrestricted(options):
        return Cells.from_arrays(label, score, sample_weight, cluster=cluster, pooled=pooled)
    return _choose_cells(Tally.from_arrays(label, score, sample_weight, cluster=cluster), options, pooled)


def _choose_cells(part: Part, options: EvaluateOptions, pooled: bool) -> Cells:
    """Return the cells of rows in scope that are grouped by score already."""
    return Cells.of(choose_region(part, options["threshold"], options["top"])[0], pooled)
