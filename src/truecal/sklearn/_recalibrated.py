"""A scikit-learn classifier with recalibrated probabilities."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.utils import get_tags
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, column_or_1d

from truecal._options import KindOptions, MapKind, RecalibrateOptions, declare
from truecal.analysis import recalibrate


@declare(first=(KindOptions, RecalibrateOptions))
class RecalibratedClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier of two classes whose probabilities are recalibrated by `truecal.recalibrate`.

    Parameters
    ----------
    estimator : classifier
        A classifier with `predict_proba`. If it is fitted and in scikit-learn's `FrozenEstimator`, it is not changed,
        and `fit` takes rows that it was not fitted to. Any other is cloned: the map is fitted to out-of-fold
        predictions of `cv` folds, and the classifier then to all rows.
    cv : int
        The folds of the out-of-fold predictions of a classifier that is not frozen.

    Attributes
    ----------
    recalibration_ : Recalibration
        The calibration map and its held-out validation.
    estimator_ : classifier
        The classifier whose probabilities are recalibrated.
    classes_ : array
        The two classes; probabilities of the second are recalibrated.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.frozen import FrozenEstimator
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from truecal.sklearn import RecalibratedClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = np.repeat(rng.normal(size=(6000, 1)), 4, axis=1)  # naive Bayes takes four copies for four columns
    >>> y = rng.random(6000) < 1 / (1 + np.exp(-X[:, 0]))
    >>> model = GaussianNB().fit(X[:2000], y[:2000])
    >>> recalibrated = RecalibratedClassifier(FrozenEstimator(model)).fit(X[2000:], y[2000:])
    >>> recalibrated.recalibration_.kind, recalibrated.recalibration_.status
    ('logistic', 'helps')
    """

    def __init__(
        self,
        estimator: Any,
        *,
        kind: MapKind | Literal["auto"] = "auto",
        cv: int = 5,
        folds: int = 5,
        random_state: int = 0,
    ) -> None:
        self.estimator = estimator
        self.kind = kind
        self.cv = cv
        self.folds = folds
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> RecalibratedClassifier:
        """Fit the map, and the classifier unless it is frozen."""
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        kind = type_of_target(y)
        if kind != "binary":
            raise ValueError(f"Only binary classification is supported. The type of the target is {kind}.")
        if isinstance(self.estimator, FrozenEstimator):
            check_is_fitted(self.estimator)
            self.estimator_ = self.estimator
            self.classes_ = np.asarray(self.estimator.classes_)
            p = self.estimator.predict_proba(X)
        else:
            self.classes_, counts = np.unique(y, return_counts=True)
            if len(counts) < 2 or counts.min() < 2:
                raise ValueError(f"Each class must have two rows or more; one class has {counts.min()} of {len(y):,}.")
            folds = StratifiedKFold(min(self.cv, int(counts.min())), shuffle=True, random_state=self.random_state)
            self.estimator_ = clone(self.estimator).fit(X, y)
            p = cross_val_predict(clone(self.estimator), X, y, cv=folds, method="predict_proba")
        if len(self.classes_) != 2:
            raise ValueError(f"The classifier must know two classes; it knows {len(self.classes_)}.")
        self.recalibration_ = recalibrate(
            y == self.classes_[1], p[:, 1], self.kind, folds=self.folds, random_state=self.random_state
        )
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        return self

    def predict_proba(self, X: Any) -> Any:
        """Return the recalibrated probabilities, a column for each class."""
        check_is_fitted(self)
        p = self.recalibration_.apply(self.estimator_.predict_proba(X)[:, 1])
        return np.stack([1 - p, p], axis=1)

    def predict(self, X: Any) -> Any:
        """Return the more probable class."""
        index = self.predict_proba(X).argmax(axis=1)
        return self.classes_[index]

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        return tags
