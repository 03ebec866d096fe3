"""Each comparator against an independent implementation."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

import truecal
from truecal import Tally


@pytest.fixture(params=["distinct", "tied"])
def data(request, rng):
    p = rng.beta(1, 4, 800)
    if request.param == "tied":
        p = np.round(p, 2)
    return (rng.random(800) < np.clip(1.2 * p, 0, 1)).astype(int), p


@pytest.fixture
def found(data):
    return truecal.metrics.compare_with(Tally.from_arrays(*data))


def test_brier_and_log_loss_are_scikit_learns(need, data, found):
    metrics = need("sklearn.metrics")
    y, p = data
    assert found.brier == pytest.approx(metrics.brier_score_loss(y, p))
    q = np.clip(p, 1e-15, 1 - 1e-15)
    if (y[p == 0] == 0).all() and (y[p == 1] == 1).all():
        assert found.log_loss == pytest.approx(metrics.log_loss(y, q), rel=1e-6)


def test_brier_parts_are_those_of_isotonic_regression(need, data, found):
    isotonic, metrics = need("sklearn.isotonic"), need("sklearn.metrics")
    y, p = data
    fitted = isotonic.IsotonicRegression().fit_transform(p, y)
    recalibrated = metrics.brier_score_loss(y, np.clip(fitted, 0, 1))
    base = y.mean() * (1 - y.mean())
    assert found.miscalibration == pytest.approx(found.brier - recalibrated)
    assert found.discrimination == pytest.approx(base - recalibrated)
    assert found.uncertainty == pytest.approx(base)
    assert found.brier == pytest.approx(found.miscalibration - found.discrimination + found.uncertainty)


def test_spiegelhalters_z_is_the_standardised_brier_score(data, found):
    """z = (Brier - its expectation) / its standard deviation under the predictions."""
    y, p = data
    expectation = np.mean(p * (1 - p))
    variance = np.sum((1 - 2 * p) ** 2 * p * (1 - p)) / len(p) ** 2
    z = (np.mean((y - p) ** 2) - expectation) / np.sqrt(variance)
    assert found.spiegelhalter_z == pytest.approx(z)
    assert found.spiegelhalter_p == pytest.approx(2 * stats.norm.sf(abs(z)))


def test_hosmer_lemeshow_by_hand(data, found):
    y, p = data
    part = truecal.Quantile(10).partition(Tally.from_arrays(y, p))
    group = np.searchsorted(part.edges[1:-1], p, side="right")
    total = 0.0
    for b in range(len(part)):
        rows = group == b
        for observed, expected in ((y[rows].sum(), p[rows].sum()), ((1 - y[rows]).sum(), (1 - p[rows]).sum())):
            total += (observed - expected) ** 2 / expected if expected > 0 else 0.0
    assert found.hosmer_lemeshow == pytest.approx(total)
    assert found.hosmer_lemeshow_p == pytest.approx(stats.chi2.sf(total, len(part)))


def test_cox_is_a_logistic_regression(need, rng):
    linear_model = need("sklearn.linear_model")
    p = rng.uniform(0.02, 0.9, 3000)
    x = np.log(p / (1 - p))
    y = (rng.random(3000) < 1 / (1 + np.exp(-(0.4 + 0.6 * x)))).astype(int)
    found = truecal.metrics.compare_with(Tally.from_arrays(y, p))
    model = linear_model.LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(x[:, None], y)
    assert found.slope == pytest.approx(model.coef_[0, 0], abs=1e-4)
    q = 1 / (1 + np.exp(-(found.intercept + x)))
    assert np.sum(y - q) == pytest.approx(0, abs=1e-4)  # the score equation of the intercept at slope 1

    def log_likelihood(prob):
        return np.sum(y * np.log(prob) + (1 - y) * np.log1p(-prob))

    gain = 2 * (log_likelihood(model.predict_proba(x[:, None])[:, 1]) - log_likelihood(p))
    assert found.cox_p == pytest.approx(stats.chi2.sf(gain, 2), rel=1e-3)


def test_cumulative_differences_by_hand(data, found):
    y, p = data
    sums, running = [0.0], 0.0
    for score in np.unique(p):
        running += float(np.sum(y[p == score] - p[p == score])) / len(y)
        sums.append(running)
    assert found.ecce_mad == pytest.approx(max(abs(s) for s in sums))
    assert found.ecce_r == pytest.approx(max(sums) - min(sums))


def test_limits_of_the_cumulative_statistics(rng):
    """P-values at published quantiles of Brownian motion on [0, 1], and against simulated walks.

    The 95 % point of the largest |B| is 2.2414 (from P = 4 P(B > x) to first order: 4 x 0.0125), of the range 2.4977 (Feller 1951).
    """
    from truecal.metrics._scores import _brownian_maximum, _brownian_range

    assert _brownian_maximum(2.2414) == pytest.approx(0.05, abs=2e-4)
    steps = rng.normal(size=(4000, 1500)) / math.sqrt(1500)
    walks = np.concatenate([np.zeros((4000, 1)), np.cumsum(steps, axis=1)], axis=1)
    for x in (1.0, 1.5, 2.0):
        simulated = np.mean(np.abs(walks).max(axis=1) >= x)
        # a walk of 1500 steps misses what happens between them: lower by about 0.58 / sqrt(1500)
        assert _brownian_maximum(x + 0.58 / math.sqrt(1500)) == pytest.approx(simulated, abs=0.03)
        simulated = np.mean(np.ptp(walks, axis=1) >= x)
        assert _brownian_range(x + 2 * 0.58 / math.sqrt(1500)) == pytest.approx(simulated, abs=0.03)
    assert _brownian_maximum(0.01) == _brownian_range(0.01) == 1
    assert _brownian_maximum(9) == pytest.approx(0, abs=1e-12)
    grid = [_brownian_range(x) for x in np.linspace(0.5, 6, 200)]
    assert all(a >= b - 1e-12 for a, b in pairwise(grid))
    assert grid[0] == pytest.approx(1, abs=1e-6)


def test_debiased_error_is_unbiased_for_its_square(rng):
    """On bins of equal predictions the squared error has expectation (q - p)^2; the plain one is larger."""
    score = (np.arange(10) + 0.5) / 10
    truth = np.clip(score + 0.03, 0, 1)
    squares, plain = [], []
    for _ in range(400):
        n = np.full(10, 200)
        pos = rng.binomial(n, truth)
        squares.append(np.mean((pos / n - score) ** 2 - (pos / n) * (1 - pos / n) / (n - 1)))
        tally = Tally(score, n, pos)
        assert truecal.metrics.compare_with(tally).rmsce_debiased == pytest.approx(math.sqrt(max(0, squares[-1])))
        plain.append(np.mean((pos / n - score) ** 2))
    assert np.mean(squares) == pytest.approx(np.mean((truth - score) ** 2), abs=5e-5)
    assert np.mean(plain) > 1.5 * np.mean(squares)


def test_global_tests_keep_their_level(rng):
    """300 perfect data sets of 2000 rows: shares below 0.05 within four standard errors."""
    names = ("spiegelhalter_p", "hosmer_lemeshow_p", "cox_p", "ecce_mad_p", "ecce_r_p")
    below = dict.fromkeys(names, 0)
    for _ in range(300):
        p = rng.beta(2, 3, 2000)
        found = truecal.metrics.compare_with(Tally.from_arrays(rng.random(2000) < p, p))
        for name in names:
            below[name] += getattr(found, name) <= 0.05
    for name in names:
        assert below[name] / 300 <= 0.05 + 4 * math.sqrt(0.05 * 0.95 / 300), name
        assert below[name] / 300 >= (0.0 if name in ("hosmer_lemeshow_p", "ecce_r_p", "ecce_mad_p") else 0.01), name


@pytest.mark.parametrize("y", [0, 1])
def test_one_class_and_certain_scores_are_finite_or_infinite_but_never_nan(y):
    for scores in ([0.2, 0.3, 0.9], [float(y)] * 3, [1.0 - y] * 3, [0.5]):
        found = truecal.metrics.compare_with(Tally.from_arrays([y] * len(scores), scores))
        assert not any(math.isnan(getattr(found, name)) for name in found.__slots__)
    assert truecal.metrics.compare_with(Tally.from_arrays([1 - y], [float(y)])).log_loss == math.inf


def test_an_empty_tally_is_refused_and_text_is_readable(found):
    nothing = Tally(np.array([]), np.array([], int), np.array([], int))
    with pytest.raises(ValueError, match="Scores need at least one row; the tally is empty"):
        truecal.metrics.compare_with(nothing)
    assert len(str(found).splitlines()) == 17
    assert f"{found.brier:.6g}" in str(found)
