"""Scorers for scikit-learn's `cross_val_score`, `GridSearchCV` and friends; scikit-learn itself is not imported.

A scorer returns the negated error, since scikit-learn maximises.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from truecal._errors import option
from truecal.metrics import METRICS, Metric, check_metric, compute, compute_any


@dataclass(frozen=True, slots=True)
class CalibrationScorer:
    """The negated value of a metric for a fitted classifier's `predict_proba`.

    With two classes the second of `classes_` is the positive one unless `pos_label` names another; with more, the
    average over each class against the rest. To route weights through scikit-learn's metadata, wrap the function:
    `make_scorer(truecal.tce, response_method="predict_proba", greater_is_better=False)`.

    Examples
    --------
    >>> from truecal import Metric, Uniform
    >>> from truecal.metrics import Gap
    >>> from truecal.sklearn import CalibrationScorer
    >>> scorer = CalibrationScorer(Metric(Uniform(15), Gap()))
    """

    metric: Metric
    pos_label: Any = None

    def __post_init__(self) -> None:
        check_metric(self.metric)

    def __call__(self, estimator: Any, X: Any, y_true: Any, sample_weight: Any = None) -> float:
        if not hasattr(estimator, "predict_proba"):
            raise TypeError(
                f"A calibration scorer needs probabilities; {type(estimator).__name__} has no `predict_proba`."
            )
        probabilities = np.asarray(estimator.predict_proba(X))
        classes = np.asarray(estimator.classes_).tolist()
        if len(classes) == 1:
            raise ValueError(f"The classifier must know two classes or more; it was fitted on {classes[0]!r} alone.")
        if len(classes) != 2:
            return 0.0 - compute_any(self.metric, y_true, probabilities, sample_weight, None, "classwise", classes)
        positive = classes[1] if self.pos_label is None else self.pos_label
        if positive not in classes:
            raise ValueError(f"{option('pos_label')} must be one of the classes {classes!r}; it is {positive!r}.")
        score = probabilities[:, classes.index(positive)]
        return 0.0 - compute(self.metric, y_true, score, pos_label=positive, sample_weight=sample_weight)


tce_scorer = CalibrationScorer(METRICS["tce"])
ece_scorer = CalibrationScorer(METRICS["ece"])
ace_scorer = CalibrationScorer(METRICS["ace"])
mce_scorer = CalibrationScorer(METRICS["mce"])
rmsce_scorer = CalibrationScorer(METRICS["rmsce"])
