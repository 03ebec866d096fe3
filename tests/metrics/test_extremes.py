"""The exact test where double precision ends: bins of up to 2^53 rows and levels down to 1e-300, against mpmath."""

import numpy as np
import pytest
from conftest import LONG
from scipy.stats import binomtest

from truecal import Binomial, Tally, Uniform
from truecal.metrics import Metric, PointwiseTest
from truecal.metrics import _hypotheses as hypotheses

LARGEST = 2**53
# rows, positives, level: the sums of the oracle stay short where the standard deviation, or the tail, is small. Half of
# them have every two of the three; all are tried with TRUECAL_LONG=1.
CASES = [
    *((n, k, level) for a, n in enumerate((3 * 10**7, 10**10, LARGEST)) for b, k in enumerate((1, 7, 300))
      for c, level in enumerate((0.05, 1e-12, 1e-150, 1e-300)) if LONG or (a + b + c) % 2 == 0),
    *((10**8, 3 * 10**7, level) for level in (1e-200, 1e-300)),
    *((n, n - 20, 1e-280) for n in (3 * 10**7, LARGEST)),
]  # fmt: skip


class Oracle:
    """The p-value by its definition, in 50 digits."""

    def __init__(self, mp):
        self.mp = mp
        mp.mp.dps = 50

    def pmf(self, j, n, p, q):
        mp = self.mp
        ways = mp.loggamma(n + 1) - mp.loggamma(j + 1) - mp.loggamma(n - j + 1)
        return mp.exp(ways + j * mp.log(p) + (n - j) * mp.log(q))

    def upper(self, k, n, p, q):
        """P(X >= k), k above the mean: terms fall."""
        term, total = self.pmf(k, n, p, q), self.mp.mpf(0)
        for j in range(k, n + 1):
            total += term
            if term < total * self.mp.mpf(10) ** -30:
                break
            term *= p / q * (n - j) / (j + 1)
        return total

    def p_value(self, k, n, p):
        p = self.mp.mpf(p)
        q = 1 - p
        if k < n * p:
            k, p, q = n - k, q, p
        limit = self.pmf(k, n, p, q) * (1 + self.mp.mpf(10) ** -7)
        low, high = -1, min(int(self.mp.floor(n * p)), k - 1) + 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.pmf(middle, n, p, q) <= limit else (low, middle)
        return self.upper(k, n, p, q) + (self.upper(n - low, n, q, p) if low >= 0 else 0)


@pytest.fixture
def oracle(need):
    return Oracle(need("mpmath"))


@pytest.mark.slow
@pytest.mark.parametrize(("n", "k", "level"), CASES)
def test_decisions_are_right_beside_both_ends(oracle, n, k, level):
    ends = np.array(Binomial().accepted(k, n, level))
    spread = np.sqrt(ends * (1 - ends) / n)
    beside = np.array(
        [
            end + way * step * sd
            for end, sd in zip(ends, spread, strict=True)
            for step in (1e-6, 1e-2)
            for way in (-1, 1)
        ]
    )
    beside = beside[(beside > 0) & (beside < 1)]
    rejected = Binomial().rejects(k, n, beside, level)
    values = Binomial().p_value(k, n, beside)
    assert len(beside) >= 4
    assert rejected.any()
    for p, found, value in zip(beside.tolist(), rejected.tolist(), values.tolist(), strict=True):
        exact = oracle.p_value(k, n, p)
        assert found == (exact <= level), (p, exact)
        if exact > 1e-300:
            assert abs(value / exact - 1) < 1e-9, (p, exact)


@pytest.mark.parametrize("error", [OverflowError("cannot convert"), ValueError("no root")])
def test_where_scipy_fails_our_p_value_decides(monkeypatch, error):
    def fail(*_):
        raise error

    k, n = 3, 40
    end = Binomial().accepted(k, n)[0].item()
    doubtful = end * (1 + np.linspace(-2e-9, 2e-9, 40))  # the end itself is left out: only rounding decides it
    expected = [binomtest(k, n, p).pvalue <= 0.05 for p in doubtful.tolist()]
    monkeypatch.setattr("scipy.stats.binomtest", fail)
    assert Binomial().rejects(k, n, doubtful).tolist() == expected
    tally = Tally(doubtful, np.ones(40, int), np.zeros(40, int))
    assert 0 <= Metric(Uniform(1), PointwiseTest())(tally) <= 100


def test_an_overflow_of_scipy_does_not_escape():
    # P(X >= 1) = 1 - (1 - p)^n is n p to the last digit here
    n, p = LARGEST, 1e-300
    with pytest.raises(OverflowError):
        binomtest(1, n, p)
    for factor, rejected in ((1 + 1e-6, True), (1 - 1e-6, False)):
        assert Binomial().rejects(1, n, p, n * p * factor) == rejected
    assert Binomial().rejects(1, n, p, n * p).dtype == bool


def test_doubt_covers_the_error_of_p_values(oracle):
    k, n, p = 7, LARGEST, 1e-14  # 90 expected
    assert abs(Binomial().p_value(k, n, p) / oracle.p_value(k, n, p) - 1) < hypotheses.DOUBT
