"""The recalibrated classifier: scikit-learn's own checks, and what it does to probabilities."""

import pickle

import numpy as np
import pytest

import truecal

pytest.importorskip("sklearn")

from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.estimator_checks import check_estimator

from truecal.sklearn import RecalibratedClassifier


@pytest.fixture
def rows(rng):
    """Four equal columns, which naive Bayes takes for four independent ones."""
    x = np.repeat(rng.normal(size=(3000, 1)), 4, axis=1)
    return x, np.where(rng.random(3000) < 1 / (1 + np.exp(-x[:, 0])), "yes", "no")


# which scikit-learn itself warns of before it refuses infinite labels
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")
def test_it_keeps_the_rules_of_scikit_learn():
    check_estimator(RecalibratedClassifier(LogisticRegression(), kind="logistic", folds=0, cv=2), on_skip=None)


def test_a_frozen_classifier_stays_and_its_probabilities_are_those_of_the_map(rows):
    x, y = rows
    model = GaussianNB().fit(x[:1000], y[:1000])
    recalibrated = RecalibratedClassifier(FrozenEstimator(model)).fit(x[1000:], y[1000:])
    p = model.predict_proba(x[1000:])[:, 1]
    expected = truecal.recalibrate(y[1000:], p, pos_label="yes")
    assert recalibrated.recalibration_ == expected
    assert recalibrated.recalibration_.helped
    np.testing.assert_array_equal(recalibrated.predict_proba(x)[:, 1], expected.apply(model.predict_proba(x)[:, 1]))
    assert recalibrated.predict(x[:5]).tolist() == [
        "yes" if q > 0.5 else "no" for q in recalibrated.predict_proba(x[:5])[:, 1]
    ]
    again = pickle.loads(pickle.dumps(recalibrated))
    np.testing.assert_array_equal(again.predict_proba(x), recalibrated.predict_proba(x))


def test_a_classifier_that_is_not_fitted_learns_from_rows_that_were_left_out(rows):
    x, y = rows
    recalibrated = RecalibratedClassifier(GaussianNB(), kind="logistic").fit(x, y)
    assert recalibrated.estimator_.predict_proba(x).tolist() == GaussianNB().fit(x, y).predict_proba(x).tolist()
    before, after = (
        truecal.evaluate(y, each.predict_proba(x)[:, 1], pos_label="yes")
        for each in (recalibrated.estimator_, recalibrated)
    )
    assert (before.verdict.status, after.verdict.status) == ("miscalibrated", "consistent")


def test_what_does_not_fit_is_refused(rows):
    x, y = rows
    with pytest.raises(NotFittedError):
        RecalibratedClassifier(FrozenEstimator(GaussianNB())).fit(x, y)
    with pytest.raises(ValueError, match="Only binary classification is supported"):
        RecalibratedClassifier(GaussianNB()).fit(x, np.arange(3000) % 3)
    with pytest.raises(ValueError, match="one class has 1 of 3,000"):
        RecalibratedClassifier(GaussianNB()).fit(x, np.arange(3000) == 0)
    with pytest.raises(AttributeError, match="has no attribute 'Recalibrated'"):
        _ = truecal.sklearn.Recalibrated
