import numpy as np
import pytest
from conftest import missing

import truecal
from truecal import words
from truecal.sklearn import TestBasedReliabilityDisplay

try:
    import matplotlib
    import matplotlib.pyplot as plt
except ImportError:
    missing("matplotlib is not installed")
matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


@pytest.fixture
def data(rng):
    p = rng.beta(0.5, 5, 2000)
    return (rng.random(2000) < p).astype(int), p


def test_from_predictions_keeps_the_numbers(data):
    display = TestBasedReliabilityDisplay.from_predictions(*data, name="mine", metrics=["tce"], significance=0.01)
    assert display.result_ == truecal.evaluate(*data, metrics=["tce"], significance=0.01)
    assert display.ax_.get_title(loc="left").startswith(f"mine\n{words.format_status(display.result_.verdict)}   TCE")
    assert display.figure_ is display.ax_.get_figure(root=True)


def test_it_draws_into_given_axes(data):
    figure, (left, right) = plt.subplots(1, 2)
    display = TestBasedReliabilityDisplay.from_predictions(*data, ax=left, scale="logit")
    assert display.figure_ is figure
    assert display.ax_.get_yscale() == "logit"
    assert display.plot(ax=right, scale="linear") is display
    assert display.ax_.get_yscale() == "linear"
    assert len(left.child_axes) == len(right.child_axes) == 3


def test_from_estimator(need, rng):
    linear_model = need("sklearn.linear_model")
    x = rng.normal(size=(2000, 2))
    y = np.where(rng.random(2000) < 1 / (1 + np.exp(-x[:, 0])), "yes", "no")
    model = linear_model.LogisticRegression().fit(x, y)
    display = TestBasedReliabilityDisplay.from_estimator(model, x, y, metrics=["tce"])
    assert display.name == "LogisticRegression"
    assert display.result_["tce"] == truecal.tce(y, model.predict_proba(x)[:, 1], pos_label="yes")
    other = TestBasedReliabilityDisplay.from_estimator(model, x, y, pos_label="no", metrics=["tce"])
    assert other.result_.positives == (y == "no").sum()
    with pytest.raises(ValueError, match="`pos_label` must be one of the classes"):
        TestBasedReliabilityDisplay.from_estimator(model, x, y, pos_label="maybe")
    with pytest.raises(TypeError, match="LinearRegression has no `predict_proba`"):
        TestBasedReliabilityDisplay.from_estimator(linear_model.LinearRegression(), x, y)
    three = linear_model.LogisticRegression().fit(x, rng.integers(0, 3, 2000))
    with pytest.raises(ValueError, match="it knows 3"):
        TestBasedReliabilityDisplay.from_estimator(three, x, y)


def test_a_misspelt_option_is_refused(data):
    with pytest.raises(TypeError, match="signficance"):
        TestBasedReliabilityDisplay.from_predictions(*data, signficance=0.1)
