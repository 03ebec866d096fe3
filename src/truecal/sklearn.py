"""Scorers and a display for scikit-learn, which is imported only where its metadata routing asks.

A scorer returns the negated error, since scikit-learn maximises.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from truecal._errors import option
from truecal.analysis import evaluate
from truecal.metrics import METRICS, Metric, check_metric, compute, compute_any
from truecal.plot import DiagramAxes, Scale, test_based
from truecal.results import Result


@dataclass(frozen=True, slots=True)
class CalibrationScorer:
    """The negated value of a metric for a fitted classifier's `predict_proba`.

    With two classes the second of `classes_` is the positive one unless `pos_label` names another; with more, the
    average over each class against the rest. `weight` says what scikit-learn's metadata routing hands over as
    `sample_weight`; `set_score_request` sets it.

    Examples
    --------
    >>> from truecal import Metric, Uniform
    >>> from truecal.metrics import Gap
    >>> from truecal.sklearn import CalibrationScorer
    >>> scorer = CalibrationScorer(Metric(Uniform(15), Gap()))
    """

    metric: Metric
    pos_label: Any = None
    weight: bool | str | None = None

    def __post_init__(self) -> None:
        check_metric(self.metric)

    def __call__(self, estimator: Any, X: Any, y_true: Any, sample_weight: Any = None) -> float:
        probabilities, classes = _predict(estimator, X, "A calibration scorer")
        if len(classes) == 1:
            raise ValueError(f"The classifier must know two classes or more; it was fitted on {classes[0]!r} alone.")
        if len(classes) != 2:
            return 0.0 - compute_any(self.metric, y_true, probabilities, sample_weight, None, "classwise", classes)
        positive = _find_positive(classes, self.pos_label)
        score = probabilities[:, classes.index(positive)]
        return 0.0 - compute(self.metric, y_true, score, pos_label=positive, sample_weight=sample_weight)

    def set_score_request(self, *, sample_weight: bool | str | None) -> CalibrationScorer:
        """A scorer that asks scikit-learn's metadata routing for weights.

        Parameters
        ----------
        sample_weight : bool, str or None
            True to be given `sample_weight`, False not to be given it though others are, None to make handing it over
            an error, or the name under which the weights are handed over.

        Examples
        --------
        >>> from truecal.sklearn import tce_scorer
        >>> tce_scorer.set_score_request(sample_weight=True).weight
        True
        """
        return replace(self, weight=sample_weight)

    def get_metadata_routing(self) -> Any:
        """What the scorer asks of scikit-learn's metadata routing."""
        from sklearn.utils.metadata_routing import MetadataRequest

        request = MetadataRequest(owner=self)
        request.score.add_request(param="sample_weight", alias=self.weight)
        return request


ltce_scorer = CalibrationScorer(METRICS["ltce"])
tce_scorer = CalibrationScorer(METRICS["tce"])
ece_scorer = CalibrationScorer(METRICS["ece"])
ace_scorer = CalibrationScorer(METRICS["ace"])
mce_scorer = CalibrationScorer(METRICS["mce"])
rmsce_scorer = CalibrationScorer(METRICS["rmsce"])


class TestBasedReliabilityDisplay:
    """A test-based reliability diagram that keeps its numbers.

    Made by `from_predictions` or `from_estimator`; `plot` draws it again.

    Attributes
    ----------
    result_ : Result
        The numbers.
    name : str or None
        The model's name.
    axes_, ax_, figure_
        The three axes drawn last, the diagram's own among them and its figure.

    Examples
    --------
    >>> from truecal.sklearn import TestBasedReliabilityDisplay
    >>> y, p = [0, 1, 1, 0], [0.1, 0.7, 0.9, 0.3]
    >>> display = TestBasedReliabilityDisplay.from_predictions(y, p, name="mine")  # doctest: +SKIP
    """

    __test__ = False  # not a test, whatever pytest thinks of the name

    def __init__(self, result: Result, *, name: str | None = None) -> None:
        self.result_, self.name = result, name

    def plot(
        self, ax: Any = None, *, metric: str | None = None, scale: Scale | None = None
    ) -> TestBasedReliabilityDisplay:
        """Draw it, in the axes given or in a figure of its own."""
        self.axes_: DiagramAxes = test_based(self.result_, metric, scale=scale, title=self.name, ax=ax)
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
        """Evaluate predictions and draw them; the other options are those of `evaluate`."""
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
        """Evaluate a fitted classifier of two classes and draw it; the second of its `classes_` is the positive one
        unless `pos_label` names the other."""
        probabilities, classes = _predict(estimator, X, "A reliability diagram")
        if len(classes) != 2:
            raise ValueError(
                f"The classifier must know two classes; it knows {len(classes)}.\n\nHint: for each class against the "
                "rest draw the results of `evaluate_classes`."
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
    """The probabilities of a fitted classifier, a column for each of its classes, and these."""
    if not hasattr(estimator, "predict_proba"):
        raise TypeError(f"{who} needs probabilities; {type(estimator).__name__} has no `predict_proba`.")
    return np.asarray(estimator.predict_proba(X)), np.asarray(estimator.classes_).tolist()


def _find_positive(classes: list[Any], pos_label: Any) -> Any:
    """The positive one of two classes: the second, unless another is named."""
    positive = classes[1] if pos_label is None else pos_label
    if positive not in classes:
        raise ValueError(f"{option('pos_label')} must be one of the classes {classes!r}; it is {positive!r}.")
    return positive
