import math

import numpy as np
import pytest
from conftest import LONG
from scipy import stats
from scipy.special import betaincinv

import truecal
from truecal import _kernel
from truecal.data import Cells
from truecal.verdict import combine, critical_counts, judge, required_rows


def brute_power(n, predicted, actual, significance):
    """Add up every k whose p-value, the sum of all outcomes no likelier, is at most the significance."""
    k = np.arange(n + 1)
    null = stats.binom.pmf(k, n, predicted)
    value = np.array([null[null <= d * (1 + 1e-7)].sum() for d in null])
    return stats.binom.pmf(k, n, actual)[value <= significance].sum()


def odds_times(p, factor):
    return factor * p / (1 - p + factor * p)


def normal_power(p, rows, factor, significance, *, fifth=False):
    """Phi((sqrt(share) |sum(p' - p)| - z sqrt(V)) / sqrt(V')), p' with the odds multiplied; z as the verdict has it."""
    moved, share = odds_times(p, factor), 0.2 if fifth else 1.0
    z = stats.norm.isf(significance / (148 if fifth else 4))
    change, v, spread = (rows * np.mean(x) for x in (moved - p, p * (1 - p), moved * (1 - moved)))
    return stats.norm.cdf((math.sqrt(share) * abs(change) - z * math.sqrt(v)) / math.sqrt(spread))


@pytest.mark.parametrize("rate", [0.003, 0.25, 0.9])
@pytest.mark.parametrize("significance", [0.05, 0.01])
def test_enough_rows_find_a_factor_up_and_down(rate, significance):
    """With one prediction nothing is added: the plan's rows of the harder direction, rounded up to two digits."""
    cells = Cells.from_arrays(np.zeros(100, dtype=bool), np.full(100, rate))
    found = required_rows(cells, 1.5, significance)
    hardest = max(truecal.plan(rate, factor=factor, significance=significance).rows for factor in (1.5, 1 / 1.5))
    assert 1 <= found / hardest <= 1.1
    assert len(str(found).rstrip("0")) <= 2
    certain = Cells.from_arrays(np.zeros(100, dtype=bool), np.zeros(100))
    assert required_rows(certain, 1.5, significance) is None


@pytest.mark.parametrize("factor", [1.1, 1.5, 4.0, 0.9, 0.4])
@pytest.mark.parametrize(("power", "significance"), [(0.8, 0.05), (0.95, 0.01), (0.5, 0.05)])
def test_plan_is_the_fewest_rows_with_the_power(rng, factor, power, significance):
    """Samples are cut into cells of 7 bits, so that the power is right to a few thousandths."""
    for p, slack in ((np.array([0.01]), 1e-9), (np.array([0.7]), 1e-9), (rng.beta(0.5, 5, 3000), 3e-3)):
        given = p[0].item() if len(p) == 1 else p
        found = truecal.plan(given, factor=factor, power=power, significance=significance)
        assert found.prediction == pytest.approx(p.mean())
        assert found.information == pytest.approx(np.mean(p * (1 - p)))
        assert found.ratio == pytest.approx(odds_times(p, factor).mean() / p.mean(), rel=1e-3)
        for rows, fifth in ((found.rows, False), (found.fifth_rows, True)):
            reached, below = (normal_power(p, n, factor, significance, fifth=fifth) for n in (rows, rows - 1))
            assert reached >= power - slack
            assert below < power + slack
        way = found.above if factor > 1 else 1 / found.below
        assert math.log(way) == pytest.approx(math.log(factor), rel=2e-3 + 1 / found.rows)  # what the same rows find


def test_rows_find_what_the_verdict_says_they_do(rng):
    """The verdict's `detectable` is the larger of both ways; those of a fifth are the same."""
    p = rng.beta(0.5, 5, 4000)
    there = truecal.plan(p, rows=4000)
    verdict = truecal.evaluate(rng.random(4000) < p, p, ["ltce"]).verdict
    assert max(there.above, there.below) == pytest.approx(verdict.detectable, rel=1e-3)
    assert (there.fifth_above, there.fifth_below) == pytest.approx((verdict.detectable_above, verdict.detectable_below))
    assert (there.factor, there.ratio, there.fifth_rows) == (None, None, None)


def test_ratios_are_factors_on_the_odds(rng):
    assert truecal.plan(0.01, ratio=1.2).factor == pytest.approx(0.012 / 0.988 / (0.01 / 0.99), rel=1e-8)
    p = rng.beta(0.5, 5, 3000)
    for ratio in (0.3, 0.9, 1.1, 2.0):
        factor = truecal.plan(p, ratio=ratio).factor
        assert odds_times(p, factor).mean() / p.mean() == pytest.approx(ratio, rel=1e-3)


def test_one_and_two_tenths_percent_are_told_from_one_in_fewer_than_30000_rows():
    """Of N = 30,000 rows with V = 297, 360 positives come where 300 are expected: z = 3.5, of 2.24 that are needed."""
    assert 20_000 < truecal.plan(0.01, ratio=1.2).rows < 30_000


WORLDS = {
    "one score": lambda rng, rows: np.full(rows, 0.05),
    "Beta(.5, 5)": lambda rng, rows: rng.beta(0.5, 5, rows),
    "sharp": lambda rng, rows: rng.beta(0.05, 0.95, rows),
}


# each world and each factor; all pairs with TRUECAL_LONG=1
PAIRS = [
    (name, factor) for name in WORLDS for factor in (1.3, 1 / 1.3) if LONG or (name == "one score") != (factor > 1)
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "factor"), PAIRS)
def test_the_planned_rows_find_the_error_as_often_as_asked(name, factor):
    """400 data sets: the standard error is 0.02 at 0.8. The verdict has more eyes than the formula counts on."""
    rng = np.random.default_rng(5)
    rows = truecal.plan(WORLDS[name](rng, 20_000), factor=factor).rows
    found = 0
    for _ in range(400):
        p = WORLDS[name](rng, rows)
        y = rng.random(rows) < odds_times(p, factor)
        found += combine(judge(Cells.from_arrays(y, p)).tests) <= 0.05
    assert 0.75 <= found / 400 <= 0.92


def test_detectable_rates_are_found_with_the_power():
    n, rate = np.array([50, 400, 5000, 200]), np.array([0.3, 0.05, 0.01, 0.0001])
    below, above = truecal.verdict.detectable_rates(n, rate)
    assert np.isnan(below[[3]]).all()  # no outcome below an expectation of 0.02 is a surprise
    for i in range(4):
        for actual in (below[i], above[i]):
            if not math.isnan(actual):
                assert brute_power(int(n[i]), rate[i], actual, 0.05) == pytest.approx(0.8, abs=1e-3)
    assert (above > rate).all()


def test_results_say_what_each_bin_could_have_seen(rng):
    p = rng.beta(0.5, 5, 4000)
    bins = truecal.evaluate(rng.random(4000) < p, p).bins
    below, above = truecal.verdict.detectable_rates(bins.n, bins.mean)
    np.testing.assert_array_equal(bins.detectable_above, above)
    np.testing.assert_array_equal(bins.detectable_below, below)


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
        ({"y_prob": 0.1}, "One of `factor`, `ratio` and `rows` must be given"),
        ({"y_prob": 0.1, "factor": 2, "rows": 100}, "One of `factor`, `ratio` and `rows` must be given"),
        ({"y_prob": 0.0, "factor": 2}, "`y_prob` must lie between 0 and 1"),
        ({"y_prob": 5, "factor": 2}, "(?s)it is 5.*Hint: divide percentages by 100"),
        ({"y_prob": -0.5, "factor": 2}, "it is -0.5.$"),
        ({"y_prob": [0.5, 1.5], "factor": 2}, r"`y_prob` must lie in \[0, 1\]"),
        ({"y_prob": [0.0, 1.0], "factor": 2}, "all are 0 or 1"),
        ({"y_prob": 0.9, "ratio": 1.2}, "`ratio` must .* leave the rate of positives below 1; it is 1.2"),
        ({"y_prob": 0.9, "ratio": 1}, "`ratio` must be above 0 and not 1, from 1e-300 to 1e300; it is 1"),
        ({"y_prob": 0.9, "ratio": 0.0}, "`ratio` must be above 0"),
        ({"y_prob": 0.9, "factor": 1}, "`factor` must be above 0 and not 1, from 1e-300 to 1e300; it is 1"),
        ({"y_prob": 0.9, "factor": -2.0}, "`factor` must be above 0 and not 1"),
        ({"y_prob": 0.9, "rows": 0}, "`rows` must be a whole number, 1 or more; it is 0"),
        ({"y_prob": 0.9, "rows": 1.5}, "`rows` must be a whole number, 1 or more; it is 1.5"),
        ({"y_prob": 0.1, "factor": 2, "power": 1}, "`power` must lie between 0 and 1"),
        ({"y_prob": 0.1, "factor": 2, "significance": 0}, "`significance` must lie between 0 and 1"),
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


def test_a_tolerance_up_to_the_end_has_a_verdict():
    """0.5 from just above 0.5 reaches 1, and 0 but for a rounding error."""
    cells = Cells.from_arrays(np.arange(100) % 2 == 0, np.full(100, 0.5000000000000001))
    assert judge(cells, tolerance=0.5).status == "inconclusive"


def test_the_smallest_predictions_have_a_plan():
    """Nothing is detectable at a prediction of 1e-320 in any rows that there are."""
    plan = truecal.plan(1e-320, rows=100)
    assert plan.above == plan.below == math.inf
