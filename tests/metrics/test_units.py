"""A loss knows its unit and its words; whoever brings one of their own gets intervals, text and axes in it."""

import math
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import truecal
from truecal import Binomial, Metric, Quantile, Relative, Tally, Uniform
from truecal.metrics import (
    METRICS,
    PERCENT,
    PROBABILITY,
    BayesFactor,
    Edges,
    Gap,
    Max,
    PNorm,
    PointwiseTest,
    Unit,
)


class PlainGap:
    """The gap times 100, with nothing said of its unit."""

    def __call__(self, bins):
        return 100 * Gap()(bins)


class GapInCents(PlainGap):
    unit = Unit("cents", " ct", 100.0, 1)
    words = "gap between rate and prediction"


@pytest.fixture
def data(rng):
    p = rng.beta(2, 2, 500)
    return rng.random(500) < np.clip(p + 0.2, 0, 1), p


def test_an_interval_of_a_loss_of_your_own_holds_its_value(data):
    """It was cut at 1, as if every loss but that of TCE were a probability: 18.75 to 1.0 around 20.18."""
    metrics = {"gap": Metric(Uniform(), Gap()), "plain": Metric(Uniform(), PlainGap())}
    metrics |= {"cents": Metric(Uniform(), GapInCents())}
    result = truecal.evaluate(*data, metrics=metrics, resamples=99, random_state=0)
    gap = result.intervals["gap"]
    for name in ("plain", "cents"):
        span = result.intervals[name]
        assert result[name] > 1
        assert span.low < result[name] < span.high
        assert (span.low, span.high) == pytest.approx((100 * gap.low, 100 * gap.high))
    assert f"  cents {result.format('cents'):>16}  gap between rate and prediction; 10 equal-width bins" in repr(result)
    assert f"  plain {result['plain']:>16.5f}  PlainGap; 10 equal-width bins" in repr(result)
    assert f"95% CI {result.intervals['cents'].low:.1f}–" in repr(result)


def test_intervals_end_at_the_top_of_the_unit_and_nowhere_without_one():
    """Three of four positive at 0.02: a gap of 0.73, with a standard error of about 0.2 that reaches beyond 1."""
    metrics = {"gap": Metric(Uniform(), Gap()), "cents": Metric(Uniform(), GapInCents())}
    metrics |= {"plain": Metric(Uniform(), PlainGap())}
    found = truecal.evaluate([1, 1, 1, 0], [0.02] * 4, metrics=metrics, resamples=199, random_state=0).intervals
    assert (found["gap"].high, found["cents"].high) == (1, 100)
    assert found["plain"].high > 100
    assert found["plain"].low == found["cents"].low


def test_a_metric_speaks_in_its_unit():
    assert (METRICS["tce"].unit, METRICS["ece"].unit) == (PERCENT, PROBABILITY)
    assert METRICS["tce"].format(12.345) == "12.35%"
    assert METRICS["ece"].format(0.012345) == "0.01235"
    cents, plain = Metric(Uniform(), GapInCents()), Metric(Quantile(3), PlainGap(), Max())
    assert cents.format(12.345) == "12.3 ct"
    assert plain.format(12.345) == "12.34500"
    assert (cents.words, plain.words) == ("gap between rate and prediction", "largest PlainGap")
    assert (cents.axis, plain.axis) == ("gap between rate and prediction (ct)", "largest PlainGap")
    assert METRICS["rmsce"].axis == METRICS["ece"].axis != METRICS["mce"].axis  # averages share an axis
    assert (METRICS["tce"].axis, METRICS["ece"].axis) == ("rejected predictions (%)", "gap between rate and prediction")
    assert cents.meaning == "gap between rate and prediction, in cents; 0 is best, 100 worst"
    assert plain.meaning == "largest PlainGap; 0 is best"
    assert METRICS["ece"].meaning == "gap between rate and prediction, a probability; 0 is best, 1 worst"
    message = "% of predictions rejected (Binomial test at 0.05); 0 is best, 100 worst"
    assert METRICS["tce"].meaning == message


def test_parts_have_words():
    metric = Metric(Uniform(7), Gap(), PNorm(2))
    assert (metric.words, metric.bins) == ("root mean square gap between rate and prediction", "7 equal-width bins")
    assert Metric(Edges([0, 0.5, 1]), Gap(), PNorm(3)).words == "3-norm of the gap between rate and prediction"
    bins = [METRICS[name].bins for name in ("tce", "tce_q", "tce_v")]
    assert bins == ["PAVA-BC bins", "10 equal-size bins", "PAVA bins"]
    assert Metric(Edges([0, 0.5, 1]), Gap()).bins == "2 bins of given edges"
    assert PointwiseTest(Binomial(), 0.01, Relative(0.2)).test_words == "Binomial test at 0.01, relative tolerance 0.2"
    assert PointwiseTest(BayesFactor(threshold=20.0), tolerance=0.1).test_words == (
        "BayesFactor test at factor 20, absolute tolerance 0.1"
    )
    assert (METRICS["mce_q"].name, metric.name) == ("mce_q", "value")


def test_a_norm_of_your_own_is_named_by_its_class():
    @dataclass(frozen=True)
    class Median:
        def __call__(self, n, loss):
            return float(np.median(loss))

    class Odd:
        def partition(self, data):
            return Uniform(3).partition(data)

    assert Metric(Odd(), Gap(), Median()).words == "Median of gap between rate and prediction"
    assert Metric(Odd(), Gap(), Median()).bins == "Odd bins"


def test_the_test_of_a_metric():
    own = PointwiseTest(significance=0.2)
    assert METRICS["tce"].rejection == PointwiseTest()
    assert METRICS["ece"].rejection is None
    assert METRICS["tce"].with_rejection(own) == Metric(METRICS["tce"].binning, own)
    assert METRICS["ece"].with_rejection(own) is METRICS["ece"]


@pytest.mark.parametrize(
    ("give", "error", "match"),
    [
        (
            lambda n: np.full(len(n), -0.1),
            ValueError,
            "between 0 and the top of its unit, 100; Bad gives -0.1 for bin 1",
        ),
        (lambda n: np.full(len(n), 100.5), ValueError, "Bad gives 100.5 for bin 1"),
        (lambda n: np.full(len(n), np.nan), ValueError, "Bad gives nan for bin 1"),
        (lambda n: np.zeros(len(n) + 1), TypeError, r"an array of 3 numbers, one for each bin; Bad gives shape \(4,\)"),
        (lambda n: 0.5, TypeError, "Bad gives float"),
        (lambda n: [0.5] * len(n), TypeError, "Bad gives list"),
        (lambda n: np.array(["a"] * len(n)), TypeError, "an array of 3 numbers"),
    ],
)
def test_a_loss_that_gives_no_loss_is_refused(give, error, match):
    class Bad:
        unit = PERCENT

        def __call__(self, bins):
            return give(bins.partition.n)

    with pytest.raises(error, match=match):
        Metric(Uniform(3), Bad())(Tally.from_arrays([0, 1], [0.1, 0.2]))


def test_what_a_loss_says_of_empty_bins_counts_for_nothing():
    class Rough:
        def __call__(self, bins):
            return np.where(bins.partition.n > 0, 0.5, np.nan)

    class OwnMean:
        def __call__(self, n, loss):
            return float(np.average(loss[n > 0], weights=n[n > 0]))

    assert Metric(Uniform(3), Rough(), OwnMean())(Tally.from_arrays([0, 1], [0.1, 0.2])) == 0.5


def test_bad_units_and_words_are_refused():
    class NoUnit(PlainGap):
        unit = "percent"

    class NoWords(PlainGap):
        words = 3

    with pytest.raises(TypeError, match=r'`unit` of a loss must be a `Unit` such as `Unit\("cents"\)`; it is .percent'):
        Metric(Uniform(), NoUnit())
    with pytest.raises(TypeError, match="`words` of a loss must be text; it is 3"):
        Metric(Uniform(), NoWords())
    for options, match in (
        ({"top": 0}, "`top` of a unit must be a number above 0; it is 0"),
        ({"top": math.nan}, "`top` of a unit"),
        ({"top": "1"}, "`top` of a unit"),
        ({"digits": -1}, "`digits` of a unit must be a whole number, 0 or more; it is -1"),
        ({"digits": True}, "`digits` of a unit"),
    ):
        with pytest.raises(ValueError, match=match):
            Unit(**options)
    with pytest.raises(TypeError, match="`symbol` of a unit must be text"):
        Unit(symbol=None)


def test_nobody_outside_metrics_asks_for_the_type_of_a_loss():
    root = Path(truecal.__file__).parent
    asks = re.compile(r"isinstance\([^)]*Rejection")
    found = [path for path in root.rglob("*.py") if path.parent.name != "metrics" and asks.search(path.read_text())]
    assert found == []
