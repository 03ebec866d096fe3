"""Tails of sums of unequal coins against convolution, SciPy's binomial, and Clopper and Pearson."""

import math

import numpy as np
import pytest
from local_oracle import poisson_binomial
from scipy.optimize import brentq
from scipy.stats import binom, binomtest

from truecal.data import Cells, Tally
from truecal.metrics import PoissonBinomial, find_odds_ratios

SHAPES = {
    "uniform": lambda rng, n: rng.random(n),
    "beta": lambda rng, n: rng.beta(0.5, 5, n),
    "both ends": lambda rng, n: rng.beta(0.2, 0.2, n),
    "two scores": lambda rng, n: rng.choice([0.001, 0.999], n),
    "certain": lambda rng, n: rng.choice([0.0, 1.0, 0.3, 0.02], n),
    "rare": lambda rng, n: rng.beta(0.3, 30, n),
    "near one": lambda rng, n: 1 - rng.beta(0.1, 5, n),
    "mixed": lambda rng, n: np.where(rng.random(n) < 0.5, rng.beta(0.2, 20, n), 1 - rng.beta(0.5, 5, n)),
    "halves": lambda rng, n: np.full(n, 0.5),
}


def tails_of(p, k, **options):
    """Below, at, above for the first k of the rows positive."""
    return [float(x[0]) for x in coins_of(p, k).tails(*everything(coins_of(p, k)), **options)]


def coins_of(p, k):
    y = np.zeros(len(p), bool)
    y[np.argsort(-np.asarray(p), kind="stable")[:k]] = True  # only their number counts; none at p = 0 if it can be
    return PoissonBinomial.of(Cells.from_arrays(y, p))


def everything(coins):
    return np.array([0]), np.array([len(coins.n)])


def factor_of(p, k, significance):
    coins = coins_of(p, k)
    (found,) = find_odds_ratios(coins, *everything(coins), significance)
    return found


def split(mass, k):
    return [math.fsum(mass[:k]), mass[k], math.fsum(mass[k + 1 :])]


@pytest.mark.slow
@pytest.mark.parametrize("name", SHAPES)
def test_tails_are_close_to_convolution(name):
    rng = np.random.default_rng(sum(map(ord, name)))
    for _ in range(15):
        n = int(rng.integers(1, 400))
        p = SHAPES[name](rng, n)
        mass = poisson_binomial(p)
        for k in {0, n, *rng.choice(n + 1, 3, p=mass / mass.sum()).tolist()}:
            expected = split(mass, k)
            assert tails_of(p, k, computed=True) == pytest.approx(expected, abs=1e-6)
            # the third cumulant predicts errors of the matched binomial up to 5e-4, to within a fifth
            assert tails_of(p, k) == pytest.approx(expected, abs=6e-4)


@pytest.mark.parametrize("name", ["both ends", "mixed", "uniform"])
def test_large_variances_need_no_convolution(name):
    rng = np.random.default_rng(5)
    p = SHAPES[name](rng, 4000)
    mass = poisson_binomial(p)
    mean, sd = float(p.sum()), math.sqrt(float(np.sum(p * (1 - p))))
    for z in (-3, -1, 0, 1, 3):
        k = round(mean + z * sd)
        assert tails_of(p, k) == pytest.approx(split(mass, k), abs=0.035 / sd**2 + 5e-4)


@pytest.mark.parametrize("flipped", [False, True])
def test_coins_of_small_chances_that_are_taken_together_have_twelve_digits(flipped):
    """PoissonBinomial of ten chances, far apart, that are not pooled: each number of heads, from likely to nearly impossible."""
    q = np.repeat([1e-7, 1e-5, 2e-4, 1e-3, 5e-3, 0.01, 0.02, 0.03, 0.1, 0.4], [900, 90, 80, 70, 60, 50, 20, 13, 3, 2])
    mass = poisson_binomial(q)
    for k in range(16):
        below, at, above = tails_of(1 - q, len(q) - k)[::-1] if flipped else tails_of(q, k)
        assert [below, at, above] == pytest.approx(split(mass, k), rel=1e-12, abs=0)


def test_far_tails_keep_their_size():
    p = np.random.default_rng(1).beta(0.5, 5, 400)
    mass = poisson_binomial(p)
    k = round(float(p.sum() + 7 * math.sqrt(np.sum(p * (1 - p)))))
    assert tails_of(p, k)[2] == pytest.approx(math.fsum(mass[k + 1 :]), rel=0.05)
    assert tails_of(p, k, computed=True)[2] == pytest.approx(math.fsum(mass[k + 1 :]), rel=1e-3)


@pytest.mark.parametrize("p", [1e-9, 0.02, 0.3, 0.5, 0.7, 0.999])
@pytest.mark.parametrize("n", [1, 12, 13, 1000, 100_000])
def test_equal_coins_are_a_binomial(n, p):
    for k in {0, n, int(binom.ppf(0.3, n, p)), int(binom.isf(0.01, n, p))}:
        expected = [binom.cdf(k - 1, n, p), binom.pmf(k, n, p), binom.sf(k, n, p)]
        # computed rows are cut off below 1e-40
        assert tails_of(np.full(n, p), k) == pytest.approx(expected, rel=1e-9, abs=1e-30)


@pytest.mark.parametrize("name", SHAPES)
def test_mid_p_is_centred(name):
    """Its mean under the predictions is 1/2, by the ordering that defines it."""
    rng = np.random.default_rng(sum(map(ord, name)) + 1)
    for n in (1, 3, 30, 300):
        p = SHAPES[name](rng, n)
        mass = poisson_binomial(p)
        likely = np.flatnonzero(mass > 1e-7)
        coins = [coins_of(p, int(k)) for k in likely]
        mid = np.array([float(c.mid_p(*everything(c))[0]) for c in coins])
        assert ((mid > 0) & (mid < 1)).all()
        assert float(mass[likely] @ mid) == pytest.approx(0.5, abs=0.02)


def test_mid_p_by_hand():
    # two coins of 0.5: 1/4, 1/2, 1/4. The middle outcome counts by half after both others: 1/2 + 1/4;
    # the outer ones are beside each other: (1/4 + 1/4) / 2
    for k, expected in ((0, 0.25), (1, 0.75), (2, 0.25)):
        coins = coins_of(np.full(2, 0.5), k)
        assert float(coins.mid_p(*everything(coins))[0]) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("k", "n", "p"), [(3, 20, 0.1), (0, 50, 0.02), (50, 50, 0.9), (400, 1000, 0.5), (7, 10_000, 0.001)]
)
def test_the_interval_is_clopper_and_pearson_s_for_equal_coins(k, n, p):
    found = factor_of(np.full(n, p), k, 0.05)
    rate = binomtest(k, n).proportion_ci(0.95)
    assert found.ratio == pytest.approx(k / n / p, abs=1e-9)
    assert (found.ratio_low, found.ratio_high) == pytest.approx((rate.low / p, rate.high / p), rel=1e-6, abs=1e-9)
    if 0 < k < n:
        odds = p / (1 - p)
        assert found.value == pytest.approx(k / (n - k) / odds, rel=1e-6)
        assert found.low == pytest.approx(rate.low / (1 - rate.low) / odds, rel=1e-6)


@pytest.mark.parametrize(
    ("rows", "k", "significance"),
    [(60, 9, 0.1), (60, 9, 1e-6), (8, 2, 1e-6), (60, 45, 1e-12), (60, 0, 1e-4), (8, 8, 0.1)],
)
def test_the_interval_inverts_the_exact_tails(rows, k, significance):
    p = np.random.default_rng(2).beta(0.5, 5, rows)
    found = factor_of(p, k, significance)
    for factor, above in ((found.low, True), (found.high, False)):
        if (k == 0) if above else (k == rows):
            assert factor == (0 if above else math.inf)
            continue
        mass = poisson_binomial(factor * p / (1 - p + factor * p))
        tail = mass[k:] if above else mass[: k + 1]
        # a depth sqrt(-2 log P) within 1e-9 is P within 1e-8; rows of one cell are taken as equal, which is 2^-24 of v
        assert math.fsum(tail) == pytest.approx(significance / 2, rel=1e-5)


def test_certain_predictions_have_no_odds():
    found = factor_of(np.array([0.0, 1.0, 1.0]), 2, 0.05)
    assert math.isnan(found.value)
    assert (found.low, found.high, found.ratio) == (0.0, math.inf, 1.0)


def test_pools_of_cells_change_no_tail_by_more_than_their_variance(rng):
    """PoissonBinomial of small q, computed cell by cell and in pools: a variance larger by 2^-24 of itself moves a tail that is
    z standard deviations away by about z^2 / 2 x 2^-24 of itself, 1e-6 at z = 6."""
    p = 10 ** rng.uniform(-9, -1.5, 2000)  # below a variance of 5, where tails are computed
    assert (p * (1 - p)).sum() < 5
    for k in (0, 1, 4, 10, 20):
        np.testing.assert_allclose(tails_of(p, k), tails_of(p, k, computed=True), rtol=1e-5, atol=1e-15)


@pytest.mark.parametrize("rows", [2**10, 2**30, 2**31, 2**40])
@pytest.mark.parametrize("positive", [False, True])
def test_any_number_of_rows_that_are_all_alike_has_an_interval(rows, positive):
    """If all are positive, the low end is where the product of the probabilities is half of the significance; with x
    the factor on the odds, that of p is x p / (1 - p + x p). The opposite question has the inverse answer."""
    p, significance = np.array([0.07, 0.0705]), 0.01
    cells = Cells.of(Tally(p, np.full(2, rows), np.full(2, rows if positive else 0)))
    (found,) = find_odds_ratios(PoissonBinomial.of(cells), np.array([0]), np.array([2]), significance)
    odds = p / (1 - p)

    def miss(log_factor):
        other = np.exp(-log_factor) / odds if positive else np.exp(log_factor) * odds
        return -rows * np.log1p(other).sum() - math.log(significance / 2)

    end = math.exp(brentq(miss, -60, 60, xtol=1e-13))
    expected = (math.inf, end, math.inf) if positive else (0.0, 0.0, end)
    assert (found.value, found.low, found.high) == pytest.approx(expected, rel=1e-6)
