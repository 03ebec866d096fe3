"""What must not matter, asserted for every metric x binning x test at once."""

import itertools

import numpy as np
import pytest

import truecal
from truecal import Binomial, BoundedIsotonic, Metric, Quantile, Relative, Tally, Uniform
from truecal.data import sort_rows
from truecal.metrics import (
    BayesFactor,
    Edges,
    Gap,
    Isotonic,
    LikelihoodRatio,
    Max,
    Mean,
    MidP,
    PNorm,
    PointwiseTest,
    ScoreTest,
    StudentT,
    Windows,
    WindowTest,
)

BINNINGS = [Uniform(8), Quantile(6), Isotonic(), BoundedIsotonic(), BoundedIsotonic(20, 60), Edges([0, 0.05, 0.2, 1])]
TESTS = [Binomial(), MidP(), ScoreTest(), LikelihoodRatio(), StudentT(), BayesFactor()]
LOSSES = [Gap(), *(PointwiseTest(test) for test in TESTS), PointwiseTest(Binomial(), 0.01, Relative(0.1))]
REFUTATIONS = [WindowTest(), WindowTest(0.2, Relative(0.1)), WindowTest(weight="information")]
NORMS = [Mean(), PNorm(2), Max()]
METRICS = [
    Metric(*parts)
    for some in (
        (BINNINGS, LOSSES),
        (BINNINGS, LOSSES[:2], NORMS[1:]),  # a norm sees n and the loss of each bin, whatever the test
        ([Windows()], REFUTATIONS, NORMS),
    )
    for parts in itertools.product(*some)
]


def draw(kind, rng, size=300):
    p = {
        "distinct": lambda: rng.beta(0.5, 4, size),
        "tied": lambda: np.round(rng.beta(0.5, 4, size), 2),
        "ends": lambda: rng.choice([0.0, 1e-9, 0.3, 0.5, 1.0], size),
        "single": lambda: rng.random(np.float32(size).astype(int)).astype(np.float32).astype(float),
    }[kind]()
    return (rng.random(size) < 0.2 + 0.6 * p).astype(int), p


@pytest.fixture(params=["distinct", "tied", "ends", "single"])
def data(request, rng):
    return draw(request.param, rng)


def values(tally):
    return [metric(tally) for metric in METRICS]


@pytest.mark.slow
def test_row_order_is_irrelevant(data, rng):
    y, p = data
    expected = values(Tally.from_arrays(y, p))
    order = rng.permutation(len(y))
    assert values(Tally.from_arrays(y[order], p[order])) == expected
    assert values(sort_rows(y[order], p[order])) == expected
    shortest = [truecal.metrics.compute(metric, y[order], p[order]) for metric in METRICS]
    assert shortest == expected


def test_parts_add_up_to_the_whole(data):
    y, p = data
    whole = Tally.from_arrays(y, p)
    parts = Tally.from_arrays(y[:70], p[:70]) + Tally.from_arrays(y[70:], p[70:])
    assert parts == whole
    assert values(parts) == values(whole)


@pytest.mark.slow
def test_weights_are_repetitions(data, rng):
    y, p = data
    weight = rng.integers(0, 4, len(y))
    repeated = np.repeat(y, weight), np.repeat(p, weight)
    weighted = [truecal.metrics.compute(metric, y, p, sample_weight=weight) for metric in METRICS]
    assert weighted == [truecal.metrics.compute(metric, *repeated) for metric in METRICS]


@pytest.mark.slow
def test_float32_equals_its_float64_image(data):
    y, p = data
    narrow = p.astype(np.float32)
    wide = narrow.astype(np.float64)
    for metric in METRICS:
        assert truecal.metrics.compute(metric, y, narrow) == truecal.metrics.compute(metric, y, wide)


def test_label_type_is_irrelevant(data):
    y, p = data
    for metric in METRICS[::7]:
        expected = truecal.metrics.compute(metric, y, p)
        for kind in (bool, np.uint8, np.int16, np.float32, np.float64):
            assert truecal.metrics.compute(metric, y.astype(kind), p) == expected
        words = np.where(y == 1, "yes", "no")
        assert truecal.metrics.compute(metric, words, p, pos_label="yes") == expected


def test_callers_arrays_stay_as_they_are(data):
    y, p = data
    copies = y.copy(), p.copy()
    p.flags.writeable = y.flags.writeable = False
    for metric in METRICS:
        truecal.metrics.compute(metric, y, p)
    truecal.evaluate(y, p, sample_weight=np.ones(len(y), int))
    np.testing.assert_array_equal(y, copies[0])
    np.testing.assert_array_equal(p, copies[1])


def test_values_lie_in_their_range(data):
    y, p = data
    for metric in METRICS:
        value = truecal.metrics.compute(metric, y, p)
        assert 0 <= value <= (1 if isinstance(metric.loss, Gap) else 100)


def test_opposite_question_has_the_same_answer(data):
    """Predicting the other class with 1 - p: the same bins mirrored, so symmetric parts give the same value."""
    y, p = data
    p = np.round(p * 2**20) / 2**20  # so that 1 - p is exact
    for loss in (Gap(), PointwiseTest(Binomial()), PointwiseTest(ScoreTest())):
        for norm in (Mean(), Max()):
            metric = Metric(Isotonic(), loss, norm)
            mirrored = truecal.metrics.compute(metric, 1 - y, 1 - p)
            assert mirrored == pytest.approx(truecal.metrics.compute(metric, y, p), abs=1e-9)


@pytest.mark.slow
def test_more_significance_never_rejects_less(data):
    y, p = data
    tally = Tally.from_arrays(y, p)
    for scheme, test in itertools.product(BINNINGS, TESTS):
        found = [Metric(scheme, PointwiseTest(test, a))(tally) for a in (1e-4, 0.01, 0.05, 0.3)]
        assert found == sorted(found)


@pytest.mark.slow
def test_more_tolerance_never_rejects_more(data):
    y, p = data
    tally = Tally.from_arrays(y, p)
    for scheme, test in itertools.product(BINNINGS, TESTS):
        found = [Metric(scheme, PointwiseTest(test, 0.05, Relative(t)))(tally) for t in (0, 0.01, 0.1, 0.5)]
        assert found == sorted(found, reverse=True)
