"""Scorers and a display for scikit-learn, which is imported only for their metadata routing.

A scorer returns what is better when larger, since scikit-learn maximises: the negated value of an error.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from truecal._errors import option
from truecal.analysis import evaluate
from truecal.metrics import METRICS, Measure, as_error, check_metric, compute, compute_any
from truecal.plot import DiagramAxes, Scale, test_reliability
from truecal.results import Result


@dataclass(frozen=True, slots=True)
class CalibrationScorer:
    """The negated value of a metric for a fitted classifier's `predict_proba`.

    With two classes the second of `classes_` is the positive one unless `pos_label` names another; with more, the
    most probable class is evaluated. `weight` is what scikit-learn's metadata routing passes as `sample_weight`;
    `set_score_request` sets it.

    Examples
    --------
    >>> from truecal import Metric, Uniform
    >>> from truecal.metrics import Gap
    >>> from truecal.sklearn import CalibrationScorer
    >>> scorer = CalibrationScorer(Metric(Uniform(15), Gap()))

    Scorers of named metrics exist already:

    >>> from sklearn.dummy import DummyClassifier
    >>> from truecal.sklearn import ace_scorer, ece_scorer, ltce_scorer, mce_scorer, rmsce_scorer, tce_scorer
    >>> x, y = [[0]] * 200, [0, 1] * 100
    >>> model = DummyClassifier(strategy="prior").fit(x[:99], [0] * 66 + [1] * 33)  # predicts 1 / 3
    >>> [scorer(model, x, y) for scorer in (ltce_scorer, tce_scorer)]
    [-100.0, -100.0]
    >>> [round(scorer(model, x, y), 3) for scorer in (ece_scorer, ace_scorer, mce_scorer, rmsce_scorer)]
    [-0.167, -0.167, -0.167, -0.167]
    """

    metric: Measure
    pos_label: Any = None
    weight: bool | str | None = None

    def __post_init__(self) -> None:
        check_metric(self.metric)

    def __call__(self, estimator: Any, X: Any, y_true: Any, sample_weight: Any = None) -> float:
        probabilities, classes = _predict(estimator, X, "A calibration scorer")
        if len(classes) == 1:
            raise ValueError(f"The classifier must know two classes or more; it was fitted on {classes[0]!r} alone.")
        if len(classes) != 2:
            value = compute_any(self.metric, y_true, probabilities, sample_weight, None, "top-label", classes)
            return 0.0 - as_error(self.metric, value)
        positive = _find_positive(classes, self.pos_label)
        score = probabilities[:, classes.index(positive)]
        value = compute(self.metric, y_true, score, pos_label=positive, sample_weight=sample_weight)
        return 0.0 - as_error(self.metric, value)

    def set_score_request(self, *, sample_weight: bool | str | None) -> CalibrationScorer:
        """Return a scorer that requests weights from scikit-learn's metadata routing.

        Parameters
        ----------
        sample_weight : bool, str or None
            True to request `sample_weight`, False to ignore it, None to raise an error if it is passed, or the name
            under which it is passed.

        Examples
        --------
        >>> from truecal.sklearn import tce_scorer
        >>> tce_scorer.set_score_request(sample_weight=True).weight
        True
        """
        return replace(self, weight=sample_weight)

    def get_metadata_routing(self) -> Any:
        """Return what the scorer requests from scikit-learn's metadata routing."""
        from sklearn.utils.metadata_routing import MetadataRequest

        request = MetadataRequest(owner=self)
        request.score.add_request(param="sample_weight", alias=self.weight)
        return request


ltce_scorer = CalibrationScorer(METRICS["ltce"])
"""The negated Local TCE."""
tce_scorer = CalibrationScorer(METRICS["tce"])
"""The negated TCE."""
ece_scorer = CalibrationScorer(METRICS["ece"])
"""The negated ECE."""
ace_scorer = CalibrationScorer(METRICS["ace"])
"""The negated ACE."""
mce_scorer = CalibrationScorer(METRICS["mce"])
"""The negated MCE."""
rmsce_scorer = CalibrationScorer(METRICS["rmsce"])
"""The negated RMSCE."""


class TestBasedReliabilityDisplay:
    """A test-based reliability diagram that keeps its numbers.

    `from_predictions` and `from_estimator` make it; `plot` draws it again.

    Attributes
    ----------
    result_ : Result
        The numbers.
    name : str or None
        The model's name.
    axes_, ax_, figure_
        The axes drawn last, the axes of the diagram itself, and its figure.

    Examples
    --------
    >>> from truecal.sklearn import TestBasedReliabilityDisplay
    >>> y, p = [0, 1, 1, 0], [0.1, 0.7, 0.9, 0.3]
    >>> display = TestBasedReliabilityDisplay.from_predictions(y, p, name="mine")
    """

    __test__ = False  # tells pytest that this is not a test

    def __init__(self, result: Result, *, name: str | None = None) -> None:
        self.result_, self.name = result, name

    def plot(
        self, ax: Any = None, *, metric: str | None = None, scale: Scale | None = None
    ) -> TestBasedReliabilityDisplay:
        """Draw the diagram in the given axes or in a new figure."""
        self.axes_: DiagramAxes = test_reliability(self.result_, metric, scale=scale, title=self.name, ax=ax)
        self.ax_ = self.axes_.main
        self.figure_ = self.ax_.get_figure(root=True)
        return self

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_prob: Any,
        *,
        name: str | None = None,
        ax: Any = None,
        scale: Scale | None = None,
        **options: Any,
    ) -> TestBasedReliabilityDisplay:
        """Evaluate predictions and draw the diagram; other options are those of `evaluate`."""
        return cls(evaluate(y_true, y_prob, **options), name=name).plot(ax, scale=scale)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        name: str | None = None,
        ax: Any = None,
        scale: Scale | None = None,
        pos_label: Any = None,
        **options: Any,
    ) -> TestBasedReliabilityDisplay:
        """Evaluate a fitted classifier of two classes and draw the diagram.

        The second of its `classes_` is the positive one unless `pos_label` names the other.
        """
        probabilities, classes = _predict(estimator, X, "A reliability diagram")
        if len(classes) != 2:
            raise ValueError(
                f"The classifier must know two classes; it knows {len(classes)}.\n\nHint: for several classes draw the "
                "result of `evaluate(y, estimator.predict_proba(X))`."
            )
        positive = _find_positive(classes, pos_label)
        return cls.from_predictions(
            y,
            probabilities[:, classes.index(positive)],
            name=type(estimator).__name__ if name is None else name,
            ax=ax,
            scale=scale,
            pos_label=positive,
            **options,
        )


def _predict(estimator: Any, X: Any, who: str) -> tuple[Any, list[Any]]:
    """Return the probabilities of a fitted classifier, with a column for each class, and the classes."""
    if not hasattr(estimator, "predict_proba"):
        raise TypeError(f"{who} needs probabilities; {type(estimator).__name__} has no `predict_proba`.")
    return np.asarray(estimator.predict_proba(X)), np.asarray(estimator.classes_).tolist()


def _find_positive(classes: list[Any], pos_label: Any) -> Any:
    """Return the positive class: the second of two unless another is named."""
    positive = classes[1] if pos_label is None else pos_label
    if positive not in classes:
        raise ValueError(f"{option('pos_label')} must be one of the classes {classes!r}; it is {positive!r}.")
    return positive
