import math
from functools import cache

import numpy as np
import pytest
from conftest import fewer
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import special, stats

from truecal import Binomial, BoundedIsotonic, Quantile, Relative, Tally, Uniform
from truecal.data import sort_rows
from truecal.metrics import Absolute, BayesFactor, LikelihoodRatio, MidP, ScoreTest, StudentT
from truecal.metrics._decisions import count_rejected

TESTS = [Binomial(), MidP(), ScoreTest(), LikelihoodRatio(), StudentT(), BayesFactor(), BayesFactor(0.5, 0.5, 10)]


def log_uniform(low, high):
    return st.floats(math.log(low), math.log(high)).map(math.exp)


significances = log_uniform(1e-6, 0.5)
# SciPy 1.17 raises OverflowError for 0 < p < 1e-300
probabilities = st.floats(0, 1).filter(lambda p: p == 0 or p > 1e-300)
counts = (
    log_uniform(1, 1e6)
    .map(int)
    .flatmap(
        lambda n: st.tuples(
            st.one_of(st.integers(0, n), st.integers(0, min(n, 30)), st.integers(max(0, n - 30), n)), st.just(n)
        )
    )
)


@cache
def scipy_p_value(k, n, p):
    return stats.binomtest(k, n, p).pvalue


def scipy_rejects(k, n, p, significance):
    return bool(scipy_p_value(k, n, p) <= significance)


def steps(p, ulps):
    """The float that many steps away, kept in [0, 1]."""
    bits = np.float64(p).view(np.int64) + ulps
    return float(np.clip(np.int64(max(bits, 0)).view(np.float64), 0, 1))


@pytest.mark.slow
@given(
    counts,
    significances,
    st.lists(probabilities, max_size=3),
    st.lists(st.integers(-3000, 3000), min_size=4, max_size=4),
)
@settings(max_examples=fewer(300, 5))
@example((3, 9), 0.05, [], [1, -1, 2, -2])
@example((821189, 821190), math.exp(-3.0), [], [0, 0, 0, 0])  # floats near 1 are farther apart than the doubt
@example((0, 1), 0.5, [0.0, 1.0, 0.5], [1, -1, 2, -2])
def test_binomial_decides_as_scipy_near_and_far_from_every_end(pair, significance, anywhere, ulps):
    k, n = pair
    (cuts,), _, _ = Binomial().cuts(np.array([k]), np.array([n]), significance)
    inner, outer = Binomial().safe_cuts(np.array([k]), np.array([n]), significance)
    p = [0.0, 1.0, k / n, *anywhere]
    for cut in [*cuts, *inner[0], *outer[0]]:
        p += [steps(cut, u) for u in (0, 1, -1, *ulps)]
        p += [min(1.0, max(0.0, cut + d / n)) for d in (-0.6, -0.1, 0.1, 0.6)]
    p += [(cuts[1] + cuts[2]) / 2, (cuts[3] + cuts[4]) / 2]
    found = Binomial().rejects(k, n, p, significance)
    assert found.tolist() == [scipy_rejects(k, n, q, significance) for q in p]


@given(st.integers(1, 60), st.data(), significances)
@settings(max_examples=150)
def test_binomial_decides_as_its_p_value_everywhere_in_small_bins(n, data, significance):
    """A dense grid over [0, 1] and over both ends' zones; a missed hole or a second one would show."""
    k = data.draw(st.integers(0, n))
    low, high = Binomial().accepted(k, n, significance)
    grid = np.concatenate(
        [np.linspace(0, 1, 500), low + np.linspace(-1, 3, 400) / n, high + np.linspace(-3, 1, 400) / n]
    )
    grid = grid[(grid >= 0) & (grid <= 1)]
    value = Binomial().p_value(k, n, grid)
    clear = np.abs(value - significance) > 1e-8 * significance
    found = Binomial().rejects(k, n, grid, significance)
    np.testing.assert_array_equal(found[clear], value[clear] <= significance)


# (k, n, significance) whose accepted probabilities have a hole below or above, found by scanning all n <= 60
HOLES = [(k, n, a) for a in (0.01, 0.05, 0.1, 0.3) for n in range(2, 61) for k in range(n + 1)]


def test_holes_exist_and_are_found():
    k, n = np.array([[k, n] for k, n, a in HOLES if a == 0.05]).T
    cuts, _, _ = Binomial().cuts(k, n, 0.05)
    below, above = np.flatnonzero(cuts[:, 1] < cuts[:, 2]), np.flatnonzero(cuts[:, 3] < cuts[:, 4])
    assert len(below) > 3
    assert len(above) == len(below)  # k and n - k mirror each other
    for b in below:
        first, hole, last = cuts[b, :3]
        middle = [(first + hole) / 2, (hole + last) / 2, last + (last - hole)]
        assert [scipy_rejects(int(k[b]), int(n[b]), p, 0.05) for p in middle] == [False, True, False]
        assert Binomial().rejects(k[b], n[b], middle).tolist() == [False, True, False]
        assert last - hole < 0.5 / n[b]


def add_up_p_value(k, n, p):
    """What is at most as probable as k, up to the 1e-7 that scipy allows for, added up."""
    logs = stats.binom.logpmf(np.arange(n + 1), n, p)
    return float(np.exp(logs[logs <= logs[k] + 1e-7]).sum())


@pytest.mark.slow
@given(counts, probabilities)
@example((704, 742), 0.34375)
@settings(max_examples=300)
def test_binomial_p_value_is_scipys(pair, p):
    k, n = pair
    found = float(Binomial().p_value(k, n, p))
    expected = stats.binomtest(k, n, p).pvalue
    if expected > 1e-200:
        assert found == pytest.approx(expected, rel=1e-9)
    else:  # scipy 1.17 gives 0 where 3e-270 is right
        assert found == pytest.approx(add_up_p_value(k, n, p), rel=1e-6, abs=1e-290)


@pytest.mark.slow
@pytest.mark.parametrize("layout", [Tally.from_arrays, sort_rows])
def test_counts_on_data_equal_one_scipy_test_per_prediction(layout, rng):
    for size, make in [(400, lambda p: p), (400, lambda p: np.round(p, 2)), (300, lambda p: p**6)]:
        p = make(rng.beta(0.5, 3, size))
        y = rng.random(size) < np.minimum(1, 1.3 * p)
        data = layout(y, p)
        for scheme in (BoundedIsotonic(), Quantile(5)):
            part = scheme.partition(data)
            for significance in (1e-4, 0.05, 0.4):
                found = sum(count_rejected(Binomial(), data, [part], significance, None)[0])
                bin_of = np.searchsorted(part.edges[1:-1], p, side="right")
                expected = [
                    sum(scipy_rejects(int(part.k[b]), int(part.n[b]), float(q), significance) for q in p[bin_of == b])
                    for b in range(len(part))
                ]
                assert found.tolist() == expected


class Slow(Binomial):
    """The same test from elsewhere: the cuts of all bins are found."""


@pytest.mark.parametrize("layout", [Tally.from_arrays, sort_rows])
def test_counts_do_not_depend_on_whether_all_cuts_are_found(layout, rng):
    for k, n, significance in HOLES:
        p = np.sort(rng.random(n))
        data = layout(np.arange(n) < k, p)
        for part in (Quantile(1).partition(data), Uniform(4).partition(data)):  # some bins may be empty
            found, expected = (count_rejected(test, data, [part], significance, None) for test in (Binomial(), Slow()))
            assert np.array_equal(found, expected)


@pytest.mark.parametrize("layout", [Tally.from_arrays, sort_rows])
def test_scores_at_the_very_end_of_an_interval_are_decided_by_scipy(layout):
    """Every score within a few steps of an end: all in doubt, all handed over, none decided differently."""
    for k, n in [(3, 40), (0, 40), (17, 60), (60, 60), (29, 33)]:
        (cuts,), _, _ = Binomial().cuts(np.array([k]), np.array([n]), 0.05)
        ends = [steps(cut, u) for cut in np.unique(cuts) for u in range(-4, 5)]
        p = np.resize(ends, n)
        y = np.arange(n) < k
        data = layout(y, p)
        part = Quantile(1).partition(data)
        expected = sum(scipy_rejects(k, n, float(q), 0.05) for q in p)
        assert sum(count_rejected(Binomial(), data, [part], 0.05, None)[0]).tolist() == [expected]


def test_every_decision_on_imagenet_is_scipys(imagenet):
    """Each distinct prediction of every bin whose p-value is within a factor of two of the significance, and 300 others."""
    rng = np.random.default_rng(0)
    for y, p in imagenet.values():
        tally = Tally.from_arrays(y, p)
        part = BoundedIsotonic(sizes="paper").partition(tally)
        for b in range(len(part)):
            k, n = int(part.k[b]), int(part.n[b])
            score = tally.score[part.starts[b] : part.starts[b + 1]]
            found = Binomial().rejects(k, n, score)
            value = Binomial().p_value(k, n, score)
            close = np.flatnonzero((value > 0.045) & (value < 0.055))
            # the decisions far from the significance follow from p-values that agree with SciPy's to 1e-9 (tested above)
            clear = np.abs(value - 0.05) > 1e-6
            np.testing.assert_array_equal(found[clear], value[clear] <= 0.05)
            for i in [*rng.choice(close, min(len(close), 10), replace=False), *rng.integers(0, len(score), 3)]:
                assert found[i] == scipy_rejects(k, n, float(score[i]), 0.05)


ORACLES = {
    MidP(): lambda k, n, p: min(
        1.0, 2 * min(stats.binom.cdf(k - 1, n, p), stats.binom.sf(k, n, p)) + stats.binom.pmf(k, n, p)
    ),
    ScoreTest(): lambda k, n, p: stats.chi2.sf((k - n * p) ** 2 / (n * p * (1 - p)), 1),
    LikelihoodRatio(): lambda k, n, p: stats.chi2.sf(
        2 * (special.xlogy(k, k / (n * p)) + special.xlogy(n - k, (n - k) / (n * (1 - p)))), 1
    ),
    BayesFactor(2.0, 3.0): lambda k, n, p: min(1.0, stats.binom.pmf(k, n, p) / stats.betabinom.pmf(k, n, 2.0, 3.0)),
}


@pytest.mark.parametrize("test", ORACLES, ids=lambda t: type(t).__name__)
@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.floats(1e-4, 1 - 1e-4))
def test_p_values_are_scipys(test, pair, p):
    k, n = pair
    assert float(test.p_value(k, n, p)) == pytest.approx(ORACLES[test](k, n, p), rel=1e-6, abs=1e-12)


@given(st.integers(2, 200).flatmap(lambda n: st.tuples(st.integers(1, n - 1), st.just(n))), st.floats(0, 1))
def test_student_t_is_scipys(pair, p):
    k, n = pair
    expected = stats.ttest_1samp(np.arange(n) < k, p).pvalue
    assert float(StudentT().p_value(k, n, p)) == pytest.approx(float(expected), rel=1e-6, abs=1e-300)


def test_student_t_without_variance_or_freedom():
    assert StudentT().rejects(0, 20, [0, 1e-12, 0.5]).tolist() == [False, True, True]
    assert StudentT().rejects(20, 20, [1, 1 - 1e-12, 0.5]).tolist() == [False, True, True]
    assert StudentT().rejects(1, 1, [0, 0.5, 1]).tolist() == [False, False, False]


def test_score_interval_is_wilsons():
    k, n = np.array([0, 1, 30, 99, 100]), 100
    z = stats.norm.isf(0.025)
    rate = k / n
    centre = (rate + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z * np.sqrt(rate * (1 - rate) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    low, high = ScoreTest().accepted(k, n)
    np.testing.assert_allclose(low, np.maximum(centre - half, 0), atol=1e-12)
    np.testing.assert_allclose(high, np.minimum(centre + half, 1), atol=1e-12)


def test_bayes_factor_threshold_takes_the_place_of_the_significance():
    p = np.linspace(0.01, 0.99, 99)
    factor = stats.betabinom.pmf(7, 20, 1, 1) / stats.binom.pmf(7, 20, p)
    assert BayesFactor(threshold=10).rejects(7, 20, p, 0.9).tolist() == (factor >= 10).tolist()
    assert BayesFactor().rejects(7, 20, p, 0.05).tolist() == (factor >= 20).tolist()


def test_bayes_factor_keeps_its_level():
    """P(factor >= 1 / a) <= a under the null, by adding up the outcomes."""
    k = np.arange(101)
    for p in (0.01, 0.1, 0.5):
        rejected = BayesFactor().rejects(k, 100, p, 0.05)
        assert stats.binom.pmf(k, 100, p)[rejected].sum() <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize("test", TESTS, ids=repr)
@given(st.integers(1, 3000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), significances)
@settings(max_examples=fewer(60, 2))
def test_accepted_interval_is_what_is_not_rejected(test, pair, significance):
    k, n = pair
    low, high = (float(end) for end in test.accepted(k, n, significance))
    assert 0 <= low <= k / n <= high <= 1
    inside = [low + (high - low) * f for f in (1e-6, 0.5, 1 - 1e-6)] if high > low else [k / n]
    assert not test.rejects(k, n, inside[len(inside) // 2], significance)
    outside = [p for p in (low - 1e-6 / n, high + 1e-6 / n) if 0 <= p <= 1]
    assert test.rejects(k, n, outside, significance).all()
    if not isinstance(test, Binomial):  # no holes
        assert not test.rejects(k, n, inside, significance).any()


@pytest.mark.slow
@pytest.mark.parametrize("test", TESTS, ids=repr)
@pytest.mark.parametrize("tolerance", [Absolute(0.02), Relative(0.2)], ids=repr)
def test_tolerance_rejects_only_if_its_whole_band_is_rejected(test, tolerance):
    p = np.linspace(0, 1, 1 + fewer(100, 2))
    reach = tolerance.value * (np.ones_like(p) if isinstance(tolerance, Absolute) else p)
    band = np.clip(p[:, None] + reach[:, None] * np.linspace(-1, 1, 401), 0, 1)
    # a grid may miss an accepted sliver at its own ends by rounding, so "some p of it is accepted" is asked of a wider one
    wider = np.clip(p[:, None] + (reach[:, None] * 1.01 + 1e-4) * np.linspace(-1, 1, 2001), 0, 1)
    for k, n in [(0, 50), (3, 50), (3, 9), (25, 50), (199, 200), (50, 50)]:
        rejected = test.rejects(k, n, p, 0.05, tolerance)
        assert 0 < rejected.sum() < len(p)
        assert test.rejects(k, n, band[rejected]).all()
        assert not test.rejects(k, n, wider[~rejected]).all(axis=1).any()


def test_a_plain_number_is_an_absolute_tolerance():
    p = np.linspace(0, 1, 101)
    plain = Binomial().rejects(5, 60, p, 0.05, 0.03)
    assert plain.tolist() == Binomial().rejects(5, 60, p, 0.05, Absolute(0.03)).tolist()
    assert Binomial().rejects(5, 60, p, 0.05, 0).tolist() == Binomial().rejects(5, 60, p).tolist()


@pytest.mark.parametrize("kind", [Absolute, Relative])
@pytest.mark.parametrize("value", [-0.1, 1, 2, math.nan])
def test_bad_tolerances_are_refused(kind, value):
    with pytest.raises(ValueError, match=r"tolerance must lie in \[0, 1\)"):
        kind(value)


@pytest.mark.parametrize("significance", [0, 1, -0.1, 2, math.nan])
def test_bad_significances_are_refused(significance):
    for act in (lambda: Binomial().rejects(1, 2, 0.5, significance), lambda: ScoreTest().accepted(1, 2, significance)):
        with pytest.raises(ValueError, match="`significance` must lie between 0 and 1"):
            act()


@pytest.mark.parametrize("n", [2**53 + 2, 10**18, 2**63 + 5])
def test_counts_that_floats_cannot_hold_are_refused(n):
    for call in (lambda: Binomial().p_value(5, n, 0.5), lambda: Binomial().accepted(n // 10, n)):
        with pytest.raises(ValueError, match=r"`n` must be at most 2\^53"):
            call()
    assert Binomial().accepted(5, 2**53)[0] > 0


def test_bad_counts_and_probabilities_are_refused():
    with pytest.raises(ValueError, match="`k` must lie in 0..n"):
        Binomial().rejects(3, 2, 0.5)
    with pytest.raises(TypeError, match="`k` must be whole numbers; it holds float64"):
        Binomial().rejects(1.0, 2, 0.5)
    with pytest.raises(ValueError, match=r"`p` must lie in \[0, 1\]"):
        Binomial().rejects(1, 2, [0.5, math.nan])
    with pytest.raises(ValueError, match="`threshold` must be a number above 1"):
        BayesFactor(threshold=0.5)
    with pytest.raises(ValueError, match="`a` of a Beta prior must be above 0"):
        BayesFactor(a=0)


def test_arguments_broadcast():
    found = Binomial().rejects(np.array([[1], [9]]), 10, np.array([0.1, 0.5, 0.9]))
    assert found.tolist() == [[False, True, True], [True, True, False]]
