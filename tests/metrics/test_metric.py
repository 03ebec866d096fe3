import math

import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import truecal
from truecal import BoundedIsotonic, Metric, Quantile, Tally, Uniform
from truecal.metrics import Edges, Gap, Isotonic, Max, Mean, PNorm, PointwiseTest

rows = st.lists(st.tuples(st.sampled_from([i / 30 for i in range(31)]), st.booleans()), min_size=1, max_size=60)


def split(pairs):
    return np.array([y for _, y in pairs], int), np.array([p for p, _ in pairs])


def scipy_rejects(k, n, p):
    return stats.binomtest(k, n, p).pvalue <= 0.05


def bins_of(scheme, y, p):
    if isinstance(scheme, Uniform):
        return oracle.bins_of_rows(p, np.arange(scheme.n_bins + 1) / scheme.n_bins)
    if isinstance(scheme, Quantile):
        return oracle.quantile_bin_of_rows(p, scheme.n_bins)
    if isinstance(scheme, Isotonic):
        found = oracle.grouped_pava_bc(oracle.group(p, y), 0, len(y))
    else:
        found = oracle.best_pava_bc(oracle.group(p, y), *scheme.bounds(len(y)))
    sizes = [n for _, n in found]
    order = np.argsort(p, kind="stable")
    bin_of = np.empty(len(y), int)
    bin_of[order] = np.repeat(np.arange(len(sizes)), sizes)
    return bin_of


NORMS = {Mean(): 1, PNorm(2): 2, PNorm(3): 3, Max(): "max"}


@pytest.mark.slow
@given(rows, st.sampled_from([Uniform(7), Quantile(4), Isotonic(), BoundedIsotonic()]), st.sampled_from(list(NORMS)))
@settings(max_examples=300)
def test_gap_family_equals_the_oracle(pairs, scheme, norm):
    y, p = split(pairs)
    expected = oracle.metric(p, y, bins_of(scheme, y, p), oracle.gap_loss, NORMS[norm])
    assert Metric(scheme, Gap(), norm)(Tally.from_arrays(y, p)) == pytest.approx(expected, abs=1e-12)


@given(rows, st.sampled_from([Uniform(3), Quantile(4), Isotonic(), BoundedIsotonic()]), st.sampled_from(list(NORMS)))
@settings(max_examples=80)
def test_rejection_family_equals_the_oracle(pairs, scheme, norm):
    y, p = split(pairs)

    def loss(score, label, members):
        return oracle.rejection_loss(score, label, members, scipy_rejects)

    expected = oracle.metric(p, y, bins_of(scheme, y, p), loss, NORMS[norm])
    assert Metric(scheme, PointwiseTest(), norm)(Tally.from_arrays(y, p)) == pytest.approx(expected, abs=1e-9)


def test_named_functions_are_their_metrics(rng):
    p = rng.beta(0.5, 5, 3000)
    y = rng.random(3000) < p
    tally = Tally.from_arrays(y, p)
    named = truecal.metrics.METRICS
    assert truecal.tce(y, p) == named["tce"](tally)
    assert truecal.tce(y, p, binning="quantile") == named["tce_q"](tally)
    assert truecal.tce(y, p, binning="pava") == named["tce_v"](tally)
    assert truecal.ece(y, p) == named["ece"](tally)
    assert truecal.ece(y, p, binning="pava-bc") == named["ece_pava_bc"](tally)
    assert truecal.ace(y, p) == named["ace"](tally)
    assert truecal.mce(y, p) == named["mce"](tally)
    assert truecal.mce(y, p, binning="quantile") == named["mce_q"](tally)
    assert truecal.rmsce(y, p) == named["rmsce"](tally)
    assert truecal.rmsce(y, p, binning="quantile") == named["rmsce_q"](tally)


def test_a_number_of_bins_is_of_the_metrics_own_kind(rng):
    p = rng.beta(0.5, 5, 500)
    y = rng.random(500) < p
    assert truecal.ece(y, p, binning=15) == truecal.ece(y, p, binning=Uniform(15))
    assert truecal.ace(y, p, binning=15) == truecal.ece(y, p, binning=Quantile(15))
    assert truecal.tce(y, p, binning=15) == truecal.tce(y, p, binning=Quantile(15))


def test_ece_by_hand():
    # bins [.2,.3): two at .25 with rate 1/2, gap 1/4; [.7,.8): two at .75, rate 1, gap 1/4; [.9,1]: one at 1, rate 0, gap 1
    y, p = [0, 1, 1, 1, 0], [0.25, 0.25, 0.75, 0.75, 1.0]
    assert truecal.ece(y, p) == pytest.approx((2 / 4 + 2 / 4 + 1) / 5)
    assert truecal.mce(y, p) == 1
    assert truecal.rmsce(y, p) == pytest.approx(((2 / 16 + 2 / 16 + 1) / 5) ** 0.5)


def test_tce_by_hand():
    # 0 of 20: binomtest rejects p from 0.14 or so up; 20 scores at 0.1, 20 at 0.3 in one bin with 0 positives in 40
    y, p = np.zeros(40), np.repeat([0.01, 0.3], 20)
    assert stats.binomtest(0, 40, 0.01).pvalue > 0.05 >= stats.binomtest(0, 40, 0.3).pvalue
    assert truecal.tce(y, p, binning=1) == 50


def test_metrics_without_a_sort_equal_those_on_a_tally(rng):
    for make in (lambda p: p, lambda p: np.round(p, 2), lambda p: p.astype(np.float32), lambda p: p * 1e-9):
        p = make(rng.beta(0.5, 5, 5000))
        y = rng.random(5000) < p
        for scheme in (Uniform(10), Uniform(1), Uniform(137), Edges([0, 1e-9, 0.01, 0.1, 1])):
            for norm in (Mean(), Max(), PNorm(2)):
                metric = Metric(scheme, Gap(), norm)
                assert truecal.metrics.compute(metric, y, p) == metric(Tally.from_arrays(y, p))


@pytest.mark.parametrize("binning", [BoundedIsotonic(), BoundedIsotonic(sizes="paper"), BoundedIsotonic(3, 9)])
def test_few_rows_that_are_tested_at_once_give_what_their_tally_gives(binning, rng):
    """To the last bit: of float32 and float64, tied and not, right and wrong, for labels of every type."""
    for size in (9, 40, 1000, 8192, 8193):
        p = rng.beta(0.5, 5, size)
        y = rng.random(size) < p
        for score in (p, p.astype(np.float32), p.round(2), p / 3, 1 - p):
            for level in (0.05, 0.3):
                metric = Metric(binning, PointwiseTest(significance=level))
                expected = metric(Tally.from_arrays(y, score))
                assert truecal.tce(y.astype(float), score, binning=binning, significance=level) == expected
                assert truecal.metrics.compute(metric, y, score) == expected


def test_sums_do_not_depend_on_the_order_of_rows(rng):
    p = np.concatenate([rng.random(1000), rng.random(1000) * 1e-12, [5e-324, 0.0, 1.0]])
    y = rng.random(len(p)) < p
    expected = truecal.ece(y, p)
    for _ in range(20):
        order = rng.permutation(len(p))
        assert truecal.ece(y[order], p[order]) == expected


def test_a_metric_of_ones_own_is_one_line(rng):
    p = rng.random(200)
    y = rng.random(200) < p

    class Constant:
        def __call__(self, bins):
            return np.full(len(bins.partition), 0.5)

    assert Metric(Quantile(4), Constant())(Tally.from_arrays(y, p)) == 0.5


def test_misspelt_options_are_refused():
    with pytest.raises(
        ValueError, match="`binning` must be one of 'uniform', 'quantile', 'pava', 'pava-bc'; it is 'pavabc'"
    ):
        truecal.tce([0, 1], [0.1, 0.2], binning="pavabc")
    for bad in (2.5, True, Uniform, np.array([0, 0.5, 1.0])):
        with pytest.raises(TypeError, match="`binning` must be a binning such as"):
            truecal.tce([0, 1], [0.1, 0.2], binning=bad)
    for bad in (truecal.metrics.ScoreTest, "binomial"):
        with pytest.raises(TypeError, match=r"`test` must be a test such as `(ScoreTest|Binomial)\(\)`"):
            truecal.tce([0, 1], [0.1, 0.2], test=bad)
    for bad in ("0.05", None, 5, True):
        with pytest.raises(ValueError, match="`significance` must lie between 0 and 1"):
            truecal.tce([0, 1], [0.1, 0.2], significance=bad)
    with pytest.raises(ValueError, match=r"An absolute tolerance must lie in \[0, 1\); it is '0.05'"):
        truecal.tce([0, 1], [0.1, 0.2], tolerance="0.05")
    for make in (
        lambda: Metric("uniform", Gap()),
        lambda: Metric(Uniform, Gap()),
        lambda: Metric(Uniform(), Gap, Mean()),
    ):
        with pytest.raises(TypeError, match=r"must be a (binning|loss) such as"):
            make()
    with pytest.raises(TypeError, match=r"A metric must be a `Metric\(binning, loss, norm\)` or a score; it is 'ece'"):
        truecal.metrics.compute("ece", [0, 1], [0.1, 0.2])
    with pytest.raises(TypeError, match="unexpected keyword argument 'alpha'"):
        truecal.tce([0, 1], [0.1, 0.2], alpha=0.05)
    for bad in (0.5, np.inf, "2", True):
        with pytest.raises(ValueError, match="`p` of a norm must be a finite number, 1 or more"):
            PNorm(bad)


def test_large_powers_approach_the_maximum(rng):
    p = rng.random(500)
    tally = Tally.from_arrays(rng.random(500) < p, p)
    for loss in (Gap(), PointwiseTest(significance=0.4)):
        largest = Metric(Quantile(5), loss, Max())(tally)
        # a fifth of the rows in the worst bin: (1/5)^(1/p) of it at least
        assert 0.2 ** (1 / 500) * largest <= Metric(Quantile(5), loss, PNorm(500))(tally) <= largest


def test_a_right_model_with_heavy_ties_is_not_rejected():
    """990 rows at 0 without a positive, 10 at 1: the paper's scan joins them into one bin, whose rate rejects both."""
    y = np.repeat([0, 1], [990, 10])
    assert truecal.tce(y, y.astype(float)) == 0
    assert truecal.tce(y, y.astype(float), binning=BoundedIsotonic(sizes="paper")) == 100
    assert truecal.tce(y, y.astype(float), binning="pava") == 0


class TestSmallAndOneSided:
    """Data that leave other tools with NaN; the values follow by hand."""

    @pytest.mark.parametrize("y", [0, 1])
    def test_a_single_row(self, y):
        # one trial: 0.5 is never rejected at 5 %
        result = truecal.evaluate([y], [0.5])
        assert result["tce"] == 0
        assert result["ece"] == result["ace"] == result["mce"] == 0.5
        assert result["log_loss"] == pytest.approx(math.log(2))
        assert not np.isfinite(result["slope"])  # one row has none
        assert all(np.isfinite(result[name]) for name in result.tables)

    def test_two_rows(self):
        result = truecal.evaluate([0, 1], [0.25, 0.75])
        assert (result["tce"], result["ece"]) == (0, 0.25)

    @pytest.mark.parametrize("y", [0, 1])
    def test_one_class(self, y, rng):
        p = rng.uniform(0.4, 0.6, 500)
        result = truecal.evaluate(np.full(500, y), p)
        assert result["tce"] == 100
        assert result["ece"] == pytest.approx(np.mean(np.abs(p - y)))
        assert all(np.isfinite(result[name]) for name in result.tables)

    def test_all_scores_equal(self):
        y = np.arange(1000) < 300
        assert truecal.tce(y, np.full(1000, 0.3)) == 0
        assert truecal.tce(y, np.full(1000, 0.4)) == 100
        result = truecal.evaluate(y, np.full(1000, 0.4))
        assert result["ece"] == pytest.approx(0.1)
        assert result.bins.n.tolist() == [1000]
        assert "tied scores stay in one bin" in str(result.notes[0])

    def test_scores_of_exactly_zero_and_one(self):
        y = [0] * 50 + [1] * 50
        p = [0.0] * 50 + [1.0] * 50
        assert truecal.tce(y, p) == 0
        assert truecal.tce(1 - np.array(y), p) == 100
        assert truecal.tce(y, np.array(p) * -0.0 + p) == 0

    def test_negative_zero_and_denormals_are_scores(self):
        y, p = [0, 0, 0, 1], [-0.0, 0.0, 5e-324, 1.0]
        tally = Tally.from_arrays(y, p)
        assert tally.score.tolist() == [0, 5e-324, 1]
        assert tally.n.tolist() == [2, 1, 1]
        assert truecal.ece(y, p) == 0
        assert truecal.tce(y, p, binning="uniform") == 0  # none of three near 0, one of one at 1

    def test_a_positive_at_probability_zero_is_rejected(self):
        assert truecal.tce([0] * 99 + [1], [0.0] * 100) == 100

    def test_n_min_above_n(self):
        with pytest.raises(ValueError, match="`n_min` must not exceed the number of rows; it is 50, there are 2"):
            truecal.tce([0, 1], [0.1, 0.2], binning=BoundedIsotonic(50, 100))


def test_tolerance_makes_large_samples_practical(rng):
    p = rng.uniform(0.2, 0.3, 400_000)
    y = rng.random(len(p)) < p + 0.004
    assert truecal.tce(y, p, binning=Quantile(20)) > 20
    assert truecal.tce(y, p, binning=Quantile(20), tolerance=0.02) == 0
    assert truecal.tce(y, p, binning=Quantile(20), tolerance=truecal.Relative(0.1)) == 0
