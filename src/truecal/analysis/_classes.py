"""Several classes: the most probable one as a `Result`, and the verdict on each against the rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np

from truecal.analysis._evaluate import Metrics, Options, check_options, choose_region, choose_test, evaluate
from truecal.inference import Verdict, judge
from truecal.observations import CellSums, Classes, Tally, as_matrix
from truecal.results import ClassResults, ClassTable


def evaluate_classes(
    y_true: Any,
    y_prob: Any,
    metrics: Metrics = None,
    *,
    labels: Sequence[Any] | None = None,
    sample_weight: Any = None,
    **options: Unpack[Options],
) -> ClassResults:
    """Judge a model of several classes, from probabilities of shape (rows, classes).

    The most probable class is evaluated as `evaluate(y_true, y_prob)` does it, with `metrics` and `options`. Each class
    against the rest gets the verdict of `evaluate(y_true == label, y_prob[:, i])`, in a table whose p-values are
    adjusted for the number of classes. `labels` names the classes in the order of the columns; 0, 1, ... by default.

    Examples
    --------
    >>> import numpy as np, truecal
    >>> rng = np.random.default_rng(0)
    >>> p = rng.dirichlet([1, 2, 3], size=5000)
    >>> y = (p.cumsum(axis=1) > rng.random((5000, 1))).argmax(axis=1)
    >>> result = truecal.evaluate_classes(y, p, labels=[0, 1, 2])
    >>> result.word, result.table.verdict
    ('consistent', ['consistent', 'consistent', 'consistent'])
    >>> sharper = p**1.5 / np.sum(p**1.5, axis=1, keepdims=True)
    >>> result = truecal.evaluate_classes(y, sharper)
    >>> result.word, result.top.verdict.word
    ('off', 'off')
    """
    check_options(evaluate_classes, options)
    probabilities = as_matrix(y_prob)
    if probabilities is None:
        raise ValueError("`y_prob` must be of shape (rows, classes); it has a single column.\n\nHint: use `evaluate`.")
    classes = Classes.of(y_true, probabilities, labels)
    top = evaluate(
        y_true, y_prob, metrics, sample_weight=sample_weight, multiclass="top-label", labels=labels, **options
    )
    verdicts = [_judge(label, score, sample_weight, options) for label, score in classes.columns()]
    weight = None if sample_weight is None else np.asarray(sample_weight)
    predicted = np.bincount(classes.probabilities.argmax(axis=1), weight, len(classes.names)).astype(np.int64)
    return ClassResults(top, ClassTable.of(classes.names, predicted, verdicts))


def _judge(label: Any, score: Any, sample_weight: Any, options: Options) -> Verdict:
    """The verdict on a class against the rest."""
    above, top, loss = options.get("above"), options.get("top"), choose_test(options)
    if above is None and top is None:
        cells = CellSums.from_arrays(label, score, sample_weight)
    else:
        cells = CellSums.of(choose_region(Tally.from_arrays(label, score, sample_weight), above, top)[0])
    return judge(cells, loss.significance, loss.tolerance)
