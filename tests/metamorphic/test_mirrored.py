"""Predicting the other label with 1 - p is the same model: the same evidence, in the other direction."""

import math

import numpy as np
import pytest
from drawn import Rows, draw, share

pytestmark = pytest.mark.slow
OTHER = {"under-predicts": "over-predicts", "over-predicts": "under-predicts"}
SYMMETRIC = ("total", "cox", "cumulative", "odds_ratio")  # tests that no cuts of the scores enter
# 1 - p is exact, but sums of it, and logarithms, are rounded elsewhere
CLOSE = {"rel": 1e-6, "abs": 1e-9}


def mirror(rows):
    """The same rows with the labels exchanged, predictions and what is known of the labels too."""
    options = dict(rows.options)
    if "sampling" in options:
        options["sampling"] = options["sampling"].mirrored
    return Rows(rows.columns | {"y": 1 - rows.columns["y"], "p": 1 - rows.columns["p"]}, options)


@share(0.06)
def test_the_other_label_has_the_same_evidence_in_the_other_direction(seed):
    rows = draw(seed, dyadic=True)
    one, other = (each.evaluate(["brier", "log_loss", "slope", "intercept"]) for each in (rows, mirror(rows)))
    a, b = one.verdict, other.verdict
    for name in SYMMETRIC:
        assert a.tests.get(name, 1.0) == pytest.approx(b.tests.get(name, 1.0), **CLOSE)
    assert a.tests.keys() == b.tests.keys()
    assert a.contradicted == b.contradicted
    assert a.detectable == pytest.approx(b.detectable, **CLOSE)
    if a.clusters is None:  # else a fifth of the information is counted from the lowest score
        assert a.detectable_above == pytest.approx(b.detectable_below, **CLOSE)
    # scans cut scores into pieces from the lowest on, so that p-values may lie on two sides of the level
    rejected = a.p_value <= a.significance
    assert a.status == b.status or rejected != (b.p_value <= b.significance)
    assert OTHER.get(a.total_direction) == b.total_direction
    assert a.slope_direction == b.slope_direction
    assert a.design_effect == pytest.approx(b.design_effect, **CLOSE)
    for name in ("brier", "log_loss", "slope"):
        assert one[name] == pytest.approx(other[name], nan_ok=True, **CLOSE)
    assert one["intercept"] == pytest.approx(-other["intercept"], nan_ok=True, **CLOSE)


@share(0.025)
def test_observed_and_expected_of_the_other_label_are_those_of_the_negatives(seed):
    rows = draw(seed, dyadic=True)
    a, b = (each.evaluate(["ece"]).verdict for each in (rows, mirror(rows)))
    size = a.expected + b.expected  # rows of the population
    if a.observed > 0 and b.observed > 0:  # with label noise estimates end at 0
        assert a.observed + b.observed == pytest.approx(size, rel=1e-9)
    if "sampling" not in rows.options:
        assert size == pytest.approx(a.n, rel=1e-12)
        assert a.expected == pytest.approx(float(np.dot(rows.columns["p"], rows.columns.get("n", np.ones(len(rows))))))
    factor, inverse = a.odds_ratio, b.odds_ratio
    if math.isfinite(factor.value) and factor.value > 0:
        assert factor.value * inverse.value == pytest.approx(1, rel=1e-6)
