import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import betaincinv

import truecal
from truecal import _kernel
from truecal.inference import critical_counts
from truecal.inference._power import exact_power


def brute_power(n, predicted, actual, significance):
    """Add up every k whose p-value, the sum of all outcomes no likelier, is at most the significance."""
    k = np.arange(n + 1)
    null = stats.binom.pmf(k, n, predicted)
    value = np.array([null[null <= d * (1 + 1e-7)].sum() for d in null])
    return stats.binom.pmf(k, n, actual)[value <= significance].sum()


@pytest.mark.parametrize(
    ("predicted", "actual"), [(0.1, 0.15), (0.5, 0.4), (0.02, 0.06), (0.9, 0.97), (0.3, 0.0), (0.2, 1.0)]
)
@pytest.mark.parametrize("significance", [0.05, 0.01])
def test_power_is_the_sum_over_all_outcomes(predicted, actual, significance):
    n = np.array([1, 2, 3, 7, 20, 55, 150, 400, 999, 2000])
    found = exact_power(n, np.full(10, predicted), np.full(10, actual), significance)
    expected = [brute_power(int(size), predicted, actual, significance) for size in n]
    np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize(
    ("rate", "options"),
    [
        (0.5, {"shift": 0.1}),
        (0.1, {"relative": 0.5}),
        (0.1, {"relative": -0.5}),
        (0.05, {"shift": 0.05, "power": 0.9}),
        (0.3, {"shift": 0.3, "significance": 0.001}),
        (0.02, {"relative": -1.0}),
    ],
)
def test_plan_is_the_first_size_by_brute_force(rate, options):
    found = truecal.plan(rate, **options)
    assert found.bin_size <= 2000
    power, significance = options.get("power", 0.8), options.get("significance", 0.05)
    first = next(n for n in range(1, 2001) if brute_power(n, rate, found.actual, significance) >= power)
    assert found.bin_size == first


def test_plan_says_how_many_rows_make_such_bins():
    found = truecal.plan(0.01, relative=0.2)
    for sizes, rows in (("auto", found.rows), ("paper", found.rows_paper)):
        scheme = truecal.BoundedIsotonic(sizes=sizes)
        assert scheme.bounds(rows)[0] >= found.bin_size > scheme.bounds(rows - 1)[0]
    assert found.rows_paper == 20 * found.bin_size


def test_large_plans_have_the_power_and_nearly_the_least_size():
    found = truecal.plan(0.001, relative=0.1)
    reached, below = exact_power(
        np.array([found.bin_size, found.bin_size * 95 // 100]), np.full(2, 0.001), np.full(2, found.actual), 0.05
    )
    assert reached >= 0.8 > below


def test_detectable_rates_are_found_with_the_power():
    n, rate = np.array([50, 400, 5000, 200]), np.array([0.3, 0.05, 0.01, 0.0001])
    below, above = truecal.inference.detectable_rates(n, rate)
    assert np.isnan(below[[3]]).all()  # no outcome below an expectation of 0.02 is a surprise
    for i in range(4):
        for actual in (below[i], above[i]):
            if not math.isnan(actual):
                assert brute_power(int(n[i]), rate[i], actual, 0.05) == pytest.approx(0.8, abs=1e-3)
    assert (above > rate).all()


def test_results_say_what_each_bin_could_have_seen(rng):
    p = rng.beta(0.5, 5, 4000)
    bins = truecal.evaluate(rng.random(4000) < p, p).bins
    below, above = truecal.inference.detectable_rates(bins.n, bins.mean)
    np.testing.assert_array_equal(bins.seen_above, above)
    np.testing.assert_array_equal(bins.seen_below, below)


def test_critical_counts_are_the_edges_of_rejection():
    n, p = np.repeat([1, 5, 30, 300], 4), np.tile([0.01, 0.2, 0.5, 0.99], 4)
    low, high = critical_counts(n, p, 0.05)
    for i in range(len(n)):
        rejected = [k for k in range(n[i] + 1) if stats.binomtest(k, int(n[i]), p[i]).pvalue <= 0.05]
        centre = min(math.floor((n[i] + 1) * p[i]), n[i])
        assert low[i] == max((k for k in rejected if k < centre), default=-1)
        assert high[i] == min((k for k in rejected if k > centre), default=n[i] + 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rate": 0.1}, "One of `shift` and `relative` must be given"),
        ({"rate": 0.1, "shift": 0.1, "relative": 0.1}, "One of `shift` and `relative` must be given"),
        ({"rate": 0.0, "shift": 0.1}, "`rate` must lie between 0 and 1"),
        ({"rate": 5, "shift": 0.1}, "(?s)it is 5.*Hint: divide percentages by 100"),
        ({"rate": 0.05, "shift": 20}, "(?s)it is 20.05.*Hint: divide percentages by 100"),
        ({"rate": 0.2, "relative": 20}, "(?s)The shifted rate .*Hint: divide percentages by 100"),
        ({"rate": -0.5, "shift": 0.1}, "it is -0.5.$"),
        ({"rate": 0.9, "shift": 0.2}, r"The shifted rate must lie in \[0, 1\]"),
        ({"rate": 0.9, "shift": 0.0}, "and differ from `rate`"),
        ({"rate": 0.1, "shift": 0.1, "power": 1}, "`power` must lie between 0 and 1"),
        ({"rate": 0.1, "shift": 0.1, "significance": 0}, "`significance` must lie between 0 and 1"),
        ({"rate": 0.1, "shift": 1e-9}, "it takes over 1e12 rows"),
    ],
)
def test_impossible_plans_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        truecal.plan(**arguments)


def test_rates_at_a_tail_are_scipys(rng):
    """P(X >= k) = level at p: the inverse of the regularised beta function, to 1e-10 of the nearer end of [0, 1] or a float."""
    for top in (1, 3, 30, 1000, 10**6):
        n = rng.integers(1, top + 1, 300)
        k = np.clip(np.ceil(n * rng.beta(0.3, 1, 300)).astype(np.int64), 1, n)
        for level in (1e-12, 1e-6, 0.025, 0.2, 0.5, 0.8, 0.975, 1 - 1e-6):
            expected = betaincinv(k, n - k + 1, level)
            slack = 1e-10 * np.minimum(expected, 1 - expected)
            assert (np.abs(_kernel.binomial_rates(k, n, level) - expected) <= slack + 2e-16).all()


def test_rates_of_the_first_and_the_last_count_have_closed_forms():
    """P(X >= 1) = 1 - (1 - p)^n and P(X >= n) = p^n."""
    n = np.array([1, 2, 7, 1000, 59_631_154, 10**9])
    for level in (1e-9, 0.025, 0.8, 0.975):
        first = _kernel.binomial_rates(np.ones_like(n), n, level)
        np.testing.assert_allclose(first, -np.expm1(np.log1p(-level) / n), rtol=1e-12)
        last = _kernel.binomial_rates(n, n, level)
        np.testing.assert_allclose(1 - last, -np.expm1(np.log(level) / n), rtol=1e-12, atol=2e-16)
